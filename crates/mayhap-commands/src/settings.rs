//! Settings, which users give when the module is loaded and by `CONFIG SET`.
//!
//! Names are those of the module that the dialect stands for. Redis takes names without a prefix from version 8 on;
//! before, they begin with `bf.`, as every setting does on Valkey.

use std::ffi::CStr;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mayhap::SecretKey;

/// A setting, and its names.
#[derive(Debug)]
pub struct Setting {
    /// RedisBloom's name for it.
    pub redis: &'static CStr,
    /// valkey-bloom's name; `None` where it has no such setting.
    pub valkey: Option<&'static CStr>,
    /// The values that it can have.
    pub range: Range,
    value: AtomicU64,
}

/// The values of a setting.
#[derive(Debug)]
pub enum Range {
    /// A whole number: its default, the least and the most.
    Number(i64, i64, i64),
    /// Yes or no, with its default.
    Choice(bool),
    /// A number strictly between 0 and 1, with its default as a text.
    Share(&'static CStr),
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Number(_, least, most) => write!(f, "is a whole number, {least} to {most}"),
            Range::Choice(_) => f.write_str("is yes or no"),
            Range::Share(_) => f.write_str("is a number strictly between 0 and 1"),
        }
    }
}

impl Setting {
    const fn number(
        redis: &'static CStr,
        valkey: Option<&'static CStr>,
        range: (i64, i64, i64),
    ) -> Setting {
        Setting {
            redis,
            valkey,
            range: Range::Number(range.0, range.1, range.2),
            value: AtomicU64::new(range.0 as u64),
        }
    }

    const fn choice(redis: &'static CStr, valkey: &'static CStr, default: bool) -> Setting {
        Setting {
            redis,
            valkey: Some(valkey),
            range: Range::Choice(default),
            value: AtomicU64::new(default as u64),
        }
    }

    const fn share(
        redis: &'static CStr,
        valkey: &'static CStr,
        text: &'static CStr,
        share: f64,
    ) -> Setting {
        Setting {
            redis,
            valkey: Some(valkey),
            range: Range::Share(text),
            value: AtomicU64::new(share.to_bits()),
        }
    }

    /// Returns a whole number; for a choice, 0 is no.
    pub fn get(&self) -> i64 {
        self.value.load(Relaxed) as i64
    }

    /// Sets a whole number or a choice.
    pub fn set(&self, value: i64) {
        self.value.store(value as u64, Relaxed);
    }

    /// Returns a share.
    pub fn get_share(&self) -> f64 {
        f64::from_bits(self.value.load(Relaxed))
    }

    /// Finds a setting by its name in either dialect, with or without `bf.`. RedisBloom 2 wrote some without `bf-`, and all with
    /// underscores: `ERROR_RATE`.
    pub fn named(name: &str) -> Option<&'static Setting> {
        let name = name.to_ascii_lowercase().replace('_', "-");
        let name = name.strip_prefix("bf.").unwrap_or(&name);
        let is_named = |setting: &&&'static Setting| {
            let mut names = [Some(setting.redis), setting.valkey].into_iter().flatten();
            names.any(|known| {
                let known = known.to_bytes();
                known == name.as_bytes() || known.strip_prefix(b"bf-") == Some(name.as_bytes())
            })
        };
        SETTINGS.iter().find(is_named).copied()
    }

    /// Sets a value that is given as text.
    ///
    /// # Errors
    ///
    /// Names the setting and what it can be.
    pub fn set_text(&self, text: &[u8]) -> Result<(), String> {
        let is_set = match self.range {
            Range::Share(_) => self.set_share(text),
            Range::Choice(_) => match text.to_ascii_lowercase().as_slice() {
                b"yes" | b"no" => {
                    self.set(i64::from(text.len() == 3));
                    true
                }
                _ => false,
            },
            Range::Number(_, least, most) => {
                let number = std::str::from_utf8(text).ok();
                let number = number.and_then(|text| text.parse().ok());
                let number = number.filter(|number| (least..=most).contains(number));
                number.map(|number| self.set(number)).is_some()
            }
        };
        match is_set {
            true => Ok(()),
            false => Err(format!("{} {}", self.redis.to_string_lossy(), self.range)),
        }
    }

    /// Sets a share; false when the text is not one.
    pub fn set_share(&self, text: &[u8]) -> bool {
        let share = std::str::from_utf8(text).ok();
        let share = share.and_then(|text| text.parse::<f64>().ok());
        let Some(share) = share.filter(|share| *share > 0.0 && *share < 1.0) else {
            return false;
        };
        self.value.store(share.to_bits(), Relaxed);
        true
    }
}

/// The capacity of a filter that a `BF.*` command makes by itself.
pub(crate) static CAPACITY: Setting = Setting::number(
    c"bf-initial-size",
    Some(c"bloom-capacity"),
    (100, 1, 1 << 30),
);

/// Its rate.
pub(crate) static RATE: Setting = Setting::share(c"bf-error-rate", c"bloom-fp-rate", c"0.01", 0.01);

/// Its expansion; 0 for none.
pub(crate) static EXPANSION: Setting = Setting::number(
    c"bf-expansion-factor",
    Some(c"bloom-expansion"),
    (2, 0, 32_768),
);

/// valkey-bloom's ratio of the rates of layers: accepted for the sake of configurations that have it, and not used. The rates of
/// layers are fixed.
static TIGHTENING: Setting = Setting::share(
    c"bf-tightening-ratio",
    c"bloom-tightening-ratio",
    c"0.5",
    0.5,
);

/// valkey-bloom's random seed for each filter: accepted for the same reason, and not used. Keys of `BF.*` are hashed without a
/// seed.
static RANDOM_SEED: Setting =
    Setting::choice(c"bf-use-random-seed", c"bloom-use-random-seed", true);

/// Moves values when the server defragments its memory.
pub static DEFRAG: Setting = Setting::choice(c"bf-defrag-enabled", c"bloom-defrag-enabled", true);

/// The most bytes of one filter; 0 for no limit but the memory there is. valkey-bloom's own default is 128 MiB.
pub static MEMORY: Setting = Setting::number(
    c"bf-memory-usage-limit",
    Some(c"bloom-memory-usage-limit"),
    (0, 0, i64::MAX),
);

/// The largest capacity of a filter of `CF.*`.
pub(crate) const MOST_CUCKOO: i64 = 1 << 30;

/// The capacity of a filter that a `CF.*` command makes by itself; at least two buckets.
pub(crate) static CUCKOO_CAPACITY: Setting =
    Setting::number(c"cf-initial-size", None, (1024, 2, MOST_CUCKOO));

/// The slots of its buckets.
pub(crate) static BUCKET: Setting = Setting::number(c"cf-bucket-size", None, (2, 1, 255));

/// The most fingerprints that an insert into it moves.
pub(crate) static ITERATIONS: Setting =
    Setting::number(c"cf-max-iterations", None, (20, 1, 65_535));

/// Its expansion; 0 for none.
pub(crate) static CUCKOO_EXPANSION: Setting =
    Setting::number(c"cf-expansion-factor", None, (1, 0, 32_768));

/// The number of times that any filter of `CF.*` may expand.
pub(crate) static EXPANSIONS: Setting =
    Setting::number(c"cf-max-expansions", None, (32, 1, 65_536));

/// All settings.
pub static SETTINGS: [&Setting; 12] = [
    &CAPACITY,
    &RATE,
    &EXPANSION,
    &TIGHTENING,
    &MEMORY,
    &RANDOM_SEED,
    &DEFRAG,
    &CUCKOO_CAPACITY,
    &BUCKET,
    &ITERATIONS,
    &CUCKOO_EXPANSION,
    &EXPANSIONS,
];

/// Reads a number as an expansion: 0 means none.
pub(crate) fn expansion(number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|&times| times > 0)
}

static SECRET: OnceLock<SecretKey> = OnceLock::new();

/// Returns the secret that was given when the module was loaded.
pub(crate) fn secret() -> Option<&'static SecretKey> {
    SECRET.get()
}

/// Reads the secret from a file: 16 bytes, or 32 hex digits.
///
/// # Errors
///
/// When the file cannot be read or holds no secret, or when there is one already.
pub fn read_secret(path: &str) -> Result<(), String> {
    let wrong = || format!("{path} holds no secret: 16 bytes or 32 hex digits are expected");
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let secret = match <[u8; 16]>::try_from(&bytes[..]) {
        Ok(secret) => secret,
        Err(_) => from_hex(bytes.trim_ascii()).ok_or_else(wrong)?,
    };
    SECRET
        .set(SecretKey::from_bytes(secret))
        .map_err(|_| "SECRET is given twice".into())
}

fn from_hex(digits: &[u8]) -> Option<[u8; 16]> {
    let mut secret = [0; 16];
    if digits.len() != 32 || !digits.is_ascii() {
        return None;
    }
    for (byte, digits) in secret.iter_mut().zip(digits.chunks_exact(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(secret)
}
