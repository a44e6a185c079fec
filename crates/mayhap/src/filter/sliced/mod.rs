//! The scalable Bloom filter as its paper has it: layers of slices.
//!
//! Keys go into the newest layer, a Bloom filter in which every hash has a slice of bits of its own
//! (`layer.rs`); when it is full, with half of its bits ones, one for more keys and with more slices is
//! begun (`growth.rs`). A full layer of `k` slices answers wrongly once in `2^k`, the layers' rates are a
//! geometric series whose sum is the rate asked for, and a chance of many is at most the sum of theirs:
//! the rate holds however far it grows, although a key is hashed once for all layers. No false
//! negatives, ever; without memory for a layer keys go on into the newest, as [`Sliced::stats`] says.
//!
//! Full, it has 1.5 to 1.8 times the bits of a [`Bloom`](crate::Bloom) at 1 %. A lookup reads up to `k`
//! cache lines of every layer, against one of [`Scalable`](crate::Scalable), which is the one to use unless
//! the sizes of the paper are wanted: Almeida, Baquero, Preguiça, Hutchison, "Scalable Bloom Filters", 2007.

mod growth;
mod layer;

use alloc::vec::Vec;

pub use layer::SlicedShape;

use super::description::Wrap;
use super::layered::{Growth as _, Layer as _, Layered, describe, refuse_union};
use super::roll::{LARGE, depth, roll_once};
use super::{Description, Filter, Insert, Kind, Merge, ScalableOptions, Stats};
use crate::bits::{Bitmap, Bits};
use crate::hash::{Digest, Digester};
use crate::{Key, Result};
use growth::Growth;
use layer::Slices;

/// The slices that [`Probe::every`](crate::hash::Probe::every) looks at together: seven of eight absent keys fail there.
const FIRST: usize = 3;

/// The words of the state: the keys in the newest layer, and its ones.
const KEYS: u64 = 0;
const ONES: u64 = 1;

/// The scalable Bloom filter of the paper, over bits of any storage.
///
/// ```
/// use mayhap::{Filter, Insert, kinds::Sliced};
///
/// let mut seen = Sliced::with_capacity(1000, 0.01)?; // a guess: 1000 keys to begin with
/// seen.insert_all(0..100_000_u32);
/// assert!(seen.contains_all(0..100_000_u32));
/// assert!(seen.stats().rate < 0.01, "the rate is kept, whatever the number of keys");
/// let slices: Vec<u32> = seen.shapes().map(|layer| layer.slices()).collect();
/// assert_eq!(slices, [10, 10, 10, 11, 11, 11, 11]);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Sliced<B = Bitmap> {
    /// The state has [`KEYS`], [`ONES`], and zeros.
    body: Layered<B, Slices<B>, Growth>,
}

impl Sliced {
    /// A filter that begins with room for `keys` keys and keeps the rate `rate` as it grows, with the
    /// default options and hashed without a secret.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or above 2^53, `rate` is not strictly between 0 and 1 or needs more than 64
    /// slices, or there is no memory for the first layer.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Sliced> {
        Sliced::with_options(keys, rate, ScalableOptions::default())
    }

    /// A filter as by [`with_capacity`](Sliced::with_capacity), that grows in another way.
    ///
    /// # Errors
    ///
    /// Also when an option is out of its range.
    pub fn with_options(keys: u64, rate: f64, options: ScalableOptions) -> Result<Sliced> {
        Sliced::new(keys, rate, options, Digester::default())
    }

    /// A filter as by [`with_options`](Sliced::with_options), hashed by this digester.
    ///
    /// # Errors
    ///
    /// As [`with_options`](Sliced::with_options).
    pub fn new(
        keys: u64,
        rate: f64,
        options: ScalableOptions,
        digester: Digester,
    ) -> Result<Sliced> {
        let growth = Growth::new(keys, rate, options)?;
        Layered::new(growth, digester).map(Sliced::wrap)
    }

    /// Describes the filter that [`with_capacity`](Sliced::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Sliced::with_capacity), but for want of memory.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let growth = Growth::new(keys, rate, ScalableOptions::default())?;
        growth.layer(0)?;
        Ok(describe(growth, 1, Digester::default()))
    }

    /// The same filter, which will not grow past this many bits: keys still go in then, at a rate
    /// that rises, and [`stats`](Sliced::stats) says that it is over capacity. Files do not keep
    /// this limit.
    ///
    /// ```
    /// use mayhap::{Filter, Insert, kinds::Sliced};
    ///
    /// let mut filter = Sliced::with_capacity(1000, 0.01)?.limited_to(20_000);
    /// filter.insert_all(0..5000_u32);
    /// assert!(filter.contains_all(0..5000_u32));
    /// assert!(filter.stats().bits <= 20_000 && filter.stats().is_over_capacity());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn limited_to(mut self, bits: u64) -> Sliced {
        self.body.most_bits = bits;
        self
    }

    /// Forgets every key and gives back all layers but the first.
    pub fn clear(&mut self) {
        self.body.shrink_to_first().clear();
    }

    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits in some layer.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.body.digester.digest(key.key_bytes().as_ref()))
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        if self.contains_digest(digest) {
            return false;
        }
        let [keys, ones] = [KEYS, ONES].map(|word| self.body.state.word(word));
        // Without memory for a layer, the next key tries again.
        if self.body.newest().is_full_with(keys, ones) && self.body.grow() {
            self.body.state.clear_all();
        }
        let ones = self.body.newest().insert_digest(digest);
        self.body.count(KEYS, 1);
        self.body.count(ONES, ones);
        true
    }
}

impl<B: Bits> Sliced<B> {
    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.body.digester.digest(key.key_bytes().as_ref()))
    }

    /// Whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.body.contains_digest(digest)
    }

    /// What the filter holds now, and the rate that gives. Counts every bit of every slice. The promise
    /// is the capacity of the layers there are, at the rate asked for.
    pub fn stats(&self) -> Stats {
        self.body.stats()
    }

    /// The positions of a key's bits in each layer, oldest layer first, one position per slice.
    pub fn positions(&self, digest: Digest) -> impl Iterator<Item = Vec<u64>> {
        self.body
            .layers
            .iter()
            .map(move |layer| layer.positions(digest).collect())
    }

    /// Hints that the first lines of the key in every layer will soon be read, and those of this many slices in the
    /// newest.
    #[inline]
    fn prefetch(&self, digest: Digest, in_newest: usize) {
        if self
            .body
            .layers
            .last()
            .is_some_and(|newest| newest.stored().size() < LARGE)
        {
            return;
        }
        for (age, layer) in self.body.layers.iter().rev().enumerate() {
            layer.prefetch(digest, if age == 0 { in_newest } else { FIRST });
        }
    }

    /// How many keys are in flight at a time.
    fn depth(&self) -> usize {
        depth(FIRST * self.layers())
    }

    /// The number of layers: a lookup of an absent key asks them all.
    pub fn layers(&self) -> usize {
        self.body.layers.len()
    }

    /// The size of each layer, the oldest first.
    pub fn shapes(&self) -> impl Iterator<Item = SlicedShape> {
        self.body.layers.iter().map(Slices::shape)
    }

    /// The keys that the layers there are take.
    pub fn capacity(&self) -> u64 {
        self.body.capacity()
    }

    /// How the filter grows.
    pub fn options(&self) -> ScalableOptions {
        self.body.growth.options
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.digester
    }
}

impl<B: Bits> Filter for Sliced<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Sliced::stats(self)
    }

    /// Where the filter is larger than the caches, prefetches the lines of several keys.
    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        roll_once(
            self.depth(),
            keys,
            &self.body.digester,
            &mut answer,
            |_, digest| self.prefetch(digest, FIRST),
            |answer, digest| answer(self.contains_digest(digest)),
        );
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl Insert for Sliced {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    /// Prefetches as [`contains_each`](Filter::contains_each) does.
    fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let (depth, digester) = (self.depth(), self.body.digester.clone());
        let prefetch = |filter: &Sliced, digest| filter.prefetch(digest, usize::MAX);
        let visit = |filter: &mut Sliced, digest| answer(filter.insert_digest(digest));
        roll_once(depth, keys, &digester, self, prefetch, visit);
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl<B: Bits> Wrap for Sliced<B> {
    type Body = Layered<B, Slices<B>, Growth>;

    fn wrap(body: Self::Body) -> Sliced<B> {
        Sliced { body }
    }

    fn body(&self) -> &Self::Body {
        &self.body
    }
}

impl Merge for Sliced {
    fn union(&mut self, _: &Sliced) -> Result<()> {
        refuse_union(Kind::Sliced)
    }
}
