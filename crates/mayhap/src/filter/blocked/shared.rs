//! Blocked filters that many threads insert into at once.

use super::roll::place;
use super::{AtomicBlocked, Blocked, into_slice, tasks};
use crate::Key;
use crate::hash::Digest;

impl AtomicBlocked {
    /// Inserts the key, without locks; true when it was *definitely* not in the filter before.
    ///
    /// Two threads that insert one key at the same time may both be told true: each may have set
    /// some of its bits. Where one of them has to be the first, use [`claim`](Blocked::claim).
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_digest(key.with_bytes(|key| self.digester.digest(key)))
    }

    /// Inserts a key by its digest, as [`insert`](Blocked::insert) does.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        let (line, pattern) = place(digest, self.shape);
        self.kernel.run(tasks::Share {
            bits: &self.bits,
            line,
            pattern,
        })
    }

    /// Answers [`insert`](Blocked::insert) for each key, in order, keeping many lines on their way
    /// from memory at a time.
    pub fn insert_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        let digester = self.digester;
        let digest = |key: K| key.with_bytes(|key| digester.digest(key));
        self.kernel.run(tasks::ShareEach {
            bits: &self.bits,
            shape: self.shape,
            digests: keys.into_iter().map(digest),
            answer,
        });
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
        self.claim_digest(key.with_bytes(|key| self.digester.digest(key)))
    }

    /// Claims a key by its digest, as [`claim`](Blocked::claim) does.
    #[inline]
    pub fn claim_digest(&self, digest: Digest) -> bool {
        let (line, pattern) = place(digest, self.shape);
        self.kernel.run(tasks::Claim {
            bits: &self.bits,
            line,
            pattern,
        })
    }

    /// Answers [`claim`](Blocked::claim) for each key, in order, keeping many lines on their way
    /// from memory at a time.
    pub fn claim_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        let digester = self.digester;
        let digest = |key: K| key.with_bytes(|key| digester.digest(key));
        self.kernel.run(tasks::ClaimEach {
            bits: &self.bits,
            shape: self.shape,
            digests: keys.into_iter().map(digest),
            answer,
        });
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

    /// Forgets every key. The exclusive reference shows that no thread is inserting any.
    pub fn clear(&mut self) {
        self.bits.clear_all();
    }
}

impl From<Blocked> for AtomicBlocked {
    fn from(filter: Blocked) -> AtomicBlocked {
        Blocked {
            bits: filter.bits.into(),
            shape: filter.shape,
            digester: filter.digester,
            promise: filter.promise,
            kernel: filter.kernel,
        }
    }
}

impl From<AtomicBlocked> for Blocked {
    fn from(filter: AtomicBlocked) -> Blocked {
        Blocked {
            bits: filter.bits.into(),
            shape: filter.shape,
            digester: filter.digester,
            promise: filter.promise,
            kernel: filter.kernel,
        }
    }
}
