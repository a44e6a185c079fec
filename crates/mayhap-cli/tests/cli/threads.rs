use crate::env::TestEnv;
use crate::oracle::{Random, What, uniq};

/// The bytes that the command reads at a time.
const BLOCK: usize = 256 << 10;

/// Numbers of threads: one shard up to three threads, then two, four and eight.
const THREADS: [&str; 5] = ["1", "2", "5", "9", "33"];

/// About `blocks` blocks of lines: repeats right after the first, later in the block and many blocks later, in no order;
/// lines longer than a block between them; and a last line that has no end.
fn many_blocks(seed: u64, blocks: usize, terminator: u8) -> Vec<u8> {
    let mut random = Random(seed);
    let mut input = Vec::new();
    let mut distinct = 1_u64;
    while input.len() < blocks * BLOCK {
        let number = match random.below(8) {
            0 => distinct - 1,
            1 => distinct.saturating_sub(1 + random.below(200)),
            2 => random.below(distinct),
            _ => {
                distinct += 1;
                distinct - 1
            }
        };
        input.extend_from_slice(format!("https://example.org/{}/{number}", number % 7).as_bytes());
        if random.below(20_000) == 0 {
            let length = BLOCK + random.below(BLOCK as u64) as usize;
            input.resize(input.len() + length, b'x');
        }
        input.push(terminator);
    }
    input.extend_from_slice(b"https://example.org/1/1");
    input
}

#[test]
fn any_number_of_threads_prints_what_the_oracle_does() {
    let env = TestEnv::new();
    let choices: [(&str, What); 7] = [
        ("", What::First),
        ("--memory 1G", What::First),
        ("--exact", What::First),
        ("-v", What::Repeats),
        ("-c", What::Counts),
        ("-d", What::Seconds),
        ("-u", What::Singles),
    ];
    let ends: [(&str, u8); 2] = [("", b'\n'), ("-z", 0)];
    for (end, terminator) in ends {
        let input = many_blocks(7 + u64::from(terminator), 16, terminator);
        env.write("input", &input);
        for (choice, what) in choices {
            let expected = uniq(&input, terminator, what, <[u8]>::to_vec);
            for threads in THREADS {
                let run = || {
                    let run = env.mayhap(&format!("uniq --quiet --threads {threads}"));
                    run.args(end).args(choice)
                };
                run().arg("input").run().code(0).stdout(&expected).silent();
                if threads != "5" {
                    run().input(&input).run().code(0).stdout(&expected).silent();
                }
            }
        }
    }
}

#[test]
fn keys_that_are_made_and_records_are_the_same_with_any_number_of_threads() {
    let env = TestEnv::new();
    let input = many_blocks(3, 8, b'\n');
    env.write("input", &input);
    let table: Vec<u8> = input
        .split(|byte| *byte == b'\n')
        .enumerate()
        .flat_map(|(i, line)| match i % 3 {
            // A record may take several lines, and begin in one block and end in the next.
            0 => [b"\"two\nlines\",", line, b"\n"].concat(),
            _ => [b"one,", line, b"\n"].concat(),
        })
        .collect();
    env.write("table", &table);
    let runs: [&str; 6] = [
        "uniq -i input",
        "uniq -c -k 2 -t / input",
        "uniq --exact --regex [0-9]+$ --keyless keep input",
        "uniq -u --csv-key 2 table",
        "uniq --exact --csv-key 2 table",
        "uniq --csv-key 2 --print key table",
    ];
    for words in runs {
        let run = |threads| {
            env.mayhap(words)
                .args(&format!("--quiet --threads {threads}"))
                .run()
                .code(0)
        };
        let expected = run("1");
        assert!(!expected.stdout.is_empty(), "{words:?} tests nothing");
        for threads in &THREADS[1..] {
            run(threads).stdout(&expected.stdout);
        }
    }
}

/// Blocks are prepared in any order: the line that stops a run, and the lines before it, are those of the input.
#[test]
fn a_line_without_a_key_is_named_by_its_number_and_the_lines_before_it_are_printed() {
    let env = TestEnv::new();
    let lines: Vec<String> = (0..300_000)
        .map(|i| format!("{i:08} {}\n", i % 9))
        .collect();
    let mut text = lines.concat();
    let at = lines[..250_000].concat().len();
    text.replace_range(at..at + 8, "nonumber");
    env.write("first", "00000001 x\n".repeat(1000));
    env.write("second", &text);

    for threads in THREADS {
        let run = env.mayhap(&["uniq", "--regex", "^[0-9]{8}", "--threads", threads]);
        let outcome = run.args("first second").run().code(2);
        let first = [&lines[1..2], &lines[..1], &lines[2..250_000]].concat();
        let expected = first.concat().replacen("00000001 1", "00000001 x", 1);
        outcome
            .says(&["line 250 001 of second has no key"])
            .stdout(expected);
    }
}

/// A shard may be ahead of the sink, but not past the line that stops the run.
#[test]
fn lines_after_one_without_a_key_are_not_counted() {
    let env = TestEnv::new();
    let lines: Vec<String> = (0..300_000).map(|i| format!("{:08}\n", i % 1000)).collect();
    let text = [&lines[..250_000].concat(), "no key\n", &lines.concat()].concat();
    env.write("in", text);
    let counted = (0..1000).map(|i| format!("    250 {i:08}\n"));
    let expected: String = counted.collect();

    for threads in THREADS {
        let run = || env.mayhap(&format!("uniq -c --regex ^[0-9]+ --threads {threads}"));
        let outcome = run().arg("in").run().code(2);
        outcome
            .says(&["line 250 001 of in has no key"])
            .stdout(&expected);
        let outcome = run().input(env.read("in")).run().code(2);
        outcome
            .says(&["line 250 001 of standard input"])
            .stdout(&expected);
    }
}

#[test]
fn lines_are_numbered_and_looked_up_the_same_with_any_number_of_threads() {
    let env = TestEnv::new();
    let input = many_blocks(5, 8, b'\n');
    env.write("input", &input);
    let mut expected = Vec::new();
    for threads in THREADS {
        let run = |words: &str| {
            env.mayhap(words)
                .args(&format!("--threads {threads}"))
                .run()
        };
        let added = {
            run("new --force f -n 100000 -p 1e-4").code(0);
            run("add f input").code(0).stderr
        };
        let numbered = run("check --line-number f input").code(0).stdout;
        let inverted = run("check -v -c f input").code(1).stdout;
        expected.push((added, env.read("f"), numbered, inverted));
    }
    assert!(expected.iter().all(|outcome| *outcome == expected[0]));
}
