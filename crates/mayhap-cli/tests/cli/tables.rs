use std::collections::HashSet;

use crate::env::TestEnv;
use crate::keys::uniq;
use crate::oracle::Random;

#[test]
fn columns_are_found_by_number_and_unquoted() {
    let input = "1,\"a,b\",x\n2,\"a,b\",y\n3,a,z\n4,\"a\",z\n5,\"a\"\"\",z\n";
    let printed = "1,\"a,b\",x\n3,a,z\n5,\"a\"\"\",z\n";
    uniq("--csv-key 2", input).code(0).stdout(printed);

    let tabs = uniq("--csv-key 2 -t\\t", "1\t\"a\"\r\n2\ta\r\n").code(0);
    tabs.stdout("1\t\"a\"\r\n");
    let zeros = uniq("--csv-key=1 -z", "\"a\nb\",1\0\"a\nb\",2\0a,3\0").code(0);
    zeros.stdout("\"a\nb\",1\0a,3\0");
}

#[test]
fn a_header_is_printed_once_and_is_not_a_key() {
    let env = TestEnv::new();
    env.write("a.csv", "\u{feff}id,e-mail\r\n1,x@y\r\n2,e-mail\r\n");
    env.write("b.csv", "\u{feff}id,e-mail\n3,x@y\n4,z\n");
    let header = "\u{feff}id,e-mail\r\n";
    let run = |words: &str| env.mayhap(words).args("--csv-key e-mail");

    let uniq = run("uniq --quiet a.csv b.csv").run().code(0);
    uniq.stdout(format!("{header}1,x@y\r\n2,e-mail\r\n4,z\n"));
    // Also where nothing or everything is a repeat, and in two passes.
    for (option, rest) in [
        ("-v", "3,x@y\n"),
        ("-d", "3,x@y\n"),
        ("-u", "2,e-mail\r\n4,z\n"),
        ("--exact", "1,x@y\r\n2,e-mail\r\n4,z\n"),
        ("-c", "      2 1,x@y\r\n      1 2,e-mail\r\n      1 4,z\n"),
    ] {
        let uniq = run(&format!("uniq --quiet {option} a.csv b.csv")).run();
        uniq.code(0).stdout(format!("{header}{rest}"));
    }
    env.filter("f", 100, 1e-9, "z\n");
    let check = run("check -I f a.csv b.csv").run().code(0);
    check.stdout(format!("{header}4,z\n"));
    let check = run("check --line-number f a.csv b.csv").run().code(0);
    check.stdout(format!("a.csv:1:{header}b.csv:3:4,z\n"));
    let check = run("check -c -v f a.csv b.csv").run();
    check.code(0).stdout("a.csv:2\nb.csv:1\n");
    let add = run("add f a.csv b.csv").run().code(0);
    add.says(&["4 keys, 2 of them new"]);
    env.gives("check f", "x@y\ne-mail\nid\n", "x@y\ne-mail\n");
    // By number, when that is said.
    let numbered = env.mayhap("uniq --quiet --csv-key=2 --csv-header b.csv b.csv");
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
    let run = |files: &str| {
        let run = env.mayhap("uniq --csv-key name").args(files);
        run.run()
    };

    let other = run("a.csv b.csv").code(2).stdout("id,name\n1,x\n");
    other.says(&["b.csv has another header than a.csv", "runs of their own"]);
    run("twice.csv").fails_with(&["twice.csv", "columns 1 and 3", "`name`"]);
    run("nothing.csv a.csv").code(0).stdout("id,name\n1,x\n");
    env.fails(
        "uniq --csv-key Name a.csv",
        &["a.csv", "no column `Name` among the 2"],
    );
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
        let words = format!("uniq --quiet --csv-key=3 --threads {threads}");
        let file = env.mayhap(&words).arg("file.csv").run();
        file.code(0).stdout(&printed);
        env.gives(&words, &input, &printed);
    }
}

#[test]
fn a_quote_that_is_never_closed_is_an_error_where_it_begins() {
    let input = "a,1\n\"b\nc\",1\nd,\"e\nf,2\n";
    let open = uniq("--csv-key 1", input)
        .code(2)
        .stdout("a,1\n\"b\nc\",1\n");
    open.says(&["line 4 of standard input", "never closed"]);

    // However long the rest is: no more than the longest line is kept.
    let rest = "x,y\n".repeat(1 << 20);
    let open = uniq("--csv-key=1 --max-line=1M", format!("a,1\nb,\"{rest}"));
    open.code(2)
        .stdout("a,1\n")
        .says(&["line 2 is longer than 1.0 MiB"]);
    let open = uniq("--csv-key=1", format!("a,1\nb,\"{rest}"));
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
    let whole = env.mayhap("uniq --quiet --csv-key=name table.csv");
    let whole = whole.run().code(0).stdout;
    let inside = table[..600_000].rfind("name").expect("there are many");
    env.write("table.csv", &table[..inside]);
    let run = || {
        let words = "uniq --quiet --csv-key=name --seen=s --checkpoint=1k";
        env.mayhap(words).args("-o out table.csv").run()
    };
    run().code(2).says(&["never closed"]);
    assert!(!env.read("out").is_empty());
    env.write("table.csv", &table);

    run().code(0);

    assert!(env.read("out") == whole, "the output differs");
}
