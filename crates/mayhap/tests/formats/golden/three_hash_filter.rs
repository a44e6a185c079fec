//! Post 000: three string hashes over UTF-16 code units.

use mayhap::hash::three_hashes;
use mayhap::{Bloom, Scheme, Shape};

use super::data::{each, integers, to_hex};
use super::keys::{Funnel, code_units, contained_numbers, filled, wtf8};

fn shape(size: u64) -> Shape {
    Shape::new(size, 3).expect("a valid size")
}

#[test]
fn three_hashes_and_their_positions_are_those_of_post_000() {
    each("three_hash_filter.json", "hashes", |case| {
        let units = code_units(case.field("key"));

        let raw = three_hashes(units.iter().copied());

        assert_eq!(raw.map(i64::from).to_vec(), case.integers("raw"), "{case}");
        // Java's `abs` leaves the smallest integer negative.
        let abs = raw.map(|hash| i64::from(hash.wrapping_abs()));
        assert_eq!(abs.to_vec(), case.integers("abs"), "{case}");
        let by_size = case.field("positions_by_size").as_object();
        let by_size = by_size.expect("a map from size to positions");
        assert_eq!(by_size.len(), 7, "{case}");
        for (size, expected) in by_size {
            let shape = shape(size.parse().expect("a size"));
            // Unpaired surrogates have no UTF-8; the scheme reads WTF-8, which has them.
            let positions = Scheme::ThreeHash.positions(&wtf8(&units), shape);
            let java = integers(expected).expect("positions");
            // A negative index of Java, where it throws, has the magnitude of ours.
            let meant: Vec<u64> = java.iter().map(|index| index.unsigned_abs()).collect();
            assert_eq!(positions, meant, "{case} size {size}");
            let throws = java.iter().any(|&index| index < 0);
            assert!(!throws || raw[0] == i32::MIN, "{case} size {size}");
        }
    });
}

#[test]
fn keys_whose_hash_is_the_smallest_integer_land_on_its_magnitude_where_java_throws() {
    each("three_hash_filter.json", "min_value_cases", |case| {
        let key = case.text("key");
        let size = case.count("array_size");
        assert_eq!(three_hashes(key.encode_utf16())[0], i32::MIN, "{case}");

        let first = Scheme::ThreeHash.positions(key.as_bytes(), shape(size))[0];

        // Java's index is negative unless the size is a power of two; ours has the same magnitude.
        let java = case.integer("index0");
        assert_eq!(case.has("exception"), java < 0, "{case}");
        assert_eq!(first, java.unsigned_abs(), "{case}");
        assert_eq!(first, (1_u64 << 31) % size, "{case}");
    });
}

#[test]
fn filters_have_the_ones_of_post_000() {
    each("three_hash_filter.json", "filters", |case| {
        let shape = shape(case.count("array_size"));
        let mut filter = Bloom::new(shape, Scheme::ThreeHash).expect("small");
        let queries = case.part("queries");

        let bytes = filled(&mut filter, case, "ones");

        assert_eq!(
            to_hex(&bytes),
            case.text("ones_as_bitset_bytes_hex"),
            "{case}"
        );
        let found = contained_numbers(&filter, &queries.part("keys"), Funnel::StringUtf8);
        assert_eq!(found, queries.integers("contained_numbers"), "{case}");
    });
}
