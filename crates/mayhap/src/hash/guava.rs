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
#[derive(Debug, Clone)]
pub(super) struct Mitz32 {
    combined: i32,
    step: i32,
    bits: u64,
    left: u32,
}

impl Mitz32 {
    pub(super) fn new(key: &[u8], shape: Shape) -> Mitz32 {
        let (combined, step) = super::signed_halves(hash128(key, 0).0);
        Mitz32::from_halves(combined, step, shape)
    }

    /// The same sum from two other hashes.
    pub(super) fn from_halves(combined: i32, step: i32, shape: Shape) -> Mitz32 {
        Mitz32 {
            combined,
            step,
            bits: shape.bits(),
            left: shape.hashes(),
        }
    }
}

impl Iterator for Mitz32 {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        self.combined = self.combined.wrapping_add(self.step);
        // Negative sums are complemented, not negated: total even at the smallest integer.
        let magnitude = if self.combined < 0 {
            !self.combined
        } else {
            self.combined
        };
        Some(magnitude as u64 % self.bits)
    }
}
