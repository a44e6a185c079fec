//! Shifting filters against a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::Shape;
use mayhap::kinds::{Shifting, ShiftingShape};
use mayhap_fuzz::{Bytes, digester, operate};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = digester(&mut bytes);
    let shifts = u32::from(bytes.u8() % 9);
    let hashes = u32::from(bytes.u8() % 16) * (shifts + 1);
    let span = match bytes.u8() {
        span @ 0..60 => u32::from(span),
        _ => 57,
    };
    let shape = Shape::new(1 + bytes.below(5000), hashes)
        .and_then(|shape| ShiftingShape::with_shifts(shape, span, shifts));
    if let Ok(filter) = shape.and_then(|shape| Shifting::new(shape, digester)) {
        operate(filter, &mut bytes);
    }
});
