//! The coverage of "as predicted": 95 % of true predictions, for every kind.
//!
//! Each seed draws other keys, fills a filter and looks up keys; the share of seeds whose count is in the range is the
//! coverage. With `MAYHAP_SEEDS=2000`, which takes some minutes, it must be 93 to 97 %: one standard deviation is 0.5
//! %. In the suite 200 seeds have one of 1.5 %, and four of them are allowed, and 1 % for the spread being known to 1.4
//! %: 88 % at least.

use std::env;

use mayhap::{Description, Filter as _, Inserts, Kind};
use mayhap_lab::{Expected, filled, spreads};

/// The lookups of each seed: enough that the spread among filters is the larger part.
const QUESTIONS: u64 = 40_000;

/// A key of a seed: SplitMix64.
fn key(seed: u64, index: u64) -> u64 {
    mayhap::hash::mix(
        mayhap::hash::mix(seed).wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
    )
}

fn seeds() -> u64 {
    let seeds = env::var("MAYHAP_SEEDS").ok();
    seeds.map_or(200, |text| text.parse().expect("MAYHAP_SEEDS is a number"))
}

/// Describes the filter of a kind; a cascade has as many excluded keys as included ones.
fn plan(kind: Kind, keys: u64, rate: f64) -> mayhap::Result<Description> {
    match kind {
        Kind::Cascade => mayhap::kinds::Cascade::plan_for(keys, keys),
        _ => kind.plan(keys, rate),
    }
}

/// Counts the seeds whose number of false positives is in the range.
fn covered(kind: Kind, keys: u64, rate: f64, load: f64) -> u64 {
    let description = plan(kind, keys, rate).expect("valid");
    let spread = spreads(|keys| plan(kind, keys, rate), keys, &[load]).expect("small")[0];
    let members = (keys as f64 * load) as u64;
    let mean = description.predicted_rate(members).expect("a formula");
    let expected = Expected {
        rate: mean,
        spread: spread * mean,
    };
    let range = expected.range(QUESTIONS);
    let inside = |seed: &u64| {
        let draw = |first: u64, count: u64| -> Vec<u64> {
            (first..first + count)
                .map(|index| key(*seed, index))
                .collect()
        };
        let filter = filled(&description, &draw(0, members), &draw(1 << 40, members));
        let mut wrong = 0;
        let questions = (0..QUESTIONS).map(|index| key(*seed, index | 1 << 41));
        filter
            .expect("small")
            .contains_each(questions, |found| wrong += u64::from(found));
        range.contains(&wrong)
    };
    (0..seeds()).filter(inside).count() as u64
}

#[test]
fn as_predicted_is_a_test_of_95_per_cent_for_every_kind() {
    let seeds = seeds();
    let (least, most) = match seeds {
        2000.. => (0.93, 0.97),
        _ => (0.88, 1.0),
    };
    let mut wrong = Vec::new();
    for &kind in Kind::ALL {
        for (rate, load) in [(0.1, 1.0), (0.01, 1.0), (0.01, 0.75), (0.01, 2.0)] {
            let is_static = kind.inserts() == Inserts::Never;
            if is_static && load != 1.0 || kind == Kind::Windowed && load > 1.0 {
                continue;
            }
            let share = covered(kind, 1000, rate, load) as f64 / seeds as f64;
            println!(
                "{kind} at {rate}, {load} of its capacity: {:.1} %",
                share * 100.0
            );
            if !(least..=most).contains(&share) {
                wrong.push(format!("{kind} at {rate}, load {load}: {share}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Checks that a prediction that is off by three standard deviations is noticed.
#[test]
fn a_wrong_prediction_is_not_as_predicted() {
    let (rate, spread) = (0.01, 0.0006);
    let deviation = (rate / QUESTIONS as f64 + spread * spread).sqrt();
    let events = ((rate + 3.0 * deviation) * QUESTIONS as f64) as u64;
    assert!(!Expected { rate, spread }.range(QUESTIONS).contains(&events));
}
