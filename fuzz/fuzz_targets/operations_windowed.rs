//! Forgetting filters against a queue of the keys that must be found.
#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use mayhap::{Rotation, Windowed};
use mayhap_fuzz::{Bytes, insert_batch, round_trip, view};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let rotation = match bytes.u8() % 2 {
        0 => Rotation::ByKeys,
        _ => Rotation::ByCaller,
    };
    let keys = u64::from(bytes.u8());
    let rate = f64::from(bytes.u8()) / 255.0;
    let Ok(mut filter) = Windowed::with_options(keys, rate, rotation) else {
        return;
    };
    // The last insert of each key: the number of keys before it, and its generation.
    let mut last = HashMap::new();
    let mut inserts = 0_u64;
    while !bytes.is_empty() {
        match bytes.u8() % 8 {
            0..4 => {
                let key = bytes.key();
                let found = filter.contains(&key[..]);
                assert_eq!(filter.insert(&key[..]), !found);
                inserts += 1;
                last.insert(key, (inserts, filter.generation()));
            }
            4 => {
                let batch = bytes.keys();
                insert_batch(&mut filter, &batch);
                inserts += batch.len() as u64;
                // All that is known about keys of one batch is that they are found afterwards.
                for key in &batch {
                    last.remove(key);
                }
            }
            5 if rotation == Rotation::ByCaller => filter.rotate(),
            6 if rotation == Rotation::ByCaller => {
                filter.advance_to(filter.generation().saturating_add(u64::from(bytes.u16())));
            }
            _ => {
                view(&filter, bytes.0, &[]);
                round_trip(&filter, &mut Bytes(&[]));
            }
        }
        for (key, &(at, generation)) in &last {
            let in_window = match rotation {
                Rotation::ByKeys => inserts - at < keys,
                Rotation::ByCaller => filter.generation() - generation <= 3,
            };
            assert!(!in_window || filter.contains(&key[..]), "{key:?} is missed");
        }
    }
});
