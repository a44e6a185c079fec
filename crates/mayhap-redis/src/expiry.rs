//! The time when a filter goes away.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Error, Result};

/// The time at which a filter expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expiry {
    /// This long after it was made.
    After(Duration),
    /// This long after the last insert, or up to a sixteenth later, because the time is set only that often.
    AfterLastInsert(Duration),
}

impl Expiry {
    pub(crate) fn time(self) -> Duration {
        match self {
            Expiry::After(time) | Expiry::AfterLastInsert(time) => time,
        }
    }
}

/// Refuses a time that is nothing, or longer than any server lasts.
pub(crate) fn check_expiry(expiry: Option<Expiry>) -> Result<()> {
    // 2^50 milliseconds are thirty thousand years, and far from any overflow.
    match expiry.map(|expiry| expiry.time().as_millis()) {
        None | Some(1..0x4_0000_0000_0000) => Ok(()),
        Some(_) => Err(Error::Option {
            what: "expiry",
            got: format!("{:?}", expiry.expect("there is one").time()),
            expected: "1 millisecond to 30 000 years".into(),
        }),
    }
}

/// The expiry of something made now. If inserts extend it, it gets a sixteenth more, because its time
/// is set only that often.
pub(crate) fn expires_from_now(expiry: Expiry) -> u64 {
    match expiry {
        Expiry::After(time) => now() + time.as_millis() as u64,
        Expiry::AfterLastInsert(time) => now() + time.as_millis() as u64 * 17 / 16,
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| time.as_millis() as u64)
}
