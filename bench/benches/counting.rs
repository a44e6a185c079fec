//! What does removing keys that were never inserted do to those that were, and how far do counters go?
//!
//! Not a timing: the figures of Fan et al. (1998) and of the documentation, means over `--rounds` filters.

use mayhap::{Counting, CountingOptions, Digester, Insert, Shape, bits::CounterWidth};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{absent, members};
use mayhap_bench::measure::Measurement;
use mayhap_bench::report::{Report, count};

/// The members of every filter, and their counters: ten for each, as at a rate of 0.8 %.
const MEMBERS: u64 = 10_000;
const COUNTERS: u64 = 10 * MEMBERS;
const HASHES: u32 = 7;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![],
        urls: vec![],
        rates: vec![],
        rounds: 50,
        only: vec![],
        record: false,
    })?;
    let rounds = arguments.rounds as u64;
    let mut report = Report::new("counting", "means over the rounds; nothing is timed");
    for removals in [1000, 10_000] {
        let title = format!(
            "{} removals of absent keys from {}",
            count(removals),
            count(MEMBERS)
        );
        report.add(title, "", harm(removals, rounds)?);
    }
    report.add("of a million counters at capacity".into(), "", overflow()?);
    report.add("keys with a position twice, %".into(), "", repeats()?);
    report.close(arguments.record)
}

fn shape() -> Result<Shape> {
    Ok(Shape::new(COUNTERS, HASHES)?)
}

/// The members and the absent keys of a round.
fn keys(
    round: u64,
    removals: u64,
) -> (impl Iterator<Item = u64> + Clone, impl Iterator<Item = u64>) {
    let inside = members(round * MEMBERS..(round + 1) * MEMBERS).collect::<Vec<_>>();
    let outside = absent(round * removals..(round + 1) * removals);
    (inside.into_iter(), outside)
}

/// How many removals are accepted, and how many members are missed after them.
fn harm(removals: u64, rounds: u64) -> Result<Vec<Measurement>> {
    let (mut accepted, mut missed, mut unguarded) = (0, 0, 0);
    for round in 0..rounds {
        let options = CountingOptions::default();
        let mut filter = Counting::new(shape()?, options)?;
        let (inside, outside) = keys(round, removals);
        filter.insert_all(inside.clone());
        accepted += filter.remove_all(outside);
        missed += inside.filter(|key| !filter.contains(key)).count();
        unguarded += missed_without_guard(round, removals)?;
    }
    let mean = |sum: u64| sum as f64 / rounds as f64;
    let each = missed as f64 / accepted.max(1) as f64;
    Ok(vec![
        Measurement::exact("without a look first", "accepted", removals as f64),
        Measurement::exact("without a look first", "members missed", mean(unguarded)),
        Measurement::exact("in two phases", "accepted", mean(accepted)),
        Measurement::exact("in two phases", "members missed", mean(missed as u64)),
        Measurement::exact("in two phases", "missed for each", each),
    ])
}

/// What a filter loses that lowers whatever counters are not zero: the way not to do it.
fn missed_without_guard(round: u64, removals: u64) -> Result<u64> {
    let shape = shape()?;
    let mut counters = vec![0_u8; COUNTERS as usize];
    let positions = |key: u64| Digester::default().digest(&key.to_le_bytes()).probe(shape);
    let (inside, outside) = keys(round, removals);
    for position in inside.clone().flat_map(positions) {
        counters[position as usize] += 1;
    }
    for position in outside.flat_map(positions) {
        let counter = &mut counters[position as usize];
        *counter = counter.saturating_sub(1);
    }
    let is_missed = |key: &u64| positions(*key).any(|position| counters[position as usize] == 0);
    Ok(inside.filter(is_missed).count() as u64)
}

/// How many of a million counters stick at a load of ln 2, beside the Poisson tail.
fn overflow() -> Result<Vec<Measurement>> {
    const MANY: u64 = 1_000_000;
    let keys = (core::f64::consts::LN_2 * MANY as f64 / f64::from(HASHES)) as u64;
    let load = f64::from(HASHES) * keys as f64 / MANY as f64;
    let mut measurements = Vec::new();
    for width in [CounterWidth::Two, CounterWidth::Four] {
        let options = CountingOptions {
            width,
            ..CountingOptions::default()
        };
        let mut filter = Counting::new(Shape::new(MANY, HASHES)?, options)?;
        filter.insert_all(members(0..keys));
        let name = format!("{} bits", width.bits());
        let expected = MANY as f64 * poisson_tail(load, width.top());
        measurements.extend([
            Measurement::exact(&name, "stuck", filter.stuck() as f64),
            Measurement::exact(&name, "Poisson", expected),
        ]);
    }
    Ok(measurements)
}

/// The chance that a Poisson number with this mean is at least `reach`.
fn poisson_tail(mean: f64, reach: u64) -> f64 {
    let mut term = (-mean).exp();
    let mut tail = 0.0;
    for number in 1..reach + 60 {
        term *= mean / number as f64;
        if number >= reach {
            tail += term;
        }
    }
    tail
}

fn repeats() -> Result<Vec<Measurement>> {
    const KEYS: u64 = 400_000;
    let mut measurements = Vec::new();
    for (counters, hashes) in [(1024, 7), (9586, 7), (1000, 14)] {
        let shape = Shape::new(counters, hashes)?;
        let has_repeat = |key: &u64| {
            let digest = Digester::default().digest(&key.to_le_bytes());
            let mut positions: Vec<u64> = digest.probe(shape).collect();
            positions.sort();
            positions.windows(2).any(|pair| pair[0] == pair[1])
        };
        let measured = members(0..KEYS).filter(has_repeat).count() as f64 / KEYS as f64;
        let distinct = (0..hashes).map(|i| 1.0 - f64::from(i) / counters as f64);
        let expected = 1.0 - distinct.product::<f64>();
        let name = format!("{counters} counters, {hashes} hashes");
        measurements.extend([
            Measurement::exact(&name, "measured", 100.0 * measured),
            Measurement::exact(&name, "independent", 100.0 * expected),
        ]);
    }
    Ok(measurements)
}
