//! Races on shared filters, with all cores. The loom models prove small cases; these count large
//! ones.

use std::sync::Barrier;
use std::thread;

use mayhap::{
    AtomicBlocked, AtomicBloom, Blocked, Bloom, Filter, Insert,
    bits::Bits,
    kinds::{AtomicSplitBlock, SplitBlock},
};

/// At least two, so that there is a race on any machine.
fn threads() -> usize {
    thread::available_parallelism().map_or(2, |cores| cores.get().max(2)) * 2
}

/// Runs `work` in every thread at once and adds up what they return.
fn race(work: impl Fn(usize) -> u64 + Sync) -> u64 {
    let start = Barrier::new(threads());
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads())
            .map(|number| {
                let (start, work) = (&start, &work);
                scope.spawn(move || {
                    start.wait();
                    work(number)
                })
            })
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("no panic"))
            .sum()
    })
}

const KEYS: u64 = 300_000;

/// Every thread claims every key, starting at different places, half of them in batches.
#[test]
fn every_key_claimed_by_all_threads_has_exactly_one_winner() {
    let filter = AtomicBlocked::from(Blocked::with_capacity(KEYS, 1e-9).expect("valid"));

    let wins = race(|number| {
        let first = number as u64 * KEYS / threads() as u64;
        let keys: Vec<u64> = (0..KEYS).map(|i| (first + i) % KEYS).collect();
        if number % 2 == 0 {
            return keys.iter().filter(|key| filter.claim(*key)).count() as u64;
        }
        let mut won = vec![false; keys.len()];
        filter.claim_batch(&keys, &mut won);
        won.into_iter().filter(|won| *won).count() as u64
    });

    // A key is lost to a false positive with chance 10^-9: none, with this many.
    assert_eq!(wins, KEYS);
    assert!(filter.contains_all(0..KEYS));
}

#[test]
fn every_key_claimed_in_a_standard_filter_has_exactly_one_winner() {
    let filter = AtomicBloom::from(Bloom::with_capacity(KEYS, 1e-9).expect("valid"));

    let wins = race(|_| (0..KEYS).filter(|key| filter.claim(key)).count() as u64);

    assert_eq!(wins, KEYS);
}

#[test]
fn every_key_claimed_in_a_split_block_filter_has_exactly_one_winner() {
    // A tenth of the capacity: no false positive takes a win away.
    let empty = SplitBlock::with_capacity(KEYS, 1e-6).expect("valid");
    let claimed = AtomicSplitBlock::from(empty.clone());
    let inserted = AtomicSplitBlock::from(empty.clone());
    let mut alone = empty;
    alone.insert_all(0..KEYS / 10);

    let wins = race(|_| {
        let keys = 0..KEYS / 10;
        keys.filter(|key| {
            inserted.insert(key);
            claimed.claim(key)
        })
        .count() as u64
    });

    assert_eq!(wins, KEYS / 10);
    assert!(SplitBlock::from(claimed) == alone, "other bits by claiming");
    assert!(
        SplitBlock::from(inserted) == alone,
        "other bits by inserting"
    );
}

#[test]
fn inserting_from_all_threads_makes_the_filter_one_thread_would_make() {
    let filter = AtomicBlocked::from(Blocked::with_capacity(KEYS, 0.01).expect("valid"));
    let share = KEYS / threads() as u64;

    let new = race(|number| {
        let first = number as u64 * share;
        let keys: Vec<u64> = (first..first + share).collect();
        let (single, batch) = keys.split_at(keys.len() / 2);
        let mut new = vec![false; batch.len()];
        filter.insert_batch(batch, &mut new);
        let singles = single.iter().filter(|key| filter.insert(*key)).count();
        (singles + new.into_iter().filter(|new| *new).count()) as u64
    });

    let mut alone = Blocked::with_capacity(KEYS, 0.01).expect("valid");
    alone.insert_all(0..share * threads() as u64);
    assert_eq!(Blocked::from(filter), alone);
    // No more keys than there are were new, and all but those that a full filter would confuse.
    assert!(new <= KEYS && new > KEYS * 99 / 100, "{new}");
}

#[test]
fn standard_filters_filled_from_all_threads_lose_no_key() {
    let filter = AtomicBloom::from(Bloom::with_capacity(KEYS, 0.01).expect("valid"));

    race(|number| {
        (number as u64..KEYS)
            .step_by(threads())
            .filter(|key| filter.insert(key))
            .count() as u64
    });

    let mut alone = Bloom::with_capacity(KEYS, 0.01).expect("valid");
    alone.insert_all(0..KEYS);
    assert_eq!(filter.bits().count_ones(), alone.bits().count_ones());
    assert_eq!(Bloom::from(filter), alone);
}
