//! How often a key occurs: the distance of its bits from its positions is the number.
//!
//! A key that occurs `r` times, 1 to 57, sets the bits `r - 1` after its `k` positions. What the
//! windows of all positions have in common are the candidates, and the answer is the highest: never
//! below the truth. With `f` the rate of a standard filter of this shape and `c` the most that can be
//! counted, a key that occurs `r` times is answered exactly with probability `(1-f)^(c-r)`, a
//! stranger by zero with `(1-f)^c`.
//!
//! Static: built from exact counts, since keys inserted one by one would be counted too low. `k` bits a
//! key; who knows a higher count can raise it for `k` more. It cannot be lowered.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::{WIDEST, Windows};
use crate::bits::{Bitmap, BitmapView, Bits, BitsMut};
use crate::filter::roll::{into_slice, roll};
use crate::filter::{Assemble, Count, Description, Filter, Kind, Merge, Promise, Stats};
use crate::hash::{Digest, Digester};
use crate::shape::check_request;
use crate::{Error, Key, Result, Shape};

/// Tells how often a key occurs, over bits of any storage.
///
/// ```
/// use mayhap::ShiftingMultiplicity;
///
/// let words = "the cat and the dog and the bird".split(' ');
/// let filter = ShiftingMultiplicity::from_keys(words, 0.001)?;
/// assert_eq!(filter.count("the"), 3);
/// assert_eq!(filter.count("cat"), 1);
/// assert_eq!(filter.count("fish"), 0, "definitely never");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ShiftingMultiplicity<B = Bitmap> {
    bits: B,
    windows: Windows,
    digester: Digester,
    promise: Option<Promise>,
}

/// A [`ShiftingMultiplicity`] over borrowed bytes: it can be asked, not inserted into.
///
/// ```
/// use mayhap::{Assemble, BitmapView, ShiftingMultiplicity, ShiftingMultiplicityView};
///
/// let filter = ShiftingMultiplicity::from_keys(["key", "key"], 0.01)?;
/// let bytes = filter.bits().to_bytes();
///
/// let about = filter.description();
/// let bits = BitmapView::new(&bytes[..], about.bits)?;
/// let view: ShiftingMultiplicityView<_> = ShiftingMultiplicityView::assemble(&about, vec![bits])?;
/// assert_eq!(view.count("key"), 2);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type ShiftingMultiplicityView<D> = ShiftingMultiplicity<BitmapView<D>>;

impl ShiftingMultiplicity {
    /// The most that any filter of this kind counts to: the bits of a window.
    pub const MOST: u32 = WIDEST;

    /// A filter for `keys` distinct keys that occur up to [`MOST`](ShiftingMultiplicity::MOST) times
    /// each. A stranger is then counted at most at `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<ShiftingMultiplicity> {
        let shape = shape_for(keys, rate)?;
        let mut filter = ShiftingMultiplicity::new(shape, Self::MOST, Digester::default())?;
        filter.promise = Some(Promise { keys, rate });
        Ok(filter)
    }

    /// The description of [`with_capacity`](ShiftingMultiplicity::with_capacity)'s filter; makes none.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or `rate` is not strictly between 0 and 1.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let windows = windows_of(shape_for(keys, rate)?, Self::MOST)?;
        let promise = Some(Promise { keys, rate });
        Ok(describe(windows, Digester::default(), promise))
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
        let windows = windows_of(shape, most)?;
        from_windows(Bitmap::new(windows.bits())?, windows, digester)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.bits.clear_all();
    }
}

impl<B: Bits> ShiftingMultiplicity<B> {
    /// How often the key occurs, at the most: never below the number it was inserted with. Zero is
    /// certain.
    #[inline]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.count_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// How often a key with this digest occurs, at the most.
    #[inline]
    pub fn count_digest(&self, digest: Digest) -> u64 {
        let mask = u64::MAX >> (64 - self.most());
        let common = self.windows.common(&self.bits, digest, mask);
        u64::from(64 - common.leading_zeros())
    }

    /// Answers [`count`](ShiftingMultiplicity::count) for each key, in order, with the windows of
    /// several keys on their way at a time.
    pub fn count_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(u64),
    ) {
        roll(
            keys,
            &self.digester,
            &mut answer,
            |_, digest| self.windows.prefetch(&self.bits, digest),
            |answer, digest| answer(self.count_digest(digest)),
        );
    }

    /// Whether the key may occur at all: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.count(key) > 0
    }

    /// The most that this filter counts to.
    pub fn most(&self) -> u32 {
        self.windows.span()
    }

    /// Predicts the share of keys occurring `times` times that are counted exactly, when there are
    /// `keys` distinct keys: `(1-f)^(c-r)`. For 0 times: of strangers.
    pub fn exact_at(&self, keys: u64, times: u32) -> f64 {
        let wrong = self.windows.first().rate_at(keys);
        let higher = self.most().saturating_sub(times);
        libm::pow(1.0 - wrong, f64::from(higher))
    }

    /// What the filter holds now. The rate is that at which a stranger is counted. Counts every bit.
    pub fn stats(&self) -> Stats {
        let ones = self.bits.count_ones();
        let shape = self.windows.first();
        // Ones may lie past the last position, so there may be more of them than positions.
        let wrong = shape.rate_with(ones.min(shape.bits()));
        Stats {
            bits: self.windows.bits(),
            ones,
            keys: shape.keys_at(ones),
            rate: -libm::expm1(f64::from(self.most()) * libm::log1p(-wrong)),
            promise: self.promise,
        }
    }

    /// How keys are hashed.
    pub fn digester(&self) -> Digester {
        self.digester
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.bits
    }
}

impl<B: BitsMut> ShiftingMultiplicity<B> {
    /// Inserts a key that occurs this many times, and returns what it was counted for before: zero
    /// when it was *definitely* new.
    ///
    /// The number must be exact, from a table of the caller's. A larger number for a key that is
    /// there raises its count, and the bits of the old one stay: every raise fills the filter as a
    /// new key does. A smaller one changes nothing about its count. Adding one to the answer of
    /// [`count`](ShiftingMultiplicity::count) is no way to count: an answer that was too high would
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
        let digest = self.digester.digest(key.key_bytes().as_ref());
        let before = self.count_digest(digest);
        self.windows.set(&mut self.bits, digest, 1 << (times - 1));
        Ok(before)
    }
}

fn shape_for(keys: u64, rate: f64) -> Result<Shape> {
    check_request(keys, rate)?;
    // The rate of one count, so that a stranger gets none of them at the rate asked for.
    let counts = f64::from(ShiftingMultiplicity::MOST);
    Shape::for_capacity(keys, -libm::expm1(libm::log1p(-rate) / counts))
}

fn windows_of(shape: Shape, most: u32) -> Result<Windows> {
    check_most(most)?;
    Windows::new(shape, most)
}

fn check_most(most: u32) -> Result<()> {
    if (1..=WIDEST).contains(&most) {
        return Ok(());
    }
    Err(Error::Field {
        format: Kind::ShiftingMultiplicity.name(),
        field: "highest count",
        got: i64::from(most),
        expected: "1 to 57",
    })
}

fn from_windows<B: Bits>(
    bits: B,
    windows: Windows,
    digester: Digester,
) -> Result<ShiftingMultiplicity<B>> {
    windows.check_bits(&bits)?;
    Ok(ShiftingMultiplicity {
        bits,
        windows,
        digester,
        promise: None,
    })
}

impl<B: Bits> Filter for ShiftingMultiplicity<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        ShiftingMultiplicity::stats(self)
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        let mut answer = into_slice(found);
        self.count_each(keys, |count| answer(count > 0));
    }
}

impl<B: Bits> Count for ShiftingMultiplicity<B> {
    fn count_bytes(&self, key: &[u8]) -> u64 {
        self.count(key)
    }
}

fn describe(windows: Windows, digester: Digester, promise: Option<Promise>) -> Description {
    Description {
        kind: Kind::ShiftingMultiplicity,
        hashing: digester.into(),
        bits: windows.bits(),
        hashes: windows.first().hashes(),
        detail: windows.span(),
        promise,
    }
}

fn described_windows(description: &Description) -> Result<Windows> {
    check_most(description.detail)?;
    Windows::within(description.bits, description.hashes, description.detail)
}

impl<B: Bits> Assemble for ShiftingMultiplicity<B> {
    type Bits = B;

    fn description(&self) -> Description {
        describe(self.windows, self.digester, self.promise)
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.bits]
    }

    fn check(description: &Description) -> Result<()> {
        description.check_promise()?;
        description.digester()?;
        described_windows(description).map(drop)
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<ShiftingMultiplicity<B>> {
        let bits = description.only_part(parts)?;
        Self::check(description)?;
        let windows = described_windows(description)?;
        let mut filter = from_windows(bits, windows, description.digester()?)?;
        filter.promise = description.promise;
        Ok(filter)
    }
}

impl Merge for ShiftingMultiplicity {
    /// Refuses: counts of one key in two filters would have to be added, and bits cannot.
    fn union(&mut self, _: &ShiftingMultiplicity) -> Result<()> {
        Err(Error::Unsupported {
            kind: Kind::ShiftingMultiplicity.name(),
            what: "take in another",
            instead: "build it anew, from all keys",
        })
    }
}
