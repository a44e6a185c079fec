//! The standard Bloom filter: `k` bits per key, anywhere in `m`.
//!
//! Inserting sets the bits at a key's positions; a key all of whose bits are set is *mayhap* there,
//! one with a zero among them was never inserted. No false negatives, ever. False positives come at
//! the rate the [`Shape`] predicts and rise steeply past its capacity; [`Bloom::stats`] returns the
//! rate now.
//!
//! Costs 1.44 log2(1/rate) bits per key and up to `k` cache misses. This is the kind for exact bit
//! layouts and foreign schemes. After Bloom, "Space/Time Trade-offs in Hash Coding", 1970.

mod shared;

use super::description::Wrap;
use super::fixed::{Fixed, FixedShape};
use super::probed::{self, Cells};
use super::roll::roll_large;
use super::{Description, Filter, Insert, Kind, Merge, Promise, Stats};
use crate::bits::{AtomicBitmap, Bitmap, Bits, BitsMut};
use crate::hash::{Digest, Scheme};
use crate::shape::check_request;
use crate::{Key, Result, Shape};

/// A standard Bloom filter over bits of any storage.
///
/// ```
/// use mayhap::Bloom;
///
/// let mut seen = Bloom::with_capacity(1_000_000, 0.01)?;
/// assert!(seen.insert("https://example.org/"), "definitely new");
/// assert!(!seen.insert("https://example.org/"), "mayhap seen before");
/// assert!(seen.contains("https://example.org/"));
/// assert!(!seen.contains("https://example.org/other"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Bloom<B = Bitmap> {
    body: Fixed<B, Shape>,
}

/// A [`Bloom`] that many threads insert into at once: made from one, and turned back into one, by
/// `from`, without a copy. An insert returns true to exactly one of the threads that insert a key.
///
/// ```
/// use mayhap::{AtomicBloom, Bloom};
///
/// let seen = AtomicBloom::from(Bloom::with_capacity(1000, 0.01)?);
/// std::thread::scope(|scope| {
///     scope.spawn(|| seen.insert("left"));
///     scope.spawn(|| seen.insert("right"));
/// });
/// assert!(seen.contains("left") && seen.contains("right"));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type AtomicBloom = Bloom<AtomicBitmap>;

impl Bloom {
    /// A filter whose predicted rate with `keys` keys is at most `rate`, in the native scheme.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Bloom> {
        Bloom::plan(keys, rate)?.empty()
    }

    /// Describes the filter that [`with_capacity`](Bloom::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or `rate` is not strictly between 0 and 1.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        Shape::plan(keys, rate, Scheme::default(), Shape::for_capacity)
    }

    /// An empty filter of this shape and scheme.
    ///
    /// It promises nothing. One that knows its capacity is [planned](Bloom::plan) and then
    /// [made](crate::Description::make).
    ///
    /// # Errors
    ///
    /// When the original of the scheme cannot have the shape, or there is no memory for it.
    pub fn new(shape: Shape, scheme: Scheme) -> Result<Bloom> {
        Bloom::from_bits(Bitmap::new(shape.bits())?, shape, scheme)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl<B: Bits> Bloom<B> {
    /// A filter of this shape and scheme over bits that exist already.
    ///
    /// # Errors
    ///
    /// When there are fewer or more bits than the shape has, or the original of the scheme cannot
    /// have the shape.
    pub fn from_bits(bits: B, shape: Shape, scheme: Scheme) -> Result<Bloom<B>> {
        scheme.check(shape)?;
        Fixed::from_bits(bits, shape, scheme).map(Bloom::wrap)
    }

    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    // Inlined always, as are the inserts: with the foreign schemes out of line what is left is small,
    // and a call per key costs 2 ns.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let is_one = |position| self.is_one(position);
        self.body
            .hashing
            .every(key.key_bytes().as_ref(), self.body.shape, is_one)
    }

    /// Returns whether a key with this digest may be in the filter.
    ///
    /// # Panics
    ///
    /// When the scheme is not native: foreign schemes do not hash to digests.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.check_native();
        digest
            .probe(self.body.shape)
            .every(|position| self.is_one(position))
    }

    /// Returns whether the bit at one of a key's positions is one.
    #[allow(unsafe_code)]
    #[inline(always)]
    fn is_one(&self, position: u64) -> bool {
        debug_assert!(
            position < self.body.bits.size(),
            "every scheme reduces to the shape's bits"
        );
        // SAFETY: every scheme reduces its positions below the shape's number of bits, by a remainder
        // or the high half of a product, and `from_bits` holds the bits to be as many.
        let word = unsafe { self.body.bits.number_at::<8>(position / 64) };
        word >> (position % 64) & 1 == 1
    }

    /// Returns what the filter holds now, and the rate that gives. Counts every bit.
    pub fn stats(&self) -> Stats {
        let (shape, ones) = (self.shape(), self.body.bits.count_ones());
        self.body
            .stats(ones, shape.keys_at(ones), shape.rate_with(ones))
    }

    /// The number of bits and of hashes per key.
    pub fn shape(&self) -> Shape {
        self.body.shape
    }

    /// Returns how positions are chosen.
    pub fn scheme(&self) -> &Scheme {
        &self.body.hashing
    }

    /// Returns what the filter was made for, if it was made by capacity and rate.
    pub fn promise(&self) -> Option<Promise> {
        self.body.promise
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.body.bits
    }

    /// The same filter, known to be made for this capacity and rate: [`stats`](Bloom::stats) then
    /// says when it is past them. Foreign files seldom record what they were made for.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or the native hash cannot give it.
    ///
    /// ```
    /// use mayhap::{Bloom, Insert, Scheme, Sizing};
    ///
    /// let shape = Sizing::Guava.shape(100, 0.03)?;
    /// let mut filter = Bloom::new(shape, Scheme::Guava64)?.promising(100, 0.03)?;
    /// filter.insert_all(0..500_i32);
    /// assert!(filter.stats().is_over_capacity());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn promising(mut self, keys: u64, rate: f64) -> Result<Bloom<B>> {
        self.body.promise = Some(match self.body.hashing {
            Scheme::Native(_) => Promise::new(keys, rate)?,
            // Others hash in ways of their own.
            _ => {
                check_request(keys, rate)?;
                Promise { keys, rate }
            }
        });
        Ok(self)
    }

    /// Takes the bits out of the filter.
    pub fn into_bits(self) -> B {
        self.body.bits
    }

    #[inline]
    #[track_caller]
    fn check_native(&self) {
        assert!(
            matches!(self.body.hashing, Scheme::Native(_)),
            "digests need the native scheme; this filter's is {}",
            self.body.hashing
        );
    }
}

impl<B: BitsMut> Bloom<B> {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let set = |position| self.body.bits.set(position);
        self.body
            .hashing
            .some(key.key_bytes().as_ref(), self.body.shape, set)
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    ///
    /// # Panics
    ///
    /// When the scheme is not native: foreign schemes do not hash to digests.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.check_native();
        digest
            .probe(self.body.shape)
            .some(|position| self.body.bits.set(position))
    }
}

impl<B: Bits> Filter for Bloom<B> {
    #[inline(always)]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Bloom::stats(self)
    }

    /// In the native scheme, and where the filter is larger than the caches, prefetches the lines of several keys.
    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        match &self.body.hashing {
            Scheme::Native(digester) => {
                probed::contains_each(self, self.body.bits.size(), digester, keys, answer);
            }
            _ => keys.into_iter().for_each(|key| answer(self.contains(&key))),
        }
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: Bits> Cells for Bloom<B> {
    fn shape(&self) -> Shape {
        self.body.shape
    }

    #[inline(always)]
    fn prefetch(&self, position: u64) {
        self.body.bits.prefetch(position);
    }

    #[inline(always)]
    fn is_used(&self, position: u64) -> bool {
        self.is_one(position)
    }
}

impl<B: BitsMut> Insert for Bloom<B> {
    #[inline(always)]
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    /// In the native scheme, and where the filter is larger than the caches, prefetches the lines of several keys.
    fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let Scheme::Native(digester) = &self.body.hashing else {
            for key in keys {
                answer(self.insert(&key));
            }
            return;
        };
        let shape = self.body.shape;
        roll_large(
            shape.bits(),
            keys,
            digester,
            &mut (&mut self.body.bits, answer),
            |(bits, _), digest| {
                digest
                    .probe(shape)
                    .for_each(|position| bits.prefetch(position))
            },
            |(bits, answer), digest| {
                answer(digest.probe(shape).some(|position| bits.set(position)));
            },
        );
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl FixedShape for Shape {
    type Hashing = Scheme;

    fn kind(self) -> Kind {
        Kind::Bloom
    }

    fn numbers(self) -> (u64, u32, u32) {
        (self.bits(), self.hashes(), 0)
    }

    fn predicted_rate(self, keys: u64) -> Option<f64> {
        Some(self.rate_at(keys))
    }

    fn described(description: &Description) -> Result<(Shape, Scheme)> {
        description.check_no_detail()?;
        let shape = Shape::new(description.bits, description.hashes)?;
        let scheme = description.scheme()?;
        scheme.check(shape)?;
        Ok((shape, scheme))
    }
}

impl<B: Bits> Wrap for Bloom<B> {
    type Body = Fixed<B, Shape>;

    fn wrap(body: Fixed<B, Shape>) -> Bloom<B> {
        Bloom { body }
    }

    fn body(&self) -> &Fixed<B, Shape> {
        &self.body
    }
}

impl Merge for Bloom {
    fn union(&mut self, other: &Bloom) -> Result<()> {
        self.body.union(&other.body)
    }

    fn intersect(&mut self, other: &Bloom) -> Result<()> {
        self.body.intersect(&other.body)
    }
}
