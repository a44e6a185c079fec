//! The body of kinds that are built once, by solving for all their keys.
//!
//! [`Fuse`](crate::Fuse) and [`Ribbon`](crate::Ribbon) keep a fingerprint of each key as a sum, without carries, of
//! slots. What they share is here, all but their shapes: from keys to hashes that are solved for, lookups by one or by many
//! keys, and how a filter is described and put together from a file. A kind says which slots a key has by its [`SlotMap`].

use alloc::vec::Vec;

use super::hashes::{digests, distinct_hashes};
use super::{Assemble, Description, Filter, Kind, Merge, Promise, Stats};
use crate::bits::{Bitmap, Bits};
use crate::hash::{Digest, Digester};
use crate::shape::check_rate;
use crate::{Error, Key, Result};

/// All slots of a filter, and what a description says about them.
pub trait SlotMap: Sized {
    /// The storage of the slots.
    type Bits: Bits;

    /// The bits of a fingerprint and the number of slots.
    type Shape;

    /// The kind.
    const KIND: Kind;

    /// The bits of a fingerprint and the number of slots.
    fn shape(&self) -> Self::Shape;

    /// The bits, the hashes and the detail of a [`Description`].
    fn numbers(&self) -> (u64, u32, u32);

    /// The false-positive rate with `keys` keys.
    fn rate_at(&self, keys: u64) -> f64;

    /// The rate of the filter that is made like this one, of `keys` keys.
    fn predicted_rate(description: &Description, keys: u64) -> Option<f64>;

    /// The cache lines that a lookup of a key reads.
    fn cache_lines(description: &Description) -> u32 {
        description.hashes
    }

    /// Returns whether there are no slots, because there is no key.
    fn is_empty(&self) -> bool;

    /// The bits, as [`Assemble::parts`] has them.
    fn parts(&self) -> Vec<&Self::Bits>;

    /// The bits of each part, as [`Assemble::layout`] has them.
    ///
    /// # Errors
    ///
    /// Names the first property that the kind cannot have.
    fn layout(description: &Description) -> Result<Vec<u64>>;

    /// The slots over parts of the sizes that [`layout`](SlotMap::layout) says.
    ///
    /// # Errors
    ///
    /// As [`layout`](SlotMap::layout).
    fn assemble(description: &Description, parts: Vec<Self::Bits>) -> Result<Self>;

    /// Returns whether the fingerprint of the key with this hash is kept. There is a key at least.
    fn has(&self, hash: u64) -> bool;

    /// Calls `answer` with whether each key is held, in order. There is a key at least.
    fn look_up<K: Key>(
        &self,
        digester: &Digester,
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    );
}

/// Slots that can be solved for.
pub trait Solve: SlotMap<Bits = Bitmap> {
    /// The shortest fingerprint, in bits, with which a filter of `keys` keys has at most this rate.
    ///
    /// # Errors
    ///
    /// When there can be no such filter.
    fn fingerprint_for(keys: u64, rate: f64) -> Result<u32>;

    /// The bits, the hashes and the detail of a filter of `keys` keys that the first attempt solves.
    ///
    /// # Errors
    ///
    /// When there can be no such filter.
    fn planned(keys: u64, fingerprint_bits: u32) -> Result<(u64, u32, u32)>;

    /// Solves for these hashes, which ascend and are distinct.
    ///
    /// # Errors
    ///
    /// When there can be no such filter, no memory for it, or no attempt succeeds.
    fn solve(hashes: &[u64], fingerprint_bits: u32) -> Result<Self>;
}

/// A filter that is built once, from all its keys: a [`Fuse`](crate::Fuse) or a [`Ribbon`](crate::Ribbon), by its slots.
#[derive(Clone)]
pub struct Solved<M> {
    pub(super) slots: M,
    digester: Digester,
    promise: Option<Promise>,
}

impl<M: Solve> Solved<M> {
    /// A filter of these keys with the shortest fingerprint whose rate is at most `rate`, hashed without a
    /// secret.
    ///
    /// # Errors
    ///
    /// When `rate` is not strictly between 0 and 1 or is below the `LEAST_RATE` of the kind's shape, or as
    /// [`build`](Solved::build).
    pub fn with_rate<K: Key>(rate: f64, keys: impl IntoIterator<Item = K>) -> Result<Solved<M>> {
        check_rate(rate)?;
        let digester = Digester::default();
        let hashes = distinct_hashes(digests(&digester, keys))?;
        // The rate of a filter of no keys is 0, with any fingerprint.
        let fingerprint_bits = M::fingerprint_for((hashes.len() as u64).max(1), rate)?;
        let mut filter = Solved::solve(digester, &hashes, fingerprint_bits)?;
        filter.promise = filter.promise.map(|promise| Promise { rate, ..promise });
        Ok(filter)
    }

    /// A filter of these keys with fingerprints of this many bits: 8, 16 or 32 of a [`Fuse`](crate::Fuse), 1 to 32 of a
    /// [`Ribbon`](crate::Ribbon).
    ///
    /// # Errors
    ///
    /// When the kind has no such fingerprint, there are more keys than it can hold (2^40 of a ribbon), or there is no
    /// memory for it. [`Error::Unbuilt`] when keys have been chosen so that none can be built: use a digester with a secret.
    ///
    /// ```
    /// use mayhap::{Digester, Fuse, Ribbon, SecretKey};
    ///
    /// let secret = Digester::SipHash { key: SecretKey::random()? };
    /// let fuse = Fuse::build(secret.clone(), 8, 0..1_000_000_u32)?;
    /// assert!(fuse.contains(&999_999_u32));
    /// assert_eq!(fuse.stats().bits, 9_011_200);
    ///
    /// let ribbon = Ribbon::build(secret, 7, 0..10_000_u32)?;
    /// assert!(ribbon.contains(&9_999_u32));
    /// assert_eq!(ribbon.stats().bits, 72_192);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn build<K: Key>(
        digester: Digester,
        fingerprint_bits: u32,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Solved<M>> {
        let hashes = distinct_hashes(digests(&digester, keys))?;
        Solved::solve(digester, &hashes, fingerprint_bits)
    }

    /// A filter of the keys that have these digests, made by the digester: for callers who hash once for
    /// many filters.
    ///
    /// # Errors
    ///
    /// As [`build`](Solved::build).
    pub fn build_digests(
        digester: Digester,
        fingerprint_bits: u32,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<Solved<M>> {
        Solved::solve(digester, &distinct_hashes(digests)?, fingerprint_bits)
    }

    /// The description of a filter of `keys` distinct keys at `rate`, but for the attempt that will
    /// succeed; allocates nothing.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or more than the kind can hold, or `rate` is not strictly between 0 and 1 or is below the
    /// `LEAST_RATE` of the kind's shape.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let numbers = M::planned(keys, M::fingerprint_for(keys, rate)?)?;
        let promise = Some(Promise { keys, rate });
        Ok(describe::<M>(numbers, Digester::default(), promise))
    }

    fn solve(digester: Digester, hashes: &[u64], fingerprint_bits: u32) -> Result<Solved<M>> {
        let keys = hashes.len() as u64;
        let slots = M::solve(hashes, fingerprint_bits)?;
        let rate = slots.rate_at(keys);
        Ok(Solved {
            slots,
            digester,
            promise: (keys > 0).then_some(Promise { keys, rate }),
        })
    }
}

impl<M: SlotMap> Solved<M> {
    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// Returns whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        // First: a filter of no keys has no slots to look at.
        !self.is_empty() && self.slots.has(digest.hi)
    }

    /// Returns whether there is no key in the filter. It then has no slots, and holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns what the filter holds: the exact number of keys, and the rate of its fingerprints.
    pub fn stats(&self) -> Stats {
        let keys = match self.promise {
            Some(promise) => Some(promise.keys),
            None => self.is_empty().then_some(0),
        };
        Stats {
            bits: self.slots.numbers().0,
            ones: self.parts().iter().map(|part| part.count_ones()).sum(),
            keys: keys.map(|keys| keys as f64),
            rate: self.slots.rate_at(keys.unwrap_or(1)),
            promise: self.promise,
        }
    }

    /// The bits of a fingerprint and the number of slots.
    pub fn shape(&self) -> M::Shape {
        self.slots.shape()
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.digester
    }

    /// The keys that the filter was built of, and its rate; `None` when it has none.
    pub fn promise(&self) -> Option<Promise> {
        self.promise
    }
}

impl<M: SlotMap> Filter for Solved<M> {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Solved::stats(self)
    }

    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        if self.is_empty() {
            keys.into_iter().for_each(|_| answer(false));
            return;
        }
        self.slots.look_up(&self.digester, keys, answer);
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<M: SlotMap> Merge for Solved<M> {
    /// Refused: the slots of two sets say nothing about their union. Build a filter of both.
    fn union(&mut self, _: &Solved<M>) -> Result<()> {
        Err(Error::Unsupported {
            kind: M::KIND.name(),
            what: "be joined with another",
            instead: "build one from the keys of both",
        })
    }
}

fn describe<M: SlotMap>(
    (bits, hashes, detail): (u64, u32, u32),
    digester: Digester,
    promise: Option<Promise>,
) -> Description {
    Description {
        kind: M::KIND,
        hashing: digester.into(),
        bits,
        hashes,
        detail,
        promise,
    }
}

impl<M: SlotMap> Assemble for Solved<M> {
    type Bits = M::Bits;

    fn description(&self) -> Description {
        describe::<M>(self.slots.numbers(), self.digester.clone(), self.promise)
    }

    fn parts(&self) -> Vec<&M::Bits> {
        self.slots.parts()
    }

    fn check(description: &Description) -> Result<()> {
        Self::layout(description).map(drop)
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        description.check_promise()?;
        description.digester()?;
        M::layout(description)
    }

    fn assemble(description: &Description, parts: Vec<M::Bits>) -> Result<Solved<M>> {
        let sizes = Self::layout(description)?;
        description.check_parts(&parts, &sizes)?;
        Ok(Solved {
            slots: M::assemble(description, parts)?,
            digester: description.digester()?,
            promise: description.promise,
        })
    }

    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        M::predicted_rate(description, keys)
    }

    fn cache_lines(description: &Description) -> u32 {
        M::cache_lines(description)
    }
}
