//! Our own client, whose filters are in the module where the server has it, and in strings elsewhere.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, UNIX_EPOCH};

use mayhap::{AnyFilter, Assemble as _, Blocked, Digester, Filter as _, Kind, SecretKey};
use mayhap_redis::{Address, Answer, Error, Expiry, Home, Options, RedisBloom, RedisInspected};

use crate::{engines, module, start};
use mayhap_testing::kill::{DURABLE, loses_no_acknowledged_key};
use mayhap_testing::lie::{Liar, Lie, keys_of_a_lost_answer_are_in_doubt};
use mayhap_testing::server::{Cluster, Engine, Server, engines as client_engines};

fn keys(range: std::ops::Range<u32>) -> Vec<[u8; 4]> {
    range.map(u32::to_le_bytes).collect()
}

fn at(home: Home) -> Options {
    Options {
        home: Some(home),
        ..Options::default()
    }
}

fn make(address: &Address, options: &Options) -> mayhap_redis::Result<RedisBloom> {
    let description = Kind::Blocked.plan(10_000, 1e-6).expect("valid");
    RedisBloom::create(address, &description, options)
}

/// Runs a test on each server with the module.
fn on_each_engine(test: impl Fn(&Server)) {
    for engine in engines() {
        eprintln!("on {}", engine.name);
        test(&start(&engine, &[], &[]));
    }
}

/// Returns the `TYPE` of every key of the server.
fn types(server: &Server) -> HashMap<String, String> {
    let typed = |key: String| (key.clone(), server.type_of(&key));
    server.keys().into_iter().map(typed).collect()
}

fn value_of(server: &Server) -> String {
    let is_value = |(_, kind): &(String, String)| kind != "hash";
    let value = types(server).into_iter().find(is_value);
    value.expect("there is one").0
}

#[test]
fn a_new_filter_is_made_in_the_module_and_one_in_strings_stays_there() {
    on_each_engine(|server| {
        let (old, new) = (server.address("old"), server.address("new"));
        make(&old, &at(Home::Strings)).expect("made");
        let description = Kind::Blocked.plan(10_000, 1e-6).expect("valid");
        let open = |address| RedisBloom::open_or_create(address, &description, &Options::default());
        let mut local = Blocked::with_capacity(10_000, 1e-6).expect("valid");
        let keys = keys(0..12_000);
        let expected: Vec<bool> = keys.iter().map(|key| local.insert(key)).collect();

        for (address, home) in [(&old, Home::Strings), (&new, Home::Module)] {
            let mut filter = open(address).expect("there, or made");

            assert_eq!(filter.home().expect("known"), home);
            assert_eq!(filter.insert_batch(&keys).expect("inserted"), expected);
            let mut other = RedisBloom::open(address, None).expect("there");
            let found = other.contains_batch(&keys).expect("asked");
            assert!(found.iter().all(|&found| found), "{home:?}");
            assert!(!other.contains("another").expect("asked"));
            assert!(other.pull(|_, _| ()).expect("copied") == AnyFilter::from(local.clone()));
            assert_eq!(other.description().expect("known"), description);
            assert_eq!(
                RedisInspected::open(address)
                    .and_then(|it| it.home())
                    .expect("known"),
                home
            );
        }

        let types = types(server);
        let names = types.keys().filter(|key| key.starts_with("mayhap:{new}"));
        let mut kinds: Vec<_> = names.map(|name| types[name].as_str()).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["hash", "mayhapflt"]);
    });
}

#[test]
fn of_many_that_make_a_filter_at_once_with_different_wishes_all_get_the_same() {
    on_each_engine(|server| {
        let address = server.address("raced");
        let description = Kind::Blocked.plan(10_000, 1e-6).expect("valid");
        let wishes = [Options::default(), at(Home::Strings), at(Home::Module)];
        let client = |index: usize| {
            let filter = RedisBloom::open_or_create(&address, &description, &wishes[index % 3]);
            let mut filter = filter.expect("there");
            let new = filter.insert_batch(&keys(0..1000)).expect("inserted");
            let new = new.into_iter().filter(|&new| new).count();
            (new, filter.home().expect("known"))
        };
        let ended: Vec<(usize, Home)> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..9)
                .map(|index| scope.spawn(move || client(index)))
                .collect();
            let ended = clients.into_iter().map(|client| client.join());
            ended.map(|ended| ended.expect("no panic")).collect()
        });

        assert_eq!(ended.iter().map(|(new, _)| new).sum::<usize>(), 1000);
        assert!(ended.iter().all(|(_, home)| *home == ended[0].1));
        assert_eq!(server.keys().len(), 2, "{:?}", server.keys());
    });
}

#[test]
fn what_the_module_cannot_keep_is_in_strings() {
    on_each_engine(|server| {
        let plan = |keys| Kind::Blocked.plan(keys, 0.01).expect("valid");
        let key = SecretKey::from_bytes([7; 16]);
        let keyed = plan(1000)
            .hashed_by(Digester::SipHash { key })
            .expect("valid");
        let shards = Options {
            shards: Some(3),
            ..Options::default()
        };
        let guava = mayhap::Description {
            kind: Kind::Bloom,
            hashing: mayhap::Scheme::Guava64.into(),
            bits: 64 * 150,
            ..Kind::Bloom.plan(1000, 0.01).expect("valid")
        };
        let cases = [
            ("keyed", keyed, Options::default()),
            ("shards", plan(10_000), shards),
            ("guava", guava, Options::default()),
        ];
        for (name, description, options) in cases {
            let address = server.address(name);
            let forced = Options {
                home: Some(Home::Module),
                ..options
            };
            let refused = RedisBloom::create(&address, &description, &forced).err();
            assert!(
                matches!(refused, Some(Error::Option { what: "home", .. })),
                "{name}: {refused:?}"
            );
            let made = RedisBloom::create(&address, &description, &options);
            let made = made.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(made.home().expect("known"), Home::Strings, "{name}");
        }
        // With a seed of its own, or without a plan, a filter is sent as it is.
        let seeded = plan(1000)
            .hashed_by(Digester::Rapidhash { seed: 9 })
            .expect("valid");
        let unplanned = mayhap::Description {
            promise: None,
            ..plan(1000)
        };
        for (name, description) in [("seeded", seeded), ("unplanned", unplanned)] {
            let address = server.address(name);
            let made = RedisBloom::create(&address, &description, &Options::default());
            let mut made = made.expect("made");
            assert_eq!(made.home().expect("known"), Home::Module, "{name}");
            assert!(made.insert("a").expect("inserted") && made.contains("a").expect("asked"));
            let copy = made.pull(|_, _| ()).expect("copied");
            assert_eq!(copy.description(), description, "{name}");
        }
    });
}

#[test]
fn the_rate_now_and_past_capacity_are_reported() {
    on_each_engine(|server| {
        for kind in [Kind::Bloom, Kind::Blocked] {
            let address = server.address(kind.name());
            let description = kind.plan(1000, 0.01).expect("valid");
            let mut filter =
                RedisBloom::create(&address, &description, &Options::default()).expect("made");
            let mut local = AnyFilter::new(&description).expect("made");

            for count in [1000, 3000] {
                let keys = keys(0..count);
                filter.insert_batch(&keys).expect("inserted");
                let insert = local.as_insert().expect("it takes keys");
                for key in &keys {
                    insert.insert_bytes(key);
                }

                let stats = filter.stats().expect("known");
                assert_eq!(stats, local.stats());
                assert_eq!(stats.is_over_capacity(), count > 1000);
                let inspected = RedisInspected::open(&address).and_then(|mut it| it.stats());
                assert_eq!(inspected.expect("known"), stats);
            }
        }
    });
}

#[test]
fn a_value_and_its_settings_expire_together() {
    on_each_engine(|server| {
        let hour = Duration::from_secs(3600);
        let time = |key: &str| -> i64 {
            let time = redis::cmd("PEXPIRETIME")
                .arg(key)
                .query(&mut server.connection());
            time.expect("a time")
        };
        for (name, expiry) in [
            ("after", Expiry::After(hour)),
            ("last", Expiry::AfterLastInsert(hour)),
        ] {
            redis::cmd("FLUSHALL")
                .exec(&mut server.connection())
                .expect("emptied");
            let options = Options {
                expiry: Some(expiry),
                ..Options::default()
            };
            let mut filter = make(&server.address(name), &options).expect("made");
            assert_eq!(filter.home().expect("known"), Home::Module);
            let (value, settings) = (value_of(server), format!("mayhap:{{{name}}}"));
            let expires = filter.expires().expect("known").expect("it does");
            let expires = expires
                .duration_since(UNIX_EPOCH)
                .expect("later")
                .as_millis() as i64;
            assert_eq!([time(&value), time(&settings)], [expires; 2]);
            filter.insert("key").expect("inserted");
            assert!(time(&value) >= expires && time(&settings) >= expires);

            for key in [&value, &settings] {
                redis::cmd("PEXPIREAT")
                    .arg(key)
                    .arg(1)
                    .exec(&mut server.connection())
                    .expect("gone");
            }
            assert!(matches!(filter.insert("key"), Err(Error::Missing { .. })));
            assert!(matches!(filter.contains("key"), Err(Error::Missing { .. })));
            assert!(server.keys().is_empty(), "{:?}", server.keys());
        }
    });
}

#[test]
fn a_value_that_the_server_lost_is_noticed() {
    on_each_engine(|server| {
        let address = server.address("lost");
        let mut filter = make(&address, &Options::default()).expect("made");
        filter.insert("key").expect("inserted");
        redis::cmd("DEL")
            .arg(value_of(server))
            .exec(&mut server.connection())
            .expect("deleted");

        let mut other = RedisBloom::open(&address, None).expect("its settings are there");
        for filter in [&mut filter, &mut other] {
            assert!(matches!(filter.insert("key"), Err(Error::Lost { name }) if name == "lost"));
            assert!(matches!(filter.contains("key"), Err(Error::Lost { .. })));
            assert!(matches!(filter.stats(), Err(Error::Lost { .. })));
            assert!(matches!(filter.pull(|_, _| ()), Err(Error::Lost { .. })));
        }
        other.clear().expect("an empty one takes its place");

        assert!(filter.insert("key").expect("inserted"));
        assert_eq!(filter.home().expect("known"), Home::Module);
        filter.delete().expect("dropped");
        assert!(server.keys().is_empty());
    });
}

#[test]
fn a_server_that_has_lost_the_module_says_so() {
    on_each_engine(|server| {
        make(&server.address("here"), &Options::default()).expect("made");
        let plain = Server::start(&server.engine, &[]);
        let settings: Vec<String> = redis::cmd("HGETALL")
            .arg("mayhap:{here}")
            .query(&mut server.connection())
            .expect("read");
        let mut copy = redis::cmd("HSET");
        copy.arg("mayhap:{here}").arg(settings);
        copy.exec(&mut plain.connection()).expect("written");

        let address = plain.address("here");
        let mut filter = RedisBloom::open(&address, None).expect("its settings are there");

        for error in [
            filter.insert("key").err(),
            filter.contains("key").err(),
            filter.stats().err(),
            filter.pull(|_, _| ()).err(),
            filter.clear().err(),
            make(&plain.address("asked"), &at(Home::Module)).err(),
        ] {
            let error = error.expect("there is no module");
            assert!(matches!(error, Error::NoModule { .. }), "{error:?}");
            assert!(error.to_string().contains("--loadmodule"), "{error}");
        }
        let made = make(&plain.address("other"), &Options::default()).expect("made");
        assert_eq!(made.home().expect("known"), Home::Strings);
        filter.delete().expect("it can still be dropped");
    });
}

#[test]
fn a_filter_larger_than_the_module_allows_is_an_error_that_says_so() {
    for engine in first() {
        let server = start(&engine, &["DIALECT", "redis"], &[]);
        // Redis 8 puts no prefix before the name.
        let limit = |prefix: &&str| {
            let name = format!("{prefix}bf-memory-usage-limit");
            let mut command = redis::cmd("CONFIG");
            command.arg(&["SET", &name, "1000"]);
            command.exec(&mut server.connection()).is_ok()
        };
        assert!(["bf.", ""].iter().any(limit));

        let refused = make(&server.address("large"), &Options::default()).err();

        let error = refused.expect("it is too large");
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        assert!(server.keys().is_empty());
        make(&server.address("large"), &at(Home::Strings)).expect("made");
    }
}

#[test]
fn a_user_who_may_not_use_the_module_has_strings() {
    on_each_engine(|server| {
        let mut user = redis::cmd("ACL");
        user.arg(&[
            "SETUSER",
            "plain",
            "on",
            ">word",
            "~*",
            "+@all",
            "-mayhap.new",
            "-mayhap.info",
        ]);
        user.exec(&mut server.connection()).expect("made");
        let address = format!("redis://plain:word@127.0.0.1:{}#acl", server.port);

        let mut filter = make(&address.parse().expect("valid"), &Options::default()).expect("made");

        assert_eq!(filter.home().expect("known"), Home::Strings);
        assert!(filter.insert("key").expect("inserted"));
    });
}

/// The engines that the client's own tests have: one is enough where servers are killed.
fn first() -> impl Iterator<Item = Engine> {
    client_engines().into_iter().take(1)
}

#[test]
fn keys_whose_answer_was_lost_are_in_doubt_and_no_others() {
    for engine in first() {
        let server = start(&engine, &[], &[]);
        make(&server.address("doubt"), &at(Home::Module)).expect("made");
        keys_of_a_lost_answer_are_in_doubt(&server, "doubt");
    }
}

#[test]
fn answers_that_are_none_are_errors_and_no_key_is_taken_for_seen() {
    for engine in first() {
        let server = start(&engine, &[], &[]);
        let lies = [
            Lie::Instead(b"+OK\r\n+QUEUED\r\n*1\r\n*2\r\n:1\r\n:1\r\n*8\r\n"),
            Lie::Instead(b"*1000000000\r\n*1000000000\r\n"),
            Lie::Instead(b"$9223372036854775807\r\nabc"),
            Lie::Instead(b":99999999999999999999\r\n"),
            Lie::Endless(b"*1\r\n"),
            Lie::Endless(b":1\r\n"),
            Lie::Replace(b'*', b'$'),
            Lie::Replace(b':', b'+'),
            Lie::Replace(b'1', b'7'),
        ];
        for (case, lie) in lies.into_iter().enumerate() {
            let name = format!("lie-{case}");
            make(&server.address(&name), &at(Home::Module)).expect("made");
            let liar = Liar::start(&server, lie);
            let mut filter = liar.open(&name);
            liar.lie(u64::MAX);

            match filter.insert_batch(&keys(0..100)) {
                Err(Error::Interrupted { answers, .. }) => {
                    assert!(!answers.contains(&Answer::Seen), "{lie:?}: {answers:?}");
                }
                Err(_) => {}
                Ok(new) => panic!("{lie:?}: {new:?}"),
            }
            assert!(filter.contains_batch(&keys(500..600)).is_err(), "{lie:?}");
        }
    }
}

#[test]
fn no_acknowledged_key_is_lost_when_the_server_is_killed() {
    for engine in first() {
        let server = start(&engine, &[], &DURABLE);
        loses_no_acknowledged_key(server, &at(Home::Module));
    }
}

#[test]
fn a_filter_that_moves_between_file_strings_and_module_answers_alike() {
    on_each_engine(|server| {
        let mut local = Blocked::with_capacity(100_000, 0.01).expect("valid");
        let present = keys(0..100_000);
        for key in &present {
            local.insert(key);
        }
        let asked = keys(50_000..250_000);
        let expected: Vec<bool> = asked.iter().map(|key| local.contains(key)).collect();
        let local = AnyFilter::from(local);
        let address = server.address("moved");

        // New in the module, then to strings and back, then where it is.
        for (wish, home) in [
            (None, Home::Module),
            (Some(Home::Strings), Home::Strings),
            (None, Home::Strings),
            (Some(Home::Module), Home::Module),
            (None, Home::Module),
        ] {
            let options = Options {
                home: wish,
                ..Options::default()
            };
            let mut pushed =
                RedisBloom::push(&address, &local, &options, |_, _| ()).expect("pushed");
            assert_eq!(pushed.home().expect("known"), home);
            let found = pushed.contains_batch(&asked).expect("asked");
            let differ = found
                .iter()
                .zip(&expected)
                .filter(|(found, expected)| found != expected);
            assert_eq!(differ.count(), 0, "{home:?}");
            let mut opened = RedisBloom::open(&address, None).expect("there");
            assert!(opened.pull(|_, _| ()).expect("copied") == local, "{home:?}");
            let left = types(server);
            let whole = |kind: &&String| *kind != "hash";
            assert_eq!(left.values().filter(whole).count(), 1, "{left:?}");
        }
    });
}

#[test]
fn a_push_that_is_interrupted_leaves_nothing_that_answers_and_is_done_again() {
    on_each_engine(|server| {
        let mut local = Blocked::with_capacity(10_000, 0.01).expect("valid");
        for key in keys(0..10_000) {
            local.insert(&key);
        }
        let local = AnyFilter::from(local);
        for home in [Home::Strings, Home::Module] {
            let address = server.address(home.name());
            let push = |progress: fn(u64, u64)| {
                RedisBloom::push_new(&address, &local, &at(home), progress)
            };

            let ended = catch_unwind(AssertUnwindSafe(|| {
                push(|_, _| panic!("the program ends here"))
            }));

            assert!(ended.is_err());
            let opened = RedisBloom::open(&address, None);
            match home {
                Home::Strings => assert!(matches!(opened, Err(Error::Unfinished { .. }))),
                _ => assert!(matches!(opened, Err(Error::Missing { .. }))),
            }
            let mut pushed = push(|_, _| ()).expect("pushed");
            assert!(pushed.pull(|_, _| ()).expect("copied") == local);
            assert!(matches!(push(|_, _| ()), Err(Error::Exists { .. })));
        }
        assert_eq!(server.keys().len(), 4, "{:?}", server.keys());
    });
}

#[test]
fn a_filter_in_the_module_is_rebuilt_under_its_readers() {
    on_each_engine(|server| {
        let address = server.address("rebuilt");
        let mut filter = make(&address, &Options::default()).expect("made");
        let mut reader = RedisBloom::open(&address, None).expect("there");
        filter.insert_batch(&keys(0..100)).expect("inserted");

        let larger = Kind::Blocked.plan(50_000, 1e-6).expect("valid");
        let mut rebuild = filter.rebuild(&larger, None).expect("begun");
        assert!(reader.insert("meanwhile").expect("inserted"));
        rebuild.insert_batch(&keys(0..100)).expect("inserted");
        rebuild.promote().expect("promoted");

        assert!(!reader.insert("meanwhile").expect("inserted"));
        let found = reader.contains_batch(&keys(0..100)).expect("asked");
        assert!(found.iter().all(|&found| found));
        assert_eq!(reader.home().expect("known"), Home::Module);
        assert_eq!(reader.description().expect("known"), larger);
        assert_eq!(server.keys().len(), 2, "{:?}", server.keys());
    });
}

#[test]
fn keys_of_any_length_are_sent_in_frames_that_a_server_takes() {
    on_each_engine(|server| {
        let mut filter = make(&server.address("long"), &Options::default()).expect("made");
        let keys: Vec<Vec<u8>> = (0..40_u8)
            .map(|index| vec![index; usize::from(index) * 30_000])
            .collect();

        let new = filter.insert_batch(&keys).expect("inserted");

        assert!(new.iter().all(|&new| new));
        let found = filter.contains_batch(&keys).expect("asked");
        assert!(found.iter().all(|&found| found));
    });
}

#[test]
fn a_cluster_keeps_a_filter_in_the_module_of_one_node() {
    for engine in first() {
        let module = module();
        let cluster = Cluster::start_with(&engine, false, &["--loadmodule", &module]);
        for name in ["a", "b", "c", "d"] {
            let mut filter = make(&cluster.address(name), &Options::default()).expect("made");
            assert_eq!(filter.home().expect("known"), Home::Module);
            let new = filter.insert_batch(&keys(0..1000)).expect("inserted");
            assert!(new.iter().all(|&new| new));
            let mut other = RedisBloom::open(&cluster.address(name), None).expect("there");
            let found = other.contains_batch(&keys(500..1500)).expect("asked");
            assert_eq!(found.iter().filter(|&&found| found).count(), 500);
        }
    }
}
