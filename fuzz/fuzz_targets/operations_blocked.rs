//! Blocked filters and their atomic twin against a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::{AnyFilter, Blocked, Description, Digester, Kind, Promise};
use mayhap_fuzz::{Bytes, operate};
use mayhap_testing::forge::secret;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = match bytes.u8() % 2 {
        0 => Digester::Rapidhash { seed: bytes.u64() },
        _ => Digester::SipHash { key: secret() },
    };
    let description = Description {
        kind: Kind::Blocked,
        hashing: digester.into(),
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
