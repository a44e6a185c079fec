//! Three string hashes, one position each: bit for bit as their Java original computes them.
//!
//! Where the original throws on a key (a negative index from `abs(MIN_VALUE)`), the position is the one its
//! author meant, so every key has positions.

use crate::Shape;

/// Three string hashes over UTF-16 code units.
///
/// The first multiplies by 33, the second is an FNV-1a with extra shifts, the third Jenkins'
/// one-at-a-time, all in wrapping signed 32-bit arithmetic with arithmetic shifts.
///
/// ```
/// use mayhap::hash::three_hashes;
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

/// The positions of a key: `|hash| % size`. Where Java's `abs` stays negative (the smallest
/// integer) the magnitude 2^31 is used.
pub(super) fn positions(key: &[u8], shape: Shape) -> impl Iterator<Item = u64> {
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
