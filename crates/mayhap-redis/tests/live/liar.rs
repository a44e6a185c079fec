//! A server that lies: wrong lengths, wrong types, cut off, endless, or a byte at a time. Whatever it does, the
//! client ends with an error, and mistakes no key for seen.

use mayhap::Kind;
use mayhap_redis::{Answer, Error, Options, RedisBloom};

use crate::keys;
use mayhap_testing::lie::{Liar, Lie, keys_of_a_lost_answer_are_in_doubt};
use mayhap_testing::server::{Server, engines};

const LIES: [Lie; 14] = [
    Lie::Lose,
    Lie::Truncate,
    Lie::Drip,
    Lie::Instead(b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n*8\r\n"),
    Lie::Instead(b"*1000000000\r\n*1000000000\r\n"),
    Lie::Instead(b"$9223372036854775807\r\nabc"),
    Lie::Instead(b"$-7\r\n$-7\r\n*-9\r\n:99999999999999999999\r\n"),
    Lie::Instead(b"garbage without an end"),
    Lie::Endless(b"+"),
    Lie::Endless(b"*1\r\n"),
    Lie::Endless(b":1\r\n"),
    Lie::Endless(b"$-1\r\n"),
    Lie::Replace(b'*', b'$'),
    Lie::Replace(b':', b'+'),
];

fn make(server: &Server, name: &str, kind: Kind) {
    let description = kind.plan(10_000, 1e-6).expect("valid");
    let made = RedisBloom::create(&server.address(name), &description, &Options::default());
    made.expect("made");
}

#[test]
fn a_server_that_lies_gets_an_error_in_time_and_no_key_is_mistaken_for_seen() {
    for engine in engines().into_iter().take(1) {
        let server = Server::start(&engine, &[]);
        let cases = LIES
            .into_iter()
            .zip([Kind::Bloom, Kind::Blocked].into_iter().cycle());
        for (case, (lie, kind)) in cases.enumerate() {
            let name = format!("lie-{case}");
            make(&server, &name, kind);
            let liar = Liar::start(&server, lie);
            let mut filter = liar.open(&name);
            liar.lie(u64::MAX);

            match filter.insert_batch(&keys(0..100)) {
                Err(Error::Interrupted { answers, .. }) => {
                    let seen = answers.contains(&Answer::Seen);
                    assert!(!seen, "{lie:?}: {answers:?}");
                }
                Err(_) => {}
                Ok(new) => panic!("{lie:?}: {new:?}"),
            }
            let found = filter.contains_batch(&keys(500..600));
            assert!(found.is_err(), "{lie:?}: {found:?}");
            let stats = filter.stats();
            assert!(stats.is_err(), "{lie:?}: {stats:?}");
            // The settings may arrive whole; the bits do not.
            if let Ok(mut opened) = RedisBloom::open(&liar.address(&name), None) {
                assert!(opened.contains("key").is_err(), "{lie:?}");
            }
        }
    }
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn a_server_that_lies_does_not_hold_a_client_that_waits() {
    for engine in engines().into_iter().take(1) {
        let server = Server::start(&engine, &[]);
        for (case, lie) in [Lie::Drip, Lie::Lose, Lie::Truncate]
            .into_iter()
            .enumerate()
        {
            let name = format!("lie-{case}");
            make(&server, &name, Kind::Blocked);
            let liar = Liar::start(&server, lie);
            let address = liar.address(&name);
            // An honest answer may take any time on a busy machine.
            let mut filter = loop {
                if let Ok(filter) = mayhap_redis::AsyncRedisBloom::open(&address, None).await {
                    break filter;
                }
            };
            liar.lie(u64::MAX);

            let error = filter.insert_batch(&keys(0..100)).await.expect_err("a lie");

            let Error::Interrupted { answers, .. } = error else {
                panic!("{error}");
            };
            assert!(answers.iter().all(|answer| *answer == Answer::Doubtful));
        }
    }
}

#[test]
fn a_key_whose_answer_was_lost_is_in_doubt_and_no_other() {
    for engine in engines().into_iter().take(1) {
        let server = Server::start(&engine, &[]);
        for kind in [Kind::Bloom, Kind::Blocked] {
            let name = format!("lost-{kind}");
            make(&server, &name, kind);
            keys_of_a_lost_answer_are_in_doubt(&server, &name);
        }
    }
}
