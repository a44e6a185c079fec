//! Lines prepared to collide, through every mode of `uniq`: none may be lost, whatever hash they were prepared for.

use std::collections::HashMap;

use crate::env::TestEnv;
use mayhap_testing::prepared;
use mayhap_testing::random::Random;
use mayhap_testing::turns::{random, rounds};

/// The families, each drawn again.
fn family(random: &mut Random) -> (String, Vec<Vec<u8>>) {
    let count = 50 + random.below(2000) as usize;
    match random.below(5) {
        0 => {
            let length = 11 + random.below(300) as usize;
            let keys = prepared::rapidhash(length, count, || random.next());
            (format!("rapidhash, {length} bytes"), keys)
        }
        1 => {
            let length = 48 + random.below(177) as usize;
            let keys = prepared::rapidhash_protected(length, count, || random.next());
            (format!("protected rapidhash, {length} bytes"), keys)
        }
        2 => {
            let doublings = 4 + random.below(6) as u32;
            let keys = prepared::murmur3_128(doublings, || random.next());
            (format!("murmur3 x64-128, {doublings} doublings"), keys)
        }
        3 => {
            let doublings = 4 + random.below(6) as u32;
            let keys = prepared::murmur3_32(doublings, || random.next());
            (format!("murmur3 x86-32, {doublings} doublings"), keys)
        }
        _ => ("XXH64".into(), prepared::xxh64(count, || random.next())),
    }
}

/// Some families, mixed with lines that nobody prepared, many of them several times and in any order.
fn lines(random: &mut Random) -> (String, Vec<Vec<u8>>) {
    let mut names = Vec::new();
    let mut lines = Vec::new();
    for _ in 0..1 + random.below(3) {
        let (name, keys) = family(random);
        names.push(name);
        lines.extend(keys);
    }
    lines.extend((0..random.below(500)).map(|number| format!("line {number}").into_bytes()));
    for _ in 0..random.below(lines.len() as u64) {
        let again = random.below(lines.len() as u64) as usize;
        lines.push(lines[again].clone());
    }
    for end in (1..lines.len()).rev() {
        lines.swap(end, random.below(end as u64 + 1) as usize);
    }
    (names.join("; "), lines)
}

fn joined<'a>(lines: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let ended = lines.into_iter().flat_map(|line| [&line[..], b"\n"]);
    ended.flatten().copied().collect()
}

/// The expected output of each mode, by counting whole lines.
fn truth(lines: &[Vec<u8>]) -> Vec<(&'static str, Vec<u8>)> {
    let mut total: HashMap<&Vec<u8>, usize> = HashMap::new();
    for line in lines {
        *total.entry(line).or_default() += 1;
    }
    let mut come: HashMap<&Vec<u8>, usize> = HashMap::new();
    let nth: Vec<usize> = lines
        .iter()
        .map(|line| {
            let count = come.entry(line).or_default();
            *count += 1;
            *count
        })
        .collect();
    let chosen = |choose: &dyn Fn(usize, usize) -> bool| {
        let lines = lines.iter().zip(&nth);
        joined(lines.filter_map(|(line, nth)| choose(*nth, total[line]).then_some(line)))
    };
    let first = chosen(&|nth, _| nth == 1);
    let counted = lines.iter().zip(&nth).filter(|(_, nth)| **nth == 1);
    let counted = counted.flat_map(|(line, _)| {
        let head = format!("{:7} ", total[line]).into_bytes();
        [head, line.clone(), vec![b'\n']].concat()
    });
    vec![
        ("", first.clone()),
        ("--exact", first.clone()),
        ("--memory=64M", first.clone()),
        ("--rate=1e-9", first.clone()),
        ("--rate=1e-9 --capacity=20k", first.clone()),
        ("--threads=1", first.clone()),
        (
            "--seen=seen --rate=1e-9 --secret-file=secret",
            first.clone(),
        ),
        ("--seen=own --rate=1e-9", first.clone()),
        ("--seen=fixed --rate=1e-9 --capacity=20k", first),
        ("-v", chosen(&|nth, _| nth > 1)),
        ("-d", chosen(&|nth, _| nth == 2)),
        ("-u", chosen(&|_, total| total == 1)),
        ("-c", counted.collect()),
    ]
}

/// No line is lost or invented. The chance that a mode with a rate of 10^-9 loses one is below 10^-4 for a short turn.
#[test]
fn prepared_lines_are_never_lost() {
    let rounds = rounds(12);
    let (mut tried, mut prepared) = (0, 0);
    for round in 0..rounds {
        let mut random = random("collisions", round);
        let (name, lines) = lines(&mut random);
        let env = TestEnv::new();
        env.write(
            "secret",
            (0..16).map(|_| random.next() as u8).collect::<Vec<u8>>(),
        );
        env.write("lines", joined(&lines));
        prepared += lines.len();
        for (words, expected) in truth(&lines) {
            let run = env.mayhap("uniq --quiet lines").args(words).run();
            println!("round {round}: {words:?} on {name}");
            run.code(0).stdout(expected);
            tried += 1;
        }
    }
    println!("{rounds} rounds, {prepared} lines, {tried} runs: no line lost");
}
