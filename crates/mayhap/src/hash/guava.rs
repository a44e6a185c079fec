//! Guava's two strategies: positions by double hashing of MurmurHash3-128.
//!
//! Kept as they are, defects included: when `h2` shares a factor with the number of bits the
//! positions repeat, and the empty key lands on position 0 every time. Native schemes do not.

use super::murmur3::hash128;
use crate::Shape;

/// The positions of `MURMUR128_MITZ_64`, Guava's default since version 17.
#[derive(Debug, Clone)]
pub(super) struct Mitz64 {
    combined: u64,
    step: u64,
    bits: u64,
    left: u32,
}

impl Mitz64 {
    pub(super) fn new(key: &[u8], shape: Shape) -> Mitz64 {
        let (combined, step) = hash128(key, 0);
        Mitz64 {
            combined,
            step,
            bits: shape.bits(),
            left: shape.hashes(),
        }
    }
}

impl Iterator for Mitz64 {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        // Java has no unsigned remainder here: the sign bit is dropped, but not from the sum.
        let position = (self.combined & i64::MAX as u64) % self.bits;
        self.combined = self.combined.wrapping_add(self.step);
        Some(position)
    }
}

/// The positions of `MURMUR128_MITZ_32`, Guava's default before version 17. They never reach 2^31.
pub(super) fn mitz32(key: &[u8], shape: Shape) -> Sums<32> {
    let (first, second) = super::signed_halves(hash128(key, 0).0);
    Sums::new(first.into(), second.into(), shape)
}

/// The positions `first + i·step` in wrapping integers of `WIDTH` bits for i = 1..=k, complemented when negative, modulo
/// the number of bits.
#[derive(Debug, Clone)]
pub(super) struct Sums<const WIDTH: u32> {
    combined: i64,
    step: i64,
    bits: u64,
    left: u32,
}

impl<const WIDTH: u32> Sums<WIDTH> {
    pub(super) fn new(first: i64, step: i64, shape: Shape) -> Sums<WIDTH> {
        Sums {
            combined: first,
            step,
            bits: shape.bits(),
            left: shape.hashes(),
        }
    }
}

impl<const WIDTH: u32> Iterator for Sums<WIDTH> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        // Shifted up and down, it keeps the sign of its lowest bits.
        let unused = 64 - WIDTH;
        self.combined = self.combined.wrapping_add(self.step) << unused >> unused;
        // Negative sums are complemented, not negated: total even at the smallest integer. The sum itself keeps its sign.
        let magnitude = if self.combined < 0 {
            !self.combined
        } else {
            self.combined
        };
        Some(magnitude as u64 % self.bits)
    }
}
