//! `-d` and `-u`: the lines that come again, or those that do not.
//!
//! A line that comes again is printed then. That one does not is known at the end of the input: a file is read a second
//! time then; of what cannot be, the distinct lines are [`Kept`].

use mayhap::{Error, sets::Fingerprints};

use super::budget::Budget;
use super::counts::blocks;
use super::kept::Kept;
use super::losses::Loss;
use super::{Args, Summary};
use crate::block::{Block, LineHash};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::input::Source;
use crate::output::Output;
use crate::pipeline::{self, Sink};

/// Prints lines that come again, in one pass, or those that do not, in a second or of what was kept.
pub(super) fn run(args: &mut Args, sources: &[Source], global: &Global) -> Result<Exit> {
    let budget = Budget::of(args);
    let hash = LineHash::fresh()?;
    let (output, kept) = match args.repeated {
        true => (Some(args.open_output()?), None),
        false => (None, budget.kept(sources)),
    };
    let mut repeats = Repeats::new(output, kept, budget);
    let failed = pipeline::run_first(blocks(args, sources, &hash)?, global, &mut repeats)?;
    if let Some(output) = &mut repeats.output {
        output.flush()?;
    }
    let (distinct, memory) = (repeats.seen.count(), repeats.bytes());
    let store = Kept::store(repeats.kept.as_ref());
    if args.unique {
        // Only the repeated ones are needed from here on.
        drop(repeats.seen);
        let mut singles = Singles {
            repeated: repeats.repeated,
            output: args.open_output()?,
            chosen: Vec::new(),
        };
        match repeats.kept {
            Some(kept) => kept.each(|hash, line| singles.print(hash, line))?,
            None => pipeline::run(blocks(args, sources, &hash)?, global, &mut singles)?,
        }
        singles.output.flush()?;
    }
    failed.map_or(Ok(()), Err)?;
    Summary {
        lines: repeats.lines,
        distinct,
        lost: Loss::of_hashes(distinct),
        memory,
        store,
    }
    .print(global);
    Ok(Exit::Success)
}

/// Finds the hashes that come again.
pub(super) struct Repeats {
    pub(super) seen: Fingerprints,
    pub(super) repeated: Fingerprints,
    new: Vec<bool>,
    /// Where a line goes when it comes again for the first time.
    output: Option<Output>,
    /// Where a line goes when it comes for the first time.
    kept: Option<Kept>,
    pub(super) lines: u64,
    budget: Budget,
}

impl Repeats {
    pub(super) fn new(output: Option<Output>, kept: Option<Kept>, budget: Budget) -> Repeats {
        // All of them may come again.
        let half = || Fingerprints::within(budget.bytes / 2);
        Repeats {
            seen: half(),
            repeated: half(),
            new: Vec::new(),
            output,
            kept,
            lines: 0,
            budget,
        }
    }

    /// The bytes of memory that hashes and lines take.
    pub(super) fn bytes(&self) -> u64 {
        let kept = self.kept.as_ref().map_or(0, Kept::bytes);
        self.seen.bytes() + self.repeated.bytes() + kept
    }

    /// Keeps the lines that are new, and those without a key that are printed.
    fn keep(&mut self, block: &Block) -> Result<()> {
        let hashes = self.seen.bytes() + self.repeated.bytes();
        let Some(kept) = &mut self.kept else {
            return Ok(());
        };
        kept.keep_to(self.budget.bytes.saturating_sub(hashes))?;
        let mut keys = self.new.iter().zip(&block.digests);
        for row in block.rows() {
            match row.has_key.then(|| keys.next()).flatten() {
                Some((true, digest)) => kept.push(Some(digest.hi), row.bytes)?,
                None if row.is_printed && !row.has_key => kept.push(None, row.bytes)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Sink for Repeats {
    fn take(&mut self, block: &Block) -> Result<()> {
        let budget = self.budget;
        let spent = |error, set: &Fingerprints| match error {
            Error::Memory { .. } => budget.spent("tell apart", set.count()),
            error => Failure::from(error),
        };
        self.new.clear();
        let hashes = block.digests.iter().map(|digest| digest.hi);
        let inserted = self.seen.insert_each(hashes, |new| self.new.push(new));
        inserted.map_err(|error| spent(error, &self.seen))?;
        self.lines += block.count() as u64;
        self.keep(block)?;
        for (new, digest) in self.new.iter_mut().zip(&block.digests) {
            // From here on it says: is this the second time?
            *new = !*new && {
                let inserted = self.repeated.insert(digest.hi);
                inserted.map_err(|error| spent(error, &self.seen))?
            };
        }
        match &mut self.output {
            Some(output) => output.write_lines(block, self.new.iter().copied()),
            None => Ok(()),
        }
    }

    fn idle(&mut self) -> Result<()> {
        self.output.as_mut().map_or(Ok(()), Output::flush)
    }
}

struct Singles {
    repeated: Fingerprints,
    output: Output,
    chosen: Vec<bool>,
}

impl Singles {
    /// Prints a line that was kept, unless its key came again.
    fn print(&mut self, hash: Option<u64>, line: &[u8]) -> Result<()> {
        match hash.is_some_and(|hash| self.repeated.contains(hash)) {
            true => Ok(()),
            false => self.output.write(line),
        }
    }
}

impl Sink for Singles {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.chosen.clear();
        let hashes = block.digests.iter().map(|digest| digest.hi);
        self.repeated
            .contains_each(hashes, |found| self.chosen.push(!found));
        self.output.write_lines(block, self.chosen.iter().copied())
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}
