//! Standard filters that many threads insert into at once.

use super::{AtomicBloom, Bloom, Wrap as _};
use crate::Key;
use crate::bits::Bits as _;
use crate::hash::Digest;

impl AtomicBloom {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// Two threads that insert one key at the same time may both be told true: each may have set
    /// some of its bits. Where one of them has to be the first, use [`claim`](Bloom::claim).
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        let set = |position| self.body.bits.set(position);
        self.body
            .hashing
            .some(key.key_bytes().as_ref(), self.body.shape, set)
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    ///
    /// # Panics
    ///
    /// When the scheme is not native: foreign schemes do not hash to digests.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.check_native();
        digest
            .probe(self.body.shape)
            .some(|position| self.body.bits.set(position))
    }

    /// Inserts the key; true for exactly one of all threads that claim it, however they race, and
    /// only when it was definitely not in the filter before.
    ///
    /// Costs a short lock when the key is new, none when it is there. [`insert`](Bloom::insert)s of
    /// the same key do not take part: claim every key, or none.
    ///
    /// ```
    /// use mayhap::{AtomicBloom, Bloom};
    ///
    /// let seen = AtomicBloom::from(Bloom::with_capacity(1000, 0.01)?);
    /// assert!(seen.claim("key") && !seen.claim("key"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn claim<K: Key + ?Sized>(&self, key: &K) -> bool {
        let key = key.key_bytes();
        // All claims of one key meet at the sum of its positions.
        let mut place = 0_u64;
        let missing = self
            .body
            .hashing
            .some(key.as_ref(), self.body.shape, |position| {
                place = place.wrapping_add(position);
                !self.body.bits.get(position)
            });
        missing
            && self
                .body
                .bits
                .exclusive(place, || self.insert(key.as_ref()))
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
