//! Removal from a counting filter: its effect on members, by absent keys, and after overflow.

use std::collections::HashMap;

use mayhap::{
    Bloom, Counting, CountingOptions, Digester, Insert, Scheme, Shape, bits::CounterWidth,
};
use proptest::prelude::*;

use crate::given::key;

fn options(width: CounterWidth) -> CountingOptions {
    CountingOptions {
        width,
        ..CountingOptions::default()
    }
}

fn filter(counters: u64, hashes: u32, width: CounterWidth) -> Counting {
    let shape = Shape::new(counters, hashes).expect("valid");
    Counting::new(shape, options(width)).expect("small")
}

/// Removes `absent` keys that were never inserted from a filter of 10 000 members, at ten counters per
/// key and seven hashes; returns how many removals were accepted, and how many members are missed afterwards.
fn harm(round: u64, absent: u64) -> (u64, u64) {
    const MEMBERS: u64 = 10_000;
    let members = || (0..MEMBERS).map(|i| key(2 * round, i));
    let mut filter = filter(10 * MEMBERS, 7, CounterWidth::Four);
    filter.insert_all(members());
    let accepted = filter.remove_all((0..absent).map(|i| key(2 * round + 1, i)));
    let missed = members().filter(|member| !filter.contains(member)).count();
    (accepted, missed as u64)
}

/// Compares the means over 50 filters. Accepted removals are a Poisson number with a mean of 8.2 (the rate) and
/// 80; each makes 4.83 members missed: `k * load * e^-load / (1 - e^-load)`, a little less when there are many.
#[test]
fn removing_absent_keys_harms_as_much_as_predicted() {
    const ROUNDS: u64 = 50;
    for (absent, accepted, missed) in [(1000, 8.2, 39.6), (10_000, 86.0, 379.0)] {
        let harms: Vec<(u64, u64)> = (0..ROUNDS).map(|round| harm(round, absent)).collect();
        let mean = |sum: u64| sum as f64 / ROUNDS as f64;
        let mean_accepted = mean(harms.iter().map(|harm| harm.0).sum());
        let mean_missed = mean(harms.iter().map(|harm| harm.1).sum());
        println!("{absent} absent keys: {mean_accepted} accepted, {mean_missed} missed");
        assert!(
            (mean_accepted / accepted - 1.0).abs() < 0.25,
            "{mean_accepted}"
        );
        assert!((mean_missed / missed - 1.0).abs() < 0.25, "{mean_missed}");
    }
}

/// One accepted absent key makes 4.8335 members missed on average. Over 2000 of them the mean is within
/// 5 of its standard deviations, of 0.05.
#[test]
fn an_accepted_absent_key_removes_five_members() {
    let (mut accepted, mut missed) = (0, 0);
    let mut round = 100;
    while accepted < 2000 {
        // Few at a time, so that they do not share their harm.
        let (more_accepted, more_missed) = harm(round, 500);
        accepted += more_accepted;
        missed += more_missed;
        round += 1;
    }
    let each = missed as f64 / accepted as f64;
    println!("{accepted} accepted, {each} missed for each");
    assert!((each - 4.8335).abs() < 0.25, "{each}");
}

/// Compares how often two positions of a key are equal with independent positions: 400 000 keys, five
/// standard deviations.
#[test]
fn positions_repeat_as_often_as_independent_ones() {
    const KEYS: u64 = 400_000;
    for (counters, hashes, share) in [
        (1024, 7, 0.020_342),
        (9586, 7, 0.002_188_8),
        (1000, 14, 0.087_359),
    ] {
        let shape = Shape::new(counters, hashes).expect("valid");
        let repeats = |i: &u64| {
            let digest = Digester::default().digest(&i.to_le_bytes());
            let mut positions: Vec<u64> = digest.probe(shape).collect();
            positions.sort();
            positions.windows(2).any(|pair| pair[0] == pair[1])
        };
        let measured = (0..KEYS).filter(repeats).count() as f64 / KEYS as f64;
        println!("{counters} counters, {hashes} hashes: {measured}");
        let deviation = (share / KEYS as f64).sqrt();
        assert!((measured - share).abs() < 5.0 * deviation, "{measured}");
    }
}

/// At capacity a counter is a Poisson number with a mean of ln 2 (here 0.6931): those of two bits
/// stick from 3 on, one in thirty. A million counters; five standard deviations.
#[test]
fn narrow_counters_stick_as_a_poisson_tail() {
    let mut filter = filter(1_000_000, 7, CounterWidth::Two);
    filter.insert_all((0..99_021).map(|i| key(7, i)));
    let load = 7.0 * 99_021.0 / 1e6_f64;
    let tail = 1.0 - (-load).exp() * (1.0 + load + load * load / 2.0);
    let measured = filter.stuck() as f64 / 1e6;
    println!("stuck: {measured}, predicted {tail}");
    assert!((measured - tail).abs() < 5.0 * (tail / 1e6).sqrt());
    assert!(measured <= filter.sticking_bound(99_021));
}

fn widths() -> impl Strategy<Value = CounterWidth> {
    proptest::sample::select(CounterWidth::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any sequence of inserts and of removals of present keys: no remaining key is missed,
    /// whether counters stick or not; and while none does, the result is the filter of the remaining keys.
    #[test]
    fn what_was_not_removed_is_there(
        width in widths(),
        counters in 50..2000_u64,
        changes in proptest::collection::vec((0..60_u8, any::<bool>()), 0..400),
    ) {
        let mut filter = filter(counters, 5, width);
        let mut there: HashMap<u8, u64> = HashMap::new();
        for (key, inserts) in changes {
            let count = there.entry(key).or_default();
            if inserts {
                filter.insert(&key);
                *count += 1;
            } else if *count > 0 {
                prop_assert!(filter.remove(&key));
                *count -= 1;
            }
        }
        there.retain(|_, count| *count > 0);
        prop_assert!(there.keys().all(|key| filter.contains(key)));
        if let Some(occurrences) = filter.occurrences() {
            prop_assert_eq!(occurrences, there.values().sum::<u64>());
            let scheme = Scheme::Native(filter.digester().clone());
            let mut bloom = Bloom::new(filter.shape(), scheme).expect("small");
            bloom.insert_all(there.keys());
            prop_assert_eq!(filter.to_bloom().expect("small"), bloom);
        }
    }

    /// A batch of removals equals the loop, in filters that are large enough to prefetch and in
    /// those that are not.
    #[test]
    fn removing_a_batch_equals_the_loop(keys in proptest::collection::vec(0..500_u16, 0..300)) {
        for counters in [1000, 1 << 25] {
            let mut looped = filter(counters, 7, CounterWidth::Four);
            looped.insert_all(0..250_u16);
            let mut batched = looped.clone();
            let expected: Vec<bool> = keys.iter().map(|key| looped.remove(key)).collect();
            let mut removed = vec![false; keys.len()];
            batched.remove_batch(&keys, &mut removed);
            prop_assert_eq!(removed, expected);
            prop_assert_eq!(batched, looped);
        }
    }
}
