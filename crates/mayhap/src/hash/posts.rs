//! The filters of the posts: salted digests (003), three string hashes (000), murmur with
//! floor-mod (004).
//!
//! Each gives, bit for bit, the positions its Java original sets. Where the original throws on a
//! key (a negative index from `abs(MIN_VALUE)` or from a 32-bit overflow), the position is the one
//! its author meant, so every key has positions.

use md5::{Digest as _, Md5};
use sha1::Sha1;
use sha2::Sha256;

use super::murmur3::hash128;
use crate::Shape;

/// A message digest that [`salted_hashes`] can be made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageDigest {
    /// MD5, as post 003 uses it: four hashes per digest.
    Md5,
    /// SHA-1, which post 003 names as the alternative: five hashes per digest.
    Sha1,
    /// SHA-256: eight hashes per digest.
    Sha256,
}

/// The 32-bit hashes of post 003, without end: the digests of the key salted with a leading byte
/// 0, 1, … 255, 0, …, cut into big-endian integers.
///
/// The salt is one byte, so the hashes repeat after 256 digests.
///
/// ```
/// use mayhap::hash::posts::{MessageDigest, salted_hashes};
///
/// let hashes: Vec<i32> = salted_hashes(MessageDigest::Md5, b"").take(1).collect();
/// assert_eq!(hashes, [-1816623699]);
/// ```
pub fn salted_hashes(digest: MessageDigest, key: &[u8]) -> impl Iterator<Item = i32> + '_ {
    (0..=u8::MAX).cycle().flat_map(move |salt| {
        let mut hashes = [0; 8];
        let count = match digest {
            MessageDigest::Md5 => cut(
                &Md5::new().chain_update([salt]).chain_update(key).finalize(),
                &mut hashes,
            ),
            MessageDigest::Sha1 => cut(
                &Sha1::new()
                    .chain_update([salt])
                    .chain_update(key)
                    .finalize(),
                &mut hashes,
            ),
            MessageDigest::Sha256 => cut(
                &Sha256::new()
                    .chain_update([salt])
                    .chain_update(key)
                    .finalize(),
                &mut hashes,
            ),
        };
        hashes.into_iter().take(count)
    })
}

/// Cuts a digest into big-endian integers and returns how many there are.
fn cut(digest: &[u8], hashes: &mut [i32; 8]) -> usize {
    let (words, _) = digest.as_chunks::<4>();
    for (hash, word) in hashes.iter_mut().zip(words) {
        *hash = i32::from_be_bytes(*word);
    }
    words.len()
}

/// The positions of post 003: `|hash % m|`, the remainder taken first.
pub(super) fn salted_positions(
    digest: MessageDigest,
    key: &[u8],
    shape: Shape,
) -> impl Iterator<Item = u64> + '_ {
    salted_hashes(digest, key)
        .take(shape.hashes() as usize)
        .map(move |hash| u64::from(hash.unsigned_abs()) % shape.bits())
}

/// The three string hashes of post 000 over UTF-16 code units.
///
/// The first multiplies by 33, the second is an FNV-1a with extra shifts, the third Jenkins'
/// one-at-a-time, all in wrapping signed 32-bit arithmetic with arithmetic shifts.
///
/// ```
/// use mayhap::hash::posts::three_hashes;
///
/// assert_eq!(three_hashes([]), [0, -1494218850, 0]);
/// ```
pub fn three_hashes(units: impl IntoIterator<Item = u16>) -> [i32; 3] {
    let (mut times33, mut fnv, mut jenkins) = (0_i32, 0x811c_9dc5_u32 as i32, 0_i32);
    for unit in units {
        let unit = i32::from(unit);
        times33 = times33.wrapping_mul(33).wrapping_add(unit);
        fnv = (fnv ^ unit).wrapping_mul(16_777_619);
        jenkins = jenkins.wrapping_add(unit);
        jenkins = jenkins.wrapping_add(jenkins << 10);
        jenkins ^= jenkins >> 6;
    }
    fnv = fnv.wrapping_add(fnv << 13);
    fnv ^= fnv >> 7;
    fnv = fnv.wrapping_add(fnv << 3);
    fnv ^= fnv >> 17;
    fnv = fnv.wrapping_add(fnv << 5);
    jenkins = jenkins.wrapping_add(jenkins << 3);
    jenkins ^= jenkins >> 11;
    jenkins = jenkins.wrapping_add(jenkins << 15);
    [times33, fnv, jenkins]
}

/// The positions of post 000: `|hash| % size`. Where Java's `abs` stays negative (the smallest
/// integer) the magnitude 2^31 is used.
pub(super) fn three_hash_positions(key: &[u8], shape: Shape) -> impl Iterator<Item = u64> {
    three_hashes(Units::new(key))
        .into_iter()
        .map(move |hash| u64::from(hash.unsigned_abs()) % shape.bits())
}

/// The UTF-16 code units of WTF-8 bytes: UTF-8 that may also hold lone surrogates, so that every
/// Java string has bytes. A byte that belongs to no character reads as U+FFFD.
struct Units<'a> {
    rest: &'a [u8],
    low_surrogate: Option<u16>,
}

impl<'a> Units<'a> {
    fn new(rest: &'a [u8]) -> Units<'a> {
        Units {
            rest,
            low_surrogate: None,
        }
    }
}

impl Iterator for Units<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if let Some(unit) = self.low_surrogate.take() {
            return Some(unit);
        }
        let (code, width) = decode(self.rest)?;
        self.rest = &self.rest[width..];
        let Some(above) = code.checked_sub(0x1_0000) else {
            return Some(code as u16);
        };
        self.low_surrogate = Some(0xDC00 | (above & 0x3FF) as u16);
        Some(0xD800 | (above >> 10) as u16)
    }
}

/// Decodes the first code point, surrogates included, and its width in bytes.
fn decode(bytes: &[u8]) -> Option<(u32, usize)> {
    const BAD: (u32, usize) = (0xFFFD, 1);
    let &first = bytes.first()?;
    let (width, bits, least) = match first {
        0x00..=0x7F => return Some((u32::from(first), 1)),
        0xC2..=0xDF => (2, first & 0x1F, 0x80),
        0xE0..=0xEF => (3, first & 0x0F, 0x800),
        0xF0..=0xF4 => (4, first & 0x07, 0x1_0000),
        _ => return Some(BAD),
    };
    let Some(following) = bytes.get(1..width) else {
        return Some(BAD);
    };
    let mut code = u32::from(bits);
    for &byte in following {
        if byte & 0xC0 != 0x80 {
            return Some(BAD);
        }
        code = code << 6 | u32::from(byte & 0x3F);
    }
    if code < least || code > 0x10_FFFF {
        return Some(BAD);
    }
    Some((code, width))
}

/// The positions of post 004: `floor-mod(a + i·b, m)` for i = 1..=k, the sum in wrapping 32 bits.
#[derive(Debug, Clone)]
pub(super) struct FloorMod {
    sum: i32,
    step: i32,
    bits: u64,
    left: u32,
}

impl FloorMod {
    pub(super) fn new(key: &[u8], shape: Shape) -> FloorMod {
        let (sum, step) = super::signed_halves(hash128(key, 0).0);
        FloorMod {
            sum,
            step,
            bits: shape.bits(),
            left: shape.hashes(),
        }
    }
}

impl Iterator for FloorMod {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        self.sum = self.sum.wrapping_add(self.step);
        // In 64 bits the floor-mod cannot overflow, as Java's does for more than 2^30 bits.
        Some(i64::from(self.sum).rem_euclid(self.bits as i64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn text_reads_as_its_utf16_code_units() {
        for text in [
            "",
            "plain",
            "é",
            "日本語",
            "a😀b",
            "\u{FFFF}\u{10000}\u{10FFFF}",
        ] {
            let units: Vec<u16> = Units::new(text.as_bytes()).collect();
            assert_eq!(units, text.encode_utf16().collect::<Vec<u16>>());
        }
    }

    #[test]
    fn lone_surrogates_and_stray_bytes_read_as_one_unit_each() {
        let units = |bytes: &[u8]| Units::new(bytes).collect::<Vec<u16>>();
        assert_eq!(units(&[0xED, 0xA0, 0x80]), [0xD800]);
        assert_eq!(units(&[0xED, 0xBF, 0xBF, b'x']), [0xDFFF, u16::from(b'x')]);
        assert_eq!(
            units(&[0xFF, b'a', 0xC3]),
            [0xFFFD, u16::from(b'a'), 0xFFFD]
        );
        assert_eq!(units(&[0xC0, 0x80]), [0xFFFD, 0xFFFD], "overlong");
        assert_eq!(
            units(&[0xF4, 0x90, 0x80, 0x80]).len(),
            4,
            "past the last code point"
        );
    }

    #[test]
    fn every_two_byte_input_has_units() {
        for bytes in (0..=u16::MAX).map(u16::to_le_bytes) {
            let units: Vec<u16> = Units::new(&bytes).collect();
            match core::str::from_utf8(&bytes) {
                Ok(text) => assert_eq!(units, text.encode_utf16().collect::<Vec<u16>>()),
                Err(_) => assert!(units.contains(&0xFFFD), "{bytes:?}"),
            }
        }
    }
}
