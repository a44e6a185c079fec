//! The streams of Spark's `org.apache.spark.util.sketch.BloomFilter`, versions 1 and 2.
//!
//! | size | field |
//! | --- | --- |
//! | 4 | version: 1, or 2 since Spark 4.1 |
//! | 4 | hashes, above 0 |
//! | 4 | seed, in version 2 only |
//! | 4 | number of words, above 0 |
//! | 8 each | words |
//!
//! Everything is big-endian and signed. There is no checksum, and the stream does not say whether its
//! keys are integers or bytes. `BloomFilter.readFrom` allocates what the length field claims before
//! reading and takes any number of hashes, none included; this reader takes memory only as bytes
//! arrive and refuses a filter that would accept every key.

use std::io::{Read, Write};

use super::pieces;
use super::source::Source;
use crate::bits::Bits;
use crate::filter::Bloom;
use crate::{Error, Result, Scheme, Shape};

/// The name of the format in errors.
pub(super) const FORMAT: &str = "Spark";

/// Reads one filter and not a byte more.
///
/// # Errors
///
/// [`Error::Truncated`] when the input ends early, [`Error::Field`] for an unknown version, a number
/// of hashes that is not in `1..=`[`Shape::MAX_HASHES`] or a length below one word;
/// also [`Error::Memory`] and [`Error::Io`].
///
/// ```
/// use mayhap::format::spark;
///
/// // Spark 4.3's filter of the longs 1, 2 and 3, in 64 bits with three hashes.
/// let wire = [
///     0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 1, 68, 0, 2, 2, 12, 4, 0,
/// ];
/// let filter = spark::read(&wire[..])?;
/// assert!(filter.contains(&1_i64) && filter.contains(&3_i64));
///
/// let mut written = Vec::new();
/// spark::write(&filter, &mut written)?;
/// assert_eq!(written, wire);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn read(input: impl Read) -> Result<Bloom> {
    read_from(&mut Source::new(input, FORMAT, None))
}

pub(super) fn read_from(source: &mut Source<impl Read>) -> Result<Bloom> {
    let (scheme, shape) = read_header(source)?;
    let bits = source.bits(shape.bits(), u64::from_be_bytes)?;
    Bloom::from_bits(bits, shape, scheme)
}

pub(super) fn read_header(source: &mut Source<impl Read>) -> Result<(Scheme, Shape)> {
    let version = i32::from_be_bytes(source.array()?);
    if !(1..=2).contains(&version) {
        return Err(source.field("version", version.into(), "1 or 2"));
    }
    let hashes = i32::from_be_bytes(source.array()?);
    let Some(hashes) = u32::try_from(hashes)
        .ok()
        .filter(|hashes| (1..=Shape::MAX_HASHES).contains(hashes))
    else {
        return Err(source.field("number of hashes", hashes.into(), "1 to 4096"));
    };
    let scheme = match version {
        1 => Scheme::Spark1,
        _ => Scheme::Spark2 {
            seed: i32::from_be_bytes(source.array()?),
        },
    };
    let length = i32::from_be_bytes(source.array()?);
    let Some(words) = u64::try_from(length).ok().filter(|&words| words > 0) else {
        return Err(source.field("number of words", length.into(), "1 to 2^31 - 1"));
    };
    Ok((scheme, Shape::new(words * 64, hashes)?))
}

/// Writes the filter as Spark would: in the version of its scheme.
///
/// # Errors
///
/// [`Error::Unfit`] when the scheme is not one of Spark's, [`Error::Io`] when writing fails.
pub fn write<B: Bits>(filter: &Bloom<B>, mut output: impl Write) -> Result<()> {
    let (version, seed) = match filter.scheme() {
        Scheme::Spark1 => (1, None),
        Scheme::Spark2 { seed } => (2, Some(*seed)),
        other => {
            return Err(Error::Unfit {
                format: FORMAT,
                what: "scheme",
                got: other.to_string(),
                expected: "spark1 or spark2",
            });
        }
    };
    // `Scheme::check` made sure that the shape fits these two fields.
    let hashes = filter.shape().hashes() as i32;
    let words = (filter.shape().bits() / 64) as i32;
    let fields = [Some(version), Some(hashes), seed, Some(words)];
    for field in fields.into_iter().flatten() {
        output.write_all(&field.to_be_bytes())?;
    }
    pieces::write(filter.bits(), u64::to_be_bytes, output)
}
