//! Parts that the fuzz targets share. A target is a file in `fuzz_targets` that feeds an input to them.

mod bytes;
mod growing;
mod model;
mod multiset;
mod scheme;
mod scratch;
mod values;

pub use bytes::Bytes;
pub use growing::{Growing, operate_growing};
pub use model::{Subject, insert_batch, operate, round_trip, view};
pub use multiset::{Multiset, operate_counts};
pub use scheme::{digester, scheme};
pub use scratch::scratch;
pub use values::Values;

pub use mayhap_testing::decoder::{Decoded, ask, decoder, reader};
pub use mayhap_testing::meter::metered;

#[global_allocator]
static METER: mayhap_testing::meter::Meter = mayhap_testing::meter::Meter;
