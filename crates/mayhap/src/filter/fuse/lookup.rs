//! Lookups of many keys, whose slots are prefetched where the filter is larger than the caches.

use super::super::kernel::HashedTask;
use super::super::roll::{FEW, Find, LARGE, roll_once};
use super::slots::{Triple, Triples};
use crate::Key;
use crate::bits::Bits;
use crate::hash::Hash;

/// Looks each of many keys up in slots of `BYTES` bytes; answers in their order.
pub(super) struct LookUp<'a, const BYTES: u64, B, I, A> {
    /// By value: what is behind a reference would be read again for every key, because an answer that is written might
    /// have changed it.
    pub(super) triples: Triples,
    pub(super) bits: &'a B,
    pub(super) keys: I,
    pub(super) answer: A,
}

impl<'a, const BYTES: u64, B, I, A> LookUp<'a, BYTES, B, I, A> {
    /// The same for slots of another width: a loop over keys need not ask how wide they are again.
    pub(super) fn settled<const OTHER: u64>(self) -> LookUp<'a, OTHER, B, I, A> {
        LookUp {
            triples: self.triples,
            bits: self.bits,
            keys: self.keys,
            answer: self.answer,
        }
    }
}

impl<const BYTES: u64, S, B, I, A> HashedTask<S> for LookUp<'_, BYTES, B, I, A>
where
    B: Bits,
    I: IntoIterator<Item: Key>,
    A: FnMut(bool),
{
    #[inline(always)]
    fn run(mut self, _: S, hash: impl Hash) {
        let (triples, bits, keys) = (self.triples, self.bits, self.keys);
        let holds = |triple: Triple| triple.difference::<BYTES>(bits) == 0;
        let finder = Hashed { hash, triples };
        if bits.size() < LARGE {
            for key in keys {
                (self.answer)(holds(finder.find(key)));
            }
            return;
        }
        roll_once(
            FEW,
            keys,
            &finder,
            &mut self.answer,
            |_, triple| triple.prefetch(bits, 8 * BYTES),
            |answer, triple| answer(holds(triple)),
        );
    }
}

/// From a key to its slots, by a hash that is settled.
struct Hashed<H> {
    hash: H,
    triples: Triples,
}

impl<K: Key, H: Hash> Find<K> for Hashed<H> {
    type Found = Triple;

    #[inline(always)]
    fn find(&self, key: K) -> Triple {
        let digest = self.hash.digest(key.key_bytes().as_ref());
        self.triples.find(digest.hi)
    }
}
