//! Writing the same bits in another format.
//!
//! Bits mean something only under the hash that chose them. So a filter goes into a format exactly
//! when that format's own programs would hash its keys the same way: every filter into the native
//! format, and from there back into the one of its scheme or kind.

use std::io::Write;

use super::native::{self, Metadata};
use super::{Format, dcso, guava, parquet, redisbloom, spark};
use crate::bits::Bits;
use crate::filter::{AnyFilter, Assemble as _, Bloom};
use crate::{Error, Result};

/// Writes a filter in a format that holds the same bits, under the same hash.
///
/// Its capacity and rate are written too where the format has a place for them: native, DCSO's and RedisBloom's.
/// The last two also count keys; the count is then the estimate of [`Stats::keys`](crate::Stats::keys).
///
/// # Errors
///
/// [`Error::Unfit`] when the format cannot hold the filter, naming the property (`kind`, `scheme`,
/// `size` or `promise`), before anything is written; [`Error::Io`] when writing fails.
///
/// ```
/// use mayhap::format::{self, Format};
/// use mayhap::{Blocked, Error};
///
/// let filter = Blocked::with_capacity(1000, 0.01)?.into();
/// let refused = format::convert(&filter, Format::Guava, Vec::new());
/// assert!(matches!(refused, Err(Error::Unfit { what: "kind", .. })));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn convert<B: Bits>(filter: &AnyFilter<B>, format: Format, output: impl Write) -> Result<()> {
    match (format, filter) {
        (Format::Native, filter) => native::write(filter, &Metadata::default(), output),
        (Format::Guava, AnyFilter::Bloom(filter)) => guava::write(filter, output),
        (Format::Spark, AnyFilter::Bloom(filter)) => spark::write(filter, output),
        (Format::Dcso, AnyFilter::Bloom(filter)) => write_dcso(filter, output),
        (Format::RedisBloom, AnyFilter::Bloom(filter)) => redisbloom::write_one(filter, output),
        (Format::Parquet, AnyFilter::SplitBlock(filter)) => parquet::write(filter, output),
        (_, other) => Err(Error::Unfit {
            format: format.title(),
            what: "kind",
            got: other.kind().name().into(),
            expected: match format {
                Format::Parquet => "split-block",
                _ => "bloom",
            },
        }),
    }
}

fn write_dcso<B: Bits>(filter: &Bloom<B>, output: impl Write) -> Result<()> {
    dcso::check(filter)?;
    let Some(promise) = filter.description().promise else {
        return Err(Error::Unfit {
            format: Format::Dcso.title(),
            what: "promise",
            got: "none".into(),
            expected: "a capacity and a rate, which its header says (see `Bloom::promising`)",
        });
    };
    // When every bit is a one there is no estimate, and the capacity was exceeded long ago.
    let keys = filter
        .stats()
        .keys
        .map_or(promise.keys, |keys| keys.round() as u64);
    dcso::write_filter(filter, promise, keys, output)
}
