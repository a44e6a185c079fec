use std::path::Path;

use crate::env::{TestEnv, numbers};
use crate::oracle::{Random, What, first, uniq};

/// The bytes that the command reads at a time, around which lines must not break.
const BLOCK: usize = 256 << 10;

/// The ways of remembering that promise to lose no line.
const LOSSLESS: [&str; 4] = ["", "--exact", "--memory 64M", "--memory=1G"];

/// Inputs by name; the same ones in every run.
fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    let mut random = Random(1);
    let mut text = |lines: usize, distinct: u64| -> Vec<u8> {
        (0..lines)
            .flat_map(|_| format!("line {}\n", random.below(distinct)).into_bytes())
            .collect()
    };
    let (few, many) = (text(100_000, 50), text(100_000, 60_000));
    vec![
        ("empty", Vec::new()),
        ("one line", b"only\n".to_vec()),
        ("one line without its end", b"only".to_vec()),
        ("only newlines", vec![b'\n'; 10_000]),
        ("one newline", b"\n".to_vec()),
        ("few distinct lines", few),
        ("many distinct lines", many),
        ("no line twice", numbers(0..50_000).into_bytes()),
        ("the same line", b"again and again\n".repeat(50_000)),
        ("empty lines between", b"a\n\nb\n\n\na\n\n".repeat(1000)),
        ("prefixes", b"a\nab\nabc\na\nab \n ab\n\nab\n".to_vec()),
        ("last line repeats, without its end", b"x\ny\nx".to_vec()),
        ("last line is new, without its end", b"x\ny\nx\nz".to_vec()),
        ("carriage returns", b"a\r\na\nb\r\na\r\n".to_vec()),
        ("blanks at the ends", b" a\na \na\n\ta\n a\n".to_vec()),
        (
            "numbers that awk could take for equal",
            b"1\n1.0\n01\n1e0\n+1\n1\n".to_vec(),
        ),
        ("long lines", long_lines()),
        ("any bytes but NUL", any_bytes(|byte| byte.max(1))),
        ("a block exactly", filling(BLOCK)),
        ("a block and a byte", filling(BLOCK + 1)),
        ("a block less a byte", filling(BLOCK - 1)),
        ("two blocks exactly", filling(2 * BLOCK)),
        ("a line as long as a block", line_of(BLOCK)),
        ("a line a byte longer than a block", line_of(BLOCK + 1)),
        ("a line a byte shorter than a block", line_of(BLOCK - 1)),
    ]
}

/// Lines of up to three blocks, each several times.
fn long_lines() -> Vec<u8> {
    let mut random = Random(2);
    let lines: Vec<Vec<u8>> = [10, BLOCK / 3, BLOCK - 7, BLOCK + 3, 3 * BLOCK]
        .iter()
        .map(|length| {
            let letters = random.bytes(*length);
            let mut line: Vec<u8> = letters.iter().map(|byte| b'a' + byte % 26).collect();
            line.push(b'\n');
            line
        })
        .collect();
    (0..20)
        .flat_map(|_| lines[random.below(5) as usize].clone())
        .collect()
}

/// Short lines of any bytes, many of them repeats.
fn any_bytes(allowed: impl Fn(u8) -> u8) -> Vec<u8> {
    let mut random = Random(3);
    let mut input = Vec::new();
    for _ in 0..50_000 {
        let length = random.below(3) as usize;
        input.extend(random.bytes(length).into_iter().map(&allowed));
        input.push(b'\n');
    }
    input
}

/// Lines that fill this many bytes, the last with its end.
fn filling(length: usize) -> Vec<u8> {
    let mut input = b"0123456789abcde\n".repeat(length / 16 - 1);
    input.resize(length - 1, b'x');
    input.push(b'\n');
    input
}

/// A line of this many bytes, its end included, twice, between short ones.
fn line_of(length: usize) -> Vec<u8> {
    let mut line = vec![b'y'; length - 1];
    line.push(b'\n');
    [b"short\n", &line[..], b"short\n", &line, b"end\n"].concat()
}

#[test]
fn every_lossless_mode_prints_what_awk_does() {
    let env = TestEnv::new();
    let has_awk = env.shell("command -v awk").run().stdout.starts_with(b"/");
    if !has_awk {
        println!("SKIPPED: there is no awk; the oracle alone is asked");
    }
    for (name, input) in inputs() {
        let expected = first(&input);
        env.write("input", &input);
        if has_awk {
            let awk = env.program(Path::new("awk"));
            let awk = awk.args("!seen[$0]++ input").run().code(0);
            assert_eq!(awk.stdout, expected, "{name}: awk and the oracle differ");
        }
        for mode in LOSSLESS {
            for threads in ["1", "2"] {
                println!("{name} {mode:?} {threads}");
                let run = || {
                    env.mayhap(&format!("uniq --quiet --threads {threads}"))
                        .args(mode)
                };
                run().arg("input").run().code(0).stdout(&expected).silent();
                run().input(&input).run().code(0).stdout(&expected).silent();
            }
        }
    }
}

#[test]
fn nul_is_a_byte_like_any_other() {
    // awk implementations stop at NUL, so the oracle alone is asked.
    let env = TestEnv::new();
    let input = any_bytes(|byte| byte);
    env.write("input", &input);

    for mode in LOSSLESS {
        for threads in ["1", "2"] {
            let run = env.mayhap(&format!("uniq --quiet --threads {threads} input"));
            run.args(mode).run().code(0).stdout(first(&input));
        }
    }
}

#[test]
fn several_files_are_one_input() {
    // Files that do not end in a newline end in a whole line all the same.
    let env = TestEnv::new();
    env.write("a", "x\ny");
    env.write("b", "");
    env.write("c", "y\nz\n");
    env.write("d", "z");

    for mode in LOSSLESS {
        for threads in ["1", "2"] {
            let run = env.mayhap(&format!("uniq --threads {threads} a b - c d"));
            run.args(mode)
                .input("x\nw")
                .run()
                .code(0)
                .stdout("x\ny\nw\nz\n");
        }
    }
}

#[test]
fn a_file_may_come_twice() {
    let env = TestEnv::new();
    env.write("a", "x\ny\n");

    for mode in LOSSLESS {
        let run = env.mayhap("uniq a a").args(mode);
        run.run().code(0).stdout("x\ny\n");
    }
    let counted = env.mayhap("uniq -c a a").run();
    counted.code(0).stdout("      2 x\n      2 y\n");
}

/// The key of a line for the oracle, if it has one.
type Key = fn(&[u8]) -> Option<Vec<u8>>;

/// Options that choose the key, and the same in plain words.
fn keys() -> Vec<(&'static str, Key)> {
    fn field(line: &[u8], separator: u8, first: usize, last: usize) -> Option<Vec<u8>> {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == separator).collect();
        let has_it = !line.is_empty() && first <= fields.len();
        has_it.then(|| fields[first - 1..last.min(fields.len())].join(&separator))
    }
    fn blank_field(line: &[u8], number: usize) -> Option<Vec<u8>> {
        let mut fields = line
            .split(|byte| matches!(byte, b' ' | b'\t'))
            .filter(|field| !field.is_empty());
        fields.nth(number - 1).map(<[u8]>::to_vec)
    }
    fn range(line: &[u8], first: usize, last: usize) -> Option<Vec<u8>> {
        (first <= line.len()).then(|| line[first - 1..line.len().min(last)].to_vec())
    }
    vec![
        ("", |line| Some(line.to_vec())),
        ("-k 2", |line| blank_field(line, 2)),
        ("-k1", |line| blank_field(line, 1)),
        ("-k 2 -t ,", |line| field(line, b',', 2, 2)),
        ("-k 2,3 -t,", |line| field(line, b',', 2, 3)),
        ("-k 3, -t ,", |line| field(line, b',', 3, usize::MAX)),
        ("-k 1 -t \\t", |line| field(line, b'\t', 1, 1)),
        ("-b 1-3", |line| range(line, 1, 3)),
        ("-b 4-", |line| range(line, 4, usize::MAX)),
        ("-b 2", |line| range(line, 2, 2)),
        ("-i", |line| Some(line.to_ascii_lowercase())),
        ("-i -k 2 -t ,", |line| {
            field(line, b',', 2, 2).map(|key| key.to_ascii_lowercase())
        }),
        ("--crlf", |line| {
            Some(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        }),
        ("--crlf -b2-", |line| {
            range(line.strip_suffix(b"\r").unwrap_or(line), 2, usize::MAX)
        }),
    ]
}

/// A table whose fields repeat in every way: commas, blanks, upper case, carriage returns.
fn table(terminator: u8) -> Vec<u8> {
    let mut random = Random(4);
    let mut table = Vec::new();
    for _ in 0..4000 {
        for _ in 0..random.below(5) {
            const WORDS: [&str; 9] = ["a", "A", "bc", "Bc", "", "\u{e4}", "\u{c4}", "7", "\r"];
            const BETWEEN: [&str; 4] = [",", " ", "\t", "  "];
            table.extend_from_slice(WORDS[random.below(9) as usize].as_bytes());
            table.extend_from_slice(BETWEEN[random.below(4) as usize].as_bytes());
        }
        if random.below(3) == 0 {
            table.push(b'\r');
        }
        table.push(terminator);
    }
    // A line whose key comes once, by whatever it is chosen.
    table.extend_from_slice(b"#~once,once,x! once\tonce");
    table.push(terminator);
    table
}

#[test]
fn every_choice_of_lines_and_keys_prints_what_the_oracle_does() {
    let env = TestEnv::new();
    let choices: [(&str, What); 8] = [
        ("", What::First),
        ("--exact", What::First),
        ("-v", What::Repeats),
        ("-v --exact", What::Repeats),
        ("-v --memory 16M", What::Repeats),
        ("-c", What::Counts),
        ("-d", What::Seconds),
        ("-u", What::Singles),
    ];
    let ends: [(&str, u8); 2] = [("", b'\n'), ("-z", 0)];
    for (end, terminator) in ends {
        let input = table(terminator);
        env.write("input", &input);
        for (options, key) in keys() {
            let has_key = |line: &&[u8]| key(&line[..line.len() - 1]).is_some();
            let lines = input.split_inclusive(|byte| *byte == terminator);
            let lines: Vec<u8> = lines.filter(has_key).flatten().copied().collect();
            let lacks = options.contains("-k") || options.contains("-b");
            let keyless: &str = if lacks { "--keyless=skip" } else { "" };
            assert_eq!(lacks, lines.len() < input.len(), "{options:?}");
            for (choice, what) in choices {
                let key = |line: &[u8]| key(line).expect("chosen");
                let expected = uniq(&lines, terminator, what, key);
                assert!(!expected.is_empty(), "{options:?} {choice:?} tests nothing");

                let run = env.mayhap("uniq --quiet input");
                let run = run.args(end).args(options).args(keyless).args(choice);
                run.run().code(0).stdout(&expected).silent();
            }
        }
    }
}

#[test]
fn the_summary_tells_lines_and_what_is_expected_lost() {
    let env = TestEnv::new();

    let outcome = env.fed("uniq", "a\nb\na\n").code(0);
    outcome
        .stdout("a\nb\n")
        .says(&["3 lines, 2 distinct; ", " expected lost; "]);

    env.fed("uniq --exact --quiet", "a\n").code(0).silent();

    let outcome = env.fed("uniq --json", "a\nb\na\n").code(0);
    let summary: serde_json::Value = serde_json::from_str(&outcome.stderr).expect("JSON");
    assert_eq!(
        (&summary["lines"], &summary["distinct"]),
        (&3.into(), &2.into())
    );
    assert!(summary["expected_losses"].as_f64().expect("a number") < 1e-15);
    assert!(summary["memory"].is_u64() && summary["store"].is_string());
    outcome.stdout("a\nb\n");
}

#[test]
fn the_summary_tells_the_memory_of_the_larger_pass() {
    // The second pass of --exact keeps nothing of lines that come once, but the first had their hashes.
    let env = TestEnv::new();
    let input = numbers(0..100_000);

    let run = env.mayhap("uniq --exact --json").input(input);
    let outcome = run.env("MAYHAP_QUIET", "0").run().code(0);

    let summary = outcome.stderr.lines().last().expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(summary).expect("JSON");
    let memory = summary["memory"].as_u64().expect("a number");
    assert!(memory >= 800_000, "{memory} bytes for 100 000 hashes");
}

#[test]
fn exact_says_when_the_input_cannot_be_read_twice() {
    let env = TestEnv::new();
    env.write("input", "a\nb\na\n");

    let piped = env.fed("uniq --exact", "a\nb\na\n");
    piped
        .code(0)
        .stdout("a\nb\n")
        .says(&["warning", "standard input", "temporary file"]);

    let outcome = env.ok("uniq --exact input");
    assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
}

#[test]
fn a_memory_budget_is_kept_and_what_it_costs_is_said() {
    // A million distinct lines need 8 MB of hashes; a budget of 1 MiB leaves about seven bits for each.
    let env = TestEnv::new();
    let input = numbers(0..1_000_000);

    let run = env.mayhap("uniq --json --memory 1M");
    let outcome = run.input(&input).run().code(0);

    assert!(
        outcome.stderr.starts_with("warning: "),
        "{}",
        outcome.stderr
    );
    let summary = outcome.stderr.lines().last().expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(summary).expect("JSON");
    assert!(summary["memory"].as_u64().expect("a number") <= 1 << 20);
    assert_eq!(summary["store"], "blocked");
    let printed = outcome.stdout.iter().filter(|byte| **byte == b'\n').count();
    let lost = 1_000_000.0 - printed as f64;
    let expected = summary["expected_losses"].as_f64().expect("a number");
    let error = summary["expected_losses_error"].as_f64().expect("a number");
    // The hash is drawn at random: within twice the stated error, four standard deviations.
    assert!(lost > 1000.0, "{lost} lost: the budget was not felt");
    assert!(
        (lost - expected).abs() < 2.0 * error,
        "{lost} lost, {expected} ± {error} expected"
    );
}

/// Under rapidhash these 20 000 lines have one hash, whatever the seed: 19 999 of them vanished, and 0 were stated to
/// be lost.
#[test]
fn lines_prepared_for_a_public_hash_are_not_lost() {
    let env = TestEnv::new();
    let mut lines = Vec::new();
    for number in 0..20_000_u32 {
        let mut line = format!("{number:050}").into_bytes();
        let word = 0x8bb8_4b93_962e_acc9_u64 ^ line.len() as u64;
        line[34..42].copy_from_slice(&word.to_le_bytes());
        lines.extend(line);
        lines.push(b'\n');
    }

    for words in [
        "",
        "--exact",
        "--memory=64M",
        "--rate=1e-9",
        "--rate=1e-9 --capacity=20k",
        "--seen=grows",
        "--seen=fixed --capacity=20k",
        "-u",
    ] {
        let run = env.mayhap("uniq").args(words).input(&lines).run();
        run.code(0)
            .stdout(&lines)
            .says(&["20 000 lines, 20 000 distinct", "lines expected lost; "]);
    }
    // Where nothing is drawn they are lost, and it is said that they may be.
    env.ok("new public -n20k -p1e-6 --kind=scalable");
    let run = env.fed("uniq --seen=public", &lines).code(0);
    run.says(&[
        "20 000 lines, 1 distinct",
        "lost, unless lines were prepared to collide; ",
    ]);
    let run = env.mayhap("uniq --json --seen=public");
    let run = run.input("other\n").run().code(0);
    let summary: serde_json::Value = serde_json::from_str(&run.stderr).expect("JSON");
    assert_eq!(summary["unless_prepared"], true);
    let repeats = env.fed("uniq -d", &lines);
    repeats.code(0).stdout("").says(&["20 000 distinct"]);
    let counts = env.fed("uniq -c", &lines);
    assert_eq!(
        counts.code(0).says(&["20 000 distinct"]).stdout.len(),
        lines.len() + 20_000 * 8
    );
}

/// Repeats took a slot each: eight keys filled a filter that was made for hundreds.
#[test]
fn a_cuckoo_filter_remembers_a_line_once() {
    let env = TestEnv::new();
    let keys = "a\nb\nc\nd\ne\nf\ng\nh\n";
    env.ok("new f --kind cuckoo -n 100 -p 1e-4");

    env.gives("uniq --quiet --seen f", keys.repeat(500), keys);

    env.fed("remove f", "a\n").code(0);
    env.gives("check f", "a\nb\n", "b\n");
}
