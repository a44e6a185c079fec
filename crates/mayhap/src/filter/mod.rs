//! Filters: each joins a way of hashing and a place for bits.
//!
//! Users call the methods of the kinds themselves. The traits here are for code that does not know
//! the kind, and are small enough to be trait objects.

mod blocked;
mod bloom;
mod cascade;
mod counting;
mod description;
mod fingerprints;
mod fuse;
mod guarded;
mod hashes;
mod kinds;
mod load;
mod ribbon;
mod roll;
mod scalable;
mod sets;
mod shifting;
mod sliced;
mod spatial;
mod spectral;
mod split_block;
mod stats;
mod windowed;

pub use blocked::{AtomicBlocked, Blocked, BlockedShape, BlockedView};
pub use bloom::{AtomicBloom, Bloom, BloomView};
pub use cascade::{Cascade, CascadeView};
pub use counting::{Counting, CountingOptions, CountingView};
pub use description::{Assemble, Description, Hashing};
pub use fingerprints::{Fingerprints, expected_collisions};
pub use fuse::{Fuse, FuseShape, FuseView};
pub use guarded::{Guarded, GuardedView};
pub use kinds::Inserts;
pub use ribbon::{Ribbon, RibbonShape, RibbonView};
pub use scalable::{Scalable, ScalableOptions, ScalableView};
pub use sets::{Overlap, exchange_rate};
pub use shifting::{
    Region, Regions, Shifting, ShiftingAssociation, ShiftingAssociationView, ShiftingMultiplicity,
    ShiftingMultiplicityView, ShiftingShape, ShiftingView,
};
pub use sliced::{Sliced, SlicedShape, SlicedView};
pub use spatial::{AreaStats, Spatial, SpatialShape, SpatialView};
pub use spectral::{Estimate, Spectral, SpectralOptions, SpectralPolicy, SpectralView};
pub use split_block::{AtomicSplitBlock, SplitBlock, SplitBlockShape, SplitBlockView};
pub use stats::{Promise, Stats};
pub use windowed::{Rotation, Windowed, WindowedView};

use alloc::vec::Vec;

use crate::bits::{Bitmap, Bits};
use crate::{Error, Result};

// One row per kind: its type, its code in files and its name. Neither is ever reused or changed. A
// kind whose inserts do more than set bits is `in_memory`, or `growing` if it grows by them; one that has
// none is `static`.
kinds::kinds! {
    Bloom = 1 "bloom";
    Blocked = 2 "blocked";
    SplitBlock = 3 "split-block";
    Counting = 4 "counting" in_memory;
    Spectral = 5 "spectral" in_memory;
    Shifting = 6 "shifting";
    ShiftingAssociation = 7 "shifting-association" static;
    ShiftingMultiplicity = 8 "shifting-multiplicity" static;
    Spatial = 9 "spatial";
    Scalable = 10 "scalable" growing;
    Windowed = 11 "windowed" in_memory;
    Fuse = 12 "fuse" static;
    Guarded = 13 "guarded" in_memory;
    Cascade = 14 "cascade" static;
    Sliced = 15 "sliced" growing;
    Ribbon = 16 "ribbon" static;
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
pub trait Merge: Sized {
    /// Adds every key of `other`: the result is the filter that inserting both would have made.
    ///
    /// # Errors
    ///
    /// When the two are not built alike; the filter is then unchanged.
    fn union(&mut self, other: &Self) -> Result<()>;
}
