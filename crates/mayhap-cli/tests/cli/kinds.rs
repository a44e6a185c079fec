use crate::env::{TestEnv, numbers};

#[test]
fn keys_are_removed_and_absent_ones_are_refused() {
    let env = TestEnv::new();
    let new = ["new", "f", "--kind", "counting", "-n", "1000", "-p", "1e-6"];
    env.mayhap(&new).run().code(0);
    env.mayhap(&["add", "f"]).input("a\nb\na\n").run().code(0);

    let removed = env.mayhap(&["remove", "f"]).input("a\nx\n").run();
    removed
        .code(0)
        .stdout("x\n")
        .says(&["1 keys removed, 1 were not there"]);
    // It was there twice.
    env.mayhap(&["check", "f"])
        .input("a\nb\n")
        .run()
        .code(0)
        .stdout("a\nb\n");
    env.mayhap(&["remove", "f"]).input("a\n").run().code(0);
    env.mayhap(&["check", "f"])
        .input("a\nb\n")
        .run()
        .code(0)
        .stdout("b\n");
    env.mayhap(&["remove", "f"]).input("a\n").run().code(1);
}

/// Through every verb, past the capacity it was made for.
#[test]
fn a_cuckoo_filter_grows_counts_and_forgets() {
    let env = TestEnv::new();
    let new = ["new", "f", "--kind", "cuckoo", "-n", "100", "-p", "1e-6"];
    env.mayhap(&new).run().code(0);
    let keys = numbers(0..1000);
    env.mayhap(&["add", "f"])
        .input(format!("{keys}7\n"))
        .run()
        .code(0)
        .says(&["1 001 keys, 1 000 of them new"]);

    let count = env.mayhap(&["count", "f"]).input("7\n8\nx\n").run();
    count.code(0).stdout("      2 7\n      1 8\n      0 x\n");
    env.mayhap(&["remove", "f"])
        .input("7\n8\nx\n")
        .run()
        .code(0)
        .stdout("x\n");
    env.mayhap(&["check", "-v", "f"])
        .input(&keys)
        .run()
        .code(0)
        .stdout("8\n");
    let info = env.mayhap(&["info", "f"]).run().code(0);
    assert!(info.text().contains("cuckoo") && !info.text().contains("past"));
    env.mayhap(&["verify", "f"]).run().code(0);
    env.mayhap(&["merge", "out", "f", "f"])
        .run()
        .code(2)
        .says(&["cuckoo", "insert the keys of one into the other"]);
}

#[test]
fn only_kinds_that_count_remove_and_count() {
    let env = TestEnv::new();
    env.filter("f", 1000, 0.01, "a\n");
    let before = env.read("f");
    for verb in ["remove", "count"] {
        env.mayhap(&[verb, "f"])
            .input("a\n")
            .run()
            .code(2)
            .says(&["a blocked filter cannot"]);
    }
    assert_eq!(env.read("f"), before);
}

#[test]
fn counts_are_printed_before_lines() {
    let env = TestEnv::new();
    let policies = ["minimum-selection", "minimal-increase", "recurring-minimum"];
    for (i, policy) in policies.into_iter().enumerate() {
        let name = i.to_string();
        env.mayhap(&[
            "new", &name, "--kind", "spectral", "-n", "1000", "-p", "1e-6",
        ])
        .args(&["--policy", policy, "--counter-bits", "8"])
        .run()
        .code(0);
        let keys = "a\nb\na\na\n";
        env.mayhap(&["add", &name]).input(keys).run().code(0);
        env.mayhap(&["count", &name])
            .input("a\nb\nc\n")
            .run()
            .code(0)
            .stdout("      3 a\n      1 b\n      0 c\n");
        env.mayhap(&["count", &name]).input("c\n").run().code(1);
    }
}

#[test]
fn an_option_of_another_kind_is_refused() {
    let env = TestEnv::new();
    for option in [
        ["--policy", "minimal-increase"],
        ["--counter-bits", "8"],
        ["--rotate-by", "command"],
    ] {
        env.mayhap(&["new", "f", "-n", "10", "-p", "0.01"])
            .args(&option)
            .run()
            .code(2)
            .says(&[option[0]]);
    }
    assert!(env.names().is_empty());
}

#[test]
fn a_window_forgets_what_is_older_than_three_generations() {
    let env = TestEnv::new();
    env.mayhap(&["new", "f", "--kind", "windowed", "-n", "1000", "-p", "1e-6"])
        .args(&["--rotate-by", "command"])
        .run()
        .code(0);
    for day in ["1", "2", "3", "4", "5"] {
        env.mayhap(&["rotate", "f", "--to", day])
            .run()
            .code(0)
            .says(&["generation"]);
        env.mayhap(&["add", "f"])
            .input(format!("{day}\n"))
            .run()
            .code(0);
    }
    env.mayhap(&["check", "f"])
        .input("1\n2\n3\n4\n5\n")
        .run()
        .code(0)
        .stdout("2\n3\n4\n5\n");
    env.filter("g", 10, 0.01, "a\n");
    env.mayhap(&["rotate", "g"])
        .run()
        .code(2)
        .says(&["does not forget"]);
}

#[test]
fn a_white_list_makes_known_keys_exact() {
    let env = TestEnv::new();
    env.filter("f", 100, 0.1, &numbers(0..100));
    let wrong = env
        .mayhap(&["check", "-c", "f"])
        .input(numbers(100..1000))
        .run();
    wrong.code(0);

    let guard = env.mayhap(&["guard", "f"]).input(numbers(100..1000)).run();
    guard.code(0).says(&["900 known keys", "on the white list"]);
    env.mayhap(&["check", "-c", "f"])
        .input(numbers(100..1000))
        .run()
        .code(1)
        .stdout("0\n");
    env.mayhap(&["check", "-c", "f"])
        .input(numbers(0..100))
        .run()
        .code(0)
        .stdout("100\n");
    env.mayhap(&["info", "f"]).run().code(0);
}

/// `guard` once denied every key of a filter that it was given.
#[test]
fn a_white_list_takes_no_more_keys_than_the_rate_explains_unless_forced() {
    let env = TestEnv::new();
    env.filter("f", 1000, 0.01, &numbers(0..1000));
    let before = env.read("f");
    let guard = |words: &[&str], keys: &str| {
        let run = env.mayhap(&["guard", "f"]).args(words).input(keys);
        run.run()
    };
    let found = |keys: String| {
        let run = env.mayhap(&["check", "-c", "f"]).input(keys).run();
        run.text().trim().parse::<u32>().expect("a number")
    };

    // All of them, a few, and so few among others that only their number shows it.
    for keys in [numbers(0..1000), numbers(0..4), numbers(950..3000)] {
        let refused = guard(&[], &keys);
        refused.fails_with(&["f finds", "its rate explains", "would be denied", "--force"]);
    }
    assert!(env.read("f") == before);

    // Those that it finds by chance, however often they are given, are no reason.
    let wrong = env.mayhap(&["check", "f"]).input(numbers(1000..3000)).run();
    let wrong = wrong.text().to_owned();
    assert!(wrong.lines().count() > 2, "{wrong}");
    guard(&[], &(numbers(1000..3000) + &wrong.repeat(3))).code(0);
    assert_eq!(
        (found(numbers(0..1000)), found(numbers(1000..3000))),
        (1000, 0)
    );

    let mut sorted: Vec<&str> = wrong.lines().collect();
    sorted.sort_unstable();
    guard(&["--list"], "")
        .code(0)
        .stdout(sorted.join("\n") + "\n");
    let line = guard(&["--list", "--json"], "").code(0);
    let first = format!("{{\"key\":\"{}\"}}\n", sorted[0]);
    assert!(line.text().starts_with(&first), "{}", line.text());
    guard(&["--clear"], "")
        .code(0)
        .says(&["0 on the white list"]);
    guard(&["--list"], "").code(1).stdout("");
    assert_eq!(found(wrong.clone()), wrong.lines().count() as u32);

    guard(&["--force"], &numbers(0..10))
        .code(0)
        .says(&["10 on the white list"]);
    assert_eq!(found(numbers(0..1000)), 990);
}

#[test]
fn a_cascade_is_built_of_two_sets_and_no_static_kind_of_none() {
    let env = TestEnv::new();
    env.write("in", "a\nb\nc\na\n");
    env.write("out", "x\ny\nz\n");
    env.mayhap(&["new", "cascade", "in", "--kind=cascade", "--excluded=out"])
        .run()
        .code(0);
    env.mayhap(&["check", "-I", "cascade", "in", "out"])
        .run()
        .code(0)
        .stdout("a\nb\nc\na\n");
    // A static kind cannot be made empty.
    env.mayhap(&["new", "g", "--kind", "fuse", "-n", "10", "-p", "0.01"])
        .run()
        .code(2)
        .says(&["made of its keys", "name files of keys"]);
}

#[test]
fn keys_go_into_the_filter_that_was_asked_for() {
    let env = TestEnv::new();
    env.write("in", "a\nb\nc\na\n");
    let info = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let run = env.mayhap(&["new", "--force", "f", "--json"]);
        run.args(&words).input("a\nb\nc\n").run().code(0).json()
    };

    // Counted, or with the room that was asked for; of any kind, scheme and format.
    assert_eq!(info("in -p 1e-6")["capacity"], 3);
    assert_eq!(info("in -p 1e-6 -n 1k")["capacity"], 1000);
    assert_eq!(info("- -p 1e-6")["capacity"], 3);
    assert_eq!(info("in -p 1e-6")["kind"], "blocked");
    assert_eq!(
        info("in -p 1e-6 --kind fuse --scheme universal")["scheme"],
        "universal"
    );
    assert_eq!(info("in -p 1e-6 --format guava")["format"], "guava");
    assert_eq!(info("in --bits 1024 --hashes 3")["bits"], 1024);
    env.filter("other", 500, 1e-6, "x\n");
    assert_eq!(info("in --like other")["capacity"], 500);
    let found = env.mayhap(&["check", "f"]).input("a\nc\nx\n").run();
    found.code(0).stdout("a\nc\n");

    env.write("many", crate::env::numbers(0..9000));
    for (words, said) in [
        ("in", "the rate is missing"),
        ("many -p 1% -n 9", "was made for 9"),
        ("many --like other", "was made for 500"),
        ("-p 1% -n 9 -k 1", "files of keys"),
        ("in -p 1% -n 9 --kind ribbon", "--capacity"),
        ("in --bits 64 --hashes 3 --kind ribbon", "--bits"),
        ("in --kind ribbon -p 1% --scheme guava64", "guava64"),
        ("in --kind cascade", "--excluded FILE"),
        ("in --kind shifting-association -p 1%", "--second FILE"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let run = env.mayhap(&["new", "g"]).args(&words).run();
        run.fails_with(&[said]);
    }
}

#[test]
fn areas_are_told_by_priority() {
    let env = TestEnv::new();
    env.mayhap(&["new", "f", "--kind", "spatial", "-n", "1000", "-p", "1e-6"])
        .args(&["--areas", "3"])
        .run()
        .code(0);
    for (area, keys) in [("1", "a\nb\n"), ("3", "b\nc\n")] {
        env.mayhap(&["add", "f", "--area", area])
            .input(keys)
            .run()
            .code(0);
    }
    env.mayhap(&["area", "f"])
        .input("a\nb\nc\nx\n")
        .run()
        .code(0)
        .stdout("1\ta\n3\tb\n3\tc\n-\tx\n");
    env.mayhap(&["area", "f"]).input("x\n").run().code(1);
    env.mayhap(&["add", "f", "--area", "4"])
        .input("d\n")
        .run()
        .code(2);
    env.filter("g", 10, 0.01, "a\n");
    env.mayhap(&["area", "g"])
        .input("a\n")
        .run()
        .code(2)
        .says(&["expected the kind spatial"]);
}

#[test]
fn two_sets_and_multisets_are_built_once() {
    let env = TestEnv::new();
    env.write("red", "a\nb\n");
    env.write("blue", "b\nc\n");
    env.mayhap(&["new", "sets", "red", "--second", "blue", "--rate", "1e-6"])
        .args(&["--kind", "shifting-association"])
        .run()
        .code(0);
    env.mayhap(&["area", "sets"])
        .input("a\nb\nc\nx\n")
        .run()
        .code(0)
        .stdout("first\ta\nboth\tb\nsecond\tc\n-\tx\n");

    env.mayhap(&["new", "bag", "red", "blue", "--rate", "1e-6"])
        .args(&["--kind", "shifting-multiplicity"])
        .run()
        .code(0);
    env.mayhap(&["count", "bag"])
        .input("a\nb\nx\n")
        .run()
        .code(0)
        .stdout("      1 a\n      2 b\n      0 x\n");
}
