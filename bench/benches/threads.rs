//! What does a second thread gain, and what does certainty about who was first cost?
//!
//! All threads work on one shared filter, each on its own part of the keys; the time is that of the
//! slowest. The ratio is to lock-free inserts by one thread (or lookups by one thread): 0.5 is twice
//! as fast.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use mayhap::{AtomicBlocked, Blocked, Filter, Insert};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{Sample, member_sample, members, strangers};
use mayhap_bench::measure::Race;
use mayhap_bench::report::{Report, count, percent};

/// What one thread does with its part of the keys; how many were found, new or won.
type Work = fn(&AtomicBlocked, &[u64]) -> u64;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1_000_000, 100_000_000],
        urls: vec![],
        rates: vec![0.01],
        rounds: 7,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("threads", "ns per key of all threads together");
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut race = Race::new();
            enter_lookups(&mut race, keys, rate)?;
            enter_inserts(&mut race, keys, rate)?;
            let results = race.run(arguments.rounds);
            let title = format!("{} u64 keys, {}", count(keys), percent(rate));
            report.add(title, "1 thread", results);
        }
    }
    report.close(arguments.record)
}

/// Lookups of members and strangers in a full filter, in batches.
fn enter_lookups(race: &mut Race<'static>, keys: u64, rate: f64) -> Result<()> {
    let mut filter = Blocked::with_capacity(keys, rate)?;
    filter.insert_all(members(0..keys));
    let filter = Rc::new(AtomicBlocked::from(filter));
    let hits: Rc<[u64]> = member_sample(keys, u64::PER_BLOCK).collect();
    let misses: Rc<[u64]> = strangers(0..u64::PER_BLOCK).collect();
    let look: Work = |filter, keys| {
        let mut found = 0;
        filter.contains_each(keys, |is_found| found += u64::from(is_found));
        found
    };
    for threads in [1, 2] {
        for (group, block) in [("hit", &hits), ("miss", &misses)] {
            let (filter, block) = (filter.clone(), block.clone());
            let pass = move || on_threads(threads, &filter, &block, look);
            race.enter_timed(name(threads), group, u64::PER_BLOCK, pass);
        }
    }
    Ok(())
}

/// Inserts and claims of fresh keys. The filter is half full at first, and is emptied to that after
/// each pass by starting again from fresh strangers, so every key is new to it.
fn enter_inserts(race: &mut Race<'static>, keys: u64, rate: f64) -> Result<()> {
    let insert: Work = |filter, keys| {
        let mut new = 0;
        filter.insert_each(keys, |is_new| new += u64::from(is_new));
        new
    };
    let claim: Work = |filter, keys| {
        let mut won = 0;
        filter.claim_each(keys, |is_won| won += u64::from(is_won));
        won
    };
    // As many fresh keys as half the capacity, at most a block.
    let fresh = (keys / 2).min(u64::PER_BLOCK);
    for (group, work) in [("insert", insert), ("claim", claim)] {
        for threads in [1, 2] {
            let mut half = Blocked::with_capacity(keys, rate)?;
            half.insert_all(members(0..keys / 2));
            let mut shared = AtomicBlocked::from(half.clone());
            let mut pass_number = 0;
            let small = keys <= 10_000_000;
            let pass = move || {
                // Small filters start half full each time; large ones fill by 2 % a pass.
                if small {
                    shared = AtomicBlocked::from(half.clone());
                }
                let first = pass_number * fresh;
                pass_number += 1;
                let block: Vec<u64> = strangers(first..first + fresh).collect();
                on_threads(threads, &shared, &block, work)
            };
            race.enter_timed(name(threads), group, fresh, pass);
        }
    }
    Ok(())
}

fn name(threads: usize) -> &'static str {
    match threads {
        1 => "1 thread",
        _ => "2 threads",
    }
}

/// Runs `work` on equal parts of the keys at once; the time from the first start to the last end.
fn on_threads(threads: usize, filter: &AtomicBlocked, keys: &[u64], work: Work) -> (Duration, u64) {
    let part = keys.len().div_ceil(threads);
    let start = Instant::now();
    let sum = thread::scope(|scope| {
        let workers: Vec<_> = keys
            .chunks(part)
            .map(|keys| scope.spawn(move || work(filter, keys)))
            .collect();
        let answers = workers.into_iter().map(|worker| worker.join());
        answers.map(|answer| answer.expect("no panic")).sum()
    });
    (start.elapsed(), sum)
}
