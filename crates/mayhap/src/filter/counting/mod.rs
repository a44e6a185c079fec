//! A Bloom filter that can forget.
//!
//! Each bit of the standard filter becomes a small counter: inserting raises the counters at a key's
//! positions by one each, removing lowers them, and a key is *mayhap* there while none of them is zero.
//! Counters stick at their top, so overflow can cause false positives but never false negatives.
//!
//! Costs as many times the memory of [`Bloom`] as a counter has bits: four by default. Removing a key
//! that is not in the filter can take others with it; see [`Counting::remove`]. There is no form for
//! many threads: a removal is all or nothing, which counters apart from each other cannot promise.
//! After Fan, Cao, Almeida, Broder, "Summary Cache", 1998.

mod changes;

use core::fmt;

use super::description::Wrap;
use super::fixed::{Fixed, FixedShape};
use super::probed::{self, Cells};
use super::{Bloom, Description, Filter, Insert, Kind, Merge, Remove, Stats};
use crate::bits::{Bitmap, Bits, BitsMut, CounterWidth, Counters};
use crate::hash::{Digest, Digester, Scheme};
use crate::{Error, Key, Result, Shape};

/// Options of a [`Counting`] filter, besides its size.
///
/// ```
/// use mayhap::{Counting, CountingOptions, bits::CounterWidth};
///
/// let options = CountingOptions { width: CounterWidth::Eight, ..CountingOptions::default() };
/// let mut live = Counting::with_options(1000, 0.01, options)?;
/// live.insert("key");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountingOptions {
    /// The bits of a counter. With four, the chance that any of a billion reaches its top by distinct
    /// keys is 3 in 100 000; with two, one in thirty does at capacity, and is then no use for removing.
    pub width: CounterWidth,
    /// The way keys are hashed.
    pub digester: Digester,
}

impl Default for CountingOptions {
    /// Four bits, hashed without a secret.
    fn default() -> CountingOptions {
        CountingOptions {
            width: CounterWidth::Four,
            digester: Digester::default(),
        }
    }
}

/// A Bloom filter that keys can be removed from, over bits of any storage.
///
/// ```
/// use mayhap::Counting;
///
/// let mut live = Counting::with_capacity(1_000_000, 0.01)?;
/// assert!(live.insert("session 17"), "definitely new");
/// assert!(live.contains("session 17"));
/// assert!(live.remove("session 17"));
/// assert!(!live.contains("session 17"));
/// assert!(!live.remove("session 18"), "certainly not there: nothing changed");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Counting<B = Bitmap> {
    body: Fixed<B, CountingShape>,
    counters: Counters,
}

impl Counting {
    /// A filter of 4-bit counters whose predicted rate with `keys` keys is at most `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Counting> {
        Counting::with_options(keys, rate, CountingOptions::default())
    }

    /// A filter with these options whose predicted rate with `keys` keys is at most `rate`.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Counting::with_capacity).
    pub fn with_options(keys: u64, rate: f64, options: CountingOptions) -> Result<Counting> {
        Counting::plan_with(keys, rate, options)?.empty()
    }

    /// Describes the filter that [`with_capacity`](Counting::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or `rate` is not strictly between 0 and 1, or 2^63 bits do not suffice.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        Counting::plan_with(keys, rate, CountingOptions::default())
    }

    /// Describes the filter that [`with_options`](Counting::with_options) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// As [`plan`](Counting::plan).
    pub fn plan_with(keys: u64, rate: f64, options: CountingOptions) -> Result<Description> {
        let CountingOptions { width, digester } = options;
        CountingShape::plan(keys, rate, digester, |keys, rate| {
            let counters = Shape::for_capacity(keys, rate)?;
            CountingShape::new(counters, width).ok_or(Error::TooLarge { keys, rate })
        })
    }

    /// An empty filter of as many counters as the shape has bits.
    ///
    /// # Errors
    ///
    /// When the counters have more than 2^63 bits, or there is no memory for them.
    pub fn new(shape: Shape, options: CountingOptions) -> Result<Counting> {
        let shape = CountingShape::new(shape, options.width).ok_or(Error::Bits {
            got: shape.bits(),
            expected: "counters of at most 2^63 bits in all",
        })?;
        Fixed::new(shape, options.digester).map(Counting::wrap)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }

    fn join(&mut self, other: &Counting, join: impl Fn(u64, u64) -> u64) -> Result<()> {
        self.body.check_same(&other.body)?;
        self.counters
            .join(&mut self.body.bits, &other.body.bits, join);
        Ok(())
    }
}

impl<B: Bits> Counting<B> {
    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.body.hashing.digest(key.key_bytes().as_ref()))
    }

    /// Returns whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let is_used = |position| self.is_used(position);
        digest.probe(self.shape()).every(is_used)
    }

    /// Returns what the filter holds now, and the rate that gives. Reads every counter.
    ///
    /// [`Stats::ones`] counts all bits of each counter that is not zero, so that [`Stats::fill`] is the
    /// share of those counters.
    pub fn stats(&self) -> Stats {
        let used = self.counters.sums(&self.body.bits).used;
        let ones = used * u64::from(self.width().bits());
        let shape = self.shape();
        self.body
            .stats(ones, shape.keys_at(used), shape.rate_with(used))
    }

    /// The number of counters that are stuck at their top: they never fall again, so keys that share
    /// them are forgotten less well. Reads every counter.
    pub fn stuck(&self) -> u64 {
        self.counters.sums(&self.body.bits).stuck
    }

    /// Returns how many keys are in the filter, each as often as it is: inserts less removals. Reads every
    /// counter. `None` when counters are stuck, which then count no more.
    ///
    /// ```
    /// use mayhap::{Counting, Insert};
    ///
    /// let mut filter = Counting::with_capacity(1000, 0.01)?;
    /// filter.insert_all(["a", "b", "a"]);
    /// filter.remove("b");
    /// assert_eq!(filter.occurrences(), Some(2));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn occurrences(&self) -> Option<u64> {
        let sums = self.counters.sums(&self.body.bits);
        let keys = sums.total / u128::from(self.shape().hashes());
        u64::try_from(keys).ok().filter(|_| sums.stuck == 0)
    }

    /// A bound on the chance that any counter sticks while the filter holds at most `keys` distinct
    /// keys, each once; see [`CountingOptions::width`].
    pub fn sticking_bound(&self, keys: u64) -> f64 {
        let load = f64::from(self.shape().hashes()) * keys as f64 / self.shape().bits() as f64;
        let each = reach_bound(load, self.width().top());
        (each * self.shape().bits() as f64).min(1.0)
    }

    /// The standard filter of the same keys: a bit for each counter, one where it is not zero.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    ///
    /// ```
    /// use mayhap::{Bloom, Counting};
    ///
    /// let (mut counting, mut bloom) =
    ///     (Counting::with_capacity(1000, 0.01)?, Bloom::with_capacity(1000, 0.01)?);
    /// counting.insert("key");
    /// bloom.insert("key");
    /// assert_eq!(counting.to_bloom()?, bloom);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn to_bloom(&self) -> Result<Bloom> {
        let mut bits = Bitmap::new(self.shape().bits())?;
        for position in 0..self.shape().bits() {
            if self.counters.get(&self.body.bits, position) > 0 {
                bits.set(position);
            }
        }
        let bloom = Bloom::from_bits(bits, self.shape(), Scheme::Native(self.digester().clone()))?;
        match self.body.promise {
            Some(promise) => bloom.promising(promise.keys, promise.rate),
            None => Ok(bloom),
        }
    }

    /// The number of counters (as bits) and of hashes per key.
    pub fn shape(&self) -> Shape {
        self.body.shape.counters
    }

    /// The bits of a counter.
    pub fn width(&self) -> CounterWidth {
        self.counters.width()
    }

    /// Returns the way keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.hashing
    }

    /// The bits themselves: the counters one after another, lowest bit first.
    pub fn bits(&self) -> &B {
        &self.body.bits
    }
}

impl<B: Bits> Filter for Counting<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Counting::stats(self)
    }

    /// Prefetches the lines of several keys, if the filter is larger than the caches.
    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        let (bits, digester) = (self.body.bits.size(), &self.body.hashing);
        probed::contains_each(self, bits, digester, keys, answer);
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: Bits> Cells for Counting<B> {
    fn shape(&self) -> Shape {
        self.body.shape.counters
    }

    #[inline(always)]
    fn prefetch(&self, position: u64) {
        self.counters.prefetch(&self.body.bits, position);
    }

    #[inline(always)]
    fn is_used(&self, position: u64) -> bool {
        self.counters.get(&self.body.bits, position) > 0
    }
}

impl<B: BitsMut> Insert for Counting<B> {
    #[inline]
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    /// Prefetches the lines of several keys, if the filter is larger than the caches.
    fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        self.each_digest(keys, |filter, digest| answer(filter.insert_digest(digest)));
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl<B: BitsMut> Remove for Counting<B> {
    fn remove_bytes(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.remove(key))
    }
}

impl Merge for Counting {
    /// A key of both is then in it twice.
    fn union(&mut self, other: &Counting) -> Result<()> {
        self.join(other, |left, right| left + right)
    }

    /// Keeps of each counter the lower one: a key stays as many times as it was in both, and can be removed as often.
    fn intersect(&mut self, other: &Counting) -> Result<()> {
        self.join(other, u64::min)
    }
}

/// A bound on the chance that one counter reaches `reach` when keys raise counters `load` times each on
/// average: `(e * load / reach)^reach`, from the binomial coefficient (Fan et al., 1998).
fn reach_bound(load: f64, reach: u64) -> f64 {
    let reach = reach as f64;
    libm::pow(core::f64::consts::E * load / reach, reach)
}

/// Counters and their width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountingShape {
    /// The number of counters, as bits, and of hashes per key.
    counters: Shape,
    width: CounterWidth,
    bits: u64,
}

impl CountingShape {
    /// None when there are more than 2^63 bits.
    fn new(counters: Shape, width: CounterWidth) -> Option<CountingShape> {
        Some(CountingShape {
            counters,
            width,
            bits: width.bits_of(counters.bits())?,
        })
    }
}

impl fmt::Display for CountingShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (counters, hashes) = (self.counters.bits(), self.counters.hashes());
        write!(f, "{counters} counters of {}, {hashes} hashes", self.width)
    }
}

impl FixedShape for CountingShape {
    type Hashing = Digester;

    fn kind(self) -> Kind {
        Kind::Counting
    }

    /// The detail is permanent: the bits of a counter.
    fn numbers(self) -> (u64, u32, u32) {
        (self.bits, self.counters.hashes(), self.width.bits())
    }

    fn predicted_rate(self, keys: u64) -> Option<f64> {
        Some(self.counters.rate_at(keys))
    }

    fn described(description: &Description) -> Result<(CountingShape, Digester)> {
        let digester = description.digester()?;
        let width = CounterWidth::from_bits(description.detail).ok_or(Error::Field {
            format: Kind::Counting.name(),
            field: "detail",
            got: i64::from(description.detail),
            expected: "2, 4, 8, 16 or 32: the bits of a counter",
        })?;
        let count = width.count_in(description.bits)?;
        let shape = CountingShape {
            counters: Shape::new(count, description.hashes)?,
            width,
            bits: description.bits,
        };
        Ok((shape, digester))
    }
}

impl<B: Bits> Wrap for Counting<B> {
    type Body = Fixed<B, CountingShape>;

    fn wrap(body: Fixed<B, CountingShape>) -> Counting<B> {
        let CountingShape {
            counters, width, ..
        } = body.shape;
        Counting {
            counters: Counters::new(0, counters.bits(), width),
            body,
        }
    }

    fn body(&self) -> &Fixed<B, CountingShape> {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_on_overflow_are_those_of_the_table() {
        for (reach, bound) in [
            (4, 0.049_231_1),
            (8, 9.467_59e-6),
            (16, 1.367_73e-15),
            (32, 4.355_51e-40),
        ] {
            let got = reach_bound(core::f64::consts::LN_2, reach);
            assert!((got / bound - 1.0).abs() < 5e-6, "{got:e} is not {bound:e}");
        }
    }

    #[test]
    fn a_billion_counters_of_four_bits_hardly_ever_stick() {
        let shape = Shape::new(8, 3).expect("valid");
        let filter = Counting::new(shape, CountingOptions::default()).expect("small");
        assert_eq!(filter.sticking_bound(100), 1.0);
        // As Fan et al. have it for sixteen, at fifteen, where ours stick.
        let large = 1e9 * reach_bound(core::f64::consts::LN_2, 15);
        assert!(large < 4e-5, "{large}");
    }

    #[test]
    fn widths_that_are_none_are_refused() {
        let mut description = Counting::plan(10, 0.01).expect("valid");
        for detail in [0, 1, 3, 5, 64, 4 << 8] {
            description.detail = detail;
            let refused = <Counting as crate::Assemble>::check(&description);
            assert!(matches!(
                refused,
                Err(Error::Field {
                    field: "detail",
                    ..
                })
            ));
        }
        description.detail = 4;
        description.bits += 2;
        let refused = <Counting as crate::Assemble>::check(&description);
        assert!(matches!(refused, Err(Error::Bits { .. })));
    }
}
