//! Murmur with floor-mod: the two halves of 64 bits of murmur, added up and reduced by Java's `floorMod`.
//!
//! Where the Java original throws on a key (a negative index from a 32-bit overflow), the position is the one
//! its author meant, so every key has positions.

use super::murmur3::hash128;
use crate::Shape;

/// The positions of a key: `floor-mod(a + i·b, m)` for i = 1..=k, the sum in wrapping 32 bits.
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
