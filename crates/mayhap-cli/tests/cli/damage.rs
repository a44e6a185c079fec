use std::fs;
use std::io::{Read as _, Write as _};

use crate::env::TestEnv;

/// Every way of using a filter.
const USES: [&str; 7] = [
    "check f keys",
    "info f",
    "add f keys",
    "merge out f",
    "merge out whole f",
    "verify f",
    "uniq --seen f keys",
];

#[test]
fn a_flipped_bit_in_any_byte_of_a_filter_is_noticed_by_every_verb() {
    let env = TestEnv::new();
    env.filter("whole", 10, 0.1, "a\nb\n");
    env.write("keys", "a\nb\nc\n");
    let whole = env.read("whole");
    assert!(whole.len() < 400, "{} bytes take too long", whole.len());

    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        env.write("f", &damaged);
        for words in USES {
            println!("byte {at}: {words:?}");
            env.fails(words, &["f"]);
        }
        assert_eq!(env.read("f"), damaged, "byte {at}");
    }
    assert_eq!(env.names(), ["f", "keys", "whole"]);
}

#[test]
fn a_filter_that_was_cut_off_or_has_more_is_noticed_by_every_verb() {
    let env = TestEnv::new();
    env.filter("whole", 10, 0.1, "a\nb\n");
    env.write("keys", "a\nb\nc\n");
    let whole = env.read("whole");

    for length in [0, 1, 8, whole.len() / 2, whole.len() - 1] {
        env.write("f", &whole[..length]);
        for words in USES {
            env.fails(words, &["f"]);
        }
    }
    env.write("f", [&whole[..], b"\n"].concat());
    for words in USES {
        env.fails(words, &["f"]);
    }
}

#[test]
fn a_flipped_bit_in_a_large_filter_is_noticed_with_any_number_of_threads() {
    let env = TestEnv::new();
    env.filter("f", 5_000_000, 0.01, "a\nb\n");
    let mut damaged = env.read("f");
    let at = damaged.len() - 1_000_000;
    damaged[at] ^= 0x10;
    env.write("f", &damaged);

    for threads in ["1", "2", "7"] {
        for words in ["verify f", "check f", "info f", "add f"] {
            let run = env.mayhap(words).args(&format!("--threads {threads}"));
            run.input("a\n")
                .run()
                .fails_with(&["f", "hint: restore the file from a copy"]);
        }
    }
}

#[test]
fn verify_tells_which_of_several_files_is_damaged() {
    let env = TestEnv::new();
    env.filter("a", 10, 0.1, "a\n");
    env.filter("b", 10, 0.1, "b\n");
    let mut damaged = env.read("b");
    damaged[140] ^= 1;
    env.write("b", damaged);

    let run = env.mayhap("verify a b missing").run().code(2);
    let run = run.stdout("a: every checksum matches\n");
    run.says(&[
        "error: b: ",
        "error: cannot open missing",
        "2 of 3 files failed",
    ]);

    let run = env.mayhap("verify --json a b").run().code(2);
    let rows: Vec<serde_json::Value> = run
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        (&rows[0]["filter"], &rows[0]["whole"]),
        (&"a".into(), &true.into())
    );
    assert_eq!(
        (&rows[0]["format"], &rows[0]["checksums"]),
        (&"native".into(), &true.into())
    );
    assert_eq!(
        (&rows[1]["filter"], &rows[1]["whole"]),
        (&"b".into(), &false.into())
    );
}

#[test]
fn a_filter_that_is_another_kind_the_next_time_is_what_it_is_now() {
    let env = TestEnv::new();
    let answers = || {
        env.gives("check --answers f", "a\nb\nc\n", "yes\nno\nyes\n");
        let info = env.info("f");
        (info["kind"].clone(), info["format"].clone())
    };
    for (options, kind, format) in [
        ("--kind blocked", "blocked", "native"),
        ("--kind bloom", "bloom", "native"),
        ("--kind split-block", "split-block", "native"),
        ("--format guava", "bloom", "guava"),
        ("--format spark", "bloom", "spark"),
        ("--format dcso", "bloom", "dcso"),
        ("--format parquet", "split-block", "parquet"),
    ] {
        let new = "new f --force -n 100 -p 1e-5";
        env.mayhap(new).args(options).run().code(0);
        env.fed("add f", "a\nc\n").code(0);
        assert_eq!(answers(), (kind.into(), format.into()));
        // What was saved is the format it was in.
        env.ok("verify f");
    }
}

#[test]
fn kinds_that_do_not_fit_are_not_merged() {
    let env = TestEnv::new();
    env.filter("a", 100, 0.01, "a\n");
    env.filter("larger", 1000, 0.01, "b\n");
    env.ok("new bloom -n100 -p0.01 --kind bloom");

    for other in ["larger", "bloom"] {
        env.fails(&format!("merge out a {other}"), &[other]);
        env.fails(&format!("merge --intersection out a {other}"), &[]);
    }
    assert!(!env.path("out").exists());
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let env = TestEnv::new();
    env.write("keys", "a\n");
    env.filter("whole", 10, 0.1, "a\n");
    env.shell("mkfifo f").run().code(0);
    for words in USES {
        // To wait for a writer would be to wait for ever.
        env.fails(words, &["f: not a regular file"]);
    }
    for words in ["check /dev/zero keys", "info /dev/zero"] {
        env.fails(words, &["/dev/zero: not a regular file"]);
    }
}

#[test]
fn what_a_terminal_would_obey_is_shown_escaped() {
    let env = TestEnv::new();
    let title = "a\x1b]0;b\x07\u{9b}1m\u{202e}c\nd";
    let escaped = "a\\x1b]0;b\\x07\\u{9b}1m\\u{202e}c\\nd";
    let new = ["new", title, "-n100", "-p0.01", "--label", title];
    env.mayhap(&new)
        .args(&["--created-by", title])
        .run()
        .code(0);

    let info = env.ok(&["info", title]);
    let shown: Vec<&str> = info
        .text()
        .lines()
        .filter(|line| line.contains(escaped))
        .collect();
    assert_eq!(shown.len(), 3, "{}", info.text());
    assert!(!info.text().contains('\x1b'));
    let json = env.info(title);
    assert_eq!(json["label"], title);
    assert_eq!(json["filter"], title);
    let verified = format!("{escaped}: every checksum matches\n");
    env.ok(&["verify", title]).stdout(verified);

    fs::write(env.path(&format!("{title}.lock")), "").expect("writable");
    fs::write(env.path("missing"), "").expect("writable");
    for words in [
        &["info", &format!("no {title}")][..],
        &["new", title, "-n100", "-p0.01"],
        &["uniq", &format!("no {title}")],
        &["uniq", &format!("--{title}")],
        &["check", "missing", title],
    ] {
        // The outcome itself refuses an escape character in what is said.
        let outcome = env.mayhap(words).run().code(2);
        assert!(
            !outcome.stderr.contains(['\u{9b}', '\u{202e}', '\x07']),
            "{}",
            outcome.stderr
        );
    }
    // Of the lines of an input nothing is quoted.
    let sort = env.fed("sort", "1\n\x1b[31m2\n");
    assert!(!sort.fails_with(&["line 2"]).stderr.contains("31m2"));
}

#[test]
fn what_is_no_filter_is_refused_by_name() {
    let env = TestEnv::new();
    env.write("keys", "a\n");
    for (name, bytes) in [
        ("text", &b"just some lines\nof a text file\n"[..]),
        ("empty", b""),
        ("zeros", &[0; 4096]),
        ("gzip", b"\x1F\x8B\x08\0\0\0\0\0\0\0"),
    ] {
        env.write(name, bytes);
        for words in [
            "check F keys",
            "info F",
            "add F keys",
            "merge out F",
            "verify F",
            "convert F out --to native",
            "uniq --seen F keys",
        ] {
            env.fails(&words.replace('F', name), &[name]);
        }
        assert_eq!(env.read(name), bytes);
        fs::remove_file(env.path(name)).expect("it is there");
    }
    assert_eq!(env.names(), ["keys"]);
}

/// Starts `check f`, and waits until it has answered a first line: it has opened the filter.
fn asked(env: &TestEnv, words: &str) -> (std::process::Child, std::process::ChildStdout) {
    let mut child = crate::env::spawn(&mut env.mayhap(words).command);
    let pipe = child.stdin.as_mut().expect("piped");
    pipe.write_all(b"key 0\n").expect("it reads");
    let mut stdout = child.stdout.take().expect("piped");
    let mut answer = [0; 4];
    stdout.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"yes\n");
    (child, stdout)
}

/// Gives it 20 000 keys that were inserted, and gives back its answers.
fn ask_the_rest(
    mut child: std::process::Child,
    mut stdout: std::process::ChildStdout,
) -> (String, std::process::Output) {
    let mut pipe = child.stdin.take().expect("piped");
    let feeder = std::thread::spawn(move || {
        let keys: String = (0..20_000).map(|i| format!("key {i}\n")).collect();
        // It may have ended.
        let _ = pipe.write_all(keys.as_bytes());
    });
    let mut answers = String::new();
    stdout.read_to_string(&mut answers).expect("text");
    feeder.join().expect("no panic");
    (answers, crate::env::wait(child, "check"))
}

/// The change that another program makes to a filter in place while it is read.
const CHANGES: [fn(&mut fs::File); 2] = [
    |file| file.set_len(4096).expect("shortened"),
    |file| {
        let length = file.metadata().expect("ours").len();
        file.write_all(&vec![0; length as usize]).expect("zeroed");
    },
];

#[test]
fn a_filter_changed_in_place_while_it_is_asked_changes_no_answer_or_is_an_error() {
    for change in CHANGES {
        for words in ["check --answers f", "check --answers --no-verify f"] {
            let env = TestEnv::new();
            let keys: String = (0..20_000).map(|i| format!("key {i}\n")).collect();
            env.filter("f", 20_000, 1e-9, &keys);
            let (child, stdout) = asked(&env, words);

            let file = fs::OpenOptions::new().write(true).open(env.path("f"));
            change(&mut file.expect("ours"));
            let (answers, output) = ask_the_rest(child, stdout);

            let stderr = String::from_utf8(output.stderr).expect("text");
            match words.contains("--no-verify") {
                // It was read, and is not looked at again.
                false => {
                    assert_eq!(output.status.code(), Some(0), "{stderr}");
                    assert_eq!(answers, "yes\n".repeat(20_000));
                }
                _ => {
                    assert_eq!(output.status.code(), Some(2), "{stderr}");
                    assert!(
                        stderr.contains("error: ") && stderr.contains("may be wrong"),
                        "{stderr}"
                    );
                }
            }
        }
    }
}
