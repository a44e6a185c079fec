//! `java.util.BitSet`, and the bitmap sort of post 001.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mayhap::{Bitmap, bits::Bits as _, sort};
use serde_json::{Value, json};

use super::data::{Case, each, integer, sha256, to_hex, without_trailing_zeros, words as words_in};

#[test]
fn every_operation_answers_and_leaves_what_javas_bitset_does() {
    each("bitset.json", "cases", |case| {
        let mut bitmap = Bitmap::new(0).expect("no bits");
        for step in case.parts("steps") {
            let answer = apply(&mut bitmap, &step);
            let expected = step.value.get("result").cloned();
            assert_eq!(answer, expected, "{step} {}", step.text("op"));
        }

        let end = case.part("final");
        assert_eq!(bitmap.count_ones(), end.count("cardinality"), "{case}");
        assert_eq!(length(&bitmap), end.count("length"), "{case}");
        let words = words(&bitmap);
        assert_eq!(words, end.words("to_long_array_hex"), "{case}");
        let bytes = without_trailing_zeros(bitmap.to_bytes());
        assert_eq!(to_hex(&bytes), end.text("to_byte_array_hex"), "{case}");
        assert_eq!(java_hash(&words), end.int("hash_code"), "{case}");
        let text = format!("{bitmap:?}");
        assert_eq!(
            sha256(text.as_bytes()),
            end.text("to_string_sha256"),
            "{case}: {text}"
        );
    });
}

/// Applies one step and returns its answer, as the file writes it.
///
/// Java's `BitSet` grows by itself and ours on request: this grows it first where Java would.
fn apply(bitmap: &mut Bitmap, step: &Case<'_>) -> Option<Value> {
    let arguments = step.list("args");
    let at = |index: usize| position(&arguments[index]);
    let range = || at(0)..at(1);
    let other = || Bitmap::from_words(&words_in(&arguments[0])).expect("small");
    let op = step.text("op");
    match op {
        "set" | "flip" => grow(bitmap, at(0) + 1),
        "set_range" | "set_range_to" | "clear_range" | "flip_range" => grow(bitmap, at(1)),
        _ => {}
    }
    match op {
        "set" => {
            bitmap.set(at(0));
        }
        "clear" => {
            bitmap.clear(at(0));
        }
        "flip" => {
            bitmap.flip(at(0));
        }
        "set_range" => bitmap.set_range(range()),
        "set_range_to" if arguments[2] == true => bitmap.set_range(range()),
        "set_range_to" | "clear_range" => bitmap.clear_range(range()),
        "flip_range" => bitmap.flip_range(range()),
        "and" => bitmap.and(&other()),
        "or" => bitmap.or(&other()).expect("small"),
        "xor" => bitmap.xor(&other()).expect("small"),
        "and_not" => bitmap.and_not(&other()),
        "intersects" => return Some(json!(bitmap.intersects(&other()))),
        "get" => return Some(json!(bitmap.get(at(0)))),
        "get_range" => return Some(hex_words(&bitmap.get_range(range()).expect("small"))),
        "cardinality" => return Some(json!(bitmap.count_ones())),
        "is_empty" => return Some(json!(bitmap.is_zero())),
        "length" => return Some(json!(length(bitmap))),
        "next_set_bit" => return Some(or_minus_one(bitmap.next_set(at(0)))),
        "next_clear_bit" => return Some(json!(bitmap.next_clear(at(0)))),
        "previous_set_bit" => return Some(or_minus_one(bitmap.previous_set(at(0)))),
        "previous_clear_bit" => return Some(or_minus_one(bitmap.previous_clear(at(0)))),
        other => panic!("{step}: no operation is called {other}"),
    }
    None
}

fn position(argument: &Value) -> u64 {
    argument.as_u64().expect("a position")
}

fn grow(bitmap: &mut Bitmap, size: u64) {
    bitmap.grow(size).expect("small");
}

fn or_minus_one(position: Option<u64>) -> Value {
    position.map_or(json!(-1), |position| json!(position))
}

/// Java's `length`: the highest position plus one.
fn length(bitmap: &Bitmap) -> u64 {
    bitmap.previous_set(u64::MAX).map_or(0, |last| last + 1)
}

/// Java's `toLongArray`: the words without the zeros at their end.
fn words(bitmap: &Bitmap) -> Vec<u64> {
    let mut words: Vec<u64> = bitmap.words().collect();
    while words.last() == Some(&0) {
        words.pop();
    }
    words
}

fn hex_words(bitmap: &Bitmap) -> Value {
    let words = words(bitmap);
    words.iter().map(|word| format!("{word:016x}")).collect()
}

/// Java's `BitSet.hashCode`, which the library does not have.
fn java_hash(words: &[u64]) -> i32 {
    let mut hash = 1234_u64;
    for (index, word) in (1..).zip(words) {
        hash ^= word.wrapping_mul(index);
    }
    ((hash >> 32) ^ hash) as i32
}

#[test]
fn arguments_that_java_refuses_cannot_be_expressed_or_panic() {
    each("bitset.json", "exceptional", |case| {
        let initial = case.integers("initial_bits");
        let mut bitmap = Bitmap::new(128).expect("small");
        for &one in &initial {
            bitmap.set(one as u64);
        }
        let arguments = case.integers("args");

        // Positions are `u64`: a negative argument is impossible. That covers what Java throws on,
        // and the two calls that answer -1 to -1, where a backward search ends in Java;
        // ours ends with `None`.
        if arguments.iter().any(|&argument| argument < 0) {
            assert_eq!(case.has("result"), !case.has("exception"), "{case}");
            return assert_ends_before_zero(case);
        }
        // The others run backwards, which panics like the slice `[5..3]` and changes nothing.
        assert!(case.text("message").contains(" > toIndex"), "{case}");
        let range = arguments[0] as u64..arguments[1] as u64;
        let before = bitmap.clone();
        assert!(panics(&mut bitmap, case.text("op"), range), "{case}");
        assert_eq!(bitmap, before, "{case}");
    });
}

/// Asserts that a search that answers -1 in Java is one that ends with `None` here.
fn assert_ends_before_zero(case: &Case<'_>) {
    if !case.has("result") {
        return;
    }
    assert_eq!(integer(case.field("result")), Some(-1), "{case}");
    let full = Bitmap::from_words(&[1]).expect("small");
    let empty = Bitmap::from_words(&[0]).expect("small");
    let answer = match case.text("op") {
        "previous_set_bit" => empty.previous_set(0),
        "previous_clear_bit" => full.previous_clear(0),
        other => panic!("{case}: {other}"),
    };
    assert_eq!(answer, None, "{case}");
}

fn panics(bitmap: &mut Bitmap, op: &str, range: Range<u64>) -> bool {
    let call = AssertUnwindSafe(|| match op {
        "set_range" => bitmap.set_range(range),
        "flip_range" => bitmap.flip_range(range),
        "get_range" => drop(bitmap.get_range(range)),
        other => unreachable!("{other}"),
    });
    let Err(message) = catch_unwind(call) else {
        return false;
    };
    let message = message.downcast_ref::<String>().expect("a panic message");
    message.contains("runs backwards")
}

#[test]
fn bytes_read_as_javas_value_of_reads_them() {
    each("bitset.json", "value_of_bytes", |case| {
        let bitmap = Bitmap::from_bytes(&case.hex("value_of_bytes_hex")).expect("small");

        assert_eq!(words(&bitmap), case.words("to_long_array_hex"), "{case}");
        let bytes = without_trailing_zeros(bitmap.to_bytes());
        assert_eq!(to_hex(&bytes), case.text("to_byte_array_hex"), "{case}");
        assert_eq!(bitmap.count_ones(), case.count("cardinality"), "{case}");
        assert_eq!(length(&bitmap), case.count("length"), "{case}");
    });
}

#[test]
fn the_bitmap_sort_gives_the_order_and_the_bytes_of_post_001() {
    each("bitset.json", "bitmap_sort", |case| {
        let n = case.count("n");
        let input = case.integers("input");
        let mut values: Vec<u64> = input.iter().map(|&value| value as u64).collect();
        let mut bitmap = Bitmap::new(n).expect("small");
        for &value in &values {
            bitmap.set(value);
        }

        sort(&mut values).expect("a small range");

        let sorted: Vec<i64> = values.iter().map(|&value| value as i64).collect();
        assert_eq!(sorted, case.integers("sorted"), "{case}");
        assert_eq!(bitmap.ones().collect::<Vec<_>>(), values, "{case}");
        let mut bytes = without_trailing_zeros(bitmap.to_bytes());
        assert_eq!(to_hex(&bytes), case.text("bytes_lsb_first_hex"), "{case}");
        // The post's array of 1 + n/32 ints is the same bytes, four at a time.
        bytes.resize((n as usize / 32 + 1) * 4, 0);
        let ints = bytes.as_chunks::<4>().0.iter();
        let ints: Vec<i64> = ints.map(|&int| i32::from_le_bytes(int).into()).collect();
        assert_eq!(ints, case.integers("int_words"), "{case}");
    });
}
