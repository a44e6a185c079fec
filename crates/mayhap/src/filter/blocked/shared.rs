//! Blocked filters that many threads insert into at once.

use super::super::description::Wrap as _;
use super::super::roll::into_slice;
use super::kernel::{Action, Claim, Share};
use super::tasks::Each;
use super::{AtomicBlocked, Blocked};
use crate::Key;
use crate::hash::Digest;

impl AtomicBlocked {
    /// Inserts the key, without locks; true when it was *definitely* not in the filter before.
    ///
    /// Two threads that insert one key at the same time may both be told true: each may have set
    /// some of its bits. Where one of them has to be the first, use [`claim`](Blocked::claim).
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_digest(self.digest(key))
    }

    /// Inserts a key by its digest, as [`insert`](Blocked::insert) does.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.one(Share(&self.body.bits), digest)
    }

    /// Answers [`insert`](Blocked::insert) for each key, in order, keeping many lines on their way
    /// from memory at a time.
    pub fn insert_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        self.each(Share(&self.body.bits), keys, answer);
    }

    /// Answers [`insert`](Blocked::insert) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    pub fn insert_batch<K: Key>(&self, keys: &[K], new: &mut [bool]) {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        self.insert_each(keys, into_slice(new));
    }

    /// Inserts the key; true for exactly one of all threads that claim it, however they race, and
    /// only when it was definitely not in the filter before.
    ///
    /// Costs a short lock when the key is new, none when it is there. [`insert`](Blocked::insert)s
    /// of the same key do not take part: claim every key, or none.
    #[inline]
    pub fn claim<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.claim_digest(self.digest(key))
    }

    /// Claims a key by its digest, as [`claim`](Blocked::claim) does.
    #[inline]
    pub fn claim_digest(&self, digest: Digest) -> bool {
        self.one(Claim(&self.body.bits), digest)
    }

    /// Answers [`claim`](Blocked::claim) for each key, in order, keeping many lines on their way
    /// from memory at a time.
    pub fn claim_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        self.each(Claim(&self.body.bits), keys, answer);
    }

    /// Answers [`claim`](Blocked::claim) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `won` and `keys` differ in length.
    pub fn claim_batch<K: Key>(&self, keys: &[K], won: &mut [bool]) {
        assert_eq!(keys.len(), won.len(), "one answer per key");
        self.claim_each(keys, into_slice(won));
    }

    /// Does something with the line of one key.
    #[inline(always)]
    fn one(&self, mut action: impl Action, digest: Digest) -> bool {
        let (line, pattern) = self.locator.locate(digest);
        action.act(self.kernel, line, pattern)
    }

    /// Does something with the line of each key.
    fn each<K: Key>(
        &self,
        action: impl Action,
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        let locator = self.locator;
        let each = Each {
            action,
            locator,
            keys,
            answer,
        };
        self.kernel.run(self.digester(), each);
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
