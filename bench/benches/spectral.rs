//! How far are counts off, by each policy, and what becomes of them when keys are removed?
//!
//! Not a timing: the experiments of Cohen and Matias (2003), 1000 keys that come 100 000 times, over
//! the load of the counters and the skew of the stream. Means over `--rounds` streams. All but *primary
//! alone* have the same number of counters; the marks of recurring minimum come on top.

use std::collections::HashMap;

use mayhap::{
    Digester, Shape,
    bits::CounterWidth,
    kinds::{Spectral, SpectralOptions, SpectralPolicy},
};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::members;
use mayhap_bench::measure::Measurement;
use mayhap_bench::report::Report;

const KEYS: u64 = 1000;
const ARRIVALS: u64 = 100_000;
const HASHES: u32 = 5;

/// The arrivals that are in the window at a time.
const WINDOW: usize = 20_000;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![],
        urls: vec![],
        rates: vec![],
        rounds: 30,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("spectral", "keys in percent; nothing is timed");
    for (load, skew) in [
        (0.7, 0.0),
        (0.7, 0.5),
        (0.7, 1.0),
        (0.7, 1.5),
        (0.7, 2.0),
        (0.4, 0.0),
        (1.0, 0.0),
        (1.4, 0.0),
        (1.0, 1.0),
    ] {
        let title = format!("load {load}, skew {skew}");
        let measurements = measure(&arguments, load, skew, |filter, stream| {
            stream.iter().for_each(|&key| filter.insert(key));
            stream.len()
        })?;
        report.add(title, "", measurements);
    }
    for skew in [0.5, 1.0] {
        let title = format!("the last {WINDOW} arrivals, load 0.7, skew {skew}");
        let measurements = measure(&arguments, 0.7, skew, |filter, stream| {
            for (index, &key) in stream.iter().enumerate() {
                filter.insert(key);
                if let Some(gone) = index.checked_sub(WINDOW) {
                    filter.remove(stream[gone]);
                }
            }
            WINDOW
        })?;
        report.add(title, "", measurements);
    }
    report.close(arguments.record)
}

/// Lets every contender follow the streams, and compares its counts with the last arrivals of each, as
/// many as `follow` says.
fn measure(
    arguments: &Arguments,
    load: f64,
    skew: f64,
    follow: impl Fn(&mut dyn Counter, &[u64]) -> usize,
) -> Result<Vec<Measurement>> {
    let counters = f64::from(HASHES) * KEYS as f64 / load;
    let mut all: Vec<(&str, Errors)> = Vec::new();
    for round in 0..arguments.rounds as u64 {
        let stream = stream(round, skew);
        for (index, (name, mut filter)) in contenders(counters)?.into_iter().enumerate() {
            let kept = follow(filter.as_mut(), &stream);
            let mut truth = HashMap::new();
            for key in &stream[stream.len() - kept..] {
                *truth.entry(*key).or_insert(0_u64) += 1;
            }
            if round == 0 {
                all.push((name, Errors::default()));
            }
            all[index].1.add(filter.as_ref(), &truth);
        }
    }
    let measurements = all
        .iter()
        .flat_map(|(name, errors)| errors.measurements(name));
    Ok(measurements.collect())
}

/// What was wrong, summed up.
#[derive(Default)]
struct Errors {
    keys: f64,
    wrong: f64,
    too_low: f64,
    squares: f64,
}

impl Errors {
    fn add(&mut self, filter: &dyn Counter, truth: &HashMap<u64, u64>) {
        for (&key, &count) in truth {
            let counted = filter.count(key);
            self.keys += 1.0;
            self.wrong += f64::from(u8::from(counted != count));
            self.too_low += f64::from(u8::from(counted < count));
            self.squares += (counted as f64 - count as f64).powi(2);
        }
    }

    fn measurements(&self, name: &str) -> [Measurement; 3] {
        let share = |number: f64| 100.0 * number / self.keys;
        [
            Measurement::exact(name, "wrong", share(self.wrong)),
            Measurement::exact(name, "too low", share(self.too_low)),
            Measurement::exact(name, "RMS error", (self.squares / self.keys).sqrt()),
        ]
    }
}

/// The arrivals of a round: the i-th key comes with a chance in proportion to `i^-skew`.
fn stream(round: u64, skew: f64) -> Vec<u64> {
    let names: Vec<u64> = members(round * KEYS..(round + 1) * KEYS).collect();
    let weights = (1..=KEYS).map(|rank| (rank as f64).powf(-skew));
    let sums: Vec<f64> = weights
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let total = sums[sums.len() - 1];
    // Indices that no name has.
    let first = (1 << 40) + round * ARRIVALS;
    let draw = |word: u64| {
        let at = (word >> 11) as f64 / (1_u64 << 53) as f64 * total;
        names[sums.partition_point(|&sum| sum <= at).min(names.len() - 1)]
    };
    members(first..first + ARRIVALS).map(draw).collect()
}

/// What counts keys, ours or not.
trait Counter {
    fn insert(&mut self, key: u64);
    fn remove(&mut self, key: u64);
    fn count(&self, key: u64) -> u64;
}

fn contenders(counters: f64) -> Result<Vec<(&'static str, Box<dyn Counter>)>> {
    let (primary, all) = (counters as u64, (1.5 * counters) as u64);
    Ok(vec![
        (
            "minimum selection",
            ours(all, SpectralPolicy::MinimumSelection)?,
        ),
        (
            "minimum selection, primary alone",
            ours(primary, SpectralPolicy::MinimumSelection)?,
        ),
        (
            "minimal increase",
            Box::new(Increase {
                ours: spectral(all, SpectralPolicy::MinimalIncrease)?,
                counters: Plain::new(all)?,
                has_removed: false,
            }),
        ),
        (
            "recurring minimum",
            ours(primary, SpectralPolicy::RecurringMinimum)?,
        ),
        (
            "recurring minimum, as published",
            Box::new(Published {
                primary: Plain::new(primary)?,
                secondary: Plain::new(primary / 2)?,
            }),
        ),
    ])
}

fn spectral(counters: u64, policy: SpectralPolicy) -> Result<Spectral> {
    let options = SpectralOptions {
        policy,
        width: CounterWidth::ThirtyTwo,
        ..SpectralOptions::default()
    };
    Ok(Spectral::new(Shape::new(counters, HASHES)?, options)?)
}

fn ours(counters: u64, policy: SpectralPolicy) -> Result<Box<dyn Counter>> {
    Ok(Box::new(spectral(counters, policy)?))
}

impl Counter for Spectral {
    fn insert(&mut self, key: u64) {
        Spectral::insert(self, &key);
    }

    fn remove(&mut self, key: u64) {
        let removed = Spectral::remove(self, &key);
        assert!(removed.expect("the policy removes"), "it was there");
    }

    fn count(&self, key: u64) -> u64 {
        Spectral::count(self, &key)
    }
}

/// Counters in plain sight, for what our filters refuse to do.
struct Plain {
    counters: Vec<u64>,
    shape: Shape,
}

impl Plain {
    fn new(counters: u64) -> Result<Plain> {
        Ok(Plain {
            counters: vec![0; counters as usize],
            shape: Shape::new(counters, HASHES)?,
        })
    }

    /// The distinct counters of a key; another `stream` gives others.
    fn places(&self, key: u64, stream: u64) -> Vec<usize> {
        let digest = Digester::Rapidhash { seed: stream }.digest(&key.to_le_bytes());
        let mut places: Vec<usize> = digest.probe(self.shape).map(|at| at as usize).collect();
        places.sort();
        places.dedup();
        places
    }

    fn least(&self, places: &[usize]) -> u64 {
        places
            .iter()
            .map(|&place| self.counters[place])
            .min()
            .unwrap_or(0)
    }

    /// Whether one counter is lower than all others.
    fn has_single_least(&self, places: &[usize]) -> bool {
        let least = self.least(places);
        let is_least = |place: &&usize| self.counters[**place] == least;
        places.iter().filter(is_least).count() == 1
    }

    fn raise(&mut self, places: &[usize], times: u64) {
        places
            .iter()
            .for_each(|&place| self.counters[place] += times);
    }

    fn lower(&mut self, places: &[usize]) {
        for &place in places {
            self.counters[place] = self.counters[place].saturating_sub(1);
        }
    }
}

/// Minimal increase: ours, until something is removed, which ours refuses; from then on counters that
/// have followed the same policy and are simply lowered, to show why.
struct Increase {
    ours: Spectral,
    counters: Plain,
    has_removed: bool,
}

impl Counter for Increase {
    fn insert(&mut self, key: u64) {
        self.ours.insert(&key);
        let places = self.counters.places(key, 0);
        let to = self.counters.least(&places) + 1;
        for place in places {
            let counter = &mut self.counters.counters[place];
            *counter = to.max(*counter);
        }
    }

    fn remove(&mut self, key: u64) {
        let places = self.counters.places(key, 0);
        self.counters.lower(&places);
        self.has_removed = true;
    }

    fn count(&self, key: u64) -> u64 {
        match self.has_removed {
            true => self.counters.least(&self.counters.places(key, 0)),
            false => self.ours.count(&key),
        }
    }
}

/// Recurring minimum without marks: a key with a single lowest counter is taken for one that has been
/// counted in the second set as soon as its counters there are not zero.
struct Published {
    primary: Plain,
    secondary: Plain,
}

impl Counter for Published {
    fn insert(&mut self, key: u64) {
        let places = self.primary.places(key, 0);
        self.primary.raise(&places, 1);
        if !self.primary.has_single_least(&places) {
            return;
        }
        let others = self.secondary.places(key, 1);
        let times = match self.secondary.least(&others) {
            0 => self.primary.least(&places),
            _ => 1,
        };
        self.secondary.raise(&others, times);
    }

    fn remove(&mut self, key: u64) {
        let places = self.primary.places(key, 0);
        self.primary.lower(&places);
        if self.primary.has_single_least(&places) {
            let others = self.secondary.places(key, 1);
            self.secondary.lower(&others);
        }
    }

    fn count(&self, key: u64) -> u64 {
        let places = self.primary.places(key, 0);
        let others = self.secondary.least(&self.secondary.places(key, 1));
        match self.primary.has_single_least(&places) && others > 0 {
            true => others,
            false => self.primary.least(&places),
        }
    }
}
