use std::collections::HashMap;

pub(crate) use mayhap_testing::random::Random;

/// The lines of an input, each with its terminator; a last line that has none gets one.
pub(crate) fn lines(input: &[u8], terminator: u8) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = input
        .split_inclusive(|byte| *byte == terminator)
        .map(<[u8]>::to_vec)
        .collect();
    if let Some(last) = lines
        .last_mut()
        .filter(|line| line.last() != Some(&terminator))
    {
        last.push(terminator);
    }
    lines
}

/// The lines that a run prints.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    First,
    Repeats,
    Counts,
    Seconds,
    Singles,
}

/// The expected output of `uniq`: no hashing, no blocks, no thread.
pub(crate) fn uniq(
    input: &[u8],
    terminator: u8,
    what: What,
    key: impl Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let lines = lines(input, terminator);
    let key = |line: &Vec<u8>| key(&line[..line.len() - 1]);
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    for line in &lines {
        *counts.entry(key(line)).or_insert(0) += 1;
    }
    let mut times: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut printed = Vec::new();
    for line in &lines {
        let key = key(line);
        let time = times.entry(key.clone()).or_insert(0);
        *time += 1;
        let is_printed = match what {
            What::First | What::Counts => *time == 1,
            What::Repeats => *time > 1,
            What::Seconds => *time == 2,
            What::Singles => counts[&key] == 1,
        };
        if !is_printed {
            continue;
        }
        if let What::Counts = what {
            printed.extend_from_slice(format!("{:7} ", counts[&key]).as_bytes());
        }
        printed.extend_from_slice(line);
    }
    printed
}

/// Each line the first time it comes.
pub(crate) fn first(input: &[u8]) -> Vec<u8> {
    uniq(input, b'\n', What::First, <[u8]>::to_vec)
}
