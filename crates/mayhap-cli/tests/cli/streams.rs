use std::io::Write as _;

use crate::env::{TestEnv, spawn, wait};
use crate::signals::until;

#[test]
fn a_stream_that_stalls_is_saved_after_a_while() {
    for threads in ["1", "2"] {
        let env = TestEnv::new();
        let words = ["uniq", "--threads", threads, "--seen", "seen", "-o", "out"];
        let mut run = env.mayhap(&words).arg("--checkpoint=50ms");
        let mut child = spawn(&mut run.command);
        let mut input = child.stdin.take().expect("piped");
        let is_saved = |keys: &str| {
            let check = env.mayhap(&["check", "-c", "seen"]).input(keys).run();
            check.stdout == format!("{}\n", keys.lines().count()).as_bytes()
        };

        // The input waits: nothing but time makes it save, once and again.
        input.write_all(b"a\nb\n").expect("it reads");
        until("a and b are saved", || is_saved("a\nb\n"));
        input.write_all(b"c\n").expect("it reads");
        until("c is saved", || is_saved("a\nb\nc\n"));

        assert_eq!(env.read("out"), b"a\nb\nc\n");
        child.kill().expect("it is running");
        wait(child, "a stream that stalls");
    }
}

#[test]
fn checkpoints_are_by_size_by_time_or_both() {
    let env = TestEnv::new();
    for (value, words) in [
        ("16M", &[][..]),
        ("10s", &[]),
        ("5min", &[]),
        ("16M,10s", &[]),
        ("15m", &["15min", "15M"]),
        ("10s,16M", &["10s,16M", "64M,30s"]),
        ("1M,2M", &["1M,2M"]),
        ("often", &["often", "64M", "30s"]),
    ] {
        let option = format!("--checkpoint={value}");
        let run = env.mayhap(&["uniq", "--quiet", "--seen", "seen", &option, "--new-run"]);
        let outcome = run.input("a\n").run();
        match words {
            [] => drop(outcome.code(0)),
            words => drop(outcome.fails_with(words)),
        }
    }
}
