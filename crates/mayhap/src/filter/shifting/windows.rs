//! The windows of a key, and the ones in them: what the three shifting kinds share.

use crate::bits::{Bits, BitsMut};
use crate::hash::Digest;
use crate::{Error, Result, Shape};

/// The most bits in a window: those that a load of 64 shows at the least when it may begin at any
/// byte, as the paper has it, so that other programs can read these filters by such loads.
pub(super) const WIDEST: u32 = 57;

/// The windows: their begins, their number for a key, and their width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Windows {
    first: Shape,
    span: u32,
}

impl Windows {
    /// Windows of `span` bits that begin at the positions of `first`.
    ///
    /// The caller has checked the span, because the fewest bits depend on the kind.
    pub(super) fn new(first: Shape, span: u32) -> Result<Windows> {
        debug_assert!((1..=WIDEST).contains(&span), "the kind checks its span");
        let windows = Windows { first, span };
        if windows.bits() > 1 << 63 {
            return Err(Error::Bits {
                got: windows.bits(),
                expected: "at most 2^63, with the window after the last position",
            });
        }
        Ok(windows)
    }

    /// The windows that lie in `bits` bits, `count` for each key.
    pub(super) fn within(bits: u64, count: u32, span: u32) -> Result<Windows> {
        let Some(positions) = bits.checked_sub(u64::from(span) - 1) else {
            return Err(Error::Bits {
                got: bits,
                expected: "at least as many as a window",
            });
        };
        Windows::new(Shape::new(positions, count)?, span)
    }

    /// The positions at which windows begin, and how many a key has.
    #[inline]
    pub(super) fn first(self) -> Shape {
        self.first
    }

    /// The bits of a window.
    pub(super) fn span(self) -> u32 {
        self.span
    }

    /// The share of bits at a distance from those that keys set that a key can set: none are past the last position, which
    /// lowers the rate by 2 % for a thousand keys, and less in proportion for more.
    pub(super) fn set_at(self, distance: f64) -> f64 {
        (1.0 - distance / self.first.bits() as f64).max(0.0)
    }

    /// All bits: one per position, and those of the last window after them.
    pub(super) fn bits(self) -> u64 {
        self.first.bits() + u64::from(self.span) - 1
    }

    /// Returns whether every window of the key has a one wherever `mask` has; after the first two it stops
    /// at one that has not.
    ///
    /// Two without a branch between them: three of four absent keys fail the first, and a wrong guess
    /// costs more than a second read (`bench/benches/shifting.rs`, 100 k keys, November 2026, against
    /// the standard filter: misses take 0.8 of its time instead of 1.05).
    #[inline(always)]
    pub(super) fn cover(self, bits: &impl Bits, digest: Digest, mask: u64) -> bool {
        let covers = |position| bits.window(position) & mask == mask;
        digest.probe(self.first).every_after::<2>(covers)
    }

    /// The ones that all windows of the key have in common, among those of `mask`; stops where there
    /// are none left.
    #[inline(always)]
    pub(super) fn common(self, bits: &impl Bits, digest: Digest, mask: u64) -> u64 {
        let mut common = mask;
        for position in digest.probe(self.first) {
            common &= bits.window(position);
            if common == 0 {
                break;
            }
        }
        common
    }

    /// Sets the ones of `mask` in every window of the key; true when one of them was not set.
    #[inline(always)]
    pub(super) fn set(self, bits: &mut impl BitsMut, digest: Digest, mask: u64) -> bool {
        let set_mask = |position| set_window(bits, position, mask);
        digest.probe(self.first).some(set_mask)
    }

    /// Asks for the windows of the key before they are needed, with the line that one in eight goes
    /// on in.
    #[inline(always)]
    pub(super) fn prefetch(self, bits: &impl Bits, digest: Digest) {
        for position in digest.probe(self.first) {
            bits.prefetch(position);
            bits.prefetch(position + 64);
        }
    }
}

/// Sets the ones of `mask` in the window at `position`; true when one of them was not set.
#[inline(always)]
fn set_window(bits: &mut impl BitsMut, position: u64, mask: u64) -> bool {
    let (mut left, mut changed) = (mask, false);
    while left != 0 {
        changed |= bits.set(position + u64::from(left.trailing_zeros()));
        left &= left - 1;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bitmap;
    use alloc::vec::Vec;

    /// The ones that keys with these windows and masks leave.
    fn ones(bits: u64, windows: &[(&[u64], u64)]) -> Vec<u64> {
        let mut bitmap = Bitmap::new(bits).expect("small");
        for (positions, mask) in windows {
            for &position in *positions {
                set_window(&mut bitmap, position, *mask);
            }
        }
        bitmap.ones().collect()
    }

    #[test]
    fn the_worked_examples_hold() {
        let windows = |span| Windows::new(Shape::new(32, 2).expect("valid"), span).expect("valid");

        // Membership: the second probe lies 13 mod 8 + 1 = 6 after the first.
        assert_eq!(windows(9).bits(), 40);
        assert_eq!(ones(40, &[(&[5, 30], 1 | 1 << 6)]), [5, 11, 30, 36]);
        // Association: in the first set only, in both, in the second only.
        assert_eq!(ones(40, &[(&[3, 20], 1)]), [3, 20]);
        assert_eq!(ones(40, &[(&[3, 20], 1 << 3)]), [6, 23]);
        assert_eq!(ones(40, &[(&[3, 20], 1 << 5)]), [8, 25]);
        // Multiplicity: five times.
        assert_eq!(ones(39, &[(&[3, 20], 1 << 4)]), [7, 24]);
        let mut bits = Bitmap::new(windows(8).bits()).expect("small");
        bits.set(7);
        bits.set(24);
        assert_eq!(bits.window(3) & bits.window(20) & 0xFF, 1 << 4);
    }

    #[test]
    fn windows_lie_within_the_bits_they_were_made_from() {
        for span in [1, 2, 25, WIDEST] {
            for bits in u64::from(span)..200 {
                let windows = Windows::within(bits, 3, span).expect("valid");
                assert_eq!(windows.bits(), bits);
            }
            assert!(Windows::within(u64::from(span) - 1, 3, span).is_err());
            assert!(Windows::within(u64::MAX, 3, span).is_err());
        }
        assert!(Windows::within((1 << 63) + 1, 3, 2).is_err());
        assert!(Windows::within(1 << 63, 3, 2).is_ok());
    }

    #[test]
    fn a_key_with_a_one_missing_anywhere_is_not_covered() {
        let windows = Windows::within(1000, 4, 57).expect("valid");
        let mask = 1 | 1 << 40;
        for key in 0..200_u64 {
            let digest = Digest::from_u64((key + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let mut bits = Bitmap::new(1000).expect("small");
            assert!(windows.set(&mut bits, digest, mask), "empty before");
            assert!(!windows.set(&mut bits, digest, mask), "set before");
            assert!(windows.cover(&bits, digest, mask));
            assert_eq!(windows.common(&bits, digest, mask | 1 << 7) & mask, mask);

            let ones: Vec<u64> = bits.ones().collect();
            for one in ones {
                bits.clear(one);
                assert!(!windows.cover(&bits, digest, mask), "without bit {one}");
                assert_ne!(windows.common(&bits, digest, mask), mask);
                bits.set(one);
            }
        }
    }
}
