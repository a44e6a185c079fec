//! The cost of inserting, from an empty filter to a full one.
//!
//! Making the empty filter is not timed, nor is making the keys. Building a static filter is.

use std::rc::Rc;
use std::time::Duration;

use mayhap::Shape;
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{Block, Sample, members};
use mayhap_bench::measure::Race;
use mayhap_bench::peers::{Contender, Visit, fill, references, visit_numbers, visit_urls};
use mayhap_bench::report::{Report, count, percent};
use mayhap_lab::Light;

/// The limit that all rows are compared with.
const LIGHT: &str = "limit: line, rolling loop, read and write";

/// At 100 M keys a round takes minutes, and spreads less than one of a second does.
const ROUNDS_AT_MOST_KEYS: u64 = 100_000_000;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1_000_000, 100_000_000],
        urls: vec![1_000_000, 10_000_000],
        rates: vec![0.01],
        rounds: 5,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("insert", "ns per insert, median (least–greatest)");
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut inserts = Inserts::new(&arguments, keys, rate);
            inserts.enter_limit()?;
            visit_numbers(&mut inserts)?;
            inserts.run("u64", &mut report);
        }
        for &keys in &arguments.urls {
            let mut inserts = Inserts::new(&arguments, keys, rate);
            inserts.enter_limit()?;
            visit_urls(&mut inserts)?;
            inserts.run("URL", &mut report);
        }
    }
    report.close(arguments.record)
}

/// Inserts of `keys` keys, as they are entered.
struct Inserts<'a> {
    arguments: &'a Arguments,
    keys: u64,
    rate: f64,
    race: Race<'static>,
}

impl<'a> Inserts<'a> {
    fn new(arguments: &'a Arguments, keys: u64, rate: f64) -> Self {
        Inserts {
            arguments,
            keys,
            rate,
            race: Race::new(),
        }
    }

    fn enter_limit(&mut self) -> Result<()> {
        let mut light = Light::new(Shape::for_capacity(self.keys, self.rate)?.bits())?;
        let block = Rc::new(Vec::of(members(0..self.keys.min(u64::PER_BLOCK))));
        let pass_keys = block.count();
        let pass = move || light.write_ahead(&block);
        self.race.enter(LIGHT, "insert", pass_keys, pass);
        Ok(())
    }

    fn run(self, kind: &str, report: &mut Report) {
        let most = (ROUNDS_AT_MOST_KEYS / self.keys).max(2) as usize;
        let results = self.race.run(self.arguments.rounds.min(most));
        let title = format!("{} {kind} keys, {}", count(self.keys), percent(self.rate));
        let references = references(LIGHT, &results);
        report.add_beside(title, references, results);
    }
}

impl<K: Sample + ?Sized> Visit<K> for Inserts<'_> {
    fn visit<C: Contender<K>>(&mut self) -> Result<()> {
        if !self.arguments.takes(C::NAME) {
            return Ok(());
        }
        let (keys, rate) = (self.keys, self.rate);
        let pass = move || time_fill::<K, C>(keys, rate).expect("it could be built before");
        time_fill::<K, C>(1000, rate)?;
        self.race.enter_timed(C::NAME, "insert", keys, pass);
        Ok(())
    }
}

fn time_fill<K: Sample + ?Sized, C: Contender<K>>(keys: u64, rate: f64) -> Result<(Duration, u64)> {
    let mut filter = C::with_capacity(keys, rate)?;
    let time = fill(&mut filter, keys)?;
    Ok((time, filter.bits()))
}
