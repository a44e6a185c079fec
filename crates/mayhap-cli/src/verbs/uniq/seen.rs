//! What was seen: hashes, or a filter, and how many lines it is expected to lose.

use std::path::Path;

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{
    AnyFilter, Assemble as _, Blocked, BlockedShape, Digest, Digester, Filter as _, Fingerprints,
    Kind, SecretKey, expected_collisions,
};
use mayhap_redis::Answer;

use crate::batch::Inserted;
use crate::block::{Block, LineHash};
use crate::cli::Global;
use crate::failure::{Failure, Result};
use crate::filters::{GrowArgs, Held, PromiseArgs, SecretArgs};
use crate::keys::KeyArgs;
use crate::server::{Server, ServerArgs};
use crate::verbs::new::PlanArgs;

/// Of a memory budget, what hashes may take before a filter of the rest replaces them: both are there at
/// that moment.
const SHARE_OF_HASHES: f64 = 3.0 / 8.0;

/// One bit in each lane of a line: within a factor of two of the best rate from 6 to 30 bits per key.
const BUDGET_HASHES: u32 = 8;

/// The rate of a filter that is made without one: a line in a million is lost.
const DEFAULT_RATE: f64 = 1e-6;

/// The keys that a filter of unknown size begins with: 160 KiB at 1 %.
const FIRST_CAPACITY: u64 = 1 << 17;

/// The keys seen so far.
pub(super) enum Seen {
    /// A 64-bit hash each, by a function drawn for this run: nobody can prepare lines that collide.
    Fingerprints {
        set: Fingerprints,
        hash: LineHash,
        /// The bytes of memory at which a filter takes over.
        budget: Option<u64>,
    },
    /// A filter.
    Filter {
        filter: Box<AnyFilter>,
        losses: Losses,
        hash: Option<LineHash>,
    },
    /// A filter in a file.
    Saved {
        held: Box<Held>,
        losses: Losses,
        digester: Option<Digester>,
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
        /// Why no more lines can be inserted, to be told when the last are printed.
        failure: Option<Failure>,
    },
}

impl Seen {
    pub(super) fn fingerprints() -> Result<Seen> {
        Ok(Seen::Fingerprints {
            set: Fingerprints::new(),
            hash: LineHash::fresh()?,
            budget: None,
        })
    }

    pub(super) fn within(memory: u64) -> Result<Seen> {
        Ok(Seen::Fingerprints {
            set: Fingerprints::new(),
            hash: LineHash::fresh()?,
            budget: Some(memory),
        })
    }

    pub(super) fn filter(plan: &PlanArgs, secret: &SecretArgs) -> Result<Seen> {
        // It is never saved, so it gets a secret that nobody knows. A kind that takes the digests of blocks gets
        // those of a function drawn for this run, which is faster.
        let is_ours = plan.scheme.is_none() && plan.kind != Some(Kind::SplitBlock);
        let secret = match secret.secret()? {
            None if is_ours => Some(SecretKey::random()?),
            given => given,
        };
        let filter = growing(plan).filter(Format::Native, secret.as_ref())?;
        let hash = match filter.digester() {
            Some(_) if is_ours => Some(LineHash::fresh()?),
            digester => digester.map(LineHash::Filter),
        };
        Ok(Seen::Filter {
            hash,
            losses: Losses::new(&filter),
            filter: Box::new(filter),
        })
    }

    pub(super) fn saved(
        path: &Path,
        plan: &PlanArgs,
        grow: GrowArgs,
        secret: &SecretArgs,
    ) -> Result<Seen> {
        if Server::is_named_by(path) {
            return Seen::shared(path, plan, secret);
        }
        let reserved = Held::reserve(path)?;
        let mut held = match reserved.is_taken() {
            true => reserved.read(secret.secret()?.as_ref())?,
            false => {
                let filter = growing(plan).filter(Format::Native, secret.secret()?.as_ref())?;
                reserved.hold(filter, Metadata::default(), Format::Native)
            }
        };
        held.filter = grow.apply(held.filter)?;
        Ok(Seen::Saved {
            digester: held.filter.digester(),
            losses: Losses::new(&held.filter),
            held: Box::new(held),
        })
    }

    /// A filter on a server, made when it is not there: many may insert, and exactly one is told of each key
    /// that it was new.
    fn shared(path: &Path, plan: &PlanArgs, secret: &SecretArgs) -> Result<Seen> {
        let found = Server::find(path, secret.secret()?.as_ref())?;
        let mut server = match found {
            Some(server) => server,
            None if plan.capacity.is_none() => {
                return Err(Failure::new("there is no such filter on the server").hint(
                    "give --capacity N and --rate P to make it, or make it with `mayhap new`: \
                     filters on a server do not grow",
                ));
            }
            None => {
                let mut plan = plan.clone();
                plan.rate = plan.rate.or(Some(DEFAULT_RATE));
                let description = plan.description(Format::Native, secret.secret()?.as_ref())?;
                Server::open_or_create(path, &description, ServerArgs::default())?
            }
        };
        Ok(Seen::Shared {
            rate: server.stats()?.rate,
            server: Box::new(server),
            new: 0,
            doubtful: 0,
            doubtful_as_new: true,
            failure: None,
        })
    }

    /// Answers for lines in doubt what gets them printed: rather a line twice than not at all.
    pub(super) fn answer_doubt(&mut self, new: bool) {
        if let Seen::Shared {
            doubtful_as_new, ..
        } = self
        {
            *doubtful_as_new = new;
        }
    }

    /// How many lines were in doubt, if any.
    pub(super) fn doubtful(&self) -> Option<u64> {
        match self {
            Seen::Shared { doubtful, .. } => Some(*doubtful).filter(|lines| *lines > 0),
            _ => None,
        }
    }

    /// Fails when the last insert ended early; what it answered is printed by now.
    pub(super) fn check(&mut self) -> Result<()> {
        match self {
            Seen::Shared { failure, .. } => failure.take().map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    /// What keys are hashed with before they come here, when they are.
    pub(super) fn hash(&self) -> Option<LineHash> {
        match self {
            Seen::Fingerprints { hash, .. } => Some(hash.clone()),
            Seen::Filter { hash, .. } => hash.clone(),
            Seen::Saved { digester, .. } => digester.clone().map(LineHash::Filter),
            Seen::Shared { .. } => None,
        }
    }

    /// Inserts the keys of a block; one answer each, whether it is new.
    pub(super) fn insert(
        &mut self,
        block: &Block,
        args: &KeyArgs,
        new: &mut Vec<bool>,
    ) -> Result<()> {
        self.keep_to_budget(block.count() as u64)?;
        match self {
            Seen::Fingerprints { set, .. } => {
                new.clear();
                let hashes = block.digests.iter().map(|digest| digest.hi);
                set.insert_each(hashes, |answer| new.push(answer))?;
            }
            Seen::Filter { filter, losses, .. } => {
                filter.insert_block(block, args, new)?;
                losses.pass(filter, new);
            }
            Seen::Saved { held, losses, .. } => {
                held.filter.insert_block(block, args, new)?;
                losses.pass(&held.filter, new);
            }
            Seen::Shared {
                server,
                new: count,
                doubtful,
                doubtful_as_new,
                failure,
                ..
            } => {
                let keys: Vec<&[u8]> = block.keys(args).collect();
                let (answers, failed) = server.insert(&keys)?;
                let of = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
                *count += of(Answer::New) as u64;
                *doubtful += of(Answer::Doubtful) as u64;
                *failure = failed;
                new.clear();
                new.extend(answers.iter().map(|answer| match answer {
                    Answer::New => true,
                    Answer::Doubtful => *doubtful_as_new,
                    // Not printed: inserting them is for another run.
                    Answer::Unsent => !*doubtful_as_new,
                    _ => false,
                }));
            }
        }
        Ok(())
    }

    /// Replaces hashes by a filter when so many more would not fit the budget.
    fn keep_to_budget(&mut self, more: u64) -> Result<()> {
        let Seen::Fingerprints {
            set,
            hash,
            budget: Some(budget),
        } = self
        else {
            return Ok(());
        };
        let hashes_may = (*budget as f64 * SHARE_OF_HASHES) as u64;
        if set.bytes_with(more) <= hashes_may {
            return Ok(());
        }
        let lines = (*budget - hashes_may) * 8 / 512;
        let shape = BlockedShape::new(lines, BUDGET_HASHES).map_err(|_| {
            Failure::new(format!("{budget} bytes of memory are too few"))
                .hint("--memory 1M is little, but enough")
        })?;
        // It never hashes a key itself: it gets the digests that blocks bring, and is not saved. A native
        // digest is made of a hash, so the keys that it has so far are not needed.
        let mut filter = Blocked::new(shape, Digester::default())?;
        std::mem::take(set).drain(|hash| {
            filter.insert_digest(Digest::from_u64(hash));
        });
        let hash = Some(hash.clone());
        let filter = AnyFilter::from(filter);
        *self = Seen::Filter {
            losses: Losses::new(&filter),
            filter: Box::new(filter),
            hash,
        };
        Ok(())
    }

    /// Saves the filter where there is a file for it.
    pub(super) fn save(&self, promise: &PromiseArgs, global: &Global) -> Result<()> {
        let Seen::Saved { held, .. } = self else {
            return Ok(());
        };
        promise.check(&held.filter, held.path(), global)?;
        held.save()
    }

    /// The filter in a file, if it is one.
    pub(super) fn held(&mut self) -> Option<&mut Held> {
        match self {
            Seen::Saved { held, .. } => Some(held),
            _ => None,
        }
    }

    /// How many distinct lines are expected to have been taken for repeats.
    pub(super) fn expected_losses(&mut self) -> Result<f64> {
        Ok(match self {
            Seen::Fingerprints { set, .. } => expected_collisions(set.count()),
            Seen::Filter { filter, losses, .. } => losses.sum(filter),
            Seen::Saved { held, losses, .. } => losses.sum(&held.filter),
            Seen::Shared {
                server, rate, new, ..
            } => {
                let mean = f64::midpoint(*rate, server.stats()?.rate);
                *new as f64 * mean / (1.0 - mean)
            }
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Seen::Fingerprints { set, .. } => set.bytes(),
            Seen::Filter { filter, .. } => filter.description().bits.div_ceil(8),
            Seen::Saved { held, .. } => held.filter.description().bits.div_ceil(8),
            Seen::Shared { server, .. } => server
                .description()
                .map_or(0, |description| description.bits.div_ceil(8)),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Seen::Fingerprints { .. } => "hashes",
            Seen::Filter { filter, .. } => filter.kind().name(),
            Seen::Saved { held, .. } => held.filter.kind().name(),
            Seen::Shared { .. } => "filter on a server",
        }
    }
}

/// The plan, with a kind that grows where the number of keys is not known.
fn growing(plan: &PlanArgs) -> PlanArgs {
    let mut plan = plan.clone();
    plan.rate = plan.rate.or(Some(DEFAULT_RATE));
    if plan.capacity.is_none() {
        plan.capacity = Some(FIRST_CAPACITY);
        plan.kind = plan.kind.or(Some(Kind::Scalable));
    }
    plan
}

/// Sums up what a filter is expected to lose: a key that is not in it is taken for a repeat at the rate
/// that the filter has at that moment.
pub(super) struct Losses {
    sum: f64,
    /// The rate when it was last asked for.
    rate: f64,
    /// New keys since then, and in all.
    since: u64,
    keys: u64,
    /// The number of new keys after which the rate is asked for again.
    wait: u64,
}

impl Losses {
    fn new(filter: &AnyFilter) -> Losses {
        let stats = filter.stats();
        Losses {
            sum: 0.0,
            rate: stats.rate,
            since: 0,
            keys: stats.keys.unwrap_or(f64::MAX) as u64,
            wait: wait(stats.bits, stats.keys.unwrap_or(f64::MAX) as u64),
        }
    }

    fn pass(&mut self, filter: &AnyFilter, new: &[bool]) {
        self.since += new.iter().filter(|new| **new).count() as u64;
        if self.since >= self.wait {
            self.settle(filter);
        }
    }

    /// Counts the keys since the last time at the mean of the rates from then to now.
    fn settle(&mut self, filter: &AnyFilter) {
        let stats = filter.stats();
        let now = self.keys.saturating_add(self.since) as f64;
        let mean = mean_rate((self.keys as f64, self.rate), (now, stats.rate));
        // Of all keys that were offered and not in the filter, a share of `mean` was taken for repeats.
        self.sum += self.since as f64 * mean / (1.0 - mean);
        self.keys = self.keys.saturating_add(self.since);
        self.wait = wait(stats.bits, self.keys);
        self.rate = stats.rate;
        self.since = 0;
    }

    fn sum(&mut self, filter: &AnyFilter) -> f64 {
        self.settle(filter);
        self.sum
    }
}

/// The mean of the rates between two numbers of keys, each with its rate.
///
/// A filter's rate grows as a power of its keys (of k hashes, the k-th while it is empty), so the mean is that
/// of the power through both points. The middle of the two would be a twentieth too high in the end.
fn mean_rate((keys, rate): (f64, f64), (more_keys, higher_rate): (f64, f64)) -> f64 {
    let power = (higher_rate / rate).ln() / (more_keys / keys).ln();
    let mean = (more_keys * higher_rate - keys * rate) / ((power + 1.0) * (more_keys - keys));
    if mean >= rate && mean <= higher_rate {
        mean
    } else {
        // There is no such power: nothing was there before, or the rate did not grow.
        f64::midpoint(rate, higher_rate)
    }
}

/// Asking for the rate reads all bits: after a quarter more keys, and not while the filter is all but
/// empty.
fn wait(bits: u64, keys: u64) -> u64 {
    (keys / 4).max(bits / 1000).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_power_is_its_integral() {
        for power in [1, 6, 14] {
            let rate = |keys: f64| 0.01 * keys.powi(power);
            let integral = |keys: f64| rate(keys) * keys / f64::from(power + 1);
            let mean = mean_rate((0.8, rate(0.8)), (1.0, rate(1.0)));
            let expected = (integral(1.0) - integral(0.8)) / 0.2;
            assert!((mean / expected - 1.0).abs() < 1e-9, "{mean} {expected}");
        }
    }

    #[test]
    fn where_there_is_no_power_the_mean_is_the_middle() {
        assert_eq!(mean_rate((0.0, 0.0), (10.0, 0.5)), 0.25);
        assert_eq!(mean_rate((5.0, 0.5), (5.0, 0.5)), 0.5);
        assert_eq!(mean_rate((5.0, 0.5), (9.0, 0.25)), 0.375);
        assert_eq!(mean_rate((0.0, 0.0), (0.0, 0.0)), 0.0);
    }
}
