//! Parquet's Bloom filter: one bit in each of the eight words of a 256-bit block.
//!
//! The high half of a key's XXH64 picks the block; the low half, multiplied by eight odd constants,
//! picks one bit in each 32-bit word of it. No false negatives, ever. Block and bits are those of
//! the Parquet specification, so the bits can be written into its files and read from them.
//!
//! A key always sets eight bits, which suits rates around 0.5 %: 10.5 bits per key at 1 %, 16.9 at
//! 0.1 %, 26.3 at 10^-4, 41 at 10^-5. [`Blocked`](crate::Blocked) needs fewer at every rate; this is
//! the kind for the layout.

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
mod kernel;
mod shape;
mod shared;

pub use shape::SplitBlockShape;

use super::description::{Wrap, Xxh64};
use super::each::{Each, Look, Put};
use super::fixed::{Fixed, FixedShape};
use super::kernel::{Chosen, Kernel};
use super::places::ones_of;
use super::{Description, Filter, Insert, Kind, Merge, Places, Promise, Stats};
use crate::bits::{AtomicLines, Bitmap, Bits, BitsMut};
use crate::hash::xxh64;
use crate::{Error, Key, Result};
use kernel::{Covers, Merges};

/// Parquet's split-block Bloom filter, over bits of any storage.
///
/// A key's bytes are hashed as they are, which is Parquet's plain encoding for integers (`i32`,
/// `i64`), and for byte arrays and text without the length. A FLOAT or DOUBLE is inserted as its
/// `to_le_bytes`.
///
/// ```
/// use mayhap::kinds::SplitBlock;
///
/// let mut column = SplitBlock::with_capacity(10_000, 0.01)?;
/// assert!(column.insert("Paris"), "definitely new");
/// assert!(column.insert(&42_i64));
/// assert!(column.insert(&1.5_f64.to_le_bytes()));
/// assert!(column.contains("Paris") && !column.contains("London"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct SplitBlock<B = Bitmap> {
    body: Fixed<B, SplitBlockShape>,
    kernel: Chosen,
}

/// A [`SplitBlock`] that many threads insert into at once: made from one, and turned back into one,
/// by `from`, without a copy. An insert returns true to exactly one of the threads that insert a key.
///
/// ```
/// use mayhap::kinds::{AtomicSplitBlock, SplitBlock};
///
/// let seen = AtomicSplitBlock::from(SplitBlock::with_capacity(1000, 0.01)?);
/// std::thread::scope(|scope| {
///     scope.spawn(|| seen.insert("left"));
///     scope.spawn(|| seen.insert("right"));
/// });
/// assert!(seen.contains("left") && seen.contains("right"));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type AtomicSplitBlock = SplitBlock<AtomicLines>;

/// The multipliers that choose a bit in each word of a block, from the Parquet specification.
const SALT: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// The bits that a key sets: one for each multiplier.
const HASHES: u32 = SALT.len() as u32;

/// The bits of a key with this hash: eight words of 32 bits, two to each word of 64.
#[inline(always)]
fn pattern(hash: u64) -> [u64; 4] {
    let low = hash as u32;
    let bit = |salt: u32| 1_u64 << (low.wrapping_mul(salt) >> 27);
    core::array::from_fn(|pair| bit(SALT[2 * pair]) | bit(SALT[2 * pair + 1]) << 32)
}

impl SplitBlock {
    /// A filter whose predicted rate with `keys` keys is at most `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or is below
    /// [`SplitBlockShape::LEAST_RATE`], or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<SplitBlock> {
        SplitBlock::plan(keys, rate)?.empty()
    }

    /// Describes the filter that [`with_capacity`](SplitBlock::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, or `rate` is not strictly between 0 and 1 or is below
    /// [`SplitBlockShape::LEAST_RATE`].
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        SplitBlockShape::plan(keys, rate, Xxh64, SplitBlockShape::for_capacity)
    }

    /// An empty filter of this shape.
    ///
    /// It promises nothing. One that knows its capacity is [planned](SplitBlock::plan) and then
    /// [made](crate::Description::make).
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn new(shape: SplitBlockShape) -> Result<SplitBlock> {
        Fixed::new(shape, Xxh64).map(SplitBlock::wrap)
    }

    /// The hash of a key: XXH64 of its bytes with seed 0. Hash once to ask many filters.
    // Inlined always, so that a key of constant length picks its branch of the hash at compile time.
    #[inline(always)]
    pub fn hash<K: Key + ?Sized>(key: &K) -> u64 {
        xxh64(key.key_bytes().as_ref())
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl<B: Bits> SplitBlock<B> {
    /// A filter of this shape over bits that exist already: the blocks one after another, each as
    /// eight little-endian words of 32 bits.
    ///
    /// # Errors
    ///
    /// When there are fewer or more bits than the shape has.
    pub fn from_bits(bits: B, shape: SplitBlockShape) -> Result<SplitBlock<B>> {
        Fixed::from_bits(bits, shape, Xxh64).map(SplitBlock::wrap)
    }

    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(SplitBlock::hash(key))
    }

    /// Whether a key with this [`hash`](SplitBlock::hash) may be in the filter.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        let block = self.body.shape.block(hash);
        let covers = |block: &[u64; 4]| self.kernel.up_to_avx2().run(Covers(block, hash));
        self.body.bits.with_block_inside(block, covers)
    }

    /// What the filter holds now, and the rate that gives. Reads every block.
    pub fn stats(&self) -> Stats {
        let (mut ones, mut covered) = (0, 0.0);
        let shape = self.shape();
        for block in 0..shape.blocks() {
            // The share of patterns that this block covers: one bit of each word of 32.
            let mut share = 1.0;
            for index in 4 * block..4 * block + 4 {
                let word = self.body.bits.word(index);
                let (low, high) = ((word as u32).count_ones(), (word >> 32).count_ones());
                ones += u64::from(low + high);
                share *= f64::from(low * high) / 1024.0;
            }
            covered += share;
        }
        let rate = covered / shape.blocks() as f64;
        self.body.stats(ones, shape.keys_at(ones), rate)
    }

    /// The instructions that the filter works with.
    pub fn kernel(&self) -> Kernel {
        self.kernel.kernel()
    }

    /// The same filter, working with no wider instructions than these: for tests and measurements. Conversions to
    /// other storage choose again.
    #[must_use]
    pub fn limited_to(mut self, kernel: Kernel) -> SplitBlock<B> {
        self.kernel = Chosen::widest(kernel);
        self
    }

    /// Where the filter keeps a key.
    pub(super) fn places(&self, key: &[u8]) -> Places {
        let hash = SplitBlock::hash(key);
        let (first_bit, mask) = (256 * self.body.shape.block(hash), pattern(hash));
        Places::bits(0, self.bits(), ones_of(first_bit, &mask))
    }

    /// The number of blocks.
    pub fn shape(&self) -> SplitBlockShape {
        self.body.shape
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

impl<B: BitsMut> SplitBlock<B> {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_hash(SplitBlock::hash(key))
    }

    /// Inserts a key by its [`hash`](SplitBlock::hash); true when it was *definitely* not in the
    /// filter before.
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) -> bool {
        let block = self.body.bits.block_mut(self.body.shape.block(hash));
        self.kernel.up_to_avx2().run(Merges(block, hash))
    }
}

impl<B: Bits> Filter for SplitBlock<B> {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        SplitBlock::stats(self)
    }

    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        self.kernel.run(Each {
            action: Look(&self.body.bits),
            locator: self.body.shape,
            keys,
            answer,
        });
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: BitsMut> Insert for SplitBlock<B> {
    #[inline]
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_each<K: Key>(&mut self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        self.kernel.run(Each {
            action: Put(&mut self.body.bits),
            locator: self.body.shape,
            keys,
            answer,
        });
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl FixedShape for SplitBlockShape {
    type Hashing = Xxh64;

    fn kind(self) -> Kind {
        Kind::SplitBlock
    }

    fn numbers(self) -> (u64, u32, u32) {
        (self.bits(), HASHES, 0)
    }

    fn predicted_rate(self, keys: u64) -> Option<f64> {
        Some(self.rate_at(keys))
    }

    fn cache_lines(self) -> u32 {
        1
    }

    fn described(description: &Description) -> Result<(SplitBlockShape, Xxh64)> {
        description.check_no_detail()?;
        description.check_xxh64()?;
        if description.hashes != HASHES {
            return Err(Error::Hashes {
                got: description.hashes,
                least: HASHES,
                most: HASHES,
            });
        }
        if !description.bits.is_multiple_of(256) {
            return Err(Error::Bits {
                got: description.bits,
                expected: "256 to 2^40, in blocks of 256",
            });
        }
        Ok((SplitBlockShape::new(description.bits / 256)?, Xxh64))
    }
}

impl<B: Bits> Wrap for SplitBlock<B> {
    type Body = Fixed<B, SplitBlockShape>;

    fn wrap(body: Fixed<B, SplitBlockShape>) -> SplitBlock<B> {
        SplitBlock {
            body,
            kernel: Chosen::widest(Kernel::Avx512),
        }
    }

    fn body(&self) -> &Fixed<B, SplitBlockShape> {
        &self.body
    }
}

impl Merge for SplitBlock {
    fn union(&mut self, other: &SplitBlock) -> Result<()> {
        self.body.union(&other.body)
    }

    fn intersect(&mut self, other: &SplitBlock) -> Result<()> {
        self.body.intersect(&other.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// The definition, word for word from the specification: words of 32 bits, no tricks.
    fn insert_plainly(words: &mut [u32], hash: u64) {
        let blocks = words.len() as u64 / 8;
        let block = ((hash >> 32) * blocks) >> 32;
        for (lane, salt) in SALT.into_iter().enumerate() {
            let bit = (hash as u32).wrapping_mul(salt) >> 27;
            words[block as usize * 8 + lane] |= 1 << bit;
        }
    }

    #[test]
    fn the_hash_is_xxh64() {
        // From the xxHash specification and its reference program.
        assert_eq!(SplitBlock::hash(""), 0xef46_db37_51d8_e999);
        assert_eq!(SplitBlock::hash("a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(SplitBlock::hash("abc"), 0x44bc_2cf5_ad77_0999);
    }

    #[test]
    fn the_words_are_those_of_the_definition_by_every_kernel_for_every_number_of_blocks() {
        let most = if cfg!(miri) { 2 } else { 39 };
        for (kernel, blocks) in Chosen::all()
            .into_iter()
            .flat_map(|kernel| (1..=most).map(move |blocks| (kernel, blocks)))
        {
            let shape = SplitBlockShape::new(blocks).expect("valid");
            let mut filter = SplitBlock::new(shape).expect("small");
            filter.kernel = kernel;
            let shared = AtomicSplitBlock::from(filter.clone());
            let mut words = vec![0_u32; 8 * blocks as usize];
            for key in 0..20 * blocks {
                let hash = SplitBlock::hash(&key);
                insert_plainly(&mut words, hash);
                let new = !filter.contains_hash(hash);
                assert_eq!(filter.insert_hash(hash), new);
                assert_eq!(shared.insert_hash(hash), new);
                assert!(filter.contains_hash(hash));
            }
            let bytes: vec::Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
            assert_eq!(filter.bits().to_bytes(), bytes, "{blocks} blocks");
            assert_eq!(SplitBlock::from(shared), filter, "{blocks} blocks");
        }
    }

    #[test]
    fn a_key_is_new_to_threads_once() {
        let filter = SplitBlock::with_capacity(100, 0.01).expect("valid");
        let shared = AtomicSplitBlock::from(filter);
        assert!(shared.insert("key") && !shared.insert("key"));
        assert!(shared.contains("key"));
    }

    #[test]
    fn the_rate_now_is_the_share_of_patterns_that_are_covered() {
        let shape = SplitBlockShape::new(2).expect("valid");
        let half = [0x5555_5555_5555_5555, 0x5555_5555_5555_5555].repeat(2);
        let words = [half, vec![u64::MAX; 4]].concat();
        let bits = Bitmap::from_words(&words).expect("small");

        let stats = SplitBlock::from_bits(bits, shape).expect("fits").stats();

        assert_eq!(stats.rate, (libm::exp2(-8.0) + 1.0) / 2.0);
        assert_eq!(stats.ones, 128 + 256);
    }

    #[test]
    fn bits_of_another_size_are_refused() {
        let shape = SplitBlockShape::new(2).expect("valid");
        let bits = Bitmap::new(256).expect("small");
        let refused = SplitBlock::from_bits(bits, shape);
        assert!(matches!(refused, Err(Error::Bits { got: 256, .. })));
    }
}
