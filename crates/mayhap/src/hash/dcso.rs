//! The filter of DCSO's `bloom` tools: FNV-1, then powers of a generator.
//!
//! The key's hash is multiplied by a fixed number again and again, modulo the largest prime below
//! 2^64; each power, modulo m, is a position. The product is taken in 64 bits and wraps before it is
//! reduced, which is not what its authors describe, but what their files hold. A hash of zero would stay
//! zero and set position 0 alone.

use crate::Shape;

/// The largest prime below 2^64.
const PRIME: u64 = 18_446_744_073_709_551_557;
/// The multiplier of its authors.
const GENERATOR: u64 = 18_446_744_073_709_550_147;

/// FNV-1 of 64 bits: multiply, then exclusive or.
fn fnv1(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(byte)
    })
}

/// The positions of the `bloom` tools: the k powers, modulo m.
#[derive(Debug, Clone)]
pub(super) struct Powers {
    power: u64,
    bits: u64,
    left: u32,
}

impl Powers {
    pub(super) fn new(key: &[u8], shape: Shape) -> Powers {
        Powers {
            power: fnv1(key) % PRIME,
            bits: shape.bits(),
            left: shape.hashes(),
        }
    }
}

impl Iterator for Powers {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        self.power = self.power.wrapping_mul(GENERATOR) % PRIME;
        Some(self.power % self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1_and_not_1a() {
        // From the vectors published with FNV.
        assert_eq!(fnv1(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1(b"a"), 0xaf63_bd4c_8601_b7be);
        assert_eq!(fnv1(b"foobar"), 0x340d_8765_a4dd_a9c2);
    }
}
