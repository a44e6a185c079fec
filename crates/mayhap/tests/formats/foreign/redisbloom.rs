//! Dumps in RedisBloom's format, made by a program that was written from a description of it.

use super::data::{Case, cases, key};
use mayhap::format::redisbloom::{self, Dump, Header, Layer};
use mayhap::{Scheme, format};

const FILES: usize = 5;

fn answers(case: &Case, contains: impl Fn(&[u8]) -> bool) -> String {
    let numbers = case.count("asked_from")..case.count("asked_from") + 420;
    let found = numbers.map(|number| contains(&key(&case.kind, number)));
    found.map(|found| if found { '1' } else { '0' }).collect()
}

#[test]
fn every_dump_is_read_and_answers_as_its_maker_does() {
    let mut single = 0;
    for case in cases("redisbloom", FILES) {
        let dump = redisbloom::read(&case.bytes[..]).expect("a whole dump");
        let first = &dump.header.layers[0];
        assert_eq!(dump.header.layers.len() as u64, case.count("layers"));
        assert_eq!(first.promise.keys, case.count("capacity"));
        assert_eq!(dump.header.rate(), case.double("rate"));
        let expansion = dump.header.expansion().map_or(0, u64::from);
        assert_eq!(expansion, case.count("expansion"));
        let asked = answers(&case, |key| dump.contains(key));
        assert_eq!(asked, case.text("answers"), "{}", case.file);

        let opened = format::open(&case.bytes, None);
        assert_eq!(opened.is_ok(), dump.filters.len() == 1, "{}", case.file);
        if let Ok((filter, found)) = opened {
            assert_eq!(found, format::Format::RedisBloom);
            case.assert_answers(&filter);
            single += 1;
        }
    }
    assert_eq!(single, 3);
}

#[test]
fn a_filter_of_the_same_capacity_rate_and_keys_is_the_same_dump() {
    for case in cases("redisbloom", FILES) {
        let (capacity, expansion) = (case.count("capacity"), case.count("expansion"));
        let is_fixed = expansion == 0;
        let halves = if is_fixed { 1.0 } else { 0.5 };
        let layer = |index: u32| {
            let rate = case.double("rate") * halves * 0.5_f64.powi(index as i32);
            Layer::new(capacity * expansion.pow(index), rate).expect("valid")
        };
        let mut layers: Vec<Layer> = vec![layer(0)];
        let header = |layers| Header {
            growth: 2,
            is_fixed,
            layers,
        };
        let mut dump = Dump::new(header(layers.clone())).expect("small");
        dump.header.growth = expansion.max(1) as u32 + u32::from(is_fixed);
        for key in case.inserted() {
            if dump.contains(&key) {
                continue;
            }
            let newest = layers.len() - 1;
            if dump.header.layers[newest].keys == layers[newest].promise.keys {
                layers.push(layer(newest as u32 + 1));
                let more = Dump::new(header(vec![layers[newest + 1]])).expect("small");
                dump.filters.extend(more.filters);
                dump.header.layers.push(layers[newest + 1]);
            }
            let newest = layers.len() - 1;
            dump.filters[newest].insert(&key);
            dump.header.layers[newest].keys += 1;
        }
        assert!(
            dump.filters
                .iter()
                .all(|filter| *filter.scheme() == Scheme::RedisBloom)
        );

        // The maker divides by the exact ln(2)^2, and RedisBloom by 15 digits of it.
        let theirs = redisbloom::read(&case.bytes[..]).expect("a whole dump");
        for (layer, theirs) in dump.header.layers.iter_mut().zip(theirs.header.layers) {
            assert!((layer.bits_per_key - theirs.bits_per_key).abs() < 1e-12 * layer.bits_per_key);
            layer.bits_per_key = theirs.bits_per_key;
        }
        let mut written = Vec::new();
        redisbloom::write(&dump, &mut written).expect("memory");

        assert!(written == case.bytes, "{}: other bytes", case.file);
    }
}

#[test]
fn layers_have_the_numbers_of_a_real_redisbloom() {
    // From a snapshot that RedisBloom 8.9 wrote, except the last two: rates that are powers of a half have one hash
    // more.
    for (capacity, rate, bits, hashes, per_key) in [
        (200, 0.005, 2240, 8, 11.027753418256411),
        (400, 0.0025, 4992, 9, 12.470448459145377),
        (800, 0.00125, 11_136, 10, 13.91314350003434),
        (1600, 0.000625, 24_576, 11, 15.355838540923306),
        (1000, 0.001, 14_400, 10, 14.37758756605117),
        (1000, 0.25, 2944, 3, 2.8853900817779294),
        (1000, 0.125, 4352, 4, 4.328085122666893),
    ] {
        let layer = Layer::new(capacity, rate).expect("valid");
        assert_eq!((layer.bits, layer.hashes), (bits, hashes), "{rate}");
        assert!(
            (layer.bits_per_key - per_key).abs() <= 2e-15 * per_key,
            "{rate}"
        );
    }
}
