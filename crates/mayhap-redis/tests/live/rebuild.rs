//! Replacing a filter while clients read it and write to it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use mayhap::Kind;
use mayhap_redis::{Error, Options, Placement, RedisBloom};

use crate::keys;
use mayhap_testing::server::{Cluster, engines, on_each_engine};

/// Rebuilds a filter eight times while some clients look up keys that are always in it, and others
/// insert new ones.
fn replaced_again_and_again(address: &mayhap_redis::Address, options: &Options) {
    let plan = |keys| Kind::Blocked.plan(keys, 0.001).expect("valid");
    let mut filter = RedisBloom::create(address, &plan(20_000), options).expect("made");
    filter.insert_batch(&keys(0..1000)).expect("inserted");
    // The source of each rebuild: every key is in here before it is in the filter.
    let source = Mutex::new(keys(0..1000));
    let (over, asked) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut reader = RedisBloom::open(address, None).expect("there");
                while !over.load(Ordering::Relaxed) {
                    let found = reader
                        .contains_batch(&keys(0..1000))
                        .expect("never an error");
                    assert!(found.iter().all(|&found| found), "never empty");
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            let mut writer = RedisBloom::open(address, None).expect("there");
            for batch in 0..400 {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let keys = keys(1_000_000 + batch * 50..1_000_050 + batch * 50);
                source.lock().expect("no panic").extend(&keys);
                writer.insert_batch(&keys).expect("never an error");
            }
        });
        for round in 0..8 {
            let (kind, size) = [(Kind::Blocked, 60_000), (Kind::Bloom, 200_000)][round % 2];
            let description = kind.plan(size, 0.001).expect("valid");
            let shards = options.shards.map(|shards| shards + round as u32 % 3);
            let mut next = filter.rebuild(&description, shards).expect("begun");
            let every = source.lock().expect("no panic").clone();
            next.insert_batch(&every).expect("inserted");
            next.promote().expect("promoted");
            let every = source.lock().expect("no panic").clone();
            // The last batch may still be arriving.
            let found = filter
                .contains_batch(&every[..every.len() - 50])
                .expect("asked");
            let lost = found.iter().filter(|&&found| !found).count();
            assert_eq!(lost, 0, "round {round} of {} keys", every.len());
            assert_eq!(filter.description().expect("known").kind, kind);
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(asked.load(Ordering::Relaxed) > 8, "readers were there");
}

#[test]
fn readers_see_neither_errors_nor_an_empty_filter() {
    on_each_engine(|server| {
        replaced_again_and_again(&server.address("green"), &Options::default());
        // Only the last generation has bits.
        let is_string = |key: &String| server.type_of(key) == "string";
        assert_eq!(server.keys().into_iter().filter(is_string).count(), 1);
    });
}

#[test]
fn readers_of_a_cluster_see_neither_errors_nor_an_empty_filter() {
    for engine in engines().into_iter().take(1) {
        let cluster = Cluster::start(&engine, false);
        let options = Options {
            shards: Some(6),
            placement: Placement::Spread,
            expiry: None,
            home: None,
        };
        replaced_again_and_again(&cluster.address("green"), &options);
    }
}

#[test]
fn a_rebuild_can_be_abandoned_or_overtaken() {
    on_each_engine(|server| {
        let address = server.address("given-up");
        let description = Kind::Blocked.plan(1000, 0.01).expect("valid");
        let mut filter =
            RedisBloom::create(&address, &description, &Options::default()).expect("made");
        filter.insert("key").expect("inserted");

        let first = filter.rebuild(&description, None).expect("begun");
        let mut second = filter.rebuild(&description, None).expect("begun again");
        assert!(matches!(first.promote(), Err(Error::Replaced { .. })));
        second.insert_batch(&["other"]).expect("inserted");
        assert_eq!(
            second.contains_batch(&["key", "other"]).expect("asked"),
            [false, true]
        );
        second.abandon().expect("given up");

        assert!(filter.contains("key").expect("asked"));
        assert!(!filter.contains("other").expect("asked"));
    });
}

#[test]
fn a_filter_that_is_not_filled_yet_denies_no_key() {
    on_each_engine(|server| {
        let address = server.address("unfilled");
        let plan = |keys| Kind::Blocked.plan(keys, 0.001).expect("valid");
        let begin = |keys| {
            RedisBloom::rebuild_at(&address, &plan(keys), &Options::default()).expect("begun")
        };

        let mut first = begin(1000);
        first.insert_batch(&keys(0..500)).expect("inserted");
        let early = RedisBloom::open(&address, None);
        assert!(matches!(early, Err(Error::Unfinished { .. })));
        first.promote().expect("promoted");
        let mut early = RedisBloom::open(&address, None).expect("there");
        let found = early.contains_batch(&keys(0..500)).expect("asked");
        assert!(found.iter().all(|&found| found));

        // The old one answers while the next is filled, and inserts go to both.
        let mut next = begin(2000);
        early.insert_batch(&keys(500..600)).expect("inserted");
        next.insert_batch(&keys(0..500)).expect("inserted");
        assert_eq!(early.description().expect("known"), plan(1000));
        next.promote().expect("promoted");
        let found = early.contains_batch(&keys(0..600)).expect("asked");
        assert!(found.iter().all(|&found| found));
        assert_eq!(early.description().expect("known"), plan(2000));
    });
}
