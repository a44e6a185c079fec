//! The module in real servers, which the tests start themselves: every one that is on this machine. Without a server
//! program they say so and pass.

/// Replies, errors and limits of `BF.*`.
mod bf;
/// Replies, errors and limits of `CF.*`.
mod cf;
/// Our own client.
mod client;
/// Documentation of commands in servers, and rights.
mod commands;
/// Memory that a server gathers.
mod defrag;
/// Cuckoo filters of RedisBloom.
mod foreign;
/// Files that were changed at random, sent to servers.
mod mutants;
/// `MAYHAP.*`.
mod native;
/// Values that outlive a server, and those of its replicas.
mod persistence;
/// Files of a real RedisBloom.
mod redisbloom;
/// Snapshots as RedisBloom writes them.
mod snapshot;
/// Copies, measures and lists of the values of a module.
mod values;
/// The protocol, byte by byte.
mod wire;

use mayhap_testing::server::{self, Engine, Server, found};
use wire::Wire;

/// The servers that the module is loaded into.
fn engines() -> Vec<Engine> {
    let [redis, valkey] = server::PROGRAMS;
    found(&[
        redis,
        ("redis 8", "MAYHAP_REDIS_8_SERVER", "redis8-server"),
        valkey,
    ])
}

/// The module, which cargo has built beside the tests.
fn module() -> String {
    server::module().expect("the module lies beside the tests")
}

/// A server with the module, which is given these arguments, then options of the server.
fn start(engine: &Engine, arguments: &[&str], options: &[&str]) -> Server {
    let module = module();
    let load = ["--loadmodule", &module];
    // A value that begins with dashes is none of the module.
    let debug = ["--enable-debug-command", "yes"];
    Server::start(engine, &[&load, arguments, &debug, options].concat())
}

/// Runs a test on each server, with RedisBloom's replies.
fn on_each(test: impl Fn(&Server, Wire)) {
    for engine in engines() {
        eprintln!("on {}", engine.name);
        let server = start(&engine, &["DIALECT", "redis"], &[]);
        test(&server, Wire::new(server.port));
    }
}
