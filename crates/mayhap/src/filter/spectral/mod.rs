//! How often a key has come: a Bloom filter of counters, read by the lowest.
//!
//! Each occurrence of a key raises counters at its positions; the lowest of them estimates how often
//! the key came. An estimate is never below the true count and mostly is it; it is above when other keys
//! have raised every counter of the key, which they do as often as a filter of this size is wrong about
//! a key that is not there. Three policies say which counters rise ([`SpectralPolicy`]).
//!
//! Costs as many times the memory of [`Bloom`](crate::Bloom) as a counter has bits: sixteen by default.
//! Counters stick at their top, and an estimate there says nothing more ([`Estimate::Stuck`]). After
//! Cohen, Matias, "Spectral Bloom Filters", 2003.

mod changes;
mod layout;
mod marks;
mod options;
mod touched;

use alloc::vec;
use alloc::vec::Vec;

pub use options::{SpectralOptions, SpectralPolicy};

use super::description::{check_alike, check_size};
use super::roll::roll_large;
use super::{Assemble, Count, Description, Filter, Insert, Kind, Merge, Promise, Remove, Stats};
use crate::bits::{Bitmap, BitmapView, Bits, BitsMut, CounterWidth};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result, Shape};
use layout::{Layout, MAX_HASHES, Second};

/// How often a key has come, as far as a [`Spectral`] filter can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimate {
    /// The key came at most so often, and mostly exactly so often.
    AtMost(u64),
    /// Every counter of the key is stuck at this top: it may have come more often, or less.
    Stuck(u64),
}

/// A filter that tells how often a key has come, over bits of any storage.
///
/// ```
/// use mayhap::Spectral;
///
/// let mut words = Spectral::with_capacity(10_000, 0.01)?;
/// for word in "to be or not to be".split(' ') {
///     words.insert(word);
/// }
/// words.insert_many("hm", 5);
/// assert_eq!((words.count("be"), words.count("or"), words.count("hm")), (2, 1, 5));
/// assert_eq!(words.count("question"), 0);
/// assert!(words.remove("be")? && words.count("be") == 1);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spectral<B = Bitmap> {
    bits: B,
    layout: Layout,
    digester: Digester,
    promise: Option<Promise>,
}

/// A [`Spectral`] over borrowed bytes: it can be asked, not changed.
///
/// ```
/// use mayhap::{Assemble, BitmapView, Spectral, SpectralView};
///
/// let mut filter = Spectral::with_capacity(1000, 0.01)?;
/// filter.insert_many("key", 3);
/// let bytes = filter.bits().to_bytes();
///
/// let description = filter.description();
/// let bits = BitmapView::new(&bytes[..], description.bits)?;
/// let view: SpectralView<_> = SpectralView::assemble(&description, vec![bits])?;
/// assert_eq!(view.count("key"), 3);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type SpectralView<D> = Spectral<BitmapView<D>>;

impl Spectral {
    /// The lowest rate a filter can be made for: 2^-64, for which a key has 64 counters.
    pub const LEAST_RATE: f64 = 1.0 / (1_u128 << MAX_HASHES) as f64;

    /// A filter of 16-bit counters by minimum selection, in which with `keys` distinct keys the count of
    /// a key is wrong with a predicted chance of at most `rate`, however often the keys come.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or is below
    /// [`LEAST_RATE`](Spectral::LEAST_RATE), or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Spectral> {
        Spectral::with_options(keys, rate, SpectralOptions::default())
    }

    /// A filter with these options, for `keys` distinct keys. A key that never came has a count above
    /// zero with a predicted chance of at most `rate`.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Spectral::with_capacity).
    pub fn with_options(keys: u64, rate: f64, options: SpectralOptions) -> Result<Spectral> {
        Spectral::plan_with(keys, rate, options)?.empty()
    }

    /// The description of [`with_capacity`](Spectral::with_capacity)'s filter; makes none.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, or `rate` is not strictly between 0 and 1 or is below
    /// [`LEAST_RATE`](Spectral::LEAST_RATE), or 2^63 bits do not suffice.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        Spectral::plan_with(keys, rate, SpectralOptions::default())
    }

    /// The description of [`with_options`](Spectral::with_options)'s filter; makes none.
    ///
    /// # Errors
    ///
    /// As [`plan`](Spectral::plan).
    pub fn plan_with(keys: u64, rate: f64, options: SpectralOptions) -> Result<Description> {
        let promise = Promise::new(keys, rate)?;
        let shape = promise.size(|keys, rate| match Shape::for_capacity(keys, rate)? {
            shape if shape.hashes() > MAX_HASHES => Err(Error::LowRate {
                got: rate,
                least: Spectral::LEAST_RATE,
            }),
            shape => Ok(shape),
        })?;
        describe(shape, options, Some(promise)).ok_or(Error::TooLarge { keys, rate })
    }

    /// An empty filter of as many counters as the shape has bits; those of recurring minimum fill whole
    /// lines, so there may be a few more.
    ///
    /// # Errors
    ///
    /// When there are more than 2^63 bits or 64 hashes, or there is no memory for them.
    pub fn new(shape: Shape, options: SpectralOptions) -> Result<Spectral> {
        let description = describe(shape, options, None).ok_or(Error::Bits {
            got: shape.bits(),
            expected: "counters of at most 2^63 bits in all",
        })?;
        description.empty()
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.bits.clear_all();
    }

    /// Adds the counts of `other`. No count is below the sum of the two true ones.
    ///
    /// By minimum selection the result is bit for bit the filter that inserting the keys of both would
    /// have made. By the other policies it is not: counts are above those of that filter, at worst as far
    /// above as by minimum selection.
    ///
    /// # Errors
    ///
    /// When the two differ in shape, width, policy or scheme; the filter is then unchanged.
    pub fn union(&mut self, other: &Spectral) -> Result<()> {
        self.check_same(other)?;
        self.join(other, |left, right| left + right);
        Ok(())
    }

    /// Keeps of each counter the lower one. No count is below the lower of the two true ones.
    ///
    /// # Errors
    ///
    /// When the two differ in shape, width, policy or scheme; the filter is then unchanged.
    pub fn intersect(&mut self, other: &Spectral) -> Result<()> {
        self.check_same(other)?;
        self.join(other, u64::min);
        Ok(())
    }

    fn join(&mut self, other: &Spectral, join: impl Fn(u64, u64) -> u64) {
        let (layout, bits) = (self.layout, &mut self.bits);
        layout.primary.join(bits, &other.bits, &join);
        if let Some(second) = layout.second {
            second.counters.join(bits, &other.bits, &join);
            // A key that one of the two has not counted there is not all there.
            second.marks.intersect(bits, &other.bits);
        }
    }
}

impl<B: Bits> Spectral<B> {
    /// How often the key has come: never less than it has, unless the answer is the top of a counter
    /// ([`CounterWidth::top`]), where counting ends. Mostly exact: see [`SpectralPolicy`].
    #[inline]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.count_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// How often a key with this digest has come.
    pub fn count_digest(&self, digest: Digest) -> u64 {
        // Of positions that come twice the lowest is the same: they need not be made distinct.
        let positions = digest.probe(self.layout.shape);
        self.lowest(positions, self.touched_second(digest).as_ref())
    }

    /// As [`count`](Spectral::count), and whether there is more to it.
    ///
    /// ```
    /// use mayhap::{CounterWidth, Estimate, Spectral, SpectralOptions};
    ///
    /// let options = SpectralOptions { width: CounterWidth::Eight, ..SpectralOptions::default() };
    /// let mut filter = Spectral::with_options(1000, 0.01, options)?;
    /// filter.insert_many("often", 1000);
    /// filter.insert_many("seldom", 3);
    /// assert_eq!(filter.estimate("often"), Estimate::Stuck(255));
    /// assert_eq!(filter.estimate("seldom"), Estimate::AtMost(3));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn estimate<K: Key + ?Sized>(&self, key: &K) -> Estimate {
        match self.count(key) {
            top if top == self.width().top() => Estimate::Stuck(top),
            count => Estimate::AtMost(count),
        }
    }

    /// Answers [`count`](Spectral::count) for each key, in order, into a slice; where the filter is
    /// larger than the caches, the lines of several keys are on their way at a time.
    ///
    /// # Panics
    ///
    /// When `counts` and `keys` differ in length.
    pub fn count_batch<K: Key>(&self, keys: &[K], counts: &mut [u64]) {
        assert_eq!(keys.len(), counts.len(), "one answer per key");
        let mut slots = counts.iter_mut();
        let visit = |filter: &mut &Spectral<B>, digest| {
            if let Some(slot) = slots.next() {
                *slot = filter.count_digest(digest);
            }
        };
        let prefetch = |filter: &&Spectral<B>, digest| filter.prefetch(digest);
        roll_large(
            self.bits.size(),
            keys,
            &self.digester,
            &mut { self },
            prefetch,
            visit,
        );
    }

    /// Whether the key may have come: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// Whether a key with this digest may have come.
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let is_used = |position| self.layout.primary.get(&self.bits, position) > 0;
        // The second counters, where there are some, may know better.
        digest.probe(self.layout.shape).every(is_used)
            && (self.layout.second.is_none() || self.count_digest(digest) > 0)
    }

    /// Answers [`contains`](Spectral::contains) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `found` and `keys` differ in length.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        for (key, found) in keys.iter().zip(found) {
            *found = self.contains(key);
        }
    }

    /// What the filter holds now, and the rate that gives. Reads every counter.
    ///
    /// [`Stats::keys`] are distinct keys, however often they came, and [`Stats::rate`] the chance that a
    /// key that never came has a count. [`Stats::ones`] counts all bits of each counter that is not zero,
    /// and of each mark.
    pub fn stats(&self) -> Stats {
        let width = u64::from(self.width().bits());
        let used = self.layout.primary.sums(&self.bits).used;
        let second = self.layout.second.map_or(0, |second| {
            let counters = second.counters.sums(&self.bits).used;
            counters * width + second.marks.count(&self.bits) * 64
        });
        Stats {
            bits: self.bits.size(),
            ones: used * width + second,
            keys: self.layout.shape.keys_at(used),
            rate: self.layout.shape.rate_with(used),
            promise: self.promise,
        }
    }

    /// The number of counters that are stuck at their top, where they no longer tell counts apart and
    /// never fall. Reads every counter.
    pub fn stuck(&self) -> u64 {
        let in_second = |second: Second| second.counters.sums(&self.bits).stuck;
        let second = self.layout.second.map_or(0, in_second);
        self.layout.primary.sums(&self.bits).stuck + second
    }

    /// The number of counters (as bits) and of hashes per key; of the primary ones, where there are
    /// others.
    pub fn shape(&self) -> Shape {
        self.layout.shape
    }

    /// The bits of a counter.
    pub fn width(&self) -> CounterWidth {
        self.layout.primary.width()
    }

    /// Which counters rise.
    pub fn policy(&self) -> SpectralPolicy {
        self.layout.policy
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.digester
    }

    /// The bits themselves: `docs/formats.md` says what they mean.
    pub fn bits(&self) -> &B {
        &self.bits
    }

    fn prefetch(&self, digest: Digest) {
        for position in digest.probe(self.layout.shape) {
            self.layout.primary.prefetch(&self.bits, position);
        }
        if let Some(second) = self.layout.second {
            let mark = second.marks.mark(digest.hi, Second::digest(digest).lo);
            second.marks.prefetch(&self.bits, mark);
        }
    }

    fn check_same(&self, other: &Spectral<B>) -> Result<()> {
        let (one, two) = (&self.layout, &other.layout);
        check_alike("policy", &one.policy, &two.policy)?;
        check_alike("width", &self.width(), &other.width())?;
        check_alike("shape", &one.shape, &two.shape)?;
        // Filters of one shape can still differ in their second counters.
        check_alike("layout", one, two)?;
        check_alike("scheme", &self.digester, &other.digester)
    }
}

impl<B: Bits> Filter for Spectral<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Spectral::stats(self)
    }
}

impl<B: Bits> Count for Spectral<B> {
    fn count_bytes(&self, key: &[u8]) -> u64 {
        self.count(key)
    }
}

impl<B: BitsMut> Insert for Spectral<B> {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl<B: BitsMut> Remove for Spectral<B> {
    fn remove_bytes(&mut self, key: &[u8]) -> Result<bool> {
        self.remove(key)
    }
}

impl Merge for Spectral {
    fn union(&mut self, other: &Spectral) -> Result<()> {
        Spectral::union(self, other)
    }
}

/// The description, unless there are more than 2^63 bits.
fn describe(
    shape: Shape,
    options: SpectralOptions,
    promise: Option<Promise>,
) -> Option<Description> {
    Some(Description {
        kind: Kind::Spectral,
        hashing: options.digester.into(),
        bits: Layout::bits(shape, options.width, options.policy)?,
        hashes: shape.hashes(),
        detail: Layout::detail(options.width, options.policy),
        promise,
    })
}

impl<B: Bits> Assemble for Spectral<B> {
    type Bits = B;

    fn description(&self) -> Description {
        Description {
            kind: Kind::Spectral,
            hashing: self.digester.clone().into(),
            bits: self.bits.size(),
            hashes: self.layout.shape.hashes(),
            detail: Layout::detail(self.width(), self.layout.policy),
            promise: self.promise,
        }
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.bits]
    }

    fn check(description: &Description) -> Result<()> {
        description.check_promise()?;
        description.digester()?;
        Layout::described(description).map(drop)
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Spectral<B>> {
        let bits = description.only_part(parts)?;
        Self::check(description)?;
        check_size(&bits, description.bits, "as many as described")?;
        Ok(Spectral {
            bits,
            layout: Layout::described(description)?,
            digester: description.digester()?,
            promise: description.promise,
        })
    }
}
