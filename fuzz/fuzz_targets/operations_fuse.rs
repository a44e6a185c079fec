//! Static filters of any keys: all keys are found, by a file and a view too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _, Digester, Filter as _, Fuse, bits::BitmapView};
use mayhap_fuzz::{Bytes, ask};
use mayhap_testing::forge::secret;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = match bytes.u8() % 2 {
        0 => Digester::Rapidhash { seed: bytes.u64() },
        _ => Digester::SipHash { key: secret() },
    };
    let fingerprint_bits = 8 << (bytes.u8() % 3);
    let mut keys = Vec::new();
    while !bytes.is_empty() {
        keys.extend(bytes.keys());
    }
    let filter = Fuse::build(digester, fingerprint_bits, &keys).expect("not a chosen set");
    assert!(keys.iter().all(|key| filter.contains(key)));
    ask(&filter, data);

    let bits = BitmapView::new(filter.bits().to_bytes(), filter.shape().bits()).expect("all bytes");
    let view = Fuse::assemble(&filter.description(), vec![bits]).expect("as described");
    assert!(view.contains_all(&keys));

    let mut file = Vec::new();
    native::write(&filter, &Metadata::default(), &mut file).expect("no metadata");
    let (read, _) = native::decode(&file, Some(&secret())).expect("just written");
    assert_eq!(read, AnyFilter::from(filter));
});
