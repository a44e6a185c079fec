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
mod native;
mod nest;
mod options;
mod pieces;
mod redisbloom;
mod server;
mod settings;
mod stream;
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

/// A command: its name, its flags, which arguments are keys, and the function of `ffi.rs` that runs it.
struct Row {
    name: &'static CStr,
    flags: &'static CStr,
    keys: (c_int, c_int, c_int),
    entry: raw::RedisModuleCmdFunc,
}

/// A command with one key.
fn row<F: Fn(Context<'_>, &[Argument]) -> Outcome>(
    name: &'static CStr,
    flags: &'static CStr,
    _run: F,
) -> Row {
    Row {
        name,
        flags,
        keys: (1, 1, 1),
        entry: Some(ffi::entry::<F>),
    }
}

const WRITE: &CStr = c"write deny-oom";
/// Commands that take no more memory work when there is none left.
const SHRINK: &CStr = c"write";
const READ: &CStr = c"readonly fast";
const READ_ALL: &CStr = c"readonly";

fn bloom_commands() -> Vec<Row> {
    vec![
        row(c"BF.RESERVE", WRITE, bf::reserve),
        row(c"BF.ADD", WRITE, bf::add),
        row(c"BF.MADD", WRITE, bf::madd),
        row(c"BF.INSERT", WRITE, bf::insert),
        row(c"BF.EXISTS", READ, bf::exists),
        row(c"BF.MEXISTS", READ, bf::mexists),
        row(c"BF.CARD", READ, bf::card),
        row(c"BF.INFO", READ, bf::info),
        row(c"BF.SCANDUMP", READ, bf::scandump),
        row(c"BF.LOADCHUNK", WRITE, bf::loadchunk),
        row(c"BF.LOAD", WRITE, bf::load),
        row(c"BF.DEBUG", READ, bf::debug),
    ]
}

fn cuckoo_commands() -> Vec<Row> {
    vec![
        row(c"CF.RESERVE", WRITE, cf::reserve),
        row(c"CF.ADD", WRITE, cf::add),
        row(c"CF.ADDNX", WRITE, cf::addnx),
        row(c"CF.INSERT", WRITE, cf::insert),
        row(c"CF.INSERTNX", WRITE, cf::insertnx),
        row(c"CF.EXISTS", READ, cf::exists),
        row(c"CF.MEXISTS", READ, cf::mexists),
        row(c"CF.COUNT", READ, cf::count),
        row(c"CF.DEL", SHRINK, cf::del),
        row(c"CF.COMPACT", SHRINK, cf::compact),
        row(c"CF.INFO", READ, cf::info),
        row(c"CF.DEBUG", READ, cf::debug),
        row(c"CF.SCANDUMP", READ, cf::scandump),
        row(c"CF.LOADCHUNK", WRITE, cf::loadchunk),
    ]
}

fn native_commands() -> Vec<Row> {
    let merge = row(c"MAYHAP.MERGE", WRITE, native::merge);
    vec![
        row(c"MAYHAP.NEW", WRITE, native::new),
        row(c"MAYHAP.ADD", WRITE, native::add),
        row(c"MAYHAP.CONTAINS", READ, native::contains),
        row(c"MAYHAP.REMOVE", SHRINK, native::remove),
        row(c"MAYHAP.COUNT", READ, native::count),
        row(c"MAYHAP.AREA", WRITE, native::area),
        Row {
            keys: (1, -1, 1),
            ..merge
        },
        row(c"MAYHAP.INFO", READ_ALL, native::info),
        row(c"MAYHAP.ROTATE", SHRINK, native::rotate),
        row(c"MAYHAP.DUMP", READ_ALL, native::dump),
        row(c"MAYHAP.RESTORE", WRITE, native::restore),
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
            registrar.command(row.name, row.entry, row.flags, row.keys, category);
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
