//! Any description: refused, or that of a filter which is read back from a file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _, Bitmap, Description, Hashing, Inserts, Kind, Promise};
use mayhap_fuzz::{Bytes, ask, scheme};
use mayhap_testing::forge::secret;

/// The largest filter that is made; larger ones are only described.
const MOST_BITS: u64 = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let description = Description {
        kind: Kind::ALL[bytes.u8() as usize % Kind::ALL.len()],
        hashing: match bytes.u8() % 4 {
            0 => Hashing::Xxh64,
            _ => scheme(&mut bytes).into(),
        },
        bits: match bytes.u8() % 4 {
            0 => bytes.u64(),
            1 => bytes.u16() as u64 * 64,
            2 => bytes.u8() as u64 * 512,
            _ => bytes.u16() as u64,
        },
        hashes: match bytes.u8() % 4 {
            0 => bytes.u32(),
            _ => bytes.u8() as u32,
        },
        detail: match bytes.u8() % 16 {
            0 => bytes.u32(),
            // For counters: their bits, and a policy.
            policy @ 1..6 => u32::from(bytes.u8()) | u32::from(policy - 1) << 8,
            // For windows: their bits, and shifts. For areas: how many.
            6..10 => u32::from(bytes.u16()),
            _ => 0,
        },
        promise: (bytes.u8() % 2 == 1).then(|| Promise {
            keys: bytes.u64(),
            rate: bytes.f64(),
        }),
    };
    check(&description, bytes.0);
});

fn check(description: &Description, data: &[u8]) {
    let accepted = AnyFilter::<Bitmap>::check(description);
    if description.bits > MOST_BITS {
        return;
    }
    let filter = AnyFilter::new(description);
    let can_insert = description.kind.inserts() != Inserts::Never;
    // A white list may have more words than any list of keys.
    let can_be_empty = description.kind != Kind::Guarded || description.detail == 1;
    assert_eq!(
        filter.is_ok(),
        accepted.is_ok() && can_insert && can_be_empty
    );
    let Ok(mut filter) = filter else {
        return;
    };
    for key in data.chunks(5) {
        filter.insert(key).expect("a kind that can");
    }
    ask(&filter, data);
    assert_eq!(filter.description(), *description);

    let mut file = Vec::new();
    native::write(&filter, &Metadata::default(), &mut file).expect("no metadata");
    let (read, _) = native::decode(&file, Some(&secret())).expect("just written");
    assert_eq!(read, filter);
}
