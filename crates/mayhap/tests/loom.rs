//! Every interleaving of threads on the atomic bits. Runs with `RUSTFLAGS="--cfg loom"` only.

#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use mayhap::{
    AtomicBlocked, AtomicBloom, Blocked, Bloom, Digester, Scheme, Shape,
    bits::{AtomicBitmap, Bits},
    kinds::{AtomicSplitBlock, BlockedShape, SplitBlock, SplitBlockShape},
};

/// Runs two threads on one value, in every order of their steps; returns their results, and the value after them.
fn both<T, A, B>(
    value: T,
    there: impl FnOnce(&T) -> A + 'static,
    here: impl FnOnce(&T) -> B,
) -> (A, B, Arc<T>)
where
    T: Send + Sync + 'static,
    A: 'static,
{
    let value = Arc::new(value);
    let other = Arc::clone(&value);
    let thread = thread::spawn(move || there(&other));
    let here = here(&value);
    (thread.join().expect("no panic"), here, value)
}

fn bits() -> AtomicBitmap {
    AtomicBitmap::new(64).expect("small")
}

fn bloom() -> AtomicBloom {
    let shape = Shape::new(64, 2).expect("valid");
    Bloom::new(shape, Scheme::default()).expect("small").into()
}

/// One line, and so one lock, for all keys.
fn blocked() -> AtomicBlocked {
    let shape = BlockedShape::new(1, 2).expect("valid");
    Blocked::new(shape, Digester::default())
        .expect("small")
        .into()
}

/// One block, so that all keys have bits in all of its words.
fn split_block() -> AtomicSplitBlock {
    let shape = SplitBlockShape::new(1).expect("valid");
    SplitBlock::new(shape).expect("small").into()
}

#[test]
fn exactly_one_of_two_threads_that_set_one_bit_changed_it() {
    loom::model(|| {
        let (there, here, bits) = both(bits(), |bits| bits.set(7), |bits| bits.set(7));
        assert!(here ^ there);
        assert!(bits.get(7));
    });
}

#[test]
fn bits_of_one_word_set_at_once_are_both_kept() {
    loom::model(|| {
        let (there, here, bits) = both(bits(), |bits| bits.set(1), |bits| bits.set(2));
        assert!(here && there);
        assert_eq!(bits.word(0), 0b110);
    });
}

#[test]
fn a_thread_that_sees_a_bit_sees_what_its_setter_did_before() {
    loom::model(|| {
        let shared = (bits(), AtomicBool::new(false));
        both(
            shared,
            |(bits, done)| {
                done.store(true, Ordering::Relaxed);
                bits.set(5);
            },
            |(bits, done)| assert!(!bits.get(5) || done.load(Ordering::Relaxed)),
        );
    });
}

#[test]
fn exactly_one_of_two_threads_that_insert_one_key_wins() {
    loom::model(|| {
        let insert = |filter: &AtomicBlocked| filter.insert("key");
        let (there, here, filter) = both(blocked(), insert, insert);
        assert!(here ^ there);
        assert!(filter.contains("key"));
    });
}

#[test]
fn a_key_is_won_once_while_another_is_inserted_into_its_line() {
    loom::model(|| {
        let (there, here, _) = both(
            blocked(),
            |filter| {
                filter.insert("other");
                filter.insert("key")
            },
            |filter| filter.insert("key"),
        );
        assert!(here ^ there);
    });
}

#[test]
fn two_keys_inserted_into_one_line_at_once_are_both_there() {
    loom::model(|| {
        let (there, here, filter) = both(
            blocked(),
            |filter| filter.insert("left"),
            |filter| filter.insert("right"),
        );
        assert!(here && there, "the keys have no bit in common");
        assert!(filter.contains("left") && filter.contains("right"));
        assert_eq!(filter.bits().count_ones(), 4);
    });
}

/// Holds whether it won or lost, and whether or not it took the lock to find out.
#[test]
fn a_key_is_there_for_a_thread_whose_insert_has_returned() {
    loom::model(|| {
        let (_, there_now, _) = both(
            blocked(),
            |filter| filter.insert("key"),
            |filter| {
                filter.insert("key");
                filter.contains("key")
            },
        );
        assert!(there_now);
    });
}

#[test]
fn a_key_is_there_for_a_thread_that_learns_that_its_insert_has_returned() {
    loom::model(|| {
        let shared = (blocked(), AtomicBool::new(false));
        both(
            shared,
            |(filter, returned)| {
                filter.insert("key");
                returned.store(true, Ordering::Release);
            },
            |(filter, returned)| {
                assert!(!returned.load(Ordering::Acquire) || filter.contains("key"))
            },
        );
    });
}

#[test]
fn a_thread_that_finds_a_key_sees_what_its_inserter_did_before() {
    loom::model(|| {
        let shared = (blocked(), AtomicBool::new(false));
        both(
            shared,
            |(filter, done)| {
                done.store(true, Ordering::Relaxed);
                filter.insert("key");
            },
            |(filter, done)| assert!(!filter.contains("key") || done.load(Ordering::Relaxed)),
        );
    });
}

#[test]
fn exactly_one_of_two_threads_that_insert_one_key_into_a_standard_filter_wins() {
    loom::model(|| {
        let insert = |filter: &AtomicBloom| filter.insert("key");
        let (there, here, filter) = both(bloom(), insert, insert);
        assert!(here ^ there);
        assert!(filter.contains("key"));
    });
}

#[test]
fn two_keys_inserted_into_a_standard_filter_at_once_are_both_there() {
    loom::model(|| {
        let (_, _, filter) = both(
            bloom(),
            |filter| filter.insert("left"),
            |filter| filter.insert("right"),
        );
        assert!(filter.contains("left") && filter.contains("right"));
    });
}

#[test]
fn exactly_one_of_two_threads_that_insert_one_key_into_a_split_block_filter_wins() {
    loom::model(|| {
        let insert = |filter: &AtomicSplitBlock| filter.insert("key");
        let (there, here, filter) = both(split_block(), insert, insert);
        assert!(here ^ there);
        assert!(filter.contains("key"));
    });
}

#[test]
fn two_keys_inserted_into_a_split_block_filter_at_once_are_both_there() {
    loom::model(|| {
        let (_, _, filter) = both(
            split_block(),
            |filter| filter.insert("left"),
            |filter| filter.insert("right"),
        );
        assert!(filter.contains("left") && filter.contains("right"));
    });
}
