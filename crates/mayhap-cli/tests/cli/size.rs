use serde_json::Value;

use crate::env::TestEnv;

/// The rows of one list of a plan, found by a name.
fn row<'a>(plan: &'a Value, list: &str, by: &str, name: &str) -> &'a Value {
    let rows = plan[list]
        .as_array()
        .unwrap_or_else(|| panic!("no {list} in {plan}"));
    let found = rows.iter().find(|row| row[by] == name);
    found.unwrap_or_else(|| panic!("no {name} in {plan}"))
}

#[test]
fn a_plan_has_a_row_for_every_kind_and_every_rule() {
    let env = TestEnv::new();

    let plan = env.mayhap("size --capacity 1M --rate 0.01 --json").run();
    let plan = plan.code(0).json();

    for kind in ["bloom", "blocked", "split-block"] {
        let row = row(&plan, "kinds", "kind", kind);
        let number = |field: &str| row[field].as_f64().unwrap_or_else(|| panic!("no {field}"));
        assert_eq!(number("keys"), 1e6);
        assert!(number("rate") <= 0.01, "{row}");
        assert!((9.5..11.0).contains(&number("bits_per_key")), "{row}");
        assert_eq!(number("bytes"), (number("bits") / 8.0).ceil());
        assert!(number("hashes") >= 1.0 && number("cache_lines") >= 1.0);
    }
    // The textbook: n ln(1/p) / ln(2)^2 bits, as Guava rounds them to words.
    assert_eq!(
        row(&plan, "rules", "rule", "Guava since 33.4")["bits"],
        9_585_088
    );
    assert_eq!(row(&plan, "rules", "rule", "DCSO bloom")["bits"], 9_585_058);

    let text = env.ok("size --capacity 1M --rate 0.01");
    for word in [
        "bloom",
        "blocked",
        "split-block",
        "the information bound",
        "bits/key",
        "Guava",
    ] {
        assert!(text.text().contains(word), "{word}");
    }
}

#[test]
fn a_filter_is_as_large_as_its_plan() {
    let env = TestEnv::new();
    let plan = env.ok("size -n 50k -p 0.1% --json").json();
    for kind in ["bloom", "blocked", "split-block"] {
        let new = format!("new f --force -n 50k -p 0.1% --kind {kind} --json");
        let info = env.ok(&new).json();
        assert_eq!(
            info["bits"],
            row(&plan, "kinds", "kind", kind)["bits"],
            "{kind}"
        );
        assert_eq!(
            info["hashes"],
            row(&plan, "kinds", "kind", kind)["hashes"],
            "{kind}"
        );
    }
}

#[test]
fn any_two_of_keys_rate_and_memory_give_the_third() {
    let env = TestEnv::new();
    let plan = |words: &str| env.mayhap("size --json").args(words).run().code(0).json();

    for kind in ["bloom", "blocked", "split-block"] {
        let by_memory = plan("--capacity 1M --memory 1200000");
        let by_memory = row(&by_memory, "kinds", "kind", kind);
        assert!(
            by_memory["bytes"].as_u64().expect("a number") <= 1_200_000,
            "{by_memory}"
        );
        let rate = by_memory["rate"].as_f64().expect("a number");
        assert!((0.005..0.03).contains(&rate), "{kind}: {rate}");

        let by_bits = plan("--capacity 1M --bits 9600000");
        assert_eq!(row(&by_bits, "kinds", "kind", kind)["rate"], rate, "{kind}");

        // So many keys fit, and more would not.
        let keys = plan("--rate 0.01 --memory 1200000");
        let keys = row(&keys, "kinds", "kind", kind)["keys"]
            .as_u64()
            .expect("a number");
        for (keys, fits) in [(keys, true), (keys + keys / 100 + 100, false)] {
            let back = plan(&format!("--rate 0.01 --capacity {keys}"));
            let bytes = row(&back, "kinds", "kind", kind)["bytes"]
                .as_u64()
                .expect("a number");
            assert_eq!(
                bytes <= 1_200_000,
                fits,
                "{kind}: {keys} keys in {bytes} bytes"
            );
        }
    }
}

#[test]
fn too_little_and_too_much_is_said_so() {
    let env = TestEnv::new();
    let size = |words: &str| env.mayhap("size").args(words).run();

    size("").fails_with(&["two of --capacity, --rate and --memory"]);
    size("-n1M").fails_with(&["two of --capacity, --rate and --memory"]);
    size("-n1M -p0.01 --memory=1M").fails_with(&["one too many"]);
    size("-n1M --memory=1M --bits=9").fails_with(&["--memory", "--bits"]);
    size("-n1T --memory 1").fails_with(&["too few"]);
    size("-n1M -p2").fails_with(&["is not a rate"]);
}
