//! The strings of a generation: made with their expiry, deleted for good.

use std::ops::Range;
use std::time::Duration;

use redis::Cmd;

use crate::core::Core;
use crate::expiry::now;
use crate::router::{Frame, Wire};
use crate::settings::Generation;
use crate::slots::ServerKey;
use crate::{Error, Result};

/// How long a tombstone stays: far longer than any client believes what it once read.
const TOMBSTONE: Duration = Duration::from_secs(600);

/// How long shards live that are not yet, or no more, part of a filter: what a client that died left
/// behind goes away by itself.
const LEASE: Duration = Duration::from_secs(3600);

/// The most bytes that one frame makes, reads or counts.
const MOST_BYTES: u64 = 16 << 20;

impl<W: Wire> Core<W> {
    /// Makes the shards of a generation, all zeros, each with its expiry from its first moment on. On
    /// an error none of them stays.
    pub(crate) async fn make(&mut self, generation: &Generation) -> Result<()> {
        let made = self.try_make(generation).await;
        if made.is_err() {
            // Whatever cannot be deleted now goes when its lease ends.
            let _ = self.discard(generation).await;
        }
        made
    }

    async fn try_make(&mut self, generation: &Generation) -> Result<()> {
        let until = generation
            .expires
            .unwrap_or_else(|| now() + LEASE.as_millis() as u64);
        self.each_shard(generation, MOST_BYTES, |frame, shard, bytes| {
            make_if_absent(frame, shard, &shard.key, bytes, until);
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
        if generation.expires.is_some() {
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

    /// Deletes the shards of a generation.
    pub(crate) async fn discard(&mut self, generation: &Generation) -> Result<()> {
        self.each_shard(generation, u64::MAX, |frame, shard, _| {
            frame.plain(shard, command("UNLINK", shard));
        })
        .await
    }

    /// Carries out commands for every shard, in frames of at most so many bytes of shards.
    pub(crate) async fn each_shard(
        &mut self,
        generation: &Generation,
        most_bytes: u64,
        plan: impl Fn(&mut Frame, &ServerKey, u64),
    ) -> Result<()> {
        for shards in portions_of(generation, most_bytes) {
            let mut frame = Frame::new();
            for shard in shards {
                let bytes = generation.layout.shard_bytes(shard);
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
/// often and late this is sent. Adding 0 to the last bit gives the string its full length.
pub(crate) fn make_if_absent(
    frame: &mut Frame,
    unit: &ServerKey,
    key: &str,
    bytes: u64,
    expires: u64,
) {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(b"\0").arg("NX").arg("PXAT").arg(expires);
    frame.atomic(unit, set);
    let mut stretch = redis::cmd("BITFIELD");
    stretch.arg(key).arg("INCRBY").arg("u1");
    stretch.arg(bytes * 8 - 1).arg(0);
    frame.atomic(unit, stretch);
}

/// The shards in runs of at most [`MOST_BYTES`].
pub(crate) fn portions(generation: &Generation) -> impl Iterator<Item = Range<u32>> {
    portions_of(generation, MOST_BYTES)
}

/// The shards in runs of at most so many bytes, and of at most 256.
fn portions_of(generation: &Generation, most_bytes: u64) -> impl Iterator<Item = Range<u32>> {
    let shards = generation.shards;
    let run = (most_bytes / generation.layout.shard_bytes(0)).clamp(1, 256) as u32;
    (0..shards.div_ceil(run)).map(move |index| index * run..((index + 1) * run).min(shards))
}
