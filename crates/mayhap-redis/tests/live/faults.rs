//! Faults of the server: each has an error of its own, and what was acknowledged stays.

use std::time::Duration;

use mayhap::Kind;
use mayhap_redis::{Address, Answer, Error, Expiry, Options, RedisBloom};

use crate::keys;
use mayhap_testing::kill::{DURABLE, loses_no_acknowledged_key};
use mayhap_testing::server::{Server, engines, on_each_engine, wait};

fn make(address: &Address) -> mayhap_redis::Result<RedisBloom> {
    let description = Kind::Blocked.plan(100_000, 0.01).expect("valid");
    RedisBloom::create(address, &description, &Options::default())
}

fn impatient(address: Address) -> Address {
    address.with_patience(Duration::ZERO)
}

#[test]
fn no_acknowledged_key_is_lost_when_the_server_is_killed() {
    for engine in engines() {
        let server = Server::start(&engine, &DURABLE);
        loses_no_acknowledged_key(server, &Options::default());
    }
}

#[test]
fn a_patient_client_continues_when_the_server_comes_back() {
    for engine in engines().into_iter().take(1) {
        let mut server = Server::start(&engine, &DURABLE);
        let address = server.address("patient");
        let mut filter = make(&address).expect("made");
        filter.insert_batch(&keys(0..1000)).expect("inserted");
        server.kill();

        let inserting = std::thread::spawn(move || {
            let new = filter
                .insert_batch(&keys(1000..2000))
                .expect("it came back");
            let found = filter.contains_batch(&keys(0..2000)).expect("asked");
            (new.len(), found.iter().all(|&found| found))
        });
        server.restart();

        assert_eq!(inserting.join().expect("no panic"), (1000, true));
    }
}

#[test]
fn an_absent_server_is_reported_at_once() {
    for engine in engines().into_iter().take(1) {
        let mut server = Server::start(&engine, &[]);
        let address = server.address("gone");
        let mut filter = make(&impatient(address.clone())).expect("made");
        server.kill();

        // With patience too: a client that was never connected does not wait.
        let interrupted = match filter.insert("key").expect_err("nobody answers") {
            Error::Interrupted {
                answers,
                error: Some(error),
                ..
            } => {
                assert_eq!(answers, [Answer::Doubtful]);
                *error
            }
            other => panic!("{other}"),
        };
        let refused = filter.insert("key").expect_err("nobody answers");
        for error in [make(&address).err(), Some(interrupted), Some(refused)] {
            let error = error.expect("nobody answers");
            assert!(matches!(error, Error::Unreachable { .. }), "{error}");
            assert!(
                error.to_string().contains(&server.port.to_string()),
                "{error}"
            );
        }
    }
}

#[test]
fn foreign_values_under_the_name_are_distinguished() {
    on_each_engine(|server| {
        let run = |command: &[&str]| server.run(command);
        let open = |name: &str| RedisBloom::open(&server.address(name), None).err();

        run(&["SET", "mayhap:{text}", "no filter"]);
        assert!(matches!(open("text"), Some(Error::WrongType { name }) if name == "text"));
        assert!(matches!(
            make(&server.address("text")),
            Err(Error::WrongType { .. })
        ));
        run(&["HSET", "mayhap:{newer}", "v", "4", "live", "?"]);
        assert!(matches!(
            open("newer"),
            Some(Error::Version { got, expected: 3, .. }) if got == "4"
        ));
        run(&["HSET", "mayhap:{other}", "live", "?"]);
        assert!(matches!(open("other"), Some(Error::Version { .. })));
        for line in [
            "",
            "id=1",
            "id=../x kind=blocked scheme=0 seed=0 bits=512 hashes=6 shards=1",
            "id=1 kind=blocked scheme=0 seed=0 bits=512 hashes=6 shards=9",
            "id=1 kind=bloom scheme=0 seed=0 bits=99999999999999 hashes=6 shards=1",
            "id=1 kind=blocked scheme=0 seed=0 bits=-1 hashes=6 shards=1",
            "id=1 kind=blocked scheme=0 seed=0 bits=513 hashes=6 shards=1",
            "id=1 kind=cuckoo scheme=0 seed=0 bits=512 hashes=6 shards=1",
            "id=1 kind=blocked scheme=99 seed=0 bits=512 hashes=6 shards=1",
            "id=1 kind=blocked scheme=0 seed=0 bits=512 hashes=6 shards=1 home=moon",
        ] {
            run(&[
                "HSET",
                "mayhap:{bad}",
                "v",
                "1",
                "placement",
                "together",
                "live",
                line,
            ]);
            let error = open("bad").expect("not a filter");
            let stated = matches!(
                error,
                Error::Settings { .. } | Error::Filter(_) | Error::Option { .. }
            );
            assert!(stated, "{line:?}: {error:?}");
        }
    });
}

#[test]
fn impossible_times_are_refused() {
    on_each_engine(|server| {
        let address = server.address("never");
        let description = Kind::Blocked.plan(1000, 0.01).expect("valid");
        for time in [Duration::ZERO, Duration::MAX] {
            for expiry in [Expiry::After(time), Expiry::AfterLastInsert(time)] {
                let options = Options {
                    expiry: Some(expiry),
                    ..Options::default()
                };
                let made = RedisBloom::create(&address, &description, &options);
                assert!(matches!(made, Err(Error::Option { what: "expiry", .. })));
            }
        }
        let mut command = redis::cmd("HSET");
        command
            .arg("mayhap:{never}")
            .arg(&["v", "1", "placement", "together"]);
        command.arg(&["ttl", "18446744073709551615", "refresh", "1"]);
        command.exec(&mut server.connection()).expect("done");
        let opened = RedisBloom::open(&address, None);
        assert!(matches!(opened, Err(Error::Settings { field: "ttl", .. })));
    });
}

#[test]
fn bits_that_the_server_lost_are_noticed() {
    on_each_engine(|server| {
        for kind in [Kind::Bloom, Kind::Blocked] {
            let address = server.address(&format!("lost-{kind}"));
            let description = kind.plan(1000, 0.01).expect("valid");
            let mut filter =
                RedisBloom::create(&address, &description, &Options::default()).expect("made");
            filter.insert("key").expect("inserted");
            let shard = server.keys().into_iter().find(|key| key.ends_with(":0"));
            let shard = shard.expect("a shard");
            redis::cmd("DEL")
                .arg(&shard)
                .exec(&mut server.connection())
                .expect("deleted");

            // An error is better than a false negative.
            assert!(matches!(filter.contains("key"), Err(Error::Lost { .. })));
            assert!(matches!(filter.stats(), Err(Error::Lost { .. })));
            assert!(matches!(filter.insert("key"), Err(Error::Lost { .. })));
            filter.delete().expect("it can still be dropped");
        }
    });
}

#[test]
fn no_number_of_inserts_brings_a_lost_filter_back() {
    on_each_engine(|server| {
        for kind in [Kind::Bloom, Kind::Blocked] {
            let address = server.address(&format!("evicted-{kind}"));
            let description = kind.plan(2000, 0.01).expect("valid");
            let mut filter =
                RedisBloom::create(&address, &description, &Options::default()).expect("made");
            filter.insert_batch(&keys(0..1000)).expect("inserted");
            let shard = server.keys().into_iter().find(|key| key.ends_with(":0"));
            redis::cmd("DEL")
                .arg(shard.expect("a shard"))
                .exec(&mut server.connection())
                .expect("deleted");

            // Enough to set bits in every byte of the string.
            for batch in 1..30 {
                let new = filter.insert_batch(&keys(batch * 1000..(batch + 1) * 1000));
                assert!(matches!(new, Err(Error::Lost { .. })), "{batch}: {new:?}");
            }

            let mut other = RedisBloom::open(&address, None).expect("its settings are there");
            for filter in [&mut filter, &mut other] {
                assert!(matches!(filter.contains("key"), Err(Error::Lost { .. })));
                assert!(matches!(filter.stats(), Err(Error::Lost { .. })));
                assert!(matches!(filter.pull(|_, _| ()), Err(Error::Lost { .. })));
            }
            other.clear().expect("an empty one takes its place");
            assert!(filter.insert("key").expect("inserted"));
            filter.delete().expect("dropped");
        }
    });
}

#[test]
fn a_filter_of_version_1_is_read_and_written_on() {
    on_each_engine(|server| {
        let line = "id=1 kind=blocked scheme=0 seed=0 bits=51200 hashes=6 shards=1";
        let fields = ["v", "1", "placement", "together", "live", line];
        server.run(&[&["HSET", "mayhap:{old}"][..], &fields[..]].concat());
        server.run(&["SETRANGE", "mayhap:{old}:1:0", "6399", "\0"]);

        let mut filter = RedisBloom::open(&server.address("old"), None).expect("there");

        assert!(filter.insert("key").expect("inserted"));
        assert!(filter.contains("key").expect("asked"));
        let keys = filter.stats().expect("counted").keys.expect("not full");
        assert_eq!(keys.round(), 1.0);
        filter.clear().expect("cleared");
        assert!(!filter.contains("key").expect("asked"));
    });
}

#[test]
fn a_replica_takes_no_writes_and_says_so() {
    on_each_engine(|server| {
        let address = server.address("replicated");
        let mut filter = make(&address).expect("made");
        filter.insert("key").expect("inserted");
        let engine = engines()
            .into_iter()
            .find(|engine| *engine == server.engine);
        let port = server.port.to_string();
        let arguments = [
            "--replicaof",
            "127.0.0.1",
            &port,
            "--repl-diskless-sync-delay",
            "0",
        ];
        let replica = Server::start(&engine.expect("it runs"), &arguments);
        let there = replica.address("replicated");
        let mut copy = wait("it has a copy", || RedisBloom::open(&there, None).ok());

        assert!(copy.contains("key").expect("replicas can be asked"));
        assert!(matches!(copy.insert("key"), Err(Error::ReadOnly { .. })));
        assert!(matches!(
            make(&replica.address("new")),
            Err(Error::ReadOnly { .. })
        ));
    });
}

#[test]
fn without_memory_nothing_is_half_made() {
    on_each_engine(|server| {
        let mut connection = server.connection();
        let address = server.address("small");
        let mut filter = make(&address).expect("made");
        let before = server.keys();
        let mut limit = |bytes: &str| {
            let mut command = redis::cmd("CONFIG");
            command.arg("SET").arg("maxmemory").arg(bytes);
            command.exec(&mut connection).expect("set");
        };
        limit("3mb");
        let description = Kind::Blocked.plan(10_000_000, 0.01).expect("valid");
        let options = Options {
            shards: Some(12),
            ..Options::default()
        };

        let made = RedisBloom::create(&server.address("large"), &description, &options);

        assert!(matches!(made, Err(Error::OutOfMemory { .. })));
        limit("1");
        assert!(matches!(
            filter.insert("key"),
            Err(Error::OutOfMemory { .. })
        ));
        limit("0");
        filter.insert("key").expect("there is room again");
        for key in server.keys() {
            let kind = server.type_of(&key);
            assert!(before.contains(&key) || kind == "hash", "{key} is left");
        }
        let opened = RedisBloom::open(&server.address("large"), None);
        assert!(matches!(opened, Err(Error::Missing { .. })));
    });
}

/// Refuses the string, then the settings: whichever is refused, nothing stays behind.
#[test]
fn a_make_that_is_refused_at_its_end_leaves_nothing() {
    on_each_engine(|server| {
        let mut connection = server.connection();
        let used: String = redis::cmd("INFO")
            .arg("memory")
            .query(&mut connection)
            .expect("stated");
        let used = used
            .lines()
            .find_map(|line| line.strip_prefix("used_memory:"));
        let used: u64 = used.expect("a line").trim().parse().expect("a number");
        // There is room to begin the string, and none after it.
        redis::cmd("CONFIG")
            .arg(&["SET", "maxmemory", &(used + (2 << 20)).to_string()])
            .exec(&mut connection)
            .expect("set");
        let description = Kind::Blocked.plan(10_000_000, 0.01).expect("valid");

        for _ in 0..3 {
            let address = server.address("refused");
            let made = RedisBloom::create(&address, &description, &Options::default());

            let error = made.err().expect("there is no room for the settings");
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
            assert_eq!(server.keys(), Vec::<String>::new());
        }
    });
}

#[test]
fn a_small_filter_takes_its_memory_once() {
    on_each_engine(|server| {
        let address = server.address("small");
        let description = Kind::Blocked.plan(300_000, 0.01).expect("valid");
        RedisBloom::create(&address, &description, &Options::default()).expect("made");

        let shard = server.keys().into_iter().find(|key| key.ends_with(":0"));
        let taken: u64 = redis::cmd("MEMORY")
            .arg("USAGE")
            .arg(shard.expect("a shard"))
            .query(&mut server.connection())
            .expect("stated");

        let bytes = description.bits / 8;
        assert!(taken < bytes * 5 / 4, "{taken} for {bytes}");
    });
}

#[test]
fn clients_that_make_a_filter_at_once_all_get_the_same() {
    on_each_engine(|server| {
        let address = server.address("raced");
        let description = Kind::Blocked.plan(10_000, 1e-6).expect("valid");
        let won: usize = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let options = Options::default();
                        let filter = RedisBloom::open_or_create(&address, &description, &options);
                        let new = filter.expect("there").insert_batch(&keys(0..1000));
                        new.expect("inserted")
                            .into_iter()
                            .filter(|&new| new)
                            .count()
                    })
                })
                .collect();
            let won = clients.into_iter().map(|client| client.join());
            won.map(|won| won.expect("no panic")).sum()
        });

        assert_eq!(won, 1000);
        assert_eq!(server.keys().len(), 2, "{:?}", server.keys());
    });
}

#[test]
fn a_password_is_required_and_accepted() {
    for engine in engines() {
        let server = Server::start(&engine, &["--requirepass", "hunter2"]);
        let address = |user: &str| -> Address {
            let text = format!("redis://{user}127.0.0.1:{}#locked", server.port);
            text.parse().expect("an address")
        };

        assert!(matches!(make(&address("")), Err(Error::Denied { .. })));
        assert!(matches!(
            make(&address(":wrong@")),
            Err(Error::Denied { .. })
        ));
        make(&address(":hunter2@")).expect("let in");
    }
}

#[test]
fn a_server_that_does_not_answer_times_out() {
    on_each_engine(|server| {
        let address = impatient(server.address("slow")).with_timeout(Duration::from_secs(1));
        let mut filter = make(&address).expect("made");
        redis::cmd("CLIENT")
            .arg("PAUSE")
            .arg(3000)
            .exec(&mut server.connection())
            .expect("paused");

        let error = filter.contains("key").expect_err("nobody answers");

        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        assert!(error.is_transient());
        let error = filter.insert("key").expect_err("nobody answers");
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        let mut patient = RedisBloom::open(&server.address("slow"), None).expect("in time");
        patient.insert("key").expect("in time");
        assert!(filter.contains("key").expect("on a new connection"));
    });
}
