use std::fs;
use std::io::Write as _;

use crate::env::{TestEnv, numbers, spawn, wait};
use crate::oracle::{Random, What, uniq};
use crate::signals::until;

#[test]
fn a_stream_that_stalls_is_saved_after_a_while() {
    for threads in ["1", "2"] {
        let env = TestEnv::new();
        let words = format!("uniq --threads {threads} --seen seen -o out");
        let mut run = env.mayhap(&words).arg("--checkpoint=50ms");
        let mut child = spawn(&mut run.command);
        let mut input = child.stdin.take().expect("piped");
        let is_saved = |keys: &str| {
            let check = env.fed("check -c seen", keys);
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

/// Lines of many lengths, many of them repeated, a few of which have no key.
fn records() -> Vec<u8> {
    let mut random = Random(18);
    let mut records = b"name,what\n".to_vec();
    for _ in 0..20_000 {
        let key = random.below(8000);
        let text = "x".repeat(random.below(90) as usize);
        let record = match random.below(50) {
            0 => format!("\"{key}\",\"two\nlines {text}\"\n"),
            1 => "no comma\n".into(),
            _ => format!("{key},{text}\n"),
        };
        records.extend(record.bytes());
    }
    records
}

/// A pipe is read once and a file twice: what is printed is the same.
#[test]
fn counts_of_a_pipe_are_those_of_a_file_and_take_no_disk() {
    let env = TestEnv::new();
    let records = records();
    env.write("in", &records);
    for choice in ["-c", "-u"] {
        for options in [
            "",
            "-k1 -t,",
            "-k1 -t, -i --print key",
            "--csv-key name --print key",
            "--csv-key name",
            "--csv-key what --keyless keep",
            "--csv-key 2 --keyless skip",
            "--csv-key 2 --csv-header --keyless keep",
            "--regex ^(1[0-9]*), --keyless keep",
            "--regex ^[^,]*,",
        ] {
            for threads in ["1", "2"] {
                let run = || {
                    let run = env.mayhap(&format!("uniq --quiet {choice} --threads {threads}"));
                    run.args(options).env("TMPDIR", "/missing")
                };
                let of_file = run().arg("in").run();
                let of_pipe = run().input(&records).run();
                let code = of_file.exit_code().expect("no signal");
                of_pipe.code(code).stdout(&of_file.stdout);
                assert!(of_file.stdout.len() > 9, "{options:?} tests nothing");
            }
        }
    }
}

#[test]
fn lines_past_the_memory_that_is_given_are_kept_on_disk() {
    // 2 MB of distinct lines, and 1 MiB of memory: of which the counts of 10 000 keys take 300 KB.
    let env = TestEnv::new();
    let mut random = Random(19);
    let line = |key: u64| format!("{key} {}\n", "y".repeat(200));
    let lines: String = (0..30_000).map(|_| line(random.below(10_000))).collect();
    for (choice, what) in [("-c", What::Counts), ("-u", What::Singles)] {
        let expected = uniq(lines.as_bytes(), b'\n', what, <[u8]>::to_vec);
        for memory in ["1M", "64M"] {
            for threads in ["1", "2"] {
                let words = format!("uniq {choice} --memory {memory} --threads {threads}");
                let outcome = env.fed(&words, &lines).code(0);
                let is_said = outcome.stderr.contains("temporary file");
                assert_eq!(is_said, memory == "1M", "{}", outcome.stderr);
                outcome.stdout(&expected);
                let quiet = env.mayhap(&words).arg("--quiet").input(&lines).run();
                quiet.code(0).stdout(&expected).silent();
            }
        }
        let words = format!("uniq {choice} --memory 1M");
        let nowhere = env.mayhap(&words).env("TMPDIR", "/missing").input(&lines);
        let failed = nowhere.run().fails_with(&["temporary file", "TMPDIR"]);
        assert!(!failed.stderr.contains("are kept"), "{}", failed.stderr);
    }
}

#[test]
fn counts_past_the_memory_that_is_given_are_an_error() {
    let env = TestEnv::new();
    let lines = numbers(0..200_000);
    env.write("in", &lines);
    for choice in ["-c", "-u"] {
        for name in ["in", "-"] {
            let run = env.mayhap(&format!("uniq {choice} --memory 1M {name}"));
            let outcome = run.input(&lines).run().code(2).stdout("");
            outcome.says(&["1.0 MiB", "distinct lines", "hint", "--memory"]);
        }
    }
}

/// Each was once an abort: counting a million lines too many, and an insert of `--exact` without room for it, where
/// every line comes twice so that all keys are kept.
#[test]
fn counting_and_exact_without_memory_are_errors() {
    let env = TestEnv::new();
    let lines = "seq -f 'a line of some forty bytes, number %.0f' 1500000";
    let twice = format!("{{ {lines}; {lines}; }} > twice; ulimit -v 100000; mayhap uniq --exact");
    let counted = "seq 4000000 > lines; ulimit -v 100000; mayhap uniq -c";
    let piped = "ulimit -v 100000; seq 5000000 | mayhap uniq --quiet";
    let distinct = "distinct lines";
    for (script, words) in [
        (
            format!("{counted} --threads 1 lines"),
            ["no memory to count more than", distinct],
        ),
        (
            format!("{piped} --threads 1 -c"),
            ["no memory to count more than", distinct],
        ),
        (
            format!("{piped} --threads 1 -u"),
            ["no memory to tell apart more than", distinct],
        ),
        (
            format!("{twice} --threads 1 twice"),
            ["no memory", "without --exact"],
        ),
    ] {
        let run = env.shell(&script).run().code(2).says(&words);
        assert!(
            run.stdout.is_empty() || script.contains("--exact"),
            "{script}"
        );
    }
}

#[test]
fn a_memory_budget_holds_as_many_hashes_as_fit() {
    // 1 MiB less an eighth for lines: 94 000 hashes of 8 bytes at seven eighths, less a sixteenth to grow by.
    let env = TestEnv::new();
    let lines = numbers(0..88_000);
    let run = env.mayhap("uniq --json --memory 1M");

    let outcome = run.input(&lines).run().code(0).stdout(&lines);

    let summary: serde_json::Value = serde_json::from_str(&outcome.stderr).expect("JSON alone");
    assert_eq!(summary["store"], "hashes");
    assert!(summary["memory"].as_u64().expect("a number") <= 896 << 10);
    assert_eq!(fs::read_dir(env.path(".")).expect("there").count(), 0);
}
