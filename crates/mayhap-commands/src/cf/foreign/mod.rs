//! A cuckoo filter in RedisBloom's layout: it answers as it does there, and its dump can be loaded there again.
//!
//! A layer is an array of bytes, one bucket after the other; a byte is a fingerprint, 0 an empty slot. With `h`, the
//! MurmurHash64A of a key with seed 0, the fingerprint is `h mod 255 + 1`. It is in bucket `h` or in bucket
//! `h xor fingerprint * 0x5bd1e995` of a layer, both modulo the buckets of the layer. These are a power of two, so either
//! bucket leads to the other.
//!
//! A layer has at least as many buckets as every older one. So fingerprints that are alike in one, in the same two buckets,
//! are alike in every older one; [`Foreign::remove`] looks into the newest first, and what it leaves in an older layer serves
//! the key whose fingerprint it took. For the same reason a fingerprint can move into an older layer.

mod stream;

pub use stream::HEADER;
pub(super) use stream::SAVED;

use mayhap::bits::{Bitmap, Bits as _, Home, Slots};
use mayhap::hash::murmur64a;

use super::Plan;
use super::nest::{Facts, Keys};
use crate::limits::{Allows, Refusal, grown};
use crate::value::Mover;

/// The most layers: a lookup asks them all. RedisBloom makes at most 33, unless its `cf-max-expansions` was raised.
const MOST_LAYERS: u64 = 1024;

/// The bits of a slot.
const WIDTH: u32 = 8;

/// The fingerprint of a key, and where it leads.
#[derive(Clone, Copy)]
struct Print {
    /// The hash, or a bucket that the fingerprint is in: enough for layers that have no more buckets.
    hash: u64,
    fingerprint: u64,
}

impl Print {
    fn of(key: &[u8]) -> Print {
        let hash = murmur64a(key, 0);
        Print {
            hash,
            fingerprint: hash % 255 + 1,
        }
    }

    /// Its place among this many buckets, a power of two.
    fn home(self, count: u64) -> Home {
        let other = self.hash ^ (self.fingerprint * 0x5bd1_e995);
        Home {
            fingerprint: self.fingerprint,
            buckets: [self.hash, other].map(|hash| hash & (count - 1)),
        }
    }
}

/// A layer: buckets of bytes.
#[derive(Clone)]
struct Layer {
    slots: Slots,
    /// The buckets, a power of two.
    buckets: u64,
}

impl Layer {
    /// A layer over its bytes, with this many slots in a bucket.
    fn over(bytes: Bitmap, slots: u16) -> Layer {
        Layer {
            buckets: bytes.size() / u64::from(WIDTH) / u64::from(slots),
            slots: Slots::over(bytes, slots.into(), WIDTH),
        }
    }

    fn bytes(&self) -> &Bitmap {
        self.slots.bits()
    }

    /// The number of its slots, each a byte.
    fn length(&self) -> u64 {
        self.bytes().size() / u64::from(WIDTH)
    }

    fn holds(&self, print: Print) -> bool {
        self.slots.holds(&print.home(self.buckets))
    }

    /// Puts a fingerprint into an empty slot of its own, if there is one.
    fn put(&mut self, print: Print) -> bool {
        self.slots.put(&print.home(self.buckets))
    }

    /// Puts a fingerprint into a full bucket: the one it replaces moves to its other bucket, and so on where that is full, `most`
    /// times at most. On failure everything is as before.
    fn push(&mut self, print: Print, most: u16, slots: u16) -> bool {
        let mut moved = Vec::new();
        let [mut bucket, _] = print.home(self.buckets).buckets;
        let mut fingerprint = print.fingerprint;
        for step in 0..most {
            let slot = u32::from(step % slots);
            let before = self.slots.get(bucket, slot);
            self.slots.set(bucket, slot, fingerprint);
            moved.push((bucket, slot, before));
            fingerprint = before;
            let print = Print {
                hash: bucket,
                fingerprint,
            };
            [_, bucket] = print.home(self.buckets).buckets;
            if let Some(empty) = self.slots.find(bucket, 0) {
                self.slots.set(bucket, empty, fingerprint);
                return true;
            }
        }
        for (bucket, slot, before) in moved.into_iter().rev() {
            self.slots.set(bucket, slot, before);
        }
        false
    }
}

/// A filter of RedisBloom's.
#[derive(Clone)]
pub(crate) struct Foreign {
    /// The buckets of the first layer, a power of two.
    buckets: u64,
    /// The slots of a bucket, 1 to 255.
    slots: u16,
    /// The most fingerprints that an insert moves, at least 1.
    iterations: u16,
    /// The buckets of the next layer as a multiple of the newest's, a power of two; 0 for a filter that does not grow.
    expansion: u16,
    /// The slots that are not empty.
    keys: u64,
    removed: u64,
    /// Oldest first; never none.
    layers: Vec<Layer>,
}

impl Foreign {
    /// Makes an empty filter, as RedisBloom does: buckets and expansion are powers of two.
    pub(crate) fn new(plan: Plan, allows: Allows<'_>) -> Result<Foreign, Refusal> {
        let buckets = (plan.capacity / u64::from(plan.bucket.max(1))).checked_next_power_of_two();
        let expansion = match plan.expansion {
            0 => 0,
            times => times.next_power_of_two(),
        };
        let small = [plan.bucket, plan.iterations, expansion].map(u64::from);
        let header = stream::header_of([0, buckets.ok_or(Refusal::Memory)?, 0, 1], small);
        Foreign::begin(&header, allows).map_err(|_| Refusal::Memory)
    }

    /// The bytes of each layer, oldest first.
    pub(crate) fn bits(&self) -> impl Iterator<Item = &Bitmap> {
        self.layers.iter().map(Layer::bytes)
    }

    /// Reallocates its blocks to the size they have.
    pub(crate) fn relocate(&mut self, mover: &impl Mover) {
        for layer in &mut self.layers {
            layer.slots.reallocate();
        }
        mover.relocate(&mut self.layers);
    }

    /// The fingerprints in it.
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }

    /// The memory of its layers.
    pub(crate) fn bytes(&self) -> u64 {
        let layers = self.layers.iter();
        layers.map(|layer| taken(layer.length())).sum()
    }

    /// Its fields for `CF.INFO`.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            buckets: self.buckets,
            layers: self.layers.len() as u64,
            removed: self.removed,
            bucket: self.slots.into(),
            expansion: self.expansion.into(),
            iterations: self.iterations.into(),
        }
    }

    /// The number of its layers, and of their slots.
    pub(crate) fn extent(&self) -> (u64, u64) {
        let slots = self.layers.iter().map(Layer::length);
        (self.layers.len() as u64, slots.sum())
    }

    /// The bytes of layer `index`; `None` if there cannot be one.
    fn bytes_in(&self, index: u64) -> Option<u64> {
        let index = Some(index).filter(|&index| index < MOST_LAYERS)?;
        let buckets = grown(self.buckets, self.expansion.into(), index)?;
        let bytes = buckets.checked_mul(self.slots.into())?;
        // As bits, too, they have a number.
        Some(bytes).filter(|&bytes| bytes > 0 && bytes <= u64::MAX / 8)
    }

    fn holds(&self, print: Print) -> bool {
        let mut newest_first = self.layers.iter().rev();
        newest_first.any(|layer| layer.holds(print))
    }

    /// Returns whether a key may be in the filter: false is certain.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.holds(Print::of(key))
    }

    /// Counts how often a key is in the filter: never less, and sometimes more.
    pub(crate) fn count(&self, key: &[u8]) -> u64 {
        let print = Print::of(key);
        let layers = self.layers.iter();
        let counts = layers.map(|layer| layer.slots.count(&print.home(layer.buckets)));
        counts.sum()
    }

    /// Removes a key once; false when it was certainly not there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let print = Print::of(key);
        let mut newest_first = self.layers.iter_mut().rev();
        let is_taken = newest_first.any(|layer| layer.slots.take(&print.home(layer.buckets)));
        if is_taken {
            self.keys -= 1;
            self.removed = self.removed.saturating_add(1);
        }
        is_taken
    }

    /// Inserts every key or none, into at most `most` layers; `new` reports which were definitely not in the filter before.
    pub(crate) fn insert(
        &mut self,
        which: Keys,
        keys: &[&[u8]],
        new: &mut [bool],
        most: usize,
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        let (before, layers) = (self.keys, self.layers.len());
        for layer in &mut self.layers {
            layer.slots.record();
        }
        let done = keys.iter().zip(new).try_for_each(|(key, new)| {
            let print = Print::of(key);
            *new = !self.holds(print);
            match which == Keys::New && !*new {
                true => Ok(()),
                false => self.insert_one(print, most, allows),
            }
        });
        if done.is_err() {
            self.layers.truncate(layers);
            self.keys = before;
        }
        for layer in &mut self.layers {
            match done {
                Ok(()) => layer.slots.keep(),
                Err(_) => layer.slots.take_back(),
            }
        }
        done
    }

    /// Puts a fingerprint into the newest layer with an empty slot for it; where none has one, makes room in the newest or grows.
    fn insert_one(&mut self, print: Print, most: usize, allows: Allows<'_>) -> Result<(), Refusal> {
        let (iterations, slots) = (self.iterations, self.slots);
        let mut newest_first = self.layers.iter_mut().rev();
        let mut is_in = newest_first.any(|layer| layer.put(print));
        while !is_in {
            let newest = self.layers.last_mut();
            is_in = newest
                .is_some_and(|newest| newest.put(print) || newest.push(print, iterations, slots));
            if !is_in {
                self.grow(most, allows)?;
            }
        }
        self.keys += 1;
        Ok(())
    }

    /// Begins one more layer.
    fn grow(&mut self, most: usize, allows: Allows<'_>) -> Result<(), Refusal> {
        let layers = self.layers.len();
        let bytes = self.bytes_in(layers as u64).ok_or(Refusal::Full)?;
        if layers >= most {
            return Err(Refusal::Expansions);
        }
        if !allows(self.bytes(), taken(bytes)) {
            return Err(Refusal::Memory);
        }
        let layer = Bitmap::new(8 * bytes).map_err(|_| Refusal::Memory)?;
        self.layers.push(Layer::over(layer, self.slots));
        Ok(())
    }

    /// Moves fingerprints into older layers and gives back the newest ones that are empty then.
    pub(crate) fn compact(&mut self) {
        for index in (1..self.layers.len()).rev() {
            let (older, newer) = self.layers.split_at_mut(index);
            let layer = &mut newer[0];
            layer.slots.drain(layer.buckets, |hash, fingerprint| {
                let print = Print { hash, fingerprint };
                older.iter_mut().any(|older| older.put(print))
            });
        }
        let is_used = |layer: &Layer| layer.bytes().count_ones() > 0;
        let used = self.layers.iter().rposition(is_used);
        self.layers.truncate(used.unwrap_or(0) + 1);
    }

    /// Replaces bytes of a layer from `start` on; false when they do not fit.
    pub(crate) fn load(&mut self, layer: usize, start: u64, bytes: &[u8]) -> bool {
        let Some(layer) = self.layers.get_mut(layer) else {
            return false;
        };
        let end = start.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > layer.length()) {
            return false;
        }
        let slots = u64::from(self.slots);
        for (index, &byte) in (start..).zip(bytes) {
            let (bucket, slot) = (index / slots, (index % slots) as u32);
            let was_used = layer.slots.get(bucket, slot) != 0;
            layer.slots.set(bucket, slot, byte.into());
            self.keys = self.keys - u64::from(was_used) + u64::from(byte != 0);
        }
        true
    }
}

/// The memory of a layer of this many bytes, which is in whole cache lines.
fn taken(bytes: u64) -> u64 {
    bytes.div_ceil(64).saturating_mul(64) + size_of::<Layer>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const ANY: Allows<'static> = &|_, _| true;

    /// The header of an empty filter.
    pub(super) fn header(buckets: u64, layers: u64, numbers: [u16; 3]) -> Vec<u8> {
        let mut bytes = [0, buckets, 0, layers].map(u64::to_le_bytes).concat();
        bytes.extend(numbers.map(u16::to_le_bytes).concat());
        bytes
    }

    pub(super) fn empty(buckets: u64, slots: u16, expansion: u16) -> Foreign {
        let header = header(buckets, 1, [slots, 20, expansion]);
        Foreign::begin(&header, ANY).expect("a filter")
    }

    fn keys(range: std::ops::Range<u32>) -> Vec<[u8; 4]> {
        range.map(u32::to_le_bytes).collect()
    }

    pub(super) fn insert(filter: &mut Foreign, range: std::ops::Range<u32>) -> Result<(), Refusal> {
        let keys = keys(range);
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = vec![false; keys.len()];
        filter.insert(Keys::All, &keys, &mut new, 33, ANY)
    }

    pub(super) fn bytes(filter: &Foreign) -> Vec<u8> {
        let mut bytes = Vec::new();
        filter.write(&mut bytes).expect("written");
        bytes
    }

    #[test]
    fn fingerprints_and_buckets_are_those_of_another_program() {
        // In Python, with a MurmurHash64A that was checked against the vectors of `Scheme::RedisBloom`:
        // h = murmur(key, 0); f = h % 255 + 1; [(h % n, (h ^ f * 0x5bd1e995) % n) for n in (8, 1024, 2**20)]
        for (key, fingerprint, small, middle, large) in [
            (&b""[..], 1, [0, 5], [0, 405], [0, 125_333]),
            (b"a", 196, [1, 5], [785, 261], [748_305, 900_357]),
            (b"hello", 159, [7, 4], [279, 668], [782_615, 778_908]),
            (b"eight888", 161, [3, 6], [523, 190], [272_907, 511_166]),
            (
                b"a key longer than eight bytes",
                162,
                [3, 1],
                [779, 833],
                [833_291, 616_257],
            ),
        ] {
            let print = Print::of(key);
            assert_eq!(print.fingerprint, fingerprint);
            for (count, expected) in [(8, small), (1024, middle), (1 << 20, large)] {
                assert_eq!(print.home(count).buckets, expected, "{key:?}");
                let [first, second] = expected;
                let back = Print {
                    hash: second,
                    fingerprint,
                };
                assert_eq!(back.home(count).buckets, [second, first]);
            }
        }
    }

    #[test]
    fn no_key_is_missed_while_a_filter_grows_shrinks_and_is_compacted() {
        for (buckets, slots, expansion) in [(64, 2, 1), (1, 1, 2), (16, 4, 4), (2, 255, 2)] {
            let mut filter = empty(buckets, slots, expansion);
            for range in [0..1, 1..400, 400..1500] {
                insert(&mut filter, range).expect("room");
            }
            let used = |filter: &Foreign| -> u64 {
                let bytes = filter.bits().flat_map(Bitmap::to_bytes);
                bytes.filter(|&byte| byte != 0).count() as u64
            };
            assert_eq!((filter.keys(), used(&filter)), (1500, 1500));
            assert!(keys(0..1500).iter().all(|key| filter.contains(key)));
            let absent = keys(1 << 20..(1 << 20) + 1000);
            let wrong = absent.iter().filter(|key| filter.contains(&key[..]));
            let wrong = wrong.count();
            let shared = filter.layers.len() * 2 * usize::from(slots) * 1000 / 255;
            assert!(wrong <= shared + 20, "{wrong}");

            // Of those that look alike, any may be removed: what is left serves the others.
            for key in keys(0..1500).iter().filter(|key| key[0] % 4 != 0) {
                assert!(filter.remove(key), "{key:?}");
            }
            let left = keys(0..1500);
            let left: Vec<_> = left.iter().filter(|key| key[0] % 4 == 0).collect();
            let layers = filter.layers.len();
            for _ in 0..2 {
                assert!(left.iter().all(|key| filter.contains(&key[..])));
                assert_eq!((filter.keys(), used(&filter)), (375, 375));
                filter.compact();
            }
            assert!(layers == 1 || filter.layers.len() < layers);
            assert!(left.iter().all(|key| filter.remove(&key[..])));
            assert_eq!(used(&filter), 0);
            filter.compact();
            assert_eq!((filter.layers.len(), filter.removed), (1, 1500));
        }
    }

    #[test]
    fn a_batch_that_is_refused_changes_nothing() {
        for (expansion, most, limit, expected) in [
            (0, 33, u64::MAX, Refusal::Full),
            (1, 3, u64::MAX, Refusal::Expansions),
            (2, 33, 2000, Refusal::Memory),
        ] {
            let mut filter = empty(64, 2, expansion);
            insert(&mut filter, 0..60).expect("room");
            let before = bytes(&filter);
            let keys = keys(30..5000);
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let mut new = vec![false; keys.len()];
            let allows = |now, more| now + more <= limit;

            let done = filter.insert(Keys::All, &keys, &mut new, most, &allows);

            assert_eq!(done, Err(expected));
            assert!(bytes(&filter) == before);
            let new = &mut new[..40];
            let done = filter.insert(Keys::New, &keys[..40], new, most, &allows);
            assert_eq!(done, Ok(()));
            let inserted = new.iter().filter(|&&new| new).count() as u64;
            assert!(inserted <= 10 && !new[..30].contains(&true));
            assert_eq!(filter.keys(), 60 + inserted);
        }
    }

    #[test]
    fn a_key_is_in_as_often_as_it_was_inserted() {
        let mut filter = empty(8, 2, 1);
        let mut new = [false; 50];
        let keys = [&b"again"[..]; 50];
        filter
            .insert(Keys::All, &keys, &mut new, 33, ANY)
            .expect("room");
        assert_eq!((filter.count(b"again"), filter.keys()), (50, 50));
        assert!(new[0] && !new[1..].contains(&true));
        assert!((0..50).all(|_| filter.remove(b"again")));
        assert!(!filter.remove(b"again"));
    }
}
