//! How large is a cascade, how many levels has it, and what does it say about keys outside its universe?
//!
//! Not a timing: the figures of the literature, for this many included keys among as many times more
//! excluded ones. The ratio is to the formula of the expected size.

use mayhap::{Digester, bits::Bits as _, kinds::Cascade, shape::BLOOM_OVERHEAD};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{absent, members};
use mayhap_bench::measure::Measurement;
use mayhap_bench::report::{Report, count};

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1000, 10_000],
        urls: vec![],
        rates: vec![0.1, 1.0, 10.0, 100.0],
        rounds: 1,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new(
        "cascade",
        "bits, levels and rates; --rates are excluded keys per included one",
    );
    for &included in &arguments.keys {
        for &times in &arguments.rates {
            let excluded = (included as f64 * times).round() as u64;
            let title = format!("{} included, {} excluded", count(included), count(excluded));
            report.add(title, "formula", figures(included, excluded)?);
        }
    }
    let revoked = (11_700_000, 816_000_000 - 11_700_000);
    let planned = Cascade::plan_for(revoked.0, revoked.1)?.bits as f64;
    let rows = vec![
        Measurement::exact("formula", "MB", expected_bits(revoked.0, revoked.1) / 8e6),
        Measurement::exact("planned", "MB", planned / 8e6),
        Measurement::exact("information bound", "MB", bound(revoked.0, revoked.1) / 8e6),
    ];
    report.add(
        "11.7 M revoked of 816 M certificates".into(),
        "formula",
        rows,
    );
    report.close(arguments.record)
}

fn figures(included: u64, excluded: u64) -> Result<Vec<Measurement>> {
    let outside = members(included..included + excluded);
    let cascade = Cascade::build(Digester::default(), members(0..included), outside.clone())?;
    let errors = members(0..included)
        .filter(|key| !cascade.contains(key))
        .count()
        + outside.filter(|key| cascade.contains(key)).count();
    let unseen = absent(0..1_000_000)
        .filter(|key| cascade.contains(key))
        .count();
    let bits = cascade.bits().size() as f64;
    Ok(vec![
        Measurement::exact("formula", "bits", expected_bits(included, excluded)),
        Measurement::exact("information bound", "bits", bound(included, excluded)),
        Measurement::exact("built", "bits", bits),
        Measurement::exact("built", "levels", cascade.levels() as f64),
        Measurement::exact("built", "errors", errors as f64),
        Measurement::exact("built", "absent keys included, %", unseen as f64 / 1e4),
    ])
}

/// `1.4427 (r log2(1/f) + 2 (s f + r/2))` bits, at `f = r sqrt(1/2) / s`, a half at most.
fn expected_bits(included: u64, excluded: u64) -> f64 {
    let (r, s) = (included as f64, excluded as f64);
    let f = (r * 0.5_f64.sqrt() / s).min(0.5);
    BLOOM_OVERHEAD * (-r * f.log2() + 2.0 * (s * f + r / 2.0))
}

/// The logarithm of the number of ways to choose the included keys, by Stirling's formula.
fn bound(included: u64, excluded: u64) -> f64 {
    let (r, s) = (included as f64, excluded as f64);
    let n = r + s;
    let root = 0.5 * (n / (2.0 * std::f64::consts::PI * r * s)).log2();
    r * (n / r).log2() + s * (n / s).log2() + root
}
