//! No command that was interrupted, at any moment, loses or repeats a line when it is run again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use crate::env::{TestEnv, spawn};
use mayhap_testing::random::Random;
use mayhap_testing::turns::{random, rounds};

/// The library that makes one system call go wrong; `None` where no C compiler is.
fn shim() -> Option<PathBuf> {
    static SHIM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fault.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/torture/fault.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
        let built = compiler.arg(&library).arg(source).arg("-ldl").status();
        match built {
            Ok(status) => {
                assert!(status.success(), "the shim does not compile");
                Some(library)
            }
            Err(error) => {
                println!("SKIPPED: no C compiler for the fault shim: {error}");
                None
            }
        }
    };
    SHIM.get_or_init(build).clone()
}

/// Lines of which many repeat, several blocks of them, and each of them once, in order.
fn lines(random: &mut Random, count: usize) -> (String, String) {
    let width = 900_000 / count;
    let (mut all, mut first) = (String::new(), String::new());
    let mut seen = std::collections::HashSet::new();
    for _ in 0..count {
        let line = format!("{:0width$}\n", random.below(count as u64));
        if seen.insert(line.clone()) {
            first.push_str(&line);
        }
        all.push_str(&line);
    }
    (all, first)
}

/// A command, what must be there before it, and what must hold once it was repeated to its end.
struct Case {
    script: &'static str,
    before: fn(&TestEnv),
    after: fn(&TestEnv, &str),
}

fn nothing(_: &TestEnv) {}

/// The output is each line once, and the filter knows them all.
fn each_line_once(env: &TestEnv, first: &str) {
    let out = String::from_utf8(env.read("out")).expect("our own lines");
    assert!(out == first, "{} bytes, not {}", out.len(), first.len());
    knows_all(env, first);
}

/// The output begins with what was there, and continues with each line once.
fn appended_once(env: &TestEnv, first: &str) {
    let out = String::from_utf8(env.read("out")).expect("our own lines");
    let out = out.strip_prefix("kept\n").expect("what was there is kept");
    assert!(out == first, "{} bytes, not {}", out.len(), first.len());
    knows_all(env, first);
}

fn knows_all(env: &TestEnv, first: &str) {
    let count = format!("{}\n", first.lines().count());
    env.gives("check -c f", first, count);
}

fn filter(env: &TestEnv) {
    env.filter("f", 4000, 1e-9, "");
}

fn filter_and_copy(env: &TestEnv) {
    env.filter("g", 4000, 1e-9, "");
    env.ok("add g in");
    env.ok("new f -n4000 -p1e-9");
}

const CASES: [Case; 11] = [
    Case {
        script: "mayhap uniq --seen f -n 4000 -p 1e-9 -o out in",
        before: nothing,
        after: each_line_once,
    },
    Case {
        script: "mayhap uniq --seen f -n 4000 -p 1e-9 --checkpoint=8K -o out in",
        before: nothing,
        after: each_line_once,
    },
    Case {
        script: "mayhap uniq --seen f --checkpoint=8K -o out in",
        before: filter,
        after: each_line_once,
    },
    Case {
        script: "mayhap uniq --seen f -n 4000 -p 1e-9 in >> out",
        before: |env| env.write("out", "kept\n"),
        after: appended_once,
    },
    Case {
        script: "mayhap uniq --seen f -n 4000 -p 1e-9 --checkpoint=8K in >> out",
        before: |env| env.write("out", "kept\n"),
        after: appended_once,
    },
    // Yesterday's run, of another input, wrote to the same file.
    Case {
        script: "mayhap uniq --seen f --checkpoint=8K -o out in",
        before: |env| {
            env.write("yesterday", "an older line\n");
            let words = "uniq --seen f -n 4000 -p 1e-9 -o out";
            env.mayhap(words).arg("yesterday").run().code(0);
        },
        after: each_line_once,
    },
    Case {
        script: "mayhap add f in",
        before: filter,
        after: knows_all,
    },
    Case {
        script: "mayhap build --force f -p 1e-9 in",
        before: nothing,
        after: knows_all,
    },
    Case {
        script: "mayhap new --force f -n 4000 -p 1e-9",
        before: nothing,
        after: |env, _| drop(env.ok("verify f")),
    },
    Case {
        script: "mayhap merge f f g",
        before: filter_and_copy,
        after: knows_all,
    },
    Case {
        script: "mayhap convert --force g f --to native",
        before: filter_and_copy,
        after: knows_all,
    },
];

/// Makes every call of a command go wrong in turn, and repeats the command; how many moments that were.
fn sweep(case: &Case, shim: &Path) -> u64 {
    let (text, first) = lines(&mut random("sweep", 0), 3000);
    let prepared = || {
        let env = TestEnv::new();
        env.write("in", &text);
        (case.before)(&env);
        if env.path("f").exists() {
            fs::set_permissions(env.path("f"), fs::Permissions::from_mode(0o600)).expect("ours");
        }
        env
    };
    let faulty = |env: &TestEnv, name: &str, value: &str, how: &str| {
        // Only the command's own calls are counted, not the shell's.
        let command = "LD_PRELOAD=$SHIM mayhap --quiet --threads 1 ";
        let run = env.shell(&case.script.replace("mayhap ", command));
        let run = run.env("SHIM", shim).env(name, value).env("FAULT_HOW", how);
        run.run()
    };
    let counter = TestEnv::new();
    let counted = counter.path("calls").display().to_string();
    faulty(&prepared(), "FAULT_CALLS", &counted, "").code(0);
    let calls = counter.read("calls");
    assert!(calls.len() > 4, "{}: {calls:?}", case.script);

    let mut swept = 0;
    for (index, call) in calls.iter().enumerate() {
        for how in ["fail", "before", "half"] {
            if how == "half" && *call != b'w' {
                continue;
            }
            let env = prepared();
            let was_private = env.path("f").exists();
            drop(faulty(&env, "FAULT_AT", &(index + 1).to_string(), how));
            if how == "fail" && matches!(*call, b'c' | b'l') {
                let left = env.names();
                let is_left = left.iter().any(|name| name.starts_with(".f."));
                assert!(!is_left, "{}: call {index}: {left:?}", case.script);
            }

            // What is left beside a private filter is private, whatever it is.
            for name in env.names() {
                let about = fs::metadata(env.path(&name)).expect("there");
                let is_private = about.permissions().mode() & 0o077 == 0;
                assert!(
                    is_private || !was_private || !name.starts_with(".f."),
                    "{name}"
                );
            }
            let repeat = case.script.replace("mayhap ", "mayhap --quiet ");
            let repeated = env.shell(&repeat).run();

            println!("{}: call {index} of {}: {how}", case.script, calls.len());
            repeated.code(0);
            (case.after)(&env, &first);
            let known = ["f", "g", "in", "out", "yesterday"];
            let mut left = env.names();
            left.retain(|name| !known.contains(&name.as_str()));
            assert!(left.is_empty(), "left behind: {left:?}");
            swept += 1;
        }
    }
    swept
}

#[test]
fn a_command_repeated_after_any_failure_or_kill_ends_as_if_there_had_been_none() {
    let Some(shim) = shim() else { return };
    let shim = shim.as_path();

    let swept: u64 = thread::scope(|scope| {
        let start = |case| scope.spawn(move || sweep(case, shim));
        let sweeps: Vec<_> = CASES.iter().map(start).collect();
        let ended = sweeps.into_iter();
        ended.map(|sweep| sweep.join().expect("nothing lost")).sum()
    });

    println!(
        "faults: {swept} moments of {} commands, 0 lines lost",
        CASES.len()
    );
}

/// Nothing could be written where the file system has no locks, and the lock file stayed.
#[test]
fn without_locks_a_filter_is_written_only_where_that_is_allowed() {
    let Some(shim) = shim() else { return };
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    let before = env.read("f");
    // The first call opens the lock file, and the second locks it.
    let run = || {
        let run = env.shell("LD_PRELOAD=$SHIM mayhap add f").input("b\n");
        run.env("SHIM", &shim)
            .env("FAULT_AT", "2")
            .env("FAULT_HOW", "fail")
    };

    let refused = run().run().code(2);
    refused.says(&[
        "cannot lock f: the file system has no locks",
        "MAYHAP_NO_LOCK=1",
    ]);
    assert_eq!(env.names(), ["f"]);
    assert!(env.read("f") == before);

    run().env("MAYHAP_NO_LOCK", "1").run().code(0);
    assert_eq!(env.names(), ["f"]);
    env.gives("check -c f", "a\nb\n", "2\n");
}

#[test]
fn a_run_killed_again_and_again_ends_as_if_it_never_was() {
    let (mut kills, mut continued) = (0, 0);
    for round in 0..rounds(6) {
        let mut random = random("kills", round);
        let env = TestEnv::new();
        let (text, first) = lines(&mut random, 20_000);
        env.write("in", &text);
        let (redirect, base) = match random.below(3) {
            0 => (" >> out", "kept\n"),
            _ => (" -o out", ""),
        };
        env.write("out", base);
        let checkpoint = [" --checkpoint=16K", " --checkpoint=64K", ""][random.below(3) as usize];
        let threads = 1 + random.below(2);
        let script = format!(
            "exec mayhap uniq --quiet --threads {threads} --seen f -n 20000 -p 1e-9{checkpoint} in{redirect}"
        );
        for _ in 0..1 + random.below(12) {
            let mut child = spawn(&mut env.shell(&script).command);
            let (length, moment) = (random.below(first.len() as u64), random.below(4000));
            // At a length of the output, or after a time: either may be past its end.
            let waits = random.below(2) == 0;
            let start = std::time::Instant::now();
            while child.try_wait().expect("ours").is_none() {
                let written = fs::metadata(env.path("out")).map_or(0, |out| out.len());
                let passed = start.elapsed().as_micros() as u64;
                if (waits && written >= length) || (!waits && passed >= moment) {
                    break;
                }
                thread::yield_now();
            }
            let _ = child.kill();
            kills += u64::from(!child.wait().expect("ours").success());
            continued += u64::from(env.path("f").exists());
        }
        let mut last = env.shell(&script);
        last.command.stdin(Stdio::null());
        last.run().code(0);
        println!("round {round}: {script}");
        match base {
            "" => each_line_once(&env, &first),
            _ => appended_once(&env, &first),
        }
    }
    println!("kills: {kills}, of which {continued} left a filter; 0 lines lost or repeated");
}
