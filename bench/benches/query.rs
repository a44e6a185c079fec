//! The cost of one lookup, of a key that is there and of one that is not.
//!
//! Keys are asked for one at a time, each in the loop's own code: no contender may look ahead.

use std::rc::Rc;
use std::thread;

use mayhap::{Digester, Key, Shape};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{Block, Sample, absent, member_sample};
use mayhap_bench::measure::Race;
use mayhap_bench::peers::{Contender, Visit, fill, references, visit_numbers, visit_urls};
use mayhap_bench::report::{Report, count, percent};
use mayhap_lab::Light;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1_000_000, 100_000_000],
        urls: vec![1_000_000, 10_000_000],
        rates: vec![0.01, 0.001],
        rounds: 5,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("query", "ns per lookup, median (least–greatest)");
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut lookups = Lookups::<u64>::new(&arguments, keys, rate);
            lookups.enter_limits()?;
            lookups.enter_hash();
            visit_numbers(&mut lookups)?;
            lookups.run("u64", &mut report)?;
        }
        for &keys in &arguments.urls {
            let mut lookups = Lookups::<[u8]>::new(&arguments, keys, rate);
            lookups.enter_limits()?;
            lookups.enter_hash();
            visit_urls(&mut lookups)?;
            lookups.run("URL", &mut report)?;
        }
    }
    report.close(arguments.record)
}

/// The limit that all rows are compared with.
const LIGHT: &str = "limit: line, rolling loop";

/// A pass over a line of memory per key.
type Read = fn(&Light, &[u64]) -> u64;

/// Lookups in filters of `keys` keys, as they are entered.
struct Lookups<'a, K: Sample + ?Sized> {
    arguments: &'a Arguments,
    keys: u64,
    rate: f64,
    hits: Rc<K::Block>,
    misses: Rc<K::Block>,
    race: Race<'static>,
    builds: Vec<Build>,
}

/// Waits until a filter is built on another thread, then enters its lookups.
type Build = Box<dyn FnOnce(&mut Race<'static>) -> Result<()>>;

impl<'a, K: Sample + ?Sized> Lookups<'a, K> {
    fn new(arguments: &'a Arguments, keys: u64, rate: f64) -> Self {
        Lookups {
            arguments,
            keys,
            rate,
            hits: Rc::new(K::Block::of(member_sample(keys, K::PER_BLOCK))),
            misses: Rc::new(K::Block::of(absent(0..K::PER_BLOCK))),
            race: Race::new(),
            builds: Vec::new(),
        }
    }

    /// Enters the cost of a line of memory per key, chosen by numbers whatever the keys are.
    fn enter_limits(&mut self) -> Result<()> {
        let bits = Shape::for_capacity(self.keys, self.rate)?.bits();
        let light = Rc::new(Light::new(bits)?);
        let numbers: Rc<Vec<u64>> = Rc::new(absent(0..K::PER_BLOCK).collect());
        let ways: [(&str, Read); 3] = [
            ("limit: line, plain loop", Light::read),
            (LIGHT, Light::read_ahead),
            ("limit: line, dependent", Light::read_chain),
        ];
        for (name, read) in ways {
            for group in ["hit", "miss"] {
                let (light, numbers) = (light.clone(), numbers.clone());
                let pass = move || read(&light, &numbers);
                self.race.enter(name, group, K::PER_BLOCK, pass);
            }
        }
        Ok(())
    }

    /// Waits for all filters, so that nothing else runs while lookups are timed.
    fn run(mut self, kind: &str, report: &mut Report) -> Result<()> {
        for enter in self.builds {
            enter(&mut self.race)?;
        }
        let hits = self.hits.count();
        let results = self.race.run(self.arguments.rounds);
        for result in &results {
            let whole = result.group != "hit" || result.name.starts_with("limit");
            assert!(
                whole || result.checksum == hits,
                "{} lost keys",
                result.name
            );
        }
        let title = format!("{} {kind} keys, {}", count(self.keys), percent(self.rate));
        let references = references(LIGHT, &results);
        report.add_beside(title, references, results);
        Ok(())
    }
}

impl<K: Sample + Key + ?Sized> Lookups<'_, K> {
    /// Enters the cost of hashing the keys alone, by mayhap's own hash.
    fn enter_hash(&mut self) {
        for (group, block) in [("hit", &self.hits), ("miss", &self.misses)] {
            let digester = Digester::default();
            let (block, keys) = (block.clone(), block.count());
            let pass = move || {
                let digests = block
                    .iter()
                    .map(|key| digester.digest(key.key_bytes().as_ref()));
                digests.fold(0, |sum: u64, digest| {
                    sum.wrapping_add(digest.lo ^ digest.hi)
                })
            };
            self.race.enter("limit: hash alone", group, keys, pass);
        }
    }
}

impl<K: Sample + ?Sized> Visit<K> for Lookups<'_, K> {
    fn visit<C: Contender<K>>(&mut self) -> Result<()> {
        if !self.arguments.takes(C::NAME) {
            return Ok(());
        }
        let (keys, rate) = (self.keys, self.rate);
        let build = thread::spawn(move || full_filter::<K, C>(keys, rate));
        let blocks = [("hit", self.hits.clone()), ("miss", self.misses.clone())];
        self.builds.push(Box::new(move |race| {
            let filter = build.join().map_err(|_| "a builder panicked")??;
            let filter = Rc::new(filter);
            for (group, block) in blocks {
                let (filter, keys) = (filter.clone(), block.count());
                race.enter(C::NAME, group, keys, move || filter.count(&block));
            }
            Ok(())
        }));
        Ok(())
    }
}

/// A filter of the first `keys` members. Errors become text, which can leave a thread.
fn full_filter<K: Sample + ?Sized, C: Contender<K>>(
    keys: u64,
    rate: f64,
) -> std::result::Result<C, String> {
    let mut filter = C::with_capacity(keys, rate).map_err(|error| error.to_string())?;
    fill(&mut filter, keys).map_err(|error| error.to_string())?;
    Ok(filter)
}
