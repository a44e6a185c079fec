//! How many slots a set of keys needs.
//!
//! Slots are fingerprints of 8, 16 or 32 bits. They lie in segments of a power of two; a key has one
//! slot in each of three neighbouring segments, which makes peeling succeed at 1.125 slots per key. Large
//! sets are split into parts of at most 2^24 keys, each a filter of its own, so that building takes
//! little memory. Sizes are those of Graf and Lemire, "Binary Fuse Filters", 2022, section 4.

use super::super::Promise;
use super::super::hashes::{fingerprint_rate, shortest};
use crate::{Error, Result};

/// How big a [`Fuse`](crate::Fuse) filter is: the bits of a fingerprint, and the segments they lie in.
///
/// ```
/// use mayhap::kinds::FuseShape;
///
/// let shape = FuseShape::for_keys(1_000_000, 8)?;
/// assert_eq!(shape.bits(), 9_011_200); // 9.01 bits per key
/// assert!((shape.rate_at(1_000_000) * 256.0 - 1.0).abs() < 1e-9);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FuseShape {
    /// The bits of a fingerprint: 8, 16 or 32.
    fingerprint_bits: u32,
    /// The parts that keys are dealt out to.
    parts: u64,
    /// The segments that a key's first slot may be in: two fewer than a part has. 0 in a filter of no
    /// keys, which has no slots.
    first_segments: u64,
    /// The binary logarithm of the slots in a segment.
    segment_log: u32,
}

impl FuseShape {
    /// The most keys in a part, on average: building it takes 246 MB.
    pub(super) const PART_KEYS: u64 = 1 << 24;

    /// The most parts, because descriptions have 18 bits for them. Above 2^42 keys they grow larger.
    pub(super) const MAX_PARTS: u64 = 1 << 18;

    /// The least and the greatest logarithm of a segment's slots.
    const SEGMENT_LOGS: core::ops::RangeInclusive<u32> = 2..=18;

    /// The lowest rate there is: that of the longest fingerprint.
    pub const LEAST_RATE: f64 = 1.0 / (1_u64 << 32) as f64;

    /// The shape for `keys` distinct keys, with fingerprints of as many bits.
    ///
    /// # Errors
    ///
    /// When a fingerprint has not 8, 16 or 32 bits, or more than 2^63 bits would be needed.
    pub fn for_keys(keys: u64, fingerprint_bits: u32) -> Result<FuseShape> {
        if keys == 0 {
            return FuseShape::new(fingerprint_bits, 1, 0, *Self::SEGMENT_LOGS.start());
        }
        let parts = keys.div_ceil(Self::PART_KEYS).min(Self::MAX_PARTS);
        let mut most = keys.div_ceil(parts) as f64;
        if parts > 1 {
            // Keys fall into parts at random: six standard deviations above the mean.
            most += 6.0 * libm::sqrt(most);
        }
        let logarithm = libm::log(most);
        let segment_log = (logarithm / libm::log(3.33) + 2.25) as u32;
        let segment_log = segment_log.min(*Self::SEGMENT_LOGS.end());
        let slots = match keys {
            1 => 0.0,
            _ => libm::round(most * (0.875 + 0.25 * libm::log(1e6) / logarithm).max(1.125)),
        };
        let whole = |segment_log: u32| {
            let segments = libm::ceil(slots / f64::from(1_u32 << segment_log)) as u64;
            let first_segments = segments.saturating_sub(2).max(1);
            FuseShape::new(fingerprint_bits, parts, first_segments, segment_log)
        };
        let mut shape = whole(segment_log)?;
        if keys >= 1_000_000 && shape.part_slots() as f64 > 1.13 * most {
            // Few segments, of which the last is too much. Shorter ones cost more attempts: one build in
            // five then needs a second.
            shape = whole(segment_log - 1)?;
        }
        let part_bits = u128::from(shape.part_slots()) * u128::from(fingerprint_bits);
        if part_bits * u128::from(parts) > 1 << 63 {
            return Err(Error::TooLarge {
                keys,
                rate: shape.rate_at(keys),
            });
        }
        Ok(shape)
    }

    /// The shape for `keys` distinct keys whose rate is at most `rate`, but for a thousandth of it: the
    /// shortest fingerprint that keeps it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, or `rate` is not strictly between 0 and 1 or is below that of 32 bits (see
    /// [`rate_at`](FuseShape::rate_at)).
    pub fn for_rate(keys: u64, rate: f64) -> Result<FuseShape> {
        let width = shortest(Promise::new(keys, rate)?, [8, 16, 32])?;
        FuseShape::for_keys(keys, width)
    }

    /// The shape whose slots are as many bits.
    ///
    /// # Errors
    ///
    /// When there is no such shape.
    pub(super) fn of_bits(
        bits: u64,
        fingerprint_bits: u32,
        parts: u64,
        segment_log: u32,
    ) -> Result<FuseShape> {
        let empty = FuseShape::new(fingerprint_bits, parts, 0, segment_log)?;
        // At most 32 bits, 2^18 slots, 2^18 parts: the product is far below 2^64.
        let row = (u64::from(fingerprint_bits) * parts) << segment_log;
        match (bits / row, bits % row) {
            (0, 0) => Ok(empty),
            (segments @ 3.., 0) if bits <= 1 << 63 => Ok(FuseShape {
                first_segments: segments - 2,
                ..empty
            }),
            _ => Err(Error::Bits {
                got: bits,
                expected: "none, or three and more whole segments in each part, up to 2^63",
            }),
        }
    }

    /// The shape with a segment more in each part: more slots for the same keys.
    ///
    /// # Errors
    ///
    /// When it would have more than 2^63 bits.
    pub(super) fn with_a_segment_more(self) -> Result<FuseShape> {
        let bits = self.bits() / (self.first_segments + 2) * (self.first_segments + 3);
        FuseShape::of_bits(bits, self.fingerprint_bits, self.parts, self.segment_log)
    }

    fn new(
        fingerprint_bits: u32,
        parts: u64,
        first_segments: u64,
        segment_log: u32,
    ) -> Result<FuseShape> {
        if !matches!(fingerprint_bits, 8 | 16 | 32) {
            return Err(Error::Bits {
                got: u64::from(fingerprint_bits),
                expected: "8, 16 or 32 in a fingerprint",
            });
        }
        if !Self::SEGMENT_LOGS.contains(&segment_log) {
            return Err(Error::Field {
                format: "fuse",
                field: "logarithm of a segment's slots",
                got: i64::from(segment_log),
                expected: "2 to 18",
            });
        }
        Ok(FuseShape {
            fingerprint_bits,
            parts,
            first_segments,
            segment_log,
        })
    }

    /// The number of bits.
    pub fn bits(self) -> u64 {
        self.slots() * u64::from(self.fingerprint_bits)
    }

    /// The number of fingerprints there is room for.
    pub fn slots(self) -> u64 {
        self.parts * self.part_slots()
    }

    /// The bits of a fingerprint.
    #[inline]
    pub fn fingerprint_bits(self) -> u32 {
        self.fingerprint_bits
    }

    /// The parts that keys are dealt out to.
    pub(super) fn parts(self) -> u64 {
        self.parts
    }

    /// The binary logarithm of the slots in a segment.
    pub(super) fn segment_log(self) -> u32 {
        self.segment_log
    }

    /// The slots of one part.
    pub(super) fn part_slots(self) -> u64 {
        match self.first_slots() {
            0 => 0,
            slots => slots + (2 << self.segment_log),
        }
    }

    /// The slots of a part that may be a key's first.
    pub(super) fn first_slots(self) -> u64 {
        self.first_segments << self.segment_log
    }

    /// The false-positive rate with `keys` keys: the chance that a fingerprint is right by accident, and
    /// that another key has all 64 bits that a filter learns about a key.
    pub fn rate_at(self, keys: u64) -> f64 {
        fingerprint_rate(self.fingerprint_bits, keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_paper_unless_they_pass_13_per_cent() {
        for (keys, slots, segment, first_segments) in [
            (1, 12, 4, 1),
            (10, 48, 16, 1),
            (100, 192, 64, 1),
            (1000, 1408, 128, 9),
            (10_000, 12_800, 512, 23),
            (100_000, 118_784, 2048, 56),
            (1_000_000, 1_126_400, 4096, 273), // where the paper has 136 + 2 of 2^13
            (10_000_000, 11_272_192, 32_768, 342),
        ] {
            let shape = FuseShape::for_keys(keys, 8).expect("small");
            assert_eq!(shape.slots(), slots, "{keys}");
            assert_eq!(1 << shape.segment_log(), segment, "{keys}");
            assert_eq!(shape.first_segments, first_segments, "{keys}");
        }
    }

    #[test]
    fn large_sets_take_13_per_cent_more_than_the_bound() {
        for exponent in 20..41 {
            for keys in [1_u64 << exponent, (1 << exponent) + (1 << (exponent - 1))] {
                for bits in [8, 16, 32] {
                    let shape = FuseShape::for_keys(keys, bits).expect("large");
                    let per_key = shape.bits() as f64 / keys as f64;
                    let ratio = per_key / f64::from(bits);
                    assert!((1.12..=1.13).contains(&ratio), "{keys}, {bits}: {ratio}");
                }
            }
        }
    }

    #[test]
    fn more_bits_than_64_bit_numbers_hold_are_refused() {
        for keys in [1 << 60, u64::MAX] {
            let refused = FuseShape::for_rate(keys, 0.5);
            assert!(matches!(refused, Err(Error::TooLarge { .. })), "{keys}");
        }
    }

    #[test]
    fn the_rate_counts_keys_that_share_all_64_bits() {
        let rate = |bits, keys| {
            FuseShape::for_keys(keys, bits)
                .expect("valid")
                .rate_at(keys)
        };
        assert_eq!(rate(8, 1), 1.0 / 256.0);
        assert_eq!(rate(32, 1 << 32) * (1_u64 << 32) as f64, 2.0);
        assert_eq!(rate(16, 0), 0.0);
        // A file may claim as many, and its rate was above 1.
        let tiny = FuseShape::for_keys(1, 8).expect("valid");
        assert_eq!(tiny.rate_at(u64::MAX), 1.0);
    }

    #[test]
    fn bits_bring_back_the_shape() {
        for keys in [0, 1, 7, 1000, 123_456, 1 << 30, 1 << 36] {
            for bits in [8, 16, 32] {
                let shape = FuseShape::for_keys(keys, bits).expect("valid");
                let (parts, log) = (shape.parts(), shape.segment_log());
                let again = FuseShape::of_bits(shape.bits(), bits, parts, log);
                assert_eq!(again.expect("the same"), shape);
            }
        }
    }
}
