//! What users set: when the module is loaded, and by `CONFIG SET`.
//!
//! Names are those of the module that the dialect speaks for. Redis takes names without a prefix from version 8 on;
//! before, they begin with `bf.`, as every setting does on Valkey.

use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

use mayhap::SecretKey;

use crate::chain::Plan;
use crate::own;
use crate::raw::RedisModuleString;

/// Whose replies and errors the `BF.*` commands have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// RedisBloom's.
    Redis,
    /// valkey-bloom's.
    Valkey,
}

static IS_VALKEY: AtomicBool = AtomicBool::new(false);

impl Dialect {
    /// The one in use.
    pub(crate) fn now() -> Dialect {
        if IS_VALKEY.load(Relaxed) {
            Dialect::Valkey
        } else {
            Dialect::Redis
        }
    }

    /// Uses it from now on.
    pub(crate) fn choose(self) {
        IS_VALKEY.store(self == Dialect::Valkey, Relaxed);
    }
}

/// A setting, and its names.
pub(crate) struct Setting {
    pub(crate) redis: &'static CStr,
    /// None where valkey-bloom has no such setting.
    pub(crate) valkey: Option<&'static CStr>,
    pub(crate) range: Range,
    value: AtomicU64,
    /// The text that the server was given last, for settings that are texts.
    shown: AtomicPtr<RedisModuleString>,
}

/// What a setting may be.
pub(crate) enum Range {
    /// A whole number: at first, at least, at most.
    Number(i64, i64, i64),
    /// Yes or no: at first.
    Choice(bool),
    /// A text that is a number strictly between 0 and 1.
    Share(&'static CStr),
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
            shown: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    const fn choice(redis: &'static CStr, valkey: &'static CStr, default: bool) -> Setting {
        Setting {
            redis,
            valkey: Some(valkey),
            range: Range::Choice(default),
            value: AtomicU64::new(default as u64),
            shown: AtomicPtr::new(std::ptr::null_mut()),
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
            shown: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// A whole number that is set; of a choice, 0 is no.
    pub(crate) fn get(&self) -> i64 {
        self.value.load(Relaxed) as i64
    }

    pub(crate) fn set(&self, value: i64) {
        self.value.store(value as u64, Relaxed);
    }

    /// A share that is set.
    pub(crate) fn get_share(&self) -> f64 {
        f64::from_bits(self.value.load(Relaxed))
    }

    /// The share as a text of the server, which stays this module's: the one given before is freed.
    pub(crate) fn shown(
        &self,
        make: impl FnOnce(&str) -> *mut RedisModuleString,
        free: impl FnOnce(*mut RedisModuleString),
    ) -> *mut RedisModuleString {
        let text = make(&self.get_share().to_string());
        let before = self.shown.swap(text, Relaxed);
        if !before.is_null() {
            free(before);
        }
        text
    }

    /// Sets a share; false when the text is none.
    pub(crate) fn set_share(&self, text: &[u8]) -> bool {
        let share = std::str::from_utf8(text).ok();
        let share = share.and_then(|text| text.parse::<f64>().ok());
        let Some(share) = share.filter(|share| *share > 0.0 && *share < 1.0) else {
            return false;
        };
        self.value.store(share.to_bits(), Relaxed);
        true
    }
}

/// The keys of a filter that a command makes by itself.
pub(crate) static CAPACITY: Setting = Setting::number(
    c"bf-initial-size",
    Some(c"bloom-capacity"),
    (100, 1, 1 << 30),
);

/// Its rate.
pub(crate) static RATE: Setting = Setting::share(c"bf-error-rate", c"bloom-fp-rate", c"0.01", 0.01);

/// How it expands; 0 for not at all.
pub(crate) static EXPANSION: Setting = Setting::number(
    c"bf-expansion-factor",
    Some(c"bloom-expansion"),
    (2, 0, 32_768),
);

/// valkey-bloom's ratio of the rates of layers: taken, so that configurations that have it are read, and not used. How the
/// rates of layers follow each other is fixed.
pub(crate) static TIGHTENING: Setting = Setting::share(
    c"bf-tightening-ratio",
    c"bloom-tightening-ratio",
    c"0.5",
    0.5,
);

/// valkey-bloom's random seed for each filter: taken, so that configurations that have it are read, and not used. Filters of
/// `BF.*` are hashed without a seed.
static RANDOM_SEED: Setting =
    Setting::choice(c"bf-use-random-seed", c"bloom-use-random-seed", true);

/// Whether values are moved when the server defragments its memory.
pub(crate) static DEFRAG: Setting =
    Setting::choice(c"bf-defrag-enabled", c"bloom-defrag-enabled", true);

/// The most bytes of one filter; 0 for no limit but the memory there is. valkey-bloom's own default is 128 MiB.
pub(crate) static MEMORY: Setting = Setting::number(
    c"bf-memory-usage-limit",
    Some(c"bloom-memory-usage-limit"),
    (0, 0, i64::MAX),
);

/// The largest capacity of a filter of `CF.*`.
pub(crate) const MOST_CUCKOO: i64 = 1 << 30;

/// The keys of a filter that a `CF.*` command makes by itself; at least two buckets.
static CUCKOO_CAPACITY: Setting = Setting::number(c"cf-initial-size", None, (1024, 2, MOST_CUCKOO));

/// The slots of its buckets.
static BUCKET: Setting = Setting::number(c"cf-bucket-size", None, (2, 1, 255));

/// How many fingerprints an insert into it moves at most.
static ITERATIONS: Setting = Setting::number(c"cf-max-iterations", None, (20, 1, 65_535));

/// How it expands; 0 for not at all.
static CUCKOO_EXPANSION: Setting = Setting::number(c"cf-expansion-factor", None, (1, 0, 32_768));

/// How often any filter of `CF.*` expands.
pub(crate) static EXPANSIONS: Setting =
    Setting::number(c"cf-max-expansions", None, (32, 1, 65_536));

/// All of them.
pub(crate) static SETTINGS: [&Setting; 12] = [
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

/// The plan of a filter that a `CF.*` command makes by itself.
pub(crate) fn default_cuckoo_plan() -> own::Plan {
    let number = |setting: &Setting| u32::try_from(setting.get()).unwrap_or(1);
    let bucket = number(&BUCKET);
    own::Plan {
        // Two settings that are changed one by one: the larger wins.
        capacity: CUCKOO_CAPACITY
            .get()
            .unsigned_abs()
            .max(2 * u64::from(bucket)),
        bucket,
        iterations: number(&ITERATIONS),
        expansion: number(&CUCKOO_EXPANSION),
    }
}

/// The plan of a filter that a command makes by itself.
pub(crate) fn default_plan() -> Plan {
    Plan {
        capacity: CAPACITY.get().unsigned_abs(),
        rate: RATE.get_share(),
        expansion: expansion(EXPANSION.get()),
    }
}

/// What a number means as an expansion: none is 0.
pub(crate) fn expansion(number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|&times| times > 0)
}

static SECRET: OnceLock<SecretKey> = OnceLock::new();

/// The secret that was given when the module was loaded.
pub(crate) fn secret() -> Option<&'static SecretKey> {
    SECRET.get()
}

/// Reads the secret of a file: 16 bytes, or 32 hex digits.
pub(crate) fn read_secret(path: &str) -> Result<(), String> {
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
