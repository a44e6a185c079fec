//! What does it cost to forget?
//!
//! `Windowed`, beside a `Blocked` of the window's keys, which forgets nothing (the row in bold), and the
//! usual way: four of them, of a third of the window each, the oldest cleared when the newest is full.
//! Everyone has taken keys for a while; the rate is that of absent keys wrongly found, at the worst moment.
//! The end of a generation, in microseconds, is what one insert may have to wait.

use std::rc::Rc;
use std::time::Instant;

use mayhap::{Blocked, Filter, Insert, Rotation, Windowed};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{Sample, absent, members};
use mayhap_bench::measure::{Measurement, Race};
use mayhap_bench::report::{Report, count, percent};

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1_000_000, 100_000_000],
        urls: vec![],
        rates: vec![0.01],
        rounds: 5,
        only: vec![],
        record: false,
    })?;
    let title = "ns per key in batches; MB; rate in percent; µs at the end of a generation";
    let mut report = Report::new("windowed", title);
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut race = Race::new();
            let mut numbers = Vec::new();
            enter(&mut race, &mut numbers, Plain::new(keys, rate)?, keys);
            enter(&mut race, &mut numbers, Ring::new(keys, rate)?, keys);
            let windowed = Windowed::with_options(keys, rate, Rotation::ByCaller)?;
            enter(&mut race, &mut numbers, windowed, keys);
            let mut results = race.run(arguments.rounds);
            results.append(&mut numbers);
            let title = format!("a window of {} u64 keys, {}", count(keys), percent(rate));
            report.add(title, Plain::NAME, results);
        }
    }
    report.close(arguments.record)
}

/// A filter of a window, whose generations are a third of it.
trait Forgets: 'static {
    const NAME: &'static str;

    fn insert(&mut self, keys: impl Iterator<Item = u64>);

    fn end_generation(&mut self);

    fn found(&self, keys: &[u64]) -> u64;

    fn bits(&self) -> u64;
}

impl Forgets for Windowed {
    const NAME: &'static str = "mayhap Windowed";

    fn insert(&mut self, keys: impl Iterator<Item = u64>) {
        self.insert_all(keys);
    }

    fn end_generation(&mut self) {
        self.rotate();
    }

    fn found(&self, keys: &[u64]) -> u64 {
        let mut found = 0;
        self.contains_each(keys, |is_found| found += u64::from(is_found));
        found
    }

    fn bits(&self) -> u64 {
        self.stats().bits
    }
}

/// Four filters, of which the oldest is cleared.
struct Ring {
    filters: [Blocked; 4],
    newest: usize,
}

impl Ring {
    fn new(keys: u64, rate: f64) -> Result<Ring> {
        let filter = Blocked::with_capacity(keys.div_ceil(3), rate / 4.0)?;
        Ok(Ring {
            filters: [0; 4].map(|_| filter.clone()),
            newest: 0,
        })
    }
}

impl Forgets for Ring {
    const NAME: &'static str = "four Blocked, one cleared";

    fn insert(&mut self, keys: impl Iterator<Item = u64>) {
        self.filters[self.newest].insert_all(keys);
    }

    fn end_generation(&mut self) {
        self.newest = (self.newest + 1) % 4;
        self.filters[self.newest].clear();
    }

    fn found(&self, keys: &[u64]) -> u64 {
        let mut answers = vec![false; keys.len()];
        for filter in &self.filters {
            let mut slots = answers.iter_mut();
            filter.contains_each(keys, |found| {
                if let Some(slot) = slots.next() {
                    *slot |= found;
                }
            });
        }
        answers.iter().map(|&found| u64::from(found)).sum()
    }

    fn bits(&self) -> u64 {
        self.filters
            .iter()
            .map(|filter| filter.shape().bits())
            .sum()
    }
}

/// One filter of the window's keys, made anew for each.
struct Plain(Blocked);

impl Plain {
    fn new(keys: u64, rate: f64) -> Result<Plain> {
        Ok(Plain(Blocked::with_capacity(keys, rate)?))
    }
}

impl Forgets for Plain {
    const NAME: &'static str = "Blocked, forgets nothing";

    fn insert(&mut self, keys: impl Iterator<Item = u64>) {
        self.0.insert_all(keys);
    }

    fn end_generation(&mut self) {}

    fn found(&self, keys: &[u64]) -> u64 {
        let mut found = 0;
        self.0
            .contains_each(keys, |is_found| found += u64::from(is_found));
        found
    }

    fn bits(&self) -> u64 {
        self.0.shape().bits()
    }
}

fn enter<F: Forgets>(
    race: &mut Race<'static>,
    numbers: &mut Vec<Measurement>,
    mut filter: F,
    keys: u64,
) {
    let generation = keys.div_ceil(3);
    // The one that forgets nothing takes the window once; the others eight generations, four of which
    // they have then forgotten.
    let (begin, turns) = match F::NAME == Plain::NAME {
        true => (5, 3),
        false => (0, 8),
    };
    let mut longest: f64 = 0.0;
    let start = Instant::now();
    for turn in begin..begin + turns {
        let start = Instant::now();
        filter.end_generation();
        // Before that, the memory is touched for the first time.
        if turn >= 4 {
            longest = longest.max(start.elapsed().as_secs_f64());
        }
        filter.insert(members(turn * generation..(turn + 1) * generation));
    }
    let per_key = start.elapsed().as_secs_f64() * 1e9 / (turns * generation) as f64;
    let misses: Vec<u64> = absent(0..u64::PER_BLOCK).collect();
    let wrong = filter.found(&misses) as f64 / misses.len() as f64;
    let step = (3 * generation / u64::PER_BLOCK).max(1);
    let hits = members(5 * generation..8 * generation).step_by(step as usize);
    let hits: Vec<u64> = hits.take(u64::PER_BLOCK as usize).collect();
    assert_eq!(filter.found(&hits), hits.len() as u64, "none is missed");
    for (group, number) in [
        ("insert", per_key),
        ("MB", filter.bits() as f64 / 8e6),
        ("rate %", 100.0 * wrong),
    ] {
        numbers.push(Measurement::exact(F::NAME, group, number));
    }
    if F::NAME != Plain::NAME {
        let group = "end of a generation";
        numbers.push(Measurement::exact(F::NAME, group, longest * 1e6));
    }
    let filter = Rc::new(filter);
    for (group, block) in [("miss", misses), ("hit", hits)] {
        let (filter, asked) = (filter.clone(), block.len() as u64);
        race.enter(F::NAME, group, asked, move || filter.found(&block));
    }
}
