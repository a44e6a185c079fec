//! Copying filters from files to servers and back.
//!
//! A push copies bytes into a generation that no other client sees or writes to, compares checksums of all
//! of it, and then makes it the living one. The server makes the checksums, so that resuming a push
//! sends only what is missing.

use mayhap::{AnyFilter, Assemble, Bitmap, Description, Kind, bits::Bits};
use redis::{Cmd, Value};
use sha1::{Digest as _, Sha1};

use crate::frame::Frame;
use crate::home::Home;
use crate::remote::Remote;
use crate::router::{Router, Wire};
use crate::settings::{Access, Generation, text};
use crate::sharding::Sharding;
use crate::slots::ServerKey;
use crate::value::Recipe;
use crate::{Error, Options, Result};

/// The bytes of a chunk, and the number of chunks in a frame.
const CHUNK_BYTES: u64 = 1 << 20;
const FRAME_CHUNKS: usize = 8;

/// The script for the checksum of a part of a string, made on the server.
const CHECKSUM: &str = "return redis.sha1hex(redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2]))";

/// A part of a shard that is copied in one command.
#[derive(Debug, Clone)]
struct Chunk {
    shard: ServerKey,
    /// The offset of the first byte, in the shard and in the whole filter.
    at: u64,
    offset: u64,
    bytes: u64,
}

impl Chunk {
    fn range(&self, command: &str) -> Cmd {
        let mut command = redis::cmd(command);
        let last = self.at + self.bytes - 1;
        command.arg(&self.shard.key).arg(self.at).arg(last).take()
    }

    fn checksum(&self) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(CHECKSUM).arg(1).arg(&self.shard.key);
        command.arg(self.at).arg(self.at + self.bytes - 1);
        command
    }

    fn write(&self, bytes: &[u8]) -> Cmd {
        let mut command = redis::cmd("SETRANGE");
        command.arg(&self.shard.key).arg(self.at).arg(bytes);
        command
    }
}

impl<W: Wire> Remote<W> {
    /// Makes a filter's bits the living generation of this name: an existing one is replaced, in one
    /// step. A push that was interrupted continues where it was.
    pub(crate) async fn push<B: Bits>(
        router: Router<W>,
        name: &str,
        filter: &AnyFilter<B>,
        options: &Options,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<Remote<W>>
    where
        AnyFilter<B>: Sync,
    {
        let mut remote = Remote::there_or_not(router, name, filter, options).await?;
        remote.replace(filter, options, progress).await?;
        Ok(remote)
    }

    /// Does the same, but never replaces another.
    pub(crate) async fn push_new<B: Bits>(
        router: Router<W>,
        name: &str,
        filter: &AnyFilter<B>,
        options: &Options,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<Remote<W>>
    where
        AnyFilter<B>: Sync,
    {
        let mut remote = Remote::there_or_not(router, name, filter, options).await?;
        let exists = || Err(Error::Exists { name: name.into() });
        if remote.settings.live.is_some() {
            return exists();
        }
        // The settings are swapped only if they are still those that were read.
        match remote.replace(filter, options, progress).await {
            Err(Error::Unsettled { .. }) if remote.settings.live.is_some() => exists(),
            Err(error) => Err(error),
            Ok(()) => Ok(remote),
        }
    }

    /// Looks up what is known about the name of a filter.
    async fn there_or_not<B: Bits>(
        router: Router<W>,
        name: &str,
        filter: &AnyFilter<B>,
        options: &Options,
    ) -> Result<Remote<W>> {
        let mut remote = Remote::unknown(router, name, options, Access::Keys(None));
        remote.keep_secret_of(&filter.description());
        match remote.look().await {
            Ok(_) | Err(Error::Missing { .. }) => Ok(remote),
            Err(error) => Err(error),
        }
    }

    async fn replace<B: Bits>(
        &mut self,
        filter: &AnyFilter<B>,
        options: &Options,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<()>
    where
        AnyFilter<B>: Sync,
    {
        let fresh = self.receiver(&filter.description(), options).await?;
        match fresh.home {
            Home::Strings => self.receive(filter, fresh, progress).await,
            Home::Module => self.receive_value(filter, &fresh, progress).await,
        }
    }

    /// Returns the generation to copy into. A filter that is replaced stays in its home, unless another is asked for.
    async fn receiver(
        &mut self,
        description: &Description,
        options: &Options,
    ) -> Result<Generation> {
        if self.settings.window.is_some() {
            return Err(Error::Exists {
                name: self.name.clone(),
            });
        }
        let fresh = self.generation(description, options.shards, false)?;
        if fresh.description != *description {
            return Err(Error::Option {
                what: "number of shards",
                got: fresh.shards.to_string(),
                expected: "1 for a bloom filter from a file, or the kind blocked".into(),
            });
        }
        let live = self.settings.live.as_ref().map(|live| live.home);
        match (options.home, live) {
            (None, Some(home)) => Ok(fresh.clone().at(home).unwrap_or(fresh)),
            (wanted, _) => self.settle(fresh, wanted).await,
        }
    }

    /// Copies a filter into the module, in one command: an interrupted copy leaves nothing.
    async fn receive_value<B: Bits>(
        &mut self,
        filter: &AnyFilter<B>,
        fresh: &Generation,
        mut progress: impl FnMut(u64, u64) + Send,
    ) -> Result<()> {
        let total = filter.description().bits.div_ceil(8);
        progress(0, total);
        self.make_by(fresh, Some(&Recipe::file(filter)?)).await?;
        let old = self.settings.clone();
        if !self.enter(fresh, Some(fresh), None).await? {
            return Err(self.unsettled());
        }
        for generation in [old.live, old.next].into_iter().flatten() {
            self.unmake(&generation).await?;
        }
        progress(total, total);
        Ok(())
    }

    async fn receive<B: Bits>(
        &mut self,
        filter: &AnyFilter<B>,
        fresh: Generation,
        mut progress: impl FnMut(u64, u64) + Send,
    ) -> Result<()>
    where
        AnyFilter<B>: Sync,
    {
        let generation = self.resumed(fresh).await?;
        let chunks = self.chunks(&generation);
        let total = 2 * chunks.iter().map(|chunk| chunk.bytes).sum::<u64>();
        let mut done = 0;
        for chunks in chunks.chunks(FRAME_CHUNKS) {
            let different = self.different(filter, &generation, chunks).await?;
            let mut frame = Frame::new();
            for chunk in &different {
                let bytes = stored_bytes(filter, &generation, chunk);
                frame.plain(&chunk.shard, chunk.write(&bytes));
            }
            self.router.run(frame).await?;
            done += chunks.iter().map(|chunk| chunk.bytes).sum::<u64>();
            progress(done, total);
        }
        for chunks in chunks.chunks(FRAME_CHUNKS) {
            if let Some(chunk) = self.different(filter, &generation, chunks).await?.first() {
                return Err(Error::Differs {
                    name: self.name.clone(),
                    offset: chunk.offset,
                });
            }
            done += chunks.iter().map(|chunk| chunk.bytes).sum::<u64>();
            progress(done, total);
        }
        if !self.is_whole(&generation).await? {
            return Err(self.lost());
        }
        self.promote(&generation.id).await
    }

    /// Returns the strings to copy into: those of an interrupted push of the same filter, or new ones.
    async fn resumed(&mut self, fresh: Generation) -> Result<Generation> {
        if let Some(next) = &self.settings.next
            && !next.shared
            && next.home == fresh.home
            && next.description == fresh.description
            && next.shards == fresh.shards
        {
            return Ok(next.clone());
        }
        self.announce(&fresh).await?;
        Ok(fresh)
    }

    /// Returns the chunks whose checksum is wrong.
    async fn different<B: Bits>(
        &mut self,
        filter: &AnyFilter<B>,
        generation: &Generation,
        chunks: &[Chunk],
    ) -> Result<Vec<Chunk>> {
        let mut frame = Frame::new();
        let tickets: Vec<_> = chunks
            .iter()
            .map(|chunk| frame.plain(&chunk.shard, chunk.checksum()))
            .collect();
        let mut replies = self.router.run(frame).await?;
        let same = |chunk: &Chunk, sum: Option<String>| {
            let bytes = stored_bytes(filter, generation, chunk);
            let expected = Sha1::digest(&bytes);
            let expected = expected.iter().map(|byte| format!("{byte:02x}"));
            sum == Some(expected.collect())
        };
        let sums = tickets
            .into_iter()
            .map(|ticket| text(&replies.take(ticket)));
        let chunks = chunks.iter().zip(sums);
        let different =
            chunks.filter_map(|(chunk, sum)| (!same(chunk, sum)).then(|| chunk.clone()));
        Ok(different.collect())
    }

    /// Copies the living generation. It has every key whose insert was answered before the call, and
    /// perhaps some later ones.
    pub(crate) async fn pull(
        &mut self,
        mut progress: impl FnMut(u64, u64) + Send,
    ) -> Result<AnyFilter> {
        self.look().await?;
        'again: for _ in 0..8 {
            let generation = self.target()?.clone();
            if generation.home == Home::Module {
                let copy = self.value_copy(&generation).await?;
                let bytes = generation.description.bits.div_ceil(8);
                match (self.look().await?, copy) {
                    (true, _) => continue 'again,
                    (false, None) => return Err(self.lost()),
                    (false, Some(copy)) => {
                        progress(bytes, bytes);
                        return Ok(copy);
                    }
                }
            }
            check_whole(&generation)?;
            let mut bits = Bitmap::new(generation.description.bits)?;
            let chunks = self.chunks(&generation);
            let total = chunks.iter().map(|chunk| chunk.bytes).sum();
            for chunks in chunks.chunks(FRAME_CHUNKS) {
                let mut frame = Frame::new();
                let tickets: Vec<_> = chunks
                    .iter()
                    .map(|chunk| frame.plain(&chunk.shard, chunk.range("GETRANGE")))
                    .collect();
                let mut replies = match self.router.run(frame).await {
                    Ok(replies) => Some(replies),
                    Err(Error::WrongType { .. }) => None,
                    Err(error) => return Err(error),
                };
                for (chunk, ticket) in chunks.iter().zip(tickets) {
                    let answer = replies.as_mut().map(|replies| replies.take(ticket));
                    match answer {
                        Some(Value::BulkString(bytes)) if bytes.len() as u64 == chunk.bytes => {
                            fill(&mut bits, &generation, chunk, bytes);
                        }
                        _ if self.look().await? => continue 'again,
                        _ => return Err(self.lost()),
                    }
                    progress(chunk.offset + chunk.bytes, total);
                }
            }
            // A string that is whole now was whole when it was read, because its name is never used again.
            if !self.is_whole(&generation).await? {
                match self.look().await? {
                    true => continue 'again,
                    false => return Err(self.lost()),
                }
            }
            return Ok(AnyFilter::assemble(&generation.description, vec![bits])?);
        }
        Err(self.unsettled())
    }

    /// All bytes of a generation, in order.
    fn chunks(&self, generation: &Generation) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut offset = 0;
        for shard in 0..generation.shards {
            let bytes = generation.layout.shard_bytes(shard);
            let shard = self.settings.shard(&self.name, generation, shard);
            for at in (0..bytes).step_by(CHUNK_BYTES as usize) {
                let bytes = CHUNK_BYTES.min(bytes - at);
                let shard = shard.clone();
                chunks.push(Chunk {
                    shard,
                    at,
                    offset,
                    bytes,
                });
                offset += bytes;
            }
        }
        chunks
    }
}

/// Refuses a generation whose shards are not parts of one native filter.
fn check_whole(generation: &Generation) -> Result<()> {
    match generation.layout {
        Sharding::Bloom { shards, .. } if shards > 1 => Err(Error::Option {
            what: "number of shards",
            got: shards.to_string(),
            expected: "1 for a bloom filter to become a file, or the kind blocked".into(),
        }),
        _ => Ok(()),
    }
}

/// The bytes of a chunk as the server has them.
fn stored_bytes<B: Bits>(filter: &AnyFilter<B>, generation: &Generation, chunk: &Chunk) -> Vec<u8> {
    let parts = filter.parts();
    let bits = parts[0];
    let words = chunk.offset / 8..(chunk.offset + chunk.bytes).div_ceil(8);
    let mut bytes: Vec<u8> = words
        .flat_map(|index| bits.word(index).to_le_bytes())
        .collect();
    bytes.truncate(chunk.bytes as usize);
    in_order_of(generation, &mut bytes);
    bytes
}

/// Writes the bytes of a chunk into a bitmap.
fn fill(bits: &mut Bitmap, generation: &Generation, chunk: &Chunk, mut bytes: Vec<u8>) {
    in_order_of(generation, &mut bytes);
    for (index, part) in bytes.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        bits.set_word(chunk.offset / 8 + index as u64, u64::from_le_bytes(word));
    }
}

/// Turns native bytes into stored ones, or back: `SETBIT` counts the bits of a byte from the top.
fn in_order_of(generation: &Generation, bytes: &mut [u8]) {
    if generation.description.kind == Kind::Bloom {
        for byte in bytes {
            *byte = byte.reverse_bits();
        }
    }
}
