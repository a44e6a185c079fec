//! Vectors printed in the posts and in the sizing specification, named one by one.

use std::sync::LazyLock;

use mayhap::format::guava;
use mayhap::hash::murmur3::hash128;
use mayhap::{Bloom, Insert, Key, Scheme, Shape, Sizing, bits::Bits as _};

use super::data::{report, to_hex};

const SPECIFICATION: &str = "sizing-and-fpr.md";
const POST_004: &str = "post 004";

/// Post 004's own experiment: ten million even numbers, as decimal text, at one per cent.
static EVEN_NUMBERS: LazyLock<Bloom> = LazyLock::new(|| {
    let shape = Sizing::MurmurFloorMod
        .shape(10_000_000, 0.01)
        .expect("valid");
    let mut filter = Bloom::new(shape, Scheme::MurmurFloorMod).expect("memory");
    filter.insert_all((0..20_000_000_u64).step_by(2).map(|n| n.to_string()));
    filter
});

#[test]
fn hello_and_the_empty_key_have_the_printed_murmur_hashes() {
    let hello = (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19);

    assert_eq!(hash128(b"hello", 0), hello);
    assert_eq!(hash128(b"", 0), (0, 0));
    let shape = Shape::new(128, 7).expect("valid");
    assert_eq!(Scheme::Guava64.positions(b"", shape), [0; 7]);
    report(SPECIFICATION, 3);
}

#[test]
fn guavas_filter_of_ten_keys_has_the_printed_positions_and_bytes() {
    for rule in [Sizing::Guava, Sizing::GuavaBefore33_4] {
        let shape = rule.shape(10, 0.01).expect("valid");
        assert_eq!(rule.unrounded_bits(10, 0.01).expect("valid"), 95);
        assert_eq!((shape.bits(), shape.hashes()), (128, 7));
    }
    let shape = Shape::new(128, 7).expect("valid");
    let mut filter = Bloom::new(shape, Scheme::Guava64).expect("small");

    let positions = |key: i32| Scheme::Guava64.positions(key.key_bytes().as_ref(), shape);
    let hello = Scheme::Guava64.positions(b"hello", shape);
    filter.insert_all([1, 2, 3]);
    let mut wire = Vec::new();
    guava::write(&filter, &mut wire).expect("memory is writable");

    // The step of key 1 is 64 modulo 128: seven probes, two bits.
    assert_eq!(positions(1), [126, 62, 126, 62, 126, 62, 126]);
    assert_eq!(positions(2), [96, 117, 10, 31, 52, 73, 94]);
    assert_eq!(positions(3), [59, 99, 11, 51, 91, 3, 43]);
    assert_eq!(hello, [2, 27, 52, 77, 102, 127, 24]);
    assert_eq!(filter.bits().count_ones(), 16);
    assert_eq!(
        to_hex(&wire),
        "0107000000024818080080000c084020000948000200"
    );
    report(SPECIFICATION, 8);
}

#[test]
fn guavas_filter_of_ten_million_integers_has_9957_false_positives_in_the_next_million() {
    let shape = Sizing::Guava.shape(10_000_000, 0.01).expect("valid");
    let mut filter = Bloom::new(shape, Scheme::Guava64).expect("memory");

    filter.insert_all(0..10_000_000_i32);
    let false_positives: Vec<i32> = (10_000_000..11_000_000)
        .filter(|number| filter.contains(number))
        .collect();

    assert_eq!(shape.bits(), 95_850_624);
    assert_eq!(filter.bits().count_ones(), 49_672_900);
    assert!(!filter.contains(&10_000_000_i32));
    assert_eq!(false_positives.len(), 9957);
    assert_eq!(
        false_positives[..5],
        [10_000_008, 10_000_064, 10_000_090, 10_000_447, 10_000_573]
    );
    report(SPECIFICATION, 5);
}

#[test]
fn post_004s_ten_false_positives_below_a_thousand_are_the_printed_ones() {
    let false_positives: Vec<u64> = (1..1000)
        .step_by(2)
        .filter(|number: &u64| EVEN_NUMBERS.contains(&number.to_string()))
        .collect();

    assert_eq!(
        false_positives,
        [45, 49, 55, 243, 309, 321, 361, 643, 723, 901]
    );
    assert_eq!(EVEN_NUMBERS.bits().count_ones(), 44_593_944);
    report(POST_004, 11);
}

#[test]
fn post_004s_filter_has_10169_false_positives_among_a_million_odd_numbers() {
    let false_positives = (1..2_000_000_u64)
        .step_by(2)
        .filter(|number| EVEN_NUMBERS.contains(&number.to_string()))
        .count();

    assert_eq!(false_positives, 10_169);
    report(SPECIFICATION, 1);
}

#[test]
fn post_004s_two_rates_are_the_printed_ones() {
    let rate = |rate| {
        let shape = Sizing::MurmurFloorMod
            .shape(10_000_000, rate)
            .expect("valid");
        shape.classic_rate_at(10_000_000)
    };

    assert_eq!(rate(0.03), 0.030_004_411_202_804_09);
    assert_eq!(rate(0.01), 0.010_143_159_512_273_257);
    report(POST_004, 2);
}
