//! When a filter goes away, and how it is kept.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::remote::Remote;
use crate::router::Wire;
use crate::settings::{Expiry, Generation};
use crate::shards::command;
use crate::{Error, Result};

impl<W: Wire> Remote<W> {
    /// The expiry that an insert leaves a shard with.
    pub(crate) fn expires_after_insert(&self, generation: &Generation) -> Option<u64> {
        let expires = generation.expires?;
        match self.settings.expiry {
            Some(expiry @ Expiry::AfterLastInsert(_)) => {
                Some(expires.max(expires_from_now(expiry)))
            }
            _ => Some(expires),
        }
    }

    /// Sets the expiry of a filter that lives on by being inserted into, when a sixteenth has passed:
    /// first of the shards, then of the settings, so that none goes before those.
    pub(crate) async fn extend_if_due(&mut self) -> Result<()> {
        let Some(expiry @ Expiry::AfterLastInsert(time)) = self.settings.expiry else {
            return Ok(());
        };
        let (live, next) = (self.settings.live.clone(), self.settings.next.clone());
        let Some(live) = live else { return Ok(()) };
        if live
            .expires
            .is_some_and(|expires| expires >= now() + time.as_millis() as u64)
        {
            return Ok(());
        }
        let until = expires_from_now(expiry);
        self.each_shard(&live, u64::MAX, |frame, shard, _| {
            let mut set = command("PEXPIREAT", shard);
            frame.plain(shard, set.arg(until).take());
        })
        .await?;
        let extended = Generation {
            expires: Some(until),
            ..live
        };
        // Another client that did the same at the same time did as well.
        self.swap(Some(&extended), next.as_ref()).await.map(drop)
    }
}

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

/// When something made now goes away. What lives on by inserts gets a sixteenth more, because its time
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
