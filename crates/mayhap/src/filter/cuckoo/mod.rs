//! A filter that can forget, in about a quarter of the memory of [`Counting`](crate::Counting).
//!
//! A key is a fingerprint of a few bits in a slot of one of two buckets (`table.rs`). Where both are full, fingerprints move
//! to their other buckets to make room (`search.rs`). Removing a key empties a slot. When no room can be made, a larger and
//! stricter layer is begun, so that the rate asked for holds however far it grows (`growth.rs`). No false negatives while
//! only members are removed; see [`Cuckoo::remove`].
//!
//! Takes 10.4 bits per key at 1 % and 13.9 at 0.1 %, and two cache lines per layer. If nothing is removed,
//! [`Blocked`](crate::Blocked) reads one, and is smaller at 1 %, though not at 0.5 % and below. After Fan, Andersen,
//! Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", 2014; how the other bucket is found among any
//! number of them, and the search, are ours.

mod changes;
mod growth;
mod options;
mod piles;
mod search;
mod table;
mod whole;

pub use options::CuckooOptions;
pub use table::CuckooShape;

use alloc::vec::Vec;

use super::description::Wrap;
use super::layered::{Layer as _, Layered, describe, refuse_union};
use super::places::{Needed, Places};
use super::roll::roll_large;
use super::{Count, Description, Filter, Insert, Kind, Merge, Remove, Stats};
use crate::bits::{Bitmap, Bits};
use crate::hash::{Digest, Digester};
use crate::{Key, Result};
use changes::{KEYS, LOST, PILED, REMOVED};
use growth::Growth;
use piles::Before;
use table::Table;

/// A filter that keys can be removed from and that grows with its keys, over bits of any storage.
///
/// ```
/// use mayhap::Cuckoo;
///
/// let mut live = Cuckoo::with_capacity(1_000_000, 0.01)?; // 1.3 MB
/// assert!(live.insert("session 17"), "definitely new");
/// assert!(live.contains("session 17"));
/// assert!(live.remove("session 17"));
/// assert!(!live.contains("session 17"));
/// assert!(!live.remove("session 18"), "certainly not there: nothing changed");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Cuckoo<B = Bitmap> {
    /// The state has [`KEYS`], [`LOST`], [`REMOVED`], [`PILED`], zeros, and the piles.
    body: Layered<B, Table<B>, Growth>,
    /// The keys that the layers there are take.
    capacity: u64,
    /// The state before a batch that may be taken back.
    before: Option<Before>,
}

impl Cuckoo {
    /// A filter that begins with room for `keys` keys and keeps the rate `rate` as it grows, with the default options.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or too low, or there is no memory for the first layer.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Cuckoo> {
        Cuckoo::with_options(keys, rate, CuckooOptions::default())
    }

    /// A filter as by [`with_capacity`](Cuckoo::with_capacity), with these options.
    ///
    /// # Errors
    ///
    /// Also when an option is out of its range, or fingerprints of a given length cannot keep the rate.
    pub fn with_options(keys: u64, rate: f64, options: CuckooOptions) -> Result<Cuckoo> {
        let growth = Growth::new(keys, rate, &options)?;
        Layered::new(growth, options.digester).map(Cuckoo::wrap)
    }

    /// Describes the filter that [`with_capacity`](Cuckoo::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Cuckoo::with_capacity), but for want of memory.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        Cuckoo::plan_with(keys, rate, CuckooOptions::default())
    }

    /// Describes the filter that [`with_options`](Cuckoo::with_options) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// As [`with_options`](Cuckoo::with_options), but for want of memory.
    pub fn plan_with(keys: u64, rate: f64, options: CuckooOptions) -> Result<Description> {
        let growth = Growth::new(keys, rate, &options)?;
        Ok(describe(growth, 1, options.digester))
    }

    /// The same filter, whose layers will not grow past this many bits. Files do not keep this limit. Keys that are in more
    /// often than two buckets have slots may take a quarter of the newest layer more, or 512 bytes.
    ///
    /// ```
    /// use mayhap::{Cuckoo, Error};
    ///
    /// let mut live = Cuckoo::with_capacity(1000, 0.01)?.limited_to(50_000);
    /// let full = (0..10_000_u32).find_map(|key| live.try_insert(&key).err());
    /// assert!(matches!(full, Some(Error::Full { keys }) if keys > 1000));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn limited_to(mut self, bits: u64) -> Cuckoo {
        self.body.most_bits = bits;
        self
    }

    /// Forgets every key and gives back all layers but the first.
    pub fn clear(&mut self) {
        self.body.shrink_to_first().slots.clear();
        self.drop_piles();
        self.capacity = self.body.capacity();
    }
}

impl<B: Bits> Cuckoo<B> {
    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester().digest(key.key_bytes().as_ref()))
    }

    /// Whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.body.contains_digest(digest) || self.lost() > 0 || self.piled(digest) > 0
    }

    /// How often the key was inserted and not removed again: never less, and sometimes more.
    ///
    /// ```
    /// use mayhap::{Cuckoo, Insert};
    ///
    /// let mut filter = Cuckoo::with_capacity(1000, 0.01)?;
    /// filter.insert_all(["a", "b", "a"]);
    /// assert_eq!(["a", "b", "c"].map(|key| filter.count(key)), [2, 1, 0]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.count_digest(self.digester().digest(key.key_bytes().as_ref()))
    }

    /// How often a key with this digest was inserted; as [`count`](Cuckoo::count).
    pub fn count_digest(&self, digest: Digest) -> u64 {
        let layers = self.body.layers.iter();
        let counts = layers.map(|layer| layer.slots.count(&layer.home(digest)));
        let beside = self.lost().saturating_add(self.piled(digest));
        counts.fold(beside, u64::saturating_add)
    }

    /// Whether a layer has as many fingerprints of a key as its buckets have slots.
    fn is_stuck(&self, digest: Digest) -> bool {
        let mut layers = self.body.layers.iter();
        layers.any(|layer| layer.slots.is_stuck(&layer.home(digest)))
    }

    /// What the filter holds now, and the rate that gives. Reads every slot.
    ///
    /// [`Stats::keys`] counts keys as often as they are in, and is `None` when some found no room: the rate is 1 then.
    /// [`Stats::ones`] counts all bits of the slots that are taken. The promise is the capacity of the layers there
    /// are, at the rate asked for.
    pub fn stats(&self) -> Stats {
        let mut stats = self.body.stats(None);
        let piled = self.body.state.word(PILED);
        stats.keys = stats.keys.map(|keys| keys + piled as f64);
        match self.lost() {
            0 => stats,
            _ => Stats {
                keys: None,
                rate: 1.0,
                ..stats
            },
        }
    }

    /// How many keys are in the filter, each as often as it is: inserts less removals.
    pub fn keys(&self) -> u64 {
        let numbers = [KEYS, LOST, PILED].map(|word| self.body.state.word(word));
        numbers.into_iter().fold(0, u64::saturating_add)
    }

    /// The inserts that found no room in a filter that could not grow; it finds every key while there are any.
    pub fn lost(&self) -> u64 {
        self.body.state.word(LOST)
    }

    /// The removals since the filter was made or cleared.
    pub fn removed(&self) -> u64 {
        self.body.state.word(REMOVED)
    }

    /// The number of layers: a lookup of an absent key asks them all.
    pub fn layers(&self) -> usize {
        self.body.layers.len()
    }

    /// The size of each layer, the oldest first.
    pub fn shapes(&self) -> impl Iterator<Item = CuckooShape> {
        self.body.layers.iter().map(|layer| layer.shape)
    }

    /// The fingerprint of a key in each layer, the oldest first, and the two buckets that it may be in.
    pub fn homes(&self, digest: Digest) -> impl Iterator<Item = (u64, [u64; 2])> {
        let homes = self.body.layers.iter().map(move |layer| layer.home(digest));
        homes.map(|home| (home.fingerprint, home.buckets))
    }

    /// Where the filter keeps a key with this digest.
    pub(super) fn places(&self, digest: Digest) -> Vec<Places> {
        let layers = self.body.layers.iter().zip(1..);
        let places = layers.map(|(layer, part)| {
            let (home, bucket) = (layer.home(digest), u64::from(layer.shape.bucket));
            let buckets = home.distinct().iter();
            let slots = buckets.flat_map(|index| index * bucket..(index + 1) * bucket);
            let (width, needed) = (layer.shape.fingerprint, Needed::Any(home.fingerprint));
            Places::numbers("slot", part, layer.stored(), width, slots, needed)
                .of("layer", part as u64)
        });
        places.collect()
    }

    /// The keys that the layers there are take before the next one is begun.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What the filter was made with.
    pub fn options(&self) -> CuckooOptions {
        let numbers = self.body.growth.numbers;
        CuckooOptions {
            fingerprint: numbers.fingerprint,
            bucket: Some(numbers.bucket),
            growth: numbers.growth.map_or(0, |power| 1 << power),
            search: 1 << numbers.search,
            digester: self.digester().clone(),
        }
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.digester
    }

    /// The bits of all layers and of the state: those of its description.
    pub fn stored_bits(&self) -> u64 {
        let layers = self.body.layers.iter().map(|layer| layer.stored().size());
        self.body.state.size() + layers.sum::<u64>()
    }

    /// Hints that the buckets of a key will soon be read or written.
    #[inline]
    fn prefetch(&self, digest: Digest) {
        for layer in &self.body.layers {
            layer.slots.prefetch(&layer.home(digest));
        }
    }
}

impl<B: Bits> Filter for Cuckoo<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Cuckoo::stats(self)
    }

    /// Where the filter is larger than the caches, prefetches both buckets of several keys.
    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let prefetch = |filter: &&Cuckoo<B>, digest| filter.prefetch(digest);
        let (bits, mut filter) = (self.stored_bits(), self);
        roll_large(
            bits,
            keys,
            self.digester(),
            &mut filter,
            prefetch,
            |filter, digest| {
                answer(filter.contains_digest(digest));
            },
        );
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl Insert for Cuckoo {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    /// Where the filter is larger than the caches, prefetches both buckets of several keys.
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

impl Remove for Cuckoo {
    fn remove_bytes(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.remove(key))
    }
}

impl<B: Bits> Count for Cuckoo<B> {
    fn count_bytes(&self, key: &[u8]) -> u64 {
        self.count(key)
    }
}

impl<B: Bits> Wrap for Cuckoo<B> {
    type Body = Layered<B, Table<B>, Growth>;

    fn wrap(body: Self::Body) -> Cuckoo<B> {
        let capacity = body.capacity();
        Cuckoo {
            body,
            capacity,
            before: None,
        }
    }

    fn body(&self) -> &Self::Body {
        &self.body
    }
}

impl Merge for Cuckoo {
    /// Refused: where a fingerprint was in the first layer of one, the other's may have no room, and the keys are not there
    /// to be inserted again.
    fn union(&mut self, _: &Cuckoo) -> Result<()> {
        refuse_union(Kind::Cuckoo)
    }
}
