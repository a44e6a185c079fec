//! The cost of a key in each kind, beside the cache lines that it touches.
//!
//! One by one and in batches, beside the *light* of the kind: one random cache line per key, in batches, in memory of
//! the same size. `÷` is the time in batches divided by the lines that the key touches, each at that cost. Inserts are
//! into a copy of the full filter, of a tenth as many new keys; kinds that are built once have *build* instead. Calls
//! go through `AnyFilter`, which costs a single lookup about a nanosecond and a batch nothing.

use std::rc::Rc;
use std::time::Instant;

use mayhap::kinds::{Cascade, Region, ShiftingAssociation, ShiftingMultiplicity};
use mayhap::{AnyFilter, Assemble as _, Digester, Filter as _, Fuse, Inserts, Kind, Ribbon};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{absent, member_sample, members};
use mayhap_bench::measure::{Measurement, Race};
use mayhap_bench::report::{Report, count, percent};
use mayhap_lab::Light;

/// The most keys of a pass.
const MOST: u64 = 1 << 20;

/// The capacity that a `scalable` filter begins with.
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
    let title = "ns per key; bits per key; ÷ of the lines at the cost of light";
    let mut report = Report::new("kinds", title);
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut table = Table::new(&arguments, keys);
            for &kind in Kind::ALL {
                if arguments.takes(kind.name()) {
                    table.enter(kind, rate)?;
                }
            }
            let title = format!("{} u64 keys, {}", count(keys), percent(rate));
            report.add(title, "", table.measurements);
        }
    }
    report.close(arguments.record)
}

/// A filter of the first `keys` members. A cascade has as many excluded keys; an association has one set.
fn filled(kind: Kind, keys: u64, rate: f64) -> Result<AnyFilter> {
    let all = members(0..keys);
    Ok(match kind {
        Kind::Fuse => Fuse::with_rate(rate, all)?.into(),
        Kind::Ribbon => Ribbon::with_rate(rate, all)?.into(),
        Kind::Cascade => Cascade::build(Digester::default(), all, absent(0..keys))?.into(),
        Kind::ShiftingAssociation => {
            let mut filter = ShiftingAssociation::with_capacity(keys, rate)?;
            for key in all {
                let _ = filter.insert_region(&key, Region::First);
            }
            filter.into()
        }
        Kind::ShiftingMultiplicity => {
            let mut filter = ShiftingMultiplicity::with_capacity(keys, rate)?;
            for key in all {
                filter.insert_times(&key, 1)?;
            }
            filter.into()
        }
        kind => {
            let capacity = if kind == Kind::Scalable { FIRST } else { keys };
            let mut filter = AnyFilter::new(&kind.plan(capacity, rate)?)?;
            filter.insert_each(all, |_| ())?;
            filter
        }
    })
}

/// The cache lines that an insert, the lookup of a member and that of an absent key touch.
#[derive(Clone, Copy)]
struct Lines {
    insert: f64,
    hit: f64,
    miss: f64,
}

impl Lines {
    /// Counts them from the lines of a member in one layer. Where each hash has a line of its own, seven of eight absent
    /// keys fail at the first three.
    fn of(filter: &AnyFilter) -> Lines {
        let known = f64::from(filter.description().cache_lines());
        // The parts of a filter that grows are its state and its layers.
        let layers = match filter.kind().inserts() {
            Inserts::Growing => filter.parts().len() - 1,
            _ => 1,
        } as f64;
        let miss = match filter.kind() {
            Kind::Bloom | Kind::Counting | Kind::Spectral | Kind::Spatial => {
                3.0 + (known - 3.0) / 8.0
            }
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

    /// Fills a filter of the kind, and adds its row.
    fn enter(&mut self, kind: Kind, rate: f64) -> Result<()> {
        let start = Instant::now();
        let filter = Rc::new(filled(kind, self.keys, rate)?);
        let build = start.elapsed().as_secs_f64() * 1e9 / self.keys as f64;
        let name = kind.name();
        let bits = filter.description().bits;
        let mut row = vec![Measurement::exact(
            name,
            "bits per key",
            bits as f64 / self.keys as f64,
        )];
        let mut race = Race::new();
        match kind.inserts() {
            Inserts::Never => row.push(Measurement::exact(name, "build", build)),
            _ => self.enter_inserts(&mut race, &filter),
        }
        self.enter_lookups(&mut race, &filter);
        let (light, keys) = (Light::new(bits)?, self.misses.clone());
        race.enter(name, "light", MOST, move || light.read_ahead(&keys));
        let (mut light, keys) = (Light::new(bits)?, self.misses.clone());
        race.enter(name, "light, change", MOST, move || {
            light.write_ahead(&keys)
        });
        row.append(&mut race.run(self.arguments.rounds));
        row.append(&mut ratios(name, Lines::of(&filter), &row));
        self.measurements.append(&mut row);
        Ok(())
    }

    fn enter_inserts(&self, race: &mut Race<'static>, filter: &Rc<AnyFilter>) {
        let name = filter.kind().name();
        let block: Vec<u64> = members(self.keys..self.keys + (self.keys / 10).min(MOST)).collect();
        let (full, keys) = (filter.clone(), block.clone());
        race.enter_timed(name, "insert", block.len() as u64, move || {
            let mut copy = (*full).clone();
            let start = Instant::now();
            let is_new = |key: &&u64| copy.insert(*key).expect("the kind inserts");
            let new = keys.iter().filter(is_new).count();
            (start.elapsed(), new as u64)
        });
        let full = filter.clone();
        race.enter_timed(name, "insert, batch", block.len() as u64, move || {
            let mut copy = (*full).clone();
            let mut new = 0;
            let start = Instant::now();
            let inserted = copy.insert_each(&block, |is_new| new += u64::from(is_new));
            inserted.expect("the kind inserts");
            (start.elapsed(), new)
        });
    }

    fn enter_lookups(&self, race: &mut Race<'static>, filter: &Rc<AnyFilter>) {
        let name = filter.kind().name();
        for (group, block) in [("hit", &self.hits), ("miss", &self.misses)] {
            let (one, keys) = (filter.clone(), block.clone());
            race.enter(name, group, MOST, move || {
                keys.iter().filter(|key| one.contains(*key)).count() as u64
            });
            let (many, keys) = (filter.clone(), block.clone());
            race.enter(name, &format!("{group}, batch"), MOST, move || {
                let mut found = 0;
                many.contains_each(keys.iter(), |is_found| found += u64::from(is_found));
                found
            });
        }
    }
}

/// The time of each operation in batches, divided by that of its lines at the cost of light.
fn ratios(name: &str, lines: Lines, row: &[Measurement]) -> Vec<Measurement> {
    let found = |group: &str| row.iter().find(|one| one.group == group);
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
        ratios.push(Measurement::exact(name, &format!("÷ {group}"), ratio));
    }
    ratios
}
