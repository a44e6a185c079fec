//! Many keys, each with all its bits in the words of one place: a line of [`Blocked`](crate::Blocked), a block of
//! [`SplitBlock`](crate::kinds::SplitBlock).
//!
//! Keys are hashed, their lines prefetched, and the same [`Action`] done for each, in order. A kind brings the [`Pattern`]
//! of its bits, and [`Lanes`] for each kind of instructions.

use super::roll::{Find, roll};
use crate::bits::{Bits, BitsMut};

/// The bits that a key sets in its words, before they are spelled out.
pub(super) trait Pattern: Copy {
    /// The words of one place.
    type Words: 'static;

    /// The cache line of the place at `index`.
    fn line(index: u64) -> u64;

    /// The words of the place at `index`, to be changed.
    fn words_mut(bits: &mut impl BitsMut, index: u64) -> &mut Self::Words;
}

/// The operations on the words of a place, by one kind of instructions.
pub(super) trait Lanes<P: Pattern>: Copy {
    /// Returns whether the words at `index` have every bit of the pattern, wherever they are stored.
    fn finds(self, bits: &impl Bits, index: u64, pattern: P) -> bool;

    /// Adds the bits of the pattern to the words; true when any was missing.
    fn merge(self, words: &mut P::Words, pattern: P) -> bool;
}

/// An operation on the words of a key.
pub(super) trait Action<S, P> {
    /// Hints that the words at `index` will soon be needed.
    fn prefetch(&self, index: u64);

    /// Does it, and returns what the caller of the filter wants to know.
    fn act(&mut self, lanes: S, index: u64, pattern: P) -> bool;
}

/// Tests whether the bits of the key are all there.
pub(super) struct Look<'a, B>(pub(super) &'a B);

impl<S: Lanes<P>, P: Pattern, B: Bits> Action<S, P> for Look<'_, B> {
    #[inline(always)]
    fn prefetch(&self, index: u64) {
        self.0.prefetch_line(P::line(index));
    }

    #[inline(always)]
    fn act(&mut self, lanes: S, index: u64, pattern: P) -> bool {
        lanes.finds(self.0, index, pattern)
    }
}

/// Adds the bits of the key; true when any was missing.
pub(super) struct Put<'a, B>(pub(super) &'a mut B);

impl<S: Lanes<P>, P: Pattern, B: BitsMut> Action<S, P> for Put<'_, B> {
    #[inline(always)]
    fn prefetch(&self, index: u64) {
        self.0.prefetch_line(P::line(index));
    }

    #[inline(always)]
    fn act(&mut self, lanes: S, index: u64, pattern: P) -> bool {
        lanes.merge(P::words_mut(self.0, index), pattern)
    }
}

/// An action for each of many keys, in order; their lines are prefetched.
pub(super) struct Each<A, L, I, R> {
    pub(super) action: A,
    /// What finds the place of a key, as the kind has it.
    pub(super) locator: L,
    pub(super) keys: I,
    pub(super) answer: R,
}

impl<A, L, I: IntoIterator, R: FnMut(bool)> Each<A, L, I, R> {
    /// Does it with these instructions. The finder makes a key into the index of its place, and the word that its pattern
    /// is made of.
    #[inline(always)]
    pub(super) fn by<S, P, F>(self, lanes: S, finder: &F, pattern: impl Fn(u64) -> P)
    where
        S: Lanes<P>,
        P: Pattern,
        A: Action<S, P>,
        F: Find<I::Item, Found = (u64, u64)>,
    {
        roll(
            self.keys,
            finder,
            &mut (self.action, self.answer),
            |(action, _), (index, _)| action.prefetch(index),
            |(action, answer), (index, word)| answer(action.act(lanes, index, pattern(word))),
        );
    }
}
