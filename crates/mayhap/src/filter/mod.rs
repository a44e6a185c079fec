//! Filters: each joins a way of hashing and a place for bits.
//!
//! Users call the methods of the kinds themselves. The traits here are for code that does not know
//! the kind, and are small enough to be trait objects.

mod blocked;
mod bloom;
mod description;
mod kinds;
mod roll;
mod shifting;
mod spatial;
mod split_block;
mod stats;

pub use blocked::{AtomicBlocked, Blocked, BlockedShape, BlockedView};
pub use bloom::{AtomicBloom, Bloom, BloomView};
pub use description::{Assemble, Description, Hashing};
pub use shifting::{
    Region, Regions, Shifting, ShiftingAssociation, ShiftingAssociationView, ShiftingMultiplicity,
    ShiftingMultiplicityView, ShiftingShape, ShiftingView,
};
pub use spatial::{AreaStats, Spatial, SpatialShape, SpatialView};
pub use split_block::{AtomicSplitBlock, SplitBlock, SplitBlockShape, SplitBlockView};
pub use stats::{Promise, Stats};

use crate::bits::{Bitmap, Bits, BitsMut};
use crate::{Error, Result};

// One row per kind: its type, its code in files and its name. Neither is ever reused or changed.
kinds::kinds! {
    Bloom = 1 "bloom";
    Blocked = 2 "blocked";
    SplitBlock = 3 "split-block";
    Shifting = 6 "shifting";
    ShiftingAssociation = 7 "shifting-association";
    ShiftingMultiplicity = 8 "shifting-multiplicity";
    Spatial = 9 "spatial";
}

/// A filter that can be asked.
pub trait Filter {
    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    fn contains_bytes(&self, key: &[u8]) -> bool;

    /// What the filter holds now, and the rate that gives.
    fn stats(&self) -> Stats;

    /// Answers [`contains_bytes`](Filter::contains_bytes) for each key, in order.
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

    /// Answers [`insert_bytes`](Insert::insert_bytes) for each key, in order.
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

/// A filter that tells how often a key has come.
pub trait Count: Filter {
    /// How often the key has come: never less than it has, as far as the filter counts.
    fn count_bytes(&self, key: &[u8]) -> u64;
}

/// A filter that tells which of several areas a key belongs to.
pub trait Area: Filter {
    /// The area of the key: `None` is certain, an area is *mayhap*. Areas count from 1.
    fn area_bytes(&self, key: &[u8]) -> Option<u32>;
}

/// Filters that can be joined when they are built alike.
pub trait Merge: Sized {
    /// Adds every key of `other`: the result is the filter that inserting both would have made.
    ///
    /// # Errors
    ///
    /// When the two are not built alike; the filter is then unchanged.
    fn union(&mut self, other: &Self) -> Result<()>;
}
