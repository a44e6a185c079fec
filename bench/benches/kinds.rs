//! What does a key cost in each kind, and how many cache lines does it touch for that?
//!
//! One by one and in batches, beside the *light* of the kind: one random cache line per key, in batches, in memory of
//! the same size. `÷` is the time in batches divided by the lines that the key touches, each at that cost. Inserts are
//! into a copy of the full filter, of a tenth as many new keys.

use std::rc::Rc;
use std::time::Instant;

use mayhap::kinds::{Shifting, Sliced, Spatial, Spectral, SplitBlock};
use mayhap::{
    Assemble, Blocked, Bloom, Counting, Filter, Fuse, Insert, Ribbon, Scalable, Windowed,
};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{absent, member_sample, members};
use mayhap_bench::light::Light;
use mayhap_bench::measure::{Measurement, Race};
use mayhap_bench::report::{Report, count, percent};

/// The most keys of a pass.
const MOST: u64 = 1 << 20;

/// What a growing filter begins with.
const FIRST: u64 = 1000;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![100_000, 10_000_000],
        urls: vec![],
        rates: vec![0.01],
        rounds: 5,
        only: vec![],
        record: false,
    })?;
    let title = "ns per key; cache lines; ÷ of the lines at the cost of light";
    let mut report = Report::new("kinds", title);
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut table = Table::new(&arguments, keys);
            table.enter(
                "Bloom",
                Bloom::with_capacity(keys, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "Blocked",
                Blocked::with_capacity(keys, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "SplitBlock",
                SplitBlock::with_capacity(keys, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "Shifting",
                Shifting::with_capacity(keys, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "Counting",
                Counting::with_capacity(keys, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "Spectral",
                Spectral::with_capacity(keys, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "Spatial",
                Spatial::with_capacity(keys, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "Windowed",
                Windowed::with_capacity(keys, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "Scalable",
                Scalable::with_capacity(FIRST, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.enter(
                "Sliced",
                Sliced::with_capacity(FIRST, rate)?,
                |filter, key| filter.insert(key),
                |filter, key| filter.contains(key),
            )?;
            table.look(
                "Fuse",
                || Fuse::with_rate(rate, members(0..keys)),
                |filter, key| filter.contains(key),
            )?;
            table.look(
                "Ribbon",
                || Ribbon::with_rate(rate, members(0..keys)),
                |filter, key| filter.contains(key),
            )?;
            let title = format!("{} u64 keys, {}", count(keys), percent(rate));
            report.add(title, "", table.measurements);
        }
    }
    report.close(arguments.record)
}

/// The cache lines that an insert, the lookup of a member and that of an absent key touch.
#[derive(Clone, Copy)]
struct Lines {
    insert: f64,
    hit: f64,
    miss: f64,
}

impl Lines {
    /// Those of a filter of this many layers, in each of which a member has `known` lines. Of the kinds with a line per hash,
    /// seven of eight absent keys fail at the first three.
    fn of(name: &str, known: f64, layers: f64) -> Lines {
        let miss = match name {
            "Bloom" | "Counting" | "Spectral" | "Spatial" | "Sliced" => 3.0 + (known - 3.0) / 8.0,
            _ => known,
        };
        Lines {
            insert: known + miss * (layers - 1.0),
            hit: known + miss * (layers - 1.0),
            miss: miss * layers,
        }
    }
}

struct Table<'a> {
    arguments: &'a Arguments,
    keys: u64,
    hits: Rc<Vec<u64>>,
    misses: Rc<Vec<u64>>,
    measurements: Vec<Measurement>,
}

impl<'a> Table<'a> {
    fn new(arguments: &'a Arguments, keys: u64) -> Table<'a> {
        Table {
            arguments,
            keys,
            hits: Rc::new(member_sample(keys, MOST).collect()),
            misses: Rc::new(absent(0..MOST).collect()),
            measurements: Vec::new(),
        }
    }

    /// Fills a filter and enters its lookups and inserts, by these functions and in batches.
    fn enter<F: Insert + Assemble + Clone + 'static>(
        &mut self,
        name: &str,
        mut filter: F,
        insert: impl Fn(&mut F, &u64) -> bool + 'static,
        contains: impl Fn(&F, &u64) -> bool + Copy + 'static,
    ) -> Result<()> {
        if !self.arguments.takes(name) {
            return Ok(());
        }
        filter.insert_all(members(0..self.keys));
        let filter = Rc::new(filter);
        let block: Vec<u64> = members(self.keys..self.keys + (self.keys / 10).min(MOST)).collect();
        let mut race = Race::new();
        let (full, keys) = (filter.clone(), block.clone());
        race.enter_timed(name, "insert", block.len() as u64, move || {
            let mut copy = (*full).clone();
            let start = Instant::now();
            let new = keys.iter().filter(|key| insert(&mut copy, key)).count();
            (start.elapsed(), new as u64)
        });
        let full = filter.clone();
        race.enter_timed(name, "insert, batch", block.len() as u64, move || {
            let mut copy = (*full).clone();
            let start = Instant::now();
            let new = copy.insert_all(&block);
            (start.elapsed(), new)
        });
        self.run(name, race, filter, contains)
    }

    /// Enters the lookups of a filter that is built of its keys.
    fn look<F: Filter + Assemble + 'static>(
        &mut self,
        name: &str,
        build: impl FnOnce() -> mayhap::Result<F>,
        contains: impl Fn(&F, &u64) -> bool + Copy + 'static,
    ) -> Result<()> {
        if !self.arguments.takes(name) {
            return Ok(());
        }
        self.run(name, Race::new(), Rc::new(build()?), contains)
    }

    fn run<F: Filter + Assemble + 'static>(
        &mut self,
        name: &str,
        mut race: Race<'static>,
        filter: Rc<F>,
        contains: impl Fn(&F, &u64) -> bool + Copy + 'static,
    ) -> Result<()> {
        let description = filter.description();
        // The parts of a filter that grows are its state and its layers.
        let layers = match name {
            "Scalable" | "Sliced" => filter.parts().len() - 1,
            _ => 1,
        };
        let lines = Lines::of(name, f64::from(F::cache_lines(&description)), layers as f64);
        let bits = description.bits;
        for (group, block) in [("hit", &self.hits), ("miss", &self.misses)] {
            let (one, keys) = (filter.clone(), block.clone());
            race.enter(name, group, MOST, move || {
                keys.iter().filter(|key| contains(&one, key)).count() as u64
            });
            let (many, keys) = (filter.clone(), block.clone());
            race.enter(name, &format!("{group}, batch"), MOST, move || {
                let mut found = 0;
                many.contains_each(keys.iter(), |is_found| found += u64::from(is_found));
                found
            });
        }
        let (light, keys) = (Rc::new(Light::new(bits)?), self.misses.clone());
        let read = light.clone();
        race.enter(name, "light", MOST, move || read.read_ahead(&keys));
        let (mut writable, keys) = (Light::new(bits)?, self.misses.clone());
        race.enter(name, "light, change", MOST, move || {
            writable.write_ahead(&keys)
        });
        let mut results = race.run(self.arguments.rounds);
        let found = |group: &str| results.iter().find(|one| one.group == group);
        if let Some(hits) = found("hit") {
            assert_eq!(hits.checksum, MOST, "{name} lost keys");
        }
        let mut ratios = Vec::new();
        for (group, lines, light) in [
            ("insert", lines.insert, "light, change"),
            ("hit", lines.hit, "light"),
            ("miss", lines.miss, "light"),
        ] {
            let batch = found(&format!("{group}, batch"));
            let (Some(batch), Some(light)) = (batch, found(light)) else {
                continue;
            };
            let ratio = batch.least / (lines * light.least);
            ratios.push(Measurement::exact(name, &format!("lines, {group}"), lines));
            ratios.push(Measurement::exact(name, &format!("÷ {group}"), ratio));
        }
        results.append(&mut ratios);
        self.measurements.append(&mut results);
        Ok(())
    }
}
