//! A filter on a server, over any kind of connection.
//!
//! The settings are read with every batch, in the same round trip. When they have changed, because the
//! filter was rebuilt, the batch is repeated on the generation that is living now. So an answer is always that of a
//! whole generation, and no insert ends in one that has been replaced.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::time::{Duration, Instant};

use mayhap::{Description, Digester, Hashing, Scheme, Stats};
use redis::Value;

use crate::expiry::{check_expiry, expires_from_now, now};
use crate::frame::{Fate, Frame, command};
use crate::home::Home;
use crate::plan::{FrameSize, Insertion, Questions, Shards};
use crate::router::{Router, Wire};
use crate::settings::{Access, Generation, Options, Settings};
use crate::shards::portions;
use crate::{Answer, Error, Result};

/// The number of times a batch is repeated because the filter was replaced meanwhile.
const REPLACEMENTS: u32 = 8;

/// The age of settings after which they are read again before bits are written. A dropped generation leaves
/// tombstones for far longer, so that no client brings it back.
const FRESH: Duration = Duration::from_secs(60);

pub(crate) struct Remote<W> {
    pub(crate) router: Router<W>,
    pub(crate) name: String,
    pub(crate) access: Access,
    pub(crate) settings: Settings,
    /// The only generation to use; the living one if `None`.
    pub(crate) pinned: Option<String>,
    seen: Instant,
}

impl<W: Clone> Clone for Remote<W> {
    fn clone(&self) -> Remote<W> {
        Remote {
            router: self.router.clone(),
            name: self.name.clone(),
            settings: self.settings.clone(),
            pinned: self.pinned.clone(),
            access: self.access.clone(),
            seen: self.seen,
        }
    }
}

impl<W: Wire> Remote<W> {
    /// A filter about which nothing is known yet.
    pub(crate) fn unknown(
        router: Router<W>,
        name: &str,
        options: &Options,
        access: Access,
    ) -> Remote<W> {
        Remote {
            router,
            name: name.into(),
            access,
            settings: Settings::of(options),
            pinned: None,
            seen: Instant::now(),
        }
    }

    /// Keeps the secret of a filter that is copied to the server, which never learns it.
    pub(crate) fn keep_secret_of(&mut self, description: &Description) {
        if let Hashing::Scheme(Scheme::Native(Digester::SipHash { key })) = &description.hashing {
            self.access = Access::Keys(Some(key.clone()));
        }
    }

    /// Opens an existing filter, or one of its generations.
    pub(crate) async fn open(
        router: Router<W>,
        name: &str,
        access: Access,
        pinned: Option<String>,
    ) -> Result<Remote<W>> {
        let mut remote = Remote::unknown(router, name, &Options::default(), access);
        remote.pinned = pinned;
        remote.look().await?;
        Ok(remote)
    }

    /// Makes a new, empty filter.
    pub(crate) async fn create(
        router: Router<W>,
        name: &str,
        description: &Description,
        options: &Options,
    ) -> Result<Remote<W>> {
        let mut remote = Remote::unknown(router, name, options, Access::Keys(None));
        remote.keep_secret_of(description);
        let generation = remote.generation(description, options.shards, false)?;
        match remote.look().await {
            Err(Error::Missing { .. }) => {}
            Ok(_) => return Err(Error::Exists { name: name.into() }),
            Err(error) => return Err(error),
        }
        let generation = remote.settle(generation, options.home).await?;
        match remote
            .establish(&generation, Some(&generation), None)
            .await?
        {
            true => Ok(remote),
            false => Err(Error::Exists { name: name.into() }),
        }
    }

    /// Opens the filter of this name, or creates it. Clients that create it at the same time all get the same one.
    pub(crate) async fn open_or_create(
        router: Router<W>,
        name: &str,
        description: &Description,
        options: &Options,
    ) -> Result<Remote<W>> {
        let mut remote = Remote::unknown(router, name, options, Access::Keys(None));
        remote.keep_secret_of(description);
        match remote.look().await {
            Err(Error::Missing { .. }) => {}
            Ok(_) => return Ok(remote),
            Err(error) => return Err(error),
        }
        let generation = remote.generation(description, options.shards, false)?;
        let generation = remote.settle(generation, options.home).await?;
        let made = remote.establish(&generation, Some(&generation), None).await;
        // It exists now, whoever made it; if not, the error of making it says why.
        match (remote.look().await, made) {
            (Err(Error::Missing { .. }), Err(error)) => Err(error),
            (Err(error), _) => Err(error),
            (Ok(_), _) => Ok(remote),
        }
    }

    /// Inserts the keys of one frame, and records the fate of each, whatever else happens.
    pub(crate) async fn insert_frame(
        &mut self,
        keys: &[&[u8]],
        answers: &mut [Answer],
    ) -> Result<()> {
        // By generation: a key that was new in one attempt is no longer new in the next.
        let mut known: HashMap<String, Vec<Answer>> = HashMap::new();
        for _ in 0..REPLACEMENTS {
            if self.seen.elapsed() > FRESH {
                self.look().await?;
            }
            let target = self.target()?.id.clone();
            let mut frame = Frame::new();
            let mut inserts = Vec::new();
            for generation in self.writable()? {
                let shards = Shards::new(&self.name, &self.settings, generation);
                let expires = self.expires_after_insert(generation);
                let durable = self.router.address().durable();
                let insert = Insertion::new(&mut frame, shards, keys, expires, durable);
                inserts.push((generation.id.clone(), insert));
            }
            let (key, command) = Settings::read(&self.name);
            let look = frame.plain(&key, command);
            let (mut replies, error) = self.router.attempt(frame).await;
            let (mut whole, mut reached) = (true, u32::MAX);
            let mut strange = Ok(());
            for (id, insert) in inserts {
                let known = known
                    .entry(id)
                    .or_insert_with(|| vec![Answer::Unsent; keys.len()]);
                reached = reached.min(insert.reached(&mut replies));
                match insert.note(keys, &mut replies, known) {
                    Ok(all) => whole &= all,
                    Err(error) => strange = Err(error),
                }
            }
            answers.copy_from_slice(&known[&target]);
            strange?;
            let changed = match error {
                None => self.adopt(&replies.take(look))?,
                // A tombstone, or a missing value: the generation was dropped.
                Some(Error::WrongType { .. } | Error::Lost { .. }) => {
                    whole = false;
                    self.look().await?
                }
                Some(error) => return Err(error.named(&self.name)),
            };
            match (whole, changed) {
                (_, true) => {}
                (true, false) => {
                    let wanted = self.router.address().replicas();
                    if reached < wanted {
                        return Err(Error::Unreplicated {
                            name: self.name.clone(),
                            reached,
                            wanted,
                        });
                    }
                    return Ok(());
                }
                (false, false) => return Err(self.lost()),
            }
        }
        Err(self.unsettled())
    }

    /// Looks up the keys of one frame; for each, returns whether it may be in the filter.
    pub(crate) async fn contains_frame(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        for _ in 0..REPLACEMENTS {
            let mut frame = Frame::new();
            let shards = Shards::new(&self.name, &self.settings, self.target()?);
            let questions = Questions::new(&mut frame, shards, keys);
            let (key, command) = Settings::read(&self.name);
            let look = frame.plain(&key, command);
            let (answers, changed) = match self.router.run(frame).await {
                Ok(mut replies) => {
                    let state = replies.take(look);
                    (
                        questions.answers(&mut replies, keys.len()),
                        self.adopt(&state)?,
                    )
                }
                Err(Error::WrongType { .. } | Error::Lost { .. }) => (None, self.look().await?),
                Err(error) => return Err(error.named(&self.name)),
            };
            match (answers, changed) {
                (_, true) => {}
                (Some(answers), false) => return Ok(answers),
                (None, false) => return Err(self.lost()),
            }
        }
        Err(self.unsettled())
    }

    /// Counts the ones, and estimates keys and rate.
    pub(crate) async fn stats(&mut self) -> Result<Stats> {
        for _ in 0..REPLACEMENTS {
            let generation = self.target()?.clone();
            let stats = match generation.home {
                Home::Module => self.value_stats(&generation).await?,
                Home::Strings => self.string_stats(&generation).await?,
            };
            match (self.look().await?, stats) {
                (true, _) => {}
                (false, None) => return Err(self.lost()),
                (false, Some(stats)) => return Ok(stats),
            }
        }
        Err(self.unsettled())
    }

    /// Counts the ones in the strings of a generation; `None` when they are not whole.
    async fn string_stats(&mut self, generation: &Generation) -> Result<Option<Stats>> {
        let mut ones = Vec::new();
        let mut whole = true;
        for shards in portions(generation) {
            let mut frame = Frame::new();
            let tickets: Vec<_> = shards
                .clone()
                .map(|shard| {
                    let shard = self.settings.shard(&self.name, generation, shard);
                    let mut ask = |name| frame.plain(&shard, command(name, &shard));
                    (ask("BITCOUNT"), ask("STRLEN"))
                })
                .collect();
            let mut replies = match self.router.run(frame).await {
                Ok(replies) => replies,
                Err(Error::WrongType { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            for (shard, (count, length)) in shards.zip(tickets) {
                let bytes = generation.shard_bytes(shard);
                whole &= replies.take(length) == Value::Int(bytes as i64);
                match replies.take(count) {
                    Value::Int(count) => ones.push(count.max(0) as u64),
                    _ => whole = false,
                }
            }
        }
        let stats = || generation.layout.stats(&generation.description, &ones);
        Ok(whole.then(stats))
    }

    /// Forgets every key: an empty generation replaces the living one.
    pub(crate) async fn clear(&mut self) -> Result<()> {
        for _ in 0..REPLACEMENTS {
            self.look().await?;
            let old = self.settings.clone();
            let Generation {
                description,
                shards,
                home,
                ..
            } = self.target()?.clone();
            let fresh = self.generation(&description, Some(shards), false)?;
            let fresh = fresh.at(home)?;
            if self.establish(&fresh, Some(&fresh), None).await? {
                for generation in [old.live, old.next].into_iter().flatten() {
                    self.unmake(&generation).await?;
                }
                return Ok(());
            }
        }
        Err(self.unsettled())
    }

    /// Deletes the filter, and what is being built under its name.
    pub(crate) async fn remove(mut self) -> Result<()> {
        self.look().await?;
        let generations = [self.settings.live.clone(), self.settings.next.clone()];
        // First they get a time to live, if they have none: if this process dies half-way, they still expire.
        let lasting = |generation: &&Generation| generation.expires.is_none();
        for generation in generations.iter().flatten().filter(lasting) {
            self.lease(generation).await?;
        }
        let mut frame = Frame::new();
        let key = Settings::key(&self.name);
        frame.plain(&key, command("DEL", &key));
        self.router.run(frame).await?;
        for generation in generations.iter().flatten() {
            self.unmake(generation).await?;
        }
        Ok(())
    }

    /// The generation that lookups use, and whose answers count for inserts.
    pub(crate) fn target(&self) -> Result<&Generation> {
        let Settings { live, next, .. } = &self.settings;
        if self.settings.window.is_some() {
            // A window of the same name has replaced the filter.
            return Err(Error::Missing {
                name: self.name.clone(),
            });
        }
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

    pub(crate) fn frame_size(&self) -> Result<FrameSize> {
        let target = self.target()?;
        Ok(match target.home {
            Home::Module => FrameSize::of_keys(),
            Home::Strings => FrameSize::of_bits(target.description.hashes),
        })
    }

    /// Reads the settings; returns whether a batch that was planned by the old ones must be repeated.
    pub(crate) async fn look(&mut self) -> Result<bool> {
        let mut frame = Frame::new();
        let (key, command) = Settings::read(&self.name);
        let ticket = frame.plain(&key, command);
        let replies = self.router.run(frame).await;
        let mut replies = replies.map_err(|error| error.named(&self.name))?;
        self.adopt(&replies.take(ticket))
    }

    pub(crate) fn adopt(&mut self, state: &Value) -> Result<bool> {
        self.seen = Instant::now();
        if self.settings.says(state) {
            self.settings.made = Settings::read_made(state);
            return Ok(false);
        }
        let ids = |remote: &Remote<W>| -> Vec<String> {
            let writable = remote.writable().unwrap_or_default();
            writable.into_iter().map(|g| g.id.clone()).collect()
        };
        let before = ids(self);
        self.settings = Settings::parse(&self.name, state, &self.access)?;
        Ok(ids(self) != before)
    }

    /// Makes a generation and enters it into the settings; false when another client changed those before. Then, or
    /// on an error, the generation is deleted again, unless it may be living.
    pub(crate) async fn establish(
        &mut self,
        generation: &Generation,
        live: Option<&Generation>,
        next: Option<&Generation>,
    ) -> Result<bool> {
        self.make(generation).await?;
        self.enter(generation, live, next).await
    }

    /// Enters a generation that was made into the settings, in the same way.
    pub(crate) async fn enter(
        &mut self,
        generation: &Generation,
        live: Option<&Generation>,
        next: Option<&Generation>,
    ) -> Result<bool> {
        let (swapped, done) = match self.try_swap(live, next).await {
            (Fate::Unsent, Err(error)) => (false, Err(error)),
            (_, Err(error)) => return Err(error),
            (_, Ok(swapped)) => (swapped, Ok(swapped)),
        };
        if !swapped {
            // Whatever cannot be deleted now is named in the error.
            let discarded = self.discard(generation).await;
            return done.and_then(|done| discarded.map(|()| done));
        }
        done
    }

    /// Replaces the generations in the settings; false when another client did so before.
    pub(crate) async fn swap(
        &mut self,
        live: Option<&Generation>,
        next: Option<&Generation>,
    ) -> Result<bool> {
        self.try_swap(live, next).await.1
    }

    /// Does the same, and returns the fate of the command too.
    async fn try_swap(
        &mut self,
        live: Option<&Generation>,
        next: Option<&Generation>,
    ) -> (Fate, Result<bool>) {
        let mut frame = Frame::new();
        let (key, command) = self.settings.swap(&self.name, live, next);
        let ticket = frame.plain(&key, command);
        let (mut replies, error) = self.router.attempt(frame).await;
        let fate = replies.fate(ticket);
        if let Some(error) = error {
            return (fate, Err(error.named(&self.name)));
        }
        let swapped = replies.take(ticket) == Value::Int(1);
        if let Err(error) = self.look().await {
            return (fate, Err(error));
        }
        // When the first answer was lost, the second is no, although the change was made.
        let lines = [live, next].map(|generation| generation.map(Generation::to_line));
        let same = self.settings.lines == lines.map(Option::unwrap_or_default);
        (fate, Ok(swapped || same))
    }

    /// Describes a generation that is not on a server yet.
    pub(crate) fn generation(
        &self,
        description: &Description,
        shards: Option<u32>,
        shared: bool,
    ) -> Result<Generation> {
        check_expiry(self.settings.expiry)?;
        let expires = self.settings.expiry.map(expires_from_now);
        Generation::new(new_id(), description, shards, expires, shared)
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

/// Draws a name that no other generation has: 64 random bits.
pub(crate) fn new_id() -> String {
    let random = std::collections::hash_map::RandomState::new();
    format!("{:016x}", random.hash_one((now(), std::process::id())))
}
