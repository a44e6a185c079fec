//! The filter of the paper: the rate over all layers, what they cost, and what is in files of it.

use mayhap::file::{Build, Mapped, save};
use mayhap::format::native::{self, Metadata};
use mayhap::{
    Assemble as _, Error, Filter as _, Insert as _, Kind, Merge as _, ScalableOptions,
    bits::Bits as _, kinds::Sliced,
};

fn grown(first: u64, options: ScalableOptions, keys: u64) -> Sliced {
    let mut filter = Sliced::with_options(first, 0.01, options).expect("valid");
    filter.insert_all(0..keys);
    filter
}

/// The share of this many absent keys that are found.
fn measured(filter: &Sliced, questions: u64) -> f64 {
    let mut wrong = 0_u64;
    let absent = (1..=questions).map(|key| key << 32);
    filter.contains_each(absent, |found| wrong += u64::from(found));
    wrong as f64 / questions as f64
}

/// Keys 0 to 100 000 into a filter for 100: 400 000 questions. The rate now, which the bits tell, is at
/// most the one asked for, whatever the keys; what is measured scatters about it by the square root of the
/// number of wrong answers, and five of these are allowed.
#[test]
fn the_rate_asked_for_is_kept_after_growing_a_thousandfold() {
    const KEYS: u64 = 100_000;
    const QUESTIONS: u64 = 400_000;
    for growth in [2, 4] {
        for tightening in [5000, 7000, 8500, 9000] {
            let options = ScalableOptions { growth, tightening };
            let filter = grown(100, options, KEYS);

            let stated = filter.stats().rate;
            assert!(stated <= 0.01, "{stated} with {options:?}");
            let measured = measured(&filter, QUESTIONS);
            let slack = 5.0 * (stated / QUESTIONS as f64).sqrt();
            assert!(measured <= 0.01, "{measured} with {options:?}");
            assert!((measured - stated).abs() < slack, "{measured} for {stated}");
            assert!(filter.contains_all(0..KEYS), "{options:?}");
            assert!(filter.capacity() >= KEYS && !filter.stats().is_over_capacity());
            assert_eq!(filter.layers(), if growth == 2 { 10 } else { 6 });
        }
    }
}

/// Eight layers from 1000 keys on, full: 1 000 000 questions. The rates are those of the formula,
/// `1 - Π (1 - 2^-k)`. Five standard deviations of the answers, and a twentieth, since layers are full by their
/// keys and their ones scatter a little.
#[test]
fn full_layers_are_half_full_and_have_the_rate_of_the_formula() {
    for (tightening, formula) in [(5000, 0.007_762), (8500, 0.005_116), (9000, 0.004_143)] {
        let options = ScalableOptions {
            growth: 2,
            tightening,
        };
        let mut filter = Sliced::with_options(1000, 0.01, options).expect("valid");
        let (mut keys, mut new) = (0.., 0);
        // The ninth layer has a single key, and no part in the rate.
        while filter.layers() < 9 {
            new += u64::from(filter.insert(&keys.next().expect("no end")));
        }

        let slack = 5.0 * (formula / 1e6_f64).sqrt() + 0.05 * formula;
        let measured = measured(&filter, 1_000_000);
        assert!((measured - formula).abs() < slack, "{measured}");
        let stated = filter.stats().rate;
        assert!((stated - formula).abs() < 0.05 * formula, "{stated}");
        let parts = filter.parts();
        for (shape, bits) in filter.shapes().zip(&parts[1..9]) {
            let fill = bits.count_ones() as f64 / shape.bits() as f64;
            assert!((fill - 0.5).abs() < 0.01, "{fill}");
        }
        // A layer has its keys but for a few, where its share of the rate is hardly above 2^-k.
        assert!((254_900..=255_001).contains(&new), "{new}");
        let estimated = filter.stats().keys.expect("not saturated");
        assert!((estimated / 255_001.0 - 1.0).abs() < 0.005, "{estimated}");
    }
}

/// Of any size: small layers come in odd shapes, and one key is much of them.
#[test]
fn the_bits_never_tell_a_rate_above_the_one_asked_for() {
    for first in [1, 2, 3, 5, 8, 13] {
        for (growth, tightening) in [(2, 5000), (3, 8500), (4, 9900)] {
            let options = ScalableOptions { growth, tightening };
            let mut filter = Sliced::with_options(first, 0.1, options).expect("valid");
            for key in 0..500_u32 {
                filter.insert(&key);
                let rate = filter.stats().rate;
                assert!(rate <= 0.1, "{rate}: {key} keys after {first}, {options:?}");
            }
        }
    }
}

#[test]
fn a_layer_more_comes_with_the_first_key_past_the_capacity() {
    // One key a layer at first: always half of the bits.
    let mut filter = Sliced::with_capacity(1, 0.01).expect("valid");
    let mut layers = Vec::new();
    for key in 0..8_u32 {
        assert!(filter.insert(&key));
        assert!(!filter.insert(&key), "not a new key");
        layers.push(filter.layers());
    }
    assert_eq!(layers[..2], [1, 2]);
    assert!(layers.is_sorted() && layers[7] > 2, "{layers:?}");

    let shapes: Vec<_> = filter.shapes().collect();
    for (index, shape) in shapes.iter().enumerate() {
        assert_eq!(shape.capacity(), 1 << index);
    }
    assert_eq!(filter.capacity(), (1 << shapes.len()) - 1);
}

#[test]
fn a_batch_equals_the_loop_across_growth() {
    // Every key twice, in an order that puts repeats before and after growth.
    let keys: Vec<u64> = (0..40_000_u64).map(|i| i * 7919 % 20_000).collect();
    let mut looped = Sliced::with_capacity(100, 0.01).expect("valid");
    let expected: Vec<bool> = keys.iter().map(|key| looped.insert(key)).collect();
    for size in [1, 1000, 40_000] {
        let mut batched = Sliced::with_capacity(100, 0.01).expect("valid");
        let mut new = Vec::new();
        for batch in keys.chunks(size) {
            let mut answers = vec![false; batch.len()];
            batched.insert_batch(batch, &mut answers);
            new.append(&mut answers);
        }

        assert_eq!(new, expected, "batches of {size}");
        assert_eq!(batched, looped, "batches of {size}");
    }
    assert!(looped.layers() > 5);
}

#[test]
fn keys_go_in_where_there_is_no_memory_for_a_layer() {
    let filter = Sliced::with_capacity(1000, 0.01).expect("valid");
    let bits = filter.description().bits;
    let mut filter = filter.limited_to(2 * bits);
    filter.insert_all(0..3000_u64);

    assert_eq!(filter.layers(), 1);
    assert!(filter.contains_all(0..3000_u64));
    assert!(filter.stats().is_over_capacity());
    assert!(filter.stats().rate > 0.01, "and tells the rate it has");

    let mut filter = filter.limited_to(u64::MAX);
    filter.insert_all(3000..4000_u64);
    assert_eq!(filter.layers(), 2, "as soon as there is memory");
    assert!(filter.contains_all(0..4000_u64));
}

#[test]
fn requests_that_no_layer_can_meet_are_refused() {
    assert!(matches!(
        Sliced::with_capacity(0, 0.01),
        Err(Error::Capacity { got: 0 })
    ));
    for rate in [0.0, 1.0, -1.0, f64::NAN] {
        let refused = Sliced::with_capacity(10, rate);
        assert!(matches!(refused, Err(Error::Rate { .. })), "{rate}");
    }
    for rate in [f64::MIN_POSITIVE, 5e-324, 1e-19] {
        let refused = Sliced::with_capacity(10, rate);
        assert!(matches!(refused, Err(Error::NarrowHash { .. })), "{rate}");
    }
    for keys in [u64::MAX, (1 << 53) + 1] {
        let refused = Sliced::with_capacity(keys, 0.01);
        assert!(matches!(refused, Err(Error::TooLarge { .. })), "{keys}");
    }
    let refused = Sliced::with_capacity(1, 1e-19);
    assert!(matches!(refused, Err(Error::LowRate { .. })), "{refused:?}");
    assert_eq!(Sliced::plan(1, 4e-19).expect("possible").hashes, 64);
}

#[test]
fn clearing_gives_back_all_layers_but_the_first() {
    let mut filter = grown(100, ScalableOptions::default(), 10_000);
    filter.clear();
    let new = Sliced::with_capacity(100, 0.01).expect("valid");
    assert_eq!(filter, new);
}

#[test]
fn a_union_is_refused_and_changes_nothing() {
    let mut filter = grown(100, ScalableOptions::default(), 1000);
    let before = filter.clone();
    let error = filter.union(&before).expect_err("unsound");
    assert!(
        matches!(error, Error::Unsupported { kind: "sliced", .. }),
        "{error}"
    );
    assert_eq!(filter, before);
}

#[test]
fn a_file_goes_on_growing_where_it_was_saved() {
    for keys in [0, 1, 99, 5000, 100_000_u64] {
        let mut filter = grown(100, ScalableOptions::default(), keys);
        let mut bytes = Vec::new();
        native::write(&filter, &Metadata::default(), &mut bytes).expect("memory");
        let (read, _) = native::decode(&bytes, None).expect("whole");
        let mut read = Sliced::try_from(read).expect("the kind");
        assert_eq!(read, filter);

        filter.insert_all(keys..keys + 5000);
        read.insert_all(keys..keys + 5000);
        assert_eq!(read, filter, "{keys} keys");
    }
}

#[test]
fn a_mapped_file_answers_as_the_filter() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("filter");
    let filter = grown(100, ScalableOptions::default(), 50_000);
    save(&path, &filter, &Metadata::default()).expect("saved");

    let mapped = Mapped::open(&path, None).expect("whole");

    mapped.verify().expect("as written");
    assert_eq!(mapped.stats(), filter.stats());
    assert_eq!(mapped.description(), filter.description());
    for key in 0..200_000_u64 {
        assert_eq!(mapped.contains(&key), filter.contains(&key));
    }
}

#[test]
fn it_is_not_built_in_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = Kind::Sliced.plan(1000, 0.01).expect("valid");
    let error = Build::create(folder.path().join("filter"), &plan).expect_err("it grows");
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn a_description_that_no_filter_has_is_refused() {
    let filter = grown(100, ScalableOptions::default(), 1000);
    let described = filter.description();
    Sliced::<mayhap::Bitmap>::check(&described).expect("as it is");
    let refused = |change: fn(&mut mayhap::Description)| {
        let mut forged = described.clone();
        change(&mut forged);
        let error = Sliced::<mayhap::Bitmap>::check(&forged).expect_err("no such filter");
        let parts = filter.parts().into_iter().cloned().collect();
        assert!(Sliced::assemble(&forged, parts).is_err(), "{forged:?}");
        error
    };

    assert!(matches!(refused(|d| d.bits += 512), Error::Bits { .. }));
    assert!(matches!(refused(|d| d.bits = 0), Error::Bits { .. }));
    assert!(matches!(refused(|d| d.hashes += 1), Error::Hashes { .. }));
    // Another number of layers, none, other options, bits in between.
    assert!(matches!(
        refused(|d| d.detail += 1 << 12),
        Error::Bits { .. }
    ));
    assert!(matches!(
        refused(|d| d.detail &= !(63 << 12)),
        Error::Field { .. }
    ));
    assert!(matches!(refused(|d| d.detail += 1), Error::Bits { .. }));
    assert!(matches!(refused(|d| d.detail ^= 2), Error::Field { .. }));
    assert!(matches!(
        refused(|d| d.detail |= 1 << 11),
        Error::Field { .. }
    ));
    assert!(matches!(
        refused(|d| d.detail &= 0x3_FFFF),
        Error::Field { .. }
    ));
    assert!(matches!(
        refused(|d| d.detail |= 63 << 12),
        Error::TooLarge { .. }
    ));
    assert!(matches!(refused(|d| d.promise = None), Error::Field { .. }));
    let huge = |d: &mut mayhap::Description| {
        let promise = d.promise.as_mut().expect("there is one");
        promise.keys = u64::MAX;
    };
    assert!(matches!(refused(huge), Error::TooLarge { .. }));
}

#[test]
fn a_state_that_no_writer_makes_is_refused() {
    let filter = grown(100, ScalableOptions::default(), 1000);
    let mut parts: Vec<_> = filter.parts().into_iter().cloned().collect();
    parts[0].set_word(2, 1);
    let error = Sliced::assemble(&filter.description(), parts).expect_err("no state");
    assert!(matches!(error, Error::Field { .. }), "{error}");

    // Any counts are such that a filter may have.
    for counts in [[u64::MAX, 0], [0, u64::MAX], [u64::MAX, u64::MAX]] {
        let mut parts: Vec<_> = filter.parts().into_iter().cloned().collect();
        parts[0].set_word(0, counts[0]);
        parts[0].set_word(1, counts[1]);
        let mut forged = Sliced::assemble(&filter.description(), parts).expect("counts");
        assert!(forged.insert_bytes(b"a key that is not there"));
        assert!(forged.contains("a key that is not there"));
        assert_eq!(forged.layers(), filter.layers() + 1);
    }
}
