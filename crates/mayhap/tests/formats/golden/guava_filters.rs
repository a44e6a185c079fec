//! Whole Guava filters: their bits, answers and bytes; single keys; unions.

use mayhap::format::guava;
use mayhap::{Bloom, Error, Filter, Insert, Merge, Scheme, Shape, Sizing};

use super::data::{Case, assert_close, each, read, sha256, to_hex};
use super::keys::{Funnel, keys};

#[test]
fn filters_hold_answer_and_write_what_guava_31_does() {
    each("guava_filters.json", "cases", |case| {
        assert_filter(Sizing::GuavaBefore33_4, case);
    });
}

#[test]
fn filters_hold_answer_and_write_what_guava_33_does() {
    each("guava33_filters.json", "cases", |case| {
        assert_filter(Sizing::Guava, case);
    });
}

#[test]
fn a_single_key_sets_the_bits_it_sets_in_guava() {
    each("guava_single_key_bits.json", "cases", |case| {
        let mut filter = empty(Sizing::GuavaBefore33_4, case);
        assert_eq!(filter.shape().hashes(), case.hashes("k"), "{case}");
        assert_eq!(filter.shape().bits(), case.count("bit_size"), "{case}");

        filter.insert(&Funnel::of(case).key(case.field("key")));

        let ones: Vec<i64> = filter.bits().ones().map(|one| one as i64).collect();
        assert_eq!(ones, case.integers("set_bits_sorted"), "{case}");
    });
}

#[test]
fn unions_are_guavas_put_all() {
    each("guava_union.json", "cases", |case| {
        let funnel = Funnel::of(case);
        let filled = |state: &str, inserted: &str| {
            let state = case.part(state);
            let mut filter = Bloom::new(shape(Sizing::GuavaBefore33_4, case), scheme(&state))
                .expect("a small filter");
            for spec in case.parts(inserted) {
                filter.insert_all(keys(&spec, funnel));
            }
            assert_state(&filter, &state);
            filter
        };
        let mut joined = filled("a", "a_inserted");
        let other = filled("b", "b_inserted");

        assert!(case.flag("compatible"), "{case}");
        joined.union(&other).expect("built alike");

        assert_state(&joined, &case.part("union"));
    });
}

#[test]
fn filters_that_guava_cannot_join_are_refused_unless_they_differ_only_in_funnel() {
    each("guava_union.json", "incompatible", |case| {
        assert!(!case.flag("compatible"), "{case}");
        let expected = match case.text("why") {
            "different k and size" | "same k, different size" => Some("shape"),
            "different strategy" => Some("scheme"),
            // Our filters hold bytes and know no funnel, nor does Guava's own wire format.
            "different funnel" => None,
            // `a.union(&a)` borrows `a` twice: the compiler refuses it.
            "same instance" => return,
            other => panic!("{case}: {other}"),
        };
        let mut a = empty(Sizing::GuavaBefore33_4, &case.part("a"));
        let b = empty(Sizing::GuavaBefore33_4, &case.part("b"));

        let joined = a.union(&b);

        match (joined, expected) {
            (Ok(()), None) => {}
            (Err(Error::Incompatible { what, .. }), Some(expected)) => {
                assert_eq!(what, expected, "{case}");
            }
            (joined, _) => panic!("{case}: {joined:?}"),
        }
    });
}

fn scheme(case: &Case<'_>) -> Scheme {
    match case.integer("strategy_ordinal") {
        0 => Scheme::Guava32,
        1 => Scheme::Guava64,
        other => panic!("{case}: no strategy is {other}"),
    }
}

fn shape(rule: Sizing, case: &Case<'_>) -> Shape {
    rule.shape(case.count("n"), case.double("fpp"))
        .expect("a valid request")
}

fn empty(rule: Sizing, case: &Case<'_>) -> Bloom {
    Bloom::new(shape(rule, case), scheme(case)).expect("a small filter")
}

fn assert_filter(rule: Sizing, case: &Case<'_>) {
    // Guava takes a capacity of zero for one.
    let capacity = case.count("expected_insertions").max(1);
    let rate = case.double("fpp");
    let unrounded = rule.unrounded_bits(capacity, rate).expect("valid");
    assert_eq!(unrounded, case.count("optimal_num_of_bits"), "{case}");
    let shape = rule.shape(capacity, rate).expect("valid");
    let mut filter = Bloom::new(shape, scheme(case)).expect("memory");

    let funnel = Funnel::of(case);
    let specs = case.parts("inserted");
    let inserted = || specs.iter().flat_map(|spec| keys(spec, funnel));
    let calls = if case.has("put_results") {
        let results: String = inserted()
            .map(|key| if filter.insert(&key) { '1' } else { '0' })
            .collect();
        assert_eq!(results, case.text("put_results"), "{case}");
        let new = results.matches('1').count() as u64;
        assert_eq!(new, case.count("put_returned_true"), "{case}");
        results.len()
    } else {
        let new = filter.insert_all(inserted());
        assert_eq!(new, case.count("put_returned_true"), "{case}");
        inserted().count()
    };

    assert_eq!(calls as u64, case.count("insert_calls"), "{case}");
    assert!(filter.contains_all(inserted()), "{case}");
    for query in case.parts("queries") {
        let found: Vec<i64> = (0..)
            .zip(keys(&query.part("keys"), funnel))
            .filter(|(_, key)| filter.contains(key))
            .map(|(index, _)| index)
            .collect();
        assert_eq!(found, query.integers("might_contain_true_at"), "{query}");
    }
    assert_state(&filter, case);
}

/// Asserts everything that a file says about the state of a filter, down to the bytes it writes.
fn assert_state(filter: &Bloom, state: &Case<'_>) {
    let shape = filter.shape();
    let strategy = match filter.scheme() {
        Scheme::Guava64 => "MURMUR128_MITZ_64",
        _ => "MURMUR128_MITZ_32",
    };
    assert_eq!(strategy, state.text("strategy"), "{state}");
    assert_eq!(
        shape.hashes(),
        state.hashes("num_hash_functions"),
        "{state}"
    );
    assert_eq!(shape.bits(), state.count("bit_size"), "{state}");
    assert_eq!(shape.bits() / 64, state.count("data_length"), "{state}");
    assert_stats(filter, state);

    let mut wire = Vec::new();
    guava::write(filter, &mut wire).expect("memory is writable");
    assert_eq!(wire.len() as u64, state.count("wire_len"), "{state}");
    assert_eq!(to_hex(&wire[..6]), state.text("wire_header_hex"), "{state}");
    if state.has("wire_hex") {
        assert_eq!(to_hex(&wire), state.text("wire_hex"), "{state}");
    }
    if state.has("wire_file") {
        assert!(wire == read(state.text("wire_file")), "{state}");
    }
    assert_eq!(sha256(&wire), state.text("wire_sha256"), "{state}");

    let read_back = guava::read(&wire[..]).expect("our own bytes");
    assert!(read_back == *filter, "{state}");
}

/// Asserts the set bits, the rate that follows and the estimated number of keys.
pub(crate) fn assert_stats(filter: &Bloom, state: &Case<'_>) {
    let stats = filter.stats();
    assert_eq!(stats.ones, state.count("bit_count"), "{state}");
    assert_close(stats.rate, state.double("expected_fpp"), state);
    if state.field("approximate_element_count").is_null() {
        // Guava throws here; the estimate of a saturated filter is infinite.
        assert_eq!(stats.keys, None, "{state}");
        return;
    }
    // `round` rounds ties away from zero, like Guava's HALF_UP.
    let keys = stats.keys.expect("not saturated").round() as u64;
    assert_eq!(keys, state.count("approximate_element_count"), "{state}");
}
