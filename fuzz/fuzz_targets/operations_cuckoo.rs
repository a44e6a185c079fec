//! Cuckoo filters of every shape against a multiset, across growth and where it is limited.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::{Cuckoo, CuckooOptions, Digester};
use mayhap_fuzz::{Bytes, operate_counts};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let given = bytes.u8();
    let options = CuckooOptions {
        fingerprint: (given & 1 == 1).then(|| u32::from(bytes.u8() % 40)),
        bucket: (given & 2 == 2).then(|| u32::from(bytes.u8() % 10)),
        growth: u32::from(bytes.u8() % 5),
        search: 1 << (bytes.u8() % 12),
        digester: Digester::Rapidhash { seed: bytes.u64() },
    };
    let rate = f64::from(bytes.u8()) / 255.0;
    let filter = Cuckoo::with_options(bytes.below(100), rate, options);
    if let Ok(filter) = filter {
        operate_counts(filter.limited_to(1 << (10 + bytes.u8() % 10)), &mut bytes);
    }
});
