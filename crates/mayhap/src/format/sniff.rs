//! Which format an input is in, by its first bytes.
//!
//! A format is a candidate when the input begins as all of its files do, and its own reader takes the
//! header, or runs out of bytes before it can decide. Eight bytes are never those of two: Guava's begin
//! with `00` or `01` and then a byte that is not zero, Spark's with `00 00`, DCSO's with `01 00`, and the
//! others with a byte of their own. So an input is ambiguous only when it is cut to less than any filter.
//! RedisBloom's dumps begin with a count, which may be anything: they are known by the options and sizes that follow.

use super::source::Source;
use super::{Format, dcso, guava, parquet, redisbloom, spark};
use crate::{Error, Result};

/// What the files of a format begin with, each with one of these.
fn signatures(format: Format) -> &'static [&'static [u8]] {
    match format {
        Format::Native => &[b"\x8DMAYHAP"],
        Format::Guava => &[&[0], &[1]],
        // Field 1 of type 5 or fields 2 to 4 of type 12, by the step from 0 or by their number.
        Format::Parquet => &[&[0x15], &[0x2C], &[0x3C], &[0x4C], &[0x05], &[0x0C]],
        Format::Spark => &[&[0, 0, 0, 1], &[0, 0, 0, 2]],
        Format::Dcso => &[&[1, 0, 0, 0, 0, 0, 0, 0]],
        Format::RedisBloom => &[&[]],
    }
}

/// The bytes up to the end of the options of a RedisBloom dump: fewer could be anything.
const REDISBLOOM_BYTES: usize = 16;

impl Format {
    /// How many bytes are always enough for [`of`](Format::of): the longest header.
    pub const SNIFFED_BYTES: usize = 64;

    /// The format whose header an input begins with.
    ///
    /// Give it [`SNIFFED_BYTES`](Format::SNIFFED_BYTES), or the whole input when that is shorter.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] when the bytes are no format's, [`Error::Ambiguous`] when they are too few to
    /// decide.
    ///
    /// ```
    /// use mayhap::format::Format;
    ///
    /// assert_eq!(Format::of(&[0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1])?, Format::Spark);
    /// let error = Format::of(&[1]).expect_err("too few");
    /// assert!(error.to_string().contains("guava, dcso"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn of(beginning: &[u8]) -> Result<Format> {
        let beginning = &beginning[..beginning.len().min(Format::SNIFFED_BYTES)];
        let fits = |format: &Format| format.may_begin(beginning);
        let candidates: Vec<Format> = Format::ALL.iter().copied().filter(fits).collect();
        match candidates[..] {
            [format] => Ok(format),
            [] => Err(unknown(beginning)),
            _ => Err(Error::Ambiguous {
                candidates: candidates
                    .iter()
                    .map(|format| format.name())
                    .collect::<Vec<&str>>()
                    .join(", "),
            }),
        }
    }

    /// Whether an input in this format may begin so.
    fn may_begin(self, beginning: &[u8]) -> bool {
        let agrees = |bytes: &&[u8]| bytes.starts_with(beginning) || beginning.starts_with(bytes);
        if !signatures(self).iter().any(agrees) {
            return false;
        }
        let source = &mut Source::new(beginning, self.title(), None);
        let header = match self {
            // Its checksum distinguishes damage from another format: the magic number is enough.
            Format::Native => return true,
            Format::Guava => guava::read_header(source).map(drop),
            Format::Parquet => parquet::read_header(source).map(drop),
            Format::Spark => spark::read_header(source).map(drop),
            Format::Dcso => dcso::read_header(source).map(drop),
            Format::RedisBloom if beginning.len() < REDISBLOOM_BYTES => return false,
            Format::RedisBloom => redisbloom::read_header(source).map(drop),
        };
        matches!(header, Ok(()) | Err(Error::Truncated { .. }))
    }
}

fn unknown(beginning: &[u8]) -> Error {
    let mut code = [0; 8];
    let count = beginning.len().min(8);
    code[8 - count..].copy_from_slice(&beginning[..count]);
    Error::Unknown {
        format: "filter",
        what: "beginning",
        code: u64::from_be_bytes(code),
        known: Format::KNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_are_never_those_of_two_formats() {
        let mut recognised = 0;
        let ends = [[0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 3], [0, 2, 0, 0, 0, 1]];
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                for end in ends {
                    let bytes = [&[first, second], &end[..]].concat();
                    match Format::of(&bytes) {
                        Ok(_) => recognised += 1,
                        Err(Error::Unknown { .. }) => {}
                        Err(error) => panic!("{bytes:02x?}: {error}"),
                    }
                }
            }
        }
        assert!(recognised > 1000, "{recognised}");
    }

    #[test]
    fn too_few_bytes_name_their_candidates() {
        for (bytes, expected) in [
            (&[][..], "native, guava, parquet, spark, dcso"),
            (&[0, 0, 0], "guava, spark"),
            (&[1, 0, 0, 0], "guava, dcso"),
        ] {
            match Format::of(bytes) {
                Err(Error::Ambiguous { candidates }) => assert_eq!(candidates, expected),
                other => panic!("{bytes:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn other_files_are_unknown() {
        for bytes in [
            &b"PAR1\x15\x04"[..],
            b"\x1f\x8b\x08\0",
            b"#!/bin/sh\n",
            &[0xFF; 64],
            &[0; 64],
        ] {
            let of = Format::of(bytes);
            assert!(
                matches!(of, Err(Error::Unknown { .. })),
                "{bytes:?}: {of:?}"
            );
        }
    }
}
