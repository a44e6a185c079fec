//! Post 004: murmur, double hashing in 32 bits, floor-mod.

use std::collections::BTreeSet;

use mayhap::hash::murmur3::hash128;
use mayhap::{Bloom, Error, Scheme, Shape, Sizing};

use super::data::{Case, assert_close, each, sha256, to_hex};
use super::keys::{Funnel, code_units, contained_numbers, filled, numbers, utf8};

#[test]
fn sizing_is_that_of_post_004_and_refused_where_its_filter_cannot_work() {
    each("standard_filter.json", "sizing", |case| {
        let n = case.count("n");
        let (m, k) = (case.count("m"), case.hashes("k"));

        let shape = Sizing::MurmurFloorMod.shape(n, case.double("fpp"));

        let error = match shape {
            Ok(shape) => {
                assert_eq!((shape.bits(), shape.hashes()), (m, k), "{case}");
                return assert_close(shape.classic_rate_at(n), case.double("get_fpp"), case);
            }
            Err(error) => error,
        };
        match error {
            Error::Capacity { got: 0 } => assert_eq!(n, 0, "{case}"),
            // Without hashes the original answers yes to every key, so its rate is one.
            Error::Bits { got: 0, .. } => assert_eq!((m, k), (0, 0), "{case}"),
            Error::Hashes { got: 0, .. } => assert!(m > 0 && k == 0, "{case}"),
            // The original clips m to the largest `int`; its rate is then the one of that shape.
            Error::Overflow { rule, .. } => {
                assert_eq!((rule, m), ("murmur, floor-mod", i32::MAX as u64), "{case}");
                let clipped = Shape::new(m, k).expect("valid");
                return assert_close(clipped.classic_rate_at(n), case.double("get_fpp"), case);
            }
            other => panic!("{case}: {other}"),
        }
        assert_eq!(case.double("get_fpp"), 1.0, "{case}");
    });
}

#[test]
fn positions_are_those_of_post_004_or_what_its_author_meant_where_they_overflow() {
    each("standard_filter.json", "positions", |case| {
        let key = case.hex("utf8_hex");
        let text = utf8(&code_units(case.field("key_text")));
        assert_eq!(text.as_bytes(), key, "{case}");
        let m = case.int("m");
        let shape = Shape::new(case.count("m"), case.hashes("k")).expect("valid");
        Scheme::MurmurFloorMod.check(shape).expect("an int of bits");

        let positions = Scheme::MurmurFloorMod.positions(&key, shape);

        let java = case.integers("positions");
        assert_eq!(positions.len(), java.len(), "{case}");
        let hash = hash128(&key, 0).0;
        let (mut sum, step) = (hash as i32, (hash >> 32) as i32);
        for (&position, &java) in positions.iter().zip(&java) {
            sum = sum.wrapping_add(step);
            // The post's own arithmetic: the middle sum overflows for more than 2^30 bits.
            let overflowing = (sum % m).wrapping_add(m) % m;
            assert_eq!(java, i64::from(overflowing), "{case}");
            let meant = i64::from(sum).rem_euclid(i64::from(m));
            assert_eq!(position as i64, meant, "{case}");
            assert_eq!(position as i64 == java, java >= 0, "{case}");
        }
        let throws = java.iter().any(|&position| position < 0);
        assert_eq!(case.has("bitset_exception"), throws, "{case}");
    });
}

#[test]
fn filters_have_the_bits_and_false_positives_of_post_004() {
    each("standard_filter.json", "filters", |case| {
        let n = case.count("n");
        let shape = Sizing::MurmurFloorMod
            .shape(n, case.double("fpp"))
            .expect("valid");
        let expected = (case.count("m"), case.hashes("k"));
        assert_eq!((shape.bits(), shape.hashes()), expected, "{case}");
        assert_close(shape.classic_rate_at(n), case.double("get_fpp"), case);
        let mut filter = Bloom::new(shape, Scheme::MurmurFloorMod).expect("memory");

        let bytes = filled(&mut filter, case, "bit_count");

        assert_eq!(bytes.len() as u64, case.count("bitset_bytes_len"), "{case}");
        assert_eq!(sha256(&bytes), case.text("bitset_bytes_sha256"), "{case}");
        if case.has("bitset_bytes_hex") {
            assert_eq!(to_hex(&bytes), case.text("bitset_bytes_hex"), "{case}");
        }
        assert_false_positives(&filter, case);
    });
}

/// Asserts that the keys found are the inserted ones among those looked up, and the listed false positives.
fn assert_false_positives(filter: &Bloom, case: &Case<'_>) {
    let queries = case.part("queries");
    let queried: BTreeSet<i64> = numbers(&queries.part("keys")).collect();
    let members = numbers(&case.part("inserted")).filter(|number| queried.contains(number));
    let mut expected: BTreeSet<i64> = members.collect();
    for number in queries.integers("false_positive_values") {
        assert!(expected.insert(number), "{case}: {number} was inserted");
    }

    let found = contained_numbers(filter, &queries.part("keys"), Funnel::StringUtf8);

    assert_eq!(found, Vec::from_iter(expected), "{case}");
}
