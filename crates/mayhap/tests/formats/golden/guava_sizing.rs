//! Guava's numbers of bits and hashes, before and since version 33.4.

use mayhap::{Error, Sizing};

use super::data::{Case, each};

/// The rule before version 33.4 and the one since, and the rows of Guava 31 and 33.
const RULES: [(&str, Sizing); 2] = [
    ("guava_sizing.json", Sizing::GuavaBefore33_4),
    ("guava33_sizing.json", Sizing::Guava),
];

#[test]
fn sizing_gives_the_bits_and_hashes_of_guava() {
    for (file, rule) in RULES {
        each(file, "rows", |row| assert_row(rule, row));
    }
}

#[test]
fn what_guava_rejects_is_refused_with_a_typed_error() {
    for (file, rule) in RULES {
        each(file, "rejected", |row| assert_rejected(rule, row));
    }
}

fn assert_row(rule: Sizing, row: &Case<'_>) {
    let rate = row.double("fpp");
    let mut keys = row.count("n");
    if keys == 0 {
        // Guava takes a capacity of zero for one; we refuse it, and one gives Guava's shape.
        let refused = rule.shape(0, rate);
        assert!(matches!(refused, Err(Error::Capacity { got: 0 })), "{row}");
        keys = 1;
    }

    let unrounded = rule.unrounded_bits(keys, rate).expect("a valid request");
    let shape = rule.shape(keys, rate);

    assert_eq!(unrounded, row.count("optimal_num_of_bits"), "{row}");
    if row.has("exception") {
        let error = shape.expect_err("Guava refuses it");
        return assert_cause(&error, unrounded, row);
    }
    assert_eq!(unrounded.div_ceil(64) * 64, row.count("bit_size"), "{row}");
    let k = row.hashes("k");
    match shape {
        Ok(shape) => {
            assert_eq!(shape.bits(), row.count("bit_size"), "{row}");
            assert_eq!(shape.hashes(), k, "{row}");
        }
        // Guava refuses more than 255 hashes, and every row below 600 000 keys says
        // so. The larger ones have no exception: evidently no filter that big was created, and
        // they hold only the formulas.
        Err(Error::Hashes { got, .. }) => {
            assert!(got == k && k > 255 && keys >= 600_000, "{row}");
        }
        Err(error) => panic!("{row}: {error}"),
    }
}

/// Asserts that the error is of the variant, and names the number, of Guava's message.
fn assert_cause(error: &Error, unrounded: u64, row: &Case<'_>) {
    let cause = row.text("cause_message");
    let expected = match error {
        Error::Bits { got: 0, .. } => "data length is zero!".to_string(),
        Error::Bits { got, .. } => {
            assert_eq!(*got, unrounded, "{row}");
            format!("Out of range: {}", got.div_ceil(64))
        }
        Error::Hashes { got, .. } => {
            assert_eq!(*got, row.hashes("k"), "{row}");
            format!("numHashFunctions ({got}) must be <= 255")
        }
        other => panic!("{row}: {other}"),
    };
    assert_eq!(cause, expected, "{row}");
}

fn assert_rejected(rule: Sizing, row: &Case<'_>) {
    // A negative capacity cannot be a `u64`: the type refuses it, as Guava's check does.
    let Ok(keys) = u64::try_from(row.integer("n")) else {
        assert!(row.text("message").contains("must be >= 0"), "{row}");
        return;
    };
    let rate = row.double("fpp");

    let error = rule.shape(keys, rate).expect_err("Guava rejects it");

    if row.has("cause_message") {
        let unrounded = rule.unrounded_bits(keys, rate).expect("a valid request");
        return assert_cause(&error, unrounded, row);
    }
    assert!(row.text("message").starts_with("False positive"), "{row}");
    let Error::Rate { got } = error else {
        panic!("{row}: {error}");
    };
    assert_eq!(got.to_bits(), rate.to_bits(), "{row}");
}
