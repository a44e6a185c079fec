//! Actions for many keys: hashed, their lines prefetched, and done in order, by every kernel and on every storage.

use super::super::kernel::HashedTask;
use super::super::roll::{Find, roll};
use super::kernel::{Action, Lanes};
use super::pattern::Locator;
use crate::Key;
use crate::hash::{Digest, Hash};

/// An action for each of many keys, in order; their lines are prefetched.
pub(super) struct Each<A, I, R> {
    pub(super) action: A,
    pub(super) locator: Locator,
    pub(super) keys: I,
    pub(super) answer: R,
}

impl<S, A, I, R> HashedTask<S> for Each<A, I, R>
where
    S: Lanes,
    A: Action,
    I: IntoIterator<Item: ToDigest>,
    R: FnMut(bool),
{
    #[inline(always)]
    fn run(self, lanes: S, hash: impl Hash) {
        let locator = self.locator;
        if locator.has_rounds() {
            return self.each(lanes, Hashed { locator, hash });
        }
        let locator = locator.without_rounds();
        self.each(lanes, Hashed { locator, hash });
    }
}

impl<A, I, R> Each<A, I, R>
where
    A: Action,
    I: IntoIterator<Item: ToDigest>,
    R: FnMut(bool),
{
    #[inline(always)]
    fn each(self, lanes: impl Lanes, hashed: Hashed<impl Hash>) {
        roll(
            self.keys,
            &hashed,
            &mut (self.action, self.answer),
            |(action, _), (line, _)| action.prefetch(line),
            |(action, answer), (line, word)| {
                answer(action.act(lanes, line, hashed.locator.pattern(word)));
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
