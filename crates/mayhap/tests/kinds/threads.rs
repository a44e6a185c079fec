//! Races on shared filters, with all cores. The loom models prove small cases; these count large
//! ones.

use std::sync::Barrier;
use std::thread;

use mayhap::{
    AtomicBlocked, AtomicBloom, Blocked, Bloom, Digester, Filter, Insert, Scheme, Sizing,
    bits::Bits,
    kinds::{AtomicSplitBlock, BlockedShape, SplitBlock},
};

/// At least two, so that there is a race on any machine.
fn threads() -> usize {
    thread::available_parallelism().map_or(2, |cores| cores.get().max(2)) * 2
}

/// Runs `work` in every thread at once and adds up the results.
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

/// Every thread inserts every key, starting at different places, half of them in batches.
#[test]
fn every_key_inserted_by_all_threads_has_exactly_one_winner() {
    let filter = AtomicBlocked::from(Blocked::with_capacity(KEYS, 1e-9).expect("valid"));

    let wins = race(|number| {
        let first = number as u64 * KEYS / threads() as u64;
        let keys: Vec<u64> = (0..KEYS).map(|i| (first + i) % KEYS).collect();
        if number % 2 == 0 {
            return keys.iter().filter(|key| filter.insert(*key)).count() as u64;
        }
        let mut won = vec![false; keys.len()];
        filter.insert_batch(&keys, &mut won);
        won.into_iter().filter(|won| *won).count() as u64
    });

    // A key is lost to a false positive with chance 10^-9: none, with this many.
    assert_eq!(wins, KEYS);
    assert!(filter.contains_all(0..KEYS));
}

#[test]
fn every_key_inserted_into_a_standard_filter_has_exactly_one_winner() {
    let filter = AtomicBloom::from(Bloom::with_capacity(KEYS, 1e-9).expect("valid"));

    let wins = race(|_| (0..KEYS).filter(|key| filter.insert(key)).count() as u64);

    assert_eq!(wins, KEYS);
    assert!(filter.contains_all(0..KEYS));
}

/// Its hash is not the native one, and reaches the lock of a key by another path.
#[test]
fn every_key_inserted_into_a_foreign_filter_has_exactly_one_winner() {
    let shape = Sizing::Guava.shape(KEYS / 10, 1e-9).expect("valid");
    let filter = AtomicBloom::from(Bloom::new(shape, Scheme::Guava64).expect("small"));

    let wins = race(|_| {
        let keys = 0..KEYS / 10;
        keys.filter(|key| filter.insert(key)).count() as u64
    });

    assert_eq!(wins, KEYS / 10);
    assert!(filter.contains_all(0..KEYS / 10));
}

#[test]
fn every_key_inserted_into_a_split_block_filter_has_exactly_one_winner() {
    // A tenth of the capacity: no win is lost to a false positive.
    let empty = SplitBlock::with_capacity(KEYS, 1e-6).expect("valid");
    let filter = AtomicSplitBlock::from(empty.clone());
    let mut alone = empty;
    alone.insert_all(0..KEYS / 10);

    let wins = race(|_| {
        let keys = 0..KEYS / 10;
        keys.filter(|key| filter.insert(key)).count() as u64
    });

    assert_eq!(wins, KEYS / 10);
    assert!(SplitBlock::from(filter) == alone, "other bits");
}

/// Few lines, so that the threads meet in them all the time.
#[test]
fn no_bit_is_lost_where_all_threads_write_the_same_lines() {
    let shape = BlockedShape::new(5, 8).expect("valid");
    let share = 40;
    for round in 0..1000 {
        let empty = Blocked::new(shape, Digester::Rapidhash { seed: round }).expect("small");
        let filter = AtomicBlocked::from(empty.clone());

        race(|number| {
            let keys = (number as u64 * share..).take(share as usize);
            keys.filter(|key| filter.insert(key)).count() as u64
        });

        let mut alone = empty;
        alone.insert_all(0..share * threads() as u64);
        assert!(Blocked::from(filter) == alone, "round {round}");
    }
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
    // At most every key was new, and all but those that a full filter would confuse.
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
