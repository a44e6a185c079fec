use serde_json::Value;

use crate::env::{TestEnv, Words};

/// A filter `f` of a and c, and two files: `one` holds a, b and c, `two` holds b and c.
fn example() -> TestEnv {
    let env = TestEnv::new();
    env.filter("f", 1000, 1e-6, "a\nc\n");
    env.write("one", "a\nb\nc\n");
    env.write("two", "b\nc\n");
    env.write("none", "x\ny\n");
    env
}

#[track_caller]
fn check(env: &TestEnv, options: impl Words, files: &str, code: i32, expected: &str) {
    for threads in ["--threads=1", "--threads=2"] {
        let run = env.mayhap("check f").arg(threads).args(options.words());
        let outcome = run.args(files).run().code(code);
        outcome.stdout(expected).silent();
    }
}

#[test]
fn only_the_key_is_printed_as_grep_prints_what_matched() {
    let env = example();
    env.write("log", "GET a 200\nGET b 404\nGET c 200\n");
    check(&env, "--print=key -k 2", "log", 0, "a\nc\n");
    check(
        &env,
        "--print=key --line-number -k2",
        "log",
        0,
        "1:a\n3:c\n",
    );
    check(&env, "--print=key -v -k2", "log", 0, "b\n");
    check(
        &env,
        &["--print=key", "--regex", "T ([a-z])"],
        "log",
        0,
        "a\nc\n",
    );
}

#[test]
fn several_files_are_named_as_grep_names_them() {
    let env = example();
    check(&env, "", "one", 0, "a\nc\n");
    check(&env, "", "one two", 0, "one:a\none:c\ntwo:c\n");
    check(&env, "-H", "one", 0, "one:a\none:c\n");
    check(&env, "-I", "one two", 0, "a\nc\nc\n");
    check(&env, "-v", "one two", 0, "one:b\ntwo:b\n");
    check(&env, "--line-number", "one", 0, "1:a\n3:c\n");
    check(
        &env,
        "--line-number",
        "one two",
        0,
        "one:1:a\none:3:c\ntwo:2:c\n",
    );
    check(&env, "--line-number -v", "one", 0, "2:b\n");
    check(&env, "-c", "one two none", 0, "one:2\ntwo:1\nnone:0\n");
    check(&env, "-c -I", "one two", 0, "2\n1\n");
    check(&env, "-c", "none", 1, "0\n");
    check(&env, "-l", "none one two", 0, "one\ntwo\n");
    check(&env, "-l", "none", 1, "");
    check(&env, "--answers", "one two", 0, "yes\nno\nyes\nno\nyes\n");
}

#[test]
fn a_file_is_read_up_to_its_last_wanted_line() {
    let env = example();
    check(&env, "-m 1", "one", 0, "a\n");
    check(&env, "-m 1", "one two", 0, "one:a\ntwo:c\n");
    check(&env, "-m 1 -c", "one two", 0, "one:1\ntwo:1\n");
    check(&env, "-m 9", "one", 0, "a\nc\n");
    check(&env, "-m 0", "one", 1, "");
    // The rest is not even read: it never ends.
    let run = env.shell("(echo a; yes b) | mayhap check -m 1 f");
    run.run().code(0).stdout("a\n");
}

#[test]
fn q_is_greps_and_quiet_silences_words_and_no_results() {
    let env = example();
    for quiet in ["-q", "--silent"] {
        check(&env, quiet, "none one", 0, "");
        check(&env, quiet, "none", 1, "");
        let run = env.shell(&format!("(echo a; yes b) | mayhap check {quiet} f"));
        run.run().code(0).stdout("");
    }
    check(&env, "--quiet", "one", 0, "a\nc\n");
    check(&env, "--quiet -c", "one", 0, "2\n");
    let run = env.mayhap("info --verify --quiet f").run();
    run.code(0).stdout("f: every checksum matches\n").silent();
    let run = env.mayhap("check f one").env("MAYHAP_QUIET", "1");
    run.run().code(0).stdout("a\nc\n").silent();
    env.mayhap("check -q missing one").run().code(2);
}

#[test]
fn several_filters_say_which_of_them_has_a_key() {
    let env = example();
    // Another kind, which hashes in another way.
    let new = "new g --kind bloom -n 100 -p 1e-6 --scheme guava64";
    env.ok(new);
    env.fed("add g", "b\nc\n").code(0);
    env.filter("h", 100, 1e-6, "z\n");
    check(&env, "--also g", "one", 0, "f\ta\ng\tb\nf,g\tc\n");
    check(&env, "--also g --also h", "one", 0, "f\ta\ng\tb\nf,g\tc\n");
    check(
        &env,
        "--also g --line-number",
        "two",
        0,
        "1:g\tb\n2:f,g\tc\n",
    );
    check(&env, "--also g -c", "one", 0, "3\n");
    check(&env, "--also h -v", "one", 0, "b\n");
    check(&env, "--also g -v", "one", 1, "");
}

fn objects(env: &TestEnv, words: &str, input: &[u8]) -> Vec<Value> {
    let run = env.fed(words, input);
    let objects = serde_json::Deserializer::from_slice(&run.stdout).into_iter();
    objects.map(|object| object.expect("valid JSON")).collect()
}

#[test]
fn json_has_the_lines_too() {
    let env = example();
    let found = objects(&env, "check --json f one", b"");
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(
        found[0],
        serde_json::json!({"file": "one", "number": 1, "line": "a"})
    );
    assert_eq!(
        found[1],
        serde_json::json!({"file": "one", "number": 3, "line": "c"})
    );
    assert_eq!(
        found[2],
        serde_json::json!({"keys": 3, "chosen": 2, "invert": false})
    );
    let found = objects(&env, "check --json -v f", b"\xff\n");
    assert_eq!(found[0]["line"]["hex"], "ff");
    let found = objects(&env, "check --json --also f f two", b"");
    assert_eq!(found[0]["filters"], serde_json::json!(["f", "f"]));
    let found = objects(&env, "check --json -c f one two", b"");
    assert_eq!(
        found[1],
        serde_json::json!({"file": "two", "keys": 2, "chosen": 1})
    );
    assert_eq!(found[2]["chosen"], 3);
    let found = objects(&env, "check --json --answers f two", b"");
    assert_eq!(found[0]["found"], false);
    assert_eq!(found[1]["found"], true);

    let new = "new often --kind spectral -n 100 -p 1e-6";
    env.ok(new);
    env.fed("add often", "a\na\n").code(0);
    let found = objects(&env, "count --json often", b"a\nx\n");
    assert_eq!(
        found,
        [
            serde_json::json!({"line": "a", "count": 2}),
            serde_json::json!({"line": "x", "count": 0}),
        ]
    );
    env.fed("count --json often", "x\n").code(1);

    let new = "new zones --kind spatial -n 100 -p 1e-6";
    env.ok(new);
    env.fed("add --area 2 zones", "a\n").code(0);
    let found = objects(&env, "area --json zones", b"a\nx\n");
    assert_eq!(
        found,
        [
            serde_json::json!({"line": "a", "area": 2}),
            serde_json::json!({"line": "x", "area": null}),
        ]
    );
}

#[test]
fn info_and_verify_go_on_past_a_bad_file() {
    let env = example();
    env.filter("g", 1000, 1e-6, "a\n");
    let mut damaged = env.read("f");
    damaged[70] ^= 1;
    env.write("damaged", damaged);
    let info = env.mayhap("info damaged f missing g").run();
    let info = info.code(2).says(&["damaged", "missing"]);
    assert!(info.text().contains("f\n  kind") && info.text().contains("\n\ng\n  kind"));
    let found = objects(&env, "info --json missing f damaged g", b"");
    assert_eq!(found.len(), 2, "{found:?}");
    let verify = env.mayhap("verify damaged f missing g").run();
    let verify = verify.code(2).says(&["damaged", "missing", "2 of 4"]);
    assert!(verify.text().contains("f: every") && verify.text().contains("g: every"));
}

#[test]
fn info_and_verify_need_no_secret_and_answers_do() {
    let env = TestEnv::new();
    env.write_private("secret", &[7; 16]);
    env.write_private("other", &[8; 16]);
    for kind in ["bloom", "blocked", "scalable", "counting", "windowed"] {
        let new = format!("new {kind} --kind {kind} -n 1000 -p 1% --secret-file secret");
        env.ok(&new);
        let add = env.mayhap(&format!("add {kind} --secret-file secret"));
        add.input("a\nb\n").run().code(0);
        let known = env.ok(&format!("info {kind} --secret-file secret"));
        assert!(known.text().contains("siphash") && known.text().contains("about 2"));
        for words in [
            &["info", kind][..],
            &["info", kind, "--secret-file", "other"],
        ] {
            env.ok(words).stdout(&known.stdout);
        }
        env.ok(&format!("verify {kind}"));
        env.fed(&format!("check {kind}"), "a\n")
            .fails_with(&["made with a secret"]);
        let mut bytes = env.read(kind);
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        env.write("damaged", bytes);
        for verb in ["info", "verify"] {
            env.fails(&format!("{verb} damaged"), &["damaged"]);
        }
    }
}

/// A filter of each kind, named by it, of the keys a and b, and of others that make it large.
fn of_every_kind() -> TestEnv {
    let env = TestEnv::new();
    let others: String = (0..3000).map(|i| format!("key {i}\n")).collect();
    env.write("keys", format!("a\nb\n{others}"));
    env.write("excluded", "x\ny\n");
    for kind in mayhap::Kind::ALL {
        let name = kind.name();
        let script = match name {
            "fuse" | "ribbon" | "shifting-multiplicity" => {
                format!("mayhap build {name} keys --kind {name} -p 1e-4")
            }
            "cascade" => format!("mayhap build {name} keys --kind {name} --excluded excluded"),
            "shifting-association" => {
                format!("mayhap build {name} keys --kind {name} -p 1e-4 --second excluded")
            }
            "spatial" => format!(
                "mayhap new {name} -n 4000 -p 1e-4 --kind {name}; mayhap add --quiet --area 2 {name} keys"
            ),
            // Room for fewer, so that there are several layers.
            "scalable" | "cuckoo" => format!(
                "mayhap new {name} -n 1000 -p 1e-4 --kind {name}; mayhap add --quiet {name} keys"
            ),
            _ => format!(
                "mayhap new {name} -n 9500 -p 1e-4 --kind {name}; mayhap add --quiet {name} keys"
            ),
        };
        env.shell(&script).run().code(0);
    }
    env
}

#[test]
fn an_explanation_agrees_with_the_answer_for_every_kind() {
    let env = of_every_kind();
    for kind in mayhap::Kind::ALL {
        let name = kind.name();
        for key in [
            "a",
            "b",
            "key 0",
            "key 2999",
            "x",
            "no key",
            "another",
            "\u{1F600}",
        ] {
            let check = env.fed(&format!("check -q {name}"), format!("{key}\n"));
            let code = check.exit_code().expect("no signal");
            let explain = env
                .mayhap(&["explain", "--json", name, key])
                .run()
                .code(code);
            let explain = explain.json();
            assert_eq!(explain["found"], code == 0, "{name}: {key}");
            assert_eq!(
                (&explain["kind"], &explain["key"]),
                (&name.into(), &key.into())
            );
            let layers = explain["layers"].as_array().expect("an array");
            let is_full = |layer: &&Value| {
                let places = layer["places"].as_array().expect("an array");
                assert!(!places.is_empty(), "{name}: {key}");
                let is_set = |place: &Value| {
                    let values = ["bit", "counter", "cell"].map(|unit| place[unit].as_u64());
                    values.into_iter().flatten().all(|value| value > 0)
                };
                let hold = layer["hold"].as_bool().expect("a boolean");
                assert!(!hold || places.iter().all(is_set), "{name}: {key}");
                hold
            };
            let full = layers.iter().filter(is_full).count();
            let found = match name {
                "cascade" => full % 2 == 1,
                _ => full > 0,
            };
            assert_eq!(found, code == 0, "{name}: {explain}");
            let text = env.mayhap(&["explain", name, key]).run().code(code);
            let answer = if code == 0 {
                "answer    maybe: "
            } else {
                "answer    no, for certain: "
            };
            assert!(
                text.text().contains(answer) || name == "cascade",
                "{}",
                text.text()
            );
        }
    }
    let layers = env.mayhap("explain --json scalable a").run().json();
    assert!(layers["layers"].as_array().expect("an array").len() > 1);
}

#[test]
fn lines_without_a_key_keep_their_numbers_and_are_printed_where_they_are_kept() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\nb\n");
    let check = |words: &str| {
        let words = format!("check f --csv-key=2 {words}");
        env.fed(&words, "1\n2,c\n3,a\n4\n5,b\n6\n")
    };
    let keep = |words: &str| check(&format!("--keyless=keep {words}")).code(0);

    keep("--line-number").stdout("1:1\n3:3,a\n4:4\n5:5,b\n6:6\n");
    keep("--line-number --print=key").stdout("3:a\n5:b\n");
    keep("--also=f").stdout("1\nf,f\t3,a\n4\nf,f\t5,b\n6\n");
    // What comes after the last line is not read.
    keep("-m1").stdout("1\n3,a\n");
    check("-m0 --keyless=keep").code(1).stdout("");
    check("--line-number --keyless=skip")
        .code(0)
        .stdout("3:3,a\n5:5,b\n");
    keep("--json -m1").stdout(concat!(
        "{\"file\":\"standard input\",\"number\":1,\"line\":\"1\",\"keyless\":true}\n",
        "{\"file\":\"standard input\",\"number\":3,\"line\":\"3,a\"}\n",
        "{\"keys\":3,\"chosen\":1,\"invert\":false}\n",
    ));

    // The header of several files is printed once, and counted in each.
    env.write("a.csv", "id,name\n1,a\n");
    env.write("b.csv", "id,name\n2,b\n");
    env.write("c.csv", "name,id\na,3\n");
    let names = |other: &str| {
        env.mayhap("check --line-number f --csv-key=name a.csv")
            .arg(other)
            .run()
    };
    let both = names("b.csv").code(0);
    both.stdout("a.csv:1:id,name\na.csv:2:1,a\nb.csv:2:2,b\n");
    let other = names("c.csv");
    other.code(2).says(&["c.csv has another header than a.csv"]);
}

#[test]
fn count_and_remove_say_which_lines_have_no_key() {
    let env = TestEnv::new();
    let new = "new f -n 100 -p 1e-9 --kind spectral";
    env.ok(new);
    env.fed("add f", "a\n").code(0);
    let run = |words: &str| {
        let keep = "--csv-key=2 --keyless=keep --quiet";
        env.mayhap(words).args(keep).input("1\n2,a\n3,b\n").run()
    };
    run("count f")
        .code(0)
        .stdout("1\n      1 2,a\n      0 3,b\n");
    run("count f --json").code(0).stdout(concat!(
        "{\"line\":\"1\",\"keyless\":true}\n",
        "{\"line\":\"2,a\",\"count\":1}\n",
        "{\"line\":\"3,b\",\"count\":0}\n",
    ));
    run("remove f").code(0).stdout("1\n3,b\n");
    run("remove f --json").code(1).stdout(concat!(
        "{\"line\":\"1\",\"keyless\":true}\n",
        "{\"line\":\"2,a\"}\n",
        "{\"line\":\"3,b\"}\n",
        "{\"filter\":\"f\",\"removed\":0,\"refused\":2}\n",
    ));
}
