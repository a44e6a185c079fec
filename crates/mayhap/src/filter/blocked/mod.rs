//! A Bloom filter that touches one cache line per key: the default kind.
//!
//! The high half of a key's digest picks a line of 512 bits, the low half `k` bits in it, spread over
//! its eight lanes (`pattern.rs`). No false negatives, ever. Lines fill unevenly, which costs bits:
//! sizes come from the formula that accounts for it (`shape.rs`), so the rate asked for is the rate
//! that is measured.
//!
//! Against the standard filter's 1.44 log2(1/rate) bits per key it needs 1.04 times as many at 1 %,
//! 1.09 at 0.1 %, 1.16 at 10^-4, 1.25 at 10^-5, 1.36 at 10^-6 and 1.88 at 10^-9; where memory is
//! dearer than time, [`Bloom`](crate::Bloom) is smaller. After Putze, Sanders, Singler, "Cache-,
//! Hash- and Space-Efficient Bloom Filters", 2007.

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx512;
mod finder;
mod fold;
mod lanes;
mod layers;
mod pattern;
mod shape;
mod shared;
mod tasks;

use alloc::vec;
use alloc::vec::Vec;

pub(super) use pattern::next_word;
pub use shape::BlockedShape;

use super::description::{check_alike, check_size};
use super::roll::into_slice;
use super::{Assemble, Description, Filter, Insert, Kind, Merge, Promise, Stats};
use crate::bits::{AtomicBitmap, Bitmap, BitmapView, Bits, BitsMut};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result};
use finder::{Finder, Source};
use lanes::{Calls, Kernel};

/// A Bloom filter of one cache line per key, over bits of any storage.
///
/// ```
/// use mayhap::Blocked;
///
/// let mut seen = Blocked::with_capacity(1_000_000, 0.01)?;
/// assert!(seen.insert("https://example.org/"), "definitely new");
/// assert!(!seen.insert("https://example.org/"), "mayhap seen before");
///
/// let urls = ["https://example.org/", "https://example.org/a", "https://example.org/b"];
/// let mut found = [false; 3];
/// seen.contains_batch(&urls, &mut found); // many at once is faster than one by one
/// assert_eq!(found, [true, false, false]);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Blocked<B = Bitmap> {
    bits: B,
    finder: Finder,
    promise: Option<Promise>,
    kernel: Kernel,
    calls: Calls,
}

impl<B: PartialEq> PartialEq for Blocked<B> {
    /// Whether both are built alike and hold the same bits.
    fn eq(&self, other: &Blocked<B>) -> bool {
        self.finder == other.finder && self.promise == other.promise && self.bits == other.bits
    }
}

/// A [`Blocked`] that many threads insert into at once: made from one, and turned back into one, by
/// `from`, without a copy.
///
/// ```
/// use mayhap::{AtomicBlocked, Blocked};
///
/// let seen = AtomicBlocked::from(Blocked::with_capacity(1000, 0.01)?);
/// let wins: usize = std::thread::scope(|scope| {
///     let threads = [0, 1].map(|_| scope.spawn(|| (0..1000_u32).filter(|key| seen.claim(key)).count()));
///     threads.map(|thread| thread.join().expect("no panic")).iter().sum()
/// });
/// assert!(wins <= 1000, "each key was claimed by one thread at most");
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type AtomicBlocked = Blocked<AtomicBitmap>;

/// A [`Blocked`] over borrowed bytes: it can be asked, not inserted into.
///
/// ```
/// use mayhap::{BitmapView, Blocked, BlockedView};
///
/// let mut filter = Blocked::with_capacity(1000, 0.01)?;
/// filter.insert("key");
/// let bytes = filter.bits().to_bytes();
///
/// let bits = BitmapView::new(&bytes[..], filter.shape().bits())?;
/// let view: BlockedView<_> = BlockedView::from_bits(bits, filter.shape(), filter.digester().clone())?;
/// assert!(view.contains("key"));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type BlockedView<D> = Blocked<BitmapView<D>>;

impl Blocked {
    /// A filter whose predicted rate with `keys` keys is at most `rate`, hashed without a secret.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or is below
    /// [`BlockedShape::LEAST_RATE`], or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Blocked> {
        Blocked::plan(keys, rate)?.empty()
    }

    /// The description of [`with_capacity`](Blocked::with_capacity)'s filter; makes none.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, or `rate` is not strictly between 0 and 1 or is below
    /// [`BlockedShape::LEAST_RATE`].
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let promise = Promise::new(keys, rate)?;
        let shape = promise.size(BlockedShape::for_capacity)?;
        Ok(describe(shape, Digester::default(), Some(promise)))
    }

    /// An empty filter of this shape, hashed by this digester.
    ///
    /// It promises nothing. One that knows its capacity is [planned](Blocked::plan) and then
    /// [made](crate::Description::make).
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn new(shape: BlockedShape, digester: Digester) -> Result<Blocked> {
        Blocked::from_bits(Bitmap::new(shape.bits())?, shape, digester)
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
    /// When the two differ in shape or digester; the filter is then unchanged.
    pub fn union(&mut self, other: &Blocked) -> Result<()> {
        self.check_same(other)?;
        self.bits.or(&other.bits)
    }

    /// Keeps the bits that are also in `other`.
    ///
    /// Every key that is in both stays, but so do bits that different keys left in both: the rate is
    /// above that of a filter of the common keys alone, at or below the lower of the two rates.
    ///
    /// # Errors
    ///
    /// When the two differ in shape or digester; the filter is then unchanged.
    pub fn intersect(&mut self, other: &Blocked) -> Result<()> {
        self.check_same(other)?;
        self.bits.and(&other.bits);
        Ok(())
    }
}

impl<B: Bits> Blocked<B> {
    /// A filter of this shape and digester over bits that exist already.
    ///
    /// # Errors
    ///
    /// When there are fewer or more bits than the shape has.
    pub fn from_bits(bits: B, shape: BlockedShape, digester: Digester) -> Result<Blocked<B>> {
        check_size(&bits, shape.bits(), "as many as the shape has")?;
        let kernel = Kernel::detect();
        let finder = Finder::new(shape, digester);
        Ok(Blocked {
            bits,
            promise: None,
            kernel,
            calls: Calls::new(kernel, finder.spread()),
            finder,
        })
    }

    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.look(key)
    }

    /// Whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.look(&digest)
    }

    /// Whether every key may be in the filter. Asks in batches, so it may look at a few keys past
    /// the first that is certainly not there.
    pub fn contains_all<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> bool {
        let mut all = true;
        self.contains_each(keys, |found| all &= found);
        all
    }

    /// Answers [`contains`](Blocked::contains) for each key, in order, keeping many lines on their
    /// way from memory at a time.
    pub fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        self.look_up(keys, answer);
    }

    /// Answers [`contains_digest`](Blocked::contains_digest) for each digest, in order.
    pub fn contains_digests(
        &self,
        digests: impl IntoIterator<Item = Digest>,
        answer: impl FnMut(bool),
    ) {
        self.look_up(digests, answer);
    }

    /// Hashes in the caller's own code, where a loop keeps what does not change; only the test of the
    /// line is a call.
    #[inline(always)]
    fn look(&self, key: &(impl Source + ?Sized)) -> bool {
        let (line, pattern) = self.finder.place(key);
        let covers = |line: &[u64; 8]| self.calls.covers(line, pattern);
        self.bits.with_line(line, covers)
    }

    fn look_up(&self, keys: impl IntoIterator<Item: Source>, answer: impl FnMut(bool)) {
        self.kernel.run(
            &self.finder,
            tasks::ContainsEach {
                filter: self,
                keys,
                answer,
            },
        );
    }

    /// Answers [`contains`](Blocked::contains) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `found` and `keys` differ in length.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        self.contains_each(keys, into_slice(found));
    }

    /// What the filter holds now, and the rate that gives. Reads every line.
    pub fn stats(&self) -> Stats {
        let shape = self.shape();
        let lines = (0..shape.lines()).map(|index| self.bits.line(index));
        let ones = self.bits.count_ones();
        Stats {
            bits: shape.bits(),
            ones,
            keys: shape.keys_at(ones),
            rate: fold::observed_rate(lines, shape.hashes()),
            promise: self.promise,
        }
    }

    /// The number of lines and of bits per key.
    pub fn shape(&self) -> BlockedShape {
        self.finder.shape()
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        self.finder.digester()
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.bits
    }

    /// Takes the bits out of the filter.
    pub fn into_bits(self) -> B {
        self.bits
    }

    pub(super) fn check_same<C>(&self, other: &Blocked<C>) -> Result<()> {
        let (left, right) = (&self.finder, &other.finder);
        check_alike("shape", &left.shape(), &right.shape())?;
        check_alike("digester", left.digester(), right.digester())
    }
}

impl<B: BitsMut> Blocked<B> {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.put(key)
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.put(&digest)
    }

    /// Inserts every key and returns how many were definitely new.
    pub fn insert_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> u64 {
        let mut new = 0;
        self.insert_each(keys, |is_new| new += u64::from(is_new));
        new
    }

    /// Answers [`insert`](Blocked::insert) for each key, in order, keeping many lines on their way
    /// from memory at a time.
    pub fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        self.enter(keys, answer);
    }

    /// Answers [`insert_digest`](Blocked::insert_digest) for each digest, in order.
    pub fn insert_digests(
        &mut self,
        digests: impl IntoIterator<Item = Digest>,
        answer: impl FnMut(bool),
    ) {
        self.enter(digests, answer);
    }

    #[inline(always)]
    fn put(&mut self, key: &(impl Source + ?Sized)) -> bool {
        let (line, pattern) = self.finder.place(key);
        self.calls.merge(self.bits.line_mut(line), pattern)
    }

    fn enter(&mut self, keys: impl IntoIterator<Item: Source>, answer: impl FnMut(bool)) {
        self.kernel.run(
            &self.finder,
            tasks::InsertEach {
                places: self.finder.places(),
                bits: &mut self.bits,
                keys,
                answer,
            },
        );
    }

    /// Answers [`insert`](Blocked::insert) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K], new: &mut [bool]) {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        self.insert_each(keys, into_slice(new));
    }
}

impl<B: Bits> Filter for Blocked<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Blocked::stats(self)
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: BitsMut> Insert for Blocked<B> {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

fn describe(shape: BlockedShape, digester: Digester, promise: Option<Promise>) -> Description {
    Description {
        kind: Kind::Blocked,
        hashing: digester.into(),
        bits: shape.bits(),
        hashes: shape.hashes(),
        detail: 0,
        promise,
    }
}

/// The shape that a description's bits make, when they are whole lines.
fn described_shape(description: &Description) -> Result<BlockedShape> {
    if !description.bits.is_multiple_of(512) {
        return Err(Error::Bits {
            got: description.bits,
            expected: "512 to 2^63, in lines of 512",
        });
    }
    BlockedShape::new(description.bits / 512, description.hashes)
}

impl<B: Bits> Assemble for Blocked<B> {
    type Bits = B;

    fn description(&self) -> Description {
        describe(self.shape(), self.digester().clone(), self.promise)
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.bits]
    }

    fn check(description: &Description) -> Result<()> {
        description.check_no_detail()?;
        description.check_promise()?;
        description.digester()?;
        described_shape(description).map(drop)
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Blocked<B>> {
        Self::check(description)?;
        let bits = description.only_part(parts)?;
        let shape = described_shape(description)?;
        let mut filter = Blocked::from_bits(bits, shape, description.digester()?)?;
        filter.promise = description.promise;
        Ok(filter)
    }
}

impl Merge for Blocked {
    fn union(&mut self, other: &Blocked) -> Result<()> {
        Blocked::union(self, other)
    }
}
