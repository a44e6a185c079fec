//! Standard filters of every scheme, and their atomic twin, against a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::{Bloom, Shape};
use mayhap_fuzz::{Bytes, operate, scheme};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let scheme = scheme(&mut bytes);
    let bits = match bytes.u8() % 2 {
        0 => 64 * (1 + bytes.below(256)),
        _ => 1 + bytes.below(5000),
    };
    let hashes = match bytes.u8() {
        hashes @ 0..40 => u32::from(hashes),
        40..46 => bytes.below(300) as u32,
        _ => 3,
    };
    let shape = Shape::new(bits, hashes);
    if let Ok(filter) = shape.and_then(|shape| Bloom::new(shape, scheme)) {
        operate(filter, &mut bytes);
    }
});
