//! Spectral filters of every width and policy against a multiset.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::{
    Digester, Shape,
    bits::CounterWidth,
    kinds::{Spectral, SpectralOptions, SpectralPolicy},
};
use mayhap_fuzz::{Bytes, operate_counts};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let options = SpectralOptions {
        width: CounterWidth::ALL[bytes.u8() as usize % CounterWidth::ALL.len()],
        policy: match bytes.u8() % 4 {
            0 => SpectralPolicy::MinimumSelection,
            1 => SpectralPolicy::MinimalIncrease,
            _ => SpectralPolicy::RecurringMinimum,
        },
        digester: Digester::Rapidhash { seed: bytes.u64() },
    };
    let shape = Shape::new(1 + bytes.below(3000), u32::from(bytes.u8() % 70));
    if let Ok(filter) = shape.and_then(|shape| Spectral::new(shape, options)) {
        operate_counts(filter, &mut bytes);
    }
});
