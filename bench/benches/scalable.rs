//! What does it cost not to know the number of keys?
//!
//! Filters that begin with room for a thousand keys and grow, beside a `Blocked` made for just as many as
//! come (the row in bold). The rate is that of absent keys wrongly found, in percent.

use std::rc::Rc;
use std::time::Instant;

use mayhap::{Blocked, Filter, Insert, Scalable, ScalableOptions};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{Sample, absent, member_sample, members};
use mayhap_bench::measure::{Measurement, Race};
use mayhap_bench::report::{Report, count, percent};

/// What a growing filter begins with.
const FIRST: u64 = 1000;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1_000_000, 100_000_000],
        urls: vec![],
        rates: vec![0.01],
        rounds: 5,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("scalable", "ns per key in batches; MB; rate in percent");
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut race = Race::new();
            let mut numbers = Vec::new();
            let mut fixed = Blocked::with_capacity(keys, rate)?;
            let start = Instant::now();
            fixed.insert_all(members(0..keys));
            let elapsed = start.elapsed().as_secs_f64();
            let megabytes = fixed.shape().bits() as f64 / 8e6;
            numbers.push(Measurement::exact(
                "Blocked",
                "insert",
                elapsed * 1e9 / keys as f64,
            ));
            numbers.push(Measurement::exact("Blocked", "MB", megabytes));
            let look = move |block: &[u64]| {
                let mut found = 0;
                fixed.contains_each(block, |is_found| found += u64::from(is_found));
                found
            };
            enter(&mut race, &mut numbers, "Blocked".into(), keys, look);
            for growth in [2, 4] {
                let tightening = ScalableOptions::default().tightening;
                let name = format!("Scalable, growth {growth}");
                if !arguments.takes(&name) {
                    continue;
                }
                let options = ScalableOptions { growth, tightening };
                let mut filter = Scalable::with_options(FIRST, rate, options)?;
                let start = Instant::now();
                filter.insert_all(members(0..keys));
                let elapsed = start.elapsed().as_secs_f64();
                let megabytes = filter.stats().bits as f64 / 8e6;
                let full = filter.capacity();
                let full_megabytes = Blocked::plan(full, rate)?.bits as f64 / 8e6;
                println!(
                    "{name}: {} layers, capacity {full}, {:.2} times the memory of a full Blocked",
                    filter.layers(),
                    megabytes / full_megabytes
                );
                numbers.push(Measurement::exact(
                    &name,
                    "insert",
                    elapsed * 1e9 / keys as f64,
                ));
                numbers.push(Measurement::exact(&name, "MB", megabytes));
                let look = move |block: &[u64]| {
                    let mut found = 0;
                    filter.contains_each(block, |is_found| found += u64::from(is_found));
                    found
                };
                enter(&mut race, &mut numbers, name, keys, look);
            }
            let mut results = race.run(arguments.rounds);
            results.append(&mut numbers);
            let title = format!("{} u64 keys, {}", count(keys), percent(rate));
            report.add(title, "Blocked", results);
        }
    }
    report.close(arguments.record)
}

/// Lookups of members and absent keys, and how many of the absent keys are wrongly found.
fn enter(
    race: &mut Race<'static>,
    numbers: &mut Vec<Measurement>,
    name: String,
    keys: u64,
    look: impl Fn(&[u64]) -> u64 + 'static,
) {
    let hits: Vec<u64> = member_sample(keys, u64::PER_BLOCK).collect();
    let misses: Vec<u64> = absent(0..u64::PER_BLOCK).collect();
    let wrong = look(&misses) as f64 / misses.len() as f64;
    numbers.push(Measurement::exact(&name, "rate %", 100.0 * wrong));
    let look = Rc::new(look);
    for (group, block) in [("miss", misses), ("hit", hits)] {
        let look = look.clone();
        race.enter(&name, group, u64::PER_BLOCK, move || look(&block));
    }
}
