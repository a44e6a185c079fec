//! The strings of a generation: made with their expiry, deleted for good.

use std::ops::Range;
use std::time::Duration;

use redis::{Cmd, Value};

use crate::expiry::now;
use crate::frame::Frame;
use crate::home::Home;
use crate::remote::Remote;
use crate::router::Wire;
use crate::settings::Generation;
use crate::slots::ServerKey;
use crate::value::Recipe;
use crate::{Error, Result};

/// How long a tombstone stays: far longer than any client believes what it once read.
const TOMBSTONE: Duration = Duration::from_secs(600);

/// How long shards live that are not yet, or no more, part of a filter: what a client that died left
/// behind goes away by itself.
const LEASE: Duration = Duration::from_secs(3600);

/// The most bytes that one frame makes, reads or counts.
const MOST_BYTES: u64 = 16 << 20;

impl<W: Wire> Remote<W> {
    /// Makes the shards of a generation, all zeros, each with its expiry from its first moment on. On
    /// an error none of them stays.
    pub(crate) async fn make(&mut self, generation: &Generation) -> Result<()> {
        let recipe = match generation.home {
            Home::Module => Some(Recipe::empty(generation)?),
            Home::Strings => None,
        };
        self.make_by(generation, recipe.as_ref()).await
    }

    /// The same of a value of the module, by its recipe.
    pub(crate) async fn make_by(
        &mut self,
        generation: &Generation,
        recipe: Option<&Recipe>,
    ) -> Result<()> {
        let made = self.try_make(generation, recipe).await;
        if made.is_err() {
            // Whatever cannot be deleted now goes when its lease ends.
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

    /// Deletes the shards of a generation that others may be inserting into. Where nothing else would
    /// make a shard go away again that a late insert brings back, a tombstone of another type refuses
    /// the insert.
    pub(crate) async fn unmake(&mut self, generation: &Generation) -> Result<()> {
        // The module brings nothing back.
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
            // There is no room for tombstones either. Room is what deleting makes.
            Err(Error::OutOfMemory { .. }) => self.discard(generation).await,
            other => other,
        }
    }

    /// Whether the shards of a generation are all there, at their full length.
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
}

/// A command whose first argument is a server key.
pub(crate) fn command(name: &str, key: &ServerKey) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(&key.key);
    command
}

/// Makes a string of zeros with its expiry, unless it is there: then nothing about it changes, however
/// often and late this is sent.
pub(crate) fn make_if_absent(key: &str, bytes: u64, expires: u64) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(MAKE).arg(1).arg(key).arg(bytes).arg(expires);
    command
}

/// `SETRANGE` takes the memory of a missing string once; a string that grows takes up to twice as much.
const MAKE: &str = "\
local key = KEYS[1]
if redis.call('EXISTS', key) == 1 then return 0 end
redis.call('SETRANGE', key, ARGV[1] - 1, '\\0')
redis.call('PEXPIREAT', key, ARGV[2])
return 1";

/// The shards in runs of at most [`MOST_BYTES`].
pub(crate) fn portions(generation: &Generation) -> impl Iterator<Item = Range<u32>> + use<> {
    portions_of(generation, MOST_BYTES)
}

/// The shards in runs of at most this many bytes and at most 256 shards.
fn portions_of(
    generation: &Generation,
    most_bytes: u64,
) -> impl Iterator<Item = Range<u32>> + use<> {
    let shards = generation.shards;
    let run = (most_bytes / generation.shard_bytes(0)).clamp(1, 256) as u32;
    (0..shards.div_ceil(run)).map(move |index| index * run..((index + 1) * run).min(shards))
}
