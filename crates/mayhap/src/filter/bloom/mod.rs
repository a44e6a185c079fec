//! The standard Bloom filter: `k` bits per key, anywhere in `m`.
//!
//! Inserting sets the bits at a key's positions; a key all of whose bits are set is *mayhap* there,
//! one with a zero among them was never inserted. No false negatives, ever. False positives come at
//! the rate the [`Shape`] predicts and rise steeply past its capacity; [`Bloom::stats`] tells the
//! rate now.
//!
//! Costs 1.44 log2(1/rate) bits per key and up to `k` cache misses. This is the kind for exact bit
//! layouts and foreign schemes. After Bloom, "Space/Time Trade-offs in Hash Coding", 1970.

mod shared;

use alloc::vec;
use alloc::vec::Vec;

use super::description::{check_alike, check_size};
use super::roll::{Find, LARGE, into_slice, roll};
use super::{Assemble, Description, Filter, Insert, Kind, Merge, Promise, Stats};
use crate::bits::{AtomicBitmap, Bitmap, BitmapView, Bits, BitsMut};
use crate::hash::{Digest, Digester, Scheme};
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
#[derive(Debug, Clone, PartialEq)]
pub struct Bloom<B = Bitmap> {
    bits: B,
    shape: Shape,
    scheme: Scheme,
    promise: Option<Promise>,
}

/// A [`Bloom`] that many threads insert into at once, without locks: made from one, and turned
/// back into one, by `from`.
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

/// A [`Bloom`] over borrowed bytes: it can be asked, not inserted into.
///
/// ```
/// use mayhap::{BitmapView, Bloom, BloomView};
///
/// let mut filter = Bloom::with_capacity(1000, 0.01)?;
/// filter.insert("key");
/// let bytes = filter.bits().to_bytes();
///
/// let bits = BitmapView::new(&bytes[..], filter.shape().bits())?;
/// let view: BloomView<_> = BloomView::from_bits(bits, filter.shape(), filter.scheme().clone())?;
/// assert!(view.contains("key"));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type BloomView<D> = Bloom<BitmapView<D>>;

impl Bloom {
    /// A filter whose predicted rate with `keys` keys is at most `rate`, in the native scheme.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Bloom> {
        Bloom::plan(keys, rate)?.empty()
    }

    /// The description of [`with_capacity`](Bloom::with_capacity)'s filter; makes none.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or `rate` is not strictly between 0 and 1.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let promise = Promise::new(keys, rate)?;
        let shape = promise.size(Shape::for_capacity)?;
        Ok(describe(shape, Scheme::default(), Some(promise)))
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
        self.bits.clear_all();
    }

    /// Adds every key of `other`: the result is bit for bit the filter that inserting the keys of
    /// both would have made.
    ///
    /// # Errors
    ///
    /// When the two differ in shape or scheme; the filter is then unchanged.
    pub fn union(&mut self, other: &Bloom) -> Result<()> {
        self.check_same(other)?;
        self.bits.or(&other.bits)
    }

    /// Keeps the bits that are also in `other`.
    ///
    /// Every key that is in both stays, so there are still no false negatives for the common keys.
    /// But the result is not the filter that inserting only the common keys would have made: bits
    /// that different keys left in both remain, so its rate is above that filter's, and at or below
    /// the lower of the two rates. [`Stats::keys`] of the result over-estimates the common keys for
    /// the same reason.
    ///
    /// # Errors
    ///
    /// When the two differ in shape or scheme; the filter is then unchanged.
    pub fn intersect(&mut self, other: &Bloom) -> Result<()> {
        self.check_same(other)?;
        self.bits.and(&other.bits);
        Ok(())
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
        check_size(&bits, shape.bits(), "as many as the shape has")?;
        Ok(Bloom {
            bits,
            shape,
            scheme,
            promise: None,
        })
    }

    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    // Inlined always, as are the inserts: with the foreign schemes out of line what is left is small,
    // and a call per key costs 2 ns.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let is_one = |position| self.is_one(position);
        self.scheme
            .all(key.key_bytes().as_ref(), self.shape, is_one)
    }

    /// Whether a key with this digest may be in the filter.
    ///
    /// # Panics
    ///
    /// When the scheme is not native: foreign schemes do not hash to digests.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.check_native();
        digest
            .probe(self.shape)
            .every(|position| self.is_one(position))
    }

    /// Whether the bit at one of a key's positions is one.
    #[allow(unsafe_code)]
    #[inline(always)]
    fn is_one(&self, position: u64) -> bool {
        debug_assert!(
            position < self.bits.size(),
            "every scheme reduces to the shape's bits"
        );
        // SAFETY: every scheme reduces its positions below the shape's number of bits, by a remainder
        // or the high half of a product, and `from_bits` holds the bits to be as many.
        let word = unsafe { self.bits.number_at::<8>(position / 64) };
        word >> (position % 64) & 1 == 1
    }

    /// Whether every key may be in the filter; stops at the first that is certainly not.
    pub fn contains_all<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> bool {
        keys.into_iter().all(|key| self.contains(&key))
    }

    /// Answers [`contains`](Bloom::contains) for each key, in order.
    ///
    /// No faster than asking one by one: where a lookup stops cannot be foreseen, and prefetching what
    /// it may not need costs as much as it saves.
    pub fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        for key in keys {
            answer(self.contains(&key));
        }
    }

    /// Answers [`contains`](Bloom::contains) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `found` and `keys` differ in length.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        self.contains_each(keys, into_slice(found));
    }

    /// What the filter holds now, and the rate that gives. Counts every bit.
    pub fn stats(&self) -> Stats {
        let ones = self.bits.count_ones();
        Stats {
            bits: self.shape.bits(),
            ones,
            keys: self.shape.keys_at(ones),
            rate: self.shape.rate_with(ones),
            promise: self.promise,
        }
    }

    /// The number of bits and of hashes per key.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How positions are chosen.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.bits
    }

    /// The same filter, known to be made for this capacity and rate: [`stats`](Bloom::stats) then
    /// says when it is past them. Foreign files seldom tell what they were made for.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or the native hash cannot give it.
    ///
    /// ```
    /// use mayhap::{Bloom, Scheme, Sizing};
    ///
    /// let shape = Sizing::Guava.shape(100, 0.03)?;
    /// let mut filter = Bloom::new(shape, Scheme::Guava64)?.promising(100, 0.03)?;
    /// filter.insert_all(0..500_i32);
    /// assert!(filter.stats().is_over_capacity());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn promising(mut self, keys: u64, rate: f64) -> Result<Bloom<B>> {
        self.promise = Some(match self.scheme {
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
        self.bits
    }

    #[inline]
    #[track_caller]
    fn check_native(&self) {
        assert!(
            matches!(self.scheme, Scheme::Native(_)),
            "digests need the native scheme; this filter's is {}",
            self.scheme
        );
    }

    pub(super) fn check_same<C>(&self, other: &Bloom<C>) -> Result<()> {
        check_alike("shape", &self.shape, &other.shape)?;
        check_alike("scheme", &self.scheme, &other.scheme)
    }
}

impl<B: BitsMut> Bloom<B> {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let set = |position| self.bits.set(position);
        self.scheme.any(key.key_bytes().as_ref(), self.shape, set)
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
            .probe(self.shape)
            .some(|position| self.bits.set(position))
    }

    /// Inserts every key and returns how many were definitely new.
    pub fn insert_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> u64 {
        let mut new = 0;
        self.insert_each(keys, |is_new| new += u64::from(is_new));
        new
    }

    /// Answers [`insert`](Bloom::insert) for each key, in order. In the native scheme, and where the
    /// filter is larger than the caches, the lines of several keys are on their way at a time.
    pub fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let (Scheme::Native(digester), LARGE..) = (&self.scheme, self.shape.bits()) else {
            for key in keys {
                answer(self.insert(&key));
            }
            return;
        };
        let shape = self.shape;
        roll(
            keys,
            digester,
            &mut (&mut self.bits, answer),
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

    /// Answers [`insert`](Bloom::insert) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K], new: &mut [bool]) {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        self.insert_each(keys, into_slice(new));
    }
}

impl<K: Key> Find<K> for Digester {
    type Place = Digest;

    #[inline(always)]
    fn find(&self, key: K) -> Digest {
        self.digest(key.key_bytes().as_ref())
    }
}

impl<B: Bits> Filter for Bloom<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Bloom::stats(self)
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: BitsMut> Insert for Bloom<B> {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

fn describe(shape: Shape, scheme: Scheme, promise: Option<Promise>) -> Description {
    Description {
        kind: Kind::Bloom,
        hashing: scheme.into(),
        bits: shape.bits(),
        hashes: shape.hashes(),
        detail: 0,
        promise,
    }
}

impl<B: Bits> Assemble for Bloom<B> {
    type Bits = B;

    fn description(&self) -> Description {
        describe(self.shape, self.scheme.clone(), self.promise)
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.bits]
    }

    fn check(description: &Description) -> Result<()> {
        description.check_no_detail()?;
        description.check_promise()?;
        let shape = Shape::new(description.bits, description.hashes)?;
        description.scheme()?.check(shape)
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Bloom<B>> {
        Self::check(description)?;
        let bits = description.only_part(parts)?;
        let shape = Shape::new(description.bits, description.hashes)?;
        let mut filter = Bloom::from_bits(bits, shape, description.scheme()?)?;
        filter.promise = description.promise;
        Ok(filter)
    }
}

impl Merge for Bloom {
    fn union(&mut self, other: &Bloom) -> Result<()> {
        Bloom::union(self, other)
    }
}
