//! `-d` and `-u`: the lines that occur again, or those that do not.
//!
//! A line that occurs again is printed at once. The others are known at the end of the input: a file is then read a second
//! time; of a pipe the distinct lines are [`Kept`].

use mayhap::{Error, sets::Fingerprints};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;
use mayhap_program::input::Input;

use super::args::Args;
use super::budget::Budget;
use super::counts::blocks;
use super::kept::Kept;
use super::summary::Summary;
use crate::block::{Block, LineHash, Share};
use crate::output::Output;
use crate::pipeline::{self, Shard, Sink};

/// Prints lines that occur again, in one pass, or those that do not, in a second or from the lines that were kept.
pub(super) fn run(args: &mut Args, sources: &[Input], global: &Global) -> Result<Exit> {
    let budget = Budget::new(args.memory, &mut args.key.lines);
    let (hash, threads) = (LineHash::fresh()?, global.threads());
    let (output, kept) = match args.repeated {
        true => (Some(args.open_output()?), None),
        false => (None, budget.kept(sources)),
    };
    let mut sink = Repeated::new(output, kept, budget);
    let mut shards = match budget.is_given() {
        true => Vec::new(),
        false => Repeats::shards(threads),
    };
    let failed = pipeline::run_first(
        blocks(args, sources, &hash)?,
        threads,
        &mut shards,
        &mut sink,
    )?;
    if let Some(output) = &mut sink.output {
        output.flush()?;
    }
    shards.extend(sink.own);
    let distinct = shards.iter().map(|shard| shard.seen.count()).sum();
    let hashes = shards.iter().map(Repeats::bytes).sum();
    let summary = Summary::of_hashes(sink.lines, distinct, hashes, sink.kept.as_ref());
    if args.unique {
        // Only the repeated ones are needed from here on.
        let singles = shards.into_iter().map(|shard| Singles(shard.repeated));
        let mut singles: Vec<Singles> = singles.collect();
        let mut output = args.open_output()?;
        match sink.kept {
            Some(kept) => kept.each(|hash, line| {
                let shard = |hash| Fingerprints::shard_of(hash, singles.len());
                let is_single = |hash| !singles[shard(hash)].0.contains(hash);
                match hash.is_none_or(is_single) {
                    true => output.write(line),
                    false => Ok(()),
                }
            })?,
            None => {
                let mut chosen = Chosen(&mut output);
                pipeline::run_sharded(
                    blocks(args, sources, &hash)?,
                    threads,
                    &mut singles,
                    &mut chosen,
                )?;
            }
        }
        output.flush()?;
    }
    failed.map_or(Ok(()), Err)?;
    summary.print(global);
    Ok(Exit::Success)
}

/// The answers of shards about a key: it is new, occurs for the second time, or again after that.
const NEW: u64 = 0;
const SECOND: u64 = 1;
const AGAIN: u64 = 2;

/// The hashes of one shard, and those that occurred again.
pub(super) struct Repeats {
    pub(super) seen: Fingerprints,
    pub(super) repeated: Fingerprints,
    new: Vec<bool>,
    second: Vec<bool>,
    budget: Budget,
    /// The number of shards.
    of: u64,
}

impl Repeats {
    /// The shards of a run without a budget.
    pub(super) fn shards(threads: usize) -> Vec<Repeats> {
        let shards = pipeline::many_shards(threads);
        let sets = || Fingerprints::shards(shards);
        let pairs = sets().into_iter().zip(sets());
        pairs
            .map(|(seen, repeated)| Repeats::of(seen, repeated, Budget::NONE, shards as u64))
            .collect()
    }

    /// The only shard of a run with a budget.
    fn within(budget: Budget) -> Repeats {
        // All of them may occur again.
        let half = || Fingerprints::within(budget.bytes / 2);
        Repeats::of(half(), half(), budget, 1)
    }

    fn of(seen: Fingerprints, repeated: Fingerprints, budget: Budget, of: u64) -> Repeats {
        Repeats {
            seen,
            repeated,
            new: Vec::new(),
            second: Vec::new(),
            budget,
            of,
        }
    }

    /// The bytes of memory that the hashes take.
    pub(super) fn bytes(&self) -> u64 {
        self.seen.bytes() + self.repeated.bytes()
    }

    fn spent(&self, error: Error) -> Failure {
        match error {
            Error::Memory { .. } => {
                let distinct = self.seen.count() * self.of;
                self.budget.spent("tell apart", distinct)
            }
            error => Failure::from(error),
        }
    }
}

impl Shard for Repeats {
    fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()> {
        self.new.clear();
        let new = |new| self.new.push(new);
        let inserted = self.seen.insert_each(keys.hashes(), new);
        inserted.map_err(|error| self.spent(error))?;
        self.second.clear();
        let old = self.new.iter().zip(keys.hashes()).filter(|(new, _)| !**new);
        let second = |new| self.second.push(new);
        let inserted = self.repeated.insert_each(old.map(|(_, hash)| hash), second);
        inserted.map_err(|error| self.spent(error))?;
        let mut second = self.second.iter();
        answers.extend(self.new.iter().map(|new| match new {
            true => NEW,
            false if second.next() == Some(&true) => SECOND,
            false => AGAIN,
        }));
        Ok(())
    }
}

/// Prints lines that occur for the second time, or keeps those that occur for the first.
pub(super) struct Repeated {
    output: Option<Output>,
    kept: Option<Kept>,
    /// All hashes, where a budget is for them and for lines.
    own: Option<Repeats>,
    answers: Vec<u64>,
    pub(super) lines: u64,
}

impl Repeated {
    pub(super) fn new(output: Option<Output>, kept: Option<Kept>, budget: Budget) -> Repeated {
        Repeated {
            output,
            kept,
            own: budget.is_given().then(|| Repeats::within(budget)),
            answers: Vec::new(),
            lines: 0,
        }
    }
}

impl Sink for Repeated {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.lines += block.count() as u64;
        let mut answers = block.answers();
        if let Some(own) = &mut self.own {
            self.answers.clear();
            own.answer(block.of_shard(0), &mut self.answers)?;
            answers = &self.answers;
            if let Some(kept) = &mut self.kept {
                kept.keep_to(own.budget.bytes.saturating_sub(own.bytes()))?;
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.push_lines(block, answers.iter().map(|answer| *answer == NEW))?;
        }
        match &mut self.output {
            Some(output) => {
                output.write_lines(block, answers.iter().map(|answer| *answer == SECOND))
            }
            None => Ok(()),
        }
    }

    fn idle(&mut self) -> Result<()> {
        self.output.as_mut().map_or(Ok(()), Output::flush)
    }
}

/// The hashes of one shard that occurred again.
struct Singles(Fingerprints);

impl Shard for Singles {
    /// Answers 1 for each key that occurs once, and else 0.
    fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()> {
        let answer = |found: bool| answers.push(u64::from(!found));
        self.0.contains_each(keys.hashes(), answer);
        Ok(())
    }
}

/// Prints the lines for which a shard answered 1.
struct Chosen<'a>(&'a mut Output);

impl Sink for Chosen<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        let chosen = block.answers().iter().map(|answer| *answer == 1);
        self.0.write_lines(block, chosen)
    }

    fn idle(&mut self) -> Result<()> {
        self.0.flush()
    }
}
