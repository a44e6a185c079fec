//! `CF.*`: the commands of RedisBloom's cuckoo filters, over a [`Nest`].
//!
//! Replies and errors are RedisBloom's in both dialects: valkey-bloom has no such commands. A command that cannot be done whole
//! changes nothing: where a batch finds no room, every key of it that is not there already is reported as refused. A batch from
//! a master or a log is done as RedisBloom does it: the keys that find room go in.

mod few;
mod foreign;
mod nest;
mod options;
mod own;
mod plan;
mod stream;

pub use foreign::HEADER;
pub use nest::{Keys, Layout, Nest};
pub use plan::Plan;

use std::ffi::CStr;

use crate::limits::{Refusal, allows};
use crate::pieces::{self, Pieces as _, Place};
use crate::server::{ITEM_EXISTS, NOT_FOUND, WRONG_TYPE};
use crate::settings::{EXPANSIONS, secret};
use crate::{Argument as _, Failure, Found, Key, Outcome, Server};
use options::{Insert, default_layout};

const FULL: &CStr = c"Filter is full";
const EXPANDED: &CStr = c"Maximum expansions reached";
const NO_MEMORY: &CStr = c"ERR Insufficient memory";
const INVALID_POSITION: &CStr = c"Invalid position";

/// Runs `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [LAYOUT name]`.
pub fn reserve<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (plan, layout) = options::reserve(server, arguments)?;
    let name = &arguments[1];
    let mut key = server.write(name);
    match key.find::<Nest>() {
        Found::Missing => {}
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Value(_) => return Err(ITEM_EXISTS.into()),
    }
    key.put(made(server, plan, layout)?);
    replicate_making(server, name, plan, layout);
    server.notify(c"cuckoo.reserve", name);
    server.simple(c"OK");
    Ok(())
}

fn made<S: Server>(server: &S, plan: Plan, layout: Layout) -> Result<Nest, Failure> {
    let nest = Nest::new(plan, layout, secret(), &allows(server));
    nest.map_err(|_| NO_MEMORY.into())
}

/// Has the replicas make a filter as it was made here, whatever their own settings are.
fn replicate_making<S: Server>(server: &S, name: &S::Argument, plan: Plan, layout: Layout) {
    let numbers = [
        plan.capacity,
        plan.bucket.into(),
        plan.iterations.into(),
        plan.expansion.into(),
    ];
    let [capacity, bucket, iterations, expansion] = numbers.map(|number| number.to_string());
    let words: [&[u8]; 9] = [
        capacity.as_bytes(),
        b"BUCKETSIZE",
        bucket.as_bytes(),
        b"MAXITERATIONS",
        iterations.as_bytes(),
        b"EXPANSION",
        expansion.as_bytes(),
        b"LAYOUT",
        layout.name().as_bytes(),
    ];
    server.replicate_as(c"CF.RESERVE", name, &words, &[]);
}

impl Insert {
    /// Inserts keys, makes the filter for them where there is none, and has the replicas do the same. The inner result is the
    /// reason why keys found no room.
    fn run<S: Server>(
        &self,
        server: &S,
        name: &S::Argument,
        keys: &[&[u8]],
        new: &mut [bool],
    ) -> Result<Result<(), Refusal>, Failure> {
        let mut key = server.write(name);
        let layout = default_layout(server);
        let most = match server.must_obey() {
            true => usize::MAX,
            false => EXPANSIONS.get() as usize + 1,
        };
        let mut made = None;
        let nest = match key.find::<Nest>() {
            Found::Other => return Err(WRONG_TYPE.into()),
            Found::Value(nest) => nest,
            Found::Missing => {
                let plan = self.plan.ok_or(NOT_FOUND)?;
                made.insert(self::made(server, plan, layout)?)
            }
        };
        match nest.insert(self.which, keys, new, most, &allows(server)) {
            Ok(()) => {}
            Err(_) if server.must_obey() => nest.obey(self.which, keys, new, &allows(server)),
            Err(Refusal::Memory) => return Err(NO_MEMORY.into()),
            Err(refusal) => {
                // Keys of a refused batch that are there already are not reported as refused.
                nest.contains_batch(keys, new);
                new.iter_mut().for_each(|is_found| *is_found = !*is_found);
                return Ok(Err(refusal));
            }
        }
        let is_changed = self.which == Keys::All || new.contains(&true);
        if let (Some(nest), Some(plan)) = (made, self.plan) {
            key.put(nest);
            replicate_making(server, name, plan, layout);
        }
        if is_changed {
            server.replicate();
            server.notify(c"cuckoo.add", name);
        }
        Ok(Ok(()))
    }
}

/// Runs `CF.ADD key item`.
pub fn add<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    add_one(server, arguments, Keys::All)
}

/// Runs `CF.ADDNX key item`.
pub fn addnx<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    add_one(server, arguments, Keys::New)
}

fn add_one<S: Server>(server: &S, arguments: &[S::Argument], which: Keys) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut new = [false];
    match Insert::by_default(which).run(server, name, &[item.bytes()], &mut new)? {
        Ok(()) => server.boolean(which == Keys::All || new[0]),
        Err(Refusal::Expansions) => return Err(EXPANDED.into()),
        Err(_) => return Err(FULL.into()),
    }
    Ok(())
}

/// Runs `CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item...`.
pub fn insert<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (keys, is_done) = insert_many(server, arguments, Keys::All)?;
    server.array(keys.len());
    let is_resp3 = server.is_resp3();
    for _ in keys {
        match is_resp3 {
            true => server.boolean(is_done),
            false => server.integer(if is_done { 1 } else { -1 }),
        }
    }
    Ok(())
}

/// Runs `CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item...`.
pub fn insertnx<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (new, is_done) = insert_many(server, arguments, Keys::New)?;
    server.array(new.len());
    for is_new in new {
        server.integer(match (is_new, is_done) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => -1,
        });
    }
    Ok(())
}

/// Inserts a batch, and returns which keys were new and whether the batch found room.
fn insert_many<S: Server>(
    server: &S,
    arguments: &[S::Argument],
    which: Keys,
) -> Result<(Vec<bool>, bool), Failure> {
    let (insert, items) = Insert::read(server, which, arguments)?;
    let keys: Vec<&[u8]> = items.iter().map(|item| item.bytes()).collect();
    let mut new = vec![false; keys.len()];
    let done = insert.run(server, &arguments[1], &keys, &mut new)?;
    Ok((new, done.is_ok()))
}

/// Finds the filter to look keys up in: a value of another type holds no key.
fn looked_up(key: &mut impl Key) -> Option<&Nest> {
    match key.find::<Nest>() {
        Found::Value(nest) => Some(nest),
        Found::Missing | Found::Other => None,
    }
}

/// Runs `CF.EXISTS key item`.
pub fn exists<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let nest = looked_up(&mut key);
    server.boolean(nest.is_some_and(|nest| nest.contains(item.bytes())));
    Ok(())
}

/// Runs `CF.MEXISTS key item...`.
pub fn mexists<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, items @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    if items.is_empty() {
        return Err(Failure::Arity);
    }
    let keys: Vec<&[u8]> = items.iter().map(|item| item.bytes()).collect();
    let mut found = vec![false; keys.len()];
    let mut key = server.read(name);
    if let Some(nest) = looked_up(&mut key) {
        nest.contains_batch(&keys, &mut found);
    }
    server.array(found.len());
    for is_found in found {
        server.boolean(is_found);
    }
    Ok(())
}

/// Runs `CF.COUNT key item`.
pub fn count<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let nest = looked_up(&mut key);
    let count = nest.map_or(0, |nest| nest.count(item.bytes()));
    server.integer(count as i64);
    Ok(())
}

/// Finds the filter under a key; `missing` is the error where there is none.
fn needed<'k>(key: &'k mut impl Key, missing: &'static CStr) -> Result<&'k mut Nest, Failure> {
    match key.find::<Nest>() {
        Found::Value(nest) => Ok(nest),
        Found::Missing => Err(missing.into()),
        Found::Other => Err(WRONG_TYPE.into()),
    }
}

/// Runs `CF.DEL key item`.
pub fn del<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.write(name);
    let is_removed = needed(&mut key, c"Not found")?.remove(item.bytes());
    if is_removed {
        server.replicate();
        server.notify(c"cuckoo.del", name);
    }
    server.boolean(is_removed);
    Ok(())
}

/// Runs `CF.COMPACT key`.
pub fn compact<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.write(name);
    needed(&mut key, c"Cuckoo filter was not found")?.compact();
    server.replicate();
    server.notify(c"cuckoo.compact", name);
    server.simple(c"OK");
    Ok(())
}

/// The fields of `CF.INFO` and `CF.DEBUG`: the name in either, and the number.
fn fields(nest: &Nest) -> [(&'static CStr, &'static str, u64); 8] {
    let facts = nest.facts();
    [
        (c"Size", "bytes", nest.bytes()),
        (c"Number of buckets", "buckets", facts.buckets),
        (c"Number of filters", "filters", facts.layers),
        (c"Number of items inserted", "items", nest.keys()),
        (c"Number of items deleted", "deletes", facts.removed),
        (c"Bucket size", "bktsize", facts.bucket.into()),
        (c"Expansion rate", "expansion", facts.expansion.into()),
        (c"Max iterations", "max_iterations", facts.iterations.into()),
    ]
}

/// Runs `CF.INFO key`.
pub fn info<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let fields = fields(needed(&mut key, NOT_FOUND)?);
    server.map(fields.len());
    for (name, _, value) in fields {
        server.simple(name);
        server.integer(value as i64);
    }
    Ok(())
}

/// Runs `CF.DEBUG key`.
pub fn debug<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let fields = fields(needed(&mut key, NOT_FOUND)?);
    let fields = fields.map(|(_, name, value)| format!("{name}:{value}"));
    server.bulk(fields.join(" ").as_bytes());
    Ok(())
}

/// Runs `CF.SCANDUMP key iterator`.
pub fn scandump<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, iterator] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let nest = needed(&mut key, NOT_FOUND)?;
    let iterator: u64 = iterator.parse().ok_or(INVALID_POSITION)?;
    server.array(2);
    if nest.keys() == 0 {
        server.integer(0);
        server.null();
        return Ok(());
    }
    let (next, piece) = pieces::piece(nest, iterator).unwrap_or_default();
    server.integer(next as i64);
    server.bulk(&piece);
    Ok(())
}

/// Runs `CF.LOADCHUNK key iterator piece`.
pub fn loadchunk<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, iterator, piece] = arguments else {
        return Err(Failure::Arity);
    };
    let iterator: Option<u64> = iterator.parse();
    let iterator = iterator.filter(|&at| at > 0).ok_or(INVALID_POSITION)?;
    let piece = piece.bytes();
    let mut key = server.write(name);
    match key.find::<Nest>() {
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Missing if iterator == 1 => {
            let nest = Nest::begin(piece, secret(), &allows(server));
            key.put(nest.map_err(|_| c"Invalid header")?);
        }
        Found::Missing => return Err(NOT_FOUND.into()),
        Found::Value(_) if iterator == 1 => return Err(ITEM_EXISTS.into()),
        Found::Value(nest) => {
            let refused = c"Couldn't load chunk!";
            let (place, bits) = pieces::locate(nest, iterator, piece).map_err(|_| refused)?;
            match place {
                Place::At(layer, start) if nest.load_bits(layer, start, bits) => {}
                _ => return Err(refused.into()),
            }
        }
    }
    server.replicate();
    server.notify(c"cuckoo.loadchunk", name);
    server.simple(c"OK");
    Ok(())
}
