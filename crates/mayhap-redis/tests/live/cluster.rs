//! A cluster of three masters, each with a replica: keys on every node, fail-over, slots that move.

use mayhap::Kind;
use mayhap_redis::{Answer, Error, Options, Placement, RedisBloom};

use crate::keys;
use mayhap_testing::server::{Cluster, Server, engines};

fn spread(shards: u32) -> Options {
    Options {
        shards: Some(shards),
        placement: Placement::Spread,
        ..Options::default()
    }
}

#[test]
fn a_filter_spreads_over_a_cluster_or_stays_together() {
    for engine in engines() {
        let cluster = Cluster::start(&engine, false);
        for kind in [Kind::Bloom, Kind::Blocked] {
            for (name, options) in [("together", Options::default()), ("spread", spread(24))] {
                let address = cluster.address(&format!("{kind}-{name}"));
                let description = kind.plan(20_000, 0.001).expect("valid");
                let mut filter =
                    RedisBloom::create(&address, &description, &options).expect("made");

                let new = filter.insert_batch(&keys(0..10_000)).expect("inserted");

                assert!(new.iter().filter(|&&new| new).count() > 9_990);
                let mut other = RedisBloom::open(&address, None).expect("there");
                let found = other.contains_batch(&keys(0..10_000)).expect("asked");
                assert!(found.iter().all(|&found| found));
                let stats = other.stats().expect("counted");
                assert!((9_800.0..10_200.0).contains(&stats.keys.expect("not full")));
                let on = |node: &Server| {
                    let keys = node.keys();
                    keys.iter()
                        .filter(|key| key.contains(&format!("{{{kind}-{name}")))
                        .count()
                };
                let nodes = cluster.nodes.iter().filter(|node| on(node) > 0).count();
                assert_eq!(nodes, if name == "spread" { 3 } else { 1 }, "{kind} {name}");
            }
        }
    }
}

#[test]
fn a_client_of_one_node_learns_that_it_is_a_cluster() {
    for engine in engines().into_iter().take(1) {
        let cluster = Cluster::start(&engine, false);
        for node in &cluster.nodes {
            let address = node.address(&format!("plain-{}", node.port));
            let description = Kind::Blocked.plan(1000, 0.01).expect("valid");
            let mut filter = RedisBloom::create(&address, &description, &spread(9)).expect("made");
            filter.insert_batch(&keys(0..100)).expect("inserted");
            let found = filter.contains_batch(&keys(0..100)).expect("asked");
            assert!(found.iter().all(|&found| found));
        }
    }
}

#[test]
fn slots_that_move_are_followed_while_they_move() {
    for engine in engines().into_iter().take(1) {
        let cluster = Cluster::start(&engine, false);
        let address = cluster.address("moving");
        let description = Kind::Blocked.plan(1000, 0.01).expect("valid");
        let options = Options::default();
        let mut filter = RedisBloom::create(&address, &description, &options).expect("made");
        filter.insert_batch(&keys(0..100)).expect("inserted");
        let from = cluster
            .nodes
            .iter()
            .position(|node| !node.keys().is_empty());
        let from = from.expect("it is somewhere");
        let to = (from + 1) % 3;
        let ids: Vec<String> = cluster
            .nodes
            .iter()
            .map(|node| {
                let mut command = redis::cmd("CLUSTER");
                command
                    .arg("MYID")
                    .query(&mut node.connection())
                    .expect("an id")
            })
            .collect();
        let keys_there = cluster.nodes[from].keys();
        let slot: u16 = redis::cmd("CLUSTER")
            .arg("KEYSLOT")
            .arg(&keys_there[0])
            .query(&mut cluster.nodes[from].connection())
            .expect("a slot");
        let set = |node: usize, what: &str, id: &str| {
            let mut command = redis::cmd("CLUSTER");
            command.arg("SETSLOT").arg(slot).arg(what).arg(id);
            command
                .exec(&mut cluster.nodes[node].connection())
                .expect("set");
        };

        set(to, "IMPORTING", &ids[from]);
        set(from, "MIGRATING", &ids[to]);
        // One key after the other changes its node, and a client asks between them.
        for (step, key) in keys_there.iter().enumerate() {
            redis::cmd("MIGRATE")
                .arg("127.0.0.1")
                .arg(cluster.nodes[to].port)
                .arg(key)
                .arg(0)
                .arg(5000)
                .exec(&mut cluster.nodes[from].connection())
                .expect("moved");
            let step = step as u32 * 100;
            filter
                .insert_batch(&keys(1000 + step..1100 + step))
                .expect("asked on both");
            let found = filter.contains_batch(&keys(0..100)).expect("asked");
            assert!(found.iter().all(|&found| found), "after {key}");
        }
        for node in [to, from] {
            set(node, "NODE", &ids[to]);
        }

        let found = filter.contains_batch(&keys(0..100)).expect("asked");
        assert!(found.iter().all(|&found| found));
        let found = filter.contains_batch(&keys(1000..1200)).expect("asked");
        assert!(found.iter().all(|&found| found));
        assert!(filter.insert("afterwards").expect("inserted"));
    }
}

#[test]
fn a_fail_over_loses_no_key_that_was_acknowledged() {
    for engine in engines() {
        let mut cluster = Cluster::start(&engine, true);
        let description = Kind::Blocked.plan(100_000, 0.001).expect("valid");
        let address = cluster.address("failing");
        // Every answer waits for a replica, until one of the masters has none left.
        let durable = address.clone().with_replicas(1);
        let mut filter = RedisBloom::create(&durable, &description, &spread(12)).expect("made");
        let mut acknowledged: Vec<[u8; 4]> = Vec::new();
        for batch in 0..30 {
            let keys = keys(batch * 500..(batch + 1) * 500);
            let new = filter.insert_batch(&keys).expect("replicated");
            assert!(new.iter().filter(|&&new| new).count() > 490);
            acknowledged.extend(keys);
        }

        cluster.nodes[1].kill();
        let error = filter
            .insert_batch(&keys(0..500))
            .expect_err("one has no replica left");
        let mut filter = RedisBloom::open(&address, None).expect("there");
        for batch in 30..60 {
            let keys = keys(batch * 500..(batch + 1) * 500);
            match filter.insert_batch(&keys) {
                // Answers that were lost with the master are in doubt; the keys are inserted.
                Ok(_) | Err(Error::Interrupted { error: None, .. }) => {}
                Err(error) => panic!("the client recovers by itself: {error}"),
            }
            acknowledged.extend(keys);
        }

        let Error::Interrupted {
            answers,
            error: Some(error),
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert!(
            matches!(*error, Error::Unreplicated { wanted: 1, .. }),
            "{error}"
        );
        // They were inserted before: seen, or in doubt where the answer was lost with the master.
        let sure = |answer: &Answer| matches!(answer, Answer::Seen | Answer::Doubtful);
        assert!(answers.iter().all(sure), "{answers:?}");
        let found = filter.contains_batch(&acknowledged).expect("asked");
        assert!(found.iter().all(|&found| found), "no false negatives");
        let mut other = RedisBloom::open(&address, None).expect("another client gets in");
        assert!(other.contains(&acknowledged[0]).expect("asked"));
    }
}
