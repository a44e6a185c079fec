//! Answers of a filter on one server: compared with a set and with the native filter, and given to many clients.

use std::collections::HashSet;

use mayhap::{AnyFilter, Description, Kind, Scheme, Shape};
use mayhap_redis::{Error, Options, RedisBloom};

use crate::{insert, keys, won_by};
use mayhap_testing::server::on_each_engine;

fn kinds() -> Vec<(Description, Options)> {
    let mut cases = Vec::new();
    for kind in [Kind::Bloom, Kind::Blocked] {
        for shards in [1, 5] {
            let description = kind.plan(20_000, 0.01).expect("valid");
            let options = Options {
                shards: Some(shards),
                ..Options::default()
            };
            cases.push((description, options));
        }
    }
    for scheme in [Scheme::Guava64, Scheme::MurmurFloorMod, Scheme::Dcso] {
        let description = Description {
            hashing: scheme.into(),
            bits: 200_064,
            hashes: 7,
            promise: None,
            ..Kind::Bloom.plan(20_000, 0.01).expect("valid")
        };
        cases.push((description, Options::default()));
    }
    cases
}

#[test]
fn answers_are_those_of_a_set_except_for_the_rate() {
    on_each_engine(|server| {
        for (case, (description, options)) in kinds().into_iter().enumerate() {
            let address = server.address(&format!("set-{case}"));
            let mut filter = RedisBloom::create(&address, &description, &options).expect("made");
            let mut other = RedisBloom::open(&address, None).expect("there");

            let new = filter.insert_batch(&keys(0..10_000)).expect("inserted");
            let again = other.insert_batch(&keys(0..10_000)).expect("inserted");
            let found = other.contains_batch(&keys(0..10_000)).expect("asked");
            let others = filter.contains_batch(&keys(10_000..30_000)).expect("asked");

            assert!(
                found.iter().all(|&found| found),
                "no false negatives: {description:?}"
            );
            assert!(again.iter().all(|&new| !new));
            let new = new.iter().filter(|&&new| new).count();
            let wrong = others.iter().filter(|&&found| found).count();
            // Half full: far below 1 %. A third of a thousandth of all would be 3.
            assert!(new > 9_980, "{new} of 10 000 new: {description:?}");
            assert!(wrong < 40, "{wrong} of 20 000 wrong: {description:?}");
            let stats = filter.stats().expect("counted");
            let keys = stats.keys.expect("not full");
            assert!(
                (9_800.0..10_200.0).contains(&keys),
                "{keys} keys: {description:?}"
            );
            assert!(!stats.is_over_capacity());
        }
    });
}

#[test]
fn a_batch_answers_as_its_keys_one_by_one() {
    on_each_engine(|server| {
        for (case, (description, options)) in kinds().into_iter().enumerate() {
            let [one, many] = ["one", "many"].map(|name| {
                let address = server.address(&format!("{name}-{case}"));
                RedisBloom::create(&address, &description, &options).expect("made")
            });
            let (mut one, mut many) = (one, many);
            let words = ["a", "b", "a", "", "c", "b", "a"];

            let new = many.insert_batch(&words).expect("inserted");

            let singly: Vec<bool> = words.map(|word| one.insert(word).expect("inserted")).into();
            assert_eq!(new, singly);
            assert_eq!(new, [true, true, false, true, true, false, false]);
            let words = ["a", "x", "", "y"];
            let found = many.contains_batch(&words).expect("asked");
            assert_eq!(found, words.map(|word| one.contains(word).expect("asked")));
            assert!(many.insert_batch::<&str>(&[]).expect("nothing").is_empty());
        }
    });
}

#[test]
fn the_bits_are_those_of_the_native_filter() {
    on_each_engine(|server| {
        for (case, (description, options)) in kinds().into_iter().enumerate() {
            if description.kind == Kind::Bloom && options.shards == Some(5) {
                continue;
            }
            let address = server.address(&format!("native-{case}"));
            let mut filter = RedisBloom::create(&address, &description, &options).expect("made");
            let mut native = AnyFilter::new(&description).expect("made");

            filter.insert_batch(&keys(0..5000)).expect("inserted");

            for key in keys(0..5000) {
                native.insert(&key).expect("a kind with inserts");
            }
            let pulled = filter.pull(|_, _| ()).expect("copied");
            assert!(pulled == native, "{description:?}");
        }
    });
}

#[test]
fn exactly_one_of_sixteen_clients_learns_that_a_key_is_new() {
    on_each_engine(|server| {
        let full = if server.engine.name == "redis" {
            100_000_u32
        } else {
            10_000
        };
        for (kind, count) in [(Kind::Blocked, full), (Kind::Bloom, 10_000)] {
            let address = server.address(&format!("race-{kind}"));
            // At 10^-6 when full, and far less on the way, none of these keys is mistaken for others
            // with a chance of 99 %. They are always the same keys, and none is.
            let description = kind.plan(u64::from(count), 1e-6).expect("valid");
            RedisBloom::create(&address, &description, &Options::default()).expect("made");

            let won = won_by(16, &address, |client, filter| {
                // Each client begins at another key.
                let batches = (0..100).map(|batch| (batch + client * 6) % 100);
                let ranges =
                    batches.map(|batch| batch * (count / 100)..(batch + 1) * (count / 100));
                ranges.map(|range| insert(filter, range)).sum()
            });

            assert_eq!(won, count as usize, "{kind}");
        }
    });
}

#[test]
fn a_filter_is_made_once_opened_cleared_and_dropped() {
    on_each_engine(|server| {
        let address = server.address("life");
        let description = Kind::Blocked.plan(1000, 0.01).expect("valid");
        assert!(matches!(
            RedisBloom::open(&address, None),
            Err(Error::Missing { .. })
        ));
        let mut filter =
            RedisBloom::create(&address, &description, &Options::default()).expect("made");
        let second = RedisBloom::create(&address, &description, &Options::default());
        assert!(matches!(second, Err(Error::Exists { .. })));
        let mut other = RedisBloom::open(&address, None).expect("there");
        assert_eq!(other.description().expect("known"), description);

        assert!(filter.insert("key").expect("inserted"));
        assert!(other.contains("key").expect("asked"));
        filter.clear().expect("cleared");
        assert!(
            !other.contains("key").expect("asked"),
            "the other client follows"
        );
        assert!(other.insert("key").expect("inserted"));
        filter.delete().expect("dropped");

        assert!(matches!(other.contains("key"), Err(Error::Missing { .. })));
        assert!(matches!(other.insert("key"), Err(Error::Missing { .. })));
        // What is left refuses late inserts, and expires by itself.
        let mut connection = server.connection();
        for key in server.keys() {
            let left: i64 = redis::cmd("PTTL")
                .arg(&key)
                .query(&mut connection)
                .expect("time");
            assert_eq!(server.type_of(&key), "hash", "{key}");
            assert!((1..=600_000).contains(&left), "{key}: {left}");
        }
    });
}

#[test]
fn two_makers_of_one_name_make_one_filter() {
    on_each_engine(|server| {
        let address = server.address("once");
        let description = Kind::Bloom.plan(1000, 0.01).expect("valid");

        let made: usize = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8)
                .map(|_| {
                    let (address, description) = (&address, &description);
                    scope.spawn(move || {
                        RedisBloom::create(address, description, &Options::default()).is_ok()
                    })
                })
                .collect();
            makers
                .into_iter()
                .map(|maker| usize::from(maker.join().expect("no panic")))
                .sum()
        });

        assert_eq!(made, 1);
        RedisBloom::open(&address, None).expect("there");
        let is_string = |key: &String| server.type_of(key) == "string";
        let strings = server.keys().into_iter().filter(is_string);
        assert_eq!(strings.count(), 1, "the others left no bits");
    });
}

#[test]
fn the_measured_rate_of_both_layouts_is_the_one_asked_for() {
    on_each_engine(|server| {
        for kind in [Kind::Blocked, Kind::Bloom] {
            for shards in [1, 4] {
                let address = server.address(&format!("rate-{kind}-{shards}"));
                let description = kind.plan(50_000, 0.01).expect("valid");
                let options = Options {
                    shards: Some(shards),
                    ..Options::default()
                };
                let mut filter =
                    RedisBloom::create(&address, &description, &options).expect("made");

                filter.insert_batch(&keys(0..50_000)).expect("inserted");
                let found = filter
                    .contains_batch(&keys(50_000..250_000))
                    .expect("asked");

                // 200 000 questions, seedless: the keys are fixed. Four standard deviations are 0.09 %.
                let rate = found.iter().filter(|&&found| found).count() as f64 / 200_000.0;
                assert!(
                    (0.0091..0.0109).contains(&rate),
                    "{kind} in {shards}: {rate}"
                );
                let stated = filter.stats().expect("counted").rate;
                assert!(
                    (stated / 0.01 - 1.0).abs() < 0.05,
                    "{kind} in {shards}: stated {stated}"
                );
            }
        }
    });
}

#[test]
fn keys_of_other_bytes_and_lengths_are_kept_apart() {
    on_each_engine(|server| {
        let shape = Shape::new(1 << 20, 7).expect("valid");
        let description = Description {
            hashing: Scheme::default().into(),
            bits: shape.bits(),
            hashes: shape.hashes(),
            promise: None,
            ..Kind::Bloom.plan(1, 0.5).expect("valid")
        };
        let address = server.address("bytes");
        let mut filter =
            RedisBloom::create(&address, &description, &Options::default()).expect("made");
        let long = vec![b'x'; 1 << 16];
        let strange: [&[u8]; 6] = [b"", b"\0", b"\r\n", b"$6\r\n", &[0xFF; 9], &long];

        filter.insert_batch(&strange).expect("inserted");

        let mut set: HashSet<Vec<u8>> = strange.map(<[u8]>::to_vec).into();
        set.insert(b"\0\0".to_vec());
        for key in set {
            let found = filter.contains(&key[..]).expect("asked");
            assert_eq!(found, key != b"\0\0", "{} bytes", key.len());
        }
    });
}
