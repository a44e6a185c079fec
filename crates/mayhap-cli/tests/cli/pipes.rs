use std::io::{self, Read as _, Write as _};
use std::process::Stdio;
use std::thread;

use crate::env::{Outcome, TestEnv, numbers, spawn, wait};

#[test]
fn head_has_what_it_wanted() {
    let env = TestEnv::new();
    let lines = numbers(0..200_000);
    env.write("lines", &lines);
    env.filter("f", 200_000, 1e-6, &lines);

    for words in [
        "uniq lines",
        "uniq --threads 1 lines",
        "uniq --exact lines",
        "uniq -c lines",
        "uniq -u lines",
        "uniq --rate 0.001 --capacity 1M lines",
        "check f lines",
        "check --answers f lines",
        "sort lines",
        "info f f",
        "info --json f",
        "verify f f",
        "size -n 1M -p 0.01",
        "completions bash",
        "man",
        "--help",
    ] {
        // The exit code of the command goes to a file: the shell's is head's.
        let script = format!("{{ mayhap {words}; echo $? > code; }} | head -1 | wc -l | tr -d ' '");
        let outcome = env.shell(&script).run().code(0);
        assert_eq!(env.read("code"), b"0\n", "{words}: {}", outcome.stderr);
        // A run that was over before head closed the pipe says what it has to say.
        assert!(
            !outcome.stderr.contains("error"),
            "{words}: {}",
            outcome.stderr
        );
        outcome.stdout("1\n");
    }
    // Nobody reads at all: not even what is small enough for the pipe to hold.
    for words in [
        "verify f",
        "info f",
        "size -n1M -p0.01",
        "check -c f lines",
        "sort -c lines",
    ] {
        let script = format!("{{ mayhap --quiet {words}; echo $? > code; }} | :");
        env.shell(&script).run().code(0).silent();
        assert_eq!(env.read("code"), b"0\n", "{words}");
    }
}

#[test]
fn a_closed_pipe_ends_the_command_while_its_input_stays_open() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    for words in [
        "uniq",
        "uniq --threads 1",
        "uniq --rate 0.001",
        "check -v f",
        "check --answers f --threads 2",
    ] {
        let (mut output, writer) = io::pipe().expect("a pipe");
        let mut probe = writer.try_clone().expect("its other end again");
        let mut run = env.mayhap(words);
        let command = run.command.stdin(Stdio::piped()).stdout(writer);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut input = child.stdin.take().expect("piped");
        input.write_all(b"1\n").expect("it reads");
        let mut byte = [0];
        output.read_exact(&mut byte).expect("the first line");
        drop(output);
        // A command that another test starts now has the pipe until it runs.
        while probe.write(b"\n").is_ok() {}

        // The next line is the first that cannot be written; more of them never come.
        input.write_all(b"2\n").expect("it reads");
        let outcome = Outcome::of(wait(child, "a closed pipe"), format!("{words:?}"));

        outcome.code(0).silent();
        drop(input);
    }
}

#[test]
fn check_q_ends_at_the_first_key_that_is_there() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    for threads in ["1", "2"] {
        let mut run = env.mayhap(&format!("check -q f --threads {threads}"));
        let mut child = spawn(&mut run.command);
        let mut input = child.stdin.take().expect("piped");

        input.write_all(b"x\na\n").expect("it reads");
        let outcome = Outcome::of(wait(child, "check -q"), "check -q".into());

        outcome.code(0).stdout("").silent();
        drop(input);
    }
}

#[test]
fn a_full_output_is_an_error() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "1\n");
    for words in [
        "uniq",
        "uniq --threads 1",
        "uniq --exact",
        "uniq -c",
        "uniq --output /dev/full",
        "check f",
        "check -c f",
        "check --answers f",
        "sort",
        "sort -c",
        "info f",
        "verify f",
        "size -n 1M -p 0.01",
        "add --json f",
        "completions zsh",
        "man",
    ] {
        let run = env
            .shell(&format!("mayhap {words} > /dev/full"))
            .input("1\n")
            .run();
        run.code(2)
            .says(&["error: cannot write the output: no space left on device"]);
    }
}

#[test]
fn a_full_standard_error_changes_nothing() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "1\n");
    for (words, expected, code) in [
        ("uniq", "1\n", 0),
        ("uniq --exact", "1\n", 0),
        ("uniq --json", "1\n", 0),
        ("sort", "1\n", 0),
        ("add f", "", 0),
        ("check missing", "", 2),
    ] {
        let run = env
            .shell(&format!("mayhap {words} 2> /dev/full"))
            .input("1\n")
            .run();
        run.code(code).stdout(expected);
    }
}

#[test]
fn standard_streams_that_are_closed_are_no_surprise() {
    let env = TestEnv::new();
    env.shell("mayhap uniq <&-").run().code(0).stdout("");
    // Rust opens what is closed as /dev/null, so that no file of ours takes its place.
    env.shell("mayhap uniq >&-").input("a\n").run().code(0);
    env.shell("mayhap uniq 2>&-")
        .input("a\na\n")
        .run()
        .code(0)
        .stdout("a\n");
}

#[test]
fn lines_that_cannot_be_printed_are_not_marked_as_seen() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    let before = env.read("f");
    for (words, why) in [
        ("uniq --seen f >&-", "standard output is closed"),
        ("uniq --seen f --threads 1 >&-", "standard output is closed"),
        ("uniq --seen g >&-", "standard output is closed"),
        ("uniq --seen f >/dev/full", "no space left on device"),
        ("uniq --seen f -o /dev/full", "no space left on device"),
    ] {
        let run = env.shell(&format!("mayhap {words}")).input("b\n").run();
        run.code(2).says(&[why]);
        assert!(env.read("f") == before, "{words}");
        assert_eq!(env.names(), ["f"], "{words}");
    }
    // Nothing is lost that was not thrown away.
    for words in ["uniq --seen f >/dev/null", "uniq --seen f -o /dev/null >&-"] {
        env.shell(&format!("mayhap {words}"))
            .input("b\n")
            .run()
            .code(0);
    }
    env.gives("check -c f", "a\nb\n", "2\n");
}

#[test]
fn a_slow_reader_gets_everything() {
    // The reader takes a byte and lets the pipe run full before it takes the rest.
    let env = TestEnv::new();
    let lines = numbers(0..100_000);
    let mut child = spawn(&mut env.mayhap("uniq --quiet").command);
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let expected = lines.clone();
    let feeder = thread::spawn(move || input.write_all(lines.as_bytes()));

    let mut read = vec![0];
    output.read_exact(&mut read).expect("a byte");
    output.read_to_end(&mut read).expect("the rest");

    assert!(read == expected.as_bytes());
    feeder
        .join()
        .expect("no panic")
        .expect("all of it was read");
    assert_eq!(wait(child, "a slow reader").status.code(), Some(0));
}
