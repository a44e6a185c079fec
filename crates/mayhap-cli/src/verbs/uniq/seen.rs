//! The lines seen so far, as hashes or in a filter, and the number of lines that it is expected to lose.

use std::path::Path;

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{
    AnyFilter, Assemble as _, Blocked, Digester, Error, Filter as _, Kind, SecretKey, hash::Digest,
    kinds::BlockedShape, sets::Fingerprints,
};
use mayhap_program::amounts::{show_bytes, show_count, show_rate};
use mayhap_program::failure::{Failure, Result, warn};

use super::distinct::Distinct;
use super::full::{full, past};
use super::losses::{Loss, Losses, is_public};
use crate::batch::{Inserted as _, insert_lines};
use crate::block::{Block, LineHash, Share};
use crate::filters::held::{Held, WaitArgs};
use crate::filters::promise::{GrowArgs, PromiseArgs, past_capacity};
use crate::filters::secret::SecretArgs;
use crate::filters::{FormatArgs, name_of};
use crate::keys::KeyArgs;
use crate::pipeline::{self, Shard};
use crate::plan::{PlanArgs, SizeArgs};
use crate::server::{Answer, Server, ServerArgs};

/// The share of a memory budget for the filter that replaces hashes.
///
/// Hashes are drained in ascending order, a sixteenth of them at a time, and fill a filter from its first line on, so one
/// grows as the other shrinks: a sixteenth is there twice.
const SHARE: f64 = 15.0 / 16.0;

/// One bit in each lane of a line: within a factor of two of the best rate from 6 to 30 bits per key.
const BUDGET_HASHES: u32 = 8;

/// The rate of a filter that is made without one: a line in a million is lost.
const DEFAULT_RATE: f64 = 1e-6;

/// The rate of the first warning that a filter in a memory budget loses lines.
const FIRST_ALARM: f64 = 0.01;

/// The keys that a filter of unknown size begins with: 160 KiB at 1 %.
const FIRST_CAPACITY: u64 = 1 << 17;

/// The keys seen so far.
pub(super) enum Seen {
    /// A 64-bit hash each, by a function drawn for this run: nobody can prepare lines that collide. Shards have them
    /// while lines are read.
    Hashes { shards: Vec<Hashes>, hash: LineHash },
    /// The same in a budget: these bytes of memory, at which a filter takes over.
    Within {
        set: Fingerprints,
        hash: LineHash,
        budget: u64,
    },
    /// A filter.
    Filter {
        filter: Box<AnyFilter>,
        losses: Losses,
        hash: Option<LineHash>,
        /// The rate at which to warn next, where memory is all that bounds it.
        alarm: Option<f64>,
    },
    /// A filter in a file.
    Saved {
        held: Box<Held>,
        losses: Losses,
        hash: Option<LineHash>,
    },
    /// A filter on a server, shared with others.
    Shared {
        server: Box<Server>,
        /// Its rate at the beginning.
        rate: f64,
        new: u64,
        /// The lines whose answers were lost, and what is answered for them.
        doubtful: u64,
        doubtful_as_new: bool,
    },
}

/// The hashes of one shard.
pub(super) struct Hashes(Fingerprints);

impl Shard for Hashes {
    /// Answers 1 for each key that is new, and else 0.
    fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()> {
        let inserted = self
            .0
            .insert_each(keys.hashes(), |new| answers.push(u64::from(new)));
        Ok(inserted?)
    }
}

impl Seen {
    pub(super) fn hashes(threads: usize) -> Result<Seen> {
        let shards = Fingerprints::shards(pipeline::shards(threads));
        Ok(Seen::Hashes {
            shards: shards.into_iter().map(Hashes).collect(),
            hash: LineHash::fresh()?,
        })
    }

    pub(super) fn within(memory: u64) -> Result<Seen> {
        Ok(Seen::Within {
            set: Fingerprints::within(memory),
            hash: LineHash::fresh()?,
            budget: memory,
        })
    }

    /// Lends the shards that answer whether a key is new, if there are any.
    pub(super) fn lend_shards(&mut self) -> Vec<Hashes> {
        match self {
            Seen::Hashes { shards, .. } => std::mem::take(shards),
            _ => Vec::new(),
        }
    }

    /// Takes the shards back.
    pub(super) fn take_shards(&mut self, lent: Vec<Hashes>) {
        if let Seen::Hashes { shards, .. } = self {
            *shards = lent;
        }
    }

    pub(super) fn filter(
        size: SizeArgs,
        secret: &SecretArgs,
        promise: PromiseArgs,
    ) -> Result<Seen> {
        let secret = secret.secret()?;
        let plan = planned(size, secret.as_ref());
        let filter = plan.filter(Format::Native, secret.as_ref())?;
        let losses = Losses::new(&filter, promise.accepts());
        Ok(Seen::Filter {
            hash: hash_for(filter.digester(), &losses)?,
            losses,
            filter: Box::new(filter),
            alarm: None,
        })
    }

    pub(super) fn saved(
        path: &Path,
        size: SizeArgs,
        grow: GrowArgs,
        wait: WaitArgs,
        secret: &SecretArgs,
        promise: PromiseArgs,
    ) -> Result<Seen> {
        if Server::is_named_by(path) {
            grow.refuse_server()?;
            return Seen::shared(path, size, secret, promise);
        }
        let reserved = wait.reserve(path)?;
        let mut held = match reserved.is_taken() {
            true => {
                let held = reserved.read(FormatArgs::default(), secret.secret()?.as_ref())?;
                let description = held.filter.description();
                secret.check_used(&[&description], path)?;
                size.check_same(&description, &name_of(path), grow)?;
                held
            }
            false => {
                let secret = secret.secret()?;
                let plan = planned(size.with_defaults()?, secret.as_ref());
                let filter = plan.filter(Format::Native, secret.as_ref())?;
                reserved.hold(filter, Metadata::default(), Format::Native)
            }
        };
        held.filter = grow.apply(held.filter)?;
        // Before a line is dropped, not after. One that grows may have the memory for it now.
        if let AnyFilter::Scalable(filter) = &mut held.filter {
            filter.catch_up();
        }
        promise.check(&held.filter, path)?;
        let losses = Losses::new(&held.filter, promise.accepts());
        Ok(Seen::Saved {
            hash: hash_for(held.filter.digester(), &losses)?,
            losses,
            held: Box::new(held),
        })
    }

    /// Opens a filter on a server, or makes it. Many clients may insert; for each key exactly one of them is answered that it
    /// was new.
    fn shared(
        path: &Path,
        size: SizeArgs,
        given: &SecretArgs,
        promise: PromiseArgs,
    ) -> Result<Seen> {
        let secret = given.secret()?;
        let found = Server::find(path, secret.as_ref())?;
        let wanted = size.with_defaults()?;
        let mut server = match found {
            Some(server) => {
                let description = server.description()?;
                given.check_used(&[&description], path)?;
                size.check_same(&description, &name_of(path), GrowArgs::default())?;
                server
            }
            None if wanted.capacity.is_none() => {
                return Err(Failure::new("there is no such filter on the server").hint(
                    "give --capacity N and --rate P to make it, or make it with `mayhap new`: \
                     filters on a server do not grow",
                ));
            }
            None => {
                let plan = planned(wanted, secret.as_ref());
                let description = plan.description(Format::Native, secret.as_ref())?;
                Server::open_or_create(path, &description, ServerArgs::default())?
            }
        };
        let stats = server.stats()?;
        if let Some(text) = past_capacity(&stats).filter(|_| !promise.accepts()) {
            let text = format!("{} {text}", Server::shown(path));
            return Err(Failure::new(text).hint(
                "push a larger one with `mayhap convert`, or go on at that rate with --accept-rate",
            ));
        }
        Ok(Seen::Shared {
            rate: stats.rate,
            server: Box::new(server),
            new: 0,
            doubtful: 0,
            doubtful_as_new: true,
        })
    }

    /// Answers for lines in doubt so that they are printed: a line twice is better than not at all.
    pub(super) fn answer_doubt(&mut self, new: bool) {
        if let Seen::Shared {
            doubtful_as_new, ..
        } = self
        {
            *doubtful_as_new = new;
        }
    }

    /// The number of lines in doubt, if any.
    pub(super) fn doubtful(&self) -> Option<u64> {
        match self {
            Seen::Shared { doubtful, .. } => Some(*doubtful).filter(|lines| *lines > 0),
            _ => None,
        }
    }

    /// The hash that is taken of keys while they are read, if one is.
    pub(super) fn hash(&self) -> Option<LineHash> {
        match self {
            Seen::Hashes { hash, .. } | Seen::Within { hash, .. } => Some(hash.clone()),
            Seen::Filter { hash, .. } | Seen::Saved { hash, .. } => hash.clone(),
            Seen::Shared { .. } => None,
        }
    }

    /// Inserts the keys of a block; one answer each, whether it is new. Answers may end before the lines do: the reason is
    /// returned, to be reported when the answered lines are printed.
    pub(super) fn insert(
        &mut self,
        block: &Block,
        args: &KeyArgs,
        new: &mut Vec<bool>,
    ) -> Result<Option<Failure>> {
        new.clear();
        if let Seen::Within { set, .. } = self {
            match set.insert_each(block.hashes(), |answer| new.push(answer)) {
                Err(Error::Memory { .. }) => self.replace_hashes()?,
                outcome => outcome?,
            }
        }
        match self {
            Seen::Hashes { .. } => {
                new.extend(block.answers().iter().map(|answer| *answer != 0));
                Ok(None)
            }
            Seen::Within { .. } => Ok(None),
            Seen::Filter {
                filter,
                losses,
                alarm,
                ..
            } => {
                let is_full = insert(filter, losses, block, args, new)?;
                if alarm.is_some_and(|rate| losses.stats().rate >= rate) {
                    let rate = losses.stats().rate;
                    let lost = show_rate(rate);
                    // Also with --quiet: nobody asked for losses of this size.
                    warn(format!(
                        "{lost} of all new lines are taken for repeats by now: give more --memory to lose fewer"
                    ));
                    *alarm = Some((rate * 10.0).max(0.5)).filter(|_| rate < 0.5);
                }
                let lines = block.first_line + new.len() as u64;
                Ok(is_full.then(|| full(filter, losses, lines, None)))
            }
            Seen::Saved { held, losses, .. } => {
                let is_full = insert(&mut held.filter, losses, block, args, new)?;
                let lines = block.first_line + new.len() as u64;
                Ok(is_full.then(|| full(&held.filter, losses, lines, Some(held.path()))))
            }
            Seen::Shared {
                server,
                new: count,
                doubtful,
                doubtful_as_new,
                ..
            } => {
                let keys: Vec<&[u8]> = block.keys(args).collect();
                let (answers, failure) = server.insert(&keys)?;
                let of = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
                *count += of(Answer::New) as u64;
                *doubtful += of(Answer::Doubtful) as u64;
                new.extend(answers.iter().map(|answer| match answer {
                    Answer::New => true,
                    Answer::Doubtful => *doubtful_as_new,
                    // Not printed: inserting them is for another run.
                    Answer::Unsent => !*doubtful_as_new,
                    _ => false,
                }));
                Ok(failure)
            }
        }
    }

    /// Replaces the hashes, which fill their budget, by a filter.
    fn replace_hashes(&mut self) -> Result<()> {
        let Seen::Within { set, hash, budget } = self else {
            return Ok(());
        };
        let lines = (*budget as f64 * SHARE) as u64 * 8 / 512;
        let shape = BlockedShape::new(lines, BUDGET_HASHES).map_err(|_| {
            Failure::new(format!("{budget} bytes of memory are too few"))
                .hint("--memory 1M is little, but enough")
        })?;
        // It never hashes a key itself: it gets the digests that blocks bring, and is not saved. A native
        // digest is made of a hash, so the keys that it has so far are not needed.
        let mut filter = Blocked::new(shape, Digester::default())?;
        // Also with --quiet: what is lost from here on is lost for good.
        warn(format!(
            "{} of memory hold no more than the {} distinct lines so far: a filter replaces their hashes, and from \
             here on a new line may be taken for a repeat",
            show_bytes(*budget),
            show_count(set.count()),
        ));
        let (count, mut offered) = (set.count(), Distinct::new());
        std::mem::take(set).drain(|hash| {
            offered.insert(hash);
            filter.insert_digest(Digest::from_u64(hash));
        });
        let hash = Some(hash.clone());
        let filter = AnyFilter::from(filter);
        *self = Seen::Filter {
            losses: Losses::after(&filter, offered, count),
            filter: Box::new(filter),
            hash,
            alarm: Some(FIRST_ALARM),
        };
        Ok(())
    }

    /// Saves the filter where there is a file for it, also when it does not keep its promise: its lines were printed.
    pub(super) fn save(&self, promise: PromiseArgs) -> Result<()> {
        let Seen::Saved { held, .. } = self else {
            return Ok(());
        };
        held.save()?;
        let stats = held.filter.stats();
        match stats.is_over_capacity() && !promise.accepts() {
            true => Err(past(&held.filter, &stats, "at the end", Some(held.path()))),
            false => promise.check(&held.filter, held.path()),
        }
    }

    /// The filter in a file, if it is one.
    pub(super) fn held(&mut self) -> Option<&mut Held> {
        match self {
            Seen::Saved { held, .. } => Some(held),
            _ => None,
        }
    }

    /// The number of distinct lines expected to have been taken for repeats.
    pub(super) fn expected_losses(&mut self) -> Result<Loss> {
        Ok(match self {
            Seen::Hashes { shards, .. } => {
                Loss::of_hashes(shards.iter().map(|shard| shard.0.count()).sum())
            }
            Seen::Within { set, .. } => Loss::of_hashes(set.count()),
            Seen::Filter { filter, losses, .. } => losses.total(filter),
            Seen::Saved { held, losses, .. } => losses.total(&held.filter),
            Seen::Shared {
                server, rate, new, ..
            } => Loss::between(*new, *rate, server.stats()?.rate),
        })
    }

    /// Returns whether more may be lost than expected, because anyone can prepare lines that are taken for one.
    pub(super) fn is_public(&self) -> bool {
        match self {
            // A function was drawn for this run, or there is a secret.
            Seen::Hashes { .. } | Seen::Within { .. } | Seen::Filter { .. } => false,
            Seen::Saved { held, .. } => is_public(&held.filter.description().hashing),
            Seen::Shared { server, .. } => server
                .description()
                .is_ok_and(|description| is_public(&description.hashing)),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Seen::Hashes { shards, .. } => shards.iter().map(|shard| shard.0.bytes()).sum(),
            Seen::Within { set, .. } => set.bytes(),
            Seen::Filter { filter, .. } => filter.description().bits.div_ceil(8),
            Seen::Saved { held, .. } => held.filter.description().bits.div_ceil(8),
            Seen::Shared { server, .. } => server
                .description()
                .map_or(0, |description| description.bits.div_ceil(8)),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Seen::Hashes { .. } | Seen::Within { .. } => "hashes",
            Seen::Filter { filter, .. } => filter.kind().name(),
            Seen::Saved { held, .. } => held.filter.kind().name(),
            Seen::Shared { .. } => "filter on a server",
        }
    }
}

/// The filter that a run makes: one that grows, if the number of keys is not known. Unless there is a secret, a key is drawn
/// for it and kept in its file: without the file nobody can prepare lines that collide.
fn planned(size: SizeArgs, secret: Option<&SecretKey>) -> PlanArgs {
    PlanArgs {
        size: SizeArgs {
            capacity: size.capacity.or(Some(FIRST_CAPACITY)),
            rate: size.rate.or(Some(DEFAULT_RATE)),
        },
        kind: size.capacity.is_none().then_some(Kind::Scalable),
        scheme: secret.is_none().then_some("universal"),
        ..PlanArgs::default()
    }
}

/// The hash that is taken of keys while they are read: that of a filter that takes digests, and else any, if keys are
/// counted.
fn hash_for(digester: Option<Digester>, losses: &Losses) -> Result<Option<LineHash>> {
    match digester {
        None if losses.counts() => Ok(Some(LineHash::fresh()?)),
        digester => Ok(digester.map(LineHash::Filter)),
    }
}

/// Inserts the keys of a block until the filter is full, unless going past its capacity is accepted. Returns whether it is
/// full.
fn insert(
    filter: &mut AnyFilter,
    losses: &mut Losses,
    block: &Block,
    args: &KeyArgs,
    new: &mut Vec<bool>,
) -> Result<bool> {
    while new.len() < block.count() {
        if losses.is_full() {
            return Ok(true);
        }
        let from = new.len();
        let lines = from..block.count().min(from.saturating_add(losses.room()));
        if losses.counts() {
            let digests = block.digests[lines.clone()].iter();
            losses.offer(digests.map(|digest| digest.hi));
        }
        match filter {
            // It holds a key as often as it is inserted, so that repeats would fill it.
            AnyFilter::Cuckoo(filter) => {
                let keys = block.keys(args).skip(lines.start).take(lines.len());
                new.extend(keys.map(|key| !filter.contains(key) && filter.insert(key)));
            }
            _ => insert_lines(filter, block, lines, args, new)?,
        }
        losses.pass(filter, &new[from..]);
    }
    Ok(false)
}
