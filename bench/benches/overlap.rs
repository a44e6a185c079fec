//! How well does the overlap of two filters tell the overlap of their keys?
//!
//! Not a timing: the mean and the standard deviation over 200 pairs of filters of 95 851 bits and 7
//! hashes. The ratio is to the truth.

use mayhap::{Bloom, Insert, Merge, Scheme, Shape, sets::Overlap};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::members;
use mayhap_bench::measure::Measurement;
use mayhap_bench::report::Report;

const PAIRS: u64 = 200;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![],
        urls: vec![],
        rates: vec![],
        rounds: 1,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new(
        "overlap",
        "keys: mean and standard deviation over 200 pairs",
    );
    for (left, right, common) in [
        (5000, 5000, 1000),
        (5000, 5000, 100),
        (8000, 2000, 500),
        (5000, 5000, 0),
        (5000, 5000, 5000),
    ] {
        let title = format!("{left} and {right} keys, {common} in both");
        report.add(title, "truth", figures(left, right, common)?);
    }
    report.close(arguments.record)
}

fn figures(left: u64, right: u64, common: u64) -> Result<Vec<Measurement>> {
    let shape = Shape::new(95_851, 7)?;
    let (mut overlaps, mut in_both) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let first = pair << 20;
        let middle = first + left - common;
        let mut one = filter(shape, first..first + left)?;
        let other = filter(shape, middle..middle + right)?;
        overlaps.push(one.overlap(&other)?);
        one.intersect(&other)?;
        in_both.push(one.stats().keys.ok_or("a full filter")?);
    }
    let told = |of: fn(&Overlap) -> f64| overlaps.iter().map(of).collect::<Vec<f64>>();
    let mut rows = vec![
        Measurement::exact("truth", "either", (left + right - common) as f64),
        Measurement::exact("truth", "both", common as f64),
    ];
    let mut add = |name: &str, group: &str, numbers: &[f64]| {
        let (mean, deviation) = mean_and_deviation(numbers);
        rows.push(Measurement::exact(name, group, mean));
        rows.push(Measurement::exact(
            &format!("{name}, deviation"),
            group,
            deviation,
        ));
    };
    add("estimate", "either", &told(Overlap::union));
    add("estimate", "both", &told(Overlap::intersection));
    add("from the bits in both", "both", &in_both);
    let (deviation, _) = mean_and_deviation(&told(Overlap::deviation));
    rows.push(Measurement::exact(
        "deviation that is told",
        "both",
        deviation,
    ));
    Ok(rows)
}

fn filter(shape: Shape, keys: std::ops::Range<u64>) -> Result<Bloom> {
    let mut filter = Bloom::new(shape, Scheme::default())?;
    filter.insert_all(members(keys));
    Ok(filter)
}

fn mean_and_deviation(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}
