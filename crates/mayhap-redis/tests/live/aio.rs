//! The same filters without blocking: the logic is shared, so a few tests are enough.

use mayhap::{AnyFilter, Kind};
use mayhap_redis::{AsyncRedisBloom, Error, Options, Placement, RedisBloom};

use crate::keys;
use mayhap_testing::server::{Cluster, engines, on_each_engine};

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(future)
}

async fn exercise(address: &mayhap_redis::Address, options: &Options) {
    let description = Kind::Blocked.plan(20_000, 1e-6).expect("valid");
    let filter = AsyncRedisBloom::create(address, &description, options)
        .await
        .expect("made");
    // Many tasks insert the same keys through clones of one filter.
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let mut filter = filter.clone();
            tokio::spawn(async move {
                let new = filter
                    .insert_batch(&keys(0..10_000))
                    .await
                    .expect("inserted");
                new.into_iter().filter(|&new| new).count()
            })
        })
        .collect();
    let mut won = 0;
    for task in tasks {
        won += task.await.expect("no panic");
    }
    assert_eq!(won, 10_000);

    // Blocking clients see the same.
    let blocking = address.clone();
    let found = tokio::task::spawn_blocking(move || {
        let mut filter = RedisBloom::open(&blocking, None).expect("there");
        filter.contains_batch(&keys(0..10_000)).expect("asked")
    });
    assert!(found.await.expect("no panic").iter().all(|&found| found));

    let mut filter = AsyncRedisBloom::open(address, None).await.expect("there");
    let stats = filter.stats().await.expect("counted");
    assert!((9_900.0..10_100.0).contains(&stats.keys.expect("not full")));
    assert!(!filter.insert(&7_u32).await.expect("inserted"));
    assert!(filter.contains(&7_u32).await.expect("asked"));
    let copy = filter.pull(|_, _| ()).await.expect("copied");
    let mut next = filter.rebuild(&description, None).await.expect("begun");
    next.insert_batch(&["green"]).await.expect("inserted");
    next.promote().await.expect("promoted");
    assert_eq!(
        filter.contains_batch(&["green"]).await.expect("asked"),
        [true]
    );
    assert!(!filter.contains(&7_u32).await.expect("asked"));
    let pushed = AsyncRedisBloom::push(address, &copy, options, |_, _| ()).await;
    drop(pushed.expect("pushed"));
    assert!(filter.contains(&7_u32).await.expect("asked"));
    filter.clear().await.expect("cleared");
    assert!(!filter.contains(&7_u32).await.expect("asked"));
    filter.delete().await.expect("dropped");
    let opened = AsyncRedisBloom::open(address, None).await;
    assert!(matches!(opened, Err(Error::Missing { .. })));
}

#[test]
fn everything_works_without_blocking() {
    on_each_engine(|server| run(exercise(&server.address("async"), &Options::default())));
}

#[test]
fn everything_works_without_blocking_in_a_cluster() {
    for engine in engines().into_iter().take(1) {
        let cluster = Cluster::start(&engine, false);
        let options = Options {
            shards: Some(12),
            placement: Placement::Spread,
            expiry: None,
            home: None,
        };
        run(exercise(&cluster.address("async"), &options));
    }
}

#[test]
fn a_fail_over_is_survived_without_blocking() {
    for engine in engines().into_iter().take(1) {
        let mut cluster = Cluster::start(&engine, true);
        let address = cluster.address("failing");
        let options = Options {
            shards: Some(12),
            placement: Placement::Spread,
            expiry: None,
            home: None,
        };
        let native = AnyFilter::new(&Kind::Blocked.plan(10_000, 0.01).expect("valid"));
        run(async {
            let mut filter =
                AsyncRedisBloom::push(&address, &native.expect("made"), &options, |_, _| ())
                    .await
                    .expect("pushed");
            filter.insert_batch(&keys(0..1000)).await.expect("inserted");
            for master in &cluster.nodes[..3] {
                let reached: i64 = redis::cmd("WAIT")
                    .arg(1)
                    .arg(10_000)
                    .query(&mut master.connection())
                    .expect("an answer");
                assert_eq!(reached, 1, "the replica has everything");
            }
            cluster.nodes[2].kill();
            filter
                .insert_batch(&keys(1000..2000))
                .await
                .expect("it recovers by itself");
            let found = filter.contains_batch(&keys(0..2000)).await.expect("asked");
            assert!(found.iter().all(|&found| found));
        });
    }
}
