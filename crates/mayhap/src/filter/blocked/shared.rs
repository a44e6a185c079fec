//! Blocked filters that many threads insert into at once.

use super::super::description::Wrap as _;
use super::super::roll::into_slice;
use super::gathered::Gathered;
use super::kernel::MergeShared;
use super::{AtomicBlocked, Blocked};
use crate::Key;
use crate::hash::Digest;

impl AtomicBlocked {
    /// Inserts the key; true for exactly one of all threads that insert it, however they race, and only when it was
    /// *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, another thread was first, or other keys had set all its bits. Either way every
    /// lookup that happens after this call finds the key.
    ///
    /// A key that is there costs a lookup. A new one takes a short lock for its line, so do not insert from a signal
    /// handler; lookups never take one.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_digest(self.digest(key))
    }

    /// Inserts a key by its digest, as [`insert`](Blocked::insert) does.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        // As `Share` does for many keys.
        if self.look(digest) {
            return false;
        }
        let (line, pattern) = self.locator.locate(digest);
        let bits = &self.body.bits;
        let mut locked = bits.lock(bits.stripe(line));
        self.kernel.run(MergeShared(locked.line(line), pattern))
    }

    /// Inserts each key, and answers as [`insert`](Blocked::insert) does, in order.
    ///
    /// Up to 2048 keys are taken together, and those that are near each other in memory inserted under one lock: several
    /// times as fast as one call for each.
    pub fn insert_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        let gathered = Gathered {
            bits: &self.body.bits,
            locator: self.locator,
            keys,
            answer,
        };
        self.kernel.run_hashed(self.digester(), gathered);
    }

    /// Inserts each key, in order, and writes the answers of [`insert`](Blocked::insert) into a slice.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    pub fn insert_batch<K: Key>(&self, keys: &[K], new: &mut [bool]) {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        self.insert_each(keys, into_slice(new));
    }

    /// Forgets every key. The exclusive reference shows that no thread is inserting any.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl From<Blocked> for AtomicBlocked {
    fn from(filter: Blocked) -> AtomicBlocked {
        AtomicBlocked::wrap(filter.body.stored_as())
    }
}

impl From<AtomicBlocked> for Blocked {
    fn from(filter: AtomicBlocked) -> Blocked {
        Blocked::wrap(filter.body.stored_as())
    }
}
