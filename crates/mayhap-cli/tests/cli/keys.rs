use crate::env::{Outcome, TestEnv, Words};

/// The output of `uniq` for an input on standard input.
pub(crate) fn uniq(options: impl Words, input: impl AsRef<[u8]>) -> Outcome {
    let env = TestEnv::new();
    let run = env.mayhap("uniq --quiet").args(options);
    run.input(input).run()
}

#[test]
fn several_fields_are_one_key_and_are_kept_apart() {
    let input = "a bc 1\nab c 2\na bc 3\nabc  4\n";
    let both = uniq("-k1 -k2", input).code(0);
    both.stdout("a bc 1\nab c 2\nabc  4\n");

    let swapped = uniq("-k2 -k1 -t,", "a,b\nb,a\na,b,c\n").code(0);
    swapped.stdout("a,b\nb,a\n");
    let ignored = uniq("-k1 -k2,3 -i -t,", "A,b,c\na,B,C,x\na,b\n").code(0);
    ignored.stdout("A,b,c\na,b\n");
    // One range is no list: the bytes between count.
    uniq("-k1,2", "a b\na  b\n").code(0).stdout("a b\na  b\n");
    uniq("-k1 -k2", "a b\na  b\n").code(0).stdout("a b\n");
}

#[test]
fn several_fields_have_the_bytes_of_a_tuple() {
    let env = TestEnv::new();
    env.ok("new f -n100 -p1e-12");
    let add = |options: &str, input: &str| {
        let run = env.mayhap("add f --quiet").args(options);
        run.input(input).run().code(0);
    };
    add("-k1 -k2", "ann paris\n");
    add("--csv-key 3 --csv-key 1 --csv-key 2", "1,\"2,\",3\n");
    add("--json-key=a --json-key=b", "{\"a\":\"x\",\"b\":7}\n");
    add("-k1 -k2 --key-type=long", "5 -6\n");

    let (filter, _) = mayhap::file::open(env.path("f"), None).expect("a filter");

    assert!(filter.contains(&("ann", "paris")));
    assert!(filter.contains(&("3", "1", "2,")));
    assert!(filter.contains(&("x", "7")));
    assert!(filter.contains(&(5_i64, -6_i64)));
    assert!(!filter.contains(&("annp", "aris")));
    assert!(!filter.contains("ann paris"));
}

#[test]
fn a_value_of_json_is_the_key() {
    let input = concat!(
        "{\"user\":{\"name\":\"ann\"},\"n\":1}\n",
        "{\"n\":1.0,\"user\":{\"name\":\"a\\u006en\"}}\n",
        "{\"user\":{\"name\":\"ann \"},\"n\":10000000000000000000001}\n",
        "{\"user\":{\"name\":true},\"n\":10000000000000000000002}\n",
    );
    let lines: Vec<_> = input.split_inclusive('\n').collect();
    let by_name = uniq("--json-key user.name", input).code(0);
    by_name.stdout([lines[0], lines[2], lines[3]].concat());
    let by_number = uniq("--json-key n", input).code(0);
    by_number.stdout(input);

    let lines = "[{\"a\":\"x\"},7]\n[{\"a\":\"x\"},8]\r\n";
    let by_place = uniq("--json-key 0.a", lines).code(0);
    by_place.stdout("[{\"a\":\"x\"},7]\n");
}

#[test]
fn what_a_pattern_matches_is_the_key() {
    let input = b"id=1 x\n\xFF id=1 y\nid=2 id=1\nid=12\n";
    let group = uniq(&["--regex", r"id=(\d+)"], input).code(0);
    group.stdout("id=1 x\nid=2 id=1\nid=12\n");
    let whole = uniq(&["--regex", r"id=\d"], input).code(0);
    whole.stdout("id=1 x\nid=2 id=1\n");
    let end = uniq(&["--regex", r"\w+$", "--crlf"], "a x\r\nb x\nc y\r\n").code(0);
    end.stdout("a x\r\nc y\r\n");

    uniq("--regex (a)(b)", "").fails_with(&["2 groups", "(?:"]);
    uniq("--regex (", "").fails_with(&["regex parse error"]);
}

/// The ways in which a line can have no key, with an input whose third line has none.
const LACKING: [(&str, &str, &str); 12] = [
    // All such lines were once one line, whose key was empty.
    ("-k2", "1 a\n2 b\n3\n4 a\n", "it has no field 2"),
    ("-k2 -t,", "1,a\n2,b\n3\n4,a\n", "it has no field 2"),
    ("-k1 -t,", "a\nb\n\na\n", "it is empty"),
    ("-k2 -k1 -i", "a 1\nb 1\n1\nA 1\n", "it has no field 2"),
    ("-b3-9", "12a\n12b\n12\n34a\n", "it has no byte 3"),
    ("--csv-key=2", "1,a\n2,b\n3\n4,a\n", "column 2"),
    ("--csv-key=2", "1,a\n2,b\n\n4,a\n", "it is empty"),
    (
        "--json-key=k",
        "{\"k\":\"a\"}\n{\"k\":\"b\"}\n{}\n{\"k\":\"a\"}\n",
        "no field `k`",
    ),
    (
        "--json-key=k",
        "{\"k\":\"a\"}\n{\"k\":\"b\"}\n{\"k\":null}\n{\"k\":\"a\"}\n",
        "is null",
    ),
    (
        "--json-key=k",
        "{\"k\":\"a\"}\n{\"k\":\"b\"}\n{\"k\":\n{\"k\":\"a\"}\n",
        "not JSON",
    ),
    ("--regex=[ab]", "1a\n2b\n3\n4a\n", "does not match"),
    ("--regex=^([ab]*)", "a1\nb2\n3\na4\n", "matches nothing"),
];

#[test]
fn a_line_without_a_key_is_an_error_unless_it_is_kept_or_skipped() {
    for (options, input, why) in LACKING {
        let lines: Vec<_> = input.split_inclusive('\n').collect();
        println!("{options:?} {input:?}");
        for threads in ["--threads=1", "--threads=2"] {
            let run = |more: &str| {
                let env = TestEnv::new();
                env.write("in", input);
                let run = env.mayhap(&format!("uniq {threads}")).args(options);
                run.args(more).arg("in").run()
            };
            let wrong = run("").code(2).stdout([lines[0], lines[1]].concat());
            wrong.says(&["line 3 of in has no key", why, "--keyless"]);
            let kept = run("--keyless=keep").code(0);
            let kept = kept.stdout([lines[0], lines[1], lines[2]].concat());
            kept.says(&["1 lines have no key, and are kept", "3 lines, 2 distinct"]);
            let kept = run("--keyless=keep -v").code(0);
            kept.stdout([lines[2], lines[3]].concat());
            let skipped = run("--keyless=skip").code(0);
            let skipped = skipped.stdout([lines[0], lines[1]].concat());
            skipped.says(&["1 lines have no key, and are left out"]);
            run("--keyless=skip --quiet").code(0).silent();
            let counted = run("--keyless=keep -c --quiet").code(0).silent();
            let (two, one) = ("      2 ", "      1 ");
            counted.stdout([two, lines[0], one, lines[1], lines[2]].concat());
        }
    }
}

#[test]
fn every_verb_treats_a_line_without_a_key_alike() {
    every_verb_treats_alike("--csv-key=2", "column 2");
    every_verb_treats_alike("-k2 -t,", "no field 2");
    every_verb_treats_alike("-b3", "no byte 3");
}

fn every_verb_treats_alike(options: &str, why: &str) {
    let env = TestEnv::new();
    for (kind, name) in [("counting", "f"), ("spectral", "g"), ("spatial", "h")] {
        env.ok(&format!("new {name} --kind {kind} -n100 -p1e-6"));
    }
    let input = "1,a\n2\n3,b\n4,c\n";
    env.write("in", input);
    env.write("in2", "1,a\n2,b\n");
    let run = |words: &str, keyless: &str| {
        env.mayhap(words)
            .args(keyless)
            .args(options)
            .arg("in")
            .run()
    };
    let verbs: [(&str, i32, &str, &str); 9] = [
        ("add f", 0, "", ""),
        ("add g", 0, "", ""),
        ("add h --area=3", 0, "", ""),
        ("check f", 0, "1,a\n2\n3,b\n4,c\n", "1,a\n3,b\n4,c\n"),
        ("check -v f", 1, "2\n", ""),
        ("check -c f", 0, "3\n", "3\n"),
        (
            "area h",
            0,
            "3\t1,a\n2\n3\t3,b\n3\t4,c\n",
            "3\t1,a\n3\t3,b\n3\t4,c\n",
        ),
        ("remove f", 0, "2\n", ""),
        ("build b -p1e-6 --force", 0, "", ""),
    ];
    for (words, code, kept, skipped) in verbs {
        println!("{words}");
        let wrong = run(words, "").code(2);
        wrong.says(&["line 2 of in has no key", why]);
        // What was inserted is there either way.
        if words == "remove f" {
            run(words, "--keyless=keep --json").code(0);
            run("add f", "--keyless=skip").code(0);
        }
        run(words, "--keyless=keep").code(code).stdout(kept);
        if words == "remove f" {
            run("add f", "--keyless=skip").code(0);
        }
        let run = run(words, "--keyless=skip").code(code);
        run.stdout(skipped).says(&["1 lines have no key"]);
    }
    let count = run("count g", "--keyless=keep").code(0);
    count.stdout("      2 1,a\n2\n      2 3,b\n      2 4,c\n");
    let found = env.mayhap("check -c b").input("a\nb\nc\n2\n\n");
    found.run().code(0).stdout("3\n");
    let answers = run("check --answers f", "--keyless=keep");
    answers.fails_with(&["--answers", "--keyless skip"]);
}

#[test]
fn lines_are_counted_in_their_own_file() {
    let env = TestEnv::new();
    env.write("a", "1,a\n\"2\n\n\",b\n");
    env.write("b", "1,c\n\"2\n\",d\nx\n");
    let run = env.mayhap("uniq --csv-key=2 a b").run().code(2);
    run.says(&["line 4 of b has no key"]);
    env.fails(
        "uniq --key-type=long b",
        &["line 1 of b: its key is not a decimal number"],
    );
}

#[test]
fn keys_are_printed_as_they_stand() {
    let print = |options: &str, input: &str| uniq(&format!("--print=key {options}"), input).code(0);
    print("", "b\na\nb\n").stdout("b\na\n");
    print("-i", "B\na\nb\n").stdout("B\na\n");
    print("-k2 -t,", "1,B,x\n2,a\n3,B\n").stdout("B\na\n");
    print("-k3 -k1", "1  B x\n2 a x\n3 B x\n1 C x\n").stdout("x 1\nx 2\nx 3\n");
    print("-b2-3", "abcd\nxbcd\n").stdout("bc\n");
    print("--csv-key=2", "1,\"a,\"\"b\"\"\"\r\n2,\"a,\"\"b\"\"\"\n").stdout("a,\"b\"\n");
    print("--csv-key=2 --csv-key=1", "1,\"a,\"\"b\"\"\"\n2,c\n").stdout("\"a,\"\"b\"\"\",1\nc,2\n");
    print("--csv-key=name", "id,name\n1,x\n2,x\n3,y\n").stdout("x\ny\n");
    print("--json-key=a", "{\"a\":\"x\\u0041\"}\n{\"a\":1.50}\n").stdout("xA\n1.50\n");
    print("--regex=b.", "abc\nxbcd\nbd\n").stdout("bc\nbd\n");
    print("--regex=b. --keyless=keep", "abc\n-\nbd\n").stdout("bc\nbd\n");
    print("-c -k1", "b 1\na 2\nb 3\n").stdout("      2 b\n      1 a\n");
    print("-v -k1", "b 1\na 2\nb 3\n").stdout("b\n");
    print("--exact -k1", "b 1\na 2\nb 3\n").stdout("b\na\n");
    print("-z", "b\nc\0a\0").stdout("b\nc\0a\0");
    print("--key-type=long", " 7\n7\n8\n").stdout(" 7\n8\n");

    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\nb\n");
    let check = env.mayhap("check f --print=key --csv-key=2");
    check
        .input("1,\"a\"\n2,c\n3,b\n")
        .run()
        .code(0)
        .stdout("a\nb\n");
    let check = env.mayhap("check f -v --print=key --csv-key=2");
    check
        .input("1,\"a\"\n2,c\n3,b\n")
        .run()
        .code(0)
        .stdout("c\n");

    let broken = uniq("--print=key --csv-key=1", "a\n\"b\nc\"\n")
        .code(2)
        .stdout("a\n");
    broken.says(&["line 2 of standard input", "line end", "--print key"]);
}

#[test]
fn options_that_make_no_sense_together_are_errors() {
    for words in [
        "-t,",
        "-t, -b1",
        "-t, --regex=a",
        "-k1 -b1",
        "-k1 --csv-key=1",
        "--csv-key=1 -b1",
        "--csv-key=1 --json-key=a",
        "--json-key=a --regex=a",
        "--regex=a --regex=b",
        "--csv-header",
        "--csv-header -k1",
        "--keyless=skip",
        "--csv-key=0",
        "--csv-key=",
        "--json-key=",
        "--json-key=a..b",
        "--keyless=maybe --csv-key=1",
        "--print=words",
    ] {
        println!("{words}");
        uniq(words, "a\n").code(2).stdout("");
    }
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    for words in [
        ["-c", "--print=key"],
        ["-q", "--print=key"],
        ["--answers", "--print=key"],
    ] {
        let run = env.mayhap("check f").args(&words).input("a\n").run();
        run.code(2).stdout("");
    }
    env.mayhap("add f --print=key").run().code(2).stdout("");
}

#[test]
fn lines_that_end_in_a_carriage_return_are_warned_of_once() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    env.write("in", "a\r\nb\r\n");
    env.write("in2", "c\r\nd\r\n");
    let warning = "warning: lines of in end in a carriage return";
    for words in [
        "uniq in in2",
        "uniq -c in",
        "uniq --exact in",
        "uniq -i in",
        "uniq -k1 -k1, in",
        "check -v f in",
        "add f in",
        "build g -p1% --force in",
        "build g -p1% --force --kind=blocked in",
    ] {
        let run = |more: &str| env.mayhap(words).args(more).run().code(0);
        let said = run("").says(&[warning, "--crlf"]).stderr;
        assert_eq!(said.matches(warning).count(), 1, "{words:?}: {said}");
        for more in ["--quiet", "--crlf"] {
            let said = run(more).stderr;
            assert!(!said.contains("warning"), "{words:?} {more:?}: {said}");
        }
    }
    // Where the key has none, or where not all lines have one, there is nothing to say.
    for (options, input) in [
        ("-k1", "a 1\r\nb 2\r\n"),
        ("-b1", "a\r\nb\r\n"),
        ("-z", "a\r\nb\r\n"),
        ("--csv-key=1", "a\r\nb\r\n"),
        ("--json-key=0", "[1]\r\n[2]\r\n"),
        ("--regex=\\w+", "a\r\nb\r\n"),
        ("--key-type=long", "1\r\n2\r\n"),
        ("", "a\r\nb\n"),
        ("", ""),
    ] {
        let run = env.mayhap("uniq").args(options).input(input).run();
        let said = run.code(0).stderr;
        assert!(!said.contains("warning"), "{options:?}: {said}");
    }
}
