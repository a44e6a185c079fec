//! What is done with the line of a key, for one key or for many: each algorithm once, in safe code, for every kernel
//! and storage.

use super::super::roll::{Find, roll};
use super::kernel::{Lanes, Operation, Task};
use super::pattern::{Locator, Pattern};
use crate::Key;
use crate::bits::{AtomicBitmap, Bits, BitsMut};
use crate::hash::{Digest, Hash};

/// What is done with the line of a key.
pub(super) trait Action {
    /// Hints that the line will soon be needed.
    fn prefetch(&self, line: u64);

    /// Does it, and returns what the caller of the filter wants to know.
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool;
}

/// Tests whether the bits of the key are all there.
pub(super) struct Look<'a, B>(pub(super) &'a B);

impl<B: Bits> Action for Look<'_, B> {
    #[inline(always)]
    fn prefetch(&self, line: u64) {
        self.0.prefetch_line(line);
    }

    #[inline(always)]
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool {
        let covers = |line: &[u64; 8]| lanes.covers(line, pattern);
        self.0.with_line(line, covers)
    }
}

/// Adds the bits of the key; true when any was missing.
pub(super) struct Put<'a, B>(pub(super) &'a mut B);

impl<B: BitsMut> Action for Put<'_, B> {
    #[inline(always)]
    fn prefetch(&self, line: u64) {
        self.0.prefetch_line(line);
    }

    #[inline(always)]
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool {
        lanes.merge(self.0.line_mut(line), pattern)
    }
}

/// Adds the bits of the key to shared memory, word by word; true when this call set any bit.
pub(super) struct Share<'a>(pub(super) &'a AtomicBitmap);

impl Action for Share<'_> {
    #[inline(always)]
    fn prefetch(&self, line: u64) {
        self.0.prefetch_line(line);
    }

    #[inline(always)]
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool {
        self.0.set_line(line, &lanes.mask(pattern))
    }
}

/// Adds the bits of the key to shared memory in one step among all claims of the key; true for exactly one of them, and
/// only when some bit was missing.
///
/// A key whose bits are all there was claimed before, or never can be: no lock is needed to say so.
/// Otherwise the claims of one key take turns, the first sets the missing bits and the others find
/// them. Claims of other keys, and inserts, only ever add bits.
pub(super) struct Claim<'a>(pub(super) &'a AtomicBitmap);

impl Action for Claim<'_> {
    #[inline(always)]
    fn prefetch(&self, line: u64) {
        self.0.prefetch_line(line);
    }

    #[inline(always)]
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool {
        let Claim(bits) = *self;
        if lanes.covers(&bits.line(line), pattern) {
            return false;
        }
        bits.exclusive(line, || bits.set_line(line, &lanes.mask(pattern)))
    }
}

/// An action for one key.
pub(super) struct One<A> {
    pub(super) action: A,
    pub(super) line: u64,
    pub(super) pattern: Pattern,
}

impl<A: Action> Operation for One<A> {
    type Output = bool;

    #[inline(always)]
    fn run(mut self, lanes: impl Lanes) -> bool {
        self.action.act(lanes, self.line, self.pattern)
    }
}

/// An action for each of many keys, in order; their lines are prefetched.
pub(super) struct Each<A, I, R> {
    pub(super) action: A,
    pub(super) locator: Locator,
    pub(super) keys: I,
    pub(super) answer: R,
}

impl<A, I, R> Task for Each<A, I, R>
where
    A: Action,
    I: IntoIterator<Item: ToDigest>,
    R: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes, hash: impl Hash) {
        let locator = self.locator;
        roll(
            self.keys,
            &Hashed { locator, hash },
            &mut (self.action, self.answer),
            |(action, _), (line, _)| action.prefetch(line),
            |(action, answer), (line, word)| {
                answer(action.act(lanes, line, locator.pattern(word)));
            },
        );
    }
}

/// A key, which is hashed here, or a digest that a caller made.
pub(super) trait ToDigest {
    /// The digest of the key.
    fn digest(&self, hash: impl Hash) -> Digest;
}

impl<K: Key + ?Sized> ToDigest for K {
    #[inline(always)]
    fn digest(&self, hash: impl Hash) -> Digest {
        hash.digest(self.key_bytes().as_ref())
    }
}

impl ToDigest for Digest {
    #[inline(always)]
    fn digest(&self, _: impl Hash) -> Digest {
        *self
    }
}

/// From a key to its line and the first word of its pattern, by a hash that is settled.
struct Hashed<H> {
    locator: Locator,
    hash: H,
}

impl<K: ToDigest, H: Hash> Find<K> for Hashed<H> {
    type Found = (u64, u64);

    #[inline(always)]
    fn find(&self, key: K) -> (u64, u64) {
        let digest = key.digest(self.hash);
        (self.locator.line(digest), digest.lo)
    }
}
