//! From keys to lines: one at a time, or many, the line of each asked for well before it is needed.

use super::pattern::{Pattern, Spread};
use super::shape::BlockedShape;
use crate::Key;
use crate::hash::{Digest, Digester, reduce};

/// How many lines are on their way at a time. `bench/benches/batch.rs` compares depths: 8 leaves
/// memory idle, 32 and 64 gain nothing over 16 and cost more in cache.
const DEPTH: usize = 16;

/// What a filter takes: a key, which is hashed here, or a digest that a caller made.
pub(super) trait Source {
    /// The digest of the key.
    fn digest(&self, digester: &Digester) -> Digest;
}

impl<K: Key + ?Sized> Source for K {
    #[inline(always)]
    fn digest(&self, digester: &Digester) -> Digest {
        digester.digest(self.bytes().as_ref())
    }
}

impl Source for Digest {
    #[inline(always)]
    fn digest(&self, _: &Digester) -> Digest {
        *self
    }
}

/// How a filter finds the bits of a key: its digest, then a line, and a pattern in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Finder {
    shape: BlockedShape,
    digester: Digester,
    spread: Spread,
}

impl Finder {
    pub(super) fn new(shape: BlockedShape, digester: Digester) -> Finder {
        Finder {
            shape,
            digester,
            spread: Spread::new(shape.hashes()),
        }
    }

    pub(super) fn shape(&self) -> BlockedShape {
        self.shape
    }

    pub(super) fn digester(&self) -> Digester {
        self.digester
    }

    pub(super) fn spread(&self) -> Spread {
        self.spread
    }

    /// The line of a key, and its pattern there.
    #[inline(always)]
    pub(super) fn find(&self, key: &(impl Source + ?Sized)) -> (u64, Pattern) {
        let (line, word) = self.find_word(key);
        (line, self.pattern(word))
    }

    #[inline(always)]
    fn find_word(&self, key: &(impl Source + ?Sized)) -> (u64, u64) {
        let digest = key.digest(&self.digester);
        (reduce(digest.hi, self.shape.lines()), digest.lo)
    }

    #[inline(always)]
    fn pattern(&self, word: u64) -> Pattern {
        Pattern {
            word,
            spread: self.spread,
        }
    }

    /// Calls `visit` with the place of each key, in order, and `prefetch` with its line some turns
    /// earlier. Both are given `state`, which holds what they share.
    #[inline(always)]
    pub(super) fn roll<S>(
        &self,
        keys: impl IntoIterator<Item: Source>,
        state: &mut S,
        prefetch: impl Fn(&S, u64),
        mut visit: impl FnMut(&mut S, u64, Pattern),
    ) {
        let mut ahead = [(0, 0); DEPTH];
        let mut count = 0;
        for key in keys {
            let next = self.find_word(&key);
            prefetch(state, next.0);
            let (line, word) = core::mem::replace(&mut ahead[count % DEPTH], next);
            count += 1;
            if count > DEPTH {
                visit(state, line, self.pattern(word));
            }
        }
        for turn in count.saturating_sub(DEPTH)..count {
            let (line, word) = ahead[turn % DEPTH];
            visit(state, line, self.pattern(word));
        }
    }
}
