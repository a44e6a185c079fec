//! Spark's `org.apache.spark.util.sketch.BloomFilter`, versions 1 and 2.

use super::data::{Case, cases};
use mayhap::format::spark;
use mayhap::{Bloom, Error, Scheme, Shape, Sizing};

const FILES: usize = 24;

fn scheme(case: &Case) -> Scheme {
    match case.integer("version") {
        1 => Scheme::Spark1,
        _ => Scheme::Spark2 {
            seed: case.integer("seed").try_into().expect("32 bits"),
        },
    }
}

#[test]
fn every_file_is_read_and_answers_as_spark_does() {
    for case in cases("spark", FILES) {
        let filter = spark::read(&case.bytes[..]).expect("a whole file");

        assert_eq!(*filter.scheme(), scheme(&case), "{}", case.file);
        case.assert_answers(&filter);
    }
}

#[test]
fn a_filter_of_the_same_bits_and_keys_is_the_same_file() {
    for case in cases("spark", FILES) {
        // Spark's rule: hashes from the requested bits, then whole words.
        let bits = case.count("bits");
        let hashes = (bits as f64 / case.keys as f64 * std::f64::consts::LN_2 + 0.5) as u32;
        let shape = Shape::new(bits.next_multiple_of(64), hashes.max(1)).expect("a shape");
        let mut filter = Bloom::new(shape, scheme(&case)).expect("small");
        for key in case.inserted() {
            filter.insert(&key);
        }

        let mut written = Vec::new();
        spark::write(&filter, &mut written).expect("memory");

        assert!(written == case.bytes, "{}: other bytes", case.file);
        assert_eq!(spark::read(&written[..]).expect("whole"), filter);
    }
}

#[test]
fn sparks_sizes_are_guavas_of_before() {
    // `BloomFilter.create(n, p)` of Spark: the files were made with these bits.
    for (keys, rate, bits) in [(300, 0.03, 2189), (1000, 0.001, 14377), (300, 0.25, 865)] {
        let rule = Sizing::GuavaBefore33_4;
        assert_eq!(rule.unrounded_bits(keys, rate).expect("valid"), bits);
    }
}

#[test]
fn what_follows_the_filter_stays_unread() {
    let case = &cases("spark", FILES)[0];
    let stream = [&case.bytes[..], b"next"].concat();
    let mut rest = &stream[..];

    spark::read(&mut rest).expect("a whole file");

    assert_eq!(rest, b"next");
}

#[test]
fn impossible_fields_are_refused_by_name() {
    let fields = |numbers: &[i32]| -> Vec<u8> {
        let words = [0; 8];
        numbers
            .iter()
            .flat_map(|number| number.to_be_bytes())
            .chain(words)
            .collect()
    };
    for (numbers, expected) in [
        (&[0, 3, 1][..], "version"),
        (&[3, 3, 1], "version"),
        (&[-1, 3, 1], "version"),
        (&[1, 0, 1], "number of hashes"),
        (&[1, -3, 1], "number of hashes"),
        (&[2, 4097, 0, 1], "number of hashes"),
        (&[1, 3, 0], "number of words"),
        (&[2, 3, 7, -1], "number of words"),
    ] {
        match spark::read(&fields(numbers)[..]) {
            Err(Error::Field { field, .. }) => assert_eq!(field, expected, "{numbers:?}"),
            other => panic!("{numbers:?}: {other:?}"),
        }
    }
}

#[test]
fn a_filter_of_another_scheme_is_not_written() {
    let filter = Bloom::new(Shape::new(64, 3).expect("valid"), Scheme::Guava64).expect("small");
    let written = spark::write(&filter, Vec::new());
    assert!(matches!(written, Err(Error::Unfit { what: "scheme", .. })));
}

#[test]
fn shapes_that_spark_cannot_have_are_refused() {
    for scheme in [Scheme::Spark1, Scheme::Spark2 { seed: 1 }] {
        let check = |bits| scheme.check(Shape::new(bits, 3).expect("valid"));
        assert!(check(64 * i32::MAX as u64).is_ok());
        for bits in [1, 63, 65, 1 << 37] {
            assert!(matches!(check(bits), Err(Error::Bits { .. })), "{bits}");
        }
    }
}
