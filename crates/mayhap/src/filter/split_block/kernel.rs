//! What is done with the block of a key, by every kernel and on every storage.

use super::super::kernel::{self, Chosen, Plain, Task};
use super::super::roll::{Find, roll};
use super::{SplitBlock, SplitBlockShape, pattern};
use crate::Key;
use crate::bits::{Bits, BitsMut};

/// The operations on one block of eight words, by one kind of instructions.
pub(super) trait Words: Copy {
    /// Whether the block has every bit of a key with this hash.
    fn covers(self, block: &[u64; 4], hash: u64) -> bool;

    /// Adds the bits of a key with this hash to the block; true when any was missing.
    fn merge(self, block: &mut [u64; 4], hash: u64) -> bool;
}

impl Words for Plain {
    #[inline(always)]
    fn covers(self, block: &[u64; 4], hash: u64) -> bool {
        kernel::covers(block, &pattern(hash))
    }

    #[inline(always)]
    fn merge(self, block: &mut [u64; 4], hash: u64) -> bool {
        kernel::merge(block, &pattern(hash))
    }
}

// For one key: a direct call into the instructions chosen.
impl Words for Chosen {
    #[inline(always)]
    fn covers(self, block: &[u64; 4], hash: u64) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => avx512.covers(block, hash),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(avx2) => avx2.covers(block, hash),
            Chosen::Plain(plain) => covers_plainly(plain, block, hash),
        }
    }

    #[inline(always)]
    fn merge(self, block: &mut [u64; 4], hash: u64) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => avx512.merge(block, hash),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(avx2) => avx2.merge(block, hash),
            Chosen::Plain(plain) => merge_plainly(plain, block, hash),
        }
    }
}

// Calls, as those of the other kernels are: inlined, they would take the registers of the loop around them.
#[inline(never)]
fn covers_plainly(plain: Plain, block: &[u64; 4], hash: u64) -> bool {
    plain.covers(block, hash)
}

#[inline(never)]
fn merge_plainly(plain: Plain, block: &mut [u64; 4], hash: u64) -> bool {
    plain.merge(block, hash)
}

/// What is done with the block of a key.
pub(super) trait Action {
    /// Hints that the block will soon be needed.
    fn prefetch(&self, block: u64);

    /// Does it, and returns what the caller of the filter wants to know.
    fn act(&mut self, words: impl Words, block: u64, hash: u64) -> bool;
}

/// Tests whether the bits of the key are all there.
pub(super) struct Look<'a, B>(pub(super) &'a B);

impl<B: Bits> Action for Look<'_, B> {
    #[inline(always)]
    fn prefetch(&self, block: u64) {
        self.0.prefetch_line(block / 2);
    }

    #[inline(always)]
    fn act(&mut self, words: impl Words, block: u64, hash: u64) -> bool {
        self.0
            .with_block_inside(block, |block| words.covers(block, hash))
    }
}

/// Adds the bits of the key; true when any was missing.
pub(super) struct Put<'a, B>(pub(super) &'a mut B);

impl<B: BitsMut> Action for Put<'_, B> {
    #[inline(always)]
    fn prefetch(&self, block: u64) {
        self.0.prefetch_line(block / 2);
    }

    #[inline(always)]
    fn act(&mut self, words: impl Words, block: u64, hash: u64) -> bool {
        words.merge(self.0.block_mut(block), hash)
    }
}

/// An action for each of many keys, in order; their blocks are prefetched.
pub(super) struct Each<A, I, R> {
    pub(super) action: A,
    pub(super) shape: SplitBlockShape,
    pub(super) keys: I,
    pub(super) answer: R,
}

impl<S, A, I, R> Task<S> for Each<A, I, R>
where
    S: Words,
    A: Action,
    I: IntoIterator<Item: Key>,
    R: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        roll(
            self.keys,
            &self.shape,
            &mut (self.action, self.answer),
            |(action, _), (block, _)| action.prefetch(block),
            |(action, answer), (block, hash)| answer(action.act(simd, block, hash)),
        );
    }
}

impl<K: Key> Find<K> for SplitBlockShape {
    type Found = (u64, u64);

    #[inline(always)]
    fn find(&self, key: K) -> (u64, u64) {
        let hash = SplitBlock::hash(&key);
        (self.block(hash), hash)
    }
}
