//! A filter on a server, however it is reached.
//!
//! The settings are read with every batch, in the same round trip. When they have changed, because the
//! filter was rebuilt, the batch is done again on what is living now. So an answer is always that of a
//! whole generation, and no insert ends in one that has been replaced.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mayhap::{Description, Digester, Hashing, Scheme, SecretKey, Stats};
use redis::Value;

use crate::plan::{Inserts, Questions, Shards, frame_keys};
use crate::router::{Frame, Router, Wire};
use crate::settings::{Expiry, Generation, Options, Settings};
use crate::{Error, Result};

/// How often a batch is done again because the filter was replaced meanwhile.
const REPLACEMENTS: u32 = 8;

/// What was read longer ago is read again before bits are written. A dropped generation leaves
/// tombstones for far longer than that, so that nobody brings it back.
const FRESH: Duration = Duration::from_secs(60);
const TOMBSTONE: Duration = Duration::from_secs(600);

/// How long shards live that are not yet, or no more, part of a filter: what a client that died left
/// behind goes away by itself.
const LEASE: Duration = Duration::from_secs(3600);

/// The most bytes that one frame makes, reads or counts.
pub(crate) const MOST_BYTES: u64 = 16 << 20;

pub(crate) struct Core<W> {
    pub(crate) router: Router<W>,
    pub(crate) name: String,
    pub(crate) secret: Option<SecretKey>,
    pub(crate) settings: Settings,
    /// The one generation that is asked and inserted into; the living one when there is none.
    pinned: Option<String>,
    seen: Instant,
}

impl<W: Clone> Clone for Core<W> {
    fn clone(&self) -> Core<W> {
        Core {
            router: self.router.clone(),
            name: self.name.clone(),
            settings: self.settings.clone(),
            pinned: self.pinned.clone(),
            ..*self
        }
    }
}

impl<W: Wire> Core<W> {
    /// A filter of which nothing is known yet.
    pub(crate) fn unknown(
        router: Router<W>,
        name: &str,
        options: &Options,
        secret: Option<&SecretKey>,
    ) -> Core<W> {
        Core {
            router,
            name: name.into(),
            secret: secret.copied(),
            settings: Settings {
                placement: options.placement,
                expiry: options.expiry,
                live: None,
                next: None,
                lines: Default::default(),
            },
            pinned: None,
            seen: Instant::now(),
        }
    }

    /// Remembers the secret of a filter that goes to the server, which is not told it.
    pub(crate) fn keep_secret_of(&mut self, description: &Description) {
        if let Hashing::Scheme(Scheme::Native(Digester::SipHash { key })) = description.hashing {
            self.secret = Some(key);
        }
    }

    /// A filter that exists.
    pub(crate) async fn open(
        router: Router<W>,
        name: &str,
        secret: Option<&SecretKey>,
        pinned: Option<String>,
    ) -> Result<Core<W>> {
        let mut core = Core::unknown(router, name, &Options::default(), secret);
        core.pinned = pinned;
        core.look().await?;
        core.target()?;
        Ok(core)
    }

    /// A new, empty filter.
    pub(crate) async fn create(
        router: Router<W>,
        name: &str,
        description: &Description,
        options: &Options,
    ) -> Result<Core<W>> {
        check_expiry(options.expiry)?;
        let mut core = Core::unknown(router, name, options, None);
        core.keep_secret_of(description);
        let generation = core.generation(description, options.shards, false)?;
        match core.look().await {
            Err(Error::Missing { .. }) => {}
            Ok(_) => return Err(Error::Exists { name: name.into() }),
            Err(error) => return Err(error),
        }
        core.make(&generation).await?;
        if core.swap(Some(&generation), None).await? {
            return Ok(core);
        }
        core.unmake(&generation).await?;
        Err(Error::Exists { name: name.into() })
    }

    /// Inserts keys; for each, whether it was definitely new.
    pub(crate) async fn insert_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let mut new = Vec::with_capacity(keys.len());
        for keys in keys.chunks(self.frame_keys()?) {
            new.extend(self.insert_frame(keys).await?);
        }
        if !keys.is_empty() {
            self.extend_if_due().await?;
        }
        Ok(new)
    }

    async fn insert_frame(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        // By generation: what was new in one attempt is not new any more in the next.
        let mut new: HashMap<String, Vec<bool>> = HashMap::new();
        for _ in 0..REPLACEMENTS {
            if self.seen.elapsed() > FRESH {
                self.look().await?;
            }
            let mut frame = Frame::new();
            let mut inserts = Vec::new();
            for generation in self.writable()? {
                let shards = Shards::new(&self.name, &self.settings, generation);
                let expires = self.expires_after_insert(generation);
                let insert = Inserts::new(&mut frame, shards, keys, expires);
                inserts.push((generation.id.clone(), insert));
            }
            let (key, command) = Settings::read(&self.name);
            let look = frame.plain(&key, command);
            let mut whole = true;
            let changed = match self.router.run(frame).await {
                Ok(mut replies) => {
                    for (id, insert) in inserts {
                        let new = new.entry(id).or_insert_with(|| vec![false; keys.len()]);
                        whole &= insert.note(&mut replies, new);
                    }
                    self.adopt(&replies.take(look))?
                }
                // A tombstone: the generation was dropped.
                Err(Error::WrongType { .. }) => {
                    whole = false;
                    self.look().await?
                }
                Err(error) => return Err(error),
            };
            match (whole, changed) {
                (_, true) => {}
                (true, false) => {
                    let new = new.remove(&self.target()?.id);
                    return Ok(new.expect("it was inserted into"));
                }
                (false, false) => return Err(self.lost()),
            }
        }
        Err(self.unsettled())
    }

    /// Asks about keys: for each, whether it may be in the filter.
    pub(crate) async fn contains_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(self.frame_keys()?) {
            found.extend(self.contains_frame(keys).await?);
        }
        Ok(found)
    }

    async fn contains_frame(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        for _ in 0..REPLACEMENTS {
            let mut frame = Frame::new();
            let shards = Shards::new(&self.name, &self.settings, self.target()?);
            let questions = Questions::new(&mut frame, shards, keys);
            let (key, command) = Settings::read(&self.name);
            let look = frame.plain(&key, command);
            let (answers, changed) = match self.router.run(frame).await {
                Ok(mut replies) => {
                    let state = replies.take(look);
                    (questions.answers(&mut replies), self.adopt(&state)?)
                }
                Err(Error::WrongType { .. }) => (None, self.look().await?),
                Err(error) => return Err(error),
            };
            match (answers, changed) {
                (_, true) => {}
                (Some(answers), false) => return Ok(answers),
                (None, false) => return Err(self.lost()),
            }
        }
        Err(self.unsettled())
    }

    /// What the filter holds now.
    pub(crate) async fn stats(&mut self) -> Result<Stats> {
        for _ in 0..REPLACEMENTS {
            let generation = self.target()?.clone();
            let mut ones = Vec::new();
            let mut whole = true;
            for shards in portions(&generation) {
                let mut frame = Frame::new();
                let tickets: Vec<_> = shards
                    .clone()
                    .map(|shard| {
                        let shard = self.settings.shard(&self.name, &generation, shard);
                        let mut ask = |command: &str| {
                            let mut command = redis::cmd(command);
                            command.arg(&shard.key);
                            frame.plain(&shard, command)
                        };
                        (ask("BITCOUNT"), ask("STRLEN"))
                    })
                    .collect();
                let mut replies = match self.router.run(frame).await {
                    Ok(replies) => replies,
                    Err(Error::WrongType { .. }) => {
                        whole = false;
                        break;
                    }
                    Err(error) => return Err(error),
                };
                for (shard, (count, length)) in shards.zip(tickets) {
                    let bytes = generation.layout.shard_bytes(shard);
                    whole &= replies.take(length) == Value::Int(bytes as i64);
                    match replies.take(count) {
                        Value::Int(count) => ones.push(count.max(0) as u64),
                        _ => whole = false,
                    }
                }
            }
            match (self.look().await?, whole) {
                (true, _) => {}
                (false, false) => return Err(self.lost()),
                (false, true) => {
                    let description = &generation.description;
                    return Ok(generation.layout.stats(description, &ones));
                }
            }
        }
        Err(self.unsettled())
    }

    /// Forgets every key: an empty generation takes the place of the living one.
    pub(crate) async fn clear(&mut self) -> Result<()> {
        for _ in 0..REPLACEMENTS {
            self.look().await?;
            let old = self.settings.clone();
            let Generation {
                description,
                shards,
                ..
            } = self.target()?.clone();
            let fresh = self.generation(&description, Some(shards), false)?;
            self.make(&fresh).await?;
            if self.swap(Some(&fresh), None).await? {
                for generation in [old.live, old.next].into_iter().flatten() {
                    self.unmake(&generation).await?;
                }
                return Ok(());
            }
            self.unmake(&fresh).await?;
        }
        Err(self.unsettled())
    }

    /// Deletes the filter, and what is being built under its name.
    pub(crate) async fn remove(mut self) -> Result<()> {
        match self.look().await {
            Ok(_) | Err(Error::Unfinished { .. }) => {}
            Err(error) => return Err(error),
        }
        let generations = [self.settings.live.clone(), self.settings.next.clone()];
        // First they get a time to live: should we die half-way, they still go.
        for generation in generations.iter().flatten() {
            self.each_shard(generation, 1 << 10, |frame, shard, _| {
                let mut command = redis::cmd("PEXPIRE");
                command.arg(&shard.key).arg(LEASE.as_millis() as u64);
                frame.plain(shard, command);
            })
            .await?;
        }
        let mut frame = Frame::new();
        let key = Settings::key(&self.name);
        let mut command = redis::cmd("DEL");
        command.arg(&key.key);
        frame.plain(&key, command);
        self.router.run(frame).await?;
        for generation in generations.iter().flatten() {
            self.unmake(generation).await?;
        }
        Ok(())
    }

    /// The description of the filter that is asked.
    pub(crate) fn description(&self) -> Result<Description> {
        Ok(self.target()?.description)
    }

    /// The generation that is asked, and that answers for inserts.
    pub(crate) fn target(&self) -> Result<&Generation> {
        let Settings { live, next, .. } = &self.settings;
        let Some(pinned) = &self.pinned else {
            return live.as_ref().ok_or_else(|| Error::Unfinished {
                name: self.name.clone(),
            });
        };
        let known = [live, next].into_iter().flatten();
        known
            .into_iter()
            .find(|generation| generation.id == *pinned)
            .ok_or_else(|| Error::Replaced {
                name: self.name.clone(),
            })
    }

    /// The generations that inserts go to.
    fn writable(&self) -> Result<Vec<&Generation>> {
        let target = self.target()?;
        let mut generations = vec![target];
        if self.pinned.is_none() {
            let next = self.settings.next.as_ref();
            generations.extend(next.filter(|next| next.shared));
        }
        Ok(generations)
    }

    fn frame_keys(&self) -> Result<usize> {
        Ok(frame_keys(self.target()?.description.hashes))
    }

    /// Reads the settings; whether a batch that was planned by the old ones has to be done again.
    pub(crate) async fn look(&mut self) -> Result<bool> {
        let mut frame = Frame::new();
        let (key, command) = Settings::read(&self.name);
        let ticket = frame.plain(&key, command);
        let replies = self.router.run(frame).await;
        let mut replies = replies.map_err(|error| error.named(&self.name))?;
        self.adopt(&replies.take(ticket))
    }

    fn adopt(&mut self, state: &Value) -> Result<bool> {
        self.seen = Instant::now();
        if self.settings.says(state) {
            return Ok(false);
        }
        let ids = |core: &Core<W>| -> Vec<String> {
            let writable = core.writable().unwrap_or_default();
            writable.into_iter().map(|g| g.id.clone()).collect()
        };
        let before = ids(self);
        self.settings = Settings::parse(&self.name, state, self.secret.as_ref())?;
        Ok(ids(self) != before)
    }

    /// Replaces the generations in the settings; false when someone else did before.
    pub(crate) async fn swap(
        &mut self,
        live: Option<&Generation>,
        next: Option<&Generation>,
    ) -> Result<bool> {
        let mut frame = Frame::new();
        let (key, command) = self.settings.swap(&self.name, live, next);
        let ticket = frame.plain(&key, command);
        let replies = self.router.run(frame).await;
        let mut replies = replies.map_err(|error| error.named(&self.name))?;
        let swapped = replies.take(ticket) == Value::Int(1);
        self.look().await?;
        // An answer that was lost on its way and asked for again says no, though it was done.
        let lines = [live, next].map(|generation| generation.map(Generation::to_line));
        Ok(swapped || self.settings.lines == lines.map(Option::unwrap_or_default))
    }

    /// A generation that is nowhere yet.
    pub(crate) fn generation(
        &self,
        description: &Description,
        shards: Option<u32>,
        shared: bool,
    ) -> Result<Generation> {
        let expires = self.settings.expiry.map(expires_from_now);
        Generation::new(new_id(), description, shards, expires, shared)
    }

    /// Makes the shards of a generation, all zeros, each with its expiry from its first moment on. On
    /// an error none of them stays.
    pub(crate) async fn make(&mut self, generation: &Generation) -> Result<()> {
        let made = self.try_make(generation).await;
        if made.is_err() {
            // Whatever cannot be deleted now goes when its lease ends.
            let _ = self.unmake(generation).await;
        }
        made
    }

    async fn try_make(&mut self, generation: &Generation) -> Result<()> {
        let until = generation
            .expires
            .unwrap_or_else(|| now() + LEASE.as_millis() as u64);
        self.each_shard(generation, MOST_BYTES, |frame, shard, bytes| {
            let mut command = redis::cmd("SETRANGE");
            command.arg(&shard.key).arg(bytes - 1).arg(b"\0");
            frame.atomic(shard, command);
            let mut command = redis::cmd("PEXPIREAT");
            command.arg(&shard.key).arg(until);
            frame.atomic(shard, command);
        })
        .await?;
        if generation.expires.is_some() {
            return Ok(());
        }
        self.each_shard(generation, u64::MAX, |frame, shard, _| {
            let mut command = redis::cmd("PERSIST");
            command.arg(&shard.key);
            frame.plain(shard, command);
        })
        .await
    }

    /// Deletes the shards of a generation. Where nothing else would make a shard go away again that
    /// a late insert brings back, a tombstone of another type refuses the insert.
    pub(crate) async fn unmake(&mut self, generation: &Generation) -> Result<()> {
        let lasting = generation.expires.is_none();
        self.each_shard(generation, u64::MAX, |frame, shard, _| {
            let mut commands = vec![redis::cmd("UNLINK")];
            if lasting {
                let mut command = redis::cmd("HSET");
                commands.push(command.arg(&shard.key).arg("dropped").arg(1).take());
                let mut command = redis::cmd("PEXPIRE");
                let time = TOMBSTONE.as_millis() as u64;
                commands.push(command.arg(&shard.key).arg(time).take());
            }
            commands[0].arg(&shard.key);
            for command in commands {
                frame.atomic(shard, command);
            }
        })
        .await
    }

    /// Carries out commands for every shard, in frames of at most so many bytes of shards.
    async fn each_shard(
        &mut self,
        generation: &Generation,
        most_bytes: u64,
        plan: impl Fn(&mut Frame, &crate::slots::ServerKey, u64),
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

    /// The expiry that an insert leaves a shard with.
    fn expires_after_insert(&self, generation: &Generation) -> Option<u64> {
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
    async fn extend_if_due(&mut self) -> Result<()> {
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
            let mut command = redis::cmd("PEXPIREAT");
            command.arg(&shard.key).arg(until);
            frame.plain(shard, command);
        })
        .await?;
        let extended = Generation {
            expires: Some(until),
            ..live
        };
        // Another client that did the same at the same time did as well.
        self.swap(Some(&extended), next.as_ref()).await.map(drop)
    }

    pub(crate) fn lost(&self) -> Error {
        Error::Lost {
            name: self.name.clone(),
        }
    }

    pub(crate) fn unsettled(&self) -> Error {
        Error::Unsettled {
            name: self.name.clone(),
        }
    }
}

/// The shards in runs of at most [`MOST_BYTES`].
pub(crate) fn portions(generation: &Generation) -> impl Iterator<Item = std::ops::Range<u32>> {
    portions_of(generation, MOST_BYTES)
}

/// The shards in runs of at most so many bytes, and of at most 256.
fn portions_of(
    generation: &Generation,
    most_bytes: u64,
) -> impl Iterator<Item = std::ops::Range<u32>> {
    let shards = generation.shards;
    let run = (most_bytes / generation.layout.shard_bytes(0)).clamp(1, 256) as u32;
    (0..shards.div_ceil(run)).map(move |index| index * run..((index + 1) * run).min(shards))
}

fn check_expiry(expiry: Option<Expiry>) -> Result<()> {
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
fn expires_from_now(expiry: Expiry) -> u64 {
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

/// A name that no other generation has: 64 random bits.
fn new_id() -> String {
    let random = std::collections::hash_map::RandomState::new();
    format!("{:016x}", random.hash_one((now(), std::process::id())))
}
