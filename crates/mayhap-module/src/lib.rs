//! Filters inside a server: a module for Redis and Valkey.
//!
//! `redis-server --loadmodule libmayhap_module.so` has the commands of RedisBloom and valkey-bloom, `BF.*` and `CF.*`, and for
//! every kind of filter `MAYHAP.*`. `docs/module.md` has them all.
//!
//! This file is the table of commands and what is done when the module is loaded. A command comes in through `ffi.rs`, which
//! holds every `extern "C"`; its family (`bf.rs`, `cf.rs`, `native`) reads the arguments and replies through
//! `server`, which calls the server; the filters are `chain.rs`, `nest.rs` and the kinds of the library, and `types.rs`
//! saves, copies and measures them. Memory comes from the server (`alloc.rs`).
#![deny(unsafe_code)]

// Unit tests run without a server.
#[cfg_attr(test, allow(dead_code))]
mod alloc;
mod bf;
mod census;
mod cf;
mod chain;
mod ffi;
mod foreign;
mod native;
mod nest;
mod options;
mod own;
mod pieces;
mod redisbloom;
mod server;
mod settings;
mod stream;
mod syntax;
mod types;

use std::ffi::{CStr, c_int};

pub(crate) use redis_module::redisraw::bindings as raw;

use chain::Chain;
use ffi::Outcome;
use native::Native;
use nest::Nest;
use server::{Argument, Context, Registrar};
use settings::{Dialect, Range, Setting};
use types::Value;

/// The version that `MODULE LIST` shows: two digits for each part.
const VERSION: c_int = 100;

/// A command: its name, its flags, how it is written, what it does, and the function of `ffi.rs` that runs it.
struct Row {
    name: &'static CStr,
    flags: &'static CStr,
    syntax: &'static str,
    summary: &'static CStr,
    entry: raw::RedisModuleCmdFunc,
}

fn row<F: Fn(Context<'_>, &[Argument]) -> Outcome>(
    name: &'static CStr,
    flags: &'static CStr,
    _run: F,
    syntax: &'static str,
    summary: &'static CStr,
) -> Row {
    Row {
        name,
        flags,
        syntax,
        summary,
        entry: Some(ffi::entry::<F>),
    }
}

const WRITE: &CStr = c"write deny-oom";
/// Commands that take no more memory work when there is none left.
const SHRINK: &CStr = c"write";
const READ: &CStr = c"readonly fast";
const READ_ALL: &CStr = c"readonly";

#[rustfmt::skip]
fn bloom_commands() -> Vec<Row> {
    vec![
        row(c"BF.RESERVE", WRITE, bf::reserve, "key rate capacity [EXPANSION expansion] [NONSCALING]",
            c"Makes an empty Bloom filter."),
        row(c"BF.ADD", WRITE, bf::add, "key item",
            c"Inserts a key into a Bloom filter; makes the filter if it does not exist."),
        row(c"BF.MADD", WRITE, bf::madd, "key item...",
            c"Inserts keys into a Bloom filter, all or none; makes the filter if it does not exist."),
        row(c"BF.INSERT", WRITE, bf::insert,
            "key [CAPACITY capacity] [ERROR rate] [EXPANSION expansion] [NOCREATE] [NONSCALING] [TIGHTENING ratio] [SEED seed] \
             [VALIDATESCALETO capacity] [ITEMS item...]",
            c"Inserts keys into a Bloom filter, all or none; makes the filter as asked if it does not exist."),
        row(c"BF.EXISTS", READ, bf::exists, "key item",
            c"Returns whether a key may be in a Bloom filter."),
        row(c"BF.MEXISTS", READ, bf::mexists, "key item...",
            c"Returns for each key whether it may be in a Bloom filter."),
        row(c"BF.CARD", READ, bf::card, "key",
            c"Returns the number of keys that were new when they were inserted into a Bloom filter."),
        row(c"BF.INFO", READ, bf::info,
            "key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION|ERROR|TIGHTENING|MAXSCALEDCAPACITY]",
            c"Describes a Bloom filter."),
        row(c"BF.SCANDUMP", READ, bf::scandump, "key iterator",
            c"Returns the next piece of a Bloom filter."),
        row(c"BF.LOADCHUNK", WRITE, bf::loadchunk, "key iterator data",
            c"Loads a piece of a Bloom filter that BF.SCANDUMP has returned."),
        row(c"BF.LOAD", WRITE, bf::load, "key data",
            c"Loads a whole Bloom filter from a file of commands."),
        row(c"BF.DEBUG", READ, bf::debug, "key",
            c"Describes each layer of a Bloom filter."),
    ]
}

#[rustfmt::skip]
fn cuckoo_commands() -> Vec<Row> {
    vec![
        row(c"CF.RESERVE", WRITE, cf::reserve,
            "key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS iterations] [EXPANSION expansion]",
            c"Makes an empty cuckoo filter."),
        row(c"CF.ADD", WRITE, cf::add, "key item",
            c"Inserts a key into a cuckoo filter; makes the filter if it does not exist."),
        row(c"CF.ADDNX", WRITE, cf::addnx, "key item",
            c"Inserts a key into a cuckoo filter unless it seems to be there."),
        row(c"CF.INSERT", WRITE, cf::insert, "key [CAPACITY capacity] [NOCREATE] ITEMS item...",
            c"Inserts keys into a cuckoo filter, all or none; makes the filter as asked if it does not exist."),
        row(c"CF.INSERTNX", WRITE, cf::insertnx, "key [CAPACITY capacity] [NOCREATE] ITEMS item...",
            c"Inserts those keys into a cuckoo filter that do not seem to be there."),
        row(c"CF.EXISTS", READ, cf::exists, "key item",
            c"Returns whether a key may be in a cuckoo filter."),
        row(c"CF.MEXISTS", READ, cf::mexists, "key item...",
            c"Returns for each key whether it may be in a cuckoo filter."),
        row(c"CF.COUNT", READ, cf::count, "key item",
            c"Returns how often a key is in a cuckoo filter at most."),
        row(c"CF.DEL", SHRINK, cf::del, "key item",
            c"Removes a key from a cuckoo filter, once; it must have been inserted."),
        row(c"CF.COMPACT", SHRINK, cf::compact, "key",
            c"Moves keys into older layers of a cuckoo filter and drops layers that are empty then."),
        row(c"CF.INFO", READ, cf::info, "key",
            c"Describes a cuckoo filter."),
        row(c"CF.DEBUG", READ, cf::debug, "key",
            c"Describes a cuckoo filter in one line."),
        row(c"CF.SCANDUMP", READ, cf::scandump, "key iterator",
            c"Returns the next piece of a cuckoo filter."),
        row(c"CF.LOADCHUNK", WRITE, cf::loadchunk, "key iterator data",
            c"Loads a piece of a cuckoo filter that CF.SCANDUMP has returned."),
    ]
}

#[rustfmt::skip]
fn native_commands() -> Vec<Row> {
    vec![
        row(c"MAYHAP.NEW", WRITE, native::new,
            "key kind [CAPACITY capacity] [RATE rate] [WINDOW milliseconds] [SECRET] [REPLACE]",
            c"Makes an empty filter of any kind."),
        row(c"MAYHAP.ADD", WRITE, native::add, "key item...",
            c"Inserts keys."),
        row(c"MAYHAP.CONTAINS", READ, native::contains, "key item...",
            c"Returns for each key whether it may be in the filter."),
        row(c"MAYHAP.REMOVE", SHRINK, native::remove, "key item...",
            c"Removes keys, each once; they must have been inserted."),
        row(c"MAYHAP.COUNT", READ, native::count, "key item...",
            c"Returns how often each key was inserted at most."),
        row(c"MAYHAP.AREA", WRITE, native::area, "key <SET area|GET> item...",
            c"Sets or returns the area of each key."),
        row(c"MAYHAP.MERGE", WRITE, native::merge, "key other...",
            c"Adds the keys of other filters to a filter."),
        row(c"MAYHAP.INFO", READ_ALL, native::info, "key",
            c"Describes a filter."),
        row(c"MAYHAP.ROTATE", SHRINK, native::rotate, "key [TO generation]",
            c"Ends a generation of a filter that forgets."),
        row(c"MAYHAP.DUMP", READ_ALL, native::dump, "key",
            c"Returns a filter as the bytes of a file."),
        row(c"MAYHAP.RESTORE", WRITE, native::restore, "key file [WINDOW milliseconds] [REPLACE]",
            c"Makes a filter from the bytes of a file."),
    ]
}

/// Registers types, commands and settings.
///
/// # Errors
///
/// Why the module is not loaded.
fn load(context: Context<'_>, arguments: &[Argument]) -> Result<(), String> {
    mayhap::bits::use_global_allocator();
    let dialect = match context.is_valkey() {
        true => Dialect::Valkey,
        false => Dialect::Redis,
    };
    dialect.choose();
    // The dialect decides how settings are called, so it is read before they are registered.
    let mut chosen = Vec::new();
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            return Err("every argument of the module has a value".into());
        };
        argument(name, value, &mut chosen)?;
    }
    let registrar = Registrar::new(context);
    registrar.handle_errors();
    registrar.data_type::<Chain>(Chain::NAME, Chain::VERSION, &mut ffi::methods::<Chain>());
    registrar.data_type::<Nest>(Nest::NAME, Nest::VERSION, &mut ffi::methods::<Nest>());
    registrar.data_type::<Native>(Native::NAME, Native::VERSION, &mut ffi::methods::<Native>());
    for (category, rows) in [
        (c"bloom", bloom_commands()),
        (c"cuckoo", cuckoo_commands()),
        (c"mayhap", native_commands()),
    ] {
        registrar.category(category);
        for row in rows {
            registrar.command(row.name, row.entry, row.flags, category);
            registrar.describe(row.name, row.flags, row.summary, &syntax::parse(row.syntax));
        }
    }
    registrar.info(Some(ffi::info));
    register_settings(&registrar);
    // After the configuration of the server, so that what is given to the module wins.
    for (setting, value) in chosen {
        setting(value)?;
    }
    if !registrar.is_whole() {
        return Err(
            "the server refused a type, a command or a setting: another module may have it already"
                .into(),
        );
    }
    Ok(())
}

/// Sets what an argument asks for, after the settings were registered.
type Later<'a> = (fn(&'a Argument) -> Result<(), String>, &'a Argument);

/// One argument of the module, with its value.
fn argument<'a>(
    name: &Argument,
    value: &'a Argument,
    later: &mut Vec<Later<'a>>,
) -> Result<(), String> {
    if name.is("DIALECT") {
        match value {
            value if value.is("redis") => Dialect::Redis.choose(),
            value if value.is("valkey") => Dialect::Valkey.choose(),
            _ => return Err("DIALECT is redis or valkey".into()),
        }
    } else if name.is("SECRET") {
        let path = String::from_utf8_lossy(value.bytes());
        settings::read_secret(&path)?;
    } else if name.is("ERROR_RATE") {
        later.push((
            |value| match settings::RATE.set_share(value.bytes()) {
                true => Ok(()),
                false => Err("ERROR_RATE is a number strictly between 0 and 1".into()),
            },
            value,
        ));
    } else if name.is("INITIAL_SIZE") {
        later.push((
            |value| set_number(&settings::CAPACITY, value, "INITIAL_SIZE"),
            value,
        ));
    } else if name.is("CF_MAX_EXPANSIONS") {
        later.push((
            |value| set_number(&settings::EXPANSIONS, value, "CF_MAX_EXPANSIONS"),
            value,
        ));
    } else {
        let name = String::from_utf8_lossy(name.bytes());
        return Err(format!(
            "unknown argument {name}: DIALECT, SECRET, ERROR_RATE, INITIAL_SIZE and CF_MAX_EXPANSIONS are known"
        ));
    }
    Ok(())
}

/// Sets a whole number that an argument of the module gives.
fn set_number(setting: &Setting, value: &Argument, name: &str) -> Result<(), String> {
    let Range::Number(_, least, most) = setting.range else {
        return Err(format!("{name} is not a whole number"));
    };
    let number = value
        .parse()
        .filter(|number| (least..=most).contains(number));
    let number = number.ok_or_else(|| format!("{name} is a whole number, {least} to {most}"))?;
    setting.set(number);
    Ok(())
}

/// The first version whose settings need no prefix: Redis 8.
const WITHOUT_PREFIX: c_int = 0x08_00_00;

/// valkey-bloom's limit for one filter.
const VALKEY_LIMIT: i64 = 128 << 20;

fn register_settings(registrar: &Registrar<'_>) {
    let dialect = Dialect::now();
    let is_redis_8 = !registrar.is_valkey() && registrar.server_version() >= WITHOUT_PREFIX;
    for setting in settings::SETTINGS {
        let (name, flags) = match (dialect, setting.valkey) {
            (Dialect::Valkey, Some(name)) => (name, 0),
            _ if is_redis_8 => (setting.redis, raw::REDISMODULE_CONFIG_UNPREFIXED),
            _ => (setting.redis, 0),
        };
        register(registrar, setting, name, flags, dialect);
    }
    registrar.load_settings();
}

fn register(
    registrar: &Registrar<'_>,
    setting: &'static Setting,
    name: &CStr,
    flags: u32,
    dialect: Dialect,
) {
    let which = ffi::pointer_to(setting);
    match setting.range {
        Range::Number(default, least, most) => {
            let is_limit = std::ptr::eq(setting, &settings::MEMORY);
            let default = match dialect {
                Dialect::Valkey if is_limit => VALKEY_LIMIT,
                _ => default,
            };
            let range = (default, least, most);
            registrar.number(
                name,
                flags,
                range,
                Some(ffi::get_number),
                Some(ffi::set_number),
                which,
            );
        }
        Range::Choice(default) => {
            registrar.choice(
                name,
                flags,
                default,
                Some(ffi::get_choice),
                Some(ffi::set_choice),
                which,
            );
        }
        Range::Share(default) => {
            registrar.text(
                name,
                flags,
                default,
                Some(ffi::get_share),
                Some(ffi::set_share),
                which,
            );
        }
    }
}
