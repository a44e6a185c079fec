//! From keys to lines: one at a time, or many, the line of each asked for well before it is needed.

use super::super::roll::Find;
use super::pattern::{Pattern, Spread};
use super::shape::BlockedShape;
use crate::Key;
use crate::hash::{Digest, Digester, Hash, reduce};

/// What a filter takes: a key, which is hashed here, or a digest that a caller made.
pub(super) trait Source {
    /// The digest of the key.
    fn digest(&self, hash: impl Hash) -> Digest;
}

impl<K: Key + ?Sized> Source for K {
    #[inline(always)]
    fn digest(&self, hash: impl Hash) -> Digest {
        hash.digest(self.key_bytes().as_ref())
    }
}

impl Source for Digest {
    #[inline(always)]
    fn digest(&self, _: impl Hash) -> Digest {
        *self
    }
}

/// How a filter finds the bits of a key: its digest, then a line, and a pattern in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finder {
    places: Places,
    digester: Digester,
}

/// The second half of a finder: from a digest to a line, and a pattern in it. Loops keep a copy of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Places {
    shape: BlockedShape,
    spread: Spread,
}

impl Finder {
    pub(super) fn new(shape: BlockedShape, digester: Digester) -> Finder {
        let spread = Spread::new(shape.hashes());
        Finder {
            places: Places { shape, spread },
            digester,
        }
    }

    pub(super) fn shape(&self) -> BlockedShape {
        self.places.shape
    }

    pub(super) fn digester(&self) -> &Digester {
        &self.digester
    }

    pub(super) fn places(&self) -> Places {
        self.places
    }

    pub(super) fn spread(&self) -> Spread {
        self.places.spread
    }

    /// The line of a key, and its pattern there.
    #[inline(always)]
    pub(super) fn place(&self, key: &(impl Source + ?Sized)) -> (u64, Pattern) {
        let digest = key.digest(&self.digester);
        (self.places.line(digest), self.places.pattern(digest.lo))
    }
}

impl Places {
    /// The line of a digest.
    #[inline(always)]
    pub(super) fn line(&self, digest: Digest) -> u64 {
        reduce(digest.hi, self.shape.lines())
    }

    /// The pattern that starts with this word.
    #[inline(always)]
    pub(super) fn pattern(&self, word: u64) -> Pattern {
        Pattern {
            word,
            spread: self.spread,
        }
    }
}

/// A finder whose way of hashing is settled.
pub(super) struct Settled<H> {
    pub(super) places: Places,
    pub(super) hash: H,
}

impl<S: Source, H: Hash> Find<S> for Settled<H> {
    /// A line, and the first word of a pattern.
    type Place = (u64, u64);

    #[inline(always)]
    fn find(&self, key: S) -> (u64, u64) {
        let digest = key.digest(self.hash);
        (self.places.line(digest), digest.lo)
    }
}
