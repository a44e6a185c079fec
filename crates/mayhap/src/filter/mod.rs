//! Filters: each joins a way of hashing and a place for bits.
//!
//! Users call the methods of the kinds themselves. The traits here are for code that does not know
//! the kind, and are small enough to be trait objects.

mod blocked;
mod bloom;
mod cascade;
mod description;
mod fingerprints;
mod fuse;
mod guarded;
mod kinds;
mod roll;
mod scalable;
mod sets;
mod split_block;
mod stats;
mod windowed;

pub use blocked::{AtomicBlocked, Blocked, BlockedShape, BlockedView};
pub use bloom::{AtomicBloom, Bloom, BloomView};
pub use cascade::{Cascade, CascadeView};
pub use description::{Assemble, Description, Hashing};
pub use fingerprints::{Fingerprints, expected_collisions};
pub use fuse::{Fuse, FuseShape, FuseView};
pub use guarded::{Guarded, GuardedView};
pub use kinds::Inserts;
pub use scalable::{Scalable, ScalableOptions, ScalableView};
pub use sets::{Overlap, exchange_rate};
pub use split_block::{AtomicSplitBlock, SplitBlock, SplitBlockShape, SplitBlockView};
pub use stats::{Promise, Stats};
pub use windowed::{Rotation, Windowed, WindowedView};

use alloc::vec::Vec;

use crate::bits::{Bitmap, Bits};
use crate::{Error, Result};

// One row per kind: its type, its code in files and its name. Neither is ever reused or changed. A
// kind whose inserts do more than set bits is `in_memory`, one that has none is `static`.
kinds::kinds! {
    Bloom = 1 "bloom";
    Blocked = 2 "blocked";
    SplitBlock = 3 "split-block";
    Fuse = 12 "fuse" static;
    Scalable = 10 "scalable" in_memory;
    Windowed = 11 "windowed" in_memory;
    Cascade = 14 "cascade" static;
    Guarded = 13 "guarded" in_memory;
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

/// Filters that can be joined when they are built alike.
pub trait Merge: Sized {
    /// Adds every key of `other`: the result is the filter that inserting both would have made.
    ///
    /// # Errors
    ///
    /// When the two are not built alike; the filter is then unchanged.
    fn union(&mut self, other: &Self) -> Result<()>;
}
