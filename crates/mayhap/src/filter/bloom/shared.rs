//! Standard filters that many threads insert into at once.

use super::{AtomicBloom, Bloom, Wrap as _};
use crate::Key;
use crate::hash::{Digest, Digester, Scheme};

impl AtomicBloom {
    /// Inserts the key; true for exactly one of all threads that insert it, however they race, and only when it was
    /// *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, another thread was first, or other keys had set all its bits. Either way every
    /// lookup that happens after this call finds the key.
    ///
    /// A key that is there costs a lookup. A new one takes a short lock for the key, so do not insert from a signal handler;
    /// lookups never take one.
    ///
    /// ```
    /// use mayhap::{Atomic, AtomicBloom};
    ///
    /// let seen = AtomicBloom::with_capacity(1000, 0.01)?;
    /// assert!(seen.insert("key") && !seen.insert("key"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        let key = key.key_bytes();
        match &self.body.hashing {
            Scheme::Native(digester) => self.enter(digester.digest(key.as_ref())),
            _ => self.enter_foreign(key.as_ref()),
        }
    }

    /// Inserts a key by its digest, as [`insert`](Bloom::insert) does.
    ///
    /// # Panics
    ///
    /// When the scheme is not native: foreign schemes do not hash to digests.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.check_native();
        self.enter(digest)
    }

    #[inline(always)]
    fn enter(&self, digest: Digest) -> bool {
        let probe = digest.probe(self.body.shape);
        // All positions are read first: together, as the atomic operations of setting would not let them be.
        if !probe.some(|position| !self.is_one(position)) {
            return false;
        }
        let _held = self.body.bits.lock_key(digest.lo);
        probe.some(|position| self.body.bits.set(position))
    }

    #[inline(never)]
    fn enter_foreign(&self, key: &[u8]) -> bool {
        if self.contains(key) {
            return false;
        }
        // Any hash leads all that insert this key to one lock.
        let _held = self.body.bits.lock_key(Digester::default().digest(key).lo);
        let set = |position| self.body.bits.set(position);
        self.body.hashing.some(key, self.body.shape, set)
    }

    /// Forgets every key. The exclusive reference shows that no thread is inserting any.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl From<Bloom> for AtomicBloom {
    fn from(filter: Bloom) -> AtomicBloom {
        AtomicBloom::wrap(filter.body.stored_as())
    }
}

impl From<AtomicBloom> for Bloom {
    fn from(filter: AtomicBloom) -> Bloom {
        Bloom::wrap(filter.body.stored_as())
    }
}
