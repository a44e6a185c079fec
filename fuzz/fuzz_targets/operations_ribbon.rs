//! Ribbon filters of any keys: all keys are found, by a file and a view too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::Ribbon;
use mayhap_fuzz::{Bytes, digester, round_trip, view};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = digester(&mut bytes);
    let fingerprint_bits = 1 + u32::from(bytes.u8() % 32);
    let mut keys = Vec::new();
    while !bytes.is_empty() {
        keys.extend(bytes.keys());
    }
    let filter = Ribbon::build(digester, fingerprint_bits, &keys).expect("not a chosen set");
    assert!(keys.iter().all(|key| filter.contains(key)));
    view(&filter, data, &keys);
    round_trip(&filter, &mut Bytes(&[]));
});
