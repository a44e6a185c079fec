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

use alloc::vec;
use alloc::vec::Vec;

pub use layer::SlicedShape;

use super::roll::into_slice;
use super::{Assemble, Description, Filter, Insert, Kind, Merge, Promise, ScalableOptions, Stats};
use crate::bits::{Bitmap, BitmapView, Bits};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result};
use growth::{Growth, STATE_BITS, stored_bits};
use layer::Layer;

/// The words of the state: the keys in the newest layer, and its ones.
const KEYS: u64 = 0;
const ONES: u64 = 1;

/// The scalable Bloom filter of the paper, over bits of any storage.
///
/// ```
/// use mayhap::Sliced;
///
/// let mut seen = Sliced::with_capacity(1000, 0.01)?; // a guess: 1000 keys to begin with
/// seen.insert_all(0..100_000_u32);
/// assert!(seen.contains_all(0..100_000_u32));
/// assert!(seen.stats().rate < 0.01, "the rate is kept, whatever the number of keys");
/// let slices: Vec<u32> = seen.shapes().map(|layer| layer.slices()).collect();
/// assert_eq!(slices, [10, 10, 10, 11, 11, 11, 11]);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sliced<B = Bitmap> {
    /// One line: [`KEYS`], [`ONES`], and zeros.
    state: B,
    /// Oldest first; never none.
    layers: Vec<Layer<B>>,
    growth: Growth,
    digester: Digester,
    /// The most bits that the filter may have.
    most_bits: u64,
}

/// A [`Sliced`] over borrowed bytes: it can be asked, not inserted into.
pub type SlicedView<D> = Sliced<BitmapView<D>>;

impl Sliced {
    /// A filter that begins with room for `keys` keys and keeps the rate `rate` as it grows, with the
    /// default options and hashed without a secret.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or above 2^53, `rate` is not strictly between 0 and 1 or needs more than 64
    /// slices, or there is no memory for the first layer.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Sliced> {
        Sliced::new(keys, rate, ScalableOptions::default())
    }

    /// A filter as by [`with_capacity`](Sliced::with_capacity), that grows in another way.
    ///
    /// # Errors
    ///
    /// Also when an option is out of its range.
    pub fn new(keys: u64, rate: f64, options: ScalableOptions) -> Result<Sliced> {
        Sliced::with_digester(keys, rate, options, Digester::default())
    }

    /// A filter as by [`new`](Sliced::new), hashed by this digester.
    ///
    /// # Errors
    ///
    /// As [`new`](Sliced::new).
    pub fn with_digester(
        keys: u64,
        rate: f64,
        options: ScalableOptions,
        digester: Digester,
    ) -> Result<Sliced> {
        let growth = Growth::new(keys, rate, options)?;
        Ok(Sliced {
            state: Bitmap::new(STATE_BITS)?,
            layers: vec![Layer::new(growth.layer(0)?)?],
            growth,
            digester,
            most_bits: u64::MAX,
        })
    }

    /// The description of [`with_capacity`](Sliced::with_capacity)'s filter; makes none.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Sliced::with_capacity), but for want of memory.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let growth = Growth::new(keys, rate, ScalableOptions::default())?;
        Ok(describe(growth, &[growth.layer(0)?], Digester::default()))
    }

    /// The same filter, which will not grow past this many bits: keys still go in then, at a rate
    /// that rises, and [`stats`](Sliced::stats) says that it is over capacity. Files do not keep
    /// this limit.
    ///
    /// ```
    /// use mayhap::Sliced;
    ///
    /// let mut filter = Sliced::with_capacity(1000, 0.01)?.limited_to(20_000);
    /// filter.insert_all(0..5000_u32);
    /// assert!(filter.contains_all(0..5000_u32));
    /// assert!(filter.stats().bits <= 20_000 && filter.stats().is_over_capacity());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn limited_to(mut self, bits: u64) -> Sliced {
        self.most_bits = bits;
        self
    }

    /// Forgets every key and gives back all layers but the first.
    pub fn clear(&mut self) {
        self.layers.truncate(1);
        self.layers[0].clear();
        self.state.clear_all();
    }

    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits in some layer.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        if self.contains_digest(digest) {
            return false;
        }
        let [keys, ones] = [KEYS, ONES].map(|word| self.state.word(word));
        if self.newest().is_full_with(keys, ones) {
            self.grow();
        }
        let ones = self.newest().insert_digest(digest);
        for (word, more) in [(KEYS, 1), (ONES, ones)] {
            let count = self.state.word(word).saturating_add(more);
            self.state.set_word(word, count);
        }
        true
    }

    /// Inserts every key and returns how many were definitely new.
    pub fn insert_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> u64 {
        let mut new = 0;
        self.insert_each(keys, |is_new| new += u64::from(is_new));
        new
    }

    /// Answers [`insert`](Sliced::insert) for each key, in order; no faster than one by one.
    pub fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        for key in keys {
            answer(self.insert(&key));
        }
    }

    /// Answers [`insert`](Sliced::insert) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K], new: &mut [bool]) {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        self.insert_each(keys, into_slice(new));
    }

    /// The layer that keys go into.
    fn newest(&mut self) -> &mut Layer<Bitmap> {
        self.layers.last_mut().expect("there is always a layer")
    }

    /// Begins a new layer, if there is memory for it; where there is none, the next key tries again.
    fn grow(&mut self) {
        let Ok(shape) = self.growth.layer(self.layers.len() as u32) else {
            return;
        };
        let parts = self.parts().into_iter().map(Bits::size);
        if parts.sum::<u64>() + shape.stored_bits() > self.most_bits {
            return;
        }
        if let Ok(layer) = Layer::new(shape) {
            self.layers.push(layer);
            self.state.clear_all();
        }
    }
}

impl<B: Bits> Sliced<B> {
    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// Whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let mut newest_first = self.layers.iter().rev();
        newest_first.any(|layer| layer.contains_digest(digest))
    }

    /// Whether every key may be in the filter; stops at the first that is certainly not.
    pub fn contains_all<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> bool {
        keys.into_iter().all(|key| self.contains(&key))
    }

    /// Answers [`contains`](Sliced::contains) for each key, in order; no faster than one by one.
    pub fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        for key in keys {
            answer(self.contains(&key));
        }
    }

    /// Answers [`contains`](Sliced::contains) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `found` and `keys` differ in length.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        self.contains_each(keys, into_slice(found));
    }

    /// What the filter holds now, and the rate that gives. Counts every bit of every slice. The promise
    /// is the capacity of the layers there are, at the rate asked for.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            bits: 0,
            ones: 0,
            keys: Some(0.0),
            rate: 0.0,
            promise: Some(Promise {
                keys: self.capacity(),
                rate: self.growth.promise.rate,
            }),
        };
        for layer in self.layers.iter().map(Layer::stats) {
            stats.bits += layer.bits;
            stats.ones += layer.ones;
            stats.keys = stats.keys.zip(layer.keys).map(|(sum, keys)| sum + keys);
            stats.rate += layer.rate - stats.rate * layer.rate;
        }
        stats
    }

    /// The positions of a key's bits in each layer, oldest layer first, one position per slice.
    pub fn positions(&self, digest: Digest) -> impl Iterator<Item = Vec<u64>> {
        self.layers
            .iter()
            .map(move |layer| layer.positions(digest).collect())
    }

    /// The number of layers: a lookup of an absent key asks them all.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The size of each layer, the oldest first.
    pub fn shapes(&self) -> impl Iterator<Item = SlicedShape> {
        self.layers.iter().map(Layer::shape)
    }

    /// The keys that the layers there are take.
    pub fn capacity(&self) -> u64 {
        self.shapes().map(SlicedShape::capacity).sum()
    }

    /// How the filter grows.
    pub fn options(&self) -> ScalableOptions {
        self.growth.options
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.digester
    }
}

impl<B: Bits> Filter for Sliced<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Sliced::stats(self)
    }
}

impl Insert for Sliced {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }
}

fn describe(growth: Growth, layers: &[SlicedShape], digester: Digester) -> Description {
    Description {
        kind: Kind::Sliced,
        hashing: digester.into(),
        bits: stored_bits(layers),
        hashes: layers[0].slices(),
        detail: growth.options.detail(layers.len() as u32),
        promise: Some(growth.promise),
    }
}

impl<B: Bits> Assemble for Sliced<B> {
    type Bits = B;

    fn description(&self) -> Description {
        let layers: Vec<SlicedShape> = self.shapes().collect();
        describe(self.growth, &layers, self.digester.clone())
    }

    fn parts(&self) -> Vec<&B> {
        let layers = self.layers.iter().map(Layer::bits);
        [&self.state].into_iter().chain(layers).collect()
    }

    fn check(description: &Description) -> Result<()> {
        description.digester()?;
        Growth::described(description).map(drop)
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        description.digester()?;
        let (_, layers) = Growth::described(description)?;
        let layers = layers.into_iter().map(SlicedShape::stored_bits);
        Ok([STATE_BITS].into_iter().chain(layers).collect())
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Sliced<B>> {
        let digester = description.digester()?;
        let (growth, shapes) = Growth::described(description)?;
        let (state, parts) = description.state_and_others(parts, shapes.len(), 2)?;
        let layers = parts.into_iter().zip(shapes);
        let layers = layers.map(|(bits, shape)| Layer::from_bits(bits, shape));
        Ok(Sliced {
            state,
            layers: layers.collect::<Result<_>>()?,
            growth,
            digester,
            most_bits: u64::MAX,
        })
    }
}

impl Merge for Sliced {
    /// Refuses: layers of one may be where the other's have other sizes, and no layer may take more
    /// keys than its capacity.
    fn union(&mut self, _: &Sliced) -> Result<()> {
        Err(Error::Unsupported {
            kind: "sliced",
            what: "be joined with another",
            instead: "insert the keys of one into the other, or ask both",
        })
    }
}
