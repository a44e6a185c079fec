//! Post 003: salted message digests, stored in a Redis string.

use mayhap::hash::{MessageDigest, salted_hashes};
use mayhap::{Bloom, Error, Scheme, Shape, Sizing};

use super::data::{Case, each, integers, to_hex};
use super::keys::{Funnel, contained_numbers, filled};

fn digest(case: &Case<'_>) -> MessageDigest {
    match case.text("digest") {
        "MD5" => MessageDigest::Md5,
        "SHA-1" => MessageDigest::Sha1,
        "SHA-256" => MessageDigest::Sha256,
        other => panic!("{case}: no digest is called {other}"),
    }
}

/// The number of hashes in one digest.
fn hashes_per_digest(digest: MessageDigest) -> usize {
    match digest {
        MessageDigest::Md5 => 4,
        MessageDigest::Sha1 => 5,
        _ => 8,
    }
}

#[test]
fn salted_hashes_and_their_positions_are_those_of_post_003() {
    each("digest_filter.json", "hashes", |case| {
        let digest = digest(case);
        let data = case.hex("data_hex");
        let k = case.hashes("k");

        let hashes: Vec<i64> = salted_hashes(digest, &data)
            .take(k as usize)
            .map(i64::from)
            .collect();

        assert_eq!(hashes, case.integers("hashes"), "{case}");
        if case.has("note") {
            // The cases with a note show that the salt, one byte, wraps around.
            let period = 256 * hashes_per_digest(digest);
            assert!(hashes.len() > period, "{case}");
            assert_eq!(hashes[period..], hashes[..hashes.len() - period], "{case}");
            return;
        }
        let by_size = case.field("indices_by_size").as_object();
        let by_size = by_size.expect("a map from size to positions");
        assert_eq!(by_size.len(), 5, "{case}");
        for (size, expected) in by_size {
            let shape = Shape::new(size.parse().expect("a size"), k).expect("valid");
            let positions = Scheme::Salted(digest).positions(&data, shape);
            let positions: Vec<i64> = positions.iter().map(|&at| at as i64).collect();
            assert_eq!(Some(positions), integers(expected), "{case} size {size}");
        }
    });
}

#[test]
fn the_default_of_post_003_has_12118639_bits_and_14_hashes() {
    each("digest_filter.json", "default_constructor", assert_sizing);
}

#[test]
fn sizing_is_that_of_post_003_and_refused_where_it_overflows() {
    each("digest_filter.json", "sizing", |case| {
        let keys = case.count("n");
        let m = case.integer("m");
        let overflows = case.flag("k_times_n_overflowed_int") || m == i64::from(i32::MAX);
        if keys > 0 && !overflows {
            return assert_sizing(case);
        }

        let error = Sizing::Salted
            .shape(keys, case.double("fpp"))
            .expect_err("a filter that cannot work");

        match error {
            // Without keys there are no bits, and the original then divides by zero.
            Error::Capacity { got: 0 } => assert_eq!((keys, m), (0, 0), "{case}"),
            // The product k·n wrapped, or m was clipped to the largest `int`.
            Error::Overflow { rule, .. } => {
                assert!(overflows && keys > 0, "{case}");
                assert_eq!(rule, "salted digests", "{case}");
            }
            other => panic!("{case}: {other}"),
        }
    });
}

fn assert_sizing(case: &Case<'_>) {
    let shape = Sizing::Salted.shape(case.count("n"), case.double("fpp"));
    let shape = shape.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(shape.bits(), case.count("m"), "{case}");
    assert_eq!(shape.hashes(), case.hashes("k"), "{case}");
}

#[test]
fn filters_have_the_bits_of_post_003_in_java_and_in_redis() {
    each("digest_filter.json", "filters", |case| {
        assert_sizing(case);
        let shape = Shape::new(case.count("m"), case.hashes("k")).expect("valid");
        let mut filter = Bloom::new(shape, Scheme::Salted(digest(case))).expect("small");
        let queries = case.part("queries");

        let bytes = filled(&mut filter, case, "bit_count");

        assert_eq!(
            to_hex(&bytes),
            case.text("bitset_to_byte_array_hex"),
            "{case}"
        );
        // Redis numbers bits most significant first, and its string ends with the last one.
        let redis: Vec<u8> = bytes.iter().map(|byte| byte.reverse_bits()).collect();
        assert_eq!(to_hex(&redis), case.text("redis_string_hex"), "{case}");
        let found = contained_numbers(&filter, &queries.part("keys"), Funnel::StringUtf8);
        assert_eq!(found, queries.integers("contained_numbers"), "{case}");
    });
}

#[test]
fn the_hash_code_of_post_003s_object_is_made_of_m_n_and_k() {
    each("digest_filter.json", "object_hash_codes", |case| {
        // Java's `hashCode` of the filter object, which the library does not have.
        let code = ["m", "n", "k"].iter().fold(7_i32, |code, field| {
            code.wrapping_mul(61).wrapping_add(case.int(field))
        });
        assert_eq!(code, case.int("hash_code"), "{case}");
    });
}
