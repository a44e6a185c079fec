//! Copying filters from file to server to file.

use std::panic::AssertUnwindSafe;

use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Assemble as _, Digester, Kind, SecretKey, file};
use mayhap_redis::{Error, Options, Placement, RedisBloom};

use mayhap_testing::server::{Cluster, Server, engines, on_each_engine};

/// Makes a filter with random bits in all of its bytes, whose size is not a multiple of a chunk's.
fn filter(kind: Kind, keys: u64) -> AnyFilter {
    let mut filter = AnyFilter::new(&kind.plan(keys, 0.01).expect("valid")).expect("made");
    for key in 0..keys / 2 {
        filter.insert(&key).expect("a kind with inserts");
    }
    filter
}

#[test]
fn a_file_is_copied_back_byte_for_byte() {
    on_each_engine(|server| {
        let folder = tempfile::tempdir().expect("a folder");
        let [before, after] = ["before", "after"].map(|name| folder.path().join(name));
        for (kind, keys, shards) in [
            (Kind::Blocked, 3_000_000, 1),
            (Kind::Blocked, 1000, 3),
            (Kind::Bloom, 2_000_000, 1),
            (Kind::Bloom, 10, 1),
        ] {
            file::save(&before, &filter(kind, keys), &Metadata::default()).expect("saved");
            let address = server.address(&format!("{kind}-{keys}-{shards}"));
            let options = Options {
                shards: Some(shards),
                ..Options::default()
            };

            let mapped = file::Mapped::open(&before, None).expect("mapped");
            let mut stated = Vec::new();
            let pushed = RedisBloom::push(&address, mapped.filter(), &options, |done, total| {
                stated.push((done, total));
            });
            let mut pushed = pushed.expect("pushed");
            assert!(pushed.contains(&1_u64).expect("asked"));
            pushed.save(&after, &Metadata::default()).expect("saved");

            let [before, after] = [&before, &after].map(|path| std::fs::read(path).expect("read"));
            assert!(before == after, "{kind} of {keys}");
            assert!(stated.is_sorted() && stated.last().is_some_and(|(done, total)| done == total));
            pushed.delete().expect("dropped");
        }
    });
}

#[test]
fn a_push_replaces_what_is_there_and_reaches_every_node() {
    for engine in engines().into_iter().take(1) {
        let cluster = Cluster::start(&engine, false);
        let address = cluster.address("pushed");
        let options = Options {
            shards: Some(7),
            placement: Placement::Spread,
            expiry: None,
            home: None,
        };
        let description = Kind::Blocked.plan(10, 0.1).expect("valid");
        let mut old = RedisBloom::create(&address, &description, &options).expect("made");
        old.insert("old").expect("inserted");
        let native = filter(Kind::Blocked, 1_000_000);

        RedisBloom::push(&address, &native, &options, |_, _| ()).expect("pushed");

        assert!(
            old.pull(|_, _| ()).expect("copied") == native,
            "old clients have the new bits"
        );
        let holding = cluster.nodes.iter().filter(|node| !node.keys().is_empty());
        assert_eq!(holding.count(), 3);
    }
}

#[test]
fn an_interrupted_push_continues_where_it_was() {
    for engine in engines().into_iter().take(1) {
        let server = Server::start(&engine, &[]);
        let address = server.address("resumed");
        // About thirty chunks.
        let native = filter(Kind::Blocked, 25_000_000);
        let options = Options::default();
        let sent = || -> u64 {
            let info: String = redis::cmd("INFO")
                .arg("commandstats")
                .query(&mut server.connection())
                .expect("statistics");
            let calls = info.split("cmdstat_setrange:calls=").nth(1).unwrap_or("0,");
            let calls = calls.split(',').next().expect("a number");
            calls.parse().expect("a number")
        };

        let interrupted = std::panic::catch_unwind(AssertUnwindSafe(|| {
            RedisBloom::push(&address, &native, &options, |done, total| {
                assert!(done < total / 4, "interrupted on purpose");
            })
        }));
        assert!(interrupted.is_err());
        let first = sent();
        let opened = RedisBloom::open(&address, None);
        assert!(matches!(opened, Err(Error::Unfinished { .. })));
        let mut pushed = RedisBloom::push(&address, &native, &options, |_, _| ()).expect("pushed");

        let second = sent() - first;
        assert!(
            first > 8 && second > 8 && second < first + 8,
            "{first}, then {second}"
        );
        assert!(pushed.pull(|_, _| ()).expect("copied") == native);
    }
}

#[test]
fn an_interrupted_push_can_be_abandoned() {
    on_each_engine(|server| {
        let address = server.address("unfinished");
        let native = filter(Kind::Blocked, 1000);
        let interrupted = std::panic::catch_unwind(AssertUnwindSafe(|| {
            RedisBloom::push(&address, &native, &Options::default(), |_, _| {
                panic!("interrupted on purpose")
            })
        }));
        assert!(interrupted.is_err());
        let create = || RedisBloom::create(&address, &native.description(), &Options::default());
        assert!(matches!(create(), Err(Error::Exists { .. })));

        RedisBloom::delete_at(&address, None).expect("deleted");

        assert!(matches!(
            RedisBloom::delete_at(&address, None),
            Err(Error::Missing { .. })
        ));
        create().expect("the name is free again");
    });
}

#[test]
fn a_filter_with_a_secret_keeps_it_to_itself() {
    on_each_engine(|server| {
        let secret = SecretKey::from_bytes([7; 16]);
        let mut description = Kind::Blocked.plan(1000, 0.01).expect("valid");
        description.hashing = Digester::SipHash {
            key: secret.clone(),
        }
        .into();
        let mut native = AnyFilter::new(&description).expect("made");
        native.insert("key").expect("a kind with inserts");
        let address = server.address("secret");

        let pushed = RedisBloom::push(&address, &native, &Options::default(), |_, _| ());
        assert!(pushed.expect("pushed").contains("key").expect("asked"));

        assert!(matches!(
            RedisBloom::open(&address, None),
            Err(Error::Filter(mayhap::Error::SecretNeeded))
        ));
        let other = SecretKey::from_bytes([8; 16]);
        assert!(matches!(
            RedisBloom::open(&address, Some(&other)),
            Err(Error::Filter(mayhap::Error::SecretWrong))
        ));
        let mut opened = RedisBloom::open(&address, Some(&secret)).expect("there");
        assert!(opened.contains("key").expect("asked"));
        assert_eq!(
            opened.pull(|_, _| ()).expect("copied").description(),
            description
        );
    });
}

#[test]
fn filters_that_are_not_native_are_neither_pulled_nor_pushed() {
    on_each_engine(|server| {
        let description = Kind::Bloom.plan(1000, 0.01).expect("valid");
        let options = Options {
            shards: Some(3),
            ..Options::default()
        };
        let mut sharded =
            RedisBloom::create(&server.address("sharded"), &description, &options).expect("made");
        assert!(matches!(sharded.pull(|_, _| ()), Err(Error::Option { .. })));
        let native = AnyFilter::new(&Kind::SplitBlock.plan(10, 0.1).expect("valid")).expect("made");
        let address = server.address("parquet");
        let pushed = RedisBloom::push(&address, &native, &Options::default(), |_, _| ());
        assert!(matches!(pushed, Err(Error::Option { .. })));
        assert!(matches!(
            RedisBloom::open(&address, None),
            Err(Error::Missing { .. })
        ));
    });
}
