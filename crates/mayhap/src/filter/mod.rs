//! Filters: each joins a way of hashing and a place for bits.
//!
//! Users call the methods of the kinds themselves. The traits here are for code that does not know
//! the kind, and are small enough to be trait objects.

mod any;
mod atomic;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod avx2;
mod blocked;
mod bloom;
mod cascade;
mod counting;
mod cuckoo;
mod description;
mod each;
mod explain;
mod fingerprints;
mod fixed;
mod fuse;
mod guarded;
mod hashes;
mod kernel;
mod kind;
mod layered;
mod load;
mod places;
mod probed;
mod ribbon;
mod roll;
mod scalable;
mod sets;
mod shifting;
mod solved;
mod spatial;
mod spectral;
mod split_block;
mod stats;
mod windowed;

pub use any::AnyFilter;
pub use atomic::Atomic;
pub use blocked::{AtomicBlocked, Blocked, BlockedShape};
pub use bloom::{AtomicBloom, Bloom};
pub use cascade::Cascade;
pub use counting::{Counting, CountingOptions};
pub use cuckoo::{Cuckoo, CuckooOptions, CuckooShape};
pub use description::{Assemble, Description, Hashing};
pub use fingerprints::{Fingerprints, expected_collisions};
pub use fuse::{Fuse, FuseShape};
pub use guarded::Guarded;
pub use kernel::Kernel;
#[cfg(all(feature = "serde", not(loom)))]
pub(crate) use kind::each_kind;
#[cfg(feature = "std")]
pub(crate) use kind::removed;
pub use kind::{Inserts, Kind};
pub use places::{Needed, Place, Places};
pub use ribbon::{Ribbon, RibbonShape};
pub use scalable::{Scalable, ScalableOptions};
pub use sets::{Overlap, exchange_rate};
pub use shifting::{
    Region, Regions, Shifting, ShiftingAssociation, ShiftingMultiplicity, ShiftingShape,
};
pub use solved::Solved;
pub use spatial::{AreaStats, Spatial, SpatialOptions, SpatialShape};
pub use spectral::{Estimate, Spectral, SpectralOptions, SpectralPolicy};
pub use split_block::{AtomicSplitBlock, SplitBlock, SplitBlockShape};
pub use stats::{Promise, Stats};
pub use windowed::{Rotation, Windowed};

use core::cell::Cell;

use crate::{Error, Key, Result};
use roll::into_slice;

/// A filter that can be asked.
pub trait Filter {
    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    fn contains_bytes(&self, key: &[u8]) -> bool;

    /// Returns what the filter holds now, and the rate that gives.
    fn stats(&self) -> Stats;

    /// Looks up each key, in order, and calls `answer` with whether it may be in the filter.
    ///
    /// Kinds whose lookups wait for memory prefetch what several keys need: faster than one by one where the filter is
    /// larger than the caches, and no slower elsewhere. The other two methods for many keys do the same.
    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, mut answer: impl FnMut(bool))
    where
        Self: Sized,
    {
        for key in keys {
            answer(self.contains_bytes(key.key_bytes().as_ref()));
        }
    }

    /// Returns whether every key may be in the filter. Stops soon after the first that is certainly not.
    fn contains_all<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> bool
    where
        Self: Sized,
    {
        let all = Cell::new(true);
        let keys = keys.into_iter().take_while(|_| all.get());
        self.contains_each(keys, |found| all.set(all.get() & found));
        all.get()
    }

    /// Looks up each key, in order, and writes into `found` whether it may be in the filter.
    ///
    /// # Panics
    ///
    /// When `found` and `keys` differ in length.
    fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool])
    where
        Self: Sized,
    {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        self.contains_each(keys, into_slice(found));
    }

    /// Like [`contains_batch`](Filter::contains_batch), for code that does not know the kind.
    ///
    /// # Panics
    ///
    /// When `found` and `keys` differ in length.
    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        for (key, found) in keys.iter().zip(found) {
            *found = self.contains_bytes(key);
        }
    }
}

/// A filter that keys can be inserted into.
pub trait Insert: Filter {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    fn insert_bytes(&mut self, key: &[u8]) -> bool;

    /// Inserts each key, in order, and calls `answer` with whether it was definitely new. Prefetches as
    /// [`contains_each`](Filter::contains_each) does.
    fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) where
        Self: Sized,
    {
        for key in keys {
            answer(self.insert_bytes(key.key_bytes().as_ref()));
        }
    }

    /// Inserts every key and returns how many were definitely new.
    fn insert_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> u64
    where
        Self: Sized,
    {
        let mut new = 0;
        self.insert_each(keys, |is_new| new += u64::from(is_new));
        new
    }

    /// Inserts each key, in order, and writes into `new` whether it was definitely new.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    fn insert_batch<K: Key>(&mut self, keys: &[K], new: &mut [bool])
    where
        Self: Sized,
    {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        self.insert_each(keys, into_slice(new));
    }

    /// Like [`insert_batch`](Insert::insert_batch), for code that does not know the kind.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        for (key, new) in keys.iter().zip(new) {
            *new = self.insert_bytes(key);
        }
    }
}

/// A filter that keys can be removed from.
pub trait Remove: Filter {
    /// Removes the key once. False when it was certainly not in the filter: nothing has changed then.
    ///
    /// True is *mayhap*: a key that was never inserted can pass for one that was, and its removal takes
    /// away what belongs to others.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when nothing can be removed from a filter that is built as this one is.
    fn remove_bytes(&mut self, key: &[u8]) -> Result<bool>;
}

/// A filter that reports how often a key was inserted.
pub trait Count: Filter {
    /// Returns how often the key has come: never less than it has, as far as the filter counts.
    fn count_bytes(&self, key: &[u8]) -> u64;
}

/// A filter that reports which of several areas a key belongs to.
pub trait Area: Filter {
    /// The area of the key: `None` is certain, an area is *mayhap*. Areas count from 1.
    fn area_bytes(&self, key: &[u8]) -> Option<u32>;
}

/// A filter that keys can be inserted into with the area they belong to.
pub trait InsertArea: Area {
    /// Inserts a key of this area, and returns the area it was claimed for before: `None` when it was
    /// *definitely* in none.
    ///
    /// # Errors
    ///
    /// [`Error::Field`] when the filter has no such area; nothing is then changed.
    fn insert_area_bytes(&mut self, key: &[u8], area: u32) -> Result<Option<u32>>;
}

/// Filters that can be joined when they are built alike.
///
/// ```
/// use mayhap::{Blocked, Filter, Insert, Merge};
///
/// let mut left = Blocked::with_capacity(1000, 0.01)?;
/// let mut right = left.clone();
/// left.insert_all(0..200_u32);
/// right.insert_all(100..300_u32);
///
/// let (mut either, mut both) = (left.clone(), left);
/// either.union(&right)?;
/// both.intersect(&right)?;
/// assert!(either.contains_all(0..300_u32) && both.contains_all(100..200_u32));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub trait Merge: Assemble {
    /// Adds every key of `other`: the result is bit for bit the filter that inserting the keys of both would have made,
    /// unless the kind says otherwise.
    ///
    /// # Errors
    ///
    /// When the two are not built alike, or [`Error::Unsupported`] when filters of the kind cannot be joined. The
    /// filter is then unchanged.
    fn union(&mut self, other: &Self) -> Result<()>;

    /// Keeps what is also in `other`.
    ///
    /// Every key that is in both stays, so there are no false negatives for the common keys. But the result is not the
    /// filter that inserting only those would have made: bits that different keys left in both remain. Its rate is above
    /// that filter's, and at or below the lower of the two; [`Stats::keys`] over-estimates the common keys.
    ///
    /// # Errors
    ///
    /// When the two are not built alike, or [`Error::Unsupported`] when filters of the kind cannot be intersected. The
    /// filter is then unchanged.
    fn intersect(&mut self, _other: &Self) -> Result<()> {
        Err(Error::Unsupported {
            kind: self.description().kind.name(),
            what: "be intersected",
            instead: "ask the filter for each key of the other set",
        })
    }
}
