//! The number of times a key occurs: the distance of its bits from its positions.
//!
//! A key that occurs `r` times, 1 to 57, sets the bits `r - 1` after its `k` positions. What the
//! windows of all positions have in common are the candidates, and the answer is the highest: never
//! below the truth. With `f` the rate of a standard filter of this shape and `c` the most that can be
//! counted, a key that occurs `r` times is answered exactly with probability `(1-f)^(c-r)`, an
//! absent key by zero with `(1-f)^c`.
//!
//! Static: built from exact counts, since keys inserted one by one would be counted too low. `k` bits a
//! key; who knows a higher count can raise it for `k` more. It cannot be lowered.

use alloc::collections::BTreeMap;

use super::{Spans, Usage, WIDEST};
use crate::bits::{Bitmap, Bits, BitsMut};
use crate::filter::description::Wrap;
use crate::filter::fixed::Fixed;
use crate::filter::{Count, Description, Filter, Kind, Merge, Places, Stats};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result, Shape};

/// Tells how often a key occurs, over bits of any storage.
///
/// ```
/// use mayhap::kinds::ShiftingMultiplicity;
///
/// let words = "the cat and the dog and the bird".split(' ');
/// let filter = ShiftingMultiplicity::from_keys(words, 0.001)?;
/// assert_eq!(filter.count("the"), 3);
/// assert_eq!(filter.count("cat"), 1);
/// assert_eq!(filter.count("fish"), 0, "definitely never");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct ShiftingMultiplicity<B = Bitmap> {
    body: Fixed<B, Spans>,
}

impl ShiftingMultiplicity {
    /// The most that any filter of this kind counts to: the bits of a window.
    pub const MOST: u32 = WIDEST;

    /// A filter for `keys` distinct keys that occur up to [`MOST`](ShiftingMultiplicity::MOST) times
    /// each. An absent key is then counted at most at `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<ShiftingMultiplicity> {
        ShiftingMultiplicity::plan(keys, rate)?.empty()
    }

    /// Describes the filter that [`with_capacity`](ShiftingMultiplicity::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or `rate` is not strictly between 0 and 1.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        USAGE.plan(keys, rate)
    }

    /// The filter of a multiset: counts its keys exactly, in memory, then enters each once. No keys
    /// make a filter for one, with none in it.
    ///
    /// # Errors
    ///
    /// When a key occurs more than [`MOST`](ShiftingMultiplicity::MOST) times, `rate` is not strictly
    /// between 0 and 1, or there is no memory for it.
    pub fn from_keys<K: Key + Ord>(
        keys: impl IntoIterator<Item = K>,
        rate: f64,
    ) -> Result<ShiftingMultiplicity> {
        let mut counts = BTreeMap::new();
        for key in keys {
            *counts.entry(key).or_insert(0) += 1;
        }
        let distinct = counts.len() as u64;
        let mut filter = ShiftingMultiplicity::with_capacity(distinct.max(1), rate)?;
        for (key, times) in counts {
            filter.insert_times(&key, times)?;
        }
        Ok(filter)
    }

    /// An empty filter of `shape.bits()` positions and `shape.hashes()` of them for each key, which
    /// counts to `most`.
    ///
    /// # Errors
    ///
    /// When `most` is not 1 to 57, or there is no memory for it.
    pub fn new(shape: Shape, most: u32, digester: Digester) -> Result<ShiftingMultiplicity> {
        USAGE
            .make(shape, most, digester)
            .map(ShiftingMultiplicity::wrap)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl<B: Bits> ShiftingMultiplicity<B> {
    /// Returns how often the key occurs, at the most: never below the number it was inserted with. Zero is
    /// certain.
    #[inline]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.count_digest(self.body.digest(key))
    }

    /// Returns how often a key with this digest occurs, at the most.
    #[inline]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        let mask = u64::MAX >> (64 - self.most());
        let common = self.body.common(digest, mask);
        u64::from(64 - common.leading_zeros())
    }

    /// Answers [`count`](ShiftingMultiplicity::count) for each key, in order, with the windows of
    /// several keys in flight at a time.
    pub fn count_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(u64),
    ) {
        let tell = |digest| answer(self.count_digest(digest));
        self.body.digest_each(keys, tell);
    }

    /// Returns whether the key may occur at all: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.count(key) > 0
    }

    /// The most that this filter counts to.
    pub fn most(&self) -> u32 {
        self.body.shape.windows.span()
    }

    /// Predicts the share of keys occurring `times` times that are counted exactly, when there are
    /// `keys` distinct keys: `(1-f)^(c-r)`. For 0 times: of absent keys.
    pub fn exact_at(&self, keys: u64, times: u32) -> f64 {
        let wrong = self.body.shape.windows.first().rate_at(keys);
        let higher = self.most().saturating_sub(times);
        libm::pow(1.0 - wrong, f64::from(higher))
    }

    /// Returns what the filter holds now. The rate is that at which an absent key is counted. Counts every bit.
    pub fn stats(&self) -> Stats {
        self.body.window_stats()
    }

    /// Returns where the filter keeps a key with this digest.
    pub(in crate::filter) fn places(&self, digest: Digest) -> Places {
        self.body.places(digest, u64::MAX >> (64 - self.most()))
    }

    /// Returns the way keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.hashing
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.body.bits
    }
}

impl<B: BitsMut> ShiftingMultiplicity<B> {
    /// Inserts a key that occurs this many times, and returns what it was counted for before: zero
    /// when it was *definitely* new.
    ///
    /// The number must be exact, from a table of the caller's. A larger number for a key that is
    /// there raises its count, and the bits of the old one stay: every raise fills the filter as a
    /// new key does. A smaller one changes nothing about its count. Adding one to the answer of
    /// [`count`](ShiftingMultiplicity::count) is not a way to count: an answer that was too high would
    /// stay so for ever.
    ///
    /// # Errors
    ///
    /// When `times` is not 1 to [`most`](ShiftingMultiplicity::most); nothing is then changed.
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<u64> {
        if times == 0 || times > u64::from(self.most()) {
            return Err(Error::Field {
                format: Kind::ShiftingMultiplicity.name(),
                field: "number of times",
                got: i64::try_from(times).unwrap_or(i64::MAX),
                expected: "1 to the most that the filter counts to",
            });
        }
        let digest = self.body.digest(key);
        let before = self.count_digest(digest);
        self.body.set(digest, 1 << (times - 1));
        Ok(before)
    }
}

pub(super) static USAGE: Usage = Usage {
    kind: Kind::ShiftingMultiplicity,
    span: "highest count",
    least: 1,
    expected: "1 to 57",
    answers: WIDEST,
    // Keys that occur once, as most do, set the first bit of a window.
    distance: |answer, _| f64::from(answer),
};

impl<B: Bits> Filter for ShiftingMultiplicity<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        ShiftingMultiplicity::stats(self)
    }

    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        self.count_each(keys, |count| answer(count > 0));
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: Bits> Count for ShiftingMultiplicity<B> {
    fn count_bytes(&self, key: &[u8]) -> u64 {
        self.count(key)
    }
}

impl<B: Bits> Wrap for ShiftingMultiplicity<B> {
    type Body = Fixed<B, Spans>;

    fn wrap(body: Fixed<B, Spans>) -> ShiftingMultiplicity<B> {
        ShiftingMultiplicity { body }
    }

    fn body(&self) -> &Fixed<B, Spans> {
        &self.body
    }
}

impl Merge for ShiftingMultiplicity {
    /// Refuses: counts of one key in two filters would have to be added, and bits cannot.
    fn union(&mut self, _: &ShiftingMultiplicity) -> Result<()> {
        Err(Error::Unsupported {
            kind: Kind::ShiftingMultiplicity.name(),
            what: "take in another",
            instead: "build it again, from all keys",
        })
    }
}
