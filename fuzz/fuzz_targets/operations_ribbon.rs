//! Ribbon filters of any keys: all keys are found, by a file and a view too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::native::{self, Metadata};
use mayhap::{
    AnyFilter, Assemble as _, Digester, Filter as _, Ribbon,
    bits::{BitmapView, Bits as _},
};
use mayhap_fuzz::{Bytes, ask};
use mayhap_testing::forge::secret;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = match bytes.u8() % 2 {
        0 => Digester::Rapidhash { seed: bytes.u64() },
        _ => Digester::SipHash { key: secret() },
    };
    let fingerprint_bits = 1 + u32::from(bytes.u8() % 32);
    let mut keys = Vec::new();
    while !bytes.is_empty() {
        keys.extend(bytes.keys());
    }
    let filter = Ribbon::build(digester, fingerprint_bits, &keys).expect("not a chosen set");
    assert!(keys.iter().all(|key| filter.contains(key)));
    ask(&filter, data);

    let parts = filter.parts().into_iter();
    let views = parts.map(|part| BitmapView::new(part.to_bytes(), part.size()).expect("all bytes"));
    let view = Ribbon::assemble(&filter.description(), views.collect()).expect("as described");
    assert!(view.contains_all(&keys));

    let mut file = Vec::new();
    native::write(&filter, &Metadata::default(), &mut file).expect("no metadata");
    let (read, _) = native::decode(&file, Some(&secret())).expect("just written");
    assert_eq!(read, AnyFilter::from(filter));
});
