//! Filters of areas against a map.
#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use mayhap::{
    Digester, Merge as _, Shape,
    kinds::{Spatial, SpatialShape},
};
use mayhap_fuzz::{Bytes, round_trip, view};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let digester = Digester::Rapidhash { seed: bytes.u64() };
    let areas = match bytes.u8() % 4 {
        0 => bytes.u32(),
        1 => u32::from(bytes.u16()),
        _ => u32::from(bytes.u8()),
    };
    let hashes = u32::from(bytes.u8() % 20);
    let shape =
        Shape::new(1 + bytes.below(2000), hashes).and_then(|cells| SpatialShape::new(cells, areas));
    let Ok(empty) = shape.and_then(|shape| Spatial::new(shape, digester)) else {
        return;
    };
    // Two filters, which are joined at the end, and all keys in one map.
    let mut filters = [empty.clone(), empty];
    let mut highest: HashMap<Vec<u8>, u32> = HashMap::new();
    while !bytes.is_empty() {
        let filter = &mut filters[bytes.u8() as usize % 2];
        let area = u32::from(bytes.u16()) % (areas + 2);
        let key = bytes.key();
        let before = filter.area(&key);
        match filter.insert_area(&key, area) {
            Ok(claimed) => {
                assert_eq!(claimed, before);
                assert!(filter.area(&key) >= Some(area));
                let known = highest.entry(key).or_default();
                *known = area.max(*known);
            }
            Err(_) => assert!(area == 0 || area > areas),
        }
    }
    let [mut union, other] = filters;
    union.union(&other).expect("built alike");
    for (key, &area) in &highest {
        let answer = union.area(key).expect("a key is never missed");
        assert!((area..=areas).contains(&answer), "{key:?}");
    }
    let cells: f64 = union.area_stats().iter().map(|area| area.cells).sum();
    assert!(cells <= union.shape().cells().bits() as f64 + 0.5);
    round_trip(&union, &mut Bytes(data));
    view(&union, data, &[]);
});
