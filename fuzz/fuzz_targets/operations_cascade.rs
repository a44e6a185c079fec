//! Two sets of any keys: refused if they overlap, otherwise distinguished exactly, by a file and a view too.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use mayhap::{Error, kinds::Cascade};
use mayhap_fuzz::{Bytes, digester, round_trip, view};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = digester(&mut bytes);
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
    view(&cascade, data, &included);
    round_trip(&cascade, &mut Bytes(&[]));
});
