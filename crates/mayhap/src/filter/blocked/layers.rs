//! Several filters asked at once: what a filter that grows does with its layers.
//!
//! The layers share a digester and a number of bits per key, so a key is hashed once and its pattern
//! spelled out once; a layer more is a line more, and nothing else. Many keys are asked in groups: a layer for all keys of
//! a group, then the next, while the lines of the group after it arrive.

use super::super::kernel::{HashedTask, Task, covers, merge};
use super::super::roll::{Hashed, depth, roll_once};
use super::Blocked;
use super::kernel::Lines;
use super::pattern::Locator;
use crate::Key;
use crate::bits::{Bitmap, Bits, BitsMut as _};
use crate::hash::{Digest, Hash};

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
        newest.kernel.run_hashed(newest.digester(), task);
    }

    /// Whether any of the layers may have a key with this digest; asks the last first.
    #[inline]
    pub(in crate::filter) fn layers_contain(layers: &[Blocked<B>], digest: Digest) -> bool {
        let Some(newest) = layers.last() else {
            return false;
        };
        let task = LayersHold { layers, digest };
        newest.kernel.run(task)
    }

    /// Hints that the lines of this key will soon be read or written. Layers of at most 128 KiB are
    /// left out: they are in a near cache anyway.
    #[inline(always)]
    pub(in crate::filter) fn prefetch_layers(layers: &[Blocked<B>], digest: Digest) {
        // The last is the largest.
        for layer in layers.iter().rev().take_while(|layer| layer.is_large()) {
            layer.body.bits.prefetch_line(layer.line_of(digest));
        }
    }

    /// Whether it is larger than a near cache.
    #[inline(always)]
    fn is_large(&self) -> bool {
        self.shape().lines() > 1 << 11
    }

    #[inline(always)]
    fn line_of(&self, digest: Digest) -> u64 {
        self.locator.line(digest)
    }

    /// Whether the line of the key has all bits of its mask.
    #[inline(always)]
    fn has(&self, digest: Digest, mask: &[u64; 8]) -> bool {
        let bits = &self.body.bits;
        bits.with_line_inside(self.line_of(digest), |line| covers(line, mask))
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
        let (kernel, digester) = (newest.kernel, newest.digester().clone());
        let task = LayersInsert {
            layers,
            keys,
            answer,
        };
        kernel.run_hashed(&digester, task);
    }

    /// Adds the bits of the mask to the line of the key; true when any was missing.
    #[inline(always)]
    fn add(&mut self, digest: Digest, mask: &[u64; 8]) -> bool {
        let line = self.line_of(digest);
        merge(self.body.bits.line_mut(line), mask)
    }
}

struct LayersHold<'a, B> {
    layers: &'a [Blocked<B>],
    digest: Digest,
}

impl<S: Lines, B: Bits> Task<S> for LayersHold<'_, B> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: S) -> bool {
        let LayersHold { layers, digest } = self;
        let Some(newest) = layers.last() else {
            return false;
        };
        // All lines at once: none waits for the one before.
        Blocked::prefetch_layers(layers, digest);
        let mask = lanes.mask(newest.locator.pattern(digest.lo));
        layers.iter().rev().any(|layer| layer.has(digest, &mask))
    }
}

struct LayersContain<'a, B, I, A> {
    layers: &'a [Blocked<B>],
    keys: I,
    answer: A,
}

impl<S, B, I, A> HashedTask<S> for LayersContain<'_, B, I, A>
where
    S: Lines,
    B: Bits,
    I: IntoIterator<Item: Key>,
    A: FnMut(bool),
{
    #[inline(always)]
    fn run(self, lanes: S, hash: impl Hash) {
        let Some(newest) = self.layers.last() else {
            return;
        };
        let (layers, locator, mut answer) = (self.layers, newest.locator, self.answer);
        let mut keys = self.keys.into_iter();
        let mut masks = [[0; 8]; GROUP];
        let mut digests = [[Digest::default(); GROUP]; 2];
        let (mut turn, mut waiting) = (0, 0);
        loop {
            let mut count = 0;
            for (slot, key) in digests[turn % 2].iter_mut().zip(&mut keys) {
                *slot = hash.digest(key.key_bytes().as_ref());
                Blocked::prefetch_layers(layers, *slot);
                count += 1;
            }
            turn += 1;
            let group = &digests[turn % 2][..waiting];
            let found = any_has(lanes, layers, locator, group, &mut masks);
            found[..waiting].iter().copied().for_each(&mut answer);
            if count == 0 {
                return;
            }
            waiting = count;
        }
    }
}

struct LayersInsert<'a, I, A> {
    layers: &'a mut [Blocked<Bitmap>],
    keys: I,
    answer: A,
}

impl<S, I, A> HashedTask<S> for LayersInsert<'_, I, A>
where
    S: Lines,
    I: IntoIterator<Item: Key>,
    A: FnMut(bool),
{
    #[inline(always)]
    fn run(self, lanes: S, hash: impl Hash) {
        let Some((newest, older)) = self.layers.split_last_mut() else {
            return;
        };
        let (locator, older, mut answer) = (newest.locator, &*older, self.answer);
        roll_once(
            depth(large(older) + 1),
            self.keys,
            &Hashed(hash),
            newest,
            |newest, digest| {
                newest.body.bits.prefetch_line(newest.line_of(digest));
                Blocked::prefetch_layers(older, digest);
            },
            |newest, digest| {
                let mask = lanes.mask(locator.pattern(digest.lo));
                let found = older.iter().rev().any(|layer| layer.has(digest, &mask));
                answer(!found && newest.add(digest, &mask));
            },
        );
    }
}

/// How many of the layers are prefetched.
fn large<B: Bits>(layers: &[Blocked<B>]) -> usize {
    layers.iter().filter(|layer| layer.is_large()).count()
}

/// How many keys are asked together. Their lines in three layers are about as many as a core has room to wait for.
const GROUP: usize = 16;

/// Whether any of the layers may have each of these keys, up to [`GROUP`]. No branch depends on an answer: where a key is
/// found cannot be predicted, and its lines have been asked for. The masks are scratch, so that they are not cleared again.
#[inline(always)]
fn any_has<B: Bits>(
    lanes: impl Lines,
    layers: &[Blocked<B>],
    locator: Locator,
    keys: &[Digest],
    masks: &mut [[u64; 8]; GROUP],
) -> [bool; GROUP] {
    for (mask, key) in masks.iter_mut().zip(keys) {
        *mask = lanes.mask(locator.pattern(key.lo));
    }
    let mut found = [false; GROUP];
    for layer in layers {
        for (found, (&key, mask)) in found.iter_mut().zip(keys.iter().zip(&*masks)) {
            *found |= layer.has(key, mask);
        }
    }
    found
}
