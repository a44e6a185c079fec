//! Lookups and inserts, one by one and of many keys, with the instructions of the filter.

use super::super::kernel::{HashedTask, Task};
use super::super::roll::{FEW, Find, roll, roll_once};
use super::Windowed;
use super::line::{Mask, Slots};
use super::shape::Shape;
use crate::Key;
use crate::bits::Bits;
use crate::hash::{Digest, Hash, reduce};

/// The line of a key, and its bits there.
#[inline(always)]
fn find(shape: Shape, digest: Digest) -> (u64, Mask) {
    (reduce(digest.hi, shape.lines), Mask::new(digest, shape))
}

/// From a key to its line and mask, by a hash that is settled.
struct Hashed<H> {
    hash: H,
    shape: Shape,
}

impl<K: Key, H: Hash> Find<K> for Hashed<H> {
    type Found = (u64, Mask);

    #[inline(always)]
    fn find(&self, key: K) -> (u64, Mask) {
        find(self.shape, self.hash.digest(key.key_bytes().as_ref()))
    }
}

impl<B: Bits> Windowed<B> {
    #[inline(always)]
    fn has(&self, slots: impl Slots, (index, mask): (u64, Mask)) -> bool {
        let any_has = |line: &[u64; 8]| slots.any_has(line, mask, &self.stamps);
        self.bits.with_line(index, any_has)
    }
}

/// A lookup of one key in the window.
pub(super) struct LookUp<'a, B> {
    pub(super) filter: &'a Windowed<B>,
    pub(super) digest: Digest,
}

impl<S: Slots, B: Bits> Task<S> for LookUp<'_, B> {
    type Output = bool;

    #[inline(always)]
    fn run(self, simd: S) -> bool {
        let found = find(self.filter.shape, self.digest);
        self.filter.has(simd, found)
    }
}

/// Inserts a key.
pub(super) struct InsertOne<'a> {
    pub(super) filter: &'a mut Windowed,
    pub(super) digest: Digest,
}

impl<S: Slots> Task<S> for InsertOne<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, simd: S) -> bool {
        let found = find(self.filter.shape, self.digest);
        self.filter.insert_found(simd, found)
    }
}

/// Looks each of many keys up; answers in their order.
pub(super) struct LookUpEach<'a, B, I, A> {
    pub(super) filter: &'a Windowed<B>,
    pub(super) keys: I,
    pub(super) answer: A,
}

impl<S, B, I, A> HashedTask<S> for LookUpEach<'_, B, I, A>
where
    S: Slots,
    B: Bits,
    I: IntoIterator<Item: Key>,
    A: FnMut(bool),
{
    #[inline(always)]
    fn run(mut self, simd: S, hash: impl Hash) {
        let filter = self.filter;
        let hashed = Hashed {
            hash,
            shape: filter.shape,
        };
        roll(
            self.keys,
            &hashed,
            &mut self.answer,
            |_, (index, _)| filter.bits.prefetch_line(index),
            |answer, found| answer(filter.has(simd, found)),
        );
    }
}

/// Inserts each of many keys; answers in their order.
pub(super) struct InsertEach<'a, I, A> {
    pub(super) filter: &'a mut Windowed,
    pub(super) keys: I,
    pub(super) answer: A,
}

impl<S, I, A> HashedTask<S> for InsertEach<'_, I, A>
where
    S: Slots,
    I: IntoIterator<Item: Key>,
    A: FnMut(bool),
{
    #[inline(always)]
    fn run(mut self, simd: S, hash: impl Hash) {
        let hashed = Hashed {
            hash,
            shape: self.filter.shape,
        };
        // One place that inserts: in two it would be a call, without the instructions of the kernel.
        roll_once(
            FEW,
            self.keys,
            &hashed,
            self.filter,
            |filter, (index, _)| filter.bits.prefetch_line(index),
            |filter, found| (self.answer)(filter.insert_found(simd, found)),
        );
    }
}
