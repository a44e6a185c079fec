//! The operations on the block of a key, for one key and for many.

use super::super::each::{self, Action, Each, Lanes};
use super::super::kernel::{self, Plain, Task};
use super::super::roll::Find;
use super::{SplitBlock, SplitBlockShape, pattern};
use crate::Key;
use crate::bits::{Bits, BitsMut};

/// The bits of a key in its block: all that has to be known is its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern(u64);

impl each::Pattern for Pattern {
    type Words = [u64; 4];

    #[inline(always)]
    fn line(block: u64) -> u64 {
        block / 2
    }

    #[inline(always)]
    fn words_mut(bits: &mut impl BitsMut, block: u64) -> &mut [u64; 4] {
        bits.block_mut(block)
    }
}

/// The operations on one block of eight words of 32 bits, by one kind of instructions.
pub(super) trait Words: Copy {
    /// Returns whether the block has every bit of a key with this hash.
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

impl<S: Words> Lanes<Pattern> for S {
    #[inline(always)]
    fn finds(self, bits: &impl Bits, block: u64, Pattern(hash): Pattern) -> bool {
        bits.with_block_inside(block, |block| self.covers(block, hash))
    }

    #[inline(always)]
    fn merge(self, block: &mut [u64; 4], Pattern(hash): Pattern) -> bool {
        Words::merge(self, block, hash)
    }
}

/// Looks one key up in its block. Two words, which are passed in registers.
pub(super) struct Covers<'a>(pub(super) &'a [u64; 4], pub(super) u64);

impl<S: Words> Task<S> for Covers<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, simd: S) -> bool {
        simd.covers(self.0, self.1)
    }
}

/// Adds one key to its block. Two words, as [`Covers`] is.
pub(super) struct Merges<'a>(pub(super) &'a mut [u64; 4], pub(super) u64);

impl<S: Words> Task<S> for Merges<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, simd: S) -> bool {
        Words::merge(simd, self.0, self.1)
    }
}

impl<S, A, I, R> Task<S> for Each<A, SplitBlockShape, I, R>
where
    S: Words,
    A: Action<S, Pattern>,
    I: IntoIterator<Item: Key>,
    R: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        let shape = self.locator;
        self.by(simd, &shape, Pattern);
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
