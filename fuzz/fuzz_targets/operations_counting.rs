//! Counting filters of every width against a multiset.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::{Counting, CountingOptions, Digester, Shape, bits::CounterWidth};
use mayhap_fuzz::{Bytes, operate_counts};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let options = CountingOptions {
        width: CounterWidth::ALL[bytes.u8() as usize % CounterWidth::ALL.len()],
        digester: Digester::Rapidhash { seed: bytes.u64() },
    };
    let shape = Shape::new(1 + bytes.below(3000), u32::from(bytes.u8() % 70));
    if let Ok(filter) = shape.and_then(|shape| Counting::new(shape, options)) {
        operate_counts(filter, &mut bytes);
    }
});
