//! Guarded filters against a set of keys that are in and a set of keys that are known not to be.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use mayhap::{
    Digester, Insert as _, Merge as _,
    kinds::{BlockedShape, Guarded},
};
use mayhap_fuzz::{Bytes, insert_batch, round_trip, view};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let shape = BlockedShape::new(1, u32::from(bytes.u8() % 8));
    let Ok(mut filter) = shape.and_then(|shape| Guarded::new(shape, Digester::default())) else {
        return;
    };
    let mut keys: HashSet<Vec<u8>> = HashSet::new();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    while !bytes.is_empty() {
        match bytes.u8() % 6 {
            0 => {
                let key = bytes.key();
                let found = filter.contains(&key[..]);
                assert_eq!(filter.insert(&key[..]), !found);
                known.remove(&key);
                keys.insert(key);
            }
            1 => {
                let batch = bytes.keys();
                insert_batch(&mut filter, &batch);
                batch.iter().for_each(|key| {
                    known.remove(key);
                });
                keys.extend(batch);
            }
            2 => {
                known.extend(bytes.keys().into_iter().filter(|key| !keys.contains(key)));
                filter.refresh(&known).expect("a short list");
                assert!(filter.is_exact());
            }
            3 => {
                let key = bytes.key();
                if !keys.contains(&key) {
                    let found = filter.contains(&key[..]);
                    assert_eq!(
                        filter.report_false_positive(&key[..]).expect("short"),
                        found
                    );
                    assert!(!filter.contains(&key[..]));
                }
            }
            4 => {
                let mut other = Guarded::guard(filter.filter().clone()).expect("small");
                other.clear();
                let theirs = bytes.keys();
                other.insert_all(&theirs);
                let absent = bytes.keys().into_iter().filter(|key| !theirs.contains(key));
                other.refresh(absent).expect("a short list");
                filter.union(&other).expect("built alike");
                theirs.iter().for_each(|key| {
                    known.remove(key);
                });
                keys.extend(theirs);
            }
            _ => {
                view(&filter, bytes.0, &[]);
                round_trip(&filter, &mut Bytes(&[]));
            }
        }
        assert!(keys.iter().all(|key| filter.contains(&key[..])), "missed");
        if filter.is_exact() {
            assert!(!known.iter().any(|key| filter.contains(&key[..])), "known");
        }
    }
});
