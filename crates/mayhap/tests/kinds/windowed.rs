//! Filters that forget: the edges of the window, the rate at its worst moment, and their files.

use mayhap::{
    Assemble as _, Digester, Error, Filter as _, Insert, Kind, Rotation, SecretKey, Windowed,
    bits::Bits as _,
};

use crate::given::{SECRET, found, read_back};

fn by_caller(keys: u64) -> Windowed {
    Windowed::with_options(keys, 0.001, Rotation::ByCaller).expect("valid")
}

#[test]
fn none_of_the_last_keys_is_ever_missed() {
    const WINDOW: u64 = 300;
    let mut filter = Windowed::with_capacity(WINDOW, 0.01).expect("valid");
    for key in 0..5000_u64 {
        filter.insert(&key);
        let window = key.saturating_sub(WINDOW - 1)..=key;
        assert!(filter.contains_all(window), "after {key}");
    }
}

#[test]
fn repeats_do_not_shorten_the_window() {
    // Repeated keys count for the window of the last inserts, and take no room.
    const WINDOW: u64 = 300;
    let mut filter = Windowed::with_capacity(WINDOW, 0.01).expect("valid");
    let keys: Vec<u64> = (0..9000).map(|i| i * i % 701).collect();
    for (index, key) in keys.iter().enumerate() {
        filter.insert(key);
        let first = (index + 1).saturating_sub(WINDOW as usize);
        assert!(filter.contains_all(&keys[first..=index]), "after {index}");
    }
}

#[test]
fn keys_older_than_four_generations_are_forgotten() {
    // 3000 keys, of which at most 4/3 of the window are remembered, and 1 % of the others.
    let mut filter = Windowed::with_capacity(300, 0.01).expect("valid");
    filter.insert_all(0..3000_u64);
    assert!(filter.generation() >= 29);
    let old = (0..2599_u64).filter(|key| filter.contains(key)).count();
    assert!(old < 60, "{old} of 2599 are found");
}

#[test]
fn a_key_is_found_for_the_ticks_of_the_window_and_no_longer() {
    for rotations in 0..9 {
        let mut filter = by_caller(1000);
        (0..rotations).for_each(|_| filter.rotate());
        assert!(filter.insert("key"));
        for age in 0..3000 {
            assert_eq!(filter.contains("key"), age < 4, "after {age}");
            filter.rotate();
        }
    }
}

#[test]
fn inserting_again_makes_a_key_young() {
    let mut filter = by_caller(1000);
    filter.insert("key");
    for _ in 0..100 {
        (0..3).for_each(|_| filter.rotate());
        assert!(!filter.insert("key"), "still known");
    }
    (0..4).for_each(|_| filter.rotate());
    assert!(filter.insert("key"), "forgotten");
}

#[test]
fn generations_may_be_skipped_but_not_repeated() {
    for jump in [1, 3, 4, 5, 255, 256, 1024, 1 << 40] {
        let mut filter = by_caller(100);
        filter.advance_to(7);
        filter.insert("key");
        filter.advance_to(7 + jump);
        assert_eq!(filter.contains("key"), jump < 4, "after {jump}");
        assert_eq!(filter.generation(), 7 + jump);

        filter.insert("other");
        filter.advance_to(3);
        assert_eq!(filter.generation(), 7 + jump);
        assert!(filter.contains("other"));
    }
    let mut filter = by_caller(100);
    filter.advance_to(u64::MAX);
    filter.insert("key");
    filter.rotate();
    assert!(filter.contains("key") && filter.generation() == u64::MAX);
}

/// Four generations of n keys each: 20 filters of a window of 3000 keys, 20 000 lookups in each; at
/// most the rate asked for, with 5 standard deviations of slack, and not much less.
#[test]
fn the_rate_asked_for_is_kept_when_every_generation_is_full() {
    const QUESTIONS: u64 = 20_000;
    for rate in [0.05, 0.01, 0.001] {
        let mut wrong = 0_u64;
        for round in 0..20_u64 {
            let mut filter = Windowed::with_capacity(3000, rate).expect("valid");
            let key = |index: u64| (round << 40 | index).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut keys = 0..;
            // The last insert before the fifth generation begins.
            while filter.generation() < 7 || keys_of_current(&filter) < 1000 {
                filter.insert(&key(keys.next().expect("no end")));
            }
            assert_eq!(filter.generation(), 7);
            let absent = (0..QUESTIONS).map(|index| key(1 << 39 | index));
            wrong += found(&filter, absent);
            assert!(!filter.stats().is_over_capacity());
        }
        let asked = (20 * QUESTIONS) as f64;
        let measured = wrong as f64 / asked;
        // Sampling, and a spread of 5 % from filter to filter.
        let deviation = (rate / asked + (0.05 * rate).powi(2) / 20.0).sqrt();
        assert!(measured <= rate + 5.0 * deviation, "{measured} for {rate}");
        assert!(
            measured >= 0.8 * rate - 5.0 * deviation,
            "{measured} for {rate}"
        );
    }
}

/// The number of keys in the current generation: the second word of the state.
fn keys_of_current(filter: &Windowed) -> u64 {
    filter.parts()[0].word(1)
}

#[test]
fn stats_estimate_the_keys_of_all_generations_and_the_rate() {
    let mut filter = by_caller(3000);
    for generation in 0..10_u64 {
        filter.insert_all((0..1000).map(|index| generation << 32 | index));
        let stats = filter.stats();
        let expected = 1000.0 * (generation + 1).min(4) as f64;
        let keys = stats.keys.expect("not saturated");
        assert!((keys / expected - 1.0).abs() < 0.05, "{keys}");
        // 219 lines vary around the rate asked for.
        assert!(stats.rate < 0.0014, "{}", stats.rate);
        assert!(!stats.is_over_capacity());
        filter.rotate();
    }
    // Too many for one generation: none is lost, and the statistics show it.
    filter.insert_all(0..20_000_u64);
    assert!(filter.contains_all(0..20_000_u64));
    assert!(filter.stats().is_over_capacity() && filter.stats().rate > 0.1);
}

#[test]
fn a_batch_equals_the_loop_across_generations() {
    let keys: Vec<u64> = (0..5000_u64).map(|i| i * 7919 % 3001).collect();
    let mut looped = Windowed::with_capacity(500, 0.01).expect("valid");
    let mut batched = looped.clone();
    let expected: Vec<bool> = keys.iter().map(|key| looped.insert(key)).collect();
    let mut new = vec![false; keys.len()];
    batched.insert_batch(&keys, &mut new);
    assert_eq!(new, expected);
    assert_eq!(batched, looped);
}

#[test]
fn a_loaded_filter_continues_in_the_generation_it_was_saved_in() {
    for rotation in [Rotation::ByKeys, Rotation::ByCaller] {
        let digester = Digester::SipHash {
            key: SecretKey::from_bytes(*SECRET),
        };
        let mut filter = Windowed::new(300, 0.01, rotation, digester).expect("valid");
        for round in 0..12_u64 {
            filter.insert_all(round * 70..round * 70 + 70);
            if rotation == Rotation::ByCaller {
                filter.rotate();
            }
            let read = read_back(&filter);
            assert_eq!(read, filter);

            let (mut on, mut there) = (filter.clone(), read);
            on.insert_all(10_000..10_200_u64);
            there.insert_all(10_000..10_200_u64);
            assert_eq!(there, on, "round {round}");
        }
    }
}

#[test]
fn an_unknown_way_to_rotate_is_refused() {
    let mut forged = Kind::Windowed.plan(1000, 0.01).expect("valid");
    forged.detail = 2;
    let refused = mayhap::AnyFilter::new(&forged);
    assert!(matches!(refused, Err(Error::Field { .. })));
}
