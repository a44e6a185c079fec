//! Filters inside a server: a module for Redis and Valkey.
//!
//! `redis-server --loadmodule libmayhap_module.so` has the commands of RedisBloom and valkey-bloom, `BF.*` and `CF.*`, and for
//! every kind of filter `MAYHAP.*`. `docs/module.md` has them all.
//!
//! What the commands do is the crate `mayhap-commands`; this is the shell around it that a server loads. This file is the table of
//! commands and what is done when the module is loaded. A command comes in through `ffi.rs`, which holds every `extern "C"`;
//! `server` calls the server, for replies, keys and snapshots. Memory comes from the server (`alloc.rs`).
#![deny(unsafe_code)]

// Unit tests run without a server.
#[cfg_attr(test, allow(dead_code))]
mod alloc;
mod ffi;
mod pages;
mod server;

use std::ffi::{CStr, c_int};

pub(crate) use redis_module::redisraw::bindings as raw;

use mayhap_commands::bf::{self, Chain, Dialect};
use mayhap_commands::cf::{self, Nest};
use mayhap_commands::native::{self, Native};
use mayhap_commands::settings::{self, Range, Setting};
use mayhap_commands::{Argument as _, Outcome, syntax};
use server::{Argument, Context, Registrar};

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

fn row<F: Fn(&Context, &[Argument]) -> Outcome>(
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
        row(c"bf.reserve", WRITE, bf::reserve, "key rate capacity [EXPANSION expansion] [NONSCALING]",
            c"Makes an empty Bloom filter."),
        row(c"bf.add", WRITE, bf::add, "key item",
            c"Inserts a key into a Bloom filter; makes the filter if it does not exist."),
        row(c"bf.madd", WRITE, bf::madd, "key item...",
            c"Inserts keys into a Bloom filter, all or none; makes the filter if it does not exist."),
        row(c"bf.insert", WRITE, bf::insert,
            "key [CAPACITY capacity] [ERROR rate] [EXPANSION expansion] [NOCREATE] [NONSCALING] [TIGHTENING ratio] [SEED seed] \
             [VALIDATESCALETO capacity] [ITEMS item...]",
            c"Inserts keys into a Bloom filter, all or none; makes the filter as asked if it does not exist."),
        row(c"bf.exists", READ, bf::exists, "key item",
            c"Returns whether a key may be in a Bloom filter."),
        row(c"bf.mexists", READ, bf::mexists, "key item...",
            c"Returns for each key whether it may be in a Bloom filter."),
        row(c"bf.card", READ, bf::card, "key",
            c"Returns the number of keys that were new when they were inserted into a Bloom filter."),
        row(c"bf.info", READ, bf::info,
            "key [CAPACITY|SIZE|FILTERS|ITEMS|EXPANSION|ERROR|TIGHTENING|MAXSCALEDCAPACITY]",
            c"Describes a Bloom filter."),
        row(c"bf.scandump", READ, bf::scandump, "key iterator",
            c"Returns the next piece of a Bloom filter."),
        row(c"bf.loadchunk", WRITE, bf::loadchunk, "key iterator data",
            c"Loads a piece of a Bloom filter that BF.SCANDUMP has returned."),
        row(c"bf.load", WRITE, bf::load, "key data",
            c"Loads a whole Bloom filter from a file of commands."),
        row(c"bf.debug", READ, bf::debug, "key",
            c"Describes each layer of a Bloom filter."),
    ]
}

#[rustfmt::skip]
fn cuckoo_commands() -> Vec<Row> {
    vec![
        row(c"cf.reserve", WRITE, cf::reserve,
            "key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS iterations] [EXPANSION expansion] [LAYOUT layout]",
            c"Makes an empty cuckoo filter."),
        row(c"cf.add", WRITE, cf::add, "key item",
            c"Inserts a key into a cuckoo filter; makes the filter if it does not exist."),
        row(c"cf.addnx", WRITE, cf::addnx, "key item",
            c"Inserts a key into a cuckoo filter unless it seems to be there."),
        row(c"cf.insert", WRITE, cf::insert, "key [CAPACITY capacity] [NOCREATE] ITEMS item...",
            c"Inserts keys into a cuckoo filter, all or none; makes the filter as asked if it does not exist."),
        row(c"cf.insertnx", WRITE, cf::insertnx, "key [CAPACITY capacity] [NOCREATE] ITEMS item...",
            c"Inserts those keys into a cuckoo filter that do not seem to be there."),
        row(c"cf.exists", READ, cf::exists, "key item",
            c"Returns whether a key may be in a cuckoo filter."),
        row(c"cf.mexists", READ, cf::mexists, "key item...",
            c"Returns for each key whether it may be in a cuckoo filter."),
        row(c"cf.count", READ, cf::count, "key item",
            c"Returns how often a key is in a cuckoo filter at most."),
        row(c"cf.del", SHRINK, cf::del, "key item",
            c"Removes a key from a cuckoo filter, once; it must have been inserted."),
        row(c"cf.compact", SHRINK, cf::compact, "key",
            c"Moves keys into older layers of a cuckoo filter and drops layers that are empty then."),
        row(c"cf.info", READ, cf::info, "key",
            c"Describes a cuckoo filter."),
        row(c"cf.debug", READ, cf::debug, "key",
            c"Describes a cuckoo filter in one line."),
        row(c"cf.scandump", READ, cf::scandump, "key iterator",
            c"Returns the next piece of a cuckoo filter."),
        row(c"cf.loadchunk", WRITE, cf::loadchunk, "key iterator data",
            c"Loads a piece of a cuckoo filter that CF.SCANDUMP has returned."),
    ]
}

#[rustfmt::skip]
fn native_commands() -> Vec<Row> {
    vec![
        row(c"mayhap.new", WRITE, native::new,
            "key kind [CAPACITY capacity] [RATE rate] [WINDOW milliseconds] [SECRET] [REPLACE]",
            c"Makes an empty filter of any kind."),
        row(c"mayhap.add", WRITE, native::add, "key item...",
            c"Inserts keys."),
        row(c"mayhap.contains", READ, native::contains, "key item...",
            c"Returns for each key whether it may be in the filter."),
        row(c"mayhap.remove", SHRINK, native::remove, "key item...",
            c"Removes keys, each once; they must have been inserted."),
        row(c"mayhap.count", READ, native::count, "key item...",
            c"Returns how often each key was inserted at most."),
        row(c"mayhap.area", READ_ALL, native::area, "key <SET area|GET> item...",
            c"Returns the area of each key; with SET it runs MAYHAP.SETAREA."),
        row(c"mayhap.setarea", WRITE, native::set_area, "key area item...",
            c"Sets the area of each key, and returns the one before."),
        row(c"mayhap.merge", WRITE, native::merge, "key other...",
            c"Adds the keys of other filters to a filter."),
        row(c"mayhap.info", READ_ALL, native::info, "key",
            c"Describes a filter."),
        row(c"mayhap.rotate", SHRINK, native::rotate, "key [TO generation]",
            c"Ends a generation of a filter that forgets."),
        row(c"mayhap.dump", READ_ALL, native::dump, "key",
            c"Returns a filter as the bytes of a file."),
        row(c"mayhap.restore", WRITE, native::restore, "key file [WINDOW milliseconds] [REPLACE]",
            c"Makes a filter from the bytes of a file."),
    ]
}

/// Registers types, commands and settings.
///
/// # Errors
///
/// Why the module is not loaded.
fn load(context: &Context, arguments: &[Argument]) -> Result<(), String> {
    mayhap::bits::use_global_allocator();
    alloc::learn_pages();
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
    registrar.data_type::<Chain>(&mut ffi::methods::<Chain>());
    registrar.data_type::<Nest>(&mut ffi::methods::<Nest>());
    registrar.data_type::<Native>(&mut ffi::methods::<Native>());
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
        setting.set_text(value.bytes())?;
    }
    // While the server starts, not in its first command.
    bf::Plan::from_settings().search();
    if !registrar.is_whole() {
        return Err(
            "the server refused a type, a command or a setting: another module may have it already"
                .into(),
        );
    }
    Ok(())
}

/// One argument of the module, with its value. Settings are set later, when they were registered.
fn argument<'a>(
    name: &Argument,
    value: &'a Argument,
    later: &mut Vec<(&'static Setting, &'a Argument)>,
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
    } else {
        let name = String::from_utf8_lossy(name.bytes());
        let setting = Setting::named(&name);
        let setting = setting.ok_or_else(|| {
            format!("unknown argument {name}: DIALECT, SECRET and the names of settings are known")
        })?;
        later.push((setting, value));
    }
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
