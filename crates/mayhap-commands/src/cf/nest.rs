//! A filter of the `CF.*` commands: one of ours (`own.rs`), or one in RedisBloom's layout (`foreign`).
//!
//! Batches go in whole or not at all. Every change is counted in the census.

use std::borrow::Cow;

use mayhap::SecretKey;
use mayhap::bits::Bitmap;

use super::Plan;
use super::foreign::Foreign;
use super::own::Own;
use crate::census::{CUCKOO, Tally};
use crate::encoding::sealed;
use crate::limits::{Allows, Refusal};
use crate::pieces::Pieces;

/// The keys of a batch that are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// All.
    All,
    /// Those that the filter does not seem to hold.
    New,
}

/// The layout of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Ours.
    Own,
    /// RedisBloom's, bit for bit.
    RedisBloom,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Layout; 2] = [Layout::Own, Layout::RedisBloom];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Own => "mayhap",
            Layout::RedisBloom => "redisbloom",
        }
    }
}

/// The fields of `CF.INFO` besides keys and bytes.
pub(super) struct Facts {
    /// The buckets of the first layer.
    pub(super) buckets: u64,
    pub(super) layers: u64,
    pub(super) removed: u64,
    /// The slots of a bucket.
    pub(super) bucket: u32,
    pub(super) expansion: u32,
    pub(super) iterations: u32,
}

/// A filter of the `CF.*` commands.
pub struct Nest {
    pub(super) body: Body,
}

/// A filter by its layout.
#[derive(Clone)]
pub(super) enum Body {
    Own(Own),
    Foreign(Foreign),
}

impl Nest {
    /// An empty filter, whose keys are hashed under the secret if there is one and the layout is ours.
    ///
    /// # Errors
    ///
    /// When it is not allowed, or there is no memory for it.
    pub fn new(
        plan: Plan,
        layout: Layout,
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Nest, Refusal> {
        Ok(Nest::of(match layout {
            Layout::Own => Body::Own(Own::new(plan, secret, allows)?),
            Layout::RedisBloom => Body::Foreign(Foreign::new(plan, allows)?),
        }))
    }

    /// Makes a filter and counts it in the census.
    pub(super) fn of(body: Body) -> Nest {
        let nest = Nest { body };
        CUCKOO.enter(nest.tally());
        nest
    }

    /// Its fields for `CF.INFO`.
    pub(super) fn facts(&self) -> Facts {
        match &self.body {
            Body::Own(own) => own.facts(),
            Body::Foreign(foreign) => foreign.facts(),
        }
    }

    /// The number of keys in it, each counted as often as it is in.
    pub fn keys(&self) -> u64 {
        match &self.body {
            Body::Own(own) => own.keys(),
            Body::Foreign(foreign) => foreign.keys(),
        }
    }

    /// The memory it takes.
    pub fn bytes(&self) -> u64 {
        let bytes = match &self.body {
            Body::Own(own) => own.bytes(),
            Body::Foreign(foreign) => foreign.bytes(),
        };
        size_of::<Nest>() as u64 + bytes
    }

    fn tally(&self) -> Tally {
        let (layers, capacity) = match &self.body {
            Body::Own(own) => own.extent(),
            Body::Foreign(foreign) => foreign.extent(),
        };
        Tally {
            layers,
            keys: self.keys(),
            capacity,
            bytes: self.bytes(),
        }
    }

    /// Returns whether a key may be in the filter: false is certain.
    pub fn contains(&self, key: &[u8]) -> bool {
        match &self.body {
            Body::Own(own) => own.contains(key),
            Body::Foreign(foreign) => foreign.contains(key),
        }
    }

    /// Looks up each key; false is certain.
    pub fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        match &self.body {
            Body::Own(own) => own.contains_batch(keys, found),
            Body::Foreign(foreign) => {
                for (key, found) in keys.iter().zip(found) {
                    *found = foreign.contains(key);
                }
            }
        }
    }

    /// Counts how often a key is in the filter: never less, and sometimes more.
    pub fn count(&self, key: &[u8]) -> u64 {
        match &self.body {
            Body::Own(own) => own.count(key),
            Body::Foreign(foreign) => foreign.count(key),
        }
    }

    /// Inserts every key or none, into at most `most` layers; `new` reports which were definitely not in the filter before.
    ///
    /// # Errors
    ///
    /// When there is no room for all of them, and the filter may not grow. Nothing has changed then.
    pub fn insert(
        &mut self,
        which: Keys,
        keys: &[&[u8]],
        new: &mut [bool],
        most: usize,
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        self.recounted(|nest| match &mut nest.body {
            Body::Own(own) => match own.try_insert(which, keys, new) {
                true => Ok(()),
                false => own.insert_growing(which, keys, new, most, allows),
            },
            Body::Foreign(foreign) => foreign.insert(which, keys, new, most, allows),
        })
    }

    /// Inserts a batch that another server has accepted and that is refused as a whole: the keys that find room.
    pub(super) fn obey(
        &mut self,
        which: Keys,
        keys: &[&[u8]],
        new: &mut [bool],
        allows: Allows<'_>,
    ) {
        for (key, new) in keys.chunks(1).zip(new.chunks_mut(1)) {
            let done = self.insert(which, key, new, usize::MAX, allows);
            if done.is_err() {
                new.fill(false);
            }
        }
    }

    /// Changes it, and counts the difference in the census.
    fn recounted<R>(&mut self, change: impl FnOnce(&mut Nest) -> R) -> R {
        let before = self.tally();
        let done = change(self);
        CUCKOO.recount(before, self.tally());
        done
    }

    /// Removes a key once; false when it was certainly not there.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.recounted(|nest| match &mut nest.body {
            Body::Own(own) => own.remove(key),
            Body::Foreign(foreign) => foreign.remove(key),
        })
    }

    /// Moves fingerprints into older layers and gives back those that are empty then.
    pub fn compact(&mut self) {
        self.recounted(|nest| match &mut nest.body {
            Body::Own(own) => own.compact(),
            Body::Foreign(foreign) => foreign.compact(),
        });
    }
}

impl Pieces for Nest {
    fn whole(&self) -> Cow<'_, Nest> {
        match &self.body {
            Body::Own(own) if own.is_small() => {
                Cow::Owned(Nest::of(Body::Own(own.clone().widened())))
            }
            _ => Cow::Borrowed(self),
        }
    }

    fn first(&self) -> Vec<u8> {
        match &self.body {
            Body::Own(own) => sealed([self.head(), own.described()].concat()),
            Body::Foreign(foreign) => foreign.header(),
        }
    }

    fn bits(&self) -> Vec<&Bitmap> {
        match &self.body {
            Body::Own(own) => own.bits(),
            Body::Foreign(foreign) => foreign.bits().collect(),
        }
    }

    fn is_sealed(&self) -> bool {
        matches!(self.body, Body::Own(_))
    }

    fn load_bits(&mut self, layer: usize, start: u64, bytes: &[u8]) -> bool {
        self.recounted(|nest| match &mut nest.body {
            Body::Own(own) => own.load(layer, start, bytes),
            Body::Foreign(foreign) => foreign.load(layer, start, bytes),
        })
    }
}

impl Clone for Nest {
    fn clone(&self) -> Nest {
        Nest::of(self.body.clone())
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        CUCKOO.leave(self.tally());
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::value::Value as _;
    use mayhap::bits::Bits as _;

    pub(in super::super) const ANY: Allows<'static> = &|_, _| true;

    pub(in super::super) fn plan(bucket: u32, expansion: u32) -> Plan {
        Plan {
            capacity: 600,
            bucket,
            iterations: 20,
            expansion,
        }
    }

    pub(in super::super) fn filled(plan: Plan, secret: Option<&SecretKey>, keys: u32) -> Nest {
        let mut nest = Nest::new(plan, Layout::Own, secret, ANY).expect("made");
        let keys: Vec<[u8; 4]> = (0..keys).map(u32::to_le_bytes).collect();
        for keys in keys.chunks(100) {
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let mut new = vec![false; keys.len()];
            nest.insert(Keys::All, &keys, &mut new, 33, ANY)
                .expect("room");
        }
        nest
    }

    pub(in super::super) fn bytes(nest: &Nest) -> Vec<u8> {
        let mut bytes = Vec::new();
        nest.write(&mut bytes).expect("written");
        bytes
    }

    /// An empty filter of 512 slots in RedisBloom's layout.
    fn foreign(bucket: u16) -> Nest {
        let numbers = [0, 512 / u64::from(bucket), 0, 1].map(u64::to_le_bytes);
        let header = [
            numbers.concat(),
            [bucket, 20, 2].map(u16::to_le_bytes).concat(),
        ];
        Nest::begin(&header.concat(), None, ANY).expect("begun")
    }

    #[test]
    fn keys_that_are_removed_as_often_as_inserted_leave_an_empty_filter() {
        let own = |bucket| Nest::new(plan(bucket, 1), Layout::Own, None, ANY).expect("made");
        for nest in [own(1), own(2), own(4), foreign(1), foreign(2)] {
            let mut nest = nest;
            let mut there = std::collections::BTreeMap::<u64, u64>::new();
            let mut random = 1_u64;
            for step in 0..20_000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                // Some keys are in up to a dozen times, most once or not at all.
                let key = (random >> 33) % 1000 * ((random >> 43) % 1000) / 1000;
                let count = there.entry(key).or_default();
                if *count < 12 && (*count == 0 || random >> 63 == 0) {
                    let inserted =
                        nest.insert(Keys::All, &[&key.to_le_bytes()], &mut [false], 33, ANY);
                    assert_eq!(inserted, Ok(()));
                    *count += 1;
                } else {
                    assert!(nest.remove(&key.to_le_bytes()));
                    *count -= 1;
                }
                if step % 1000 == 0 {
                    nest = Nest::load(&mut &bytes(&nest)[..], None).expect("read");
                    for (key, &count) in &there {
                        assert!(nest.count(&key.to_le_bytes()) >= count, "{key}");
                    }
                }
            }
            assert_eq!(nest.keys(), there.values().sum::<u64>());
            for (key, count) in there {
                for _ in 0..count {
                    assert!(nest.contains(&key.to_le_bytes()) && nest.remove(&key.to_le_bytes()));
                }
            }
            assert_eq!(nest.keys(), 0);
            assert!(nest.bits().iter().all(|bits| bits.count_ones() == 0));
        }
    }

    #[test]
    fn what_is_not_allowed_is_refused_and_changes_nothing() {
        let keys: Vec<[u8; 4]> = (0..5000_u32).map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = vec![false; keys.len()];
        for (expansion, most, limit, expected) in [
            (0, 33, u64::MAX, Refusal::Full),
            (1, 3, u64::MAX, Refusal::Expansions),
            (2, 33, 3000, Refusal::Memory),
        ] {
            let mut nest = filled(plan(2, expansion), None, 300);
            let before = bytes(&nest);
            let allows = |now, more| now + more <= limit;
            let done = nest.insert(Keys::All, &keys, &mut new, most, &allows);
            assert_eq!(done, Err(expected));
            assert!(bytes(&nest) == before);
            let done = nest.insert(Keys::New, &keys[..320], &mut new[..320], most, &allows);
            assert_eq!(done, Ok(()));
            assert_eq!(
                new[..320].iter().filter(|&&new| new).count(),
                nest.keys() as usize - 300
            );
        }
    }
}
