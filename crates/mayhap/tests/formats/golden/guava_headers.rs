//! Guava's `readFrom` on valid and damaged input.

use mayhap::format::guava;
use mayhap::{Error, Scheme};

use super::data::{Case, each};
use super::guava_filters::assert_stats;

#[test]
fn input_that_guava_31_reads_is_read_and_what_it_refuses_is_refused() {
    each("guava_headers.json", "cases", assert_case);
}

#[test]
fn input_that_guava_33_reads_is_read_and_what_it_refuses_is_refused() {
    each("guava33_headers.json", "cases", assert_case);
}

fn assert_case(case: &Case<'_>) {
    let input = case.hex("input_hex");
    let mut unread = &input[..];

    let result = guava::read(&mut unread);

    if !case.flag("accepted") {
        let error = result.expect_err("Guava refuses it");
        return assert_refusal(&error, input.len() as u64, case);
    }
    let filter = result.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(
        unread.len() as u64,
        case.count("bytes_left_unread"),
        "{case}"
    );
    let scheme = match case.integer("strategy_ordinal") {
        0 => Scheme::Guava32,
        _ => Scheme::Guava64,
    };
    assert_eq!(*filter.scheme(), scheme, "{case}");
    let shape = filter.shape();
    assert_eq!(shape.hashes(), case.hashes("num_hash_functions"), "{case}");
    assert_eq!(shape.bits(), case.count("bit_size"), "{case}");
    assert_stats(&filter, case);

    let mut rewritten = Vec::new();
    guava::write(&filter, &mut rewritten).expect("memory is writable");
    let consumed = &input[..input.len() - unread.len()];
    assert_eq!(
        rewritten == consumed,
        case.flag("rewritten_equals_consumed_input"),
        "{case}"
    );
}

/// Asserts that early ends are distinguished from bad fields.
///
/// Guava checks the number of hashes after reading the words and we before: a stream that has no
/// hashes *and* ends early is an early end there and a bad field here, refused either way.
fn assert_refusal(error: &Error, available: u64, case: &Case<'_>) {
    match case.text("exception") {
        "java.io.EOFException" => {
            let Error::Truncated { got, expected, .. } = error else {
                panic!("{case}: {error}");
            };
            assert_eq!(*got, available, "{case}");
            assert!(got < expected, "{case}");
        }
        "java.io.IOException" => {
            let Error::Field { field, got, .. } = error else {
                panic!("{case}: {error}");
            };
            // Guava's message: "... strategyOrdinal: S numHashFunctions: K dataLength: L".
            let name = match *field {
                "strategy" => "strategyOrdinal",
                "number of hashes" => "numHashFunctions",
                "number of words" => "dataLength",
                other => panic!("{case}: {other}"),
            };
            let message = format!("{} ", case.text("message"));
            assert!(message.contains(&format!(" {name}: {got} ")), "{case}");
        }
        other => panic!("{case}: {other}"),
    }
}
