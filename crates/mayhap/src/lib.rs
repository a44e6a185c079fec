//! Have I seen this key before? Mayhap answers **no** (certain) or **mayhap** (probably), in a few
//! bits per key.
//!
//! > **key** in → **hash** → probe **positions** → **bits** → answer.

#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

mod bits;
mod error;
pub mod hash;
mod key;
mod shape;
mod sizing;

pub use bits::{
    AtomicBitmap, Bitmap, BitmapView, Bits, BitsMut, Ones, Seen, Tally, dedupe, sort,
};
pub use error::{Error, Result};
pub use hash::{Digest, Digester, Probe, Scheme, SecretKey};
pub use key::{Key, Utf16};
pub use shape::{BLOOM_OVERHEAD, Shape, minimum_bits};
pub use sizing::Sizing;
