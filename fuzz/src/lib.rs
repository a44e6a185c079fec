//! What the fuzz targets share. A target is a file in `fuzz_targets` that says what to feed to what.

mod bytes;
mod decoder;
mod growing;
mod meter;
mod model;
mod multiset;
pub mod native;
mod scheme;
mod scratch;

pub use bytes::Bytes;
pub use decoder::{Decoded, ask, decoder, reader};
pub use growing::{Growing, operate_growing};
pub use meter::metered;
pub use model::{Subject, operate, round_trip, view};
pub use multiset::{Multiset, operate_counts};
pub use scheme::scheme;
pub use scratch::scratch;
