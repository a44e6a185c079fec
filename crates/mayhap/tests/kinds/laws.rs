//! The laws that every kind of filter keeps. A new kind adds one line at the bottom.
//!
//! Each law is a function over the traits, so that it can be read once and holds for all.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;

use mayhap::format::native;
use mayhap::hash::MessageDigest;
use mayhap::{
    AnyFilter, Assemble, Blocked, Bloom, Counting, CountingOptions, Cuckoo, CuckooOptions,
    Digester, Filter, Fuse, Insert, Merge, Remove, Result, Ribbon, Rotation, Scalable,
    ScalableOptions, Scheme, SecretKey, Shape, Sizing, Windowed,
    bits::CounterWidth,
    kinds::{
        BlockedShape, Cascade, Guarded, Region, Shifting, ShiftingAssociation,
        ShiftingMultiplicity, ShiftingShape, Spatial, SpatialShape, Spectral, SpectralOptions,
        SpectralPolicy,
    },
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::given::{SECRET, decoded, encoded};

/// A way to make an empty filter for a capacity and a rate.
type Make<F> = fn(u64, f64) -> Result<F>;
type Keys = Vec<Vec<u8>>;

const CAPACITY: u64 = 400;
const RATE: f64 = 0.01;

fn keyed() -> Digester {
    let key = SecretKey::from_bytes(*SECRET);
    Digester::SipHash { key }
}

/// Runs `law` on many generated inputs, the same ones every time.
#[track_caller]
fn check<S: Strategy>(inputs: S, law: impl Fn(S::Value) -> std::result::Result<(), TestCaseError>) {
    let config = Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    };
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let outcome = TestRunner::new_with_rng(config, seed).run(&inputs, law);
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn keys() -> impl Strategy<Value = Keys> {
    vec(vec(any::<u8>(), 0..40), 0..200)
}

fn filled<F: Insert>(make: Make<F>, keys: &Keys) -> F {
    let mut filter = make(CAPACITY, RATE).expect("a valid request");
    for key in keys {
        filter.insert_bytes(key);
    }
    filter
}

fn slices(keys: &Keys) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}

fn no_inserted_key_is_ever_missed<F: Insert>(make: Make<F>) {
    check(keys(), |keys| {
        let filter = filled(make, &keys);
        prop_assert!(keys.iter().all(|key| filter.contains_bytes(key)));
        Ok(())
    });
}

fn an_empty_filter_holds_nothing<F: Insert>(make: Make<F>) {
    check(keys(), |keys| {
        let filter = filled(make, &Keys::new());
        prop_assert!(!keys.iter().any(|key| filter.contains_bytes(key)));
        prop_assert_eq!((filter.stats().ones, filter.stats().rate), (0, 0.0));
        Ok(())
    });
}

fn a_key_is_new_exactly_when_it_was_not_contained<F: Insert>(make: Make<F>) {
    check(keys(), |keys| {
        let mut filter = filled(make, &Keys::new());
        for key in &keys {
            let contained = filter.contains_bytes(key);
            prop_assert_eq!(filter.insert_bytes(key), !contained);
        }
        Ok(())
    });
}

fn inserting_again_changes_nothing<F: Insert + Clone + PartialEq + Debug>(make: Make<F>) {
    check(keys(), |keys| {
        let once = filled(make, &keys);
        let mut twice = once.clone();
        for key in &keys {
            prop_assert!(!twice.insert_bytes(key));
        }
        prop_assert_eq!(once, twice);
        Ok(())
    });
}

fn a_batch_equals_the_loop<F: Insert + Clone + PartialEq + Debug>(make: Make<F>) {
    check((keys(), keys()), |(inserted, asked)| {
        let mut looped = filled(make, &Keys::new());
        let mut batched = looped.clone();

        let expected: Vec<bool> = inserted
            .iter()
            .map(|key| looped.insert_bytes(key))
            .collect();
        let mut new = vec![false; inserted.len()];
        batched.insert_bytes_batch(&slices(&inserted), &mut new);
        prop_assert_eq!(new, expected);
        prop_assert_eq!(&looped, &batched);

        let all: Keys = inserted.into_iter().chain(asked).collect();
        let expected: Vec<bool> = all.iter().map(|key| looped.contains_bytes(key)).collect();
        let mut found = vec![false; all.len()];
        batched.contains_bytes_batch(&slices(&all), &mut found);
        prop_assert_eq!(found, expected);
        Ok(())
    });
}

fn a_union_equals_inserting_both<F>(make: Make<F>)
where
    F: Insert + Merge + Clone + PartialEq + Debug,
{
    check((keys(), keys()), |(left, right)| {
        let mut union = filled(make, &left);
        union.union(&filled(make, &right)).expect("built alike");
        let both = filled(make, &left.into_iter().chain(right).collect());
        prop_assert_eq!(union, both);
        Ok(())
    });
}

fn a_union_with_itself_changes_nothing<F>(make: Make<F>)
where
    F: Insert + Merge + Clone + PartialEq + Debug,
{
    check(keys(), |keys| {
        let filter = filled(make, &keys);
        let mut union = filter.clone();
        union.union(&filter).expect("built alike");
        prop_assert_eq!(union, filter);
        Ok(())
    });
}

fn filters_of_other_sizes_do_not_join<F>(make: Make<F>)
where
    F: Insert + Merge + Clone + PartialEq + Debug,
{
    let mut filter = filled(make, &vec![b"key".to_vec()]);
    let before = filter.clone();
    let other = make(CAPACITY * 3, RATE).expect("a valid request");

    let error = filter.union(&other).expect_err("another shape");

    assert!(
        matches!(error, mayhap::Error::Incompatible { .. }),
        "{error}"
    );
    assert_eq!(filter, before);
}

/// At capacity the measured rate is at most the rate asked for (foreign rules round their hashes
/// and may miss it by a few per cent), with 5 standard deviations of slack: 20 filters of 2000 keys
/// and 50 000 lookups each.
fn the_rate_asked_for_is_kept<F: Insert>(make: Make<F>) {
    const KEYS: u64 = 2000;
    const QUESTIONS: u64 = 50_000;
    const FILTERS: u64 = 20;
    let mut wrong = 0_u64;
    for round in 0..FILTERS {
        let mut filter = make(KEYS, RATE).expect("a valid request");
        let key = |i: u64| format!("{round}:{i}").into_bytes();
        for i in 0..KEYS {
            filter.insert_bytes(&key(i));
        }
        wrong += (KEYS..KEYS + QUESTIONS)
            .filter(|&i| filter.contains_bytes(&key(i)))
            .count() as u64;
    }
    let asked = (FILTERS * QUESTIONS) as f64;
    // Sampling, and the spread of 3 % from filter to filter at this size.
    let deviation = (RATE / asked + (0.03 * RATE).powi(2) / FILTERS as f64).sqrt();
    let measured = wrong as f64 / asked;
    assert!(measured <= 1.03 * RATE + 5.0 * deviation, "{measured}");
    assert!(
        measured >= 0.3 * RATE,
        "{measured}: more memory than the rate needs"
    );
}

/// The number of keys is estimated within 5 standard deviations, taken as sqrt(keys), and a filter
/// past its capacity has a rate above the one asked for, and says so.
fn stats_tell_the_truth<F: Insert>(make: Make<F>) {
    let mut filter = make(CAPACITY, RATE).expect("a valid request");
    let mut distinct = HashSet::new();
    for i in 0..3 * CAPACITY {
        filter.insert_bytes(&i.to_be_bytes());
        distinct.insert(i);
        let count = distinct.len() as f64;
        let stats = filter.stats();
        let keys = stats.keys.expect("not saturated");
        assert!(
            (keys - count).abs() <= 5.0 * count.sqrt() + 3.0,
            "{keys} for {count}"
        );
    }
    let stats = filter.stats();
    assert!(stats.rate > 10.0 * RATE);
    assert_eq!(stats.is_over_capacity(), stats.promise.is_some());
}

fn decoding_what_was_encoded_gives_it_back<F>(filled: impl Fn(&Keys) -> F)
where
    F: Assemble + Into<AnyFilter>,
{
    check(keys(), |keys| {
        let filter = filled(&keys);
        let bytes = encoded(&filter);
        let read = decoded(&bytes).expect("whole");
        prop_assert_eq!(encoded(&read), bytes);
        prop_assert_eq!(read, filter.into());
        Ok(())
    });
}

/// Changes any bytes of a file, or cuts off its end: an error, and never a panic. With the header's
/// checksum made to fit again, as an attacker would: an error or another filter.
fn damaged_bytes_never_panic<F: Assemble>(filled: impl Fn(&Keys) -> F) {
    let changes = || vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4);
    let cut = any::<prop::sample::Index>();
    check(
        (keys(), changes(), changes(), cut),
        |(keys, anywhere, in_header, cut)| {
            let whole = encoded(&filled(&keys));

            let mut damaged = whole.clone();
            for (index, flips) in &anywhere {
                damaged[index.index(whole.len())] ^= flips;
            }
            prop_assert!(damaged == whole || decoded(&damaged).is_err());
            prop_assert!(decoded(&whole[..cut.index(whole.len())]).is_err());

            let mut forged = whole.clone();
            for (index, flips) in &in_header {
                forged[8 + index.index(48)] ^= flips;
            }
            let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..56]);
            forged[56..64].copy_from_slice(&checksum.to_le_bytes());
            if let Ok(filter) = decoded(&forged) {
                prop_assert!(encoded(&filter) == forged);
            }
            let _ = native::read(&forged[..], None);
            Ok(())
        },
    );
}

/// Draws few keys, many times each: those that stay and those that are removed again.
fn repeated_keys() -> impl Strategy<Value = (Keys, Keys)> {
    let few = || vec(vec(any::<u8>(), 0..2), 0..100);
    (few(), few())
}

fn a_key_stays_until_it_is_removed_as_often<F: Insert + Remove>(make: Make<F>) {
    check(repeated_keys(), |(left, removed)| {
        let mut filter = filled(make, &left.iter().chain(&removed).cloned().collect());
        for key in &removed {
            prop_assert!(filter.remove_bytes(key).expect("supported"), "{:?}", key);
        }
        prop_assert!(left.iter().all(|key| filter.contains_bytes(key)));
        Ok(())
    });
}

/// Holds as long as no counter sticks: each key occurs at most twice.
fn removing_what_was_inserted_undoes_it<F>(make: Make<F>)
where
    F: Insert + Remove + PartialEq + Debug,
{
    check((keys(), keys()), |(mut left, mut removed)| {
        for keys in [&mut left, &mut removed] {
            keys.sort();
            keys.dedup();
        }
        let mut filter = filled(make, &left.iter().chain(&removed).cloned().collect());
        for key in &removed {
            prop_assert!(filter.remove_bytes(key).expect("supported"), "{:?}", key);
        }
        prop_assert_eq!(filter, filled(make, &left));
        Ok(())
    });
}

fn a_refused_removal_changes_nothing<F>(make: Make<F>)
where
    F: Insert + Remove + Clone + PartialEq + Debug,
{
    check((keys(), keys()), |(inserted, absent)| {
        let mut filter = filled(make, &inserted);
        for key in &absent {
            let before = filter.clone();
            if !filter.remove_bytes(key).expect("supported") {
                prop_assert!(!before.contains_bytes(key) || !inserted.contains(key));
                prop_assert_eq!(&filter, &before);
            }
        }
        Ok(())
    });
}

/// The laws of all kinds, whether they hold a key once or several times, and have a size or grow.
fn keeps_the_common_laws<F>(make: Make<F>)
where
    F: Insert + Clone + PartialEq + Debug + Assemble + Into<AnyFilter>,
{
    no_inserted_key_is_ever_missed(make);
    an_empty_filter_holds_nothing(make);
    a_key_is_new_exactly_when_it_was_not_contained(make);
    a_batch_equals_the_loop(make);
    decoding_what_was_encoded_gives_it_back(|keys| filled(make, keys));
    damaged_bytes_never_panic(|keys| filled(make, keys));
}

/// The laws that also hold for filters that grow or forget, and have no size to be made for or to join by.
fn keeps_the_laws_of_inserting<F>(make: Make<F>)
where
    F: Insert + Clone + PartialEq + Debug + Assemble + Into<AnyFilter>,
{
    keeps_the_common_laws(make);
    inserting_again_changes_nothing(make);
}

/// The laws of kinds that are made for a number of keys.
fn keeps_the_laws_of_a_size<F>(make: Make<F>)
where
    F: Insert + Merge + Clone + PartialEq + Debug + Assemble + Into<AnyFilter>,
{
    keeps_the_common_laws(make);
    filters_of_other_sizes_do_not_join(make);
    the_rate_asked_for_is_kept(make);
    stats_tell_the_truth(make);
}

/// The laws of kinds that are built once from all their keys.
fn keeps_every_static_law<F>(build: impl Fn(&Keys) -> F)
where
    F: Filter + Clone + PartialEq + Debug + Assemble + Into<AnyFilter>,
{
    check((keys(), keys()), |(built, asked)| {
        let filter = build(&built);
        prop_assert!(built.iter().all(|key| filter.contains_bytes(key)));

        let twice: Keys = built.iter().rev().chain(&built).cloned().collect();
        prop_assert_eq!(
            &build(&twice),
            &filter,
            "neither order nor duplicates matter"
        );

        let all: Keys = built.into_iter().chain(asked).collect();
        let expected: Vec<bool> = all.iter().map(|key| filter.contains_bytes(key)).collect();
        let mut found = vec![false; all.len()];
        filter.contains_bytes_batch(&slices(&all), &mut found);
        prop_assert_eq!(found, expected);

        let mut any: AnyFilter = filter.into();
        let refused = any.insert("key").expect_err("a static kind");
        prop_assert!(
            matches!(refused, mayhap::Error::Unsupported { .. }),
            "{refused}"
        );
        Ok(())
    });
    decoding_what_was_encoded_gives_it_back(&build);
    damaged_bytes_never_panic(&build);
}

fn keeps_every_law<F>(make: Make<F>)
where
    F: Insert + Merge + Clone + PartialEq + Debug + Assemble + Into<AnyFilter>,
{
    keeps_the_laws_of_a_size(make);
    inserting_again_changes_nothing(make);
    a_union_equals_inserting_both(make);
    a_union_with_itself_changes_nothing(make);
}

/// The laws of kinds that hold a key as often as it was inserted.
fn keeps_every_law_of_counters<F>(make: Make<F>)
where
    F: Insert + Remove + Merge + Clone + PartialEq + Debug + Assemble + Into<AnyFilter>,
{
    keeps_the_laws_of_a_size(make);
    a_union_equals_inserting_both(make);
    a_key_stays_until_it_is_removed_as_often(make);
    removing_what_was_inserted_undoes_it(make);
    a_refused_removal_changes_nothing(make);
}

/// Makes pairs of a kind that have equally many bits and differ in one thing that a join must not ignore.
fn built_otherwise() -> Vec<(&'static str, [AnyFilter; 2])> {
    let shape = |hashes| Shape::new(1024, hashes).expect("valid");
    let bloom = |hashes, scheme| Bloom::new(shape(hashes), scheme).expect("small").into();
    let blocked = |hashes, seed| {
        let shape = BlockedShape::new(4, hashes).expect("valid");
        let digester = Digester::Rapidhash { seed };
        Blocked::new(shape, digester).expect("small").into()
    };
    let counting = |counters, width| {
        let shape = Shape::new(counters, 5).expect("valid");
        let options = CountingOptions {
            width,
            ..CountingOptions::default()
        };
        Counting::new(shape, options).expect("small").into()
    };
    let spectral = |counters, policy, width| {
        let shape = Shape::new(counters, 5).expect("valid");
        let options = SpectralOptions {
            policy,
            width,
            ..SpectralOptions::default()
        };
        Spectral::new(shape, options).expect("small").into()
    };
    let shifting = |positions, span, shifts| {
        let positions = Shape::new(positions, 12).expect("valid");
        let shape = ShiftingShape::with_shifts(positions, span, shifts).expect("valid");
        let filter = Shifting::new(shape, Digester::default());
        filter.expect("small").into()
    };
    let spatial = |areas| {
        let shape = SpatialShape::new(shape(5), areas).expect("valid");
        let filter = Spatial::new(shape, Digester::default());
        filter.expect("small").into()
    };
    let (guava, native) = (Scheme::Guava64, Scheme::default());
    let (select, increase) = (
        SpectralPolicy::MinimumSelection,
        SpectralPolicy::MinimalIncrease,
    );
    let (four, eight) = (CounterWidth::Four, CounterWidth::Eight);
    vec![
        (
            "hashes",
            [bloom(6, native.clone()), bloom(7, native.clone())],
        ),
        ("scheme", [bloom(7, native), bloom(7, guava)]),
        ("hashes", [blocked(6, 0), blocked(7, 0)]),
        ("seed", [blocked(6, 0), blocked(6, 1)]),
        ("width", [counting(1024, four), counting(512, eight)]),
        (
            "width",
            [spectral(1024, select, four), spectral(512, select, eight)],
        ),
        (
            "policy",
            [spectral(512, select, four), spectral(512, increase, four)],
        ),
        ("span", [shifting(1000, 57, 1), shifting(1032, 25, 1)]),
        ("shifts", [shifting(1000, 57, 1), shifting(1000, 57, 2)]),
        ("areas", [spatial(2), spatial(3)]),
    ]
}

#[test]
fn filters_built_differently_do_not_join() {
    for (what, [mut filter, mut other]) in built_otherwise() {
        let kind = filter.kind();
        assert_eq!(filter.stats().bits, other.stats().bits, "{kind}");
        for filter in [&mut filter, &mut other] {
            filter.insert("key").expect("a kind that can");
        }
        let before = filter.clone();

        let refusals = [
            filter.union(&other),
            filter.intersect(&other),
            filter.overlap(&other).map(drop),
        ];

        assert_eq!(filter, before, "{kind}: {what}");
        let [union, ..] = &refusals;
        let is_incompatible = matches!(union, Err(mayhap::Error::Incompatible { .. }));
        assert!(is_incompatible, "{kind}: {what}: {union:?}");
        assert!(
            refusals.iter().all(std::result::Result::is_err),
            "{kind}: {what}"
        );
    }
}

#[test]
fn counting_keeps_every_law() {
    keeps_every_law_of_counters(Counting::with_capacity);
}

#[test]
fn counting_with_other_widths_and_a_secret_keeps_every_law() {
    keeps_every_law_of_counters(|keys, rate| {
        let options = CountingOptions {
            width: CounterWidth::Eight,
            digester: keyed(),
        };
        Counting::with_options(keys, rate, options)
    });
    // Two bits stick early: then not every removed key is forgotten, and no other is.
    let narrow: Make<Counting> = |keys, rate| {
        let width = CounterWidth::Two;
        let options = CountingOptions {
            width,
            ..CountingOptions::default()
        };
        Counting::with_options(keys, rate, options)
    };
    keeps_the_laws_of_a_size(narrow);
    a_union_equals_inserting_both(narrow);
    a_key_stays_until_it_is_removed_as_often(narrow);
    a_refused_removal_changes_nothing(narrow);
}

fn spectral(policy: SpectralPolicy, keys: u64, rate: f64) -> Result<Spectral> {
    let options = SpectralOptions {
        policy,
        ..SpectralOptions::default()
    };
    Spectral::with_options(keys, rate, options)
}

#[test]
fn spectral_keeps_every_law() {
    keeps_every_law_of_counters(Spectral::with_capacity);
}

#[test]
fn spectral_by_minimal_increase_keeps_the_laws_without_removal() {
    keeps_the_laws_of_a_size(|keys, rate| spectral(SpectralPolicy::MinimalIncrease, keys, rate));
}

#[test]
fn spectral_by_recurring_minimum_keeps_the_laws_but_does_not_undo() {
    let make: Make<Spectral> = |keys, rate| spectral(SpectralPolicy::RecurringMinimum, keys, rate);
    keeps_the_laws_of_a_size(make);
    a_key_stays_until_it_is_removed_as_often(make);
    a_refused_removal_changes_nothing(make);
}

/// The laws of kinds that hold a key as often as it was inserted, and grow.
fn keeps_the_laws_of_removing<F>(make: Make<F>)
where
    F: Insert + Remove + Clone + PartialEq + Debug + Assemble + Into<AnyFilter>,
{
    keeps_the_common_laws(make);
    a_key_stays_until_it_is_removed_as_often(make);
    a_refused_removal_changes_nothing(make);
}

#[test]
fn cuckoo_keeps_the_laws_of_removing() {
    keeps_the_laws_of_removing(Cuckoo::with_capacity);
    the_rate_asked_for_is_kept(Cuckoo::with_capacity);
    // So small at first that it grows on the way.
    keeps_the_laws_of_removing(|_, rate| Cuckoo::with_capacity(1, rate));
}

#[test]
fn cuckoo_with_other_options_and_a_secret_keeps_the_laws_of_removing() {
    keeps_the_laws_of_removing(|keys, _| {
        let options = CuckooOptions {
            fingerprint: Some(8),
            bucket: Some(2),
            growth: 1,
            search: 16,
            digester: keyed(),
        };
        Cuckoo::with_options(keys / 20, 0.5, options)
    });
    // Full with a part of the keys: then every key is found.
    keeps_the_laws_of_removing(|keys, rate| {
        let options = CuckooOptions {
            fingerprint: Some(32),
            bucket: Some(8),
            growth: 0,
            ..CuckooOptions::default()
        };
        Cuckoo::with_options(keys / 4, rate, options)
    });
}

#[test]
fn blocked_keeps_every_law() {
    keeps_every_law(Blocked::with_capacity);
}

#[test]
fn split_block_keeps_every_law() {
    keeps_every_law(mayhap::kinds::SplitBlock::with_capacity);
}

#[test]
fn fuse_keeps_every_static_law() {
    for bits in [8, 16, 32] {
        for digester in [Digester::default(), keyed()] {
            keeps_every_static_law(|keys| {
                Fuse::build(digester.clone(), bits, keys).expect("built")
            });
        }
    }
}

#[test]
fn ribbon_keeps_every_static_law() {
    for bits in [1, 7, 32] {
        for digester in [Digester::default(), keyed()] {
            keeps_every_static_law(|keys| {
                Ribbon::build(digester.clone(), bits, keys).expect("built")
            });
        }
    }
    // With a table: these are three shards.
    let more = (0..20_000_u32).map(|number| number.to_le_bytes().to_vec());
    keeps_every_static_law(|keys| {
        let keys = keys.iter().cloned().chain(more.clone());
        Ribbon::build(keyed(), 5, keys).expect("built")
    });
}

/// Any keys can be included: the excluded ones are longer than any of them.
#[test]
fn cascade_keeps_every_static_law() {
    for digester in [Digester::default(), keyed()] {
        keeps_every_static_law(|keys| {
            let excluded = (0..500).map(|number| format!("{number:050}"));
            let cascade = Cascade::build(digester.clone(), keys, excluded.clone()).expect("built");
            assert!(!excluded.into_iter().any(|key| cascade.contains(&key)));
            cascade
        });
    }
}

#[test]
fn scalable_keeps_the_laws_of_inserting() {
    keeps_the_laws_of_inserting(Scalable::with_capacity);
    // So small at first that it grows on the way.
    keeps_the_laws_of_inserting(|_, rate| Scalable::with_capacity(1, rate));
}

#[test]
fn scalable_with_a_secret_keeps_the_laws_of_inserting() {
    keeps_the_laws_of_inserting(|_, rate| {
        Scalable::new(1, rate, ScalableOptions::default(), keyed())
    });
}

#[test]
fn windowed_keeps_the_laws_of_inserting() {
    // So large that every key is in the first generation: then inserting again changes nothing.
    keeps_the_laws_of_inserting(|keys, rate| Windowed::with_capacity(3 * keys, rate));
    keeps_the_laws_of_inserting(|keys, rate| {
        Windowed::new(keys, rate, Rotation::ByCaller, keyed())
    });
}

#[test]
fn guarded_keeps_every_law() {
    keeps_every_law(Guarded::with_capacity);
}

#[test]
fn bloom_keeps_every_law() {
    keeps_every_law(Bloom::with_capacity);
}

#[test]
fn bloom_with_a_secret_keeps_every_law() {
    keeps_every_law(|keys, rate| {
        Bloom::new(Shape::for_capacity(keys, rate)?, Scheme::Native(keyed()))
    });
}

#[test]
fn bloom_in_every_foreign_scheme_keeps_every_law() {
    keeps_every_law(|keys, rate| foreign(Sizing::Guava, Scheme::Guava64, keys, rate));
    keeps_every_law(|keys, rate| foreign(Sizing::Guava, Scheme::Guava32, keys, rate));
    keeps_every_law(|keys, rate| foreign(Sizing::Salted, MD5, keys, rate));
    keeps_every_law(|keys, rate| foreign(Sizing::Salted, SHA1, keys, rate));
    keeps_every_law(|keys, rate| {
        foreign(Sizing::MurmurFloorMod, Scheme::MurmurFloorMod, keys, rate)
    });
    keeps_every_law(|keys, rate| foreign(Sizing::GuavaBefore33_4, Scheme::Spark1, keys, rate));
    keeps_every_law(|keys, rate| foreign(Sizing::GuavaBefore33_4, SPARK2, keys, rate));
    keeps_every_law(|keys, rate| foreign(Sizing::Dcso, Scheme::Dcso, keys, rate));
    keeps_every_law(|keys, rate| foreign(Sizing::RedisBloom, Scheme::RedisBloom, keys, rate));
}

const MD5: Scheme = Scheme::Salted(MessageDigest::Md5);
const SHA1: Scheme = Scheme::Salted(MessageDigest::Sha1);
const SPARK2: Scheme = Scheme::Spark2 { seed: -5 };

/// Makes a filter in the scheme of another library and by its sizes.
fn foreign(rule: Sizing, scheme: Scheme, keys: u64, rate: f64) -> Result<Bloom> {
    Bloom::new(rule.shape(keys, rate)?, scheme)
}

/// Returns the keys, each once: static kinds may be given a key twice, and these have a value for each.
fn distinct(keys: &Keys) -> BTreeSet<&Vec<u8>> {
    keys.iter().collect()
}

#[test]
fn shifting_keeps_every_law() {
    keeps_every_law(Shifting::with_capacity);
    keeps_every_law(|keys, rate| Shifting::new(ShiftingShape::for_capacity(keys, rate)?, keyed()));
}

#[test]
fn shifting_by_two_keeps_every_law() {
    keeps_every_law(|keys, rate| {
        let standard = Shape::new(10 * keys, 6)?;
        assert_eq!(rate, 0.01, "which these bits give");
        let shape = ShiftingShape::with_shifts(standard, 57, 2)?;
        Shifting::new(shape, Digester::default())
    });
}

/// Takes the region of a key from its length.
#[test]
fn shifting_association_keeps_every_static_law() {
    keeps_every_static_law(|keys| {
        let mut filter = ShiftingAssociation::with_capacity(CAPACITY, RATE).expect("valid");
        for key in distinct(keys) {
            let region = Region::ALL[key.len() % 3];
            filter.insert_region(key, region);
            assert!(filter.regions(key).holds(region));
        }
        filter
    });
}

/// Takes the count of a key from its length.
#[test]
fn shifting_multiplicity_keeps_every_static_law() {
    keeps_every_static_law(|keys| {
        let mut filter = ShiftingMultiplicity::with_capacity(CAPACITY, RATE).expect("valid");
        for key in distinct(keys) {
            let times = 1 + key.len() as u64;
            filter.insert_times(key, times).expect("few");
            assert!(filter.count(key) >= times);
        }
        filter
    });
}

#[test]
fn spatial_keeps_every_law() {
    keeps_every_law(Spatial::with_capacity);
    keeps_every_law(|keys, rate| Spatial::new(SpatialShape::for_capacity(keys, rate, 3)?, keyed()));
}
