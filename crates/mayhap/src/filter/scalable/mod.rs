//! A Bloom filter for an unknown number of keys: it grows.
//!
//! Keys go into the newest layer, a [`Blocked`]; when it is full, a larger and stricter one is begun.
//! A lookup asks every layer, newest first. The layers' rates are a geometric series whose sum is the
//! rate asked for (`growth.rs`), and a chance of many is at most the sum of theirs, so the rate holds
//! however far it grows, and however alike the layers hash: a key is hashed once for all of them. No
//! false negatives, ever; where there is no memory for a layer, keys go on into the newest, and
//! [`Scalable::stats`] says that it is over capacity.
//!
//! Full, it needs 1.6 to 1.75 times the bits of a [`Blocked`] at 1 %, and has one line per layer to
//! look at. After Almeida, Baquero, Preguiça, Hutchison, "Scalable Bloom Filters", 2007.

mod adopt;
mod growth;
mod options;

use alloc::vec;
use alloc::vec::Vec;

pub use options::ScalableOptions;

use super::roll::into_slice;
use super::{Assemble, Blocked, Description, Filter, Insert, Kind, Merge, Promise, Stats};
use crate::bits::{Bitmap, BitmapView, Bits};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result};
use growth::{Growth, STATE_BITS};

/// Keys at a time where the newest layer may run full among them.
const CHUNK: usize = 128;

/// A Bloom filter that grows with its keys, over bits of any storage.
///
/// ```
/// use mayhap::Scalable;
///
/// let mut seen = Scalable::with_capacity(1000, 0.01)?; // a guess: 1000 keys to begin with
/// seen.insert_all(0..100_000_u32);
/// assert!(seen.contains_all(0..100_000_u32));
/// assert!(seen.stats().rate < 0.01, "the rate is kept, whatever the number of keys");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scalable<B = Bitmap> {
    /// One line. Its first word is the number of keys in the newest layer; the others are 0.
    state: B,
    /// Oldest first; never none.
    layers: Vec<Blocked<B>>,
    growth: Growth,
    /// The keys that the newest layer takes.
    capacity: u64,
    /// The most bits that the layers may have.
    most_bits: u64,
}

/// A [`Scalable`] over borrowed bytes: it can be asked, not inserted into.
pub type ScalableView<D> = Scalable<BitmapView<D>>;

impl Scalable {
    /// A filter that begins with room for `keys` keys and keeps the rate `rate` as it grows, with the
    /// default options and hashed without a secret.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or too low for its layers, or there
    /// is no memory for the first one.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Scalable> {
        Scalable::new(keys, rate, ScalableOptions::default())
    }

    /// A filter as by [`with_capacity`](Scalable::with_capacity), that grows in another way.
    ///
    /// # Errors
    ///
    /// Also when an option is out of its range.
    pub fn new(keys: u64, rate: f64, options: ScalableOptions) -> Result<Scalable> {
        Scalable::with_digester(keys, rate, options, Digester::default())
    }

    /// A filter as by [`new`](Scalable::new), hashed by this digester.
    ///
    /// # Errors
    ///
    /// As [`new`](Scalable::new).
    pub fn with_digester(
        keys: u64,
        rate: f64,
        options: ScalableOptions,
        digester: Digester,
    ) -> Result<Scalable> {
        let growth = Growth::new(keys, rate, options)?;
        Ok(Scalable {
            state: Bitmap::new(STATE_BITS)?,
            layers: vec![Blocked::new(growth.first, digester)?],
            growth,
            capacity: growth.capacity(0),
            most_bits: u64::MAX,
        })
    }

    /// The description of [`with_capacity`](Scalable::with_capacity)'s filter; makes none.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Scalable::with_capacity), but for want of memory.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let growth = Growth::new(keys, rate, ScalableOptions::default())?;
        Ok(describe(growth, 1, Digester::default()))
    }

    /// The same filter, which will not grow past this many bits: keys still go in then, at a rate
    /// that rises, and [`stats`](Scalable::stats) says that it is over capacity. Files do not keep
    /// this limit.
    ///
    /// ```
    /// use mayhap::Scalable;
    ///
    /// let mut filter = Scalable::with_capacity(1000, 0.01)?.limited_to(20_000);
    /// filter.insert_all(0..5000_u32);
    /// assert!(filter.contains_all(0..5000_u32));
    /// assert!(filter.stats().bits <= 20_000 && filter.stats().is_over_capacity());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn limited_to(mut self, bits: u64) -> Scalable {
        self.most_bits = bits;
        self
    }

    /// Forgets every key and gives back all layers but the first.
    pub fn clear(&mut self) {
        self.layers.truncate(1);
        self.layers[0].clear();
        self.state.clear_all();
        self.capacity = self.growth.capacity(0);
    }

    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits in some layer.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.digester().digest(key.key_bytes().as_ref()))
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        if self.contains_digest(digest) {
            return false;
        }
        if self.room() == 0 {
            self.grow();
        }
        self.newest().insert_digest(digest);
        self.count(1);
        true
    }

    /// Inserts every key and returns how many were definitely new.
    pub fn insert_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> u64 {
        let mut new = 0;
        self.insert_each(keys, |is_new| new += u64::from(is_new));
        new
    }

    /// Answers [`insert`](Scalable::insert) for each key, in order, keeping many lines on their way
    /// from memory at a time.
    pub fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let mut keys = keys.into_iter();
        loop {
            let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
            let taken = match room {
                ..CHUNK => self.insert_chunk(&mut keys, &mut answer),
                _ => self.insert_within(&mut keys, room, &mut answer),
            };
            if taken == 0 {
                return;
            }
        }
    }

    /// Inserts up to `room` keys, for which there must be room; returns how many there were.
    fn insert_within<K: Key>(
        &mut self,
        keys: &mut impl Iterator<Item = K>,
        room: usize,
        mut answer: impl FnMut(bool),
    ) -> usize {
        let (mut taken, mut new) = (0, 0);
        Blocked::layers_insert_each(&mut self.layers, keys.take(room), |is_new| {
            taken += 1;
            new += u64::from(is_new);
            answer(is_new);
        });
        self.count(new);
        taken
    }

    /// Inserts up to a chunk of keys one by one, and grows on the way if need be; their lines are
    /// asked for first. Returns how many there were.
    fn insert_chunk<K: Key>(
        &mut self,
        keys: &mut impl Iterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) -> usize {
        let digester = self.digester();
        let mut digests = [Digest::default(); CHUNK];
        let mut taken = 0;
        for (slot, key) in digests.iter_mut().zip(keys) {
            *slot = digester.digest(key.key_bytes().as_ref());
            Blocked::prefetch_layers(&self.layers, *slot);
            taken += 1;
        }
        for &digest in &digests[..taken] {
            answer(self.insert_digest(digest));
        }
        taken
    }

    /// Answers [`insert`](Scalable::insert) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K], new: &mut [bool]) {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        self.insert_each(keys, into_slice(new));
    }

    /// The layer that keys go into.
    fn newest(&mut self) -> &mut Blocked {
        self.layers.last_mut().expect("there is always a layer")
    }

    /// How many keys go into the newest layer before a larger one is tried. Where none could be had,
    /// it is tried again after as many keys as the newest takes.
    fn room(&self) -> u64 {
        match self.state.word(0) {
            0 => self.capacity,
            keys => (self.capacity - keys % self.capacity) % self.capacity,
        }
    }

    /// Counts keys that went into the newest layer.
    fn count(&mut self, keys: u64) {
        let count = self.state.word(0).saturating_add(keys);
        self.state.set_word(0, count);
    }

    /// Begins a new layer, if there is memory for it.
    fn grow(&mut self) {
        let index = self.layers.len() as u32;
        let Ok(shape) = self.growth.layer(index) else {
            return;
        };
        if self.growth.bits(index + 1) > self.most_bits {
            return;
        }
        if let Ok(layer) = Blocked::new(shape, self.digester().clone()) {
            self.layers.push(layer);
            self.capacity = self.growth.capacity(index);
            self.state.set_word(0, 0);
        }
    }
}

impl<B: Bits> Scalable<B> {
    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester().digest(key.key_bytes().as_ref()))
    }

    /// Whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let mut newest_first = self.layers.iter().rev();
        newest_first.any(|layer| layer.contains_digest(digest))
    }

    /// Whether every key may be in the filter. Asks in chunks, so it may look at some keys past the
    /// first that is certainly not there.
    pub fn contains_all<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> bool {
        let mut all = true;
        self.contains_each(keys, |found| all &= found);
        all
    }

    /// Answers [`contains`](Scalable::contains) for each key, in order, keeping many lines on their
    /// way from memory at a time.
    pub fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        Blocked::layers_contain_each(&self.layers, keys, answer);
    }

    /// Answers [`contains`](Scalable::contains) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `found` and `keys` differ in length.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        self.contains_each(keys, into_slice(found));
    }

    /// What the filter holds now, and the rate that gives. Reads every layer. The promise is the
    /// capacity of the layers there are, at the rate asked for.
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
        for layer in self.layers.iter().map(Blocked::stats) {
            stats.bits += layer.bits;
            stats.ones += layer.ones;
            stats.keys = stats.keys.zip(layer.keys).map(|(sum, keys)| sum + keys);
            stats.rate += layer.rate - stats.rate * layer.rate;
        }
        stats
    }

    /// The number of layers: a lookup of an absent key asks them all.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The layers, oldest first: each is a filter of its own, and a key is in one of them.
    pub fn filters(&self) -> impl Iterator<Item = &Blocked<B>> {
        self.layers.iter()
    }

    /// The keys that the layers there are take.
    pub fn capacity(&self) -> u64 {
        let older = self.layers.len() as u32 - 1;
        let older = (0..older).map(|index| self.growth.capacity(index));
        older.fold(self.capacity, u64::saturating_add)
    }

    /// How the filter grows.
    pub fn options(&self) -> ScalableOptions {
        self.growth.options
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        self.layers[0].digester()
    }
}

impl<B: Bits> Filter for Scalable<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Scalable::stats(self)
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl Insert for Scalable {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

fn describe(growth: Growth, layers: u32, digester: Digester) -> Description {
    Description {
        kind: Kind::Scalable,
        hashing: digester.into(),
        bits: growth.bits(layers),
        hashes: growth.first.hashes(),
        detail: growth.detail(layers),
        promise: Some(growth.promise),
    }
}

impl<B: Bits> Assemble for Scalable<B> {
    type Bits = B;

    fn description(&self) -> Description {
        describe(
            self.growth,
            self.layers.len() as u32,
            self.digester().clone(),
        )
    }

    fn parts(&self) -> Vec<&B> {
        let layers = self.layers.iter().map(Blocked::bits);
        [&self.state].into_iter().chain(layers).collect()
    }

    fn check(description: &Description) -> Result<()> {
        description.digester()?;
        Growth::described(description).map(drop)
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        Self::check(description)?;
        let (growth, layers) = Growth::described(description)?;
        let bits = |index| growth.layer(index).map(|shape| shape.bits());
        [Ok(STATE_BITS)]
            .into_iter()
            .chain((0..layers).map(bits))
            .collect()
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Scalable<B>> {
        let digester = description.digester()?;
        let (growth, layers) = Growth::described(description)?;
        let (state, parts) = description.state_and_others(parts, layers as usize, 1)?;
        let layers = (0..).zip(parts);
        let layers = layers.map(|(index, bits)| {
            let shape = growth.layer(index)?;
            Blocked::from_bits(bits, shape, digester.clone())
        });
        let layers: Vec<Blocked<B>> = layers.collect::<Result<_>>()?;
        Ok(Scalable {
            state,
            capacity: growth.capacity(layers.len() as u32 - 1),
            layers,
            growth,
            most_bits: u64::MAX,
        })
    }
}

impl Merge for Scalable {
    /// Refuses: layers of one may be where the other's have other sizes, and no layer may take more
    /// keys than its capacity.
    fn union(&mut self, _: &Scalable) -> Result<()> {
        Err(Error::Unsupported {
            kind: "scalable",
            what: "be joined with another",
            instead: "insert the keys of one into the other, or ask both",
        })
    }
}
