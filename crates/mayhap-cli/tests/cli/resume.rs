use std::fs;
use std::io::Write as _;
use std::thread;

use crate::env::{TestEnv, spawn, wait};
use crate::oracle::{Random, first};

#[test]
fn tomorrow_continues_today() {
    let env = TestEnv::new();
    let run = |input: &str| {
        let run = env.mayhap("uniq --quiet --seen seen.mayhap");
        run.input(input).run().code(0).silent()
    };

    run("a\nb\na\n").stdout("a\nb\n");
    run("b\nc\n").stdout("c\n");
    run("a\nb\nc\n").stdout("");
    run("d\na\n").stdout("d\n");

    assert_eq!(env.names(), ["seen.mayhap"]);
    env.gives("check seen.mayhap", "a\nd\nx\n", "a\nd\n");
}

#[test]
fn a_filter_that_new_made_is_continued_too() {
    let env = TestEnv::new();
    env.filter("f", 1000, 1e-9, "a\nb\n");

    env.gives("uniq --seen f", "b\nc\na\nd\n", "c\nd\n");
    env.gives("uniq -v --seen f", "b\nc\ne\n", "b\nc\n");
    env.gives("check -c f", "a\nb\nc\nd\ne\n", "5\n");
}

#[test]
fn a_filter_cannot_be_the_output_too() {
    let env = TestEnv::new();
    env.filter("f", 1000, 1e-9, "a\n");
    env.write("lines", "b\nb\n");
    let before = env.read("f");

    let run = env.fed("uniq --seen f --output ./f", "b\n");
    run.fails_with(&["is filter and output"]);
    env.fails("uniq --output lines lines", &["is input and output"]);

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
const RESUMABLE: &str =
    "uniq --quiet --seen seen --checkpoint=32K --output out --capacity 30000 --rate 1e-9";

/// Resumes until the run ends by itself, and asserts that all is as if it had never been interrupted.
fn finish(env: &TestEnv, input: &[u8], expected: &[u8]) {
    env.fed(RESUMABLE, input).code(0).silent();
    assert!(
        env.read("out") == expected,
        "the output is not that of an uninterrupted run"
    );
    // The next run continues a finished one, and says nothing of an interruption.
    env.gives("uniq --seen seen", &input[..1000], "");
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
                let mut run = env.mayhap(RESUMABLE).args(&format!("--threads {threads}"));
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

/// A run that was interrupted after some checkpoints.
fn interrupted(env: &TestEnv, input: &[u8]) {
    let mut child = spawn(&mut env.mayhap(RESUMABLE).args("--threads 1").command);
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
        let run = env.fed(RESUMABLE, wrong);
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

    let run = env.fed("uniq --seen seen", "a\n");

    run.fails_with(&["interrupted", "--new-run"]);
    finish(&env, &input, &first(&input));
}

#[test]
fn an_output_that_is_too_short_is_refused() {
    let (env, input) = (TestEnv::new(), input());
    interrupted(&env, &input);
    env.write("out", "");

    let run = env.fed(RESUMABLE, &input);

    run.fails_with(&["out does not hold what the last run wrote", "--new-run"]);
}

#[test]
fn a_checkpoint_needs_a_filter_to_be_kept_in() {
    let env = TestEnv::new();
    env.fed("uniq --checkpoint", "a\n").fails_with(&["--seen"]);
}

/// `uniq --seen seen --output out in`, with more words.
fn again(env: &TestEnv, words: &str) -> crate::env::Outcome {
    env.mayhap("uniq --seen seen --output out")
        .args(words)
        .run()
}

#[test]
fn the_same_command_again_leaves_its_output_as_it_is() {
    let env = TestEnv::new();
    env.write("in", "a\nb\na\n");
    again(&env, "in").code(0);
    let seen = env.read("seen");

    again(&env, "in")
        .code(0)
        .stdout("")
        .says(&["finished this input", "out is left as it is"]);

    assert_eq!(env.read("out"), b"a\nb\n");
    assert_eq!(env.read("seen"), seen);
    // The shell has emptied the file by then, and the lines are gone: this much is said.
    let run = env.shell("mayhap uniq --seen seen in > out").run().code(0);
    run.says(&["finished this input", "nothing is printed again"]);
}

#[test]
fn a_log_that_has_grown_gives_its_new_lines() {
    let env = TestEnv::new();
    // The last line has no end yet, and is another line when it has.
    for (log, out) in [
        ("a\nb\na\n", "a\nb\n"),
        ("a\nb\na\nc\nb\nd", "a\nb\nc\nd\n"),
        ("a\nb\na\nc\nb\nd", "a\nb\nc\nd\n"),
        ("a\nb\na\nc\nb\ndoor\n", "a\nb\nc\nd\ndoor\n"),
        ("a\nb\na\nc\nb\ndoor\ne\n", "a\nb\nc\nd\ndoor\ne\n"),
    ] {
        env.write("in", log);
        again(&env, "in").code(0);
        assert_eq!(env.read("out"), out.as_bytes(), "{log:?}");
    }
    // So does standard output.
    env.write("in", "a\nb\na\nc\nb\ndoor\ne\nf\n");
    let run = env.mayhap("uniq --seen seen in").run();
    run.code(0).stdout("f\n").says(&["going on after 17 B"]);
}

#[test]
fn repeats_are_not_printed_again_either() {
    let env = TestEnv::new();
    env.write("in", "a\nb\na\n");
    for _ in 0..2 {
        again(&env, "-v in").code(0);
        assert_eq!(env.read("out"), b"a\n");
    }
    env.write("in", "a\nb\na\nc\nb\n");
    again(&env, "-v in").code(0);
    assert_eq!(env.read("out"), b"a\nb\n");
}

#[test]
fn another_input_after_a_finished_run_is_a_new_run() {
    let env = TestEnv::new();
    env.write("in", "a\nb\n");
    again(&env, "in").code(0);

    env.write("in", "b\nc\n");
    again(&env, "in").code(0);
    assert_eq!(env.read("out"), b"c\n");

    // Other options ask for something else of the same input.
    again(&env, "-v in").code(0);
    assert_eq!(env.read("out"), b"b\nc\n");
}

#[test]
fn an_input_that_differs_late_is_a_new_run_too_but_a_pipe_cannot_go_back() {
    let env = TestEnv::new();
    let lines = |last: &str| {
        let same: String = (0..20_000).map(|i| format!("line {i}\n")).collect();
        same + last
    };
    env.write("in", lines("one\n"));
    again(&env, "--rate 1e-9 in").code(0);
    let out = env.read("out");
    env.write("in", lines("two\n"));

    let run = env.shell("cat in | mayhap uniq --seen seen --output out");
    run.run().fails_with(&["cannot be read again", "--new-run"]);
    assert!(env.read("out") == out, "the output changed");

    again(&env, "in").code(0);
    assert_eq!(env.read("out"), b"two\n");
}

#[test]
fn an_output_that_is_gone_is_an_error_until_a_new_run_is_asked_for() {
    let env = TestEnv::new();
    env.write("in", "a\nb\n");
    again(&env, "in").code(0);
    let seen = env.read("seen");
    for other in [None, Some("a\n"), Some("x\ny\nz\n")] {
        let _ = fs::remove_file(env.path("out"));
        if let Some(text) = other {
            env.write("out", text);
        }
        for log in ["a\nb\n", "a\nb\nc\n"] {
            env.write("in", log);
            again(&env, "in").fails_with(&["out does not hold", "--new-run"]);
            assert_eq!(env.path("out").exists(), other.is_some());
            assert_eq!(env.read("seen"), seen);
        }
        if let Some(text) = other {
            assert_eq!(env.read("out"), text.as_bytes());
        }
    }

    again(&env, "--new-run in").code(0);

    assert_eq!(env.read("out"), b"c\n");
}

#[test]
fn an_interrupted_run_can_be_left_for_another_input_and_loses_nothing() {
    let (env, input) = (TestEnv::new(), input());
    interrupted(&env, &input);

    let run = env.mayhap(RESUMABLE).arg("--new-run");
    run.input("other\npage number 1\n").run().code(0);

    // What the interrupted run wrote up to its checkpoint is there, and the filter knows it.
    let out = env.read("out");
    let before = out
        .strip_suffix(b"other\n")
        .or(out.strip_suffix(b"other\npage number 1\n"));
    let before = before.expect("the other input's lines come last").to_vec();
    assert!(!before.is_empty() && first(&input).starts_with(&before));
    // The rest of the old input can be given later.
    env.write("in", &input);
    let run = env.mayhap("uniq --quiet --seen seen in").run();
    let all = [&out[..], &run.stdout].concat();
    let mut lines: Vec<&[u8]> = all.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(
        lines.len(),
        first(&input).iter().filter(|byte| **byte == b'\n').count() + 1
    );
    lines.sort();
    lines.dedup();
    assert_eq!(
        lines.len(),
        first(&input).iter().filter(|byte| **byte == b'\n').count() + 1
    );
}

#[test]
fn what_the_user_says_of_a_filter_stays() {
    let env = TestEnv::new();
    let new = env.mayhap("new seen -n 30000 -p 1e-9 --label pages");
    let new = new.args(&["--created-by", "a crawler"]);
    new.run().code(0);
    let input = input();
    interrupted(&env, &input);

    for _ in 0..2 {
        let info = env.info("seen");
        assert_eq!(info["label"], "pages");
        assert_eq!(info["created_by"], "a crawler");
        let options = "uniq --quiet --seen seen --checkpoint=32K --output out";
        env.fed(&format!("{options} --capacity"), &input);
        env.fed(options, &input).code(0);
    }
    assert!(env.read("out") == first(&input));
}

#[test]
fn other_verbs_keep_how_far_a_run_came() {
    let (env, input) = (TestEnv::new(), input());
    interrupted(&env, &input);
    env.fed("add seen", "page number 0\n").code(0);
    env.ok("convert seen seen --to native");
    env.ok("merge seen seen");

    let run = env.fed("uniq --seen seen", "a\n");

    run.fails_with(&["interrupted"]);
}

#[test]
fn a_filter_that_cannot_hold_how_far_a_run_came_empties_no_output() {
    let env = TestEnv::new();
    env.ok("new seen --format guava -n 100 -p 1e-6");
    env.write("in", "a\nb\n");
    again(&env, "in").code(0);

    again(&env, "in").fails_with(&["out is there already", "--new-run"]);
    again(&env, "--checkpoint in").fails_with(&["--checkpoint"]);

    assert_eq!(env.read("out"), b"a\nb\n");
    env.write("in", "b\nc\n");
    again(&env, "--new-run in").code(0);
    assert_eq!(env.read("out"), b"c\n");
}

#[test]
fn what_others_append_to_an_output_meanwhile_is_kept_and_no_line_is_lost() {
    let (env, input) = (TestEnv::new(), input());
    env.write("in", &input);
    let script =
        "exec mayhap uniq --quiet --threads 1 --seen seen --checkpoint=32K -n 30000 -p 1e-9 >> out";
    let mut child = spawn(&mut env.shell(script).command);
    let mut pipe = child.stdin.take().expect("piped");
    pipe.write_all(&input[..400_000]).expect("it reads");
    while fs::metadata(env.path("out")).map_or(0, |out| out.len()) < 100_000 {
        thread::yield_now();
    }
    child.kill().expect("it is running");
    wait(child, "a run that was killed");
    let before = env.read("out");
    // A line of ours is torn, and another program writes after it.
    let torn = [&before[..], b"page num", b"ber\nforeign\n"].concat();
    env.write("out", &torn);

    env.shell(script).input(&input).run().code(0).silent();

    let out = env.read("out");
    assert!(out.starts_with(&torn));
    let expected = first(&input);
    let mut lines = out.split(|byte| *byte == b'\n');
    for line in expected.split(|byte| *byte == b'\n') {
        assert!(lines.any(|written| written == line), "{line:?} is lost");
    }
}
