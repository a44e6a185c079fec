use std::io::{Read as _, Write as _};
use std::thread;

use crate::env::{TestEnv, spawn, wait};

/// Bytes that are no UTF-8: a lone continuation, a cut sequence, an overlong one, a surrogate.
const NOT_UTF8: &[u8] = b"\x80\nab\xC3\n\xC0\xAF\n\xED\xA0\x80\n\xFF\xFE\n\x80\n";

#[test]
fn bytes_that_are_not_utf8_are_keys_like_any_other() {
    let env = TestEnv::new();
    env.ok("new f --capacity 1000 --rate 1e-9");

    let uniq = env.fed("uniq", NOT_UTF8).code(0);
    uniq.stdout(&NOT_UTF8[..NOT_UTF8.len() - 2]);

    let add = env.fed("add f", NOT_UTF8).code(0);
    add.says(&["6 keys, 5 of them new"]);

    env.gives("check f", NOT_UTF8, NOT_UTF8);
    // What a reader that replaced them by U+FFFD would take for the same.
    let other = env.fed("check f", b"\x81\n\xEF\xBF\xBD\nab\xC4\n");
    other.code(1).stdout("");
}

#[test]
fn a_carriage_return_is_part_of_the_key_unless_told_otherwise() {
    let env = TestEnv::new();
    let input = "a\r\na\nb\r\nb\r\n";

    env.gives("uniq", input, "a\r\na\nb\r\n");
    env.gives("uniq --crlf", input, "a\r\nb\r\n");

    env.filter("f", 100, 1e-9, "a\nb\n");
    let check = |options: &str| {
        let run = env.mayhap("check --answers f").args(options);
        run.input("a\r\nb\nc\r\n").run().code(0)
    };
    check("").stdout("no\nyes\nno\n");
    check("--crlf").stdout("yes\nyes\nno\n");
    let add = env.fed("add --crlf f", "c\r\n");
    add.code(0).says(&["1 keys, 1 of them new"]);
    check("--crlf").stdout("yes\nyes\nyes\n");
}

#[test]
fn nul_ends_lines_when_asked() {
    let env = TestEnv::new();
    env.ok("new f -n 100 -p 1e-9");

    for option in ["-z", "-0", "--zero-terminated"] {
        // A newline is then part of the key, and a last line without its end gets one.
        env.gives(&["uniq", option], "a\nb\0c\0a\nb\0\0d", "a\nb\0c\0\0d\0");
        let run = env.fed(&["add", option, "f"], "a\nb\0c");
        run.code(0).says(&["2 keys"]);
        env.gives(&["check", option, "f"], "c\0a\0a\nb", "c\0a\nb\0");
        env.gives(&["uniq", "-c", option], "a\0a", "      2 a\0");
        env.gives(&["sort", option], "3\x001\x002", "1\x002\x003\0");
    }
}

#[test]
fn empty_input_is_no_error() {
    let env = TestEnv::new();
    env.write("nothing", "");
    env.filter("f", 100, 1e-9, "a\n");
    let before = env.read("f");

    for words in [
        "uniq",
        "uniq --exact",
        "uniq -c",
        "uniq -d",
        "uniq -u",
        "uniq -v",
        "uniq --rate 0.01",
        "uniq --memory 1M",
        "sort",
    ] {
        env.ok(words).stdout("");
        env.mayhap(words).arg("nothing").run().code(0).stdout("");
        env.mayhap(words).arg("/dev/null").run().code(0).stdout("");
    }
    env.ok("add f").says(&["0 keys"]);
    assert_eq!(env.read("f"), before);
    env.mayhap("check f").run().code(1).stdout("").silent();
    env.mayhap("check -v f").run().code(1).stdout("").silent();
    env.mayhap("check -c f").run().code(1).stdout("0\n");
    env.mayhap("check -q f").run().code(1).stdout("");
    env.ok("sort -c").stdout("0\n");
}

#[test]
fn a_last_line_without_its_end_is_a_line() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\nb");

    env.gives("uniq", "a\nb\na", "a\nb\n");
    env.gives("check f", "x\nb", "b\n");
    env.gives("check --answers f", "b", "yes\n");
    env.gives("sort", "2\n1", "1\n2\n");
}

/// Writes lines of a size to the command, while counting what comes out of it.
fn pass_lines(env: &TestEnv, words: &str, line_bytes: u64, lines: u64) -> (u64, Option<i32>) {
    let mut child = spawn(&mut env.mayhap(words).command);
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let feeder = thread::spawn(move || {
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..lines {
            for _ in 0..line_bytes >> 20 {
                if input.write_all(&piece).is_err() {
                    return;
                }
            }
            let _ = input.write_all(b"\n");
        }
    });
    let reader = thread::spawn(move || {
        let (mut piece, mut count) = (vec![0; 1 << 20], 0);
        while let Ok(read @ 1..) = output.read(&mut piece) {
            count += read as u64;
        }
        count
    });
    let status = wait(child, "a long line").status;
    feeder.join().expect("no panic");
    (reader.join().expect("no panic"), status.code())
}

#[test]
fn a_line_of_a_gigabyte_is_a_line() {
    let env = TestEnv::new();

    let (printed, code) = pass_lines(&env, "uniq --quiet", 1 << 30, 1);

    assert_eq!((printed, code), ((1 << 30) + 1, Some(0)));
}

#[test]
fn long_lines_that_repeat_are_repeats() {
    let env = TestEnv::new();

    let (printed, code) = pass_lines(&env, "uniq --quiet", 64 << 20, 4);

    assert_eq!((printed, code), ((64 << 20) + 1, Some(0)));
}

#[test]
fn a_line_that_does_not_fit_in_memory_is_an_error() {
    let env = TestEnv::new();

    // 400 MB of address space, most of which threads reserve; a line needs as much at once.
    let script = "ulimit -v 400000 && head -c 500000000 /dev/zero | mayhap uniq --threads 1";
    let outcome = env.shell(script).run();

    outcome.fails_with(&["no memory for line 1", "--max-line SIZE"]);
}

#[test]
fn a_line_that_is_too_long_ends_the_run_after_the_lines_before_it() {
    let env = TestEnv::new();
    let longest = 300_000;
    let fits = vec![b'x'; longest];
    let before = [&b"a\nb\n"[..], &fits, b"\nc\n"].concat();
    env.filter("f", 100, 1e-9, "b\nc\n");

    for end in [&b""[..], b"\nd\n"] {
        env.write("long", [&before[..], &fits, b"x", end].concat());
        for threads in ["1", "2"] {
            for (words, expected) in [
                ("uniq", &before[..]),
                ("uniq --rate 1e-9", &before),
                ("check f", b"b\nc\n"),
            ] {
                let limit = longest.to_string();
                let run = env.mayhap(words).args(&format!("--threads {threads}"));
                let run = run.args(&format!("--max-line {limit}")).arg("long").run();
                run.code(2).stdout(expected).says(&[
                    "cannot read long: line 5 is longer than 293.0 KiB",
                    "hint: --max-line SIZE",
                ]);
            }
        }
        let longer = (longest + 1).to_string();
        let run = env.mayhap(&format!("uniq --max-line {longer} long")).run();
        run.code(0);
    }
    // Every verb that reads lines has the limit.
    for words in ["add f", "sort", "build g", "uniq -c"] {
        let run = env.mayhap(words).args("--max-line 256K");
        run.arg("long").run().code(2);
    }
    env.fails("uniq --max-line 1K long", &["1K", "256.0 KiB"]);
}

#[test]
fn with_a_memory_budget_lines_may_be_a_sixteenth_of_it() {
    let env = TestEnv::new();
    let line = |length: usize| [&vec![b'x'; length][..], b"\n"].concat();
    for (memory, longest) in [("16M", 1 << 20), ("1M", 256 << 10)] {
        let run = |length| env.fed(&format!("uniq --memory {memory}"), line(length));
        run(longest).code(0).stdout(line(longest));
        run(longest + 1).fails_with(&["line 1 is longer than", "--max-line SIZE"]);
        let run = env.mayhap("uniq --max-line 2M");
        let run = run.env("MAYHAP_MEMORY", memory).input(line(2 << 20));
        run.run().code(0).stdout(line(2 << 20));
    }
}

#[test]
fn what_someone_types_is_answered_at_once() {
    // The command answers each line before the next one comes: the test would wait for ever.
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    for (words, answers) in [
        ("uniq", &["a\n", "b\n"][..]),
        ("uniq --threads 1", &["a\n", "b\n"]),
        ("check f --answers", &["yes\n", "no\n"]),
        ("check f --answers --threads=1", &["yes\n", "no\n"]),
    ] {
        let mut child = spawn(&mut env.mayhap(words).command);
        let mut input = child.stdin.take().expect("piped");
        let mut output = child.stdout.take().expect("piped");
        for (line, expected) in ["a\n", "b\n"].iter().zip(answers) {
            input.write_all(line.as_bytes()).expect("it is there");
            let mut answer = vec![0; expected.len()];
            output.read_exact(&mut answer).expect("an answer");
            assert_eq!(answer, expected.as_bytes(), "{words:?}");
        }
        drop(input);
        assert_eq!(wait(child, "typing").status.code(), Some(0));
    }
}
