//! `BF.*`: the commands of RedisBloom and valkey-bloom, over a [`Chain`].
//!
//! The two differ in their error texts and options, in the fields of `BF.INFO`, and in the reply about a key of another type: these
//! are the [`Dialect`]. A command that cannot be done whole changes nothing, unless it comes from a master or a log: then it is
//! done as on the server that wrote it.
//!
//! An insert goes from here to `chain.rs`, which grows, and there into `small.rs` or, from 8 KiB on, into the newest `layer.rs`.

mod chain;
mod dialect;
mod layer;
mod options;
mod plan;
pub mod redisbloom;
mod small;
pub mod stream;

pub use chain::Chain;
pub use dialect::Dialect;
pub use plan::Plan;

use std::ffi::CStr;

use crate::limits::{Refusal, allows};
use crate::pieces::{self, Pieces as _, Place};
use crate::server::{EXISTS, ITEM_EXISTS, NOT_FOUND, WRONG_TYPE};
use crate::settings::MEMORY;
use crate::{Argument as _, Failure, Found, Key, Outcome, Server};
use dialect::Texts;
use options::{Options, Writer};

const BAD_DATA: &CStr = c"ERR received bad data";

/// Runs `BF.RESERVE key rate capacity [EXPANSION n] [NONSCALING]`.
pub fn reserve<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let plan = options::reserve(server, arguments)?;
    let name = &arguments[1];
    let mut key = server.write(name);
    match key.find::<Chain>() {
        Found::Missing => {}
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Value(_) => return Err(ITEM_EXISTS.into()),
    }
    // In a log this is RedisBloom's: our filters are replicated by BF.INSERT, and valkey-bloom's too.
    let chain = made(server, plan, Writer::RedisBloom)?;
    replicate_making(server, name, &chain, &[]);
    key.put(chain);
    server.notify(c"bloom.reserve", name);
    server.simple(c"OK");
    Ok(())
}

/// Runs `BF.ADD key item`.
pub fn add<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    if arguments.len() != 3 {
        return Err(Failure::Arity);
    }
    let mut new = [false];
    let (name, items) = (&arguments[1], &arguments[2..]);
    let keys = [items[0].bytes()];
    insert_into(server, name, items, &keys, &mut new, &Options::default())?;
    server.boolean(new[0]);
    Ok(())
}

/// Runs `BF.MADD key item...`.
pub fn madd<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    if arguments.len() < 3 {
        return Err(Failure::Arity);
    }
    insert_many(server, &arguments[1], &arguments[2..], &Options::default())
}

/// Runs `BF.INSERT key [CAPACITY n] [ERROR rate] [EXPANSION n] [NOCREATE] [NONSCALING] ... ITEMS item...`.
pub fn insert<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (options, items) = options::insert(server, arguments)?;
    insert_many(server, &arguments[1], items, &options)
}

fn insert_many<S: Server>(
    server: &S,
    name: &S::Argument,
    items: &[S::Argument],
    options: &Options,
) -> Outcome {
    let keys: Vec<&[u8]> = items.iter().map(|item| item.bytes()).collect();
    let mut new = vec![false; keys.len()];
    insert_into(server, name, items, &keys, &mut new, options)?;
    server.booleans(&new);
    Ok(())
}

/// Inserts keys, makes the filter for them where there is none, and has the replicas do the same.
fn insert_into<S: Server>(
    server: &S,
    name: &S::Argument,
    items: &[S::Argument],
    keys: &[&[u8]],
    new: &mut [bool],
    options: &Options,
) -> Outcome {
    let mut key = server.write(name);
    match key.find::<Chain>() {
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Value(chain) => {
            insert_keys(server, chain, keys, new)?;
            if new.contains(&true) {
                server.replicate();
                server.notify(c"bloom.add", name);
            }
            return Ok(());
        }
        Found::Missing if options.no_create => return Err(NOT_FOUND.into()),
        Found::Missing => {}
    }
    let plan = options.plan.unwrap_or_else(Plan::from_settings);
    let mut chain = made(server, plan, options.writer)?;
    options::check_scale(server, &chain, options.scale_to)?;
    insert_keys(server, &mut chain, keys, new)?;
    replicate_making(server, name, &chain, items);
    key.put(chain);
    if keys.is_empty() {
        server.notify(c"bloom.reserve", name);
    } else {
        server.notify(c"bloom.add", name);
    }
    Ok(())
}

/// Makes an empty filter. One that does not grow and comes from a log of RedisBloom has its layout: it takes and refuses the same
/// keys.
fn made<S: Server>(server: &S, plan: Plan, writer: Writer) -> Result<Chain, Failure> {
    let allows = allows(server);
    if writer == Writer::RedisBloom && plan.expansion.is_none() && server.must_obey() {
        return redisbloom::fixed(plan, &allows).map_err(Failure::Made);
    }
    Chain::new(plan, &allows).map_err(|refusal| not_made(refusal, Texts::now()))
}

/// Inserts a batch: whole or not at all, unless another server has accepted it.
fn insert_keys<S: Server>(
    server: &S,
    chain: &mut Chain,
    keys: &[&[u8]],
    new: &mut [bool],
) -> Outcome {
    let allows = allows(server);
    match chain.insert_batch(keys, new, &allows) {
        Err(_) if server.must_obey() => {
            chain.obey_batch(keys, new, &allows);
            Ok(())
        }
        done => done.map_err(|refusal| not_inserted(refusal, Texts::now())),
    }
}

/// Has the replicas make the same filter, whatever their settings are.
fn replicate_making<S: Server>(
    server: &S,
    name: &S::Argument,
    chain: &Chain,
    items: &[S::Argument],
) {
    // The command of RedisBloom that made a filter in its layout makes it again.
    if redisbloom::is_foreign(chain) {
        return server.replicate();
    }
    let plan = chain.plan();
    let capacity = plan.capacity.to_string();
    let rate = plan.rate.to_string();
    let expansion = plan.expansion.unwrap_or(0).to_string();
    let words: [&[u8]; 7] = [
        b"CAPACITY",
        capacity.as_bytes(),
        b"ERROR",
        rate.as_bytes(),
        b"EXPANSION",
        expansion.as_bytes(),
        b"ITEMS",
    ];
    let count = if items.is_empty() { 6 } else { 7 };
    server.replicate_as(c"BF.INSERT", name, &words[..count], items);
}

fn not_made(refusal: Refusal, texts: &Texts) -> Failure {
    match refusal {
        Refusal::Memory | Refusal::Full | Refusal::Expansions => texts.no_memory.into(),
        Refusal::Rate => c"ERR could not create filter".into(),
    }
}

fn not_inserted(refusal: Refusal, texts: &Texts) -> Failure {
    match refusal {
        Refusal::Full | Refusal::Expansions => c"ERR non scaling filter is full".into(),
        Refusal::Memory => texts.no_growth.into(),
        Refusal::Rate => texts.no_rate.into(),
    }
}

/// Runs `BF.EXISTS key item`.
pub fn exists<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let chain = asked(&mut key, Dialect::now())?;
    server.boolean(chain.is_some_and(|chain| chain.contains(item.bytes())));
    Ok(())
}

/// Runs `BF.MEXISTS key item...`.
pub fn mexists<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    if arguments.len() < 3 {
        return Err(Failure::Arity);
    }
    let keys: Vec<&[u8]> = arguments[2..].iter().map(|item| item.bytes()).collect();
    let mut found = vec![false; keys.len()];
    let mut key = server.read(&arguments[1]);
    if let Some(chain) = asked(&mut key, Dialect::now())? {
        chain.contains_batch(&keys, &mut found);
    }
    server.booleans(&found);
    Ok(())
}

/// Finds the filter to look keys up in. To RedisBloom, a value of another type holds no key.
fn asked(key: &mut impl Key, dialect: Dialect) -> Result<Option<&Chain>, Failure> {
    match key.find::<Chain>() {
        Found::Value(chain) => Ok(Some(chain)),
        Found::Missing => Ok(None),
        Found::Other if dialect == Dialect::Redis => Ok(None),
        Found::Other => Err(WRONG_TYPE.into()),
    }
}

/// Finds the filter under a key, which must be there.
fn needed(key: &mut impl Key) -> Result<&mut Chain, Failure> {
    match key.find::<Chain>() {
        Found::Value(chain) => Ok(chain),
        Found::Missing => Err(NOT_FOUND.into()),
        Found::Other => Err(WRONG_TYPE.into()),
    }
}

/// Runs `BF.CARD key`.
pub fn card<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let keys = match server.read(name).find::<Chain>() {
        Found::Value(chain) => chain.keys(),
        Found::Missing => 0,
        Found::Other => return Err(WRONG_TYPE.into()),
    };
    server.integer(keys as i64);
    Ok(())
}

/// The value of a field of `BF.INFO`.
enum Field {
    Integer(u64),
    Double(f64),
    Null,
}

impl Field {
    fn reply<S: Server>(&self, server: &S) {
        match *self {
            Field::Integer(value) => server.integer(i64::try_from(value).unwrap_or(i64::MAX)),
            Field::Double(value) => server.double(value),
            Field::Null => server.null(),
        }
    }
}

/// The fields of `BF.INFO`: the word that asks for one, its name, and its value.
fn fields(chain: &Chain, dialect: Dialect) -> Vec<(&'static str, &'static CStr, Field)> {
    let plan = chain.plan();
    let expansion = plan.expansion.map(u64::from);
    let expansion = (
        "EXPANSION",
        c"Expansion rate",
        expansion.map_or(Field::Null, Field::Integer),
    );
    let mut fields = vec![
        ("CAPACITY", c"Capacity", Field::Integer(chain.capacity())),
        ("SIZE", c"Size", Field::Integer(chain.bytes())),
        (
            "FILTERS",
            c"Number of filters",
            Field::Integer(chain.count() as u64),
        ),
        (
            "ITEMS",
            c"Number of items inserted",
            Field::Integer(chain.keys()),
        ),
    ];
    if dialect == Dialect::Redis {
        fields.push(expansion);
        return fields;
    }
    fields.push(("ERROR", c"Error rate", Field::Double(plan.rate)));
    fields.push(expansion);
    if plan.expansion.is_some() {
        let most = chain.most_capacity(MEMORY.get().unsigned_abs());
        fields.push((
            "TIGHTENING",
            c"Tightening ratio",
            Field::Double(chain.tightening()),
        ));
        fields.push((
            "MAXSCALEDCAPACITY",
            c"Max scaled capacity",
            Field::Integer(most),
        ));
    }
    fields
}

/// Runs `BF.INFO key [field]`.
pub fn info<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (name, asked) = match arguments {
        [_, name] => (name, None),
        [_, name, field] => (name, Some(field)),
        _ => return Err(Failure::Arity),
    };
    let dialect = Dialect::now();
    let mut key = server.read(name);
    let fields = fields(needed(&mut key)?, dialect);
    let Some(asked) = asked else {
        server.map(fields.len());
        for (_, name, value) in &fields {
            server.simple(name);
            value.reply(server);
        }
        return Ok(());
    };
    let field = fields.iter().find(|(word, _, _)| asked.is(word));
    let (_, name, value) = field.ok_or(Texts::now().bad_field)?;
    match dialect {
        Dialect::Valkey => {}
        Dialect::Redis if server.is_resp3() => {
            server.map(1);
            server.simple(name);
        }
        Dialect::Redis => server.array(1),
    }
    value.reply(server);
    Ok(())
}

/// Runs `BF.SCANDUMP key iterator`.
pub fn scandump<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, iterator] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let chain = needed(&mut key)?;
    let iterator = iterator.parse::<u64>();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    let (next, piece) = pieces::piece(chain, iterator).unwrap_or_default();
    server.array(2);
    server.integer(next as i64);
    server.bulk(&piece);
    Ok(())
}

/// Runs `BF.LOADCHUNK key iterator piece`.
pub fn loadchunk<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, iterator, piece] = arguments else {
        return Err(Failure::Arity);
    };
    let iterator = iterator.parse::<u64>();
    let iterator = iterator.ok_or(c"ERR Second argument must be numeric")?;
    let piece = piece.bytes();
    let mut key = server.write(name);
    match key.find::<Chain>() {
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Missing if iterator == 1 => {
            let chain = stream::begin(piece, &allows(server));
            key.put(chain.map_err(|_| BAD_DATA)?);
        }
        Found::Missing => return Err(NOT_FOUND.into()),
        Found::Value(_) if iterator == 1 => return Err(BAD_DATA.into()),
        Found::Value(chain) => {
            let (place, bits) = pieces::locate(chain, iterator, piece).map_err(|_| BAD_DATA)?;
            match place {
                Place::At(layer, start) if chain.load_bits(layer, start, bits) => {}
                Place::Crosses => {
                    return Err(c"ERR invalid chunk - Too big for current filter".into());
                }
                _ => return Err(c"ERR invalid offset - no link found".into()),
            }
        }
    }
    server.replicate();
    server.notify(c"bloom.loadchunk", name);
    server.simple(c"OK");
    Ok(())
}

/// Runs `BF.LOAD key filter`, the command that a rewritten log holds a filter as.
pub fn load<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, filter] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.write(name);
    match key.find::<Chain>() {
        Found::Missing => {}
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Value(_) => return Err(EXISTS.into()),
    }
    let mut bytes = filter.bytes();
    if !stream::is_ours(bytes) {
        return Err(c"ERR bloom object decoding failed. Unsupported version".into());
    }
    let chain = stream::read(&mut bytes).ok().filter(|_| bytes.is_empty());
    let chain = chain.ok_or(c"ERR bloom object decoding failed")?;
    if !allows(server)(0, chain.bytes()) {
        return Err(Texts::now().no_growth.into());
    }
    key.put(chain);
    server.replicate();
    server.notify(c"bloom.load", name);
    server.simple(c"OK");
    Ok(())
}

/// Runs `BF.DEBUG key`.
pub fn debug<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let chain = needed(&mut key)?;
    let chain = chain.whole();
    server.array(chain.layers().len() + 1);
    server.bulk(format!("size:{}", chain.keys()).as_bytes());
    for (index, layer) in chain.layers().iter().enumerate() {
        let line = format!(
            "bytes:{} bits:{} hashes:{} hashwidth:64 capacity:{} size:{} ratio:{}",
            layer.bytes(),
            layer.bits(),
            layer.hashes(),
            layer.capacity,
            layer.keys,
            chain.plan().rate_of(index),
        );
        server.bulk(line.as_bytes());
    }
    Ok(())
}
