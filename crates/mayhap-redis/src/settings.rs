//! What a server knows about a filter besides its bits: one hash, `mayhap:{name}`.
//!
//! A filter has a living generation and perhaps one that is being built; each is described by one
//! line of text, so that one `HMGET` tells whether anything has changed. `docs/redis.md` has the layout.

use std::collections::BTreeMap;
use std::time::Duration;

use mayhap::{Description, Hashing, Kind, Promise, SecretKey};
use redis::{Cmd, Value};

use crate::layout::Layout;
use crate::slots::ServerKey;
use crate::{Error, Result};

/// The version of the layout that is written, and the only one that is read.
const VERSION: u32 = 1;

/// Where the shards of a filter are in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Placement {
    /// All in one slot, with the settings.
    #[default]
    Together,
    /// Each in a slot of its own, so that they spread over the nodes.
    Spread,
}

/// When a filter goes away by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expiry {
    /// So long after it was made.
    After(Duration),
    /// So long after the last insert, or up to a sixteenth later: that often the time is set anew.
    AfterLastInsert(Duration),
}

impl Expiry {
    pub(crate) fn time(self) -> Duration {
        match self {
            Expiry::After(time) | Expiry::AfterLastInsert(time) => time,
        }
    }
}

/// What is fixed when a filter is made, besides its description.
///
/// ```
/// use std::time::Duration;
/// use mayhap_redis::{Expiry, Options, Placement};
///
/// let options = Options {
///     shards: Some(24),
///     placement: Placement::Spread,
///     expiry: Some(Expiry::After(Duration::from_secs(7 * 24 * 3600))),
/// };
/// assert_eq!(Options::default().shards, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// How many strings the bits are in: as few as can be, of up to 2^32 bits each, unless told.
    pub shards: Option<u32>,
    /// Where they are in a cluster.
    pub placement: Placement,
    /// When the filter goes away by itself: never unless told.
    pub expiry: Option<Expiry>,
}

/// One set of bits under a filter's name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Generation {
    /// Unique, and part of the names of its shards.
    pub(crate) id: String,
    pub(crate) description: Description,
    pub(crate) shards: u32,
    /// When it goes away, in milliseconds since 1970.
    pub(crate) expires: Option<u64>,
    /// Whether inserts go to it while it is being built. Not while a file is being copied over it.
    pub(crate) shared: bool,
    pub(crate) layout: Layout,
}

impl Generation {
    pub(crate) fn new(
        id: String,
        description: &Description,
        shards: Option<u32>,
        expires: Option<u64>,
        shared: bool,
    ) -> Result<Generation> {
        let (layout, description, shards) = Layout::new(description, shards)?;
        Ok(Generation {
            id,
            description,
            shards,
            expires,
            shared,
            layout,
        })
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
        } = self.description;
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
        line
    }

    fn from_line(name: &str, line: &str, secret: Option<&SecretKey>) -> Result<Generation> {
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
            hashing: Hashing::from_code(code.ok_or_else(damaged)?, seed, secret)?,
            bits: number("bits").ok_or_else(damaged)?,
            hashes: narrow("hashes").ok_or_else(damaged)?,
            detail: 0,
            promise,
        };
        let shards = narrow("shards").ok_or_else(damaged)?;
        let generation = Generation::new(
            id.into(),
            &description,
            Some(shards),
            number("expires"),
            text("shared") == Some("1"),
        )?;
        if generation.description != description || generation.shards != shards {
            return Err(damaged());
        }
        Ok(generation)
    }
}

/// Whether a text can be part of the name of a shard.
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
}

impl Settings {
    /// The name of the hash.
    pub(crate) fn key(name: &str) -> ServerKey {
        ServerKey::new(format!("mayhap:{{{name}}}"))
    }

    /// Asks for everything.
    pub(crate) fn read(name: &str) -> (ServerKey, Cmd) {
        let key = Settings::key(name);
        let mut command = redis::cmd("HMGET");
        command.arg(&key.key).arg(&FIELDS);
        (key, command)
    }

    /// Whether an answer says what is known.
    pub(crate) fn says(&self, value: &Value) -> bool {
        let Value::Array(values) = value else {
            return false;
        };
        let [Value::BulkString(version), _, _, _, live, next] = &values[..] else {
            return false;
        };
        let same = |value: &Value, line: &str| match value {
            Value::BulkString(bytes) => bytes == line.as_bytes(),
            value => *value == Value::Nil && line.is_empty(),
        };
        version == b"1" && same(live, &self.lines[0]) && same(next, &self.lines[1])
    }

    /// Reads the answer.
    pub(crate) fn parse(name: &str, value: &Value, secret: Option<&SecretKey>) -> Result<Settings> {
        let damaged = |field, got: &str| Error::Settings {
            name: name.into(),
            field,
            got: got.into(),
        };
        let Value::Array(values) = value else {
            return Err(damaged("fields", "no array"));
        };
        let texts: Vec<Option<String>> = values.iter().map(text).collect();
        let [version, placement, time, refresh, live, next] = &texts[..] else {
            return Err(damaged("fields", "too few"));
        };
        match version.as_deref() {
            None if texts.iter().all(Option::is_none) => {
                return Err(Error::Missing { name: name.into() });
            }
            Some("1") => {}
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
        let generation = |line: &Option<String>| match line {
            Some(line) => Generation::from_line(name, line, secret).map(Some),
            None => Ok(None),
        };
        Ok(Settings {
            placement,
            expiry,
            live: generation(live)?,
            next: generation(next)?,
            lines: [live, next].map(|line| line.clone().unwrap_or_default()),
        })
    }

    /// Replaces the two lines, if they still are what was last seen; the answer is 1 when they were.
    /// Fields that never change are written as well, so that this also makes the hash.
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
        command.arg("v").arg(VERSION);
        command.arg("placement").arg(match self.placement {
            Placement::Together => "together",
            Placement::Spread => "spread",
        });
        if let Some(expiry) = self.expiry {
            command.arg("ttl").arg(expiry.time().as_millis() as u64);
            let refresh = matches!(expiry, Expiry::AfterLastInsert(_));
            command.arg("refresh").arg(u8::from(refresh));
        }
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
const FIELDS: [&str; 6] = ["v", "placement", "ttl", "refresh", "live", "next"];

/// Compares and swaps the lines of the hash, and sets its expiry in the same step.
const SWAP: &str = "\
local key = KEYS[1]
if (redis.call('HGET', key, 'live') or '') ~= ARGV[1] then return 0 end
if (redis.call('HGET', key, 'next') or '') ~= ARGV[2] then return 0 end
for i = 6, #ARGV, 2 do redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end
for i, field in ipairs({'live', 'next'}) do
  local line = ARGV[i + 2]
  if line == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, line) end
end
if ARGV[5] == '' then redis.call('PERSIST', key) else redis.call('PEXPIREAT', key, ARGV[5]) end
return 1";

/// The text of an answer that is one.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}
