//! MurmurHash3 by Guava.

use mayhap::hash::murmur3::{hash32, hash32_before_fix, hash128};
use mayhap::{Key, hash::Utf16};

use super::data::{each, from_hex, to_hex};
use super::keys::{code_units, utf8};

/// Guava's `HashCode.toString()` of the 128-bit hash: both halves in little-endian hex.
fn text128(key: &(impl Key + ?Sized), seed: i32) -> String {
    let (h1, h2) = hash128(key.key_bytes().as_ref(), seed);
    to_hex(&h1.to_le_bytes()) + &to_hex(&h2.to_le_bytes())
}

/// Guava's `HashCode.toString()` of a 32-bit hash.
fn text32(hash: u32) -> String {
    to_hex(&hash.to_le_bytes())
}

#[test]
fn the_128_bit_hash_of_bytes_is_guavas_for_every_seed() {
    each("murmur3.json", "murmur3_128_bytes", |case| {
        let input = case.hex("input_hex");
        let seed = case.int("seed");

        let (h1, _) = hash128(&input, seed);
        let text = text128(&input, seed);

        assert_eq!(text, case.text("to_string"), "{case}");
        assert_eq!(from_hex(&text), case.hex("bytes_hex"), "{case}");
        assert_eq!(h1 as i64, case.integer("as_long"), "{case}");
        assert_eq!(h1 as i64, case.integer("pad_to_long"), "{case}");
        assert_eq!(h1 as i32, case.int("as_int"), "{case}");
    });
}

#[test]
fn the_32_bit_hash_of_bytes_is_guavas_for_every_seed() {
    each("murmur3.json", "murmur3_32_bytes", |case| {
        let hash = hash32(&case.hex("input_hex"), case.int("seed"));

        assert_eq!(hash as i32, case.int("as_int"), "{case}");
        assert_eq!(text32(hash), case.text("to_string"), "{case}");
    });
}

#[test]
fn the_hashes_of_text_are_guavas_before_and_after_its_fix() {
    each("murmur3.json", "strings", |case| {
        let units = code_units(case.field("key"));
        let units_hex: String = units.iter().map(|unit| format!("{unit:04x}")).collect();
        let text = utf8(&units);
        assert_eq!(units_hex, case.text("utf16_code_units_hex"), "{case}");
        assert_eq!(text.as_bytes(), case.hex("utf8_hex"), "{case}");

        let wide = text128(&text, 0);
        let wide_chars = text128(&Utf16(&units), 0);
        let fixed = text32(hash32(text.key_bytes().as_ref(), 0));
        // Guava hashes text with unpaired surrogates by `getBytes`, question marks and all.
        let legacy = text32(hash32_before_fix(&text, 0));
        let chars = text32(hash32(Utf16(&units).key_bytes().as_ref(), 0));

        assert_eq!(wide, case.text("murmur3_128_utf8"), "{case}");
        assert_eq!(wide_chars, case.text("murmur3_128_utf16le_chars"), "{case}");
        assert_eq!(fixed, case.text("murmur3_32_fixed_utf8"), "{case}");
        assert_eq!(legacy, case.text("murmur3_32_legacy_utf8"), "{case}");
        assert_eq!(
            legacy != fixed,
            case.flag("legacy_differs_from_fixed"),
            "{case}"
        );
        assert_eq!(chars, case.text("murmur3_32_chars"), "{case}");
        assert_eq!(
            java_hash(&units),
            case.int("java_string_hashcode"),
            "{case}"
        );
    });
}

/// Java's `String.hashCode`, which the library does not have: shows that the text was read right.
fn java_hash(units: &[u16]) -> i32 {
    units.iter().fold(0_i32, |hash, &unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

#[test]
fn the_hashes_of_ints_are_guavas() {
    each("murmur3.json", "ints", |case| {
        let key = case.int("key");

        assert_eq!(text128(&key, 0), case.text("murmur3_128"), "{case}");
        let narrow = hash32(key.key_bytes().as_ref(), 0);
        assert_eq!(text32(narrow), case.text("murmur3_32"), "{case}");
    });
}

#[test]
fn the_hashes_of_longs_and_of_their_decimal_text_are_guavas() {
    each("murmur3.json", "longs", |case| {
        let key = case.integer("key");

        assert_eq!(text128(&key, 0), case.text("murmur3_128"), "{case}");
        let narrow = hash32(key.key_bytes().as_ref(), 0);
        assert_eq!(text32(narrow), case.text("murmur3_32"), "{case}");
        let of_decimal = text128(&key.to_string(), 0);
        assert_eq!(
            of_decimal,
            case.text("murmur3_128_of_decimal_string"),
            "{case}"
        );
    });
}
