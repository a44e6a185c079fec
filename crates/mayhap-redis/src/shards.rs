//! Making and deleting the strings of a generation, with their expiry.

use std::ops::Range;
use std::time::Duration;

use redis::{Cmd, Value};

use crate::expiry::{Expiry, expires_from_now, now};
use crate::frame::{Frame, command};
use crate::home::Home;
use crate::remote::Remote;
use crate::router::Wire;
use crate::settings::Generation;
use crate::slots::ServerKey;
use crate::value::Recipe;
use crate::{Error, Result};

/// The lifetime of a tombstone: far longer than any client relies on old settings.
const TOMBSTONE: Duration = Duration::from_secs(600);

/// The lifetime of shards that are not yet, or no longer, part of a filter: those of a client that died
/// expire by themselves.
const LEASE: Duration = Duration::from_secs(3600);

/// The most bytes that one frame makes, reads or counts.
const MOST_BYTES: u64 = 16 << 20;

impl<W: Wire> Remote<W> {
    /// Makes the shards of a generation, all zeros, each with its expiry from its first moment on. After
    /// an error none of them remains.
    pub(crate) async fn make(&mut self, generation: &Generation) -> Result<()> {
        let recipe = match generation.home {
            Home::Module => Some(Recipe::empty(generation)?),
            Home::Strings => None,
        };
        self.make_by(generation, recipe.as_ref()).await
    }

    /// Does the same for a value of the module, from its recipe.
    pub(crate) async fn make_by(
        &mut self,
        generation: &Generation,
        recipe: Option<&Recipe>,
    ) -> Result<()> {
        let made = self.try_make(generation, recipe).await;
        if made.is_err() {
            // Whatever cannot be deleted now expires with its lease.
            let _ = self.discard(generation).await;
        }
        made
    }

    async fn try_make(&mut self, generation: &Generation, recipe: Option<&Recipe>) -> Result<()> {
        let until = generation
            .expires
            .unwrap_or_else(|| now() + LEASE.as_millis() as u64);
        self.each_shard(generation, MOST_BYTES, |frame, shard, bytes| {
            let make = match recipe {
                Some(recipe) => recipe.make(shard, until),
                None => make_if_absent(&shard.key, bytes, until),
            };
            frame.plain(shard, make);
        })
        .await?;
        if generation.expires.is_some() {
            return Ok(());
        }
        self.each_shard(generation, u64::MAX, |frame, shard, _| {
            frame.plain(shard, command("PERSIST", shard));
        })
        .await
    }

    /// Deletes the shards of a generation that others may be inserting into. A late insert could bring a shard back; if
    /// that would never expire, a tombstone of another type refuses the insert.
    pub(crate) async fn unmake(&mut self, generation: &Generation) -> Result<()> {
        // The module never brings a value back.
        if generation.expires.is_some() || generation.home == Home::Module {
            return self.discard(generation).await;
        }
        let buried = self.each_shard(generation, u64::MAX, |frame, shard, _| {
            frame.atomic(shard, command("UNLINK", shard));
            let mut mark = command("HSET", shard);
            frame.atomic(shard, mark.arg("dropped").arg(1).take());
            let mut limit = command("PEXPIRE", shard);
            frame.atomic(shard, limit.arg(TOMBSTONE.as_millis() as u64).take());
        });
        match buried.await {
            // There is no room for tombstones either. Deleting makes room.
            Err(Error::OutOfMemory { .. }) => self.discard(generation).await,
            other => other,
        }
    }

    /// Returns whether the shards of a generation all exist, with their full length.
    pub(crate) async fn is_whole(&mut self, generation: &Generation) -> Result<bool> {
        for shards in portions_of(generation, u64::MAX) {
            let mut frame = Frame::new();
            let ask = |shard| {
                let bytes = generation.shard_bytes(shard);
                let shard = self.settings.shard(&self.name, generation, shard);
                (frame.plain(&shard, command("STRLEN", &shard)), bytes)
            };
            let asked: Vec<_> = shards.map(ask).collect();
            let mut replies = match self.router.run(frame).await {
                Ok(replies) => replies,
                Err(Error::WrongType { .. }) => return Ok(false),
                Err(error) => return Err(error),
            };
            let mut lengths = asked
                .into_iter()
                .map(|(ticket, bytes)| replies.take(ticket) == Value::Int(bytes as i64));
            if !lengths.all(|whole| whole) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Deletes the shards of a generation.
    pub(crate) async fn discard(&mut self, generation: &Generation) -> Result<()> {
        self.each_shard(generation, u64::MAX, |frame, shard, _| {
            frame.plain(shard, command("UNLINK", shard));
        })
        .await
    }

    /// Carries out commands for every shard, in frames of at most this many bytes of shards.
    pub(crate) async fn each_shard(
        &mut self,
        generation: &Generation,
        most_bytes: u64,
        plan: impl Fn(&mut Frame, &ServerKey, u64),
    ) -> Result<()> {
        for shards in portions_of(generation, most_bytes) {
            let mut frame = Frame::new();
            for shard in shards {
                let bytes = generation.shard_bytes(shard);
                let shard = self.settings.shard(&self.name, generation, shard);
                plan(&mut frame, &shard, bytes);
            }
            let run = self.router.run(frame).await;
            run.map_err(|error| error.named(&self.name))?;
        }
        Ok(())
    }

    /// Gives the shards of a generation a time to live.
    pub(crate) async fn lease(&mut self, generation: &Generation) -> Result<()> {
        self.each_shard(generation, u64::MAX, |frame, shard, _| {
            let mut set = command("PEXPIRE", shard);
            frame.plain(shard, set.arg(LEASE.as_millis() as u64).take());
        })
        .await
    }

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

    /// Extends the expiry of a filter that lives as long as it is inserted into, after a sixteenth of its time:
    /// first of the shards, then of the settings, so that no shard expires before those.
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
        // It does not matter if another client did the same at the same time.
        self.swap(Some(&extended), next.as_ref()).await.map(drop)
    }
}

/// Makes a string of zeros with its expiry, unless it exists: then nothing about it changes, however
/// often and late this is sent.
pub(crate) fn make_if_absent(key: &str, bytes: u64, expires: u64) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(MAKE).arg(1).arg(key).arg(bytes).arg(expires);
    command
}

/// The script for that. `SETRANGE` takes the memory of a missing string once; a string that grows takes up to twice as
/// much.
const MAKE: &str = "\
local key = KEYS[1]
if redis.call('EXISTS', key) == 1 then return 0 end
redis.call('SETRANGE', key, ARGV[1] - 1, '\\0')
redis.call('PEXPIREAT', key, ARGV[2])
return 1";

/// Divides the shards into runs of at most [`MOST_BYTES`].
pub(crate) fn portions(generation: &Generation) -> impl Iterator<Item = Range<u32>> + use<> {
    portions_of(generation, MOST_BYTES)
}

/// Divides the shards into runs of at most this many bytes and at most 256 shards.
fn portions_of(
    generation: &Generation,
    most_bytes: u64,
) -> impl Iterator<Item = Range<u32>> + use<> {
    let shards = generation.shards;
    let run = (most_bytes / generation.shard_bytes(0)).clamp(1, 256) as u32;
    (0..shards.div_ceil(run)).map(move |index| index * run..((index + 1) * run).min(shards))
}
