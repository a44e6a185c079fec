//! A server that is killed while keys are inserted. Shared with the tests of the module.

use std::time::Duration;

use mayhap::Kind;
use mayhap_redis::{Answer, Error, Options, RedisBloom};

use crate::server::Server;

/// The options of a server that loses nothing that it has acknowledged.
pub const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// Kills a durable server while keys are inserted into a filter, starts it again, and looks up all acknowledged keys.
pub fn loses_no_acknowledged_key(mut server: Server, options: &Options) {
    let address = server.address("durable");
    let impatient = address.clone().with_patience(Duration::ZERO);
    let description = Kind::Blocked.plan(100_000, 0.01).expect("valid");
    let filter = RedisBloom::create(&impatient, &description, options);
    let mut filter = filter.expect("made");
    let (say, hear) = std::sync::mpsc::channel();
    let inserting = std::thread::spawn(move || {
        let mut acknowledged = Vec::new();
        for batch in 0_u32.. {
            let keys = batch * 100..(batch + 1) * 100;
            let keys: Vec<[u8; 4]> = keys.map(u32::to_le_bytes).collect();
            match filter.insert_batch(&keys) {
                Ok(_) => acknowledged.extend(keys),
                Err(error) => return (acknowledged, error),
            }
            if batch == 20 {
                say.send(()).expect("someone hears");
            }
        }
        unreachable!("it is killed before")
    });

    hear.recv().expect("it has begun");
    server.kill();
    let (acknowledged, error) = inserting.join().expect("no panic");
    server.restart();

    let Error::Interrupted {
        answers,
        error: Some(error),
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert!(error.is_transient(), "{error}");
    // The one batch that had been sent when the server died.
    assert!(answers.iter().all(|answer| *answer == Answer::Doubtful));
    let mut filter = RedisBloom::open(&address, None).expect("still there");
    let found = filter.contains_batch(&acknowledged).expect("asked");
    let count = acknowledged.len();
    assert!(found.iter().all(|&found| found), "of {count}");
}
