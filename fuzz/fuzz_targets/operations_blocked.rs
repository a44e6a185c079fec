//! Blocked filters and their atomic twin against a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::{AnyFilter, Blocked, Description, Kind, Promise};
use mayhap_fuzz::{Bytes, digester, operate};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let description = Description {
        kind: Kind::Blocked,
        hashing: digester(&mut bytes).into(),
        bits: 512 * (1 + u64::from(bytes.u8())),
        hashes: u32::from(bytes.u8() % 66),
        detail: 0,
        promise: (bytes.u8() % 2 == 1).then(|| Promise {
            keys: bytes.u64(),
            rate: bytes.f64(),
        }),
    };
    if let Ok(filter) = AnyFilter::new(&description) {
        let filter = Blocked::try_from(filter).expect("the kind described");
        operate(filter, &mut bytes);
    }
});
