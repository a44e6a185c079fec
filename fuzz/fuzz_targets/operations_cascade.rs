//! Two sets of any keys: refused if they overlap, otherwise distinguished exactly, by a file and a view too.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use mayhap::format::native::{self, Metadata};
use mayhap::{
    AnyFilter, Assemble as _, Digester, Error,
    bits::{BitmapView, Bits as _},
    kinds::Cascade,
};
use mayhap_fuzz::{Bytes, ask};
use mayhap_testing::forge::secret;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = match bytes.u8() % 2 {
        0 => Digester::Rapidhash { seed: bytes.u64() },
        _ => Digester::SipHash { key: secret() },
    };
    let (mut included, mut excluded) = (HashSet::new(), HashSet::new());
    while !bytes.is_empty() {
        included.extend(bytes.keys());
        excluded.extend(bytes.keys());
    }
    let common = included.intersection(&excluded).count() as u64;
    let cascade = match Cascade::build(digester, &included, &excluded) {
        Ok(cascade) => cascade,
        Err(Error::Overlap { keys }) => return assert_eq!(keys, common),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(common, 0);
    assert!(included.iter().all(|key| cascade.contains(key)));
    assert!(!excluded.iter().any(|key| cascade.contains(key)));
    ask(&cascade, data);

    let bits =
        BitmapView::new(cascade.bits().to_bytes(), cascade.bits().size()).expect("all bytes");
    let view = Cascade::assemble(&cascade.description(), vec![bits]).expect("as described");
    assert!(included.iter().all(|key| view.contains(key)));

    let mut file = Vec::new();
    native::write(&cascade, &Metadata::default(), &mut file).expect("no metadata");
    let (read, _) = native::decode(&file, Some(&secret())).expect("just written");
    assert_eq!(read, AnyFilter::from(cascade));
});
