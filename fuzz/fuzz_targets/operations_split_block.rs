//! Split-block filters and their atomic twin against a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::kinds::{SplitBlock, SplitBlockShape};
use mayhap_fuzz::{Bytes, operate};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let shape = SplitBlockShape::new(u64::from(bytes.u8()));
    if let Ok(filter) = shape.and_then(SplitBlock::new) {
        operate(filter, &mut bytes);
    }
});
