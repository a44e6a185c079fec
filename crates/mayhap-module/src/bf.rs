//! `BF.*`: the commands of RedisBloom and valkey-bloom, over a [`Chain`].
//!
//! What the two do differently is the [`Dialect`]: error texts, integers or booleans, the fields of `BF.INFO`, and what a
//! key of another type answers. A command that cannot be done whole changes nothing, in both.

use std::ffi::CStr;

use crate::chain::{Chain, Plan, Refusal};
use crate::ffi::{Failure, Outcome};
use crate::options::{self, Options, Texts};
use crate::pieces::{self, Pieces as _, Place};
use crate::server::{Argument, Context, Found, Key};
use crate::settings::{Dialect, MEMORY, default_plan};
use crate::stream;

pub(crate) const WRONG_TYPE: &CStr =
    c"WRONGTYPE Operation against a key holding the wrong kind of value";
pub(crate) const EXISTS: &CStr = c"BUSYKEY Target key name already exists.";
pub(crate) const NOT_FOUND: &CStr = c"ERR not found";
pub(crate) const ITEM_EXISTS: &CStr = c"ERR item exists";
const BAD_DATA: &CStr = c"ERR received bad data";

/// From this many bytes on, the server is asked whether it has them.
const LARGE: u64 = 1 << 20;

/// Whether a filter of `now` bytes may take `more`: by the limit for one filter, the server's, and what the machine has.
pub(crate) fn allows(context: Context<'_>) -> impl Fn(u64, u64) -> bool {
    move |now, more| {
        if more >= LARGE {
            let machine = context.server_info(c"memory", c"total_system_memory");
            if machine.is_some_and(|machine| machine > 0 && more > machine) {
                return false;
            }
        }
        // What a master has accepted is done here too: refusing it would make the two differ.
        if context.must_obey() {
            return true;
        }
        let limit = MEMORY.get().unsigned_abs();
        if limit > 0 && now.saturating_add(more) > limit {
            return false;
        }
        if more < LARGE {
            return true;
        }
        let most = context.server_info(c"memory", c"maxmemory").unwrap_or(0);
        let used = context.server_info(c"memory", c"used_memory").unwrap_or(0);
        most == 0 || used.saturating_add(more) <= most
    }
}

/// `BF.RESERVE key rate capacity [EXPANSION n] [NONSCALING]`
pub(crate) fn reserve(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let plan = options::reserve(arguments)?;
    let name = &arguments[1];
    let mut key = context.write(name);
    match key.find::<Chain>() {
        Found::Missing => {}
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Value(_) => return Err(ITEM_EXISTS.into()),
    }
    let chain = Chain::new(plan, &allows(context));
    key.put(chain.map_err(|refusal| not_made(refusal, Texts::now()))?);
    replicate_making(context, name, plan, &[]);
    context.notify(c"bloom.reserve", name);
    context.simple(c"OK");
    Ok(())
}

/// `BF.ADD key key`
pub(crate) fn add(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    if arguments.len() != 3 {
        return Err(Failure::Arity);
    }
    let mut new = [false];
    insert_into(
        context,
        arguments,
        &arguments[2..],
        &[arguments[2].bytes()],
        &mut new,
        &Options::default(),
    )?;
    flag(context, Dialect::now(), new[0]);
    Ok(())
}

/// `BF.MADD key key...`
pub(crate) fn madd(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    if arguments.len() < 3 {
        return Err(Failure::Arity);
    }
    insert_many(context, arguments, &arguments[2..], &Options::default())
}

/// `BF.INSERT key [CAPACITY n] [ERROR rate] [EXPANSION n] [NOCREATE] [NONSCALING] ... ITEMS key...`
pub(crate) fn insert(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (options, items) = options::insert(context, arguments)?;
    insert_many(context, arguments, items, &options)
}

fn insert_many(
    context: Context<'_>,
    arguments: &[Argument],
    items: &[Argument],
    options: &Options,
) -> Outcome {
    let keys: Vec<&[u8]> = items.iter().map(Argument::bytes).collect();
    let mut new = vec![false; keys.len()];
    insert_into(context, arguments, items, &keys, &mut new, options)?;
    flags(context, &new);
    Ok(())
}

/// Inserts keys, into a filter that is made for them where there is none, and has the replicas do the same.
fn insert_into(
    context: Context<'_>,
    arguments: &[Argument],
    items: &[Argument],
    keys: &[&[u8]],
    new: &mut [bool],
    options: &Options,
) -> Outcome {
    let name = &arguments[1];
    let mut key = context.write(name);
    let texts = Texts::now();
    match key.find::<Chain>() {
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Value(chain) => {
            let done = chain.insert_batch(keys, new, &allows(context));
            done.map_err(|refusal| not_inserted(refusal, texts))?;
            if new.contains(&true) {
                context.replicate();
                context.notify(c"bloom.add", name);
            }
            return Ok(());
        }
        Found::Missing if options.no_create => return Err(NOT_FOUND.into()),
        Found::Missing => {}
    }
    let plan = options.plan.unwrap_or_else(default_plan);
    let chain = Chain::new(plan, &allows(context));
    let mut chain = chain.map_err(|refusal| not_made(refusal, texts))?;
    options::check_scale(&chain, options.scale_to)?;
    let done = chain.insert_batch(keys, new, &allows(context));
    done.map_err(|refusal| not_inserted(refusal, texts))?;
    key.put(chain);
    replicate_making(context, name, plan, items);
    if keys.is_empty() {
        context.notify(c"bloom.reserve", name);
    } else {
        context.notify(c"bloom.add", name);
    }
    Ok(())
}

/// Has the replicas make the same filter, whatever their settings are.
fn replicate_making(context: Context<'_>, name: &Argument, plan: Plan, items: &[Argument]) {
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
    context.replicate_as(c"BF.INSERT", name, &words[..count], items);
}

fn not_made(refusal: Refusal, texts: &Texts) -> Failure {
    match refusal {
        Refusal::Memory | Refusal::Full => texts.no_memory.into(),
        Refusal::Rate => c"ERR could not create filter".into(),
    }
}

fn not_inserted(refusal: Refusal, texts: &Texts) -> Failure {
    match refusal {
        Refusal::Full => c"ERR non scaling filter is full".into(),
        Refusal::Memory => texts.no_growth.into(),
        Refusal::Rate => texts.no_rate.into(),
    }
}

/// `BF.EXISTS key key`
pub(crate) fn exists(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let dialect = Dialect::now();
    let mut key = context.read(name);
    let found = match asked(&mut key, dialect)? {
        Some(chain) => chain.contains(item.bytes()),
        None => false,
    };
    flag(context, dialect, found);
    Ok(())
}

/// `BF.MEXISTS key key...`
pub(crate) fn mexists(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    if arguments.len() < 3 {
        return Err(Failure::Arity);
    }
    let keys: Vec<&[u8]> = arguments[2..].iter().map(Argument::bytes).collect();
    let mut found = vec![false; keys.len()];
    let mut key = context.read(&arguments[1]);
    if let Some(chain) = asked(&mut key, Dialect::now())? {
        chain.contains_batch(&keys, &mut found);
    }
    flags(context, &found);
    Ok(())
}

/// The filter that is asked for keys. RedisBloom answers that no key is in a value of another type.
fn asked<'k>(key: &'k mut Key<'_>, dialect: Dialect) -> Result<Option<&'k Chain>, Failure> {
    match key.find::<Chain>() {
        Found::Value(chain) => Ok(Some(chain)),
        Found::Missing => Ok(None),
        Found::Other if dialect == Dialect::Redis => Ok(None),
        Found::Other => Err(WRONG_TYPE.into()),
    }
}

fn flag(context: Context<'_>, dialect: Dialect, value: bool) {
    match dialect {
        Dialect::Redis => context.boolean(value),
        Dialect::Valkey => context.integer(i64::from(value)),
    }
}

fn flags(context: Context<'_>, values: &[bool]) {
    context.array(values.len());
    let dialect = Dialect::now();
    for &value in values {
        flag(context, dialect, value);
    }
}

/// The filter under a key.
fn needed<'k>(key: &'k mut Key<'_>) -> Result<&'k mut Chain, Failure> {
    match key.find::<Chain>() {
        Found::Value(chain) => Ok(chain),
        Found::Missing => Err(NOT_FOUND.into()),
        Found::Other => Err(WRONG_TYPE.into()),
    }
}

/// `BF.CARD key`
pub(crate) fn card(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let keys = match context.read(name).find::<Chain>() {
        Found::Value(chain) => chain.keys(),
        Found::Missing => 0,
        Found::Other => return Err(WRONG_TYPE.into()),
    };
    context.integer(keys as i64);
    Ok(())
}

/// The value of a field of `BF.INFO`.
enum Field {
    Integer(u64),
    Double(f64),
    Null,
}

impl Field {
    fn reply(&self, context: Context<'_>) {
        match *self {
            Field::Integer(value) => context.integer(i64::try_from(value).unwrap_or(i64::MAX)),
            Field::Double(value) => context.double(value),
            Field::Null => context.null(),
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
            Field::Integer(chain.layers().len() as u64),
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

/// `BF.INFO key [field]`
pub(crate) fn info(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (name, asked) = match arguments {
        [_, name] => (name, None),
        [_, name, field] => (name, Some(field)),
        _ => return Err(Failure::Arity),
    };
    let dialect = Dialect::now();
    let mut key = context.read(name);
    let fields = fields(needed(&mut key)?, dialect);
    let Some(asked) = asked else {
        match dialect {
            Dialect::Redis => context.map(fields.len()),
            Dialect::Valkey => context.array(fields.len() * 2),
        }
        for (_, name, value) in &fields {
            context.simple(name);
            value.reply(context);
        }
        return Ok(());
    };
    let field = fields.iter().find(|(word, _, _)| asked.is(word));
    let (_, name, value) = field.ok_or(Texts::now().bad_field)?;
    match dialect {
        Dialect::Valkey => {}
        Dialect::Redis if context.is_resp3() => {
            context.map(1);
            context.simple(name);
        }
        Dialect::Redis => context.array(1),
    }
    value.reply(context);
    Ok(())
}

/// `BF.SCANDUMP key iterator`
pub(crate) fn scandump(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, iterator] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let chain = needed(&mut key)?;
    let iterator = iterator.parse::<u64>();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    let (next, piece) = pieces::piece(chain, iterator).unwrap_or_default();
    context.array(2);
    context.integer(next as i64);
    context.bulk(&piece);
    Ok(())
}

/// `BF.LOADCHUNK key iterator piece`
pub(crate) fn loadchunk(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, iterator, piece] = arguments else {
        return Err(Failure::Arity);
    };
    let iterator = iterator.parse::<u64>();
    let iterator = iterator.ok_or(c"ERR Second argument must be numeric")?;
    let piece = piece.bytes();
    let mut key = context.write(name);
    match key.find::<Chain>() {
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Missing if iterator == 1 => {
            let chain = stream::begin(piece, &allows(context));
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
    context.replicate();
    context.notify(c"bloom.loadchunk", name);
    context.simple(c"OK");
    Ok(())
}

/// `BF.LOAD key filter`: what a file of commands holds a filter as.
pub(crate) fn load(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, filter] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.write(name);
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
    if !allows(context)(0, chain.bytes()) {
        return Err(Texts::now().no_growth.into());
    }
    key.put(chain);
    context.replicate();
    context.notify(c"bloom.load", name);
    context.simple(c"OK");
    Ok(())
}

/// `BF.DEBUG key`
pub(crate) fn debug(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let chain = needed(&mut key)?;
    context.array(chain.layers().len() + 1);
    context.bulk(format!("size:{}", chain.keys()).as_bytes());
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
        context.bulk(line.as_bytes());
    }
    Ok(())
}
