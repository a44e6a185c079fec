use std::collections::HashSet;

use crate::env::{Outcome, TestEnv};
use crate::oracle::Random;

/// What `uniq` makes of an input on standard input.
fn uniq(options: &[&str], input: impl AsRef<[u8]>) -> Outcome {
    let env = TestEnv::new();
    let run = env.mayhap(&["uniq", "--quiet"]).args(options);
    run.input(input).run()
}

#[test]
fn several_fields_are_one_key_and_are_kept_apart() {
    let input = "a bc 1\nab c 2\na bc 3\nabc  4\n";
    let both = uniq(&["-k1", "-k2"], input).code(0);
    both.stdout("a bc 1\nab c 2\nabc  4\n");

    let swapped = uniq(&["-k2", "-k1", "-t,"], "a,b\nb,a\na,b,c\n").code(0);
    swapped.stdout("a,b\nb,a\n");
    let ignored = uniq(&["-k1", "-k2,3", "-i", "-t,"], "A,b,c\na,B,C,x\na,b\n").code(0);
    ignored.stdout("A,b,c\na,b\n");
    // One range is no list: the bytes between count.
    uniq(&["-k1,2"], "a b\na  b\n")
        .code(0)
        .stdout("a b\na  b\n");
    uniq(&["-k1", "-k2"], "a b\na  b\n").code(0).stdout("a b\n");
}

#[test]
fn several_fields_have_the_bytes_of_a_tuple() {
    let env = TestEnv::new();
    env.mayhap(&["new", "f", "-n100", "-p1e-12"]).run().code(0);
    let add = |options: &[&str], input: &str| {
        let run = env.mayhap(&["add", "f", "--quiet"]).args(options);
        run.input(input).run().code(0);
    };
    add(&["-k1", "-k2"], "ann paris\n");
    add(
        &["--csv-key", "3", "--csv-key", "1", "--csv-key", "2"],
        "1,\"2,\",3\n",
    );
    add(&["--json-key=a", "--json-key=b"], "{\"a\":\"x\",\"b\":7}\n");
    add(&["-k1", "-k2", "--key-type=long"], "5 -6\n");

    let (filter, _) = mayhap::file::open(env.path("f"), None).expect("a filter");

    assert!(filter.contains(&("ann", "paris")));
    assert!(filter.contains(&("3", "1", "2,")));
    assert!(filter.contains(&("x", "7")));
    assert!(filter.contains(&(5_i64, -6_i64)));
    assert!(!filter.contains(&("annp", "aris")));
    assert!(!filter.contains("ann paris"));
}

#[test]
fn a_field_that_is_missing_is_empty() {
    let missing = uniq(&["-k3"], "a b\nc d\ne f g\n").code(0);
    missing.stdout("a b\ne f g\n");
}

#[test]
fn columns_are_found_by_number_and_unquoted() {
    let input = "1,\"a,b\",x\n2,\"a,b\",y\n3,a,z\n4,\"a\",z\n5,\"a\"\"\",z\n";
    let printed = "1,\"a,b\",x\n3,a,z\n5,\"a\"\"\",z\n";
    uniq(&["--csv-key", "2"], input).code(0).stdout(printed);

    let tabs = uniq(&["--csv-key", "2", "-t\\t"], "1\t\"a\"\r\n2\ta\r\n").code(0);
    tabs.stdout("1\t\"a\"\r\n");
    let zeros = uniq(&["--csv-key=1", "-z"], "\"a\nb\",1\0\"a\nb\",2\0a,3\0").code(0);
    zeros.stdout("\"a\nb\",1\0a,3\0");
}

#[test]
fn a_header_is_printed_once_and_is_not_a_key() {
    let env = TestEnv::new();
    env.write("a.csv", "\u{feff}id,e-mail\r\n1,x@y\r\n2,e-mail\r\n");
    env.write("b.csv", "\u{feff}id,e-mail\n3,x@y\n4,z\n");
    let header = "\u{feff}id,e-mail\r\n";
    let run = |words: &[&str]| env.mayhap(words).args(&["--csv-key", "e-mail"]);

    let uniq = run(&["uniq", "--quiet", "a.csv", "b.csv"]).run().code(0);
    uniq.stdout(format!("{header}1,x@y\r\n2,e-mail\r\n4,z\n"));
    // Also where nothing or everything is a repeat, and in two passes.
    for (option, rest) in [
        ("-v", "3,x@y\n"),
        ("-d", "3,x@y\n"),
        ("-u", "2,e-mail\r\n4,z\n"),
        ("--exact", "1,x@y\r\n2,e-mail\r\n4,z\n"),
        ("-c", "      2 1,x@y\r\n      1 2,e-mail\r\n      1 4,z\n"),
    ] {
        let uniq = run(&["uniq", "--quiet", option, "a.csv", "b.csv"]).run();
        uniq.code(0).stdout(format!("{header}{rest}"));
    }
    env.filter("f", 100, 1e-9, "z\n");
    let check = run(&["check", "-I", "f", "a.csv", "b.csv"]).run().code(0);
    check.stdout(format!("{header}4,z\n"));
    let check = run(&["check", "-n", "f", "a.csv", "b.csv"]).run().code(0);
    check.stdout(format!("a.csv:1:{header}b.csv:3:4,z\n"));
    let check = run(&["check", "-c", "-v", "f", "a.csv", "b.csv"]).run();
    check.code(0).stdout("a.csv:2\nb.csv:1\n");
    let add = run(&["add", "f", "a.csv", "b.csv"]).run().code(0);
    add.says(&["4 keys, 2 of them new"]);
    env.mayhap(&["check", "f"])
        .input("x@y\ne-mail\nid\n")
        .run()
        .code(0)
        .stdout("x@y\ne-mail\n");
    // By number, when that is said.
    let numbered = env.mayhap(&[
        "uniq",
        "--quiet",
        "--csv-key=2",
        "--csv-header",
        "b.csv",
        "b.csv",
    ]);
    let numbered = numbered.run().code(0);
    numbered.stdout("\u{feff}id,e-mail\n3,x@y\n4,z\n");
}

#[test]
fn headers_that_do_not_fit_are_refused() {
    let env = TestEnv::new();
    env.write("a.csv", "id,name\n1,x\n");
    env.write("b.csv", "name,id\n1,x\n");
    env.write("twice.csv", "name,id,name\n1,x,y\n");
    env.write("nothing.csv", "");
    let run = |files: &[&str]| {
        let run = env.mayhap(&["uniq", "--csv-key", "name"]).args(files);
        run.run()
    };

    let other = run(&["a.csv", "b.csv"]).code(2).stdout("id,name\n1,x\n");
    other.says(&["b.csv has another header than a.csv", "runs of their own"]);
    run(&["twice.csv"]).fails_with(&["twice.csv", "columns 1 and 3", "`name`"]);
    run(&["nothing.csv", "a.csv"])
        .code(0)
        .stdout("id,name\n1,x\n");
    let missing = env.mayhap(&["uniq", "--csv-key", "Name", "a.csv"]).run();
    missing.fails_with(&["a.csv", "no column `Name`", "id, name"]);
}

/// A value as CSV has it: in quotes where it must be, and sometimes where it need not be.
fn quoted(value: &str, always: bool) -> String {
    match always || value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value.to_owned(),
    }
}

#[test]
fn records_over_several_lines_are_one_wherever_they_are_cut() {
    let mut random = Random(13);
    let mut value = |most: u64| {
        const PIECES: [&str; 8] = ["a", "\n", "\"", ",", "bc", "\r\n", " ", "long enough"];
        let pieces = (0..random.below(most)).map(|_| PIECES[random.below(8) as usize]);
        let value: String = pieces.collect();
        (value, random.below(2) == 0)
    };
    let (mut input, mut printed, mut seen) = (String::new(), String::new(), HashSet::new());
    for i in 0..40_000 {
        let (key, is_quoted) = value(5);
        // Now and then one that does not fit in a block.
        let (other, other_quoted) = value(if i % 10_000 == 5000 { 200_000 } else { 9 });
        let record = format!(
            "{},{i},{}\n",
            quoted(&other, other_quoted),
            quoted(&key, is_quoted)
        );
        input.push_str(&record);
        if seen.insert(key) {
            printed.push_str(&record);
        }
    }
    assert!(printed.len() > 100_000 && printed.len() < input.len() / 2);
    let env = TestEnv::new();
    env.write("file.csv", &input);
    for threads in ["1", "2"] {
        let words = ["uniq", "--quiet", "--csv-key=3", "--threads", threads];
        let file = env.mayhap(&words).arg("file.csv").run();
        file.code(0).stdout(&printed);
        env.mayhap(&words)
            .input(&input)
            .run()
            .code(0)
            .stdout(&printed);
    }
}

#[test]
fn a_quote_that_is_never_closed_is_an_error_where_it_begins() {
    let input = "a,1\n\"b\nc\",1\nd,\"e\nf,2\n";
    let open = uniq(&["--csv-key", "1"], input)
        .code(2)
        .stdout("a,1\n\"b\nc\",1\n");
    open.says(&["line 4 of standard input", "never closed"]);

    // However long the rest is: no more than the longest line is kept.
    let rest = "x,y\n".repeat(1 << 20);
    let open = uniq(
        &["--csv-key=1", "--max-line=1M"],
        format!("a,1\nb,\"{rest}"),
    );
    open.code(2)
        .stdout("a,1\n")
        .says(&["line 2 is longer than 1.0 MiB"]);
    let open = uniq(&["--csv-key=1"], format!("a,1\nb,\"{rest}"));
    open.code(2)
        .stdout("a,1\n")
        .says(&["line 2 of", "never closed"]);
}

#[test]
fn a_table_goes_on_after_an_interruption_with_its_header() {
    let env = TestEnv::new();
    let mut table = String::from("id,name\n");
    for i in 0..50_000 {
        table.push_str(&format!("{i},\"name\n{}\"\n", i % 30_000));
    }
    env.write("table.csv", &table);
    let whole = env.mayhap(&["uniq", "--quiet", "--csv-key=name", "table.csv"]);
    let whole = whole.run().code(0).stdout;
    let inside = table[..600_000].rfind("name").expect("there are many");
    env.write("table.csv", &table[..inside]);
    let run = || {
        let words = [
            "uniq",
            "--quiet",
            "--csv-key=name",
            "--seen=s",
            "--checkpoint=1k",
        ];
        env.mayhap(&words).args(&["-o", "out", "table.csv"]).run()
    };
    run().code(2).says(&["never closed"]);
    assert!(!env.read("out").is_empty());
    env.write("table.csv", &table);

    run().code(0);

    assert!(env.read("out") == whole, "the output differs");
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
    let by_name = uniq(&["--json-key", "user.name"], input).code(0);
    by_name.stdout([lines[0], lines[2], lines[3]].concat());
    let by_number = uniq(&["--json-key", "n"], input).code(0);
    by_number.stdout(input);

    let lines = "[{\"a\":\"x\"},7]\n[{\"a\":\"x\"},8]\r\n";
    let by_place = uniq(&["--json-key", "0.a"], lines).code(0);
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

    uniq(&["--regex", "(a)(b)"], "").fails_with(&["2 groups", "(?:"]);
    uniq(&["--regex", "("], "").fails_with(&["regex parse error"]);
}

/// The ways in which a line can have no key, with an input whose third line has none.
const LACKING: [(&[&str], &str, &str); 7] = [
    (&["--csv-key=2"], "1,a\n2,b\n3\n4,a\n", "column 2"),
    (&["--csv-key=2"], "1,a\n2,b\n\n4,a\n", "it is empty"),
    (
        &["--json-key=k"],
        "{\"k\":\"a\"}\n{\"k\":\"b\"}\n{}\n{\"k\":\"a\"}\n",
        "no field `k`",
    ),
    (
        &["--json-key=k"],
        "{\"k\":\"a\"}\n{\"k\":\"b\"}\n{\"k\":null}\n{\"k\":\"a\"}\n",
        "is null",
    ),
    (
        &["--json-key=k"],
        "{\"k\":\"a\"}\n{\"k\":\"b\"}\n{\"k\":\n{\"k\":\"a\"}\n",
        "not JSON",
    ),
    (&["--regex=[ab]"], "1a\n2b\n3\n4a\n", "does not match"),
    (&["--regex=^([ab]*)"], "a1\nb2\n3\na4\n", "matches nothing"),
];

#[test]
fn a_line_without_a_key_is_an_error_unless_it_is_kept_or_skipped() {
    for (options, input, why) in LACKING {
        let lines: Vec<_> = input.split_inclusive('\n').collect();
        println!("{options:?} {input:?}");
        for threads in ["--threads=1", "--threads=2"] {
            let run = |more: &[&str]| {
                let env = TestEnv::new();
                env.write("in", input);
                let run = env.mayhap(&["uniq", threads]).args(options);
                run.args(more).arg("in").run()
            };
            let wrong = run(&[]).code(2).stdout([lines[0], lines[1]].concat());
            wrong.says(&["line 3 of in has no key", why, "--keyless"]);
            let kept = run(&["--keyless=keep"]).code(0);
            let kept = kept.stdout([lines[0], lines[1], lines[2]].concat());
            kept.says(&["1 lines have no key, and are kept", "3 lines, 2 distinct"]);
            let kept = run(&["--keyless=keep", "-v"]).code(0);
            kept.stdout([lines[2], lines[3]].concat());
            let skipped = run(&["--keyless=skip"]).code(0);
            let skipped = skipped.stdout([lines[0], lines[1]].concat());
            skipped.says(&["1 lines have no key, and are left out"]);
            run(&["--keyless=skip", "--quiet"]).code(0).silent();
            let counted = run(&["--keyless=keep", "-c", "--quiet"]).code(0).silent();
            let (two, one) = ("      2 ", "      1 ");
            counted.stdout([two, lines[0], one, lines[1], lines[2]].concat());
        }
    }
}

#[test]
fn every_verb_treats_a_line_without_a_key_alike() {
    let env = TestEnv::new();
    for (kind, name) in [("counting", "f"), ("spectral", "g"), ("spatial", "h")] {
        let words = ["new", name, "--kind", kind, "-n100", "-p1e-6"];
        env.mayhap(&words).run().code(0);
    }
    let input = "1,a\n2\n3,b\n4,c\n";
    env.write("in", input);
    env.write("in2", "1,a\n2,b\n");
    let run = |words: &[&str], keyless: &[&str]| {
        env.mayhap(words)
            .args(keyless)
            .args(&["--csv-key=2", "in"])
            .run()
    };
    let verbs: [(&[&str], i32, &str, &str); 9] = [
        (&["add", "f"], 0, "", ""),
        (&["add", "g"], 0, "", ""),
        (&["add", "h", "--area=3"], 0, "", ""),
        (&["check", "f"], 0, "1,a\n2\n3,b\n4,c\n", "1,a\n3,b\n4,c\n"),
        (&["check", "-v", "f"], 1, "2\n", ""),
        (&["check", "-c", "f"], 0, "3\n", "3\n"),
        (
            &["area", "h"],
            0,
            "3\t1,a\n2\n3\t3,b\n3\t4,c\n",
            "3\t1,a\n3\t3,b\n3\t4,c\n",
        ),
        (&["remove", "f"], 0, "2\n", ""),
        (&["build", "b", "-p1e-6", "--force"], 0, "", ""),
    ];
    for (words, code, kept, skipped) in verbs {
        println!("{words:?}");
        let wrong = run(words, &[]).code(2);
        wrong.says(&["line 2 of in has no key", "column 2"]);
        // What was inserted is there either way.
        if words[0] == "remove" {
            run(words, &["--keyless=keep", "--json"]).code(0);
            run(&["add", "f"], &["--keyless=skip"]).code(0);
        }
        run(words, &["--keyless=keep"]).code(code).stdout(kept);
        if words[0] == "remove" {
            run(&["add", "f"], &["--keyless=skip"]).code(0);
        }
        let run = run(words, &["--keyless=skip"]).code(code);
        run.stdout(skipped).says(&["1 lines have no key"]);
    }
    let count = run(&["count", "g"], &["--keyless=keep"]).code(0);
    count.stdout("      2 1,a\n2\n      2 3,b\n      2 4,c\n");
    let found = env.mayhap(&["check", "-c", "b"]).input("a\nb\nc\n2\n\n");
    found.run().code(0).stdout("3\n");
    let answers = run(&["check", "--answers", "f"], &["--keyless=keep"]);
    answers.fails_with(&["--answers", "--keyless skip"]);
}

#[test]
fn lines_are_counted_in_their_own_file() {
    let env = TestEnv::new();
    env.write("a", "1,a\n\"2\n\n\",b\n");
    env.write("b", "1,c\n\"2\n\",d\nx\n");
    let run = env.mayhap(&["uniq", "--csv-key=2", "a", "b"]).run().code(2);
    run.says(&["line 4 of b has no key"]);
    let run = env.mayhap(&["uniq", "--key-type=long", "b"]).run();
    run.fails_with(&["line 1 of b: the key `1,c` is not a decimal number"]);
}

#[test]
fn keys_are_printed_as_they_stand() {
    let print =
        |options: &[&str], input: &str| uniq(&[&["--print=key"], options].concat(), input).code(0);
    print(&[], "b\na\nb\n").stdout("b\na\n");
    print(&["-i"], "B\na\nb\n").stdout("B\na\n");
    print(&["-k2", "-t,"], "1,B,x\n2,a\n3,B\n").stdout("B\na\n");
    print(&["-k3", "-k1"], "1  B x\n2 a x\n3 B x\n1 C x\n").stdout("x 1\nx 2\nx 3\n");
    print(&["-b2-3"], "abcd\nxbcd\n").stdout("bc\n");
    print(&["--csv-key=2"], "1,\"a,\"\"b\"\"\"\r\n2,\"a,\"\"b\"\"\"\n").stdout("a,\"b\"\n");
    print(&["--csv-key=2", "--csv-key=1"], "1,\"a,\"\"b\"\"\"\n2,c\n")
        .stdout("\"a,\"\"b\"\"\",1\nc,2\n");
    print(&["--csv-key=name"], "id,name\n1,x\n2,x\n3,y\n").stdout("x\ny\n");
    print(&["--json-key=a"], "{\"a\":\"x\\u0041\"}\n{\"a\":1.50}\n").stdout("xA\n1.50\n");
    print(&["--regex=b."], "abc\nxbcd\nbd\n").stdout("bc\nbd\n");
    print(&["--regex=b.", "--keyless=keep"], "abc\n-\nbd\n").stdout("bc\nbd\n");
    print(&["-c", "-k1"], "b 1\na 2\nb 3\n").stdout("      2 b\n      1 a\n");
    print(&["-v", "-k1"], "b 1\na 2\nb 3\n").stdout("b\n");
    print(&["--exact", "-k1"], "b 1\na 2\nb 3\n").stdout("b\na\n");
    print(&["-z"], "b\nc\0a\0").stdout("b\nc\0a\0");
    print(&["--key-type=long"], " 7\n7\n8\n").stdout(" 7\n8\n");

    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\nb\n");
    let check = env.mayhap(&["check", "f", "--print=key", "--csv-key=2"]);
    check
        .input("1,\"a\"\n2,c\n3,b\n")
        .run()
        .code(0)
        .stdout("a\nb\n");
    let check = env.mayhap(&["check", "f", "-v", "--print=key", "--csv-key=2"]);
    check
        .input("1,\"a\"\n2,c\n3,b\n")
        .run()
        .code(0)
        .stdout("c\n");

    let broken = uniq(&["--print=key", "--csv-key=1"], "a\n\"b\nc\"\n")
        .code(2)
        .stdout("a\n");
    broken.says(&["line 2 of standard input", "line end", "--print key"]);
}

#[test]
fn options_that_make_no_sense_together_are_errors() {
    for words in [
        &["-t,"][..],
        &["-t,", "-b1"],
        &["-t,", "--regex=a"],
        &["-k1", "-b1"],
        &["-k1", "--csv-key=1"],
        &["--csv-key=1", "-b1"],
        &["--csv-key=1", "--json-key=a"],
        &["--json-key=a", "--regex=a"],
        &["--regex=a", "--regex=b"],
        &["--csv-header"],
        &["--csv-header", "-k1"],
        &["--keyless=skip"],
        &["--keyless=skip", "-k1"],
        &["--csv-key=0"],
        &["--csv-key="],
        &["--json-key="],
        &["--json-key=a..b"],
        &["--keyless=maybe", "--csv-key=1"],
        &["--print=words"],
    ] {
        println!("{words:?}");
        uniq(words, "a\n").code(2).stdout("");
    }
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    for words in [
        ["-c", "--print=key"],
        ["-q", "--print=key"],
        ["--answers", "--print=key"],
    ] {
        let run = env.mayhap(&["check", "f"]).args(&words).input("a\n").run();
        run.code(2).stdout("");
    }
    let run = env.mayhap(&["add", "f", "--print=key"]).run();
    run.code(2).stdout("");
}

#[test]
fn lines_that_end_in_a_carriage_return_are_warned_of_once() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    env.write("in", "a\r\nb\r\n");
    env.write("in2", "c\r\nd\r\n");
    let warning = "warning: lines of in end in a carriage return";
    for words in [
        &["uniq", "in", "in2"][..],
        &["uniq", "-c", "in"],
        &["uniq", "--exact", "in"],
        &["uniq", "-i", "in"],
        &["uniq", "-k1", "-k2", "in"],
        &["check", "-v", "f", "in"],
        &["add", "f", "in"],
        &["build", "g", "-p1%", "--force", "in"],
        &["build", "g", "-p1%", "--force", "--kind=blocked", "in"],
    ] {
        let run = |more: &[&str]| env.mayhap(words).args(more).run().code(0);
        let said = run(&[]).says(&[warning, "--crlf"]).stderr;
        assert_eq!(said.matches(warning).count(), 1, "{words:?}: {said}");
        for more in [&["--quiet"][..], &["--crlf"]] {
            let said = run(more).stderr;
            assert!(!said.contains("warning"), "{words:?} {more:?}: {said}");
        }
    }
    // Where the key has none, or where not all lines have one, there is nothing to say.
    for (options, input) in [
        (&["-k1"][..], "a 1\r\nb 2\r\n"),
        (&["-b1"], "a\r\nb\r\n"),
        (&["-z"], "a\r\nb\r\n"),
        (&["--csv-key=1"], "a\r\nb\r\n"),
        (&["--json-key=0"], "[1]\r\n[2]\r\n"),
        (&["--regex=\\w+"], "a\r\nb\r\n"),
        (&["--key-type=long"], "1\r\n2\r\n"),
        (&[], "a\r\nb\n"),
        (&[], ""),
    ] {
        let run = env.mayhap(&["uniq"]).args(options).input(input).run();
        let said = run.code(0).stderr;
        assert!(!said.contains("warning"), "{options:?}: {said}");
    }
}
