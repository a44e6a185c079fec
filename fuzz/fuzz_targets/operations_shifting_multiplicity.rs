//! Filters of counts against a map.
#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use mayhap::{Digester, Shape, kinds::ShiftingMultiplicity};
use mayhap_fuzz::{Bytes, round_trip, view};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = Digester::Rapidhash { seed: bytes.u64() };
    let most = u32::from(bytes.u8() % 60);
    let hashes = u32::from(bytes.u8() % 20);
    let filter = Shape::new(1 + bytes.below(5000), hashes)
        .and_then(|shape| ShiftingMultiplicity::new(shape, most, digester));
    let Ok(mut filter) = filter else {
        return;
    };
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    while !bytes.is_empty() {
        let times = u64::from(bytes.u8());
        let key = bytes.key();
        let before = filter.count(&key);
        let inserted = filter.insert_times(&key, times);
        assert_eq!(inserted.is_ok(), (1..=u64::from(most)).contains(&times));
        if inserted.is_ok_and(|count| count == before) {
            let count = counts.entry(key).or_default();
            *count = times.max(*count);
        }
    }
    for (key, &times) in &counts {
        let answer = filter.count(key);
        assert!((times..=u64::from(most)).contains(&answer), "{key:?}");
    }
    round_trip(&filter, &mut Bytes(data));
    view(&filter, data, &[]);
});
