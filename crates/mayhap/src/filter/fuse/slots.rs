//! Which three slots are a key's, and what their fingerprint is.

use super::shape::FuseShape;
use crate::bits::Bits;
use crate::hash::{Digest, WIDEN, reduce};

/// Where a key's fingerprint is kept: as the exclusive or of three slots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Triple {
    pub(super) slots: [u64; 3],
    /// The fingerprint is its lowest bits.
    hash: u64,
}

/// How a hash becomes a triple, with what a lookup needs of the shape worked out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Triples {
    shape: FuseShape,
    attempt: u32,
    /// Whether hashes are taken as they are: the first attempt, in a filter of one part.
    plain: bool,
    first_slots: u64,
    part_slots: u64,
    segment: u64,
}

impl Triples {
    /// Those of the build that succeeded as the `attempt`-th, from 0.
    pub(super) fn new(shape: FuseShape, attempt: u32) -> Triples {
        Triples {
            shape,
            attempt,
            plain: attempt == 0 && shape.parts() == 1,
            first_slots: shape.first_slots(),
            part_slots: shape.part_slots(),
            segment: 1 << shape.segment_log(),
        }
    }

    #[inline]
    pub(super) fn shape(&self) -> FuseShape {
        self.shape
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The part of a key with this hash. Of two hashes the greater is in the same part or a later one.
    pub(super) fn part(&self, hash: u64) -> u64 {
        reduce(hash, self.shape.parts())
    }

    /// Where a key with this hash is kept.
    #[inline(always)]
    pub(super) fn find(&self, hash: u64) -> Triple {
        let (part_start, rest, hash) = if self.plain {
            (0, hash, hash)
        } else {
            self.deal(hash)
        };
        let first = part_start + reduce(rest, self.first_slots);
        // A part begins with a segment, so these change the slot within the next segment and the one
        // after it. A segment has at most 2^18 slots.
        let (spread, within) = (hash.wrapping_mul(WIDEN), self.segment - 1);
        let second = (first + self.segment) ^ (spread >> 46 & within);
        let third = (first + 2 * self.segment) ^ (spread >> 28 & within);
        Triple {
            slots: [first, second, third],
            hash,
        }
    }

    /// Where the part of a key begins, what says where in the part it is, and what the rest.
    #[inline]
    fn deal(&self, hash: u64) -> (u64, u64, u64) {
        let product = u128::from(hash) * u128::from(self.shape.parts());
        let (part, rest) = ((product >> 64) as u64, product as u64);
        let part_start = part * self.part_slots;
        if self.attempt == 0 {
            return (part_start, rest, hash);
        }
        let hash = Digest::from_u64(hash).remix(u64::from(self.attempt)).hi;
        (part_start, hash, hash)
    }

    /// The exclusive or of the three slots of a triple and its fingerprint: 0 when it is kept there.
    #[inline(always)]
    pub(super) fn difference(&self, bits: &impl Bits, triple: Triple) -> u64 {
        match self.shape.fingerprint_bits() {
            8 => triple.difference::<1>(bits),
            16 => triple.difference::<2>(bits),
            _ => triple.difference::<4>(bits),
        }
    }
}

impl Triple {
    /// The fingerprint, of this many bits.
    pub(super) fn fingerprint(self, width: u32) -> u64 {
        self.hash & (u64::MAX >> (64 - width))
    }

    /// Hints that the slots, of this many bits each, will soon be read.
    #[inline(always)]
    pub(super) fn prefetch(self, bits: &impl Bits, width: u64) {
        for slot in self.slots {
            bits.prefetch(slot * width);
        }
    }

    /// The exclusive or of the three slots, of `BYTES` bytes each, and the fingerprint: 0 when it is kept
    /// here. The triple must be one of a filter with these bits.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(super) fn difference<const BYTES: u64>(self, bits: &impl Bits) -> u64 {
        let [first, second, third] = self.slots.map(|slot| {
            // SAFETY: slots are 1, 2 or 4 bytes. `Triples::find` returns only slots inside its shape,
            // and building and assembling check that a filter has all bits of its shape.
            unsafe { bits.number_at::<BYTES>(slot) }
        });
        (first ^ second ^ third ^ self.hash) & (u64::MAX >> (64 - 8 * BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digester;

    fn hash(number: u64) -> u64 {
        Digester::default().digest(&number.to_le_bytes()).hi
    }

    /// A key's slots are in three neighbouring segments of one part, and all parts of a filter far above
    /// 2^32 slots are reached evenly: chi-squared over 1024 of them has mean 1023 and standard deviation
    /// 45; six of them.
    #[test]
    fn slots_are_in_neighbouring_segments_and_spread_evenly() {
        const PIECES: usize = 1024;
        for keys in [1000, 1 << 24, 1 << 26, 1 << 36] {
            let shape = FuseShape::for_keys(keys, 8).expect("described, not made");
            for attempt in [0, 3] {
                let triples = Triples::new(shape, attempt);
                let mut hits = [0_u32; PIECES];
                for hash in (1..=200_000).map(hash) {
                    let slots = triples.find(hash).slots;
                    assert!(slots[2] < shape.slots());
                    let segments = slots.map(|slot| slot >> shape.segment_log());
                    assert_eq!(
                        [segments[1], segments[2]],
                        [segments[0] + 1, segments[0] + 2]
                    );
                    assert_eq!(slots[0] / shape.part_slots(), slots[2] / shape.part_slots());
                    let inside = slots[0] % shape.part_slots();
                    let start =
                        u128::from(inside) * PIECES as u128 / u128::from(shape.first_slots());
                    hits[start as usize] += 1;
                }
                let expected = 200_000.0 / PIECES as f64;
                let off = |&count: &u32| (f64::from(count) - expected).powi(2) / expected;
                let chi: f64 = hits.iter().map(off).sum();
                let even = (753.0..=1293.0).contains(&chi);
                // 1152 first slots do not divide into 1024 pieces.
                assert!(even || keys == 1000, "{keys}, {attempt}: {chi}");
            }
        }
    }
}
