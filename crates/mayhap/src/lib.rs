//! Bloom filters: *have I seen this key before?* A filter answers **no**, which is certain, or **mayhap**: yes, except
//! for a small rate of false positives that you choose. It takes a few bits per key, however long the keys are.
//!
//! ```
//! use mayhap::Blocked;
//!
//! let mut seen = Blocked::with_capacity(1_000_000, 0.01)?; // a million keys, 1 % false positives: 1.2 MB
//! for url in ["/a", "/b", "/a"] {
//!     if seen.insert(url) {
//!         println!("{url} is new");
//!     }
//! }
//! assert!(seen.contains("/b"));
//! assert!(!seen.contains("/c"), "definitely never inserted");
//! # Ok::<(), mayhap::Error>(())
//! ```
//!
//! | you need | use |
//! | --- | --- |
//! | the default: one cache line per lookup | [`Blocked`], shared by threads [`AtomicBlocked`] |
//! | the bits of Guava, Spark, DCSO and others | [`Bloom`] with a [`Scheme`] |
//! | an unknown number of keys | [`Scalable`] |
//! | to forget old keys | [`Windowed`] |
//! | to remove keys | [`Cuckoo`]; [`Counting`] for a fixed size and unions |
//! | a fixed set of keys | [`Fuse`], or [`Ribbon`] for the fewest bits |
//! | integers below a limit, exactly | [`Bitmap`], [`sort`](fn@sort) |
//! | any kind, known only at run time | [`AnyFilter`], [`Kind`] |
//!
//! Every folder of this crate is one word of a sentence:
//!
//! > **key** in → **hash** → probe **positions** → **bits** → answer.
//!
//! [`Key`](trait@Key) is anything with one canonical byte form; [`hash`] turns its bytes into positions; [`Bitmap`] and
//! its kin store the bits at those positions; a kind such as [`Blocked`] joins the two. [`mod@format`] turns filters
//! into bytes and back, and [`mod@file`] keeps the bytes in files.
//!
//! Without the default feature `std` the crate needs only `alloc`; reading and writing ([`mod@format`], [`mod@file`])
//! and drawing secrets from the system are then left out. These features are off unless you ask for them: `derive` for
//! structs as keys, `message-digests` for [`Scheme::Salted`], and `serde` to have filters in what serde writes. On
//! `wasm32-unknown-unknown` secrets come from the browser: depend on `getrandom` 0.4 with its feature `wasm_js`.

#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(feature = "std")]
mod address;
pub mod bits;
mod error;
#[cfg(all(feature = "std", not(loom)))]
pub mod file;
mod filter;
#[cfg(all(feature = "std", not(loom)))]
pub mod format;
pub mod hash;
mod key;
pub mod shape;
mod sizing;

/// Every kind of filter, with the shapes and options of each.
///
/// The kinds that most programs need are also at the root of the crate; `docs/choose.md` leads from a need to a kind.
pub mod kinds {
    pub use crate::filter::{
        Area, AreaStats, AtomicBlocked, AtomicBloom, AtomicSplitBlock, Blocked, BlockedShape,
        Bloom, Cascade, Counting, CountingOptions, Cuckoo, CuckooOptions, CuckooShape, Estimate,
        Fuse, FuseShape, Guarded, InsertArea, Kernel, Needed, Place, Places, Region, Regions,
        Ribbon, RibbonShape, Rotation, Scalable, ScalableOptions, Shifting, ShiftingAssociation,
        ShiftingMultiplicity, ShiftingShape, Solved, Spatial, SpatialOptions, SpatialShape,
        Spectral, SpectralOptions, SpectralPolicy, SplitBlock, SplitBlockShape, Windowed,
    };
}

/// The overlap of the key sets of two filters, and sets of whole hashes.
pub mod sets {
    pub use crate::filter::{Fingerprints, Overlap, exchange_rate, expected_collisions};
}

pub use bits::{Bitmap, dedupe, sort};
pub use error::{Error, Result};
pub use filter::{
    AnyFilter, Assemble, Atomic, AtomicBlocked, AtomicBloom, Blocked, Bloom, Count, Counting,
    CountingOptions, Cuckoo, CuckooOptions, Description, Filter, Fuse, Hashing, Insert, Inserts,
    Kind, Merge, Promise, Remove, Ribbon, Rotation, Scalable, ScalableOptions, Stats, Windowed,
};
pub use hash::{Digester, Scheme, SecretKey};
pub use key::{Fields, Key};
/// Makes a struct a [`Key`](trait@Key): its fields in order, encoded by [`Fields`].
///
/// ```
/// use mayhap::{Blocked, Key};
///
/// #[derive(Key)]
/// struct Visit<'a> {
///     user: u64,
///     page: &'a str,
/// }
///
/// let mut visits = Blocked::with_capacity(1_000_000, 0.01)?;
/// assert!(visits.insert(&Visit { user: 7, page: "/a" }));
/// assert!(visits.contains(&(7_u64, "/a")), "a tuple of the same fields is the same key");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[cfg(feature = "derive")]
pub use mayhap_derive::Key;
pub use shape::Shape;
pub use sizing::Sizing;

/// The examples of the README, in English and in Chinese, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../README.zh-CN.md")]
struct Readme;
