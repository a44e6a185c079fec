//! Several filters asked at once: what a filter that grows does with its layers.
//!
//! The layers share a digester and a number of bits per key, so a key is hashed once and its pattern
//! spelled out once; a layer more is a line more, and nothing else.

use super::super::roll::{Find, roll};
use super::Blocked;
use super::lanes::{Lanes, Task};
use crate::Key;
use crate::bits::{Bitmap, Bits, BitsMut as _};
use crate::hash::{Digest, Hash, reduce};

impl<B: Bits> Blocked<B> {
    /// Answers, for each key in order, whether any of the layers may have it; asks the last first.
    pub(in crate::filter) fn layers_contain_each<K: Key>(
        layers: &[Blocked<B>],
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        let Some(newest) = layers.last() else {
            return;
        };
        let task = LayersContain {
            layers,
            keys,
            answer,
        };
        newest.kernel.run(newest.finder, task);
    }

    /// Hints that the lines of this key will soon be read or written. Layers of at most 128 KiB are
    /// left out: they are in a near cache anyway.
    #[inline(always)]
    pub(in crate::filter) fn prefetch_layers(layers: &[Blocked<B>], digest: Digest) {
        // The last is the largest.
        for layer in layers.iter().rev() {
            if layer.shape().lines() <= 1 << 11 {
                break;
            }
            layer.bits.prefetch_line(layer.line_of(digest));
        }
    }

    #[inline(always)]
    fn line_of(&self, digest: Digest) -> u64 {
        reduce(digest.hi, self.finder.shape().lines())
    }

    /// Whether the line of the key has all bits of its mask.
    #[inline(always)]
    fn has(&self, digest: Digest, mask: &[u64; 8]) -> bool {
        self.bits.with_line(self.line_of(digest), |line| {
            let missing = mask.iter().zip(line).map(|(mask, word)| mask & !word);
            missing.fold(0, |all, missing| all | missing) == 0
        })
    }
}

impl Blocked {
    /// Inserts each key that no layer has into the last, in order; the answers are whether it was
    /// definitely new.
    pub(in crate::filter) fn layers_insert_each<K: Key>(
        layers: &mut [Blocked],
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        let Some(newest) = layers.last() else {
            return;
        };
        let (kernel, finder) = (newest.kernel, newest.finder);
        let task = LayersInsert {
            layers,
            keys,
            answer,
        };
        kernel.run(finder, task);
    }

    /// Adds the bits of the mask to the line of the key; true when any was missing.
    #[inline(always)]
    fn add(&mut self, digest: Digest, mask: &[u64; 8]) -> bool {
        let line = self.line_of(digest);
        let mut missing = 0;
        for (word, mask) in self.bits.line_mut(line).iter_mut().zip(mask) {
            missing |= mask & !*word;
            *word |= mask;
        }
        missing != 0
    }
}

struct LayersContain<'a, B, I, A> {
    layers: &'a [Blocked<B>],
    keys: I,
    answer: A,
}

impl<B, I, A> Task for LayersContain<'_, B, I, A>
where
    B: Bits,
    I: IntoIterator<Item: Key>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes, hash: impl Hash) {
        let Some(newest) = self.layers.last() else {
            return;
        };
        roll(
            self.keys,
            &Digests(hash),
            &mut (self.layers, self.answer),
            |(layers, _), digest| Blocked::prefetch_layers(layers, digest),
            |(layers, answer), digest| {
                let mask = lanes.mask(newest.finder.pattern(digest.lo));
                answer(layers.iter().rev().any(|layer| layer.has(digest, &mask)));
            },
        );
    }
}

struct LayersInsert<'a, I, A> {
    layers: &'a mut [Blocked<Bitmap>],
    keys: I,
    answer: A,
}

impl<I, A> Task for LayersInsert<'_, I, A>
where
    I: IntoIterator<Item: Key>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes, hash: impl Hash) {
        let Some((newest, older)) = self.layers.split_last_mut() else {
            return;
        };
        let (finder, older) = (newest.finder, &*older);
        roll(
            self.keys,
            &Digests(hash),
            &mut (newest, self.answer),
            |(newest, _), digest| {
                newest.bits.prefetch_line(newest.line_of(digest));
                Blocked::prefetch_layers(older, digest);
            },
            |(newest, answer), digest| {
                let mask = lanes.mask(finder.pattern(digest.lo));
                if older.iter().rev().any(|layer| layer.has(digest, &mask)) {
                    answer(false);
                    return;
                }
                answer(newest.add(digest, &mask));
            },
        );
    }
}

/// Digests of keys, by a way of hashing that is settled.
struct Digests<H>(H);

impl<K: Key, H: Hash> Find<K> for Digests<H> {
    type Place = Digest;

    #[inline(always)]
    fn find(&self, key: K) -> Digest {
        self.0.digest(key.key_bytes().as_ref())
    }
}
