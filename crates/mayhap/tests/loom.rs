//! Every interleaving of threads on the atomic bits. Runs with `RUSTFLAGS="--cfg loom"` only.

#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use mayhap::{
    AtomicBlocked, AtomicBloom, Blocked, Bloom, Digester, Scheme, Shape,
    bits::{AtomicBitmap, Bits},
    kinds::BlockedShape,
};

#[test]
fn of_two_threads_that_set_one_bit_exactly_one_changed_it() {
    loom::model(|| {
        let bits = Arc::new(AtomicBitmap::new(64).expect("small"));
        let other = Arc::clone(&bits);
        let thread = thread::spawn(move || other.set(7));
        let here = bits.set(7);
        let there = thread.join().expect("no panic");
        assert!(here ^ there);
        assert!(bits.get(7));
    });
}

#[test]
fn bits_of_one_word_set_at_once_are_both_kept() {
    loom::model(|| {
        let bits = Arc::new(AtomicBitmap::new(64).expect("small"));
        let other = Arc::clone(&bits);
        let thread = thread::spawn(move || other.set(1));
        assert!(bits.set(2));
        assert!(thread.join().expect("no panic"));
        assert_eq!(bits.word(0), 0b110);
    });
}

#[test]
fn who_sees_a_bit_sees_what_its_setter_did_before() {
    loom::model(|| {
        let shared = Arc::new((
            AtomicBitmap::new(64).expect("small"),
            AtomicBool::new(false),
        ));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.store(true, Ordering::Relaxed);
            other.0.set(5);
        });
        if shared.0.get(5) {
            assert!(shared.1.load(Ordering::Relaxed));
        }
        thread.join().expect("no panic");
    });
}

#[test]
fn keys_inserted_at_once_are_both_there_and_one_key_is_new_to_someone() {
    loom::model(|| {
        let shape = Shape::new(64, 2).expect("valid");
        let filter = Bloom::new(shape, Scheme::default()).expect("small");
        let filter = Arc::new(AtomicBloom::from(filter));
        let other = Arc::clone(&filter);
        let thread = thread::spawn(move || other.insert("key"));
        let here = filter.insert("key");
        let there = thread.join().expect("no panic");
        assert!(here || there);
        assert!(filter.contains("key"));
    });
}

fn shared_blocked() -> Arc<AtomicBlocked> {
    let shape = BlockedShape::new(1, 2).expect("valid");
    let filter = Blocked::new(shape, Digester::default()).expect("small");
    Arc::new(AtomicBlocked::from(filter))
}

#[test]
fn a_key_inserted_into_a_line_by_two_threads_is_there_and_new_to_someone() {
    loom::model(|| {
        let filter = shared_blocked();
        let other = Arc::clone(&filter);
        let thread = thread::spawn(move || other.insert("key"));
        let here = filter.insert("key");
        let there = thread.join().expect("no panic");
        assert!(here || there);
        assert!(filter.contains("key"));
    });
}

#[test]
fn of_two_threads_that_claim_one_key_exactly_one_wins() {
    loom::model(|| {
        let filter = shared_blocked();
        let other = Arc::clone(&filter);
        let thread = thread::spawn(move || other.claim("key"));
        let here = filter.claim("key");
        let there = thread.join().expect("no panic");
        assert!(here ^ there);
        assert!(filter.contains("key"));
    });
}

#[test]
fn a_claim_is_won_once_while_another_key_is_inserted_into_its_line() {
    loom::model(|| {
        let filter = shared_blocked();
        let other = Arc::clone(&filter);
        let thread = thread::spawn(move || {
            other.insert("other");
            other.claim("key")
        });
        let here = filter.claim("key");
        let there = thread.join().expect("no panic");
        assert!(here ^ there);
    });
}

#[test]
fn of_two_threads_that_claim_one_key_of_a_standard_filter_exactly_one_wins() {
    loom::model(|| {
        let shape = Shape::new(64, 2).expect("valid");
        let filter = Bloom::new(shape, Scheme::default()).expect("small");
        let filter = Arc::new(AtomicBloom::from(filter));
        let other = Arc::clone(&filter);
        let thread = thread::spawn(move || other.claim("key"));
        let here = filter.claim("key");
        let there = thread.join().expect("no panic");
        assert!(here ^ there);
    });
}
