//! `MAYHAP.*`: every kind of filter.
//!
//! A window by time follows the clock of the server: its generations are counted from 1970. The first lookup or insert in a new
//! generation begins it; an insert is sent to replicas with its generation, so that a key is forgotten everywhere at the same time.

mod options;
mod value;

pub use value::Native;

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _, Filter as _, Inserts, Merge as _};

use crate::limits::allows;
use crate::server::{EXISTS, WRONG_TYPE};
use crate::settings::secret;
use crate::{Argument as _, Failure, Found, Key, Outcome, Server, Value as _};
use options::{Asked, made_kind};
use value::GENERATIONS;

/// The reply for an error of the library.
fn error(error: mayhap::Error) -> Failure {
    Failure::Made(format!("ERR {error}"))
}

/// Finds the filter under a key, which must be there.
fn needed(key: &mut impl Key) -> Result<&mut Native, Failure> {
    match key.find::<Native>() {
        Found::Value(native) => Ok(native),
        Found::Missing => Err(c"ERR not found: make it by MAYHAP.NEW".into()),
        Found::Other => Err(WRONG_TYPE.into()),
    }
}

/// Finds the filter for a lookup, which may begin a generation.
fn looked_at<'k, S: Server>(
    key: &'k mut S::Key<'_>,
    server: &S,
) -> Result<&'k mut Native, Failure> {
    let native = needed(key)?;
    native.turn(server);
    Ok(native)
}

/// Runs `MAYHAP.NEW key kind [CAPACITY n] [RATE p] [WINDOW milliseconds] [SECRET]`.
pub fn new<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, kind, words @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    let asked = Asked::read(words)?;
    let kind = made_kind(kind)?;
    let description = asked.describe(kind)?;
    let mut key = server.write(name);
    match key.find::<Native>() {
        Found::Missing => {}
        Found::Value(_) if asked.replaces => {}
        _ => return Err(EXISTS.into()),
    }
    if !allows(server)(0, description.bits / 8) {
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
    server.replicate_as(c"MAYHAP.NEW", name, &words, &[]);
    server.notify(c"mayhap.new", name);
    server.simple(c"OK");
    Ok(())
}

/// Splits arguments into the key and what follows, which must be something.
fn name_and_keys<A>(arguments: &[A]) -> Result<(&A, &[A]), Failure> {
    match arguments {
        [_, name, keys @ ..] if !keys.is_empty() => Ok((name, keys)),
        _ => Err(Failure::Arity),
    }
}

/// Has the replicas do a command that changed a filter, in the same generation.
fn replicate<S: Server>(server: &S, name: &S::Argument, generation: Option<u64>) {
    if let Some(generation) = generation {
        let generation = generation.to_string();
        let words: [&[u8]; 2] = [b"TO", generation.as_bytes()];
        server.replicate_as(c"MAYHAP.ROTATE", name, &words, &[]);
    }
    server.replicate();
}

/// Runs `MAYHAP.ADD key item...`.
pub fn add<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (name, items) = name_and_keys(arguments)?;
    let keys: Vec<&[u8]> = items.iter().map(|item| item.bytes()).collect();
    let mut key = server.write(name);
    let native = needed(&mut key)?;
    let generation = native.turn(server);
    let kind = native.filter.kind();
    let mut new = vec![false; keys.len()];
    let filter = native.filter.as_insert().map_err(error)?;
    filter.insert_bytes_batch(&keys, &mut new);
    // Where a kind only sets bits, a key that is not new has changed nothing.
    if kind.inserts() != Inserts::BySettingBits || new.contains(&true) {
        replicate(server, name, generation);
        server.notify(c"mayhap.add", name);
    }
    server.booleans(&new);
    Ok(())
}

/// Runs `MAYHAP.CONTAINS key item...`.
pub fn contains<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (name, items) = name_and_keys(arguments)?;
    let keys: Vec<&[u8]> = items.iter().map(|item| item.bytes()).collect();
    let mut found = vec![false; keys.len()];
    let mut key = server.read(name);
    let native = looked_at(&mut key, server)?;
    native.filter.contains_bytes_batch(&keys, &mut found);
    server.booleans(&found);
    Ok(())
}

/// Runs `MAYHAP.REMOVE key item...`.
pub fn remove<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (name, items) = name_and_keys(arguments)?;
    let mut key = server.write(name);
    let native = needed(&mut key)?;
    let filter = native.filter.as_remove().map_err(error)?;
    let mut removed = Vec::new();
    for item in items {
        removed.push(filter.remove_bytes(item.bytes()).map_err(error)?);
    }
    if removed.contains(&true) {
        server.replicate();
        server.notify(c"mayhap.remove", name);
    }
    server.booleans(&removed);
    Ok(())
}

/// Runs `MAYHAP.COUNT key item...`.
pub fn count<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (name, items) = name_and_keys(arguments)?;
    let mut key = server.read(name);
    let native = looked_at(&mut key, server)?;
    let filter = native.filter.as_count().map_err(error)?;
    server.array(items.len());
    for item in items {
        server.integer(filter.count_bytes(item.bytes()) as i64);
    }
    Ok(())
}

/// Replies with areas, or nothing for a key that is in none.
fn areas<S: Server>(server: &S, areas: impl ExactSizeIterator<Item = Option<u32>>) {
    server.array(areas.len());
    for area in areas {
        match area {
            Some(area) => server.integer(i64::from(area)),
            None => server.null(),
        }
    }
}

/// Runs `MAYHAP.AREA key GET item...`, which reads, and `MAYHAP.AREA key SET area item...`, which has the server run the command that writes:
/// so that it judges whether this user may write here and now.
pub fn area<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, verb, items @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    if verb.is("SET") && items.len() > 1 {
        return server.run(c"mayhap.setarea", name, items);
    }
    if !verb.is("GET") || items.is_empty() {
        return Err(c"ERR expected GET and keys, or SET, an area and keys".into());
    }
    let mut key = server.read(name);
    let filter = needed(&mut key)?.filter.as_area().map_err(error)?;
    areas(
        server,
        items.iter().map(|item| filter.area_bytes(item.bytes())),
    );
    Ok(())
}

/// Runs `MAYHAP.SETAREA key area item...`.
pub fn set_area<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, area, items @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    if items.is_empty() {
        return Err(Failure::Arity);
    }
    let mut key = server.write(name);
    let native = needed(&mut key)?;
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
    server.replicate();
    server.notify(c"mayhap.add", name);
    areas(server, before.into_iter());
    Ok(())
}

/// Runs `MAYHAP.MERGE key other...`: adds the keys of the others, all or none.
pub fn merge<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let (name, others) = name_and_keys(arguments)?;
    if others.iter().any(|other| other.bytes() == name.bytes()) {
        return Err(c"ERR a filter is not merged with itself".into());
    }
    let mut key = server.write(name);
    let native = needed(&mut key)?;
    let mut merged = native.filter.clone();
    for other in others {
        let mut key = server.read(other);
        merged.union(&needed(&mut key)?.filter).map_err(error)?;
    }
    native.filter = merged;
    server.replicate();
    server.notify(c"mayhap.merge", name);
    server.simple(c"OK");
    Ok(())
}

/// Runs `MAYHAP.INFO key`.
pub fn info<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let native = looked_at(&mut key, server)?;
    let stats = native.filter.stats();
    let description = native.filter.description();
    let number = |value: Option<f64>| match value {
        Some(value) => server.double(value),
        None => server.null(),
    };
    server.map(12);
    server.bulk(b"kind");
    server.bulk(description.kind.name().as_bytes());
    server.bulk(b"hashing");
    server.bulk(description.hashing.to_string().as_bytes());
    server.bulk(b"capacity");
    number(stats.promise.map(|promise| promise.keys as f64));
    server.bulk(b"rate asked for");
    number(stats.promise.map(|promise| promise.rate));
    server.bulk(b"keys");
    number(stats.keys);
    server.bulk(b"rate");
    server.double(stats.rate);
    server.bulk(b"over capacity");
    server.boolean(stats.is_over_capacity());
    server.bulk(b"hashes");
    server.integer(i64::from(description.hashes));
    server.bulk(b"bits");
    server.integer(stats.bits as i64);
    server.bulk(b"ones");
    server.integer(stats.ones as i64);
    server.bulk(b"bytes");
    server.integer(native.bytes() as i64);
    server.bulk(b"window");
    match native.period {
        0 => server.null(),
        period => server.integer((period * GENERATIONS) as i64),
    }
    Ok(())
}

/// Runs `MAYHAP.ROTATE key [TO generation]`.
pub fn rotate<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
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
    let mut key = server.write(name);
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
    server.replicate();
    server.notify(c"mayhap.rotate", name);
    server.simple(c"OK");
    Ok(())
}

/// Runs `MAYHAP.DUMP key`: the bytes of a native file.
pub fn dump<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = server.read(name);
    let native = needed(&mut key)?;
    let mut file = Vec::new();
    native::write(&native.filter, &Metadata::default(), &mut file).map_err(error)?;
    server.bulk(&file);
    Ok(())
}

/// Runs `MAYHAP.RESTORE key file [WINDOW milliseconds] [REPLACE]`.
pub fn restore<S: Server>(server: &S, arguments: &[S::Argument]) -> Outcome {
    let [_, name, file, words @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    let asked = Asked::read(words)?;
    let mut key = server.write(name);
    match key.find::<Native>() {
        Found::Missing => {}
        Found::Value(_) if asked.replaces => {}
        _ => return Err(EXISTS.into()),
    }
    let mut bytes = file.bytes();
    let made = |reason: String| Failure::Made(format!("ERR {reason}"));
    let native = match native::decode(bytes, secret()) {
        Ok((filter, _)) => Native::of(filter, asked.period()),
        // A log holds it with the period of its window.
        Err(mayhap::Error::Extra { .. }) => match Native::load(&mut bytes) {
            Ok(_) if !bytes.is_empty() => Err("bytes follow after the filter".into()),
            other => other,
        },
        Err(reason) => Err(reason.to_string()),
    };
    let native = native.map_err(made)?;
    if !allows(server)(0, native.bytes()) {
        return Err(c"ERR there is no memory for such a filter, or it is not allowed".into());
    }
    key.put(native);
    server.replicate();
    server.notify(c"mayhap.restore", name);
    server.simple(c"OK");
    Ok(())
}
