//! Spatial filters: areas compared with the formulas. Fixed seeds, stated tolerances.

use mayhap::{
    Digester, Merge, Shape,
    kinds::{Spatial, SpatialShape},
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::given::key;

fn shape(cells: u64, hashes: u32, areas: u32) -> SpatialShape {
    let cells = Shape::new(cells, hashes).expect("valid");
    SpatialShape::new(cells, areas).expect("valid")
}

/// A sample of one number per filter: its mean, and the standard error of that.
#[derive(Default, Clone)]
struct Sample(Vec<f64>);

impl Sample {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    fn standard_error(&self) -> f64 {
        let (mean, count) = (self.mean(), self.0.len() as f64);
        let squares: f64 = self.0.iter().map(|x| (x - mean).powi(2)).sum();
        (squares / (count * (count - 1.0))).sqrt()
    }

    /// Allows three standard errors of the sample; a number so small that it hardly ever occurs is given
    /// the error of its own expectation.
    #[track_caller]
    fn assert_is(&self, expected: f64, per_filter: f64) {
        let least = (expected / (per_filter * self.0.len() as f64)).sqrt();
        let tolerance = 3.0 * self.standard_error().max(least);
        let mean = self.mean();
        assert!(
            (mean - expected).abs() <= tolerance,
            "{mean} is not {expected}"
        );
    }
}

/// Measures 500 filters of the shape, each with its own keys and 40 000 absent keys.
fn measure(cells: u64, hashes: u32, members: &[u64]) {
    const FILTERS: u64 = 500;
    const ABSENT: u64 = 40_000;
    let areas = members.len();
    let shape = shape(cells, hashes, areas as u32);
    let forecast = shape.forecast(members).expect("as many");
    let (mut rates, mut errors, mut counts) = (
        vec![Sample::default(); areas],
        vec![Sample::default(); areas],
        vec![Sample::default(); areas],
    );
    let (mut now_rates, mut now_errors) = (rates.clone(), rates.clone());
    for round in 0..FILTERS {
        let mut filter = Spatial::new(shape, Digester::default()).expect("small");
        let keys = || {
            let areas = (1..).zip(members);
            areas.flat_map(move |(area, &count)| {
                (0..count).map(move |i| (area, key(round, u64::from(area) << 20 | i)))
            })
        };
        for (area, key) in keys() {
            filter.insert_area(&key, area).expect("an area");
        }
        let mut higher = vec![0.0; areas];
        for (area, key) in keys() {
            let answer = filter.area(&key).expect("a key is never missed");
            assert!(answer >= area, "never a lower area");
            higher[area as usize - 1] += f64::from(u8::from(answer > area));
        }
        assert_eq!(higher[areas - 1], 0.0, "the highest area is always right");
        let mut claimed = vec![0.0; areas];
        for i in 0..ABSENT {
            if let Some(area) = filter.area(&key(round, 1 << 30 | i)) {
                claimed[area as usize - 1] += 1.0;
            }
        }
        for (area, now) in filter.area_stats().iter().enumerate() {
            rates[area].0.push(claimed[area] / ABSENT as f64);
            errors[area].0.push(higher[area] / members[area] as f64);
            counts[area].0.push(now.cells);
            now_rates[area].0.push(now.rate);
            now_errors[area].0.push(now.error);
        }
    }
    for (area, expected) in forecast.iter().enumerate() {
        println!(
            "area {}: rate {:.4e} of {:.4e}, error {:.4e} of {:.4e}, cells {:.2} of {:.2}",
            area + 1,
            rates[area].mean(),
            expected.rate,
            errors[area].mean(),
            expected.error,
            counts[area].mean(),
            expected.cells
        );
        rates[area].assert_is(expected.rate, ABSENT as f64);
        errors[area].assert_is(expected.error, members[area] as f64);
        counts[area].assert_is(expected.cells, f64::INFINITY);
        // The filter's own estimate is right.
        let (now, measured) = (now_rates[area].mean(), rates[area].mean());
        assert!((now - measured).abs() <= 5.0 * rates[area].standard_error().max(1e-6));
        let (now, measured) = (now_errors[area].mean(), errors[area].mean());
        assert!((now - measured).abs() <= 5.0 * errors[area].standard_error().max(1e-5));
    }
}

#[test]
fn the_first_table_is_measured() {
    measure(4096, 5, &[100; 4]);
}

#[test]
fn the_other_tables_are_measured() {
    measure(16_384, 10, &[200; 5]);
    measure(16_384, 10, &[500, 300, 200, 100, 50]);
}

/// Draws keys with an area each, of five; a key that occurs twice has the higher.
fn placed() -> impl Strategy<Value = Vec<(Vec<u8>, u32)>> {
    vec((vec(any::<u8>(), 0..3), 1..=5_u32), 0..300)
}

fn filled(keys: &[(Vec<u8>, u32)]) -> Spatial {
    let mut filter = Spatial::new(shape(1000, 4, 5), Digester::default()).expect("small");
    for (key, area) in keys {
        filter.insert_area(key, *area).expect("an area");
    }
    filter
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_key_is_answered_below_its_area_in_whatever_order(
        (keys, shuffled) in placed().prop_flat_map(|keys| (Just(keys.clone()), Just(keys).prop_shuffle()))
    ) {
        let filter = filled(&keys);
        prop_assert_eq!(&filter, &filled(&shuffled), "contents do not depend on the order");
        for (key, area) in &keys {
            prop_assert!(filter.area(key) >= Some(*area));
            filter.area_each([key], |answer| assert_eq!(answer, filter.area(key)));
            if *area == 5 {
                prop_assert_eq!(filter.area(key), Some(5));
            }
        }
    }

    #[test]
    fn a_union_is_the_filter_of_both(left in placed(), right in placed()) {
        let mut union = filled(&left);
        union.union(&filled(&right)).expect("built alike");
        prop_assert_eq!(union, filled(&[left, right].concat()));
    }
}
