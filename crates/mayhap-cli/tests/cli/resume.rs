use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::thread;

use crate::env::{TestEnv, spawn, wait};
use crate::oracle::{Random, first};

#[test]
fn tomorrow_continues_today() {
    let env = TestEnv::new();
    let run = |input: &str| {
        let run = env.mayhap(&["uniq", "--quiet", "--seen", "seen.mayhap"]);
        run.input(input).run().code(0).silent()
    };

    run("a\nb\na\n").stdout("a\nb\n");
    run("b\nc\n").stdout("c\n");
    run("a\nb\nc\n").stdout("");
    run("d\na\n").stdout("d\n");

    assert_eq!(env.names(), ["seen.mayhap"]);
    let check = env
        .mayhap(&["check", "seen.mayhap"])
        .input("a\nd\nx\n")
        .run();
    check.code(0).stdout("a\nd\n");
}

#[test]
fn a_filter_that_new_made_is_continued_too() {
    let env = TestEnv::new();
    env.filter("f", 1000, 1e-9, "a\nb\n");

    let run = env
        .mayhap(&["uniq", "--seen", "f"])
        .input("b\nc\na\nd\n")
        .run();

    run.code(0).stdout("c\nd\n");
    let run = env
        .mayhap(&["uniq", "-v", "--seen", "f"])
        .input("b\nc\ne\n")
        .run();
    run.code(0).stdout("b\nc\n");
    env.mayhap(&["check", "-c", "f"])
        .input("a\nb\nc\nd\ne\n")
        .run()
        .code(0)
        .stdout("5\n");
}

#[test]
fn lines_that_nobody_got_do_not_count_as_seen() {
    let env = TestEnv::new();
    env.filter("f", 1000, 1e-9, "a\n");
    let before = env.read("f");

    let script = "mayhap uniq --seen f > /dev/full";
    env.shell(script)
        .input("b\n")
        .run()
        .code(2)
        .says(&["cannot write the output"]);

    assert_eq!(env.read("f"), before);
    assert_eq!(env.names(), ["f"]);
}

#[test]
fn a_filter_cannot_be_the_output_too() {
    let env = TestEnv::new();
    env.filter("f", 1000, 1e-9, "a\n");
    env.write("lines", "b\nb\n");
    let before = env.read("f");

    let run = env
        .mayhap(&["uniq", "--seen", "f", "--output", "./f"])
        .input("b\n")
        .run();
    run.fails_with(&["is filter and output"]);
    let run = env.mayhap(&["uniq", "--output", "lines", "lines"]).run();
    run.fails_with(&["is input and output"]);

    assert_eq!(env.read("f"), before);
    assert_eq!(env.read("lines"), b"b\nb\n");
}

/// Lines of which many repeat. Their numbers say where they stand, so that one that is lost shows.
fn input() -> Vec<u8> {
    let mut random = Random(6);
    (0..40_000)
        .flat_map(|_| format!("page number {}\n", random.below(20_000)).into_bytes())
        .collect()
}

/// A run that can be resumed: saves after every 32 KiB, and false positives are next to impossible.
const RESUMABLE: [&str; 11] = [
    "uniq",
    "--quiet",
    "--seen",
    "seen",
    "--checkpoint=32K",
    "--output",
    "out",
    "--capacity",
    "30000",
    "--rate",
    "1e-9",
];

/// Resumes until the run ends by itself, and asserts that all is as if it had never been interrupted.
fn finish(env: &TestEnv, input: &[u8], expected: &[u8]) {
    env.mayhap(&RESUMABLE).input(input).run().code(0).silent();
    assert!(
        env.read("out") == expected,
        "the output is not that of an uninterrupted run"
    );
    // The next run continues a finished one, and says nothing of an interruption.
    let next = env
        .mayhap(&["uniq", "--seen", "seen"])
        .input(&input[..1000])
        .run();
    next.code(0).stdout("");
    for name in ["seen", "out"] {
        fs::remove_file(env.path(name)).expect("it is there");
    }
}

#[test]
fn a_run_killed_anywhere_in_its_input_goes_on_and_ends_the_same() {
    // The command reads from a pipe, and is killed after a random part of the input was written to it: it
    // may be reading, hashing, writing or saving just then.
    let (env, input) = (TestEnv::new(), input());
    let expected = first(&input);
    let mut random = Random(7);
    let mut interrupted = 0;
    for threads in ["1", "2"] {
        for _ in 0..6 {
            let mut reached = 0;
            for _ in 0..4 {
                reached += random.below((input.len() as u64 - reached) / 2);
                let mut run = env.mayhap(&RESUMABLE).args(&["--threads", threads]);
                let mut child = spawn(&mut run.command);
                let mut pipe = child.stdin.take().expect("piped");
                pipe.write_all(&input[..reached as usize])
                    .expect("it reads");
                child.kill().expect("it is running");
                let output = wait(child, "a run that was killed");
                assert_eq!(output.status.code(), None, "it was killed");
                interrupted += usize::from(env.path("seen").exists());
            }
            finish(&env, &input, &expected);
        }
    }
    // Most of them had saved something to go on from.
    assert!(interrupted >= 24, "{interrupted} of 48");
}

#[test]
fn a_run_killed_at_any_length_of_its_output_goes_on_and_ends_the_same() {
    // The command reads a file at full speed, and is killed when its output reaches a random length.
    let (env, input) = (TestEnv::new(), input());
    let expected = first(&input);
    env.write("in", &input);
    let mut random = Random(8);
    for _ in 0..12 {
        for _ in 0..3 {
            let mut run = env.mayhap(&RESUMABLE).arg("in");
            let mut child = run.command.stdin(Stdio::null()).spawn().expect("it starts");
            let length = random.below(expected.len() as u64);
            let written = || fs::metadata(env.path("out")).map_or(0, |out| out.len());
            while written() < length && child.try_wait().expect("ours").is_none() {
                thread::yield_now();
            }
            // It may have ended by itself.
            let _ = child.kill();
            if child.wait().expect("ours").success() {
                assert!(env.read("out") == expected, "it ended, but not the same");
                for name in ["seen", "out"] {
                    fs::remove_file(env.path(name)).expect("it is there");
                }
            }
        }
        finish(&env, &input, &expected);
    }
}

/// A run that was interrupted after some checkpoints.
fn interrupted(env: &TestEnv, input: &[u8]) {
    let mut child = spawn(&mut env.mayhap(&RESUMABLE).args(&["--threads", "1"]).command);
    let mut pipe = child.stdin.take().expect("piped");
    pipe.write_all(&input[..300_000]).expect("it reads");
    while !env.path("seen").exists() {
        thread::yield_now();
    }
    child.kill().expect("it is running");
    wait(child, "a run that was killed");
}

#[test]
fn another_input_is_refused() {
    let (env, input) = (TestEnv::new(), input());
    interrupted(&env, &input);
    let (seen, out) = (env.read("seen"), env.read("out"));
    let mut other = input.clone();
    other[..300_000].fill(b'x');
    let inserted = [b"one more line\n", &input[..]].concat();

    for wrong in [&input[..1000], b"", &other, &inserted] {
        let run = env.mayhap(&RESUMABLE).input(wrong).run();
        run.fails_with(&["not the input that the interrupted run read", "hint"]);
        assert!(env.read("seen") == seen, "the filter changed");
    }

    // What stood after the last checkpoint may be cut off; what stood before it may not.
    assert!(out.starts_with(&env.read("out")));
    finish(&env, &input, &first(&input));
}

#[test]
fn a_filter_of_an_interrupted_run_is_not_taken_for_a_finished_one() {
    let (env, input) = (TestEnv::new(), input());
    interrupted(&env, &input);

    let run = env.mayhap(&["uniq", "--seen", "seen"]).input("a\n").run();

    run.fails_with(&["interrupted", "--checkpoint"]);
    finish(&env, &input, &first(&input));
}

#[test]
fn an_output_that_is_too_short_is_refused() {
    let (env, input) = (TestEnv::new(), input());
    interrupted(&env, &input);
    env.write("out", "");

    let run = env.mayhap(&RESUMABLE).input(&input).run();

    run.fails_with(&["out has 0 bytes", "begin anew"]);
}

#[test]
fn a_checkpoint_needs_a_filter_to_be_kept_in() {
    let env = TestEnv::new();
    let run = env.mayhap(&["uniq", "--checkpoint"]).input("a\n").run();
    run.fails_with(&["--seen"]);
}
