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
mod fold;
mod gathered;
mod kernel;
mod layers;
mod pattern;
mod shape;
mod shared;

pub(super) use pattern::next_word;
pub use shape::BlockedShape;

use alloc::vec::Vec;

use super::description::Wrap;
use super::each::{Each, Look, Put};
use super::fixed::{Fixed, FixedShape};
use super::kernel::{Chosen, Kernel};
use super::places::ones_of;
use super::{Description, Filter, Insert, Kind, Merge, Promise, Stats};
use crate::bits::{AtomicLines, Bitmap, Bits, BitsMut};
use crate::hash::{Digest, Digester, Hash as _, Rapidhash};
use crate::{Error, Key, Result};
use kernel::{Calls, ToDigest};
use pattern::Locator;

/// A Bloom filter of one cache line per key, over bits of any storage.
///
/// ```
/// use mayhap::{Blocked, Filter};
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
#[derive(Clone)]
pub struct Blocked<B = Bitmap> {
    body: Fixed<B, BlockedShape>,
    locator: Locator,
    /// The hash with its seed mixed, where it is the usual one.
    rapidhash: Option<Rapidhash<false>>,
    kernel: Chosen,
    calls: Calls,
}

/// A [`Blocked`] that many threads insert into at once: made from one, and turned back into one, by
/// `from`, without a copy. An insert returns true to exactly one of the threads that insert a key.
///
/// ```
/// use mayhap::{AtomicBlocked, Blocked};
///
/// let seen = AtomicBlocked::from(Blocked::with_capacity(1000, 0.01)?);
/// let wins: usize = std::thread::scope(|scope| {
///     let threads = [0, 1].map(|_| scope.spawn(|| (0..1000_u32).filter(|key| seen.insert(key)).count()));
///     threads.map(|thread| thread.join().expect("no panic")).iter().sum()
/// });
/// assert!(wins <= 1000, "each key was new to one thread at most");
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type AtomicBlocked = Blocked<AtomicLines>;

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

    /// Describes the filter that [`with_capacity`](Blocked::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, or `rate` is not strictly between 0 and 1 or is below
    /// [`BlockedShape::LEAST_RATE`].
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        BlockedShape::plan(keys, rate, Digester::default(), BlockedShape::for_capacity)
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
        Fixed::new(shape, digester).map(Blocked::wrap)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl<B: Bits> Blocked<B> {
    /// A filter of this shape and digester over bits that exist already.
    ///
    /// # Errors
    ///
    /// When there are fewer or more bits than the shape has.
    pub fn from_bits(bits: B, shape: BlockedShape, digester: Digester) -> Result<Blocked<B>> {
        Fixed::from_bits(bits, shape, digester).map(Blocked::wrap)
    }

    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    // Inlined always: as a call, which a second use of it makes it, a lookup in a loop takes 5.3 ns and not 3.5.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.look(self.digest(key))
    }

    /// Whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.look(digest)
    }

    #[inline(always)]
    fn look(&self, digest: Digest) -> bool {
        let line = self.locator.line(digest);
        let covers = |line: &[u64; 8]| self.calls.covers(line, digest.lo);
        match self.body.bits.shared_line(line) {
            Some(line) => self.calls.covers_shared(line, digest.lo),
            None => self.body.bits.with_line_inside(line, covers),
        }
    }

    /// Hashes in the caller's own code, where a loop keeps what does not change: inside the call that the kernel is, a
    /// lookup takes 4.9 ns and not 3.6 (a prototype in cache, November 2026, AMD EPYC), out of cache 32 and not 24.
    #[inline(always)]
    fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        let key = key.key_bytes();
        match self.rapidhash {
            Some(hash) => hash.digest(key.as_ref()),
            None => self.body.hashing.digest(key.as_ref()),
        }
    }

    /// Looks up each digest, in order, prefetching several cache lines ahead.
    pub fn contains_digests(
        &self,
        digests: impl IntoIterator<Item = Digest>,
        answer: impl FnMut(bool),
    ) {
        self.look_up(digests, answer);
    }

    fn look_up(&self, keys: impl IntoIterator<Item: ToDigest>, answer: impl FnMut(bool)) {
        let each = Each {
            action: Look(&self.body.bits),
            locator: self.locator,
            keys,
            answer,
        };
        self.kernel.run_hashed(&self.body.hashing, each);
    }

    /// What the filter holds now, and the rate that gives. Reads every line.
    pub fn stats(&self) -> Stats {
        let shape = self.shape();
        let lines = (0..shape.lines()).map(|index| self.body.bits.line(index));
        let ones = self.body.bits.count_ones();
        let rate = fold::observed_rate(lines, shape.hashes());
        self.body.stats(ones, shape.keys_at(ones), rate)
    }

    /// The instructions that the filter works with.
    pub fn kernel(&self) -> Kernel {
        self.kernel.kernel()
    }

    /// The same filter, working with no wider instructions than these: for tests and measurements. Conversions to
    /// other storage choose again.
    #[must_use]
    pub fn limited_to(mut self, kernel: Kernel) -> Blocked<B> {
        self.kernel = Chosen::widest(kernel);
        self.calls = Calls::new(self.kernel, self.locator.spread());
        self
    }

    /// The number of lines and of bits per key.
    pub fn shape(&self) -> BlockedShape {
        self.body.shape
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.hashing
    }

    /// The positions of the bits that a key with this digest sets, from low to high.
    pub(super) fn positions(&self, digest: Digest) -> Vec<u64> {
        let (line, pattern) = self.locator.locate(digest);
        ones_of(512 * line, &pattern.mask()).collect()
    }

    /// What the filter was made for, when it was made by capacity and rate.
    pub fn promise(&self) -> Option<Promise> {
        self.body.promise
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.body.bits
    }

    /// Takes the bits out of the filter.
    pub fn into_bits(self) -> B {
        self.body.bits
    }
}

impl<B: BitsMut> Blocked<B> {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits.
    // Inlined always: as a call it takes a tenth more instructions a key in a loop.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.put(self.digest(key))
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.put(digest)
    }

    #[inline(always)]
    fn put(&mut self, digest: Digest) -> bool {
        let line = self.locator.line(digest);
        self.calls.merge(self.body.bits.line_mut(line), digest.lo)
    }

    /// Inserts each digest, in order, prefetching several cache lines ahead; the answers are those of
    /// [`insert_digest`](Blocked::insert_digest).
    pub fn insert_digests(
        &mut self,
        digests: impl IntoIterator<Item = Digest>,
        answer: impl FnMut(bool),
    ) {
        self.enter(digests, answer);
    }

    fn enter(&mut self, keys: impl IntoIterator<Item: ToDigest>, answer: impl FnMut(bool)) {
        let each = Each {
            action: Put(&mut self.body.bits),
            locator: self.locator,
            keys,
            answer,
        };
        self.kernel.run_hashed(&self.body.hashing, each);
    }
}

impl<B: Bits> Filter for Blocked<B> {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Blocked::stats(self)
    }

    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        self.look_up(keys, answer);
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: BitsMut> Insert for Blocked<B> {
    #[inline]
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_each<K: Key>(&mut self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        self.enter(keys, answer);
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl FixedShape for BlockedShape {
    type Hashing = Digester;

    fn kind(self) -> Kind {
        Kind::Blocked
    }

    fn numbers(self) -> (u64, u32, u32) {
        (self.bits(), self.hashes(), 0)
    }

    fn predicted_rate(self, keys: u64) -> Option<f64> {
        Some(self.rate_at(keys))
    }

    fn cache_lines(self) -> u32 {
        1
    }

    fn described(description: &Description) -> Result<(BlockedShape, Digester)> {
        description.check_no_detail()?;
        let digester = description.digester()?;
        if !description.bits.is_multiple_of(512) {
            return Err(Error::Bits {
                got: description.bits,
                expected: "512 to 2^63, in lines of 512",
            });
        }
        let shape = BlockedShape::new(description.bits / 512, description.hashes)?;
        Ok((shape, digester))
    }
}

impl<B: Bits> Wrap for Blocked<B> {
    type Body = Fixed<B, BlockedShape>;

    fn wrap(body: Fixed<B, BlockedShape>) -> Blocked<B> {
        let locator = Locator::new(body.shape);
        let kernel = Chosen::widest(Kernel::Avx512);
        Blocked {
            locator,
            rapidhash: body.hashing.rapidhash(),
            body,
            kernel,
            calls: Calls::new(kernel, locator.spread()),
        }
    }

    fn body(&self) -> &Fixed<B, BlockedShape> {
        &self.body
    }
}

impl Merge for Blocked {
    fn union(&mut self, other: &Blocked) -> Result<()> {
        self.body.union(&other.body)
    }

    fn intersect(&mut self, other: &Blocked) -> Result<()> {
        self.body.intersect(&other.body)
    }
}
