//! Counts of keys: a Bloom filter of counters, read by the lowest.
//!
//! Each occurrence of a key raises counters at its positions; the lowest of them estimates how often
//! the key was inserted. An estimate is never below the true count, and mostly exact; it is above when other keys
//! have raised every counter of the key, which they do as often as a filter of this size is wrong about
//! a key that is not there. Three policies say which counters rise ([`SpectralPolicy`]).
//!
//! Costs as many times the memory of [`Bloom`](crate::Bloom) as a counter has bits: sixteen by default.
//! Counters stick at their top, and an estimate there says nothing more ([`Estimate::Stuck`]). After
//! Cohen, Matias, "Spectral Bloom Filters", 2003.

mod changes;
mod marks;
mod options;
mod sections;
mod touched;

pub use options::{SpectralOptions, SpectralPolicy};

use super::description::Wrap;
use super::fixed::{Fixed, FixedShape as _};
use super::probed::{self, Cells};
use super::roll::roll_large;
use super::{Count, Description, Filter, Insert, Merge, Remove, Stats};
use crate::bits::{Bitmap, Bits, BitsMut, CounterWidth};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result, Shape};
use sections::{MAX_HASHES, Second, Sections};
use touched::Touched;

/// The number of times a key was inserted, by the estimate of a [`Spectral`] filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimate {
    /// The key was inserted at most this often, and mostly exactly this often.
    AtMost(u64),
    /// Every counter of the key is stuck at this top: it may have come more often, or less.
    Stuck(u64),
}

/// A filter that estimates how often a key was inserted, over bits of any storage.
///
/// ```
/// use mayhap::kinds::Spectral;
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
#[derive(Clone)]
pub struct Spectral<B = Bitmap> {
    body: Fixed<B, Sections>,
}

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

    /// A filter with these options, for `keys` distinct keys. A key that was never inserted has a count above
    /// zero with a predicted chance of at most `rate`.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Spectral::with_capacity).
    pub fn with_options(keys: u64, rate: f64, options: SpectralOptions) -> Result<Spectral> {
        Spectral::plan_with(keys, rate, options)?.empty()
    }

    /// Describes the filter that [`with_capacity`](Spectral::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, or `rate` is not strictly between 0 and 1 or is below
    /// [`LEAST_RATE`](Spectral::LEAST_RATE), or 2^63 bits do not suffice.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        Spectral::plan_with(keys, rate, SpectralOptions::default())
    }

    /// Describes the filter that [`with_options`](Spectral::with_options) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// As [`plan`](Spectral::plan).
    pub fn plan_with(keys: u64, rate: f64, options: SpectralOptions) -> Result<Description> {
        let (width, policy) = (options.width, options.policy);
        Sections::plan(keys, rate, options.digester, |keys, rate| {
            let counters = Shape::for_capacity(keys, rate)?;
            if counters.hashes() > MAX_HASHES {
                let (got, least) = (rate, Spectral::LEAST_RATE);
                return Err(Error::LowRate { got, least });
            }
            let too_large = Error::TooLarge { keys, rate };
            Sections::new(counters, width, policy)?.ok_or(too_large)
        })
    }

    /// An empty filter of as many counters as the shape has bits; those of recurring minimum fill whole
    /// lines, so there may be a few more.
    ///
    /// # Errors
    ///
    /// When there are more than 2^63 bits or 64 hashes, or there is no memory for them.
    pub fn new(shape: Shape, options: SpectralOptions) -> Result<Spectral> {
        let sections = Sections::new(shape, options.width, options.policy)?;
        let sections = sections.ok_or(Error::Bits {
            got: shape.bits(),
            expected: "counters of at most 2^63 bits in all",
        })?;
        Fixed::new(sections, options.digester).map(Spectral::wrap)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }

    fn join(&mut self, other: &Spectral, join: impl Fn(u64, u64) -> u64) -> Result<()> {
        self.body.check_same(&other.body)?;
        let (sections, bits) = (self.body.shape, &mut self.body.bits);
        sections.primary.join(bits, &other.body.bits, &join);
        if let Some(second) = sections.second {
            second.counters.join(bits, &other.body.bits, &join);
            // A key that one of the two has not counted there is not all there.
            second.marks.intersect(bits, &other.body.bits);
        }
        Ok(())
    }
}

impl<B: Bits> Spectral<B> {
    /// Returns how often the key has come: never less than it has, unless the answer is the top of a counter
    /// ([`CounterWidth::top`]), where counting ends. Mostly exact: see [`SpectralPolicy`].
    #[inline]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.count_digest(self.body.hashing.digest(key.key_bytes().as_ref()))
    }

    /// Returns how often a key with this digest has come.
    pub fn count_digest(&self, digest: Digest) -> u64 {
        // Of positions that come twice the lowest is the same: they need not be made distinct.
        let positions = digest.probe(self.body.shape.shape);
        self.lowest(positions, self.touched_second(digest).as_ref())
    }

    /// Like [`count`](Spectral::count), and whether there is more to it.
    ///
    /// ```
    /// use mayhap::{bits::CounterWidth, kinds::{Estimate, Spectral, SpectralOptions}};
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
    /// larger than the caches, the lines of several keys are in flight at a time.
    ///
    /// # Panics
    ///
    /// When `counts` and `keys` differ in length.
    pub fn count_batch<K: Key>(&self, keys: &[K], counts: &mut [u64]) {
        assert_eq!(keys.len(), counts.len(), "one answer per key");
        let mut slots = counts.iter_mut();
        self.count_each(keys, |count| {
            if let Some(slot) = slots.next() {
                *slot = count;
            }
        });
    }

    /// Calls `answer` with the count of each key, in order.
    fn count_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, mut answer: impl FnMut(u64)) {
        roll_large(
            self.body.bits.size(),
            keys,
            &self.body.hashing,
            &mut answer,
            |_, digest| self.prefetch_all(digest),
            |answer, digest| answer(self.count_digest(digest)),
        );
    }

    /// Returns whether the key may have come: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.body.hashing.digest(key.key_bytes().as_ref()))
    }

    /// Returns whether a key with this digest may have come.
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let is_used = |position| self.is_used(position);
        // The second counters, where there are some, may know better.
        digest.probe(self.body.shape.shape).every(is_used)
            && (self.body.shape.second.is_none() || self.count_digest(digest) > 0)
    }

    /// Returns what the filter holds now, and the rate that gives. Reads every counter.
    ///
    /// [`Stats::keys`] are distinct keys, however often they were inserted, and [`Stats::rate`] the chance that a
    /// key that was never inserted has a count. [`Stats::ones`] counts all bits of each counter that is not zero,
    /// and of each mark.
    pub fn stats(&self) -> Stats {
        let width = u64::from(self.width().bits());
        let used = self.body.shape.primary.sums(&self.body.bits).used;
        let second = self.body.shape.second.map_or(0, |second| {
            let counters = second.counters.sums(&self.body.bits).used;
            counters * width + second.marks.count(&self.body.bits) * 64
        });
        let shape = self.shape();
        let ones = used * width + second;
        self.body
            .stats(ones, shape.keys_at(used), shape.rate_with(used))
    }

    /// The number of counters that are stuck at their top, where they no longer separate counts and
    /// never fall. Reads every counter.
    pub fn stuck(&self) -> u64 {
        let in_second = |second: Second| second.counters.sums(&self.body.bits).stuck;
        let second = self.body.shape.second.map_or(0, in_second);
        self.body.shape.primary.sums(&self.body.bits).stuck + second
    }

    /// The number of counters (as bits) and of hashes per key; of the primary ones, where there are
    /// others.
    pub fn shape(&self) -> Shape {
        self.body.shape.shape
    }

    /// The bits of a counter.
    pub fn width(&self) -> CounterWidth {
        self.body.shape.primary.width()
    }

    /// Returns the policy: which counters rise.
    pub fn policy(&self) -> SpectralPolicy {
        self.body.shape.policy
    }

    /// Returns the way keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.hashing
    }

    /// The bits themselves: `docs/formats.md` says what they mean.
    pub fn bits(&self) -> &B {
        &self.body.bits
    }

    fn prefetch_all(&self, digest: Digest) {
        for position in digest.probe(self.body.shape.shape) {
            self.prefetch(position);
        }
        if let Some(second) = self.body.shape.second {
            let mark = second.marks.mark(digest.hi, Second::digest(digest).lo);
            second.marks.prefetch(&self.body.bits, mark);
        }
    }
}

impl<B: Bits> Filter for Spectral<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Spectral::stats(self)
    }

    /// Prefetches the lines of several keys, if the filter is larger than the caches.
    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        match self.body.shape.second {
            None => {
                let (bits, digester) = (self.body.bits.size(), &self.body.hashing);
                probed::contains_each(self, bits, digester, keys, answer);
            }
            Some(_) => self.count_each(keys, |count| answer(count > 0)),
        }
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

/// The primary ones.
impl<B: Bits> Cells for Spectral<B> {
    fn shape(&self) -> Shape {
        self.body.shape.shape
    }

    #[inline(always)]
    fn prefetch(&self, position: u64) {
        self.body.shape.primary.prefetch(&self.body.bits, position);
    }

    #[inline(always)]
    fn is_used(&self, position: u64) -> bool {
        self.body.shape.primary.get(&self.body.bits, position) > 0
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

    /// Prefetches the lines of several keys, if the filter is larger than the caches.
    fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let (size, digester) = (self.body.bits.size(), self.body.hashing.clone());
        let mut touched = Touched::NONE;
        let visit = |filter: &mut Spectral<B>, digest| {
            filter.touch(digest, &mut touched);
            answer(filter.insert_touched(&touched, 1));
        };
        roll_large(size, keys, &digester, self, Spectral::prefetch_all, visit);
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
    /// Adds the counts of `other`. No count is below the sum of the two true ones.
    ///
    /// By minimum selection the result is bit for bit the filter that inserting the keys of both would
    /// have made. By the other policies it is not: counts are above those of that filter, at worst as far
    /// above as by minimum selection.
    fn union(&mut self, other: &Spectral) -> Result<()> {
        self.join(other, |left, right| left + right)
    }

    /// Keeps of each counter the lower one. No count is below the lower of the two true ones.
    fn intersect(&mut self, other: &Spectral) -> Result<()> {
        self.join(other, u64::min)
    }
}

impl<B: Bits> Wrap for Spectral<B> {
    type Body = Fixed<B, Sections>;

    fn wrap(body: Fixed<B, Sections>) -> Spectral<B> {
        Spectral { body }
    }

    fn body(&self) -> &Fixed<B, Sections> {
        &self.body
    }
}
