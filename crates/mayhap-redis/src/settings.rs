//! The settings of a filter on a server, beside its bits: one hash, `mayhap:{name}`.
//!
//! A filter has a living generation and perhaps one that is being built; each is described by one
//! line of text, so that one `HMGET` shows whether anything has changed. `docs/redis.md` has the layout.

use std::collections::BTreeMap;
use std::time::Duration;

use mayhap::{Description, Kind, Promise, SecretKey};
use redis::{Cmd, Value};

use crate::expiry::{Expiry, check_expiry};
use crate::home::Home;
use crate::sharding::{MOST_GUARDED_BITS, MOST_STRING_BITS, Sharding};
use crate::slots::ServerKey;
use crate::window::Window;
use crate::{Error, Result};

/// The newest version of the layout, which has a generation in the module. If all generations are in strings, version 2
/// is written, or 1 if they have no guard, so that older programs can use the filter.
const VERSION: u32 = 3;

/// The purpose for which a filter is opened.
#[derive(Clone)]
pub(crate) enum Access {
    /// To insert and look up keys; a filter made with a secret needs that secret.
    Keys(Option<SecretKey>),
    /// To look at it: a stand-in replaces the secret. No key must be looked up under it, and it must not
    /// leave the crate.
    Look,
}

/// The placement of a filter's shards in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Placement {
    /// All in one slot, with the settings.
    #[default]
    Together,
    /// Each in a slot of its own, so that they spread over the nodes.
    Spread,
}

/// The properties that are fixed when a filter is made, besides its description.
///
/// ```
/// use std::time::Duration;
/// use mayhap_redis::{Expiry, Options, Placement};
///
/// let options = Options {
///     shards: Some(24),
///     placement: Placement::Spread,
///     expiry: Some(Expiry::After(Duration::from_secs(7 * 24 * 3600))),
///     home: None,
/// };
/// assert_eq!(Options::default().shards, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The number of strings for the bits: by default as few as possible, of up to 2^32 bits each.
    pub shards: Option<u32>,
    /// Their placement in a cluster.
    pub placement: Placement,
    /// The time at which the filter expires: never by default.
    pub expiry: Option<Expiry>,
    /// The storage of the bits: by default mayhap's server module, if the server has it and it can keep the filter, and
    /// strings otherwise.
    pub home: Option<Home>,
}

/// One set of bits under a filter's name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Generation {
    /// Unique, and part of the names of its shards.
    pub(crate) id: String,
    pub(crate) description: Description,
    pub(crate) shards: u32,
    /// The time at which it expires, in milliseconds since 1970.
    pub(crate) expires: Option<u64>,
    /// Set if inserts go to it while it is being built: not while a file is being copied over it.
    pub(crate) shared: bool,
    /// Set if its shards have one byte more than their bits take. Inserts never reach that byte, so only a shard
    /// that was made has its full length: what inserts write where one was lost never counts as a shard.
    pub(crate) guard: bool,
    /// The storage of its bits. A value of the module has no guard: it refuses keys if there is no filter.
    pub(crate) home: Home,
    pub(crate) layout: Sharding,
}

impl Generation {
    pub(crate) fn new(
        id: String,
        description: &Description,
        shards: Option<u32>,
        expires: Option<u64>,
        shared: bool,
    ) -> Result<Generation> {
        let limit = MOST_GUARDED_BITS;
        let (layout, description, shards) = Sharding::new(description, shards, limit)?;
        Ok(Generation {
            id,
            description,
            shards,
            expires,
            shared,
            guard: true,
            home: Home::Strings,
            layout,
        })
    }

    /// The lowest version of the settings that has such a generation.
    fn version(&self) -> u32 {
        match (self.home, self.guard) {
            (Home::Module, _) => 3,
            (Home::Strings, true) => 2,
            (Home::Strings, false) => 1,
        }
    }

    /// The length of a shard.
    pub(crate) fn shard_bytes(&self, shard: u32) -> u64 {
        self.layout.shard_bytes(shard) + u64::from(self.guard)
    }

    /// The line that describes it.
    pub(crate) fn to_line(&self) -> String {
        let Description {
            kind,
            hashing,
            bits,
            hashes,
            promise,
            ..
        } = &self.description;
        let (scheme, seed) = hashing.code();
        let mut line = format!(
            "id={} kind={kind} scheme={scheme} seed={seed} bits={bits} hashes={hashes} shards={}",
            self.id, self.shards
        );
        if let Some(Promise { keys, rate }) = promise {
            line += &format!(" keys={keys} rate={rate:e}");
        }
        if let Some(expires) = self.expires {
            line += &format!(" expires={expires}");
        }
        if self.shared {
            line += " shared=1";
        }
        if self.guard {
            line += " guard=1";
        }
        if self.home == Home::Module {
            line += &format!(" home={}", self.home.name());
        }
        line
    }

    fn from_line(name: &str, line: &str, access: &Access) -> Result<Generation> {
        let fields: BTreeMap<&str, &str> = line
            .split(' ')
            .filter_map(|field| field.split_once('='))
            .collect();
        let damaged = || Error::Settings {
            name: name.into(),
            field: "generation",
            got: line.into(),
        };
        let text = |field: &str| fields.get(field).copied();
        let number = |field: &str| text(field).and_then(|text| text.parse::<u64>().ok());
        let narrow = |field: &str| number(field).and_then(|number| u32::try_from(number).ok());
        let id = text("id").filter(|id| is_id(id)).ok_or_else(damaged)?;
        let kind: Kind = text("kind").ok_or_else(damaged)?.parse()?;
        let code = number("scheme").and_then(|code| u16::try_from(code).ok());
        let seed = number("seed").ok_or_else(damaged)?;
        let promise = match (number("keys"), text("rate")) {
            (Some(keys), Some(rate)) => Some(Promise {
                keys,
                rate: rate.parse().map_err(|_| damaged())?,
            }),
            _ => None,
        };
        let description = Description {
            kind,
            hashing: access.hashing(code.ok_or_else(damaged)?, seed)?,
            bits: number("bits").ok_or_else(damaged)?,
            hashes: narrow("hashes").ok_or_else(damaged)?,
            detail: 0,
            promise,
        };
        let shards = narrow("shards").ok_or_else(damaged)?;
        let guard = text("guard") == Some("1");
        let home = Home::from_name(text("home").unwrap_or("strings")).ok_or_else(damaged)?;
        let limit = if guard {
            MOST_GUARDED_BITS
        } else {
            MOST_STRING_BITS
        };
        let (layout, laid_out, count) = Sharding::new(&description, Some(shards), limit)?;
        if laid_out != description || count != shards {
            return Err(damaged());
        }
        Ok(Generation {
            id: id.into(),
            description,
            shards,
            expires: number("expires"),
            shared: text("shared") == Some("1"),
            guard,
            home,
            layout,
        })
    }
}

/// Returns whether a text can be part of the name of a shard.
fn is_id(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The hash as it was last seen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) placement: Placement,
    pub(crate) expiry: Option<Expiry>,
    pub(crate) live: Option<Generation>,
    pub(crate) next: Option<Generation>,
    /// The two lines, as they were read.
    pub(crate) lines: [String; 2],
    /// The window, if it is one, whose generations come and go: `live` describes each of them.
    pub(crate) window: Option<Window>,
    /// The generations of the window that were made: if their bits are missing, they were lost.
    pub(crate) made: Vec<u64>,
}

impl Settings {
    /// The settings of a filter that does not exist yet.
    pub(crate) fn of(options: &Options) -> Settings {
        Settings {
            placement: options.placement,
            expiry: options.expiry,
            live: None,
            next: None,
            lines: Default::default(),
            window: None,
            made: Vec::new(),
        }
    }

    /// The name of the hash.
    pub(crate) fn key(name: &str) -> ServerKey {
        ServerKey::new(format!("mayhap:{{{name}}}"))
    }

    /// Returns the command that reads everything.
    pub(crate) fn read(name: &str) -> (ServerKey, Cmd) {
        let key = Settings::key(name);
        let mut command = redis::cmd("HMGET");
        command.arg(&key.key).arg(&FIELDS);
        (key, command)
    }

    /// Returns whether an answer says what is known, apart from the generations of a window.
    pub(crate) fn says(&self, value: &Value) -> bool {
        let known = self.live.is_some() || self.next.is_some();
        let Value::Array(values) = value else {
            return false;
        };
        let [Value::BulkString(version), _, _, _, live, next, ..] = &values[..] else {
            return false;
        };
        let same = |value: &Value, line: &str| match value {
            Value::BulkString(bytes) => bytes == line.as_bytes(),
            value => *value == Value::Nil && line.is_empty(),
        };
        known
            && VERSIONS.contains(&&version[..])
            && same(live, &self.lines[0])
            && same(next, &self.lines[1])
    }

    /// Parses the generations of a window that were made.
    pub(crate) fn read_made(value: &Value) -> Vec<u64> {
        let made = match value {
            Value::Array(values) => values.last().and_then(text),
            _ => None,
        };
        let made = made.unwrap_or_default();
        made.split(' ')
            .filter_map(|made| made.parse().ok())
            .collect()
    }

    /// Parses the answer.
    pub(crate) fn parse(name: &str, value: &Value, access: &Access) -> Result<Settings> {
        let damaged = |field, got: &str| Error::Settings {
            name: name.into(),
            field,
            got: got.into(),
        };
        let Value::Array(values) = value else {
            return Err(damaged("fields", "no array"));
        };
        let texts: Vec<Option<String>> = values.iter().map(text).collect();
        let [version, placement, time, refresh, live, next, window, _] = &texts[..] else {
            return Err(damaged("fields", "too few"));
        };
        match version.as_deref() {
            None if texts.iter().all(Option::is_none) => {
                return Err(Error::Missing { name: name.into() });
            }
            Some(version) if VERSIONS.contains(&version.as_bytes()) => {}
            other => {
                return Err(Error::Version {
                    name: name.into(),
                    got: other.unwrap_or("none").into(),
                    expected: VERSION,
                });
            }
        }
        let placement = match placement.as_deref() {
            Some("together") => Placement::Together,
            Some("spread") => Placement::Spread,
            other => return Err(damaged("placement", other.unwrap_or("none"))),
        };
        let expiry = match time.as_deref() {
            None => None,
            Some(text) => {
                let time = text.parse().map_err(|_| damaged("ttl", text))?;
                let time = Duration::from_millis(time);
                match refresh.as_deref() {
                    Some("1") => Some(Expiry::AfterLastInsert(time)),
                    _ => Some(Expiry::After(time)),
                }
            }
        };
        check_expiry(expiry).map_err(|_| damaged("ttl", time.as_deref().unwrap_or("none")))?;
        let generation = |line: &Option<String>| match line {
            Some(line) => Generation::from_line(name, line, access).map(Some),
            None => Ok(None),
        };
        let window = match window {
            Some(text) => Some(Window::from_text(text).ok_or_else(|| damaged("window", text))?),
            None => None,
        };
        Ok(Settings {
            made: Settings::read_made(value),
            window,
            placement,
            expiry,
            live: generation(live)?,
            next: generation(next)?,
            lines: [live, next].map(|line| line.clone().unwrap_or_default()),
        })
    }

    /// Replaces the two lines, if they still are what was last seen; the answer is 1 if they were.
    /// Fields that never change are written too, so that this also makes the hash.
    pub(crate) fn swap(
        &self,
        name: &str,
        live: Option<&Generation>,
        next: Option<&Generation>,
    ) -> (ServerKey, Cmd) {
        let key = Settings::key(name);
        let line = |generation: Option<&Generation>| {
            generation.map(Generation::to_line).unwrap_or_default()
        };
        let expires = live.or(next).and_then(|generation| generation.expires);
        let mut command = redis::cmd("EVAL");
        command.arg(SWAP).arg(1).arg(&key.key).arg(&self.lines);
        command.arg(line(live)).arg(line(next));
        command.arg(expires.map(|time| time.to_string()).unwrap_or_default());
        let versions = [live, next].into_iter().flatten().map(Generation::version);
        command.arg("v").arg(versions.max().unwrap_or(1));
        command.arg("placement").arg(match self.placement {
            Placement::Together => "together",
            Placement::Spread => "spread",
        });
        if let Some(expiry) = self.expiry {
            command.arg("ttl").arg(expiry.time().as_millis() as u64);
            let refresh = matches!(expiry, Expiry::AfterLastInsert(_));
            command.arg("refresh").arg(u8::from(refresh));
        }
        if let Some(window) = self.window {
            command.arg("window").arg(window.to_text());
        }
        (key, command)
    }

    /// Records that a generation of a window was made, and removes those before `oldest`; the answer is 1
    /// if the window still is what was last seen.
    pub(crate) fn note_made(&self, name: &str, made: u64, oldest: u64) -> (ServerKey, Cmd) {
        let key = Settings::key(name);
        let mut command = redis::cmd("EVAL");
        command.arg(NOTE_MADE).arg(1).arg(&key.key);
        command.arg(&self.lines[0]).arg(made).arg(oldest);
        (key, command)
    }

    /// The name of a shard of a generation, and its slot.
    pub(crate) fn shard(&self, name: &str, generation: &Generation, shard: u32) -> ServerKey {
        let id = &generation.id;
        ServerKey::new(match self.placement {
            Placement::Together => format!("mayhap:{{{name}}}:{id}:{shard}"),
            Placement::Spread => format!("mayhap:{{{name}:{shard}}}:{id}"),
        })
    }
}

/// The fields of the hash, in the order they are asked for.
const FIELDS: [&str; 8] = [
    "v",
    "placement",
    "ttl",
    "refresh",
    "live",
    "next",
    "window",
    "made",
];

/// The versions that can be read.
const VERSIONS: [&[u8]; 3] = [b"1", b"2", b"3"];

/// Compares and swaps the lines of the hash, and sets its expiry in the same step. A server without memory
/// refuses a script at its first write, so the first write must be one that takes memory.
const SWAP: &str = "\
local key = KEYS[1]
if (redis.call('HGET', key, 'live') or '') ~= ARGV[1] then return 0 end
if (redis.call('HGET', key, 'next') or '') ~= ARGV[2] then return 0 end
for i = 6, #ARGV, 2 do redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end
for i, field in ipairs({'live', 'next'}) do
  local line = ARGV[i + 2]
  if line == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, line) end
end
if ARGV[1] ~= ARGV[3] then redis.call('HDEL', key, 'made') end
if ARGV[5] == '' then redis.call('PERSIST', key) else redis.call('PEXPIREAT', key, ARGV[5]) end
return 1";

/// Adds a number to those in the field `made`, and removes those that are too old.
const NOTE_MADE: &str = "\
local key = KEYS[1]
if (redis.call('HGET', key, 'live') or '') ~= ARGV[1] then return 0 end
local kept = {}
for made in string.gmatch(redis.call('HGET', key, 'made') or '', '%d+') do
  if made ~= ARGV[2] and tonumber(made) >= tonumber(ARGV[3]) then kept[#kept + 1] = made end
end
kept[#kept + 1] = ARGV[2]
redis.call('HSET', key, 'made', table.concat(kept, ' '))
return 1";

/// The text of an answer, if it is text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Scheme;
    use mayhap::hash::MessageDigest;

    fn generations() -> Vec<Generation> {
        let secret = SecretKey::from_bytes([7; 16]);
        let drawn = mayhap::hash::DrawnKey::from_bits(u64::MAX);
        let hashings: [mayhap::Hashing; 6] = [
            Scheme::default().into(),
            Scheme::Salted(MessageDigest::Md5).into(),
            Scheme::Spark2 { seed: -3 }.into(),
            mayhap::Digester::SipHash { key: secret }.into(),
            mayhap::Digester::RapidhashProtected { seed: 9 }.into(),
            mayhap::Digester::Universal { key: drawn }.into(),
        ];
        let mut generations = Vec::new();
        for (shards, hashing) in [1, 3]
            .into_iter()
            .flat_map(|n| hashings.clone().map(|h| (n, h)))
        {
            let description = Description {
                kind: Kind::Bloom,
                hashing,
                bits: 64 * 3 * 1000,
                hashes: 7,
                detail: 0,
                promise: (shards == 3).then_some(Promise {
                    keys: 20_000,
                    rate: 0.1 + 0.2,
                }),
            };
            let expires = (shards == 1).then_some(1 << 41);
            let id = format!("{shards}abc");
            let made = Generation::new(id, &description, Some(shards), expires, shards == 3);
            generations.push(made.expect("valid"));
        }
        let blocked = Kind::Blocked.plan(1000, 0.01).expect("valid");
        let made = Generation::new("b".into(), &blocked, None, None, false);
        let made = made.expect("valid");
        generations.push(made.clone().at(Home::Module).expect("it can be kept there"));
        generations.push(made);
        generations
    }

    #[test]
    fn lines_hold_everything_about_a_generation() {
        let access = Access::Keys(Some(SecretKey::from_bytes([7; 16])));
        for generation in generations() {
            let line = generation.to_line();
            let read = Generation::from_line("name", &line, &access).expect("its own line");
            assert_eq!(read, generation, "{line}");
        }
    }

    #[test]
    fn the_line_is_as_documented() {
        let generation = &generations()[0];
        let old = "id=1abc kind=bloom scheme=0 seed=0 bits=192000 hashes=7 shards=1 expires=2199023255552";
        let line = format!("{old} guard=1");
        assert_eq!(generation.to_line(), line);
        let read = Generation::from_line("name", old, &Access::Look).expect("a line of version 1");
        assert_eq!(read.to_line(), old);
        assert_eq!(read.shard_bytes(0) + 1, generation.shard_bytes(0));
        let more = format!("{line} colour=green");
        let read = Generation::from_line("name", &more, &Access::Look)
            .expect("unknown fields are left alone");
        assert_eq!(read, *generation);
    }

    #[test]
    fn damaged_lines_are_refused_or_read_but_never_panic() {
        let access = Access::Keys(Some(SecretKey::from_bytes([7; 16])));
        let mut random = 7_u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
            (random >> 33) as usize % below
        };
        let mut refused = 0;
        for generation in generations() {
            for _ in 0..2000 {
                let mut line = generation.to_line().into_bytes();
                for _ in 0..=next(3) {
                    let at = next(line.len());
                    match next(3) {
                        0 => line[at] = b"0123456789=- xyz"[next(16)],
                        1 => drop(line.remove(at)),
                        _ => line.insert(at, b"0123456789=- e."[next(15)]),
                    }
                }
                let line = String::from_utf8(line).expect("still text");
                match Generation::from_line("name", &line, &access) {
                    // Keys can be looked up in whatever is read.
                    Ok(read) => drop(read.layout.place(b"key")),
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 5000, "{refused} of 24 000");
    }

    #[test]
    fn a_shard_is_in_the_slot_that_its_placement_says() {
        let generations = generations();
        let in_three = |made: &&Generation| made.id == "3abc";
        let generation = generations.iter().find(in_three).expect("one of three");
        let placed = |placement| {
            let options = Options {
                placement,
                ..Options::default()
            };
            let settings = Settings::of(&options);
            [0, 1, 2].map(|shard| settings.shard("seen", generation, shard))
        };
        let home = Settings::key("seen");
        assert_eq!(home.key, "mayhap:{seen}");
        let together = placed(Placement::Together);
        assert_eq!(together[1].key, "mayhap:{seen}:3abc:1");
        assert!(together.iter().all(|shard| shard.slot == home.slot));
        let spread = placed(Placement::Spread);
        assert_eq!(spread[1].key, "mayhap:{seen:1}:3abc");
        assert!(spread[0].slot != spread[1].slot && spread[1].slot != spread[2].slot);
    }
}
