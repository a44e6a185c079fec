//! From hashes to slots: peeling.
//!
//! A slot that only one key has is that key's own; with the key gone, others may be alone in a slot.
//! When all keys are gone, each has a slot of its own, and assigning these in reverse order makes the
//! exclusive or of every key's three slots its fingerprint. Where keys are left over, which is one
//! time in forty, and one in five around a million keys, all hashes are mixed again.
//!
//! Where the slots happen to fill whole segments, a set of some ten thousand keys has few to spare, and 49 of 50
//! attempts fail. After eight of them there is a segment more.

use alloc::vec::Vec;

use super::super::hashes::zeros;
use super::shape::FuseShape;
use super::slots::Triples;
use crate::bits::{Bitmap, Bits as _};
use crate::{Error, Result};

/// How often a build is tried. A tenth of that would do.
pub(super) const ATTEMPTS: u32 = 100;

/// The attempts with as many slots.
const ATTEMPTS_EACH: u32 = 8;

/// The slots of a filter of these hashes, which ascend and are distinct, and the attempt that made it.
///
/// # Errors
///
/// When there is no memory for it, or no attempt succeeds: for keys that are not chosen to that end the
/// chance is below 10^-50.
pub(super) fn build(hashes: &[u64], mut shape: FuseShape) -> Result<(Bitmap, Triples)> {
    let mut bits = Bitmap::new(shape.bits())?;
    let mut peeling = Peeling::new(shape)?;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 && attempt % ATTEMPTS_EACH == 0 {
            shape = shape.with_a_segment_more()?;
            bits = Bitmap::new(shape.bits())?;
            peeling = Peeling::new(shape)?;
        }
        let triples = Triples::new(shape, attempt);
        if peeling.fill(hashes, triples, &mut bits) {
            return Ok((bits, triples));
        }
        bits.clear_all();
    }
    Err(Error::Unbuilt { attempts: ATTEMPTS })
}

/// The keys of one part, as they are written out: 13 bytes per slot.
struct Peeling {
    /// How many of the keys still there have this slot.
    degrees: Vec<u8>,
    /// The exclusive or of their hashes: of a single one, the hash itself. It stays when that key goes.
    hashes: Vec<u64>,
    /// The slots of the keys that are gone, in the order they went; and, from the back, the slots that
    /// have had a single key and are yet to be looked at. A slot is in here once, so there is room.
    order: Vec<u32>,
}

impl Peeling {
    fn new(shape: FuseShape) -> Result<Peeling> {
        let no_memory = || Error::Memory {
            bits: shape.part_slots().saturating_mul(13 * 8),
        };
        let slots = u32::try_from(shape.part_slots()).map_err(|_| no_memory())?;
        Ok(Peeling {
            degrees: zeros(slots).ok_or_else(no_memory)?,
            hashes: zeros(slots).ok_or_else(no_memory)?,
            order: zeros(slots).ok_or_else(no_memory)?,
        })
    }

    /// Fills every part; false when one cannot be.
    fn fill(&mut self, hashes: &[u64], triples: Triples, bits: &mut Bitmap) -> bool {
        let mut rest = hashes;
        for part in 0..triples.shape().parts() {
            let keys;
            (keys, rest) = rest.split_at(rest.partition_point(|&hash| triples.part(hash) <= part));
            let start = part * triples.shape().part_slots();
            if !self.peel(keys, triples, start) {
                return false;
            }
            self.assign(keys.len(), triples, start, bits);
        }
        true
    }

    /// Takes all keys of the part that begins at slot `start` out, one after another; false when some are
    /// left that share every slot.
    fn peel(&mut self, keys: &[u64], triples: Triples, start: u64) -> bool {
        self.degrees.fill(0);
        self.hashes.fill(0);
        let slots = move |hash| {
            let inside = |slot| (slot - start) as usize;
            triples.find(hash).slots.map(inside)
        };
        for &hash in keys {
            for slot in slots(hash) {
                // 256 keys in a slot are no accident: give up, whatever the other slots are like.
                let Some(degree) = self.degrees[slot].checked_add(1) else {
                    return false;
                };
                self.degrees[slot] = degree;
                self.hashes[slot] ^= hash;
            }
        }
        // Gone keys fill `order` from its front, waiting slots from its back. The slot that came last
        // is looked at first, while it is still in the cache.
        let mut waiting = self.order.len();
        for (slot, &degree) in self.degrees.iter().enumerate() {
            if degree == 1 {
                waiting -= 1;
                self.order[waiting] = slot as u32;
            }
        }
        let mut gone = 0;
        while waiting < self.order.len() {
            let slot = self.order[waiting] as usize;
            waiting += 1;
            if self.degrees[slot] != 1 {
                continue;
            }
            self.order[gone] = slot as u32;
            gone += 1;
            let hash = self.hashes[slot];
            for other in slots(hash) {
                if other == slot {
                    continue;
                }
                self.degrees[other] -= 1;
                self.hashes[other] ^= hash;
                if self.degrees[other] == 1 {
                    waiting -= 1;
                    self.order[waiting] = other as u32;
                }
            }
        }
        gone == keys.len()
    }

    /// Gives the slots of the keys that are gone their values, the last one first.
    fn assign(&self, gone: usize, triples: Triples, start: u64, bits: &mut Bitmap) {
        let width = u64::from(triples.shape().fingerprint_bits());
        for &slot in self.order[..gone].iter().rev() {
            // The slot itself is still zero.
            let place = triples.find(self.hashes[slot as usize]);
            let value = triples.difference(bits, place);
            let position = (start + u64::from(slot)) * width;
            let word = bits.word(position / 64) | value << (position % 64);
            bits.set_word(position / 64, word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digester;

    fn hash(number: u64) -> u64 {
        Digester::default().digest(&number.to_le_bytes()).hi
    }

    fn hashes(count: u64) -> Vec<u64> {
        let mut hashes: Vec<u64> = (1..=count).map(hash).collect();
        hashes.sort_unstable();
        hashes
    }

    #[test]
    fn parts_are_built_one_by_one_and_hold_their_keys() {
        // Three parts of 2^10 keys on average, sized for a few more.
        let part = FuseShape::for_keys(1100, 16).expect("small");
        let shape = FuseShape::of_bits(3 * part.bits(), 16, 3, part.segment_log()).expect("whole");
        let hashes = hashes(3 << 10);

        let (bits, triples) = build(&hashes, shape).expect("built");

        for &hash in &hashes {
            let place = triples.find(hash);
            assert_eq!(triples.difference(&bits, place), 0);
            let [first, second, third] = place.slots.map(|slot| slot / part.slots());
            assert_eq!([first, second, third], [triples.part(hash); 3]);
        }
        let absent = (1 << 20..2 << 20).map(hash);
        let wrong = absent.filter(|&hash| triples.difference(&bits, triples.find(hash)) == 0);
        // 16 are expected.
        assert!((1..50).contains(&wrong.count()));
    }

    /// With 14 segments of 1024 slots an attempt for 11 500 keys succeeds one time in fifty: 6 of 60 sets could not be
    /// built.
    #[test]
    fn sets_that_leave_few_slots_to_spare_are_built() {
        for set in 0..60_u64 {
            let mut hashes: Vec<u64> = (0..11_500).map(|key| hash(set << 32 | key)).collect();
            hashes.sort_unstable();
            let shape = FuseShape::for_keys(11_500, 8).expect("small");

            let (bits, triples) = build(&hashes, shape).expect("built");

            assert!(bits.size() <= shape.bits() / 14 * 15);
            for &hash in &hashes {
                assert_eq!(triples.difference(&bits, triples.find(hash)), 0);
            }
        }
    }

    #[test]
    fn later_attempts_build_filters_too() {
        let shape = FuseShape::for_keys(500, 8).expect("small");
        let hashes = hashes(500);
        let mut peeling = Peeling::new(shape).expect("small");
        let built = (0..ATTEMPTS).filter(|&attempt| {
            let triples = Triples::new(shape, attempt);
            let mut bits = Bitmap::new(shape.bits()).expect("small");
            let filled = peeling.fill(&hashes, triples, &mut bits);
            let kept = |&hash: &u64| triples.difference(&bits, triples.find(hash)) == 0;
            assert!(!filled || hashes.iter().all(kept));
            filled
        });
        // 96 are expected, with a standard deviation of 2.
        assert!(built.count() > 85);
    }

    /// As often as with slots drawn independently, in a simulation of 4000 sets (1500 of the largest): 1000
    /// sets of each size, five standard deviations of 0.005.
    #[test]
    fn the_first_attempt_mostly_succeeds() {
        const SETS: u64 = 1000;
        for (keys, simulated) in [(10, 0.990), (100, 0.982), (1000, 0.972), (10_000, 0.986)] {
            let shape = FuseShape::for_keys(keys, 8).expect("small");
            let mut peeling = Peeling::new(shape).expect("small");
            let mut bits = Bitmap::new(shape.bits()).expect("small");
            let built = (0..SETS).filter(|set| {
                let mut hashes: Vec<u64> = (0..keys).map(|key| hash(set << 32 | key)).collect();
                hashes.sort_unstable();
                bits.clear_all();
                peeling.fill(&hashes, Triples::new(shape, 0), &mut bits)
            });
            let share = built.count() as f64 / SETS as f64;
            std::println!("{keys} keys: {share} at the first attempt");
            assert!((share - simulated).abs() < 0.025, "{share} of {keys} keys");
        }
    }

    #[test]
    fn hashes_that_share_every_slot_in_every_attempt_are_an_error() {
        let shape = FuseShape::for_keys(2, 8).expect("small");
        let twins = build(&[5, 5], shape);
        assert!(matches!(twins, Err(Error::Unbuilt { attempts: ATTEMPTS })));

        // Slots that 256 keys share, among others that are fine.
        let shape = FuseShape::for_keys(2000, 8).expect("small");
        let mut crowd = hashes(1000);
        crowd.extend([crowd[500]; 300]);
        crowd.sort_unstable();
        assert!(matches!(build(&crowd, shape), Err(Error::Unbuilt { .. })));
    }

    /// The count of a slot's keys would be 0 again, and all keys could be taken out in some order: with a
    /// slot of one key fewer they are.
    #[test]
    fn an_attempt_ends_where_a_slot_has_more_keys_than_can_be_counted() {
        let shape = FuseShape::for_keys(10_000, 8).expect("small");
        let triples = Triples::new(shape, 0);
        for (keys, is_built) in [(255, true), (256, false), (257, false), (300, false)] {
            // So low that all have the first slot of all.
            let mut crowd: Vec<u64> = (1..=keys).map(|key| hash(key) >> 20).collect();
            crowd.sort_unstable();
            assert!(crowd.iter().all(|&hash| triples.find(hash).slots[0] == 0));
            let mut peeling = Peeling::new(shape).expect("small");
            let mut bits = Bitmap::new(shape.bits()).expect("small");

            let filled = peeling.fill(&crowd, triples, &mut bits);

            assert_eq!(filled, is_built, "{keys}");
        }
    }
}
