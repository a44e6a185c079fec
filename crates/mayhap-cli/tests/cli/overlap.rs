use crate::env::{TestEnv, numbers};

/// Monday has the keys 0 to 59 999, Tuesday 30 000 to 89 999.
fn two_days() -> TestEnv {
    let env = TestEnv::new();
    env.filter("monday", 100_000, 0.01, &numbers(0..60_000));
    env.filter("tuesday", 100_000, 0.01, &numbers(30_000..90_000));
    env
}

#[test]
fn an_overlap_is_estimated_within_its_stated_error() {
    let env = two_days();
    let outcome = env.mayhap("overlap monday tuesday --json").run();
    let stated = outcome.code(0).json();
    for (what, truth) in [
        ("union", 90_000.0),
        ("intersection", 30_000.0),
        ("only_left", 30_000.0),
        ("only_right", 30_000.0),
        ("similarity", 1.0 / 3.0),
    ] {
        let number = |name: &str| {
            stated[name]
                .as_f64()
                .unwrap_or_else(|| panic!("{name}: {stated}"))
        };
        let (estimate, error) = (number(what), number(&format!("{what}_error")));
        // The same keys and hashes every time: twice the stated error is four standard deviations.
        assert!((estimate - truth).abs() < 2.0 * error, "{what}: {stated}");
        assert!(error < truth / 20.0, "{what}: {stated}");
    }
    assert_eq!(stated["disjoint"], false);
}

#[test]
fn an_overlap_reads_as_a_table() {
    let env = two_days();
    let outcome = env.ok("overlap monday tuesday");
    for words in [
        "in either",
        "in both",
        "only in monday",
        "only in tuesday",
        "similarity",
        "±",
    ] {
        assert!(outcome.text().contains(words), "{}", outcome.text());
    }
}

#[test]
fn filters_without_a_common_bit_have_nothing_in_common_and_exit_1() {
    let env = TestEnv::new();
    env.filter("a", 1000, 0.01, "one\n");
    env.filter("b", 1000, 0.01, "two\n");
    let outcome = env.mayhap("overlap a b").run().code(1);
    assert!(outcome.text().contains("for certain"), "{}", outcome.text());
}

#[test]
fn filters_that_are_built_otherwise_are_refused() {
    let env = TestEnv::new();
    env.filter("a", 1000, 0.01, "one\n");
    env.filter("b", 2000, 0.01, "one\n");
    env.fails("overlap a b", &["b", "shape"]);
}
