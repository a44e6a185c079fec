//! The Bloom filter of a column chunk in a Parquet file: header and bitset.
//!
//! The header is a `BloomFilterHeader` of the Parquet specification in Thrift's compact protocol:
//!
//! | field | type | value |
//! | --- | --- | --- |
//! | 1 `numBytes` | i32 | bytes of the bitset: 32 per block |
//! | 2 `algorithm` | union | 1 `BLOCK`, an empty struct |
//! | 3 `hash` | union | 1 `XXHASH`, an empty struct |
//! | 4 `compression` | union | 1 `UNCOMPRESSED`, an empty struct |
//!
//! The blocks follow, each as eight little-endian words of 32 bits. In a Parquet file all this lies
//! at a column's `bloom_filter_offset`, which is in the footer; this module does not read that.
//! There is no checksum. Unknown fields and variants are refused: they would change what bits mean.

use std::io::{Read, Write};

use super::pieces;
use super::source::Source;
use crate::bits::Bits;
use crate::filter::{SplitBlock, SplitBlockShape};
use crate::{Error, Result};

/// The name of the format in errors.
pub(super) const FORMAT: &str = "Parquet";

/// Thrift's compact codes for the types of fields that a header has.
const TYPE_I32: u8 = 5;
const TYPE_STRUCT: u8 = 12;

/// The encoding of the header's three unions, each with its first and only variant: its short form, an empty struct
/// and the end of the union.
const UNION: [u8; 3] = [1 << 4 | TYPE_STRUCT, 0, 0];

/// Reads one filter and not a byte more.
///
/// # Errors
///
/// [`Error::Truncated`] when the input ends early, [`Error::Field`] for a header that is not exactly
/// the one above or a length that is not whole blocks; also [`Error::Memory`] and [`Error::Io`].
///
/// ```
/// use mayhap::{format::parquet, kinds::SplitBlock};
///
/// let mut filter = SplitBlock::with_capacity(1000, 0.01)?;
/// filter.insert("Paris");
/// let mut chunk = Vec::new();
/// parquet::write(&filter, &mut chunk)?;
/// assert_eq!(chunk[..3], [0x15, 0x80, 0x15]); // field 1, an i32: 1344 bytes, zigzag
/// assert!(parquet::read(&chunk[..])?.contains("Paris"));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn read(input: impl Read) -> Result<SplitBlock> {
    read_from(&mut Source::new(input, FORMAT, None))
}

pub(super) fn read_from(source: &mut Source<impl Read>) -> Result<SplitBlock> {
    let shape = read_header(source)?;
    let bits = source.bits(shape.bits(), u64::from_le_bytes)?;
    SplitBlock::from_bits(bits, shape)
}

pub(super) fn read_header(source: &mut Source<impl Read>) -> Result<SplitBlockShape> {
    let bytes = read_fields(source)?;
    let blocks = u64::try_from(bytes / 32).unwrap_or(0);
    if blocks == 0 || bytes % 32 != 0 {
        let got = i64::from(bytes);
        return Err(source.field("numBytes", got, "a multiple of 32 above 0"));
    }
    SplitBlockShape::new(blocks)
}

/// Reads the fields of the header and returns `numBytes`. Thrift allows any order.
fn read_fields(source: &mut Source<impl Read>) -> Result<i32> {
    let mut bytes = None;
    let mut unions = [false; 3];
    let mut last = 0;
    while let Some((id, kind)) = read_field(source, last)? {
        last = id;
        let seen = match (id, kind) {
            (1, TYPE_I32) => bytes.replace(read_i32(source)?).is_some(),
            (2..=4, TYPE_STRUCT) => {
                read_union(source)?;
                std::mem::replace(&mut unions[id as usize - 2], true)
            }
            (1..=4, _) => return Err(source.field("field type", kind.into(), "5 or 12")),
            _ => return Err(source.field("header field", id.into(), "1 to 4")),
        };
        if seen {
            return Err(source.field("header field", id.into(), "each field once"));
        }
    }
    let missing = (2..)
        .zip(unions)
        .find_map(|(id, seen)| (!seen).then_some(id));
    match (bytes, missing) {
        (Some(bytes), None) => Ok(bytes),
        (None, _) => Err(source.field("last header field", last.into(), "field 1 as well")),
        (_, Some(id)) => Err(source.field("missing header field", id, "fields 1 to 4")),
    }
}

/// Reads the number and type of the next field; `None` at the end of the struct.
fn read_field(source: &mut Source<impl Read>, last: i16) -> Result<Option<(i16, u8)>> {
    let [byte] = source.array()?;
    if byte == 0 {
        return Ok(None);
    }
    let (step, kind) = (i16::from(byte >> 4), byte & 15);
    if step > 0 {
        // The fields before were known, with small numbers.
        return Ok(Some((last + step, kind)));
    }
    let id = read_i32(source)?;
    match i16::try_from(id) {
        Ok(id) => Ok(Some((id, kind))),
        Err(_) => Err(source.field("header field", id.into(), "1 to 4")),
    }
}

/// Reads a union whose only known variant is the first, an empty struct.
fn read_union(source: &mut Source<impl Read>) -> Result<()> {
    match read_field(source, 0)? {
        Some((1, TYPE_STRUCT)) => {}
        Some((id, _)) => return Err(source.field("variant", id.into(), "1, the only one known")),
        None => return Err(source.field("variant", 0, "1, the only one known")),
    }
    for what in ["field of an empty struct", "second variant"] {
        if let Some((id, _)) = read_field(source, 0)? {
            return Err(source.field(what, id.into(), "none"));
        }
    }
    Ok(())
}

/// Reads a 32-bit integer: zigzag, then seven bits to a byte, the lowest first.
fn read_i32(source: &mut Source<impl Read>) -> Result<i32> {
    let mut zigzag = 0_u64;
    for shift in [0, 7, 14, 21, 28] {
        let [byte] = source.array()?;
        zigzag |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            let Ok(zigzag) = u32::try_from(zigzag) else {
                break;
            };
            return Ok((zigzag >> 1) as i32 ^ -((zigzag & 1) as i32));
        }
    }
    Err(source.field("integer", zigzag as i64, "32 bits in at most five bytes"))
}

/// Writes the filter as Parquet's writers do.
///
/// Some readers, those of Arrow's C++ among them, take only a power of two of blocks, of 128 MiB at
/// most: see [`SplitBlockShape::to_power_of_two`].
///
/// # Errors
///
/// [`Error::Unfit`] when the filter is 2 GiB or larger, too large for the header; [`Error::Io`]
/// when writing fails.
pub fn write<B: Bits>(filter: &SplitBlock<B>, mut output: impl Write) -> Result<()> {
    let bits = filter.shape().bits();
    let Ok(bytes) = i32::try_from(bits / 8) else {
        return Err(Error::Unfit {
            format: FORMAT,
            what: "size",
            got: format!("{bits} bits"),
            expected: "fewer than 2^34 bits, which is what its header can say",
        });
    };
    let mut header = vec![1 << 4 | TYPE_I32];
    // Zigzag of a non-negative number.
    let mut left = (bytes as u32) << 1;
    while left >= 0x80 {
        header.push(left as u8 | 0x80);
        left >>= 7;
    }
    header.push(left as u8);
    for _ in 0..3 {
        header.push(1 << 4 | TYPE_STRUCT);
        header.extend_from_slice(&UNION);
    }
    header.push(0);
    output.write_all(&header)?;
    pieces::write(filter.bits(), u64::to_le_bytes, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of 32 bytes of bitset, and the bitset.
    fn whole() -> Vec<u8> {
        let filter = SplitBlock::new(SplitBlockShape::new(1).expect("valid")).expect("small");
        let mut bytes = Vec::new();
        write(&filter, &mut bytes).expect("memory");
        bytes
    }

    #[track_caller]
    fn assert_refused(header: &[u8], field: &str) {
        let bytes = [header, &[0; 64]].concat();
        match read(&bytes[..]) {
            Err(Error::Field { field: got, .. }) => assert_eq!(got, field),
            other => panic!("{header:02x?}: {other:?}"),
        }
    }

    #[test]
    fn the_header_is_the_one_of_the_specification() {
        let header = [
            0x15, 0x40, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0,
        ];
        assert_eq!(whole()[..15], header);
        assert_eq!(whole().len(), 15 + 32);
    }

    #[test]
    fn fields_may_be_in_any_order_and_in_long_form() {
        let header = [
            0x4c, 0x1c, 0, 0, // field 4
            0x05, 0x02, 0x40, // field 1 by its number
            0x1c, 0x1c, 0, 0, // field 2
            0x0c, 0x06, 0x0c, 0x02, 0, 0, // field 3 and its variant by their numbers
            0,
        ];
        let read = read(&[&header[..], &[0; 32]].concat()[..]).expect("valid");
        assert_eq!(read.shape().blocks(), 1);
    }

    #[test]
    fn what_the_specification_does_not_know_is_refused() {
        let rest = [0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0];
        let with = |start: &[u8], end: &[u8]| [start, &rest, end].concat();
        assert_refused(&with(&[0x15, 0x40], &[0x15, 0x40, 0]), "header field");
        assert_refused(&with(&[0x15, 0x40], &[0x05, 0x02, 0x40, 0]), "header field");
        assert_refused(&[0x25, 0x40], "field type");
        assert_refused(&[0x15, 0x40, 0x1c, 0x2c], "variant");
        assert_refused(&[0x15, 0x40, 0x1c, 0], "variant");
        assert_refused(&[0x15, 0x40, 0x1c, 0x1c, 0x15], "field of an empty struct");
        assert_refused(&[0x15, 0x40, 0x1c, 0x1c, 0, 0x1c], "second variant");
        assert_refused(&[0x15, 0x40, 0x1c, 0x1c, 0, 0, 0], "missing header field");
        assert_refused(&[0], "last header field");
        assert_refused(&[0x05, 0xff, 0xff, 0xff, 0xff, 0x0f], "header field");
        assert_refused(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff], "integer");
        assert_refused(&[0x15, 0xff, 0xff, 0xff, 0xff, 0x7f], "integer");
    }

    #[test]
    fn lengths_that_are_not_whole_blocks_are_refused() {
        let rest = [0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0];
        // 0, -1, 31, 33 and -32 bytes.
        for zigzag in [0, 1, 62, 66, 63] {
            assert_refused(&[&[0x15, zigzag], &rest[..]].concat(), "numBytes");
        }
    }

    #[test]
    fn every_truncation_is_reported() {
        let whole = whole();
        for length in 0..whole.len() {
            let read = read(&whole[..length]);
            assert!(
                matches!(read, Err(Error::Truncated { got, .. }) if got == length as u64),
                "{length}: {read:?}"
            );
        }
    }

    #[test]
    fn a_claimed_length_takes_no_memory_before_its_bytes_arrive() {
        let mut claim = vec![0x15, 0xc0, 0xff, 0xff, 0xff, 0x0f]; // 2^31 - 32 bytes
        claim.extend_from_slice(&[0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0]);
        let read = read(&claim[..]);
        assert!(
            matches!(read, Err(Error::Truncated { expected, .. }) if expected == (1 << 31) - 32 + 19),
            "{read:?}"
        );
    }
}
