//! A Bloom filter for an unknown number of keys: it grows.
//!
//! Keys go into the newest layer, a [`Blocked`]; when it is full, a larger and stricter one is begun.
//! A lookup asks every layer, newest first. The layers' rates are a geometric series whose sum is the
//! rate asked for (`growth.rs`), and a chance of many is at most the sum of theirs, so the rate holds
//! however far it grows, and however alike the layers hash: a key is hashed once for all of them. No
//! false negatives, ever; where there is no memory for a layer, keys go on into the newest, and
//! [`Scalable::stats`] says that it is over capacity.
//!
//! Full, it needs 1.6 to 1.75 times the bits of a [`Blocked`] at 1 %; just grown, up to 64 bits per key. It has one line
//! per layer to look at. After Almeida, Baquero, Preguiça, Hutchison, "Scalable Bloom Filters", 2007.

mod adopt;
mod growth;
mod options;

pub use options::ScalableOptions;

use super::description::Wrap;
use super::layered::{Layer, Layered, describe, refuse_union};
use super::{Blocked, Description, Filter, Insert, Kind, Merge, Stats};
use crate::bits::{Bitmap, Bits};
use crate::hash::{Digest, Digester};
use crate::{Key, Result, kinds::BlockedShape};
use growth::Growth;

/// Keys at a time where the newest layer may run full among them.
const CHUNK: usize = 128;

/// A Bloom filter that grows with its keys, over bits of any storage.
///
/// ```
/// use mayhap::{Filter, Insert, Scalable};
///
/// let mut seen = Scalable::with_capacity(1000, 0.01)?; // a guess: 1000 keys to begin with
/// seen.insert_all(0..100_000_u32);
/// assert!(seen.contains_all(0..100_000_u32));
/// assert!(seen.stats().rate < 0.01, "the rate is kept, whatever the number of keys");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Scalable<B = Bitmap> {
    /// The first word of the state is the number of keys in the newest layer; the others are 0.
    body: Layered<B, Blocked<B>, Growth>,
}

impl Scalable {
    /// A filter that begins with room for `keys` keys and keeps the rate `rate` as it grows, with the
    /// default options and hashed without a secret.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or too low for its layers, or there
    /// is no memory for the first one.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Scalable> {
        Scalable::with_options(keys, rate, ScalableOptions::default())
    }

    /// A filter as by [`with_capacity`](Scalable::with_capacity), that grows in another way.
    ///
    /// # Errors
    ///
    /// Also when an option is out of its range.
    pub fn with_options(keys: u64, rate: f64, options: ScalableOptions) -> Result<Scalable> {
        Scalable::new(keys, rate, options, Digester::default())
    }

    /// A filter as by [`with_options`](Scalable::with_options), hashed by this digester.
    ///
    /// # Errors
    ///
    /// As [`with_options`](Scalable::with_options).
    pub fn new(
        keys: u64,
        rate: f64,
        options: ScalableOptions,
        digester: Digester,
    ) -> Result<Scalable> {
        let growth = Growth::new(keys, rate, options)?;
        Layered::new(growth, digester).map(Scalable::wrap)
    }

    /// Describes the filter that [`with_capacity`](Scalable::with_capacity) would make, without allocating it.
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
    /// use mayhap::{Filter, Insert, Scalable};
    ///
    /// let mut filter = Scalable::with_capacity(1000, 0.01)?.limited_to(20_000);
    /// filter.insert_all(0..5000_u32);
    /// assert!(filter.contains_all(0..5000_u32));
    /// assert!(filter.stats().bits <= 20_000 && filter.stats().is_over_capacity());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn limited_to(mut self, bits: u64) -> Scalable {
        self.body.most_bits = bits;
        self
    }

    /// Forgets every key and gives back all layers but the first.
    pub fn clear(&mut self) {
        self.body.shrink_to_first().clear();
    }

    /// Begins a larger layer at once if the newest took more keys than it is for, because there was no memory for another
    /// then. False when there still is none.
    pub fn catch_up(&mut self) -> bool {
        if self.body.state.word(0) < self.body.capacity {
            return true;
        }
        let has_grown = self.body.grow();
        if has_grown {
            self.body.state.clear_all();
        }
        has_grown
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
        if self.room() == 0 && self.body.grow() {
            self.body.state.clear_all();
        }
        self.body.newest().insert_digest(digest);
        self.body.count(0, 1);
        true
    }

    /// Inserts up to `room` keys, for which there must be room; returns how many there were.
    fn insert_within<K: Key>(
        &mut self,
        keys: &mut impl Iterator<Item = K>,
        room: usize,
        mut answer: impl FnMut(bool),
    ) -> usize {
        let (mut taken, mut new) = (0, 0);
        Blocked::layers_insert_each(&mut self.body.layers, keys.take(room), |is_new| {
            taken += 1;
            new += u64::from(is_new);
            answer(is_new);
        });
        self.body.count(0, new);
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
            Blocked::prefetch_layers(&self.body.layers, *slot);
            taken += 1;
        }
        for &digest in &digests[..taken] {
            answer(self.insert_digest(digest));
        }
        taken
    }

    /// Returns how many keys go into the newest layer before a larger one is tried. Where none could be had,
    /// it is tried again after as many keys as the newest takes.
    fn room(&self) -> u64 {
        let capacity = self.body.capacity;
        match self.body.state.word(0) {
            0 => capacity,
            keys => (capacity - keys % capacity) % capacity,
        }
    }
}

impl<B: Bits> Scalable<B> {
    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester().digest(key.key_bytes().as_ref()))
    }

    /// Returns whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        Blocked::layers_contain(&self.body.layers, digest)
    }

    /// Returns what the filter holds now, and the rate that gives. Reads every layer. The promise is the
    /// capacity of the layers there are, at the rate asked for. Keys of the newest layer are counted,
    /// so that a small filter is over capacity only when it could not grow.
    pub fn stats(&self) -> Stats {
        self.body.stats(Some(self.body.state.word(0)))
    }

    /// The number of layers: a lookup of an absent key asks them all.
    pub fn layers(&self) -> usize {
        self.body.layers.len()
    }

    /// The layers, oldest first: each is a filter of its own, and a key is in one of them.
    pub fn filters(&self) -> impl Iterator<Item = &Blocked<B>> {
        self.body.layers.iter()
    }

    /// The keys that the layers there are take.
    pub fn capacity(&self) -> u64 {
        self.body.capacity()
    }

    /// Returns the way the filter grows.
    pub fn options(&self) -> ScalableOptions {
        self.body.growth.options
    }

    /// Returns the way keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.digester
    }
}

impl<B: Bits> Filter for Scalable<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Scalable::stats(self)
    }

    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        Blocked::layers_contain_each(&self.body.layers, keys, answer);
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl Insert for Scalable {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_each<K: Key>(
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

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl<B: Bits> Layer<Growth> for Blocked<B> {
    type Bits = B;

    fn over(bits: B, shape: BlockedShape, digester: &Digester) -> Result<Blocked<B>> {
        Blocked::from_bits(bits, shape, digester.clone())
    }

    #[inline]
    fn holds(&self, digest: Digest) -> bool {
        self.contains_digest(digest)
    }

    fn statistics(&self) -> Stats {
        self.stats()
    }

    fn stored(&self) -> &B {
        self.bits()
    }
}

impl<B: Bits> Wrap for Scalable<B> {
    type Body = Layered<B, Blocked<B>, Growth>;

    fn wrap(body: Self::Body) -> Scalable<B> {
        Scalable { body }
    }

    fn body(&self) -> &Self::Body {
        &self.body
    }
}

impl Merge for Scalable {
    fn union(&mut self, _: &Scalable) -> Result<()> {
        refuse_union(Kind::Scalable)
    }
}
