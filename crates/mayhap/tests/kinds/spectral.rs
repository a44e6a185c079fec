//! The errors of the counts of a spectral filter, under each policy.

use std::collections::HashMap;

use mayhap::{
    Error, Insert, Merge, Shape,
    bits::CounterWidth,
    kinds::{Estimate, Spectral, SpectralOptions, SpectralPolicy},
};
use mayhap_testing::random::Random;
use proptest::prelude::*;

const POLICIES: [SpectralPolicy; 3] = [
    SpectralPolicy::MinimumSelection,
    SpectralPolicy::MinimalIncrease,
    SpectralPolicy::RecurringMinimum,
];

fn filter(counters: u64, hashes: u32, policy: SpectralPolicy, width: CounterWidth) -> Spectral {
    let shape = Shape::new(counters, hashes).expect("valid");
    let options = SpectralOptions {
        policy,
        width,
        ..SpectralOptions::default()
    };
    Spectral::new(shape, options).expect("small")
}

/// Draws `arrivals` of 1000 keys, the i-th with a probability proportional to `i^-skew`.
fn arrivals(seed: u64, skew: f64, arrivals: u64) -> Vec<u64> {
    let mut words = Random(seed << 32);
    let names: Vec<u64> = (0..1000).map(|_| words.next()).collect();
    let mut up_to = Vec::new();
    let mut sum = 0.0;
    for rank in 1..=1000 {
        sum += f64::from(rank).powf(-skew);
        up_to.push(sum);
    }
    let draw = |_| {
        let at = (words.next() >> 11) as f64 / (1_u64 << 53) as f64 * sum;
        names[up_to.partition_point(|&sum| sum <= at).min(999)]
    };
    (0..arrivals).map(draw).collect()
}

/// Returns the share of keys whose count is wrong, compared with `truth`. No count may be below the true one.
fn wrong(filter: &Spectral, truth: &HashMap<u64, u64>) -> f64 {
    let mut wrong = 0;
    for (key, &count) in truth {
        let counted = filter.count(key);
        assert!(
            counted >= count,
            "{:?}: {counted} of {count}",
            filter.policy()
        );
        wrong += u64::from(counted > count);
    }
    wrong as f64 / truth.len() as f64
}

fn counted(stream: &[u64]) -> HashMap<u64, u64> {
    let mut truth = HashMap::new();
    for key in stream {
        *truth.entry(*key).or_default() += 1;
    }
    truth
}

/// The number of primary counters of a policy when all policies have the same memory: recurring minimum
/// has half as many secondary ones.
fn primary(policy: SpectralPolicy, counters: f64) -> u64 {
    match policy {
        SpectralPolicy::RecurringMinimum => counters as u64,
        _ => (1.5 * counters) as u64,
    }
}

/// 1000 keys and 100 000 arrivals in counters of this load, by a skew: the share of wrong counts under
/// minimum selection, minimal increase and recurring minimum. The table was measured elsewhere with three seeds, which
/// give a small share to about a third; ours are means over 30 seeds, and may be 40 % off.
#[test]
fn the_share_of_wrong_counts_is_that_of_the_table() {
    const SEEDS: u64 = 30;
    for (load, skew, expected) in [
        (0.7, 0.0, [0.0090, 0.0067, 0.0170]),
        (0.7, 0.5, [0.0090, 0.0050, 0.0173]),
        (0.7, 1.0, [0.0090, 0.0040, 0.0170]),
        (0.7, 1.5, [0.0065, 0.0022, 0.0101]),
        (1.0, 0.0, [0.0290, 0.0210, 0.0577]),
        (1.0, 1.0, [0.0290, 0.0143, 0.0480]),
    ] {
        let mut means = [0.0; 3];
        for seed in 0..SEEDS {
            let stream = arrivals(seed, skew, 100_000);
            let truth = counted(&stream);
            let filters = POLICIES.map(|policy| {
                let counters = primary(policy, 5.0 * 1000.0 / load);
                let mut filter = filter(counters, 5, policy, CounterWidth::ThirtyTwo);
                filter.insert_all(&stream);
                filter
            });
            for (filter, mean) in filters.iter().zip(&mut means) {
                *mean += wrong(filter, &truth) / SEEDS as f64;
            }
            // The first two have the same counters.
            let [selection, increase, _] = &filters;
            assert!(
                truth
                    .keys()
                    .all(|key| selection.count(key) >= increase.count(key))
            );
        }
        println!("load {load}, skew {skew}: {means:.4?}, expected {expected:?}");
        for (mean, expected) in means.into_iter().zip(expected) {
            assert!(
                (mean / expected - 1.0).abs() < 0.4,
                "{mean} is not {expected}"
            );
        }
        assert!(means[1] < means[0], "minimal increase is the better one");
    }
}

/// By minimum selection a count is wrong exactly when a key would be a false positive of a Bloom filter of
/// the others: `(1 - e^-load)^hashes`. 200 filters of 1000 keys, which scatter by 17 % each from filter
/// to filter and in the sample; five standard errors, and 1 % for a filter without the key itself.
#[test]
fn minimum_selection_is_wrong_as_often_as_a_bloom_filter() {
    const FILTERS: u64 = 200;
    for (load, tolerance) in [(0.7, 0.07), (1.0, 0.05)] {
        let mut mean = 0.0;
        for seed in 0..FILTERS {
            let counters = (5000.0 / load) as u64;
            let policy = SpectralPolicy::MinimumSelection;
            let mut filter = filter(counters, 5, policy, CounterWidth::ThirtyTwo);
            let mut words = Random(seed << 32);
            let truth: HashMap<u64, u64> = (0..1000).map(|i| (words.next(), 1 + i % 9)).collect();
            for (key, &times) in &truth {
                filter.insert_many(key, times);
            }
            mean += wrong(&filter, &truth) / FILTERS as f64;
        }
        let expected = (1.0 - f64::exp(-load)).powi(5);
        println!("load {load}: {mean:.5}, expected {expected:.5}");
        assert!((mean / expected - 1.0).abs() < tolerance, "{mean}");
    }
}

/// Keeps the last 20 000 of 100 000 arrivals, removing what leaves the window; returns how many counts are
/// wrong, and the squares of the errors. No count may be below the true one.
fn window_errors(policy: SpectralPolicy, counters: f64) -> (u64, u64) {
    let (mut wrong_keys, mut squares) = (0, 0);
    for seed in 0..5 {
        let stream = arrivals(seed, 0.5, 100_000);
        let mut filter = filter(counters as u64, 5, policy, CounterWidth::ThirtyTwo);
        filter.insert_all(&stream[..20_000]);
        for (key, gone) in stream[20_000..].iter().zip(&stream) {
            filter.insert(key);
            assert!(filter.remove(gone).expect("supported"));
        }
        for (key, count) in counted(&stream[80_000..]) {
            let counted = filter.count(&key);
            assert!(counted >= count, "{policy:?}: {counted} of {count}");
            wrong_keys += u64::from(counted > count);
            squares += (counted - count).pow(2);
        }
    }
    (wrong_keys, squares)
}

/// Recurring minimum has fewer wrong counts than minimum selection in its primary counters alone,
/// and more than in all of its memory, but they are off by far less.
#[test]
fn recurring_minimum_keeps_errors_small_in_a_sliding_window() {
    const COUNTERS: f64 = 5000.0 / 0.7;
    let (alone, _) = window_errors(SpectralPolicy::MinimumSelection, COUNTERS);
    let (_, squares) = window_errors(SpectralPolicy::MinimumSelection, 1.5 * COUNTERS);

    let recurring = window_errors(SpectralPolicy::RecurringMinimum, COUNTERS);

    println!("wrong: {alone}; squares: {squares}; by recurring minimum: {recurring:?}");
    assert!(recurring.0 < alone * 3 / 4 && recurring.1 < squares / 4);
}

#[test]
fn counts_past_the_top_of_a_counter_are_reported() {
    for policy in POLICIES {
        let mut filter = filter(1000, 5, policy, CounterWidth::Eight);
        filter.insert_many("seldom", 254);
        assert_eq!(filter.estimate("seldom"), Estimate::AtMost(254));
        filter.insert_many("often", u64::MAX);
        filter.insert("often");
        assert_eq!(filter.estimate("often"), Estimate::Stuck(255));
        assert!(filter.stuck() > 0);
    }
}

#[test]
fn stuck_counters_stay_when_a_key_is_removed() {
    let mut filter = filter(
        1000,
        5,
        SpectralPolicy::MinimumSelection,
        CounterWidth::Eight,
    );
    filter.insert_many("often", 300);
    assert!(filter.remove_many("often", 300).expect("supported"));
    assert_eq!(filter.estimate("often"), Estimate::Stuck(255));
}

#[test]
fn minimal_increase_refuses_to_remove_and_names_an_alternative() {
    let mut filter = filter(
        1000,
        5,
        SpectralPolicy::MinimalIncrease,
        CounterWidth::Eight,
    );
    filter.insert("key");
    let before = filter.clone();

    let error = filter.remove("key").expect_err("unsupported");

    assert!(
        matches!(
            error,
            Error::Unsupported {
                kind: "spectral",
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(filter, before);
}

fn policies() -> impl Strategy<Value = SpectralPolicy> {
    proptest::sample::select(POLICIES.to_vec())
}

fn widths() -> impl Strategy<Value = CounterWidth> {
    proptest::sample::select(CounterWidth::ALL.to_vec())
}

/// Draws keys, each with a count.
fn counts() -> impl Strategy<Value = Vec<(u8, u64)>> {
    proptest::collection::vec((0..40_u8, 0..9_u64), 0..150)
}

/// Returns whether the filter's count of a key is allowed, for a key that was inserted this often.
fn is_enough(filter: &Spectral, key: u8, count: u64) -> bool {
    match filter.estimate(&key) {
        Estimate::AtMost(most) => most >= count,
        Estimate::Stuck(_) => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any sequence of arrivals, and of removals of present keys, in filters so small that keys collide
    /// and counters stick.
    #[test]
    fn no_count_is_below_the_true_one(
        policy in policies(),
        width in widths(),
        counters in 20..1000_u64,
        changes in proptest::collection::vec((0..40_u8, 0..9_u64, any::<bool>()), 0..300),
    ) {
        let mut filter = filter(counters, 5, policy, width);
        let mut truth: HashMap<u8, u64> = HashMap::new();
        for (key, times, inserts) in changes {
            let count = truth.entry(key).or_default();
            if inserts {
                let came = filter.contains(&key);
                prop_assert_eq!(filter.insert_many(&key, times), !came);
                *count += times;
            } else if policy != SpectralPolicy::MinimalIncrease {
                let before = filter.clone();
                let removed = filter.remove_many(&key, times).expect("supported");
                prop_assert!(removed || *count < times);
                match removed && *count >= times {
                    true => *count -= times,
                    // Refused, and unchanged; or an absent key that passed, which users must not remove.
                    false if removed => filter = before,
                    false => prop_assert_eq!(&filter, &before),
                }
            }
        }
        for (&key, &count) in &truth {
            prop_assert!(is_enough(&filter, key, count), "{} came {} times", key, count);
        }
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one(policy in policies(), counts in counts()) {
        let mut at_once = filter(500, 5, policy, CounterWidth::Sixteen);
        let mut one_by_one = at_once.clone();
        for (key, times) in counts {
            at_once.insert_many(&key, times);
            for _ in 0..times {
                one_by_one.insert(&key);
            }
        }
        prop_assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn joined_counts_are_never_too_low(
        policy in policies(),
        width in widths(),
        left in counts(),
        right in counts(),
    ) {
        let filled = |counts: &[(u8, u64)]| {
            let mut filter = filter(300, 5, policy, width);
            let mut truth = HashMap::new();
            for &(key, times) in counts {
                filter.insert_many(&key, times);
                *truth.entry(key).or_insert(0) += times;
            }
            (filter, truth)
        };
        let ((one, in_one), (two, in_two)) = (filled(&left), filled(&right));
        let (mut union, mut common) = (one.clone(), one);
        union.union(&two).expect("built alike");
        common.intersect(&two).expect("built alike");
        for key in 0..40 {
            let [one, two] = [&in_one, &in_two].map(|truth| truth.get(&key).copied().unwrap_or(0));
            prop_assert!(is_enough(&union, key, one + two), "{} came {} + {}", key, one, two);
            prop_assert!(is_enough(&common, key, one.min(two)), "{} came {}, {}", key, one, two);
        }
    }

    /// Small filters, and filters that are large enough to prefetch.
    #[test]
    fn a_batch_of_counts_equals_the_loop(policy in policies(), keys in proptest::collection::vec(0..500_u16, 0..300)) {
        for counters in [1000, 1 << 23] {
            let mut looped = filter(counters, 5, policy, CounterWidth::Eight);
            let mut batched = looped.clone();
            for key in &keys {
                looped.insert(key);
            }
            batched.insert_all(&keys);
            prop_assert_eq!(&batched, &looped);
            let asked: Vec<u16> = (0..600).collect();
            let mut counts = vec![0; asked.len()];
            batched.count_batch(&asked, &mut counts);
            let expected: Vec<u64> = asked.iter().map(|key| looped.count(key)).collect();
            prop_assert_eq!(counts, expected);
        }
    }
}
