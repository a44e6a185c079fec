//! Room for a fingerprint in full buckets: others move.
//!
//! Buckets are looked into breadth first, from both buckets of the key on, until one has an empty slot; only then is
//! anything moved, from the far end on. So a search that finds no room has changed nothing, no fingerprint is ever without
//! a slot, the fewest possible are moved, and the same inserts make the same bits everywhere: nothing is drawn at random.

use super::table::Table;
use crate::bits::Home;

/// Searches that long are common, and the longest are rare: room for their steps takes 16 KiB.
const FEW: usize = 32;
const MOST: usize = 1024;

/// A bucket that was looked into and is full.
#[derive(Clone, Copy, Default)]
struct Step {
    bucket: u64,
    /// The step before it, and the slot there whose fingerprint could move here; nothing for the key's own buckets.
    before: u16,
    slot: u8,
}

impl Table {
    /// Puts a fingerprint into its buckets, which are full, by moving others; looks into `most` buckets at most. Returns how
    /// many it looked into, as an error when it found no room: nothing has changed then.
    pub(super) fn push(&mut self, home: &Home, most: usize) -> Result<usize, usize> {
        let room = self.make_room::<FEW>(home, most);
        let room = match room {
            Err(FEW) if most > FEW => self.make_room::<MOST>(home, most),
            found => found,
        };
        let ((bucket, slot), looked) = room?;
        self.slots.set(bucket, slot, home.fingerprint);
        Ok(looked)
    }

    /// A slot in one of the buckets whose fingerprint has been moved, and the number of buckets looked into, which is the
    /// error where none has room.
    fn make_room<const STEPS: usize>(
        &mut self,
        home: &Home,
        most: usize,
    ) -> Result<((u64, u32), usize), usize> {
        let most = most.min(STEPS);
        if most < home.distinct().len() {
            return Err(0);
        }
        let mut steps = [Step::default(); STEPS];
        let roots = home.distinct();
        for (step, &bucket) in steps.iter_mut().zip(roots) {
            step.bucket = bucket;
        }
        let (roots, mut count) = (roots.len(), roots.len());
        let mut at = 0;
        while at < count {
            for slot in 0..self.shape.bucket {
                let from = steps[at].bucket;
                let bucket = self.other(from, self.slots.get(from, slot));
                if is_on_the_way(&steps, roots, at, bucket) {
                    continue;
                }
                if let Some(empty) = self.slots.find(bucket, 0) {
                    let room = self.shift(&steps, roots, (at, slot), (bucket, empty));
                    return Ok((room, count + 1));
                }
                if count == most {
                    return Err(count);
                }
                steps[count] = Step {
                    bucket,
                    before: at as u16,
                    slot: slot as u8,
                };
                count += 1;
            }
            at += 1;
        }
        Err(count)
    }

    /// Moves the fingerprint in a slot of a step into the empty slot, the one before it into its place, and so on; returns
    /// the slot of the key's own bucket that is left to be written.
    fn shift(
        &mut self,
        steps: &[Step],
        roots: usize,
        (mut at, mut slot): (usize, u32),
        mut empty: (u64, u32),
    ) -> (u64, u32) {
        loop {
            let Step {
                bucket,
                before,
                slot: slot_before,
            } = steps[at];
            let moved = self.slots.get(bucket, slot);
            self.slots.set(empty.0, empty.1, moved);
            empty = (bucket, slot);
            if at < roots {
                return empty;
            }
            (at, slot) = (usize::from(before), u32::from(slot_before));
        }
    }
}

/// Whether a bucket is among those that lead to a step: moving along such a way would move a slot twice.
fn is_on_the_way(steps: &[Step], roots: usize, mut at: usize, bucket: u64) -> bool {
    while steps[at].bucket != bucket {
        if at < roots {
            return false;
        }
        at = usize::from(steps[at].before);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::super::layered::Layer as _;
    use super::super::table::CuckooShape;
    use super::*;
    use crate::Bitmap;
    use crate::hash::{Digest, Digester};
    use alloc::vec::Vec;

    fn table(bucket: u32) -> Table {
        let shape = CuckooShape {
            first_buckets: 101,
            power: 1,
            bucket,
            fingerprint: 11,
            first_fingerprint: 9,
        };
        let bits = Bitmap::new(shape.checked_bits().expect("small")).expect("small");
        Table::over(bits, shape, &Digester::default()).expect("as many")
    }

    fn digest(key: u64) -> Digest {
        Digester::default().digest(&key.to_le_bytes())
    }

    #[test]
    fn fingerprints_that_move_stay_in_their_buckets_until_there_is_no_room() {
        for bucket in [1, 2, 3, 4, 8] {
            let mut table = table(bucket);
            let mut inserted = Vec::new();
            let mut refused = 0;
            for key in 0..3000 {
                let home = table.home(digest(key));
                let before = table.clone();
                if table.slots.put(&home) || table.push(&home, MOST).is_ok() {
                    inserted.push(key);
                } else {
                    refused += 1;
                    assert_eq!(table.stored(), before.stored(), "refused, and changed");
                }
            }
            assert!(refused > 500);
            assert!(inserted.iter().all(|&key| table.holds(digest(key))));
            assert_eq!(table.statistics().keys, Some(inserted.len() as f64));
            // Each has a slot of its own: taken out one by one, all of them are there.
            for &key in &inserted {
                let home = table.home(digest(key));
                assert!(table.slots.take(&home), "{key}");
            }
            assert_eq!(table.statistics().ones, 0);
        }
    }

    #[test]
    fn one_key_again_and_again_fills_its_own_buckets_and_moves_others_out() {
        let mut table = table(4);
        for key in 0..500 {
            let home = table.home(digest(key));
            assert!(table.slots.put(&home) || table.push(&home, MOST).is_ok());
        }
        let home = table.home(digest(7));
        let most = 4 * home.distinct().len() as u64;
        for count in 2..=most {
            assert!(!table.slots.is_stuck(&home));
            assert!(table.slots.put(&home) || table.push(&home, MOST).is_ok());
            assert_eq!(table.slots.count(&home), count);
        }
        assert!(table.slots.is_stuck(&home));
        assert!(!table.slots.put(&home) && table.push(&home, MOST).is_err());
        assert!((0..500).all(|key| table.holds(digest(key))));
    }
}
