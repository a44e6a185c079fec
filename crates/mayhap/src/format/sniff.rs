//! Recognising the format of an input by its first bytes.
//!
//! A format is a candidate when the input begins as all of its files do, and its own reader accepts the header, or runs
//! out of bytes before it can decide. Eight bytes never fit two: Guava's begin with `00` or `01` and then a byte that
//! is not zero, Spark's with `00 00`, DCSO's with `01 00`, and the others with a byte of their own. So an input is
//! ambiguous only when it is shorter than any filter. RedisBloom's dumps begin with a count, which may be anything:
//! they are recognised by the options and sizes that follow. The count of 1 dump in 128 also reads as the header of
//! Guava. Such a file is Guava's only when it has exactly the length that this header claims: words at its beginning
//! that agree with RedisBloom's header by chance are rarer than 1 in 2^50.

use super::source::Source;
use super::{Format, dcso, guava, parquet, redisbloom, spark};
use crate::{Error, Result};

/// The possible beginnings of files of a format.
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
    /// The number of bytes that is always enough for [`of`](Format::of): the longest header.
    pub const SNIFFED_BYTES: usize = 64;

    /// Returns the format whose header an input begins with.
    ///
    /// Give it [`SNIFFED_BYTES`](Format::SNIFFED_BYTES), or the whole input when that is shorter.
    ///
    /// # Errors
    ///
    /// [`Error::Unrecognised`] when the bytes fit no format, [`Error::Ambiguous`] when they are too few to
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
        Format::of_input(beginning, None)
    }

    /// Recognises a format as [`of`](Format::of) does, from the length of the whole input too, if that is known.
    pub(super) fn of_input(beginning: &[u8], length: Option<u64>) -> Result<Format> {
        let beginning = &beginning[..beginning.len().min(Format::SNIFFED_BYTES)];
        let fits = |format: &Format| format.may_begin(beginning);
        let candidates: Vec<Format> = Format::ALL.iter().copied().filter(fits).collect();
        match candidates[..] {
            [format] => Ok(format),
            [Format::Guava, Format::RedisBloom] if guava::claims(beginning) == length => {
                Ok(Format::Guava)
            }
            [_, Format::RedisBloom] => Ok(Format::RedisBloom),
            [] => Err(Error::Unrecognised {
                known: Format::KNOWN,
            }),
            _ => Err(Error::Ambiguous {
                candidates: candidates
                    .iter()
                    .map(|format| format.name())
                    .collect::<Vec<&str>>()
                    .join(", "),
            }),
        }
    }

    /// Returns whether an input in this format may begin so.
    fn may_begin(self, beginning: &[u8]) -> bool {
        let agrees = |bytes: &&[u8]| bytes.starts_with(beginning) || beginning.starts_with(bytes);
        if !signatures(self).iter().any(agrees) {
            return false;
        }
        let source = &mut Source::new(beginning, self.title(), None);
        let header = match self {
            // The magic number is enough: its checksum distinguishes damage from another format.
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
                        Err(Error::Unrecognised { .. }) => {}
                        Err(error) => panic!("{bytes:02x?}: {error}"),
                    }
                }
            }
        }
        assert!(recognised > 1000, "{recognised}");
    }

    /// Three bytes of the count decide whether a dump begins like a file of Guava: this tries all that could.
    #[test]
    fn a_dump_of_redisbloom_is_one_whatever_it_counts() {
        let mut layer = redisbloom::Layer::new(1 << 40, 0.005).expect("valid");
        let mut contested = 0;
        for high in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                for first in [0, 1, 0x15, 0x2C] {
                    layer.keys = u64::from_le_bytes([first, second, high, 0, 0, 0, 0, 0]);
                    let header = redisbloom::Header {
                        growth: 2,
                        is_fixed: false,
                        layers: vec![layer],
                    };
                    let bytes = header.to_bytes();
                    let length = bytes.len() as u64 + layer.bits / 8;

                    contested += u32::from(Format::Guava.may_begin(&bytes));
                    for length in [None, Some(length)] {
                        let of = Format::of_input(&bytes, length).expect("a dump");
                        assert_eq!(of, Format::RedisBloom, "{} keys", layer.keys);
                    }
                }
            }
        }
        assert!(contested > 60_000, "{contested}");
    }

    #[test]
    fn a_file_of_guava_is_one_whatever_its_words_are() {
        let mut layer = redisbloom::Layer::new(1000, 0.005).expect("valid");
        // Strategy 1, 7 hashes and 2^17 words.
        layer.keys = u64::from_le_bytes([1, 7, 0, 2, 0, 0, 0, 0]);
        layer.promise.keys = 1 << 40;
        let header = redisbloom::Header {
            growth: 2,
            is_fixed: false,
            layers: vec![layer],
        };
        let bytes = header.to_bytes();

        let of_its_length = Format::of_input(&bytes, Some(6 + 8 * (1 << 17))).expect("Guava's");
        let of_another = Format::of_input(&bytes, Some(8 * (1 << 17))).expect("a dump");

        assert_eq!(of_its_length, Format::Guava);
        assert_eq!(of_another, Format::RedisBloom);
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
                matches!(of, Err(Error::Unrecognised { .. })),
                "{bytes:?}: {of:?}"
            );
        }
    }
}
