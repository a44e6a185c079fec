//! `MAYHAP.*`: every kind of filter.
//!
//! A window by time belongs to the server: its generations are counted from 1970 by the server's clock. Whoever looks up or
//! inserts first in a new generation begins it; an insert is sent to replicas with its generation, so that a key is
//! young for the same time everywhere.

mod value;

pub(crate) use value::Native;

use mayhap::format::native::{self, Metadata};
use mayhap::{
    AnyFilter, Assemble as _, Description, Digester, Filter as _, Inserts, Kind, Merge as _,
    Rotation, Windowed,
};

use crate::bf::{EXISTS, WRONG_TYPE, allows};
use crate::ffi::{Failure, Outcome};
use crate::server::{Argument, Context, Found, Key};
use crate::settings::{default_plan, secret};
use value::GENERATIONS;

fn error(error: mayhap::Error) -> Failure {
    Failure::Made(format!("ERR {error}"))
}

fn needed<'k>(key: &'k mut Key<'_>) -> Result<&'k mut Native, Failure> {
    match key.find::<Native>() {
        Found::Value(native) => Ok(native),
        Found::Missing => Err(c"ERR not found: make it by MAYHAP.NEW".into()),
        Found::Other => Err(WRONG_TYPE.into()),
    }
}

/// The filter, of which a lookup may begin a generation.
fn looked_at<'k>(key: &'k mut Key<'_>, context: Context<'_>) -> Result<&'k mut Native, Failure> {
    let native = needed(key)?;
    native.turn(context);
    Ok(native)
}

/// What may be asked of a new filter.
struct Asked {
    capacity: u64,
    rate: f64,
    window: u64,
    has_secret: bool,
    replaces: bool,
}

impl Asked {
    /// Reads `[CAPACITY n] [RATE p] [WINDOW milliseconds] [SECRET] [REPLACE]`.
    fn read(mut words: &[Argument]) -> Result<Asked, Failure> {
        let plan = default_plan();
        let mut asked = Asked {
            capacity: plan.capacity,
            rate: plan.rate,
            window: 0,
            has_secret: false,
            replaces: false,
        };
        while let [word, rest @ ..] = words {
            words = rest;
            if word.is("SECRET") {
                asked.has_secret = true;
                continue;
            }
            if word.is("REPLACE") {
                asked.replaces = true;
                continue;
            }
            let [value, rest @ ..] = words else {
                return Err(Failure::Arity);
            };
            words = rest;
            if word.is("CAPACITY") {
                asked.capacity = value
                    .parse()
                    .ok_or(c"ERR CAPACITY is a whole number of keys")?;
            } else if word.is("RATE") {
                asked.rate = value
                    .parse()
                    .ok_or(c"ERR RATE is a number between 0 and 1")?;
            } else if word.is("WINDOW") {
                let window = value.parse().filter(|&window: &u64| window > 0);
                asked.window =
                    window.ok_or(c"ERR WINDOW is a number of milliseconds, at least 1")?;
            } else {
                let word = String::from_utf8_lossy(word.bytes());
                return Err(Failure::Made(format!(
                    "ERR unknown option {word}: CAPACITY, RATE, WINDOW, SECRET and REPLACE are known"
                )));
            }
        }
        Ok(asked)
    }

    fn period(&self) -> u64 {
        self.window.div_ceil(GENERATIONS)
    }

    fn describe(&self, kind: Kind) -> Result<Description, Failure> {
        let digester = match (self.has_secret, secret()) {
            (false, _) => Digester::default(),
            (true, Some(key)) => Digester::SipHash { key: key.clone() },
            (true, None) => {
                return Err(
                    c"ERR there is no secret: load the module with SECRET and a file".into(),
                );
            }
        };
        if self.window > 0 {
            if kind != Kind::Windowed {
                return Err(c"ERR only the kind windowed has a WINDOW".into());
            }
            // Of a small filter that is dropped again: how generations end is all that differs from a plan.
            let few = Windowed::with_options(1, 0.01, Rotation::ByCaller).map_err(error)?;
            let detail = few.description().detail;
            let plan = Windowed::plan(self.capacity, self.rate).map_err(error)?;
            let plan = Description { detail, ..plan };
            return plan.hashed_by(digester).map_err(error);
        }
        let plan = kind.plan(self.capacity, self.rate).map_err(error)?;
        match self.has_secret {
            true => plan.hashed_by(digester).map_err(error),
            false => Ok(plan),
        }
    }
}

/// `MAYHAP.NEW key kind [CAPACITY n] [RATE p] [WINDOW milliseconds] [SECRET]`
pub(crate) fn new(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, kind, words @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    let asked = Asked::read(words)?;
    let kind = String::from_utf8_lossy(kind.bytes()).to_ascii_lowercase();
    let kind: Kind = kind.parse().map_err(error)?;
    let description = asked.describe(kind)?;
    let mut key = context.write(name);
    match key.find::<Native>() {
        Found::Missing => {}
        Found::Value(_) if asked.replaces => {}
        _ => return Err(EXISTS.into()),
    }
    if !allows(context)(0, description.bits / 8) {
        return Err(c"ERR there is no memory for such a filter, or it is not allowed".into());
    }
    let filter = AnyFilter::new(&description).map_err(error)?;
    let native = Native::of(filter, asked.period()).map_err(Failure::Made)?;
    key.put(native);
    let (capacity, rate) = (asked.capacity.to_string(), asked.rate.to_string());
    let window = asked.window.to_string();
    let mut words: Vec<&[u8]> = vec![kind.name().as_bytes()];
    words.extend([b"CAPACITY", capacity.as_bytes(), b"RATE", rate.as_bytes()]);
    if asked.window > 0 {
        words.extend([&b"WINDOW"[..], window.as_bytes()]);
    }
    if asked.has_secret {
        words.push(b"SECRET");
    }
    words.push(b"REPLACE");
    context.replicate_as(c"MAYHAP.NEW", name, &words, &[]);
    context.notify(c"mayhap.new", name);
    context.simple(c"OK");
    Ok(())
}

fn flags(context: Context<'_>, values: &[bool]) {
    context.array(values.len());
    for &value in values {
        context.boolean(value);
    }
}

/// A key, and what follows: one at least.
fn name_and_keys(arguments: &[Argument]) -> Result<(&Argument, &[Argument]), Failure> {
    match arguments {
        [_, name, keys @ ..] if !keys.is_empty() => Ok((name, keys)),
        _ => Err(Failure::Arity),
    }
}

/// Has the replicas do a command that changed a filter, in the generation that it was done in.
fn replicate(context: Context<'_>, name: &Argument, generation: Option<u64>) {
    if let Some(generation) = generation {
        let generation = generation.to_string();
        let words: [&[u8]; 2] = [b"TO", generation.as_bytes()];
        context.replicate_as(c"MAYHAP.ROTATE", name, &words, &[]);
    }
    context.replicate();
}

/// `MAYHAP.ADD key key...`
pub(crate) fn add(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (name, items) = name_and_keys(arguments)?;
    let keys: Vec<&[u8]> = items.iter().map(Argument::bytes).collect();
    let mut key = context.write(name);
    let native = needed(&mut key)?;
    let generation = native.turn(context);
    let kind = native.filter.kind();
    let mut new = vec![false; keys.len()];
    let filter = native.filter.as_insert().map_err(error)?;
    filter.insert_bytes_batch(&keys, &mut new);
    // Of kinds that only set bits, a key that is not new has changed nothing.
    if kind.inserts() != Inserts::BySettingBits || new.contains(&true) {
        replicate(context, name, generation);
        context.notify(c"mayhap.add", name);
    }
    flags(context, &new);
    Ok(())
}

/// `MAYHAP.CONTAINS key key...`
pub(crate) fn contains(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (name, items) = name_and_keys(arguments)?;
    let keys: Vec<&[u8]> = items.iter().map(Argument::bytes).collect();
    let mut found = vec![false; keys.len()];
    let mut key = context.read(name);
    let native = looked_at(&mut key, context)?;
    native.filter.contains_bytes_batch(&keys, &mut found);
    flags(context, &found);
    Ok(())
}

/// `MAYHAP.REMOVE key key...`
pub(crate) fn remove(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (name, items) = name_and_keys(arguments)?;
    let mut key = context.write(name);
    let native = needed(&mut key)?;
    let filter = native.filter.as_remove().map_err(error)?;
    let mut removed = Vec::new();
    for item in items {
        removed.push(filter.remove_bytes(item.bytes()).map_err(error)?);
    }
    if removed.contains(&true) {
        context.replicate();
        context.notify(c"mayhap.remove", name);
    }
    flags(context, &removed);
    Ok(())
}

/// `MAYHAP.COUNT key key...`
pub(crate) fn count(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (name, items) = name_and_keys(arguments)?;
    let mut key = context.read(name);
    let native = looked_at(&mut key, context)?;
    let filter = native.filter.as_count().map_err(error)?;
    context.array(items.len());
    for item in items {
        context.integer(filter.count_bytes(item.bytes()) as i64);
    }
    Ok(())
}

/// `MAYHAP.AREA key GET key...` and `MAYHAP.AREA key SET area key...`
pub(crate) fn area(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, verb, items @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    let reply = |area: Option<u32>| match area {
        Some(area) => context.integer(i64::from(area)),
        None => context.null(),
    };
    let mut key = context.write(name);
    let native = needed(&mut key)?;
    if verb.is("GET") && !items.is_empty() {
        let filter = native.filter.as_area().map_err(error)?;
        context.array(items.len());
        for item in items {
            reply(filter.area_bytes(item.bytes()));
        }
        return Ok(());
    }
    let [area, items @ ..] = items else {
        return Err(Failure::Arity);
    };
    if !verb.is("SET") || items.is_empty() {
        return Err(c"ERR expected GET and keys, or SET, an area and keys".into());
    }
    let area: u32 = area
        .parse()
        .ok_or(c"ERR an area is a whole number, from 1")?;
    let filter = native.filter.as_insert_area().map_err(error)?;
    let mut before = Vec::new();
    for item in items {
        // A filter that has no such area refuses the first key, and nothing is changed.
        before.push(
            filter
                .insert_area_bytes(item.bytes(), area)
                .map_err(error)?,
        );
    }
    context.replicate();
    context.notify(c"mayhap.add", name);
    context.array(before.len());
    before.into_iter().for_each(reply);
    Ok(())
}

/// `MAYHAP.MERGE key key...`: the first gets the keys of the others, or nothing.
pub(crate) fn merge(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (name, others) = name_and_keys(arguments)?;
    if others.iter().any(|other| other.bytes() == name.bytes()) {
        return Err(c"ERR a filter is not merged with itself".into());
    }
    let mut key = context.write(name);
    let native = needed(&mut key)?;
    let mut merged = native.filter.clone();
    for other in others {
        let mut key = context.read(other);
        merged.union(&needed(&mut key)?.filter).map_err(error)?;
    }
    native.filter = merged;
    context.replicate();
    context.notify(c"mayhap.merge", name);
    context.simple(c"OK");
    Ok(())
}

/// `MAYHAP.INFO key`
pub(crate) fn info(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let native = looked_at(&mut key, context)?;
    let stats = native.filter.stats();
    let description = native.filter.description();
    let number = |value: Option<f64>| match value {
        Some(value) => context.double(value),
        None => context.null(),
    };
    context.map(12);
    context.bulk(b"kind");
    context.bulk(description.kind.name().as_bytes());
    context.bulk(b"hashing");
    context.bulk(description.hashing.to_string().as_bytes());
    context.bulk(b"capacity");
    number(stats.promise.map(|promise| promise.keys as f64));
    context.bulk(b"rate asked for");
    number(stats.promise.map(|promise| promise.rate));
    context.bulk(b"keys");
    number(stats.keys);
    context.bulk(b"rate");
    context.double(stats.rate);
    context.bulk(b"over capacity");
    context.boolean(stats.is_over_capacity());
    context.bulk(b"hashes");
    context.integer(i64::from(description.hashes));
    context.bulk(b"bits");
    context.integer(stats.bits as i64);
    context.bulk(b"ones");
    context.integer(stats.ones as i64);
    context.bulk(b"bytes");
    context.integer(native.bytes() as i64);
    context.bulk(b"window");
    match native.period {
        0 => context.null(),
        period => context.integer((period * GENERATIONS) as i64),
    }
    Ok(())
}

/// `MAYHAP.ROTATE key [TO generation]`
pub(crate) fn rotate(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (name, generation) = match arguments {
        [_, name] => (name, None),
        [_, name, word, generation] if word.is("TO") => {
            let generation: Option<u64> = generation.parse();
            (
                name,
                Some(generation.ok_or(c"ERR a generation is a whole number")?),
            )
        }
        _ => return Err(Failure::Arity),
    };
    let mut key = context.write(name);
    let native = needed(&mut key)?;
    let by_time = native.period > 0;
    let AnyFilter::Windowed(filter) = &mut native.filter else {
        return Err(c"ERR only a filter of the kind windowed forgets".into());
    };
    match generation {
        Some(generation) => filter.advance_to(generation),
        None if by_time => {
            return Err(
                c"ERR this filter forgets by time: its generations end by themselves".into(),
            );
        }
        None => filter.rotate(),
    }
    context.replicate();
    context.notify(c"mayhap.rotate", name);
    context.simple(c"OK");
    Ok(())
}

/// `MAYHAP.DUMP key`: the bytes of a native file.
pub(crate) fn dump(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let native = needed(&mut key)?;
    let mut file = Vec::new();
    native::write(&native.filter, &Metadata::default(), &mut file).map_err(error)?;
    context.bulk(&file);
    Ok(())
}

/// `MAYHAP.RESTORE key file [WINDOW milliseconds] [REPLACE]`
pub(crate) fn restore(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, file, words @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    let asked = Asked::read(words)?;
    let mut key = context.write(name);
    match key.find::<Native>() {
        Found::Missing => {}
        Found::Value(_) if asked.replaces => {}
        _ => return Err(EXISTS.into()),
    }
    let mut bytes = file.bytes();
    let made = |reason: String| Failure::Made(format!("ERR {reason}"));
    let native = match native::decode(bytes, secret()) {
        Ok((filter, _)) => Native::of(filter, asked.period()),
        // As a file of commands has it: with the period.
        Err(mayhap::Error::Extra { .. }) => match Native::read(&mut bytes) {
            Ok(_) if !bytes.is_empty() => Err("bytes follow after the filter".into()),
            other => other,
        },
        Err(reason) => Err(reason.to_string()),
    };
    let native = native.map_err(made)?;
    if !allows(context)(0, native.bytes()) {
        return Err(c"ERR there is no memory for such a filter, or it is not allowed".into());
    }
    key.put(native);
    context.replicate();
    context.notify(c"mayhap.restore", name);
    context.simple(c"OK");
    Ok(())
}
