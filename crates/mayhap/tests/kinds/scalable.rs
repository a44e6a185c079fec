//! Filters that grow: the rate over all layers, their memory, and their files.

use mayhap::{Assemble as _, Blocked, Error, Filter as _, Insert as _, Scalable, ScalableOptions};
use mayhap_testing::forge;

use crate::given::{decoded, encoded, found, read_back};

fn grown(first: u64, options: ScalableOptions, keys: u64) -> Scalable {
    let mut filter = Scalable::with_options(first, 0.01, options).expect("valid");
    filter.insert_all(0..keys);
    filter
}

/// Keys 0 to 100 000 into a filter for 100: 200 000 lookups, 5 standard deviations of slack.
#[test]
fn the_rate_asked_for_is_kept_after_growing_a_thousandfold() {
    const KEYS: u64 = 100_000;
    const QUESTIONS: u64 = 200_000;
    let most = 0.01 + 5.0 * (0.01 / QUESTIONS as f64).sqrt();
    for growth in [2, 4] {
        for tightening in [5000, 7000, 8500, 9000] {
            let options = ScalableOptions { growth, tightening };
            let filter = grown(100, options, KEYS);

            let absent = (KEYS..KEYS + QUESTIONS).map(|key| key << 32);
            let measured = found(&filter, absent) as f64 / QUESTIONS as f64;
            println!("growth {growth}, tightening {tightening}: measured {measured:.5}");
            assert!(measured <= most, "{measured} with {options:?}");
            // The rate now follows from the bits, layer by layer: within a fifth of the measured rate.
            let stated = filter.stats().rate;
            assert!(
                (measured / stated - 1.0).abs() < 0.2,
                "{measured} for {stated}"
            );
            assert!(filter.contains_all(0..KEYS));
            assert!(filter.layers() > 2 && filter.capacity() >= KEYS);
        }
    }
}

#[test]
fn full_layers_have_less_than_twice_the_bits_of_one_of_the_right_size() {
    for keys in [5_000, 100_000, 2_000_000] {
        let filter = grown(1000, ScalableOptions::default(), keys);
        let right = Blocked::plan(filter.capacity(), 0.01).expect("valid");
        let ratio = filter.stats().bits as f64 / right.bits as f64;
        println!("{keys} keys: {ratio:.3} times the bits of the right size");
        assert!(ratio < 1.7, "{ratio} at {keys}");
    }
}

#[test]
fn the_first_key_past_the_capacity_adds_a_layer() {
    let mut filter = Scalable::with_capacity(1000, 0.01).expect("valid");
    let capacity = filter.capacity();
    let mut keys = 0..;

    // Keys that are wrongly found take no room.
    let mut inserted = 0;
    while inserted < capacity {
        inserted += u64::from(filter.insert(&keys.next().expect("no end")));
    }
    assert_eq!(filter.layers(), 1);
    assert!(!filter.insert(&0) && filter.layers() == 1, "not a new key");
    assert!(!filter.stats().is_over_capacity());

    while !filter.insert(&keys.next().expect("no end")) {}
    assert_eq!(filter.layers(), 2);
    assert!(filter.capacity() > 10 * capacity);
}

#[test]
fn a_batch_equals_the_loop_across_growth() {
    // Every key twice, in an order that puts repeats before and after growth.
    let keys: Vec<u64> = (0..40_000_u64).map(|i| i * 7919 % 20_000).collect();
    let mut looped = Scalable::with_capacity(100, 0.01).expect("valid");
    let expected: Vec<bool> = keys.iter().map(|key| looped.insert(key)).collect();
    for size in [1, 100, 1000, 40_000] {
        let mut batched = Scalable::with_capacity(100, 0.01).expect("valid");
        let mut new = Vec::new();
        for batch in keys.chunks(size) {
            let mut answers = vec![false; batch.len()];
            batched.insert_batch(batch, &mut answers);
            new.append(&mut answers);
        }

        assert_eq!(new, expected, "batches of {size}");
        assert_eq!(batched, looped, "batches of {size}");
    }
    assert!(looped.layers() > 2);
}

#[test]
fn keys_are_inserted_without_memory_for_a_layer() {
    let filter = Scalable::with_capacity(1000, 0.01).expect("valid");
    let bits = filter.stats().bits;
    let mut filter = filter.limited_to(2 * bits);
    let mut batched = filter.clone();
    for key in 0..20_000_u64 {
        filter.insert(&key);
    }
    batched.insert_all(0..20_000_u64);

    assert_eq!(filter.layers(), 1);
    assert!((0..20_000_u64).all(|key| filter.contains(&key)));
    assert!(filter.stats().is_over_capacity());
    assert!(filter.stats().rate > 0.01, "and tells the rate it has");
    assert_eq!(batched, filter);
}

#[test]
fn clearing_gives_back_all_layers_but_the_first() {
    let mut filter = grown(100, ScalableOptions::default(), 10_000);
    filter.clear();
    let new = Scalable::with_capacity(100, 0.01).expect("valid");
    assert_eq!(filter, new);
}

#[test]
fn invalid_requests_are_refused() {
    let options = ScalableOptions::default();
    let none = Scalable::with_options(0, 0.01, options);
    assert!(matches!(none, Err(Error::Capacity { got: 0 })));
    for rate in [0.0, -0.1, 1.0, f64::INFINITY, f64::NAN] {
        let refused = Scalable::with_options(1000, rate, options);
        assert!(matches!(refused, Err(Error::Rate { .. })), "{rate}");
    }
}

#[test]
fn a_loaded_filter_continues_to_grow_where_it_was_saved() {
    for keys in [0, 1, 99, 5000, 100_000_u64] {
        let mut filter = grown(100, ScalableOptions::default(), keys);
        let mut read = read_back(&filter);
        assert_eq!(read, filter);

        filter.insert_all(keys..keys + 5000);
        read.insert_all(keys..keys + 5000);
        assert_eq!(read, filter, "{keys} keys");
    }
}

#[test]
fn a_fixed_filter_that_was_allowed_to_grow_is_read_back_from_its_file() {
    let mut fixed = Blocked::with_capacity(1000, 0.01).expect("valid");
    fixed.insert_all(0..500_u64);
    let filter = Scalable::from_blocked(fixed).expect("not over capacity");

    assert_eq!(read_back(&filter), filter);
}

#[test]
fn a_state_that_no_writer_makes_is_refused() {
    let filter = grown(100, ScalableOptions::default(), 1000);
    let mut parts: Vec<_> = filter.parts().into_iter().cloned().collect();
    parts[0].set_word(7, 1);
    let error = Scalable::assemble(&filter.description(), parts).expect_err("no state");
    assert!(matches!(error, Error::Field { .. }), "{error}");

    // A filter may have any count.
    let mut parts: Vec<_> = filter.parts().into_iter().cloned().collect();
    parts[0].set_word(0, u64::MAX);
    let mut forged = Scalable::assemble(&filter.description(), parts).expect("a count");
    assert!(forged.insert_bytes(b"a key that is not there"));
    assert!(forged.contains("a key that is not there"));
}

#[test]
fn a_forged_growth_is_refused_before_it_takes_memory() {
    // No writer makes it, and its checksums fit: one more key turned 6.5 KB into 324 MB.
    let mut filter = Scalable::with_capacity(3000, 0.01).expect("valid");
    filter.insert_all(0..3000_u64);
    let mut bytes = encoded(&filter);
    let detail = u32::from_le_bytes(bytes[36..40].try_into().expect("4 bytes"));
    for forged in [
        detail | 0xFFF,                 // growth 15, and 15 leaps to the power 4
        detail & !0xFF0 | 0xFF0,        // leaps without end
        detail & 0x3_FFFF | 1 << 18,    // a ten-thousandth of the rate in every layer
        detail & 0x3_FFFF | 4999 << 18, // and just below a half
    ] {
        bytes[36..40].copy_from_slice(&forged.to_le_bytes());

        let error =
            decoded(&forge::forged(&bytes).expect("a header")).expect_err("no writer makes it");

        assert!(matches!(error, Error::Field { .. }), "{error}");
    }
}

#[test]
fn one_more_key_takes_a_bounded_multiple_of_the_memory() {
    for growth in [2, 3, 4, 5, 15] {
        let options = ScalableOptions {
            growth,
            ..ScalableOptions::default()
        };
        let mut filter = grown(1000, options, 1000);
        let mut before = filter.description().bits;
        for key in 1000..30_000_u64 {
            filter.insert(&key);
            let after = filter.description().bits;
            assert!(after <= 257 * before, "{before} to {after}: {growth}");
            before = after;
        }
    }
}
