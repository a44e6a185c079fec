//! Filters of two sets against a map.
#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use mayhap::{
    Digester, Shape,
    kinds::{Region, ShiftingAssociation},
};
use mayhap_fuzz::{Bytes, round_trip, view};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = Digester::Rapidhash { seed: bytes.u64() };
    let span = u32::from(bytes.u8() % 60);
    let hashes = u32::from(bytes.u8() % 20);
    let filter = Shape::new(1 + bytes.below(5000), hashes)
        .and_then(|shape| ShiftingAssociation::new(shape, span, digester));
    let Ok(mut filter) = filter else {
        return;
    };
    let mut regions: HashMap<Vec<u8>, Vec<Region>> = HashMap::new();
    while !bytes.is_empty() {
        let region = Region::ALL[bytes.u8() as usize % 3];
        let key = bytes.key();
        let before = filter.regions(&key);
        assert_eq!(filter.insert_region(&key, region), before);
        regions.entry(key).or_default().push(region);
    }
    for (key, regions) in &regions {
        let answer = filter.regions(key);
        assert!(
            regions.iter().all(|&region| answer.holds(region)),
            "{key:?}"
        );
        assert!(filter.contains(key));
    }
    round_trip(&filter, &mut Bytes(data));
    view(&filter, data, &[]);
});
