//! How often is a filter wrong, and how many bits does it take for that?
//!
//! Not a timing: the share of ten absent keys per key that each contender claims to hold. The ratio
//! is to mayhap's `Bloom`, whose bits per key are the textbook's.

use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{Block, Sample, absent};
use mayhap_bench::measure::Measurement;
use mayhap_bench::peers::{Contender, Native, Ours, Visit, fill, visit_numbers};
use mayhap_bench::report::{Report, count, percent};

/// How many absent keys are asked for, per key.
const ABSENT_PER_KEY: u64 = 10;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1_000_000],
        urls: vec![],
        rates: vec![0.01, 0.001],
        rounds: 1,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("rate", "measured rate in percent, and bits per key");
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut errors = Errors {
                arguments: &arguments,
                keys,
                rate,
                measurements: Vec::new(),
            };
            visit_numbers(&mut errors)?;
            let title = format!("{} u64 keys, {}", count(keys), percent(rate));
            let baseline = <Ours<Native> as Contender<u64>>::NAME;
            report.add(title, baseline, errors.measurements);
        }
    }
    report.close(arguments.record)
}

/// The errors of the contenders, as they are counted.
struct Errors<'a> {
    arguments: &'a Arguments,
    keys: u64,
    rate: f64,
    measurements: Vec<Measurement>,
}

impl<K: Sample + ?Sized> Visit<K> for Errors<'_> {
    fn visit<C: Contender<K>>(&mut self) -> Result<()> {
        if !self.arguments.takes(C::NAME) {
            return Ok(());
        }
        let mut filter = C::with_capacity(self.keys, self.rate)?;
        fill(&mut filter, self.keys)?;
        let asked = self.keys * ABSENT_PER_KEY;
        let wrong = filter.count(&K::Block::of(absent(0..asked)));
        let percent = 100.0 * wrong as f64 / asked as f64;
        let bits = filter.bits() as f64 / self.keys as f64;
        self.measurements.extend([
            Measurement::exact(C::NAME, "rate %", percent),
            Measurement::exact(C::NAME, "bits per key", bits),
        ]);
        Ok(())
    }
}
