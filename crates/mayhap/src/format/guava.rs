//! Guava's `BloomFilter.writeTo` and `readFrom`.
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 1 | strategy: 0 `MURMUR128_MITZ_32`, 1 `MURMUR128_MITZ_64` |
//! | 1 | 1 | hashes, 1 to 255 |
//! | 2 | 4 | number of words, big-endian, signed, above 0 |
//! | 6 | 8 each | words, big-endian |
//!
//! There is no magic number, checksum, capacity or funnel. Guava allocates what the length field
//! claims before reading; this reader takes memory only as bytes arrive.

use std::io::{Read, Write};

use super::pieces;
use super::source::Source;
use crate::bits::Bits;
use crate::filter::Bloom;
use crate::{Error, Result, Scheme, Shape};

/// The name of the format in errors.
pub(super) const FORMAT: &str = "Guava";

/// Reads one filter and not a byte more: what follows stays unread, as in Guava.
///
/// # Errors
///
/// [`Error::Truncated`] when the input ends early, [`Error::Field`] for a strategy, number of
/// hashes or length that Guava refuses; also [`Error::Memory`] and [`Error::Io`].
///
/// ```
/// use mayhap::format::guava;
///
/// // Guava's filter of the Integers 1, 2 and 3, made for ten at one per cent.
/// let wire = [
///     1, 7, 0, 0, 0, 2, 0x48, 0x18, 0x08, 0x00, 0x80, 0x00, 0x0c, 0x08, 0x40, 0x20, 0x00, 0x09,
///     0x48, 0x00, 0x02, 0x00,
/// ];
/// let filter = guava::read(&wire[..])?;
/// assert!(filter.contains(&1_i32) && filter.contains(&3_i32));
/// assert!(!filter.contains(&4_i32));
///
/// let mut written = Vec::new();
/// guava::write(&filter, &mut written)?;
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
    let [strategy, hashes, length @ ..]: [u8; 6] = source.array()?;
    let scheme = match strategy {
        0 => Scheme::Guava32,
        1 => Scheme::Guava64,
        _ => {
            let got = i64::from(strategy as i8);
            return Err(source.field("strategy", got, "0 (MITZ_32) or 1 (MITZ_64)"));
        }
    };
    if hashes == 0 {
        return Err(source.field("number of hashes", 0, "1 to 255"));
    }
    let length = i32::from_be_bytes(length);
    let Some(words) = u64::try_from(length).ok().filter(|&words| words > 0) else {
        return Err(source.field("number of words", length.into(), "1 to 2^31 - 1"));
    };
    Ok((scheme, Shape::new(words * 64, u32::from(hashes))?))
}

/// Returns the length of the file that its header claims; `None` when there is no header.
pub(super) fn claims(beginning: &[u8]) -> Option<u64> {
    let (_, shape) = read_header(&mut Source::new(beginning, FORMAT, None)).ok()?;
    Some(6 + shape.bits() / 8)
}

/// Writes the filter as Guava would.
///
/// # Errors
///
/// [`Error::Unfit`] when the scheme is not one of Guava's, [`Error::Io`] when writing fails.
pub fn write<B: Bits>(filter: &Bloom<B>, mut output: impl Write) -> Result<()> {
    let strategy = match filter.scheme() {
        Scheme::Guava32 => 0,
        Scheme::Guava64 => 1,
        other => {
            return Err(Error::Unfit {
                format: FORMAT,
                what: "scheme",
                got: other.to_string(),
                expected: "guava64 or guava32",
            });
        }
    };
    // `Scheme::check` made sure that the shape fits these two fields.
    let words = (filter.shape().bits() / 64) as i32;
    let mut header = [strategy, filter.shape().hashes() as u8, 0, 0, 0, 0];
    header[2..].copy_from_slice(&words.to_be_bytes());
    output.write_all(&header)?;
    pieces::write(filter.bits(), u64::to_be_bytes, output)
}
