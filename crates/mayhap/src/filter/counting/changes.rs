//! Inserting a key, and removing it again.
//!
//! A position that comes twice among a key's is raised twice and lowered twice, so that all counters
//! together hold as many times the keys as there are hashes.

use super::Counting;
use crate::Key;
use crate::bits::BitsMut;
use crate::filter::roll::{into_slice, roll_large};
use crate::hash::Digest;

impl<B: BitsMut> Counting<B> {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// A key can be in several times, and is there until removed as often. Inserted as often as a
    /// counter counts (15 times, with four bits), it sticks: [`Spectral`](crate::kinds::Spectral) is the kind
    /// for keys that come again and again. Do not pass over keys that [`contains`](Counting::contains)
    /// finds: one that it finds wrongly would be missed once the keys it was taken for are removed.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.body.hashing.digest(key.key_bytes().as_ref()))
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.insert_at(digest.probe(self.shape()))
    }

    #[inline]
    fn insert_at(&mut self, positions: impl Iterator<Item = u64>) -> bool {
        let (counters, bits) = (self.counters, &mut self.body.bits);
        let raise = |new: u32, position| new + u32::from(counters.raise(bits, position, 1) == 0);
        positions.fold(0, raise) > 0
    }

    /// Removes the key once. False when it was certainly not in the filter: nothing has changed then.
    ///
    /// True is *mayhap*: a key that was never inserted passes for one that was as often as `contains`
    /// says so, at the filter's rate. Removing it takes away what belongs to others, and at capacity
    /// makes five of them, on average, false negatives. So remove only what was inserted, or let
    /// [`remove_checked`](Counting::remove_checked) see to it.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.remove_digest(self.body.hashing.digest(key.key_bytes().as_ref()))
    }

    /// Removes a key that `is_member` says is there: callers that keep the keys themselves know. It is
    /// asked only about keys that the filter may hold.
    ///
    /// ```
    /// use std::collections::HashSet;
    /// use mayhap::{Counting, Insert};
    ///
    /// let mut store = HashSet::from(["a", "b"]);
    /// let mut filter = Counting::with_capacity(100, 0.01)?;
    /// filter.insert_all(&store);
    /// assert!(filter.remove_checked("a", |key| store.remove(key)));
    /// assert!(!filter.remove_checked("a", |key| store.remove(key)));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn remove_checked<K: Key + ?Sized>(
        &mut self,
        key: &K,
        is_member: impl FnOnce(&K) -> bool,
    ) -> bool {
        self.contains(key) && is_member(key) && self.remove(key)
    }

    /// Removes a key by its digest; as [`remove`](Counting::remove).
    #[inline]
    pub fn remove_digest(&mut self, digest: Digest) -> bool {
        self.remove_at(digest.probe(self.shape()))
    }

    /// In two phases: every counter is looked at before any is lowered.
    fn remove_at(&mut self, positions: impl Iterator<Item = u64> + Clone) -> bool {
        let has_all = positions.clone().enumerate().all(|(nth, position)| {
            let before = positions.clone().take(nth);
            let repeats = before.filter(|&other| other == position).count() as u64;
            self.counters.has(&self.body.bits, position, repeats + 1)
        });
        if has_all {
            positions.for_each(|position| self.counters.lower(&mut self.body.bits, position, 1));
        }
        has_all
    }

    /// Removes every key and returns how many may have been there.
    pub fn remove_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> u64 {
        let mut removed = 0;
        self.each_digest(keys, |filter, digest| {
            removed += u64::from(filter.remove_digest(digest));
        });
        removed
    }

    /// Answers [`remove`](Counting::remove) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `removed` and `keys` differ in length.
    pub fn remove_batch<K: Key>(&mut self, keys: &[K], removed: &mut [bool]) {
        assert_eq!(keys.len(), removed.len(), "one answer per key");
        let mut answer = into_slice(removed);
        self.each_digest(keys, |filter, digest| answer(filter.remove_digest(digest)));
    }

    pub(super) fn each_digest<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        visit: impl FnMut(&mut Counting<B>, Digest),
    ) {
        let (size, digester) = (self.body.bits.size(), self.body.hashing.clone());
        let prefetch = |filter: &Counting<B>, digest: Digest| {
            let ahead = |position| filter.counters.prefetch(&filter.body.bits, position);
            digest.probe(filter.shape()).for_each(ahead);
        };
        roll_large(size, keys, &digester, self, prefetch, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CountingOptions, Merge as _, Shape};
    use alloc::vec::Vec;

    /// Eight counters, and three positions per key.
    fn small() -> Counting {
        let shape = Shape::new(8, 3).expect("valid");
        Counting::new(shape, CountingOptions::default()).expect("small")
    }

    fn values(filter: &Counting) -> Vec<u64> {
        let indices = 0..filter.shape().bits();
        indices
            .map(|index| filter.counters.get(filter.bits(), index))
            .collect()
    }

    #[test]
    fn keys_that_share_counters_come_and_go_apart() {
        let mut filter = small();
        for key in [[1, 4, 6], [1, 2, 6], [4, 4, 7]] {
            filter.insert_at(key.into_iter());
        }
        assert_eq!(values(&filter), [0, 2, 1, 0, 3, 0, 2, 1]);

        assert!(filter.remove_at([4, 4, 7].into_iter()));

        assert_eq!(values(&filter), [0, 2, 1, 0, 1, 0, 2, 0]);
        assert_eq!(filter.occurrences(), Some(2));
    }

    #[test]
    fn a_removal_is_all_or_nothing() {
        let mut filter = small();
        filter.insert_at([1, 4, 6].into_iter());
        filter.insert_at([1, 2, 6].into_iter());
        let before = filter.clone();

        // A zero among its counters, first and last; and a position that it needs twice.
        for absent in [[0, 1, 2], [1, 2, 0], [4, 1, 4]] {
            assert!(!filter.remove_at(absent.into_iter()));
            assert_eq!(filter, before);
        }
    }

    #[test]
    fn removing_an_absent_key_that_passes_for_a_member_takes_the_member() {
        let mut filter = small();
        filter.insert_at([1, 4, 6].into_iter());
        filter.insert_at([1, 2, 6].into_iter());

        assert!(filter.remove_at([2, 6, 1].into_iter()));

        assert_eq!(values(&filter), [0, 1, 0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn one_stuck_counter_stays_when_all_else_is_removed() {
        let mut filter = small();
        for _ in 0..5 {
            filter.insert_at([3, 3, 3].into_iter());
        }
        filter.insert_at([3, 4, 5].into_iter());
        assert_eq!((filter.stuck(), filter.occurrences()), (1, None));

        for _ in 0..5 {
            assert!(filter.remove_at([3, 3, 3].into_iter()));
        }
        assert!(filter.remove_at([3, 4, 5].into_iter()));

        assert_eq!(values(&filter), [0, 0, 0, 15, 0, 0, 0, 0]);
        assert_eq!(filter.stuck(), 1);
    }

    #[test]
    fn sets_join_counter_by_counter() {
        let (mut left, mut right) = (small(), small());
        for key in [[1, 4, 6], [1, 2, 6]] {
            left.insert_at(key.into_iter());
        }
        for key in [[1, 2, 6], [1, 2, 6], [4, 4, 7]] {
            right.insert_at(key.into_iter());
        }

        let (mut union, mut common) = (left.clone(), left.clone());
        union.union(&right).expect("built alike");
        common.intersect(&right).expect("built alike");

        assert_eq!(values(&union), [0, 4, 3, 0, 3, 0, 4, 1]);
        assert_eq!(values(&common), [0, 2, 1, 0, 1, 0, 2, 0]);
        assert!(common.remove_at([1, 2, 6].into_iter()), "in both once");
        assert!(!common.remove_at([1, 2, 6].into_iter()));

        // What does not fit sticks, and is never less than either.
        for _ in 0..4 {
            let other = union.clone();
            union.union(&other).expect("built alike");
        }
        assert_eq!(values(&union), [0, 15, 15, 0, 15, 0, 15, 15]);
    }
}
