//! Dialects: the replies and error texts of RedisBloom or of valkey-bloom.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The module whose replies and errors the `BF.*` commands have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// RedisBloom's.
    Redis,
    /// valkey-bloom's.
    Valkey,
}

static IS_VALKEY: AtomicBool = AtomicBool::new(false);

impl Dialect {
    /// The one in use.
    pub fn now() -> Dialect {
        if IS_VALKEY.load(Relaxed) {
            Dialect::Valkey
        } else {
            Dialect::Redis
        }
    }

    /// Uses it from now on.
    pub fn choose(self) {
        IS_VALKEY.store(self == Dialect::Valkey, Relaxed);
    }
}

/// The error texts of a dialect, word for word those of the module it stands for.
pub(crate) struct Texts {
    pub(super) bad_rate: &'static CStr,
    pub(super) rate_range: &'static CStr,
    pub(super) bad_capacity: &'static CStr,
    pub(super) capacity_range: &'static CStr,
    pub(super) bad_expansion: &'static CStr,
    pub(super) expansion_range: &'static CStr,
    pub(super) unknown: &'static CStr,
    /// The errors of `BF.INSERT` for a rate, a capacity and an expansion that are not numbers.
    pub(super) insert_bad: [&'static CStr; 3],
    pub(super) most_capacity: i64,
    pub(super) most_expansion: i64,
    pub(super) bad_field: &'static CStr,
    pub(super) no_memory: &'static CStr,
    pub(super) no_growth: &'static CStr,
    pub(super) no_rate: &'static CStr,
}

static REDIS: Texts = Texts {
    bad_rate: c"ERR bad error rate",
    rate_range: c"ERR error rate must be in the range (0.000000, 1.000000)",
    bad_capacity: c"ERR bad capacity",
    capacity_range: c"ERR capacity must be in the range [1, 1073741824]",
    bad_expansion: c"ERR bad expansion",
    expansion_range: c"ERR expansion must be in the range [0, 32768]",
    unknown: c"Unknown argument received",
    insert_bad: [c"Bad error rate", c"Bad capacity", c"Bad expansion"],
    most_capacity: 1 << 30,
    most_expansion: 32_768,
    bad_field: c"Invalid information value",
    no_memory: c"ERR Insufficient memory to create filter",
    no_growth: c"ERR problem inserting into filter",
    no_rate: c"ERR problem inserting into filter",
};

static VALKEY: Texts = Texts {
    bad_rate: c"ERR bad error rate",
    rate_range: c"ERR (0 < error rate range < 1)",
    bad_capacity: c"ERR bad capacity",
    capacity_range: c"ERR (capacity should be larger than 0)",
    bad_expansion: c"ERR bad expansion",
    expansion_range: c"ERR bad expansion",
    unknown: c"ERR unknown argument received",
    insert_bad: [
        c"ERR bad error rate",
        c"ERR bad capacity",
        c"ERR bad expansion",
    ],
    most_capacity: i64::MAX,
    most_expansion: u32::MAX as i64,
    bad_field: c"ERR invalid information value",
    no_memory: c"ERR operation exceeds bloom object memory limit",
    no_growth: c"ERR operation exceeds bloom object memory limit",
    no_rate: c"ERR false positive degrades to 0 on scale out",
};

impl Texts {
    /// The texts of the dialect in use.
    pub(super) fn now() -> &'static Texts {
        match Dialect::now() {
            Dialect::Redis => &REDIS,
            Dialect::Valkey => &VALKEY,
        }
    }
}
