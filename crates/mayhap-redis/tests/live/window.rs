//! Windows: one winner across generations, and the rate of all of them together.

use std::time::{Duration, Instant};

use mayhap::Kind;
use mayhap_redis::{Error, Options, Placement, RedisBloom, Window};

use crate::{insert, keys, won_by};
use mayhap_testing::server::{Cluster, engines, on_each_engine};

#[test]
fn a_key_is_new_to_one_client_while_generations_turn() {
    on_each_engine(|server| {
        let address = server.address("turning");
        // Generations of one second, and nothing forgotten while the test runs.
        let window = Window {
            span: Duration::from_secs(30),
            generations: 30,
        };
        for kind in [Kind::Blocked, Kind::Bloom] {
            let description = window.plan(kind, 100_000, 1e-4).expect("valid");
            let made =
                RedisBloom::create_window(&address, window, &description, &Options::default());
            made.expect("made");
            let begin = Instant::now();

            let won = won_by(4, &address, |_, filter| {
                let (mut won, mut count) = (0, 0);
                // At least one turn.
                while count < 400 || begin.elapsed() < Duration::from_secs(2) {
                    won += insert(filter, count % 400..count % 400 + 20);
                    count += 20;
                }
                won
            });

            assert!(begin.elapsed() < window.span, "too slow to tell");
            assert_eq!(won, 400, "{kind}");
            let mut filter = RedisBloom::open(&address, None).expect("there");
            assert_eq!(filter.window(), Some(window));
            let found = filter.contains_batch(&keys(0..400)).expect("asked");
            assert!(found.iter().all(|&found| found));
            let others = filter.contains_batch(&keys(1000..2000)).expect("asked");
            // At most 10^-4 when full, and it is nearly empty.
            assert!(others.iter().all(|&found| !found));
            let stats = filter.stats().expect("counted");
            assert!(stats.keys.expect("not full") >= 390.0 && stats.rate < 1e-4);
            filter.delete().expect("dropped");
        }
    });
}

#[test]
fn a_window_spreads_over_a_cluster_and_cannot_be_rebuilt() {
    for engine in engines().into_iter().take(1) {
        let cluster = Cluster::start(&engine, false);
        let address = cluster.address("wide");
        let window = Window {
            span: Duration::from_secs(60),
            generations: 2,
        };
        let description = window.plan(Kind::Blocked, 10_000, 0.01).expect("valid");
        let options = Options {
            shards: Some(8),
            placement: Placement::Spread,
            expiry: None,
            home: None,
        };
        let mut filter =
            RedisBloom::create_window(&address, window, &description, &options).expect("made");

        let new = filter.insert_batch(&keys(0..2000)).expect("inserted");

        assert!(new.iter().filter(|&&new| new).count() > 1990);
        let mut other = RedisBloom::open(&address, None).expect("there");
        assert!(
            other
                .contains_batch(&keys(0..2000))
                .expect("asked")
                .iter()
                .all(|&found| found)
        );
        assert!(matches!(
            other.rebuild(&description, None),
            Err(Error::Option { .. })
        ));
        assert!(matches!(other.pull(|_, _| ()), Err(Error::Option { .. })));
        let again = RedisBloom::create_window(&address, window, &description, &options);
        assert!(matches!(again, Err(Error::Exists { .. })));
        other.clear().expect("cleared");
        assert!(!filter.contains(&7_u32).expect("asked"));
    }
}

#[test]
fn a_generation_that_the_server_lost_stays_lost_until_the_window_is_cleared() {
    on_each_engine(|server| {
        for (kind, placement) in [
            (Kind::Blocked, Placement::Together),
            (Kind::Bloom, Placement::Spread),
        ] {
            let address = server.address(&format!("lost-{kind}"));
            let window = Window {
                span: Duration::from_secs(3600),
                generations: 2,
            };
            let description = window.plan(kind, 2000, 0.01).expect("valid");
            let options = Options {
                placement,
                ..Options::default()
            };
            let made = RedisBloom::create_window(&address, window, &description, &options);
            let mut filter = made.expect("made");
            filter.insert_batch(&keys(0..500)).expect("inserted");
            let is_shard = |key: &String| key.contains("lost") && server.type_of(key) == "string";
            let shard = server.keys().into_iter().find(is_shard);
            redis::cmd("DEL")
                .arg(shard.expect("a shard"))
                .exec(&mut server.connection())
                .expect("deleted");

            for batch in 1..20 {
                let new = filter.insert_batch(&keys(batch * 500..(batch + 1) * 500));
                assert!(matches!(new, Err(Error::Lost { .. })), "{batch}: {new:?}");
            }

            let mut other = RedisBloom::open(&address, None).expect("its settings are there");
            for filter in [&mut filter, &mut other] {
                assert!(matches!(filter.contains(&7_u32), Err(Error::Lost { .. })));
                assert!(matches!(filter.stats(), Err(Error::Lost { .. })));
            }
            other.clear().expect("cleared");
            assert!(!filter.contains(&7_u32).expect("asked"));
            assert!(filter.insert(&7_u32).expect("inserted"));
            filter.delete().expect("dropped");
        }
    });
}

#[test]
fn impossible_windows_are_refused() {
    let window = |milliseconds, generations| Window {
        span: Duration::from_millis(milliseconds),
        generations,
    };
    for bad in [
        window(1000, 0),
        window(1000, 65),
        window(99, 1),
        window(u64::MAX, 7),
    ] {
        let error = bad.plan(Kind::Blocked, 1000, 0.01);
        assert!(matches!(error, Err(Error::Option { .. })), "{bad:?}");
    }
}
