//! Inserting a key, and removing it again.
//!
//! Keys that share fingerprint and buckets are one to a table, and a removal may take the fingerprint that another of them
//! left. In several tables that is right for two reasons: keys that are one in a table are one in every older table (see
//! `table.rs`), and a removal takes the newest fingerprint that fits. So what is left in an older table fits the other key
//! as well, and as many fingerprints fit a key as times it is there. Keys that found no room are counted, and every key
//! fits that number: the oldest table, so to say. Before it come the piles of copies that found no slot (`piles.rs`).

use super::{Cuckoo, CuckooShape};
use crate::bits::Bits as _;
use crate::filter::roll::roll_large;
use crate::hash::Digest;
use crate::{Error, Key, Result};

/// The words of the state: fingerprints in all layers, keys that found no room, removals, and copies in piles.
pub(super) const KEYS: u64 = 0;
pub(super) const LOST: u64 = 1;
pub(super) const REMOVED: u64 = 2;
pub(super) const PILED: u64 = 3;

impl Cuckoo {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// A key can be in several times, and is there until removed as often. Each time takes a slot, until all of its two
    /// buckets have its fingerprint; from then on it is counted. Where most keys occur again and again,
    /// [`Counting`](crate::Counting) and [`Spectral`](crate::kinds::Spectral) take less memory.
    /// Do not pass over keys that [`contains`](Cuckoo::contains) finds: one that it finds wrongly would be missed once the
    /// keys it was taken for are removed.
    ///
    /// A filter that is full and cannot grow finds *every* key from then on, until as many are removed:
    /// [`stats`](Cuckoo::stats) reports a rate of 1 and that it is over capacity. [`try_insert`](Cuckoo::try_insert)
    /// refuses the key instead.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.digester().digest(key.key_bytes().as_ref()))
    }

    /// Inserts a key by its digest; as [`insert`](Cuckoo::insert).
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.try_insert_digest(digest).unwrap_or_else(|_| {
            let is_new = !self.contains_digest(digest);
            self.body.count(LOST, 1);
            is_new
        })
    }

    /// Inserts the key, if there is room; true when it was *definitely* not in the filter before.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] when there is no room and the filter cannot grow. Nothing has changed then.
    ///
    /// ```
    /// use mayhap::{Cuckoo, CuckooOptions, Error};
    ///
    /// let options = CuckooOptions { growth: 0, ..CuckooOptions::default() };
    /// let mut live = Cuckoo::with_options(100, 0.01, options)?;
    /// let refused = (0..1000_u32).find(|key| live.try_insert(key).is_err()).expect("it is full");
    /// assert!(refused > 100 && (0..refused).all(|key| live.contains(&key)));
    /// live.remove(&0_u32);
    /// live.try_insert(&refused)?;
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    #[inline]
    pub fn try_insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        self.try_insert_digest(self.digester().digest(key.key_bytes().as_ref()))
    }

    /// Inserts a key by its digest; as [`try_insert`](Cuckoo::try_insert).
    ///
    /// # Errors
    ///
    /// As [`try_insert`](Cuckoo::try_insert).
    pub fn try_insert_digest(&mut self, digest: Digest) -> Result<bool> {
        let is_new = !self.contains_digest(digest);
        let mut is_grown = self.body.state.word(KEYS) >= self.capacity && self.grow();
        while !self.place(digest) {
            if !is_new && self.is_stuck(digest) && self.pile(digest) {
                return Ok(false);
            }
            if is_grown || !self.grow() {
                return Err(Error::Full { keys: self.keys() });
            }
            is_grown = true;
        }
        // Fewer than all slots were taken; a file that stated more keys than it has must not come to more than a file may.
        let keys = self.body.state.word(KEYS);
        if keys < self.capacity || keys < self.slots() {
            self.body.count(KEYS, 1);
        }
        Ok(is_new)
    }

    /// The slots of all layers.
    pub(super) fn slots(&self) -> u64 {
        let slots = self.shapes().map(CuckooShape::slots);
        slots.fold(0, u64::saturating_add)
    }

    /// Puts a fingerprint into the oldest layer with an empty slot for it; where none has one, the newest in which others
    /// can be moved.
    ///
    /// A batch that may grow the filter looks into few buckets in vain, or for keys beyond the capacity: full layers have
    /// little room left, and the next one has much.
    fn place(&mut self, digest: Digest) -> bool {
        let is_beyond = self.body.state.word(KEYS) >= self.capacity;
        let search = 1 << self.body.growth.numbers.search;
        let layers = &mut self.body.layers;
        let mut oldest_first = layers.iter_mut();
        if oldest_first.any(|layer| layer.slots.put(&layer.home(digest))) {
            return true;
        }
        let mut left = self.before.as_mut().and_then(|before| before.left.as_mut());
        for layer in layers.iter_mut().rev() {
            let most = left.as_ref().map_or(search, |left| search.min(**left));
            let pushed = layer.push(&layer.home(digest), most);
            if let Some(left) = &mut left
                && (is_beyond || pushed.is_err())
            {
                **left -= pushed.unwrap_or_else(|looked| looked).min(**left);
            }
            if pushed.is_ok() {
                return true;
            }
        }
        false
    }

    fn grow(&mut self) -> bool {
        let grows = self.body.grow();
        if grows {
            self.capacity = self.body.capacity();
        }
        grows
    }

    /// Removes the key once. False when it was certainly not in the filter: nothing has changed then.
    ///
    /// True is *mayhap*: a key that was never inserted passes for one that was as often as `contains` finds it, at the
    /// filter's rate. Removing it takes the fingerprint of another key, which is then missed: a false negative for each such
    /// removal. So remove only what was inserted, or let [`remove_checked`](Cuckoo::remove_checked) see to it.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.remove_digest(self.digester().digest(key.key_bytes().as_ref()))
    }

    /// Removes a key that `is_member` says is there: callers that keep the keys themselves know. It is called only for keys
    /// that the filter may hold.
    ///
    /// ```
    /// use std::collections::HashSet;
    /// use mayhap::{Cuckoo, Insert};
    ///
    /// let mut store = HashSet::from(["a", "b"]);
    /// let mut filter = Cuckoo::with_capacity(100, 0.01)?;
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

    /// Removes a key by its digest; as [`remove`](Cuckoo::remove).
    pub fn remove_digest(&mut self, digest: Digest) -> bool {
        let mut newest_first = self.body.layers.iter_mut().rev();
        let is_taken = newest_first.any(|layer| layer.slots.take(&layer.home(digest)));
        if is_taken || !self.unpile(digest) {
            let word = if is_taken { KEYS } else { LOST };
            let count = self.body.state.word(word);
            if !is_taken && count == 0 {
                return false;
            }
            self.body.state.set_word(word, count.saturating_sub(1));
        }
        self.body.count(REMOVED, 1);
        true
    }

    /// Removes every key and returns how many may have been there.
    pub fn remove_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> u64 {
        let mut removed = 0;
        self.each_digest(keys, |filter, digest| {
            removed += u64::from(filter.remove_digest(digest));
        });
        removed
    }

    /// Calls `visit` for each key, in order; where the filter is larger than the caches, prefetches the buckets of several.
    pub(super) fn each_digest<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        visit: impl FnMut(&mut Cuckoo, Digest),
    ) {
        let (bits, digester) = (self.stored_bits(), self.digester().clone());
        roll_large(bits, keys, &digester, self, Cuckoo::prefetch, visit);
    }
}
