//! The cost of shared filters, in keys a second, against other ways to keep bits in Redis.
//!
//! One server, one connection, 600 000 keys at 10^-4, 14 bits per key (12 in the
//! blocked layout). Half of the keys asked for are there. Beside them `SET` and `GET` of the keys
//! themselves. Then the same in a cluster of three masters, 24 shards spread over them. Starts its own
//! servers; without `redis-server` it says so. The filter in the server module is measured when
//! `cargo build --release -p mayhap-module` has built it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mayhap::hash::MessageDigest;
use mayhap::{Kind, Scheme, Shape, Sizing};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::measure::{Measurement, Race};
use mayhap_bench::report::{Report, count};
use mayhap_redis::{Home, Options, Placement, RedisBloom};
use mayhap_testing::server::{self, Cluster, Server, module};

/// The filter that was first published for Redis bitmaps (`docs/origins.md`).
const KEYS: u64 = 600_000;
const RATE: f64 = 1e-4;

/// The server key of the plain ways.
const BITS: &str = "bits";

/// Keys a pass handles that needs round trips for each, and one that does not.
const SLOW_PASS: u64 = 40;
const PASS: u64 = 20_000;

const SHARDS: u32 = 24;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![100, 1000],
        urls: vec![],
        rates: vec![],
        rounds: 7,
        only: vec![],
        record: false,
    })?;
    let engines = server::engines();
    let Some(engine) = engines.first() else {
        println!("SKIPPED: there is no server to measure");
        return Ok(());
    };
    let mut report = Report::new("servers", "thousand keys a second, median (least–greatest)");
    let module = module();
    let load = module.as_ref().map(|module| ["--loadmodule", module]);
    let one = Server::start(engine, load.as_ref().map_or(&[], |load| load));
    for &batch in &arguments.keys {
        let batch = batch.min(1000);
        let mut race = Standalone::new(&one, batch)?;
        race.enter_all(&arguments)?;
        let title = format!("One server, batches of {}", count(batch));
        let results = race.race.run(arguments.rounds);
        report.add(
            title,
            "pipelined SETBIT, GETBIT",
            results.iter().map(per_second).collect(),
        );
    }
    drop(one);
    let cluster = Cluster::start(engine, false);
    for &batch in &arguments.keys {
        let batch = batch.min(1000);
        let mut race = Race::new();
        enter_cluster(&mut race, &cluster, &arguments, batch)?;
        let title = format!(
            "Three masters, {SHARDS} shards, batches of {}",
            count(batch)
        );
        let results = race.run(arguments.rounds);
        report.add(
            title,
            "pipelined SETBIT, GETBIT",
            results.iter().map(per_second).collect(),
        );
    }
    report.close(arguments.record)
}

/// Thousand keys a second, from nanoseconds per key.
fn per_second(one: &Measurement) -> Measurement {
    Measurement {
        median: 1e6 / one.median,
        least: 1e6 / one.greatest,
        greatest: 1e6 / one.least,
        ..one.clone()
    }
}

/// The keys of one pass: new ones each time, or half new and half from the first pass.
struct Keys {
    next: u64,
}

impl Keys {
    fn new() -> Rc<RefCell<Keys>> {
        Rc::new(RefCell::new(Keys { next: 0 }))
    }

    fn fresh(&mut self, count: u64) -> Vec<[u8; 8]> {
        // Round and round, or the filters would overflow.
        let start = self.next % KEYS;
        self.next += count;
        (start..start + count).map(u64::to_le_bytes).collect()
    }

    fn half(&mut self, count: u64) -> Vec<[u8; 8]> {
        let start = self.next;
        self.next += count;
        let key = |index: u64| match index % 2 {
            0 => index % PASS,
            _ => (1 << 40) + index,
        };
        (start..start + count)
            .map(|index| key(index).to_le_bytes())
            .collect()
    }
}

/// Times `work` over batches of keys that are made beforehand.
fn timed(
    keys: Vec<[u8; 8]>,
    batch: u64,
    mut work: impl FnMut(&[[u8; 8]]) -> u64,
) -> (Duration, u64) {
    let begin = Instant::now();
    let answer = keys.chunks(batch as usize).map(&mut work).sum();
    (begin.elapsed(), answer)
}

type Shared<T> = Rc<RefCell<T>>;

fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

struct Standalone<'a> {
    server: &'a Server,
    batch: u64,
    race: Race<'a>,
}

impl<'a> Standalone<'a> {
    fn new(server: &'a Server, batch: u64) -> Result<Self> {
        redis::cmd("FLUSHALL").exec(&mut server.connection())?;
        Ok(Standalone {
            server,
            batch,
            race: Race::new(),
        })
    }

    /// Enters a way to add and one to ask, over one connection.
    fn enter(
        &mut self,
        arguments: &Arguments,
        name: &str,
        pass: u64,
        add: impl Fn(&mut redis::Connection, &[[u8; 8]]) -> u64 + 'a,
        ask: impl Fn(&mut redis::Connection, &[[u8; 8]]) -> u64 + 'a,
    ) {
        if !arguments.takes(name) {
            return;
        }
        let connection = shared(self.server.connection());
        let batch = self.batch;
        let (keys, asking) = (Keys::new(), connection.clone());
        self.race.enter_timed(name, "add", pass, move || {
            let keys = keys.borrow_mut().fresh(pass);
            timed(keys, batch, |keys| add(&mut connection.borrow_mut(), keys))
        });
        let keys = Keys::new();
        self.race.enter_timed(name, "exists", pass, move || {
            let keys = keys.borrow_mut().half(pass);
            timed(keys, batch, |keys| ask(&mut asking.borrow_mut(), keys))
        });
    }

    fn enter_all(&mut self, arguments: &Arguments) -> Result<()> {
        let shape = Sizing::Salted.shape(KEYS, RATE)?;
        let post = || Scheme::Salted(MessageDigest::Md5);
        let native = Scheme::default;
        // The bitmap is there at its full length from the start, as it soon would be.
        redis::cmd("SETBIT")
            .arg(BITS)
            .arg(shape.bits() - 1)
            .arg(0)
            .exec(&mut self.server.connection())?;
        self.enter(
            arguments,
            "post 003 as written",
            SLOW_PASS,
            move |connection, keys| {
                let each = |key: &[u8; 8]| {
                    let all: Vec<u8> = query(redis::cmd("GET").arg(BITS), connection);
                    one_by_one(connection, "SETBIT", &post().positions(key, shape))
                        + all.len() as u64
                };
                keys.iter().map(each).sum()
            },
            move |connection, keys| {
                let each =
                    |key: &[u8; 8]| one_by_one(connection, "GETBIT", &post().positions(key, shape));
                keys.iter().map(each).sum()
            },
        );
        self.enter(
            arguments,
            "a round trip per bit",
            SLOW_PASS,
            move |connection, keys| {
                let each = |key: &[u8; 8]| {
                    one_by_one(connection, "SETBIT", &native().positions(key, shape))
                };
                keys.iter().map(each).sum()
            },
            move |connection, keys| {
                let each = |key: &[u8; 8]| {
                    one_by_one(connection, "GETBIT", &native().positions(key, shape))
                };
                keys.iter().map(each).sum()
            },
        );
        self.enter(
            arguments,
            "pipelined SETBIT, GETBIT",
            PASS,
            move |connection, keys| pipelined(connection, keys, shape, "SETBIT"),
            move |connection, keys| pipelined(connection, keys, shape, "GETBIT"),
        );
        self.enter(
            arguments,
            "one Lua call",
            PASS,
            move |connection, keys| scripted(connection, LUA_ADD, keys, shape),
            move |connection, keys| scripted(connection, LUA_EXISTS, keys, shape),
        );
        self.enter(
            arguments,
            "pipelined SET, GET",
            PASS,
            |connection, keys| {
                let mut pipeline = redis::pipe();
                for key in keys {
                    pipeline.cmd("SET").arg(key).arg("");
                }
                let done: Vec<String> = pipeline.query(connection).expect("set");
                done.len() as u64
            },
            |connection, keys| {
                let mut pipeline = redis::pipe();
                for key in keys {
                    pipeline.cmd("GET").arg(key);
                }
                let found: Vec<Option<String>> = pipeline.query(connection).expect("read");
                found.iter().flatten().count() as u64
            },
        );
        let mut homes = vec![(Kind::Bloom, Home::Strings), (Kind::Blocked, Home::Strings)];
        if module().is_some() {
            homes.push((Kind::Blocked, Home::Module));
        }
        for (kind, home) in homes {
            let name = format!("mayhap-redis, {kind}, {home:?}").to_lowercase();
            let address = self.server.address(&name);
            let description = kind.plan(KEYS, RATE)?;
            let options = Options {
                home: Some(home),
                ..Options::default()
            };
            let filter = RedisBloom::create(&address, &description, &options)?;
            enter_ours(&mut self.race, arguments, &name, self.batch, filter);
        }
        Ok(())
    }
}

fn enter_ours(
    race: &mut Race<'_>,
    arguments: &Arguments,
    name: &str,
    batch: u64,
    filter: RedisBloom,
) {
    if !arguments.takes(name) {
        return;
    }
    let filter = shared(filter);
    let (keys, asking) = (Keys::new(), filter.clone());
    race.enter_timed(name, "add", PASS, move || {
        let keys = keys.borrow_mut().fresh(PASS);
        timed(keys, batch, |keys| {
            let new = filter.borrow_mut().insert_batch(keys).expect("inserted");
            new.into_iter().map(u64::from).sum()
        })
    });
    let keys = Keys::new();
    race.enter_timed(name, "exists", PASS, move || {
        let keys = keys.borrow_mut().half(PASS);
        timed(keys, batch, |keys| {
            let found = asking.borrow_mut().contains_batch(keys).expect("asked");
            found.into_iter().map(u64::from).sum()
        })
    });
}

fn query<T: redis::FromRedisValue>(command: &redis::Cmd, connection: &mut redis::Connection) -> T {
    command.query(connection).expect("an answer")
}

fn one_by_one(connection: &mut redis::Connection, name: &str, positions: &[u64]) -> u64 {
    let mut ones = 0;
    for &position in positions {
        let mut command = redis::cmd(name);
        command.arg(BITS).arg(position);
        if name == "SETBIT" {
            command.arg(1);
        }
        let bit: u64 = query(&command, connection);
        ones += bit;
    }
    ones
}

/// Counts the keys that have only ones, after a command for each bit of each.
fn pipelined(
    connection: &mut redis::Connection,
    keys: &[[u8; 8]],
    shape: Shape,
    name: &str,
) -> u64 {
    let mut pipeline = redis::pipe();
    for key in keys {
        for position in Scheme::default().positions(key, shape) {
            pipeline.cmd(name).arg(BITS).arg(position);
            if name == "SETBIT" {
                pipeline.arg(1);
            }
        }
    }
    let bits: Vec<u8> = pipeline.query(connection).expect("an answer");
    let keys = bits.chunks(shape.hashes() as usize);
    keys.map(|bits| u64::from(bits.iter().all(|&bit| bit == 1)))
        .sum()
}

const LUA_ADD: &str = "\
local k, new = tonumber(ARGV[1]), {}
for key = 0, (#ARGV - 1) / k - 1 do
  local any = 0
  for bit = 1, k do
    if redis.call('SETBIT', KEYS[1], ARGV[1 + key * k + bit], 1) == 0 then any = 1 end
  end
  new[key + 1] = any
end
return new";

const LUA_EXISTS: &str = "\
local k, found = tonumber(ARGV[1]), {}
for key = 0, (#ARGV - 1) / k - 1 do
  local all = 1
  for bit = 1, k do
    if redis.call('GETBIT', KEYS[1], ARGV[1 + key * k + bit]) == 0 then all = 0 break end
  end
  found[key + 1] = all
end
return found";

fn scripted(
    connection: &mut redis::Connection,
    script: &str,
    keys: &[[u8; 8]],
    shape: Shape,
) -> u64 {
    let mut command = redis::cmd("EVAL");
    command.arg(script).arg(1).arg(BITS).arg(shape.hashes());
    for key in keys {
        command.arg(Scheme::default().positions(key, shape));
    }
    let answers: Vec<u64> = query(&command, connection);
    answers.iter().sum()
}

/// The same in a cluster: the client's own pipelines over shards with hash tags, and ours.
fn enter_cluster(
    race: &mut Race<'_>,
    cluster: &Cluster,
    arguments: &Arguments,
    batch: u64,
) -> Result<()> {
    let shape = Sizing::Salted.shape(KEYS / u64::from(SHARDS), RATE)?;
    let nodes: Vec<String> = cluster
        .nodes
        .iter()
        .map(|node| format!("redis://127.0.0.1:{}", node.port))
        .collect();
    let connect = || redis::cluster::ClusterClient::new(nodes.clone())?.get_connection();
    for node in &cluster.nodes {
        redis::cmd("FLUSHALL").exec(&mut node.connection())?;
    }
    for (name, group, command) in [
        ("pipelined SETBIT, GETBIT", "add", "SETBIT"),
        ("pipelined SETBIT, GETBIT", "exists", "GETBIT"),
        ("pipelined SET, GET", "add", "SET"),
        ("pipelined SET, GET", "exists", "GET"),
    ] {
        if !arguments.takes(name) {
            continue;
        }
        let (mut connection, keys) = (connect()?, Keys::new());
        race.enter_timed(name, group, PASS, move || {
            let keys = match group {
                "add" => keys.borrow_mut().fresh(PASS),
                _ => keys.borrow_mut().half(PASS),
            };
            timed(keys, batch, |keys| {
                let mut pipeline = redis::cluster::cluster_pipe();
                for key in keys {
                    let shard = u64::from_le_bytes(*key) % u64::from(SHARDS);
                    if matches!(command, "SET" | "GET") {
                        pipeline.cmd(command).arg(key);
                        if command == "SET" {
                            pipeline.arg("");
                        }
                        continue;
                    }
                    for position in Scheme::default().positions(key, shape) {
                        pipeline
                            .cmd(command)
                            .arg(format!("{{{shard}}}:bits"))
                            .arg(position);
                        if command == "SETBIT" {
                            pipeline.arg(1);
                        }
                    }
                }
                let answers: Vec<redis::Value> = pipeline.query(&mut connection).expect("done");
                answers.len() as u64
            })
        });
    }
    for kind in [Kind::Bloom, Kind::Blocked] {
        let options = Options {
            shards: Some(SHARDS),
            placement: Placement::Spread,
            expiry: None,
            home: None,
        };
        let address = cluster.address(kind.name());
        let filter = RedisBloom::create(&address, &kind.plan(KEYS, RATE)?, &options)?;
        let name = format!("mayhap-redis, {kind}, strings");
        enter_ours(race, arguments, &name, batch, filter);
    }
    Ok(())
}
