use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::env::{Outcome, Run, TestEnv, spawn, wait};
use crate::oracle::{Random, first};

/// Waits until something is so, and fails when it never is.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "it never happens that {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The command, which ends by any signal: tests may be run where some are ignored.
pub(crate) fn mortal(env: &TestEnv, words: &str) -> Run {
    let run = env.program(Path::new("env")).arg("--default-signal");
    run.arg(env!("CARGO_BIN_EXE_mayhap")).args(words)
}

/// Sends a signal to a command.
pub(crate) fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &id]).status();
    assert!(sent.expect("there is kill").success());
}

/// The bytes of a file; none where it is not there.
fn written(env: &TestEnv, name: &str) -> Vec<u8> {
    fs::read(env.path(name)).unwrap_or_default()
}

const SIGNALS: [(&str, i32); 3] = [("INT", 130), ("TERM", 143), ("HUP", 129)];

#[test]
fn a_signal_ends_a_run_that_waits_for_input_and_saves_what_it_printed() {
    for (signal, code) in SIGNALS {
        for (output, threads) in [("-", "1"), ("-", "2"), ("-o", "1"), (">", "2"), (">>", "1")] {
            for checkpoint in [None, Some("--checkpoint")] {
                let env = TestEnv::new();
                let words = format!("uniq --threads {threads} --seen seen");
                let mut run = mortal(&env, &words).args(checkpoint.as_slice());
                if output == "-o" {
                    run = run.args("-o out");
                }
                let command = run.command.stdin(Stdio::piped()).stderr(Stdio::piped());
                let mut options = fs::File::options();
                let options = options.create(true).append(output == ">>").write(true);
                command.stdout(match output {
                    ">" | ">>" => Stdio::from(options.open(env.path("out")).expect("writable")),
                    _ => Stdio::piped(),
                });
                let mut child = command.spawn().expect("it starts");
                let mut input = child.stdin.take().expect("piped");
                input.write_all(b"a\nb\na\nhalf a li").expect("it reads");
                let mut printed = [0; 4];
                match (output, child.stdout.as_mut()) {
                    ("-", Some(stdout)) => stdout.read_exact(&mut printed).expect("two lines"),
                    _ => until("two lines are written", || written(&env, "out").len() == 4),
                }

                send(signal, &child);
                let outcome = Outcome::of(wait(child, signal), format!("{signal} {output}"));

                let words = format!("stopped by SIG{signal} after 3 lines; seen holds them");
                outcome.code(code).stdout("").says(&[&words]);
                match output {
                    "-" => assert_eq!(&printed, b"a\nb\n"),
                    _ => assert_eq!(env.read("out"), b"a\nb\n"),
                }
                let check = env.mayhap("check seen").input("a\nb\nhalf a li\nc\n");
                check.run().code(0).stdout("a\nb\n");
                drop(input);
            }
        }
    }
}

#[test]
fn a_stream_that_was_stopped_continues_with_whatever_comes_next() {
    let env = TestEnv::new();
    let mut child = spawn(&mut mortal(&env, "uniq --quiet --seen seen").command);
    let mut input = child.stdin.take().expect("piped");
    input.write_all(b"a\nb\n").expect("it reads");
    let mut printed = [0; 4];
    let stdout = child.stdout.as_mut().expect("piped");
    stdout.read_exact(&mut printed).expect("two lines");
    send("TERM", &child);
    Outcome::of(wait(child, "a stream"), "a stream".into())
        .code(143)
        .silent();

    let next = env.mayhap("uniq --quiet --seen seen");

    next.input("b\nc\n").run().code(0).stdout("c\n").silent();
}

/// Lines of which a third are repeats.
fn input() -> Vec<u8> {
    let mut random = Random(16);
    (0..60_000)
        .flat_map(|_| format!("page number {}\n", random.below(60_000)).into_bytes())
        .collect()
}

/// Stopped when its output has a random length, a run has printed exactly what its filter holds, and the same command
/// finishes it.
#[test]
fn a_run_stopped_anywhere_remembers_exactly_what_it_printed() {
    let env = TestEnv::new();
    let input = input();
    let expected = first(&input);
    env.write("in", &input);
    env.write("all", &expected);
    let mut random = Random(17);
    let mut stopped = 0;
    let words = "uniq --seen seen -o out in -n 100k -p 1e-9";
    for round in 0..12_u64 {
        let threads = ["1", "2"][round as usize % 2];
        let checkpoint = ["--checkpoint=64K", "--checkpoint=1T"][round as usize / 2 % 2];
        for _ in 0..2 {
            let run = mortal(&env, words).args(&format!("--threads {threads} {checkpoint}"));
            let mut child = spawn(&mut { run }.command);
            let length = random.below(expected.len() as u64);
            let length_now = || fs::metadata(env.path("out")).map_or(0, |out| out.len());
            while length_now() < length && child.try_wait().expect("ours").is_none() {
                thread::yield_now();
            }
            if child.try_wait().expect("ours").is_none() {
                send("TERM", &child);
            }
            let outcome = Outcome::of(wait(child, "a run"), "a run".into());
            let code = outcome.exit_code();
            // Before it reads anything, a signal ends it as any other command.
            assert!([Some(143), Some(0), None].contains(&code), "{outcome:?}");
            if code == Some(143) {
                stopped += 1;
                let check = env.mayhap("check seen all").run();
                assert!(expected.starts_with(&env.read("out")));
                check.stdout(env.read("out"));
            }
        }
        env.mayhap(words).arg("--quiet").run().code(0).silent();
        assert!(env.read("out") == expected, "round {round}");
        for name in ["seen", "out"] {
            fs::remove_file(env.path(name)).expect("it is there");
        }
    }
    // Most runs are over sooner or later than a signal comes, but not all.
    assert!(stopped >= 4, "{stopped} of 24");
}

#[test]
fn a_second_signal_ends_a_run_at_once() {
    let env = TestEnv::new();
    let words = "uniq --threads 1 --seen seen";
    let mut child = spawn(&mut mortal(&env, words).command);
    let mut input = child.stdin.take().expect("piped");
    // A line that no pipe holds, and nobody reads: when some of it is there, the command is in the middle of a write.
    let line = [&[b'x'; 300_000][..], b"\n"].concat();
    let feeder = thread::spawn(move || drop(input.write_all(&line)));
    let stdout = child.stdout.as_ref().expect("piped");
    let is_begun = || rustix::io::ioctl_fionread(stdout).expect("a pipe") > 0;
    until("a line is begun", is_begun);

    send("HUP", &child);
    send("TERM", &child);
    let mut status = None;
    until("it ends", || {
        status = child.try_wait().expect("ours");
        status.is_some()
    });

    // Two threads may get them, in either order.
    let code = status.and_then(|status| status.code());
    assert!([Some(129), Some(143)].contains(&code), "{code:?}");
    assert!(!env.path("seen").exists(), "the filter is not saved");
    feeder.join().expect("no panic");
}

/// `nohup` and background jobs of a shell ignore signals that are not for them.
#[test]
fn a_signal_that_was_ignored_before_stays_ignored() {
    let env = TestEnv::new();
    let script = "trap '' HUP; exec mayhap uniq --quiet --seen seen";
    let mut child = spawn(&mut env.shell(script).command);
    let mut input = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    input.write_all(b"a\n").expect("it reads");
    stdout.read_exact(&mut [0; 2]).expect("a line");

    send("HUP", &child);
    input.write_all(b"b\n").expect("it reads");
    stdout.read_exact(&mut [0; 2]).expect("another line");
    drop(input);

    Outcome::of(wait(child, "ignored"), "ignored".into())
        .code(0)
        .silent();
}
