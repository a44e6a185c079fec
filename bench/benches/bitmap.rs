//! What does sorting integers through a bitmap save?
//!
//! Ten million integers, sorted and without repeats, by [`mayhap::sort`] and by comparing. `--keys`
//! gives the limits below which the integers lie.

use std::rc::Rc;
use std::time::{Duration, Instant};

use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::integers_below;
use mayhap_bench::measure::Race;
use mayhap_bench::report::{Report, count};

const BASELINE: &str = "sort_unstable, dedup";

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![10_000_000, 100_000_000],
        urls: vec![],
        rates: vec![],
        rounds: 7,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("bitmap", "ns per integer, median (least–greatest)");
    for &limit in &arguments.keys {
        let integers = integers_below(u32::try_from(limit)?, limit.min(10_000_000));
        let integers: Rc<[u32]> = integers.collect();
        let mut race = Race::new();
        for (name, sort) in [
            ("mayhap::sort", through_bitmap as Sort),
            (BASELINE, by_comparing),
        ] {
            let integers = integers.clone();
            let pass = move || time_sort(&integers, sort);
            race.enter_timed(name, "sort", limit.min(10_000_000), pass);
        }
        let results = race.run(arguments.rounds);
        assert_eq!(results[0].checksum, results[1].checksum, "they disagree");
        let title = format!(
            "{} integers below {}",
            count(integers.len() as u64),
            count(limit)
        );
        report.add(title, BASELINE, results);
    }
    report.close(arguments.record)
}

type Sort = fn(&mut Vec<u32>);

fn through_bitmap(integers: &mut Vec<u32>) {
    mayhap::sort(integers).expect("memory for a bit per integer below the limit");
}

fn by_comparing(integers: &mut Vec<u32>) {
    integers.sort_unstable();
    integers.dedup();
}

/// Sorts a copy, and sums the result by position so that the order counts.
fn time_sort(integers: &[u32], sort: Sort) -> (Duration, u64) {
    let mut integers = integers.to_vec();
    let start = Instant::now();
    sort(&mut integers);
    let time = start.elapsed();
    let checksum = (1_u64..)
        .zip(&integers)
        .fold(0, |sum: u64, (place, &integer)| {
            sum.wrapping_add(place.wrapping_mul(u64::from(integer)))
        });
    (time, checksum)
}
