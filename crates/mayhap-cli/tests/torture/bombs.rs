//! Small files that unpack to large ones, in little memory: the command may have 160 MiB of addresses in all.

use crate::env::{Outcome, TestEnv, gzip, zstd};
use mayhap_testing::turns;

/// The addresses that a run may take, in KiB: its program, its stacks, and a few times its budget.
const ADDRESSES: u64 = 160 << 10;

/// The bytes of one piece; a file of many is that piece many times, as both formats allow.
const PIECE: usize = 8 << 20;

/// A way to compress.
type Pack = fn(&[u8]) -> Vec<u8>;

/// Both formats.
const PACKINGS: [(&str, Pack); 2] = [("gzip", gzip), ("zstd", zstd)];

/// The number of pieces: more than fit.
fn pieces() -> usize {
    turns::rounds(40) as usize
}

/// Runs the command with few addresses. One arena, for each reserves 64 MiB.
fn run(env: &TestEnv, words: &str) -> Outcome {
    let script = format!("ulimit -v {ADDRESSES} && exec mayhap {words}");
    env.shell(&script).env("MALLOC_ARENA_MAX", "1").run()
}

#[test]
fn one_endless_line_is_refused_after_the_lines_before_it() {
    let env = TestEnv::new();
    for (name, pack) in PACKINGS {
        let line = pack(&vec![b'x'; PIECE]).repeat(pieces());
        env.write("bomb", [pack(b"a\nb\na\n"), line].concat());
        for threads in [1, 2] {
            println!(
                "{name}: {} bytes hold {} MiB",
                env.read("bomb").len(),
                (pieces() * PIECE) >> 20
            );
            let run = run(&env, &format!("uniq --memory 16M --threads {threads} bomb"));
            run.code(2)
                .stdout("a\nb\n")
                .says(&["bomb: line 4 is longer than 1.0 MiB", "--max-line"]);
        }
    }
}

#[test]
fn lines_without_number_take_no_memory() {
    let env = TestEnv::new();
    let mut long = vec![b'x'; 1 << 20];
    long.push(b'\n');
    for (name, pack) in PACKINGS {
        for (line, count) in [(&b"\n"[..], PIECE), (b"a\n", PIECE / 2), (&long, 8)] {
            let input = pack(&line.repeat(count)).repeat(pieces() / 10);
            env.write("bomb", &input);
            println!(
                "{name}: {} bytes hold {count} lines of {} many times",
                input.len(),
                line.len()
            );
            let run = run(&env, "uniq --quiet --memory 16M --threads 2 bomb");
            run.code(0).stdout(line);
        }
    }
}

#[test]
fn members_without_number_are_one_input() {
    let env = TestEnv::new();
    for (name, pack) in PACKINGS {
        let count = 50_000;
        let members = pack(b"").repeat(count);
        env.write("bomb", [pack(b"a\n"), members, pack(b"b\n")].concat());
        println!("{name}: {count} members that hold nothing");
        let run = run(&env, "uniq --quiet --memory 16M --threads 2 bomb");
        run.code(0).stdout("a\nb\n");
    }
}

#[test]
fn what_is_packed_twice_is_unpacked_once() {
    let env = TestEnv::new();
    for (_, pack) in PACKINGS {
        let inner = pack(b"a\nb\na\n");
        env.write("bomb", pack(&inner));
        let mut expected = inner;
        expected.push(b'\n');
        run(&env, "uniq --quiet --memory 16M bomb")
            .code(0)
            .stdout(expected);
    }
}

#[test]
fn a_filter_that_unpacks_without_end_is_refused() {
    let env = TestEnv::new();
    env.write("keys", "a\n");
    let zeros = gzip(&vec![0; PIECE]).repeat(pieces());
    let new = |format: &str, kind: &str| {
        let words = [
            "new", "f", "-n1000", "-p0.01", "--force", "--format", format,
        ];
        env.mayhap(&words)
            .args(&format!("--kind {kind}"))
            .run()
            .code(0);
        env.read("f")
    };
    for (name, mut filter, size) in [
        // Where each has its size, and how it is written: as many bits as nobody has.
        (
            "native",
            new("native", "bloom"),
            (24, (1_u64 << 50).to_le_bytes()),
        ),
        (
            "dcso",
            new("dcso", "bloom"),
            (32, (1_u64 << 50).to_le_bytes()),
        ),
        // A small filter, and then data without end.
        ("dcso", new("dcso", "bloom"), (0, 1_u64.to_le_bytes())),
    ] {
        filter[size.0..size.0 + 8].copy_from_slice(&size.1);
        if name == "native" {
            filter = mayhap_testing::forge::forged(&filter).expect("it has a header");
        }
        env.write("bomb", [gzip(&filter), zeros.clone()].concat());
        for words in ["info bomb", "verify bomb", "check bomb keys"] {
            println!("{name}: {words}");
            run(&env, words).fails_with(&["bomb"]);
        }
    }
}
