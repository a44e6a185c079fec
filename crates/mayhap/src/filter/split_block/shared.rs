//! Split-block filters that many threads insert into at once.

use super::{AtomicSplitBlock, SplitBlock, Wrap as _, pattern};
use crate::Key;

impl AtomicSplitBlock {
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
        self.insert_hash(SplitBlock::hash(key))
    }

    /// Inserts a key by its hash, as [`insert`](SplitBlock::insert) does.
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> bool {
        if self.contains_hash(hash) {
            return false;
        }
        // Two blocks make a line.
        let block = self.body.shape.block(hash);
        let first = 4 * (block % 2) as usize;
        let bits = &self.body.bits;
        let mut locked = bits.lock(bits.stripe(block / 2));
        locked.line(block / 2).merge(first, &pattern(hash))
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
