//! Split-block filters that many threads insert into at once.

use super::{AtomicSplitBlock, SplitBlock, Wrap as _, pattern};
use crate::Key;

impl AtomicSplitBlock {
    /// Inserts the key, without locks; true when it was *definitely* not in the filter before.
    ///
    /// Two threads that insert one key at the same time may both be told true: each may have set
    /// some of its bits. Where one of them has to be the first, use [`claim`](SplitBlock::claim).
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_hash(SplitBlock::hash(key))
    }

    /// Inserts a key by its hash, as [`insert`](SplitBlock::insert) does.
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> bool {
        let first = 256 * self.body.shape.block(hash);
        let mut new = false;
        for (start, mut wanted) in (first..).step_by(64).zip(pattern(hash)) {
            while wanted != 0 {
                new |= self
                    .body
                    .bits
                    .set(start + u64::from(wanted.trailing_zeros()));
                wanted &= wanted - 1;
            }
        }
        new
    }

    /// Inserts the key; true for exactly one of all threads that claim it, however they race, and
    /// only when it was definitely not in the filter before.
    ///
    /// Costs a short lock when the key is new, none when it is there.
    /// [`insert`](SplitBlock::insert)s of the same key do not take part: claim every key, or none.
    #[inline]
    pub fn claim<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.claim_hash(SplitBlock::hash(key))
    }

    /// Claims a key by its hash, as [`claim`](SplitBlock::claim) does.
    #[inline]
    pub fn claim_hash(&self, hash: u64) -> bool {
        !self.contains_hash(hash) && self.body.bits.exclusive(hash, || self.insert_hash(hash))
    }

    /// Forgets every key. The exclusive reference shows that no thread is inserting any.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl From<SplitBlock> for AtomicSplitBlock {
    fn from(filter: SplitBlock) -> AtomicSplitBlock {
        AtomicSplitBlock::wrap(filter.body.stored_as())
    }
}

impl From<AtomicSplitBlock> for SplitBlock {
    fn from(filter: AtomicSplitBlock) -> SplitBlock {
        SplitBlock::wrap(filter.body.stored_as())
    }
}
