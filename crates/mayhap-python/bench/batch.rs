//! The cost of columns in Rust alone, for `peers.py` to print beside Python's: the same keys in the same filter.
//!
//! Prints one line per measurement: what the keys are, what is done, and the least nanoseconds per key.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use mayhap::{Blocked, Filter as _, Insert as _, Key};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(keys)), Some(Ok(runs))) = (arguments.next(), arguments.next()) else {
        eprintln!("batch KEYS RUNS");
        return ExitCode::from(2);
    };
    let numbers: Vec<i64> = (0..keys as i64).map(|key| key * 7919).collect();
    measure("int64", &numbers, runs);
    // One text after the other, as a column has them.
    let mut text = String::new();
    let mut ends = vec![0];
    for key in 0..keys {
        text.push_str(&format!("https://example.org/{key}"));
        ends.push(text.len());
    }
    let texts: Vec<&[u8]> = ends
        .windows(2)
        .map(|ends| &text.as_bytes()[ends[0]..ends[1]])
        .collect();
    measure("string", &texts, runs);
    ExitCode::SUCCESS
}

/// Prints the least time of each way to take the keys to a filter. Memory for the answers is part of it, as it is in
/// Python.
fn measure<K: Key>(name: &str, keys: &[K], runs: u64) {
    let (mut update, mut contains) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..runs {
        let Ok(mut seen) = Blocked::with_capacity(keys.len() as u64, 0.01) else {
            return;
        };
        update = update.min(timed(keys, || {
            let mut new = vec![false; keys.len()];
            seen.insert_batch(keys, &mut new);
            new
        }));
        contains = contains.min(timed(keys, || {
            let mut found = vec![false; keys.len()];
            seen.contains_batch(keys, &mut found);
            found
        }));
    }
    println!("{name} add_many {update:.2}");
    println!("{name} contains_many {contains:.2}");
}

/// Nanoseconds per key.
fn timed<K>(keys: &[K], work: impl FnOnce() -> Vec<bool>) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_nanos() as f64 / keys.len() as f64
}
