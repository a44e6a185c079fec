//! Encoding filters as bytes, and decoding them.
//!
//! [`native`] holds every kind, with checksums; the others are files of other programs. [`open`] recognises
//! the [`Format`] of bytes, and [`convert`] writes a filter in another.

mod convert;
pub mod dcso;
pub mod guava;
pub mod native;
pub(crate) mod open;
pub mod parquet;
pub(crate) mod pieces;
pub mod redisbloom;
#[cfg(feature = "serde")]
pub mod serde;
mod sniff;
pub(crate) mod source;
pub mod spark;

use std::fmt;
use std::str::FromStr;

pub use convert::convert;
pub use open::{open, open_reader, open_reader_with_data};

use crate::{Error, Result};

/// A format that filters are read from and written in.
///
/// ```
/// use mayhap::format::Format;
///
/// assert_eq!("guava".parse::<Format>()?, Format::Guava);
/// assert_eq!(Format::Dcso.to_string(), "dcso");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Mayhap's own, with checksums: [`native`].
    Native,
    /// Guava's `BloomFilter.writeTo`: [`guava`].
    Guava,
    /// The filter of a column chunk in a Parquet file: [`parquet`].
    Parquet,
    /// Spark's `BloomFilter.writeTo`: [`spark`].
    Spark,
    /// The files of DCSO's `bloom` tools: [`dcso`].
    Dcso,
    /// The pieces of RedisBloom's `BF.SCANDUMP`, one after the other: [`redisbloom`].
    RedisBloom,
}

impl Format {
    /// Every format.
    pub const ALL: &[Format] = &[
        Format::Native,
        Format::Guava,
        Format::Parquet,
        Format::Spark,
        Format::Dcso,
        Format::RedisBloom,
    ];

    /// The names of all, for errors.
    const KNOWN: &str = "native, guava, parquet, spark, dcso, redisbloom";

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Format::Native => "native",
            Format::Guava => "guava",
            Format::Parquet => "parquet",
            Format::Spark => "spark",
            Format::Dcso => "dcso",
            Format::RedisBloom => "redisbloom",
        }
    }

    /// The name in errors, as its makers write it.
    fn title(self) -> &'static str {
        match self {
            Format::Native => native::FORMAT,
            Format::Guava => guava::FORMAT,
            Format::Parquet => parquet::FORMAT,
            Format::Spark => spark::FORMAT,
            Format::Dcso => dcso::FORMAT,
            Format::RedisBloom => redisbloom::FORMAT,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format> {
        let known = Format::ALL.iter().find(|format| format.name() == name);
        known.copied().ok_or_else(|| Error::Name {
            what: "format",
            got: name.into(),
            known: Format::KNOWN,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_format_and_no_other() {
        for &format in Format::ALL {
            assert_eq!(format.name().parse::<Format>().expect("its name"), format);
        }
        assert!(matches!("Guava".parse::<Format>(), Err(Error::Name { .. })));
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        assert_eq!(names.join(", "), Format::KNOWN);
    }
}
