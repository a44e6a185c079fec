//! Blocked filters that many threads insert into at once.

use core::marker::PhantomData;

use super::super::roll::into_slice;
use super::finder::Source;
use super::tasks::{Claim, Entry, Insertion, Share, ShareEach};
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
        self.share::<Insertion>(key)
    }

    /// Inserts a key by its digest, as [`insert`](Blocked::insert) does.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.share::<Insertion>(&digest)
    }

    /// Answers [`insert`](Blocked::insert) for each key, in order, keeping many lines on their way
    /// from memory at a time.
    pub fn insert_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        self.share_each::<Insertion>(keys, answer);
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
        self.share::<Claim>(key)
    }

    /// Claims a key by its digest, as [`claim`](Blocked::claim) does.
    #[inline]
    pub fn claim_digest(&self, digest: Digest) -> bool {
        self.share::<Claim>(&digest)
    }

    /// Answers [`claim`](Blocked::claim) for each key, in order, keeping many lines on their way
    /// from memory at a time.
    pub fn claim_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        self.share_each::<Claim>(keys, answer);
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

    #[inline(always)]
    fn share<E: Entry>(&self, key: &(impl Source + ?Sized)) -> bool {
        self.kernel.run(
            &self.finder,
            Share {
                filter: self,
                key,
                entry: PhantomData::<E>,
            },
        )
    }

    fn share_each<E: Entry>(
        &self,
        keys: impl IntoIterator<Item: Source>,
        answer: impl FnMut(bool),
    ) {
        self.kernel.run(
            &self.finder,
            ShareEach {
                filter: self,
                keys,
                answer,
                entry: PhantomData::<E>,
            },
        );
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
            finder: filter.finder,
            promise: filter.promise,
            kernel: filter.kernel,
            calls: filter.calls,
        }
    }
}

impl From<AtomicBlocked> for Blocked {
    fn from(filter: AtomicBlocked) -> Blocked {
        Blocked {
            bits: filter.bits.into(),
            finder: filter.finder,
            promise: filter.promise,
            kernel: filter.kernel,
            calls: filter.calls,
        }
    }
}
