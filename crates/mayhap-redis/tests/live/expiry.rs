//! No key of a filter is ever without its expiry, and all of them expire together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mayhap::Kind;
use mayhap_redis::{Error, Expiry, Options, Placement, RedisBloom, Window};

use crate::keys;
use mayhap_testing::server::{Cluster, Server, engines, on_each_engine, wait};

/// Lists, in one step, every key that has no expiry.
const WITHOUT_EXPIRY: &str = "\
local without = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 then without[#without + 1] = key end
end
return without";

/// Runs `test` while other clients look at every key of the servers, again and again.
fn watching<T>(servers: &[Server], test: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for server in servers {
            let over = &over;
            scope.spawn(move || {
                let mut connection = server.connection();
                let mut looks = 0_u32;
                while !over.load(Ordering::Relaxed) || looks == 0 {
                    let without: Vec<String> = redis::cmd("EVAL")
                        .arg(WITHOUT_EXPIRY)
                        .arg(0)
                        .query(&mut connection)
                        .expect("keys");
                    assert!(without.is_empty(), "without expiry: {without:?}");
                    looks += 1;
                }
            });
        }
        // Also when the test fails, or the others would look for ever.
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _over = Over(&over);
        test()
    })
}

fn expiring(time: Duration, shards: u32, placement: Placement) -> Options {
    Options {
        shards: Some(shards),
        placement,
        expiry: Some(Expiry::After(time)),
        home: None,
    }
}

/// Makes, fills, rebuilds and clears a filter, and inserts until it has expired and after.
fn a_short_life(mut filter: RedisBloom) {
    let description = filter.description().expect("known");
    filter.insert_batch(&keys(0..1000)).expect("inserted");
    let mut next = filter.rebuild(&description, None).expect("begun");
    next.insert_batch(&keys(0..1000)).expect("inserted");
    filter
        .insert_batch(&keys(1000..2000))
        .expect("inserted into both");
    next.promote().expect("promoted");
    let found = filter.contains_batch(&keys(0..2000)).expect("asked");
    assert!(found.iter().all(|&found| found));
    filter.clear().expect("cleared");
    // Without a pause, so that inserts are under way when it expires.
    let error = wait("it expires", || filter.insert_batch(&keys(0..200)).err());
    // In the middle of a batch, the error has the answers so far.
    let error = match error {
        Error::Interrupted {
            error: Some(error), ..
        } => *error,
        error => error,
    };
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    for _ in 0..100 {
        let error = filter.insert_batch(&keys(0..10)).expect_err("it is gone");
        assert!(matches!(error, Error::Missing { .. }), "{error}");
    }
}

#[test]
fn no_key_is_ever_without_expiry() {
    on_each_engine(|server| {
        for kind in [Kind::Bloom, Kind::Blocked] {
            let address = server.address(&format!("short-{kind}"));
            let description = kind.plan(5000, 0.01).expect("valid");
            let options = expiring(Duration::from_secs(4), 3, Placement::Together);

            watching(std::slice::from_ref(server), || {
                let filter = RedisBloom::create(&address, &description, &options).expect("made");
                a_short_life(filter);
            });

            wait("nothing is left", || server.keys().is_empty().then_some(()));
        }
    });
}

#[test]
fn no_key_is_ever_without_expiry_in_a_cluster() {
    for engine in engines().into_iter().take(1) {
        let cluster = Cluster::start(&engine, false);
        let address = cluster.address("short");
        let description = Kind::Blocked.plan(5000, 0.01).expect("valid");
        let options = expiring(Duration::from_secs(4), 9, Placement::Spread);

        watching(&cluster.nodes, || {
            let filter = RedisBloom::create(&address, &description, &options).expect("made");
            a_short_life(filter);
        });

        for node in &cluster.nodes {
            wait("nothing is left", || node.keys().is_empty().then_some(()));
        }
    }
}

#[test]
fn settings_and_shards_expire_in_the_same_millisecond() {
    on_each_engine(|server| {
        let address = server.address("together");
        let description = Kind::Blocked.plan(5000, 0.01).expect("valid");
        let options = expiring(Duration::from_secs(3600), 7, Placement::Together);
        let mut filter = RedisBloom::create(&address, &description, &options).expect("made");
        filter.insert_batch(&keys(0..1000)).expect("inserted");

        let mut times: Vec<u64> = server
            .keys()
            .iter()
            .map(|key| {
                let mut command = redis::cmd("PEXPIRETIME");
                command
                    .arg(key)
                    .query(&mut server.connection())
                    .expect("a time")
            })
            .collect();

        assert_eq!(times.len(), 8);
        times.dedup();
        assert_eq!(times.len(), 1, "{times:?}");
        let stated = filter.expires().expect("known").expect("it expires");
        let stated = stated
            .duration_since(std::time::UNIX_EPOCH)
            .expect("after 1970");
        assert_eq!(u128::from(times[0]), stated.as_millis());
    });
}

#[test]
fn inserts_can_extend_the_life_of_a_filter() {
    for engine in engines().into_iter().take(1) {
        let server = Server::start(&engine, &[]);
        let address = server.address("living");
        let description = Kind::Blocked.plan(5000, 0.01).expect("valid");
        let time = Duration::from_secs(3);
        let options = Options {
            shards: Some(3),
            expiry: Some(Expiry::AfterLastInsert(time)),
            ..Options::default()
        };

        watching(std::slice::from_ref(&server), || {
            let mut filter = RedisBloom::create(&address, &description, &options).expect("made");
            let begin = Instant::now();
            filter.insert("first").expect("inserted");
            while begin.elapsed() < time * 3 / 2 {
                filter.insert("again").expect("still there");
            }
            assert!(filter.contains("first").expect("asked"), "in every shard");
            let last = Instant::now();
            wait("it expires", || match filter.contains("first") {
                Err(Error::Missing { .. }) => Some(()),
                Err(error) => panic!("{error}"),
                Ok(found) => {
                    assert!(found, "it goes all at once");
                    None
                }
            });
            // The server's clock is ours, apart from the time it takes to read it.
            assert!(last.elapsed() >= time - Duration::from_millis(50));
        });
        wait("nothing is left", || server.keys().is_empty().then_some(()));
    }
}

#[test]
fn a_window_forgets_and_never_has_bits_without_expiry() {
    on_each_engine(|server| {
        let address = server.address("lately");
        let window = Window {
            span: Duration::from_secs(2),
            generations: 4,
        };
        let description = window.plan(Kind::Blocked, 1000, 0.001).expect("valid");
        let mut filter =
            RedisBloom::create_window(&address, window, &description, &Options::default())
                .expect("made");
        let mut connection = server.connection();

        let begin = Instant::now();
        assert!(filter.insert("once").expect("inserted"));
        wait("it is forgotten", || {
            filter.insert("often").expect("inserted");
            for key in server.keys() {
                let left: i64 = redis::cmd("PTTL")
                    .arg(&key)
                    .query(&mut connection)
                    .expect("a time");
                let settings = key == "mayhap:{lately}";
                assert!(settings || left != -1, "{key} has no expiry");
            }
            (!filter.contains("once").expect("asked")).then_some(())
        });

        assert!(begin.elapsed() >= window.span, "not before its time");
        assert!(
            filter.contains("often").expect("asked"),
            "it came again and again"
        );
        filter.delete().expect("dropped");
        assert_eq!(server.keys(), [""; 0]);
    });
}
