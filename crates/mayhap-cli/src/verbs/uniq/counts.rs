//! `-c`: how often each line comes.
//!
//! That is known at the end of the input. A file is read a second time then; of what cannot be, the distinct lines are
//! [`Kept`].

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::budget::Budget;
use super::kept::Kept;
use super::losses::Loss;
use super::{Args, Summary};
use crate::block::{Block, Blocks, LineHash};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::input::Source;
use crate::output::Output;
use crate::pipeline::{self, Sink};

/// A hash is its own hash.
#[derive(Default)]
pub(super) struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("hashes are u64")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Hashes what is a hash already, by a function drawn at random.
pub(super) type OwnHash = BuildHasherDefault<Itself>;

/// Counts in a first pass, and prints in a second, or what was kept.
pub(super) fn run(args: &mut Args, sources: &[Source], global: &Global) -> Result<Exit> {
    let budget = Budget::of(args);
    let hash = LineHash::fresh()?;
    let mut counter = Counter {
        counts: Counts::default(),
        lines: 0,
        kept: budget.kept(sources),
        budget,
    };
    let failed = pipeline::run_first(blocks(args, sources, &hash)?, global, &mut counter)?;
    let (distinct, lines) = (counter.counts.len() as u64, counter.lines);
    let memory = counter.bytes() + counter.kept.as_ref().map_or(0, Kept::bytes);
    let store = Kept::store(counter.kept.as_ref());

    let mut printer = Printer {
        counts: counter.counts,
        output: args.open_output()?,
        head: String::new(),
    };
    match counter.kept {
        Some(kept) => kept.each(|hash, line| printer.print(hash, line))?,
        None => pipeline::run(blocks(args, sources, &hash)?, global, &mut printer)?,
    }
    printer.output.flush()?;
    failed.map_or(Ok(()), Err)?;
    Summary {
        lines,
        distinct,
        lost: Loss::of_hashes(distinct),
        memory,
        store,
    }
    .print(global);
    Ok(Exit::Success)
}

/// The lines of the inputs, from their beginning.
pub(super) fn blocks(args: &Args, sources: &[Source], hash: &LineHash) -> Result<Blocks> {
    let sources = sources.iter().map(Source::again).collect::<Result<_>>()?;
    Ok(Blocks::new(sources, &args.key, Some(hash.clone())))
}

type Counts = HashMap<u64, u64, OwnHash>;

struct Counter {
    counts: Counts,
    lines: u64,
    kept: Option<Kept>,
    budget: Budget,
}

impl Sink for Counter {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.lines += block.count() as u64;
        if self.kept.is_none() {
            for digest in &block.digests {
                self.count(digest.hi)?;
            }
            return Ok(());
        }
        let mut digests = block.digests.iter();
        for row in block.rows() {
            let hash = match row.has_key {
                true => digests.next().map(|digest| digest.hi),
                false => None,
            };
            let is_kept = match hash {
                Some(hash) => self.count(hash)?,
                None => row.is_printed,
            };
            if let Some(kept) = self.kept.as_mut().filter(|_| is_kept) {
                kept.push(hash, row.bytes)?;
            }
        }
        Ok(())
    }
}

impl Counter {
    /// Counts a key; true when it is the first.
    #[inline]
    fn count(&mut self, hash: u64) -> Result<bool> {
        // A key that is there already needs no room, and must not fail for want of it.
        if self.counts.len() == self.counts.capacity() && !self.counts.contains_key(&hash) {
            self.make_room()?;
        }
        let count = self.counts.entry(hash).or_insert(0);
        *count += 1;
        Ok(*count == 1)
    }

    /// Room for one more, or an error in place of the abort that an insert without room is.
    #[cold]
    fn make_room(&mut self) -> Result<()> {
        let (budget, distinct) = (self.budget, self.counts.len() as u64);
        let spent = || budget.spent("count", distinct);
        // It doubles, and is there in both sizes meanwhile.
        let left = budget.bytes.checked_sub(3 * self.bytes());
        let left = left.ok_or_else(spent)?;
        if let Some(kept) = &mut self.kept {
            kept.keep_to(left)?;
        }
        self.counts.try_reserve(1).map_err(|_| spent())?;
        let left = budget.bytes.saturating_sub(self.bytes());
        self.kept.as_mut().map_or(Ok(()), |kept| kept.keep_to(left))
    }

    /// The bytes of memory that the counts take.
    fn bytes(&self) -> u64 {
        // A hash table has room for seven eighths of its entries, each with a byte besides.
        let entries = self.counts.capacity() as u64 * 8 / 7;
        entries * (size_of::<(u64, u64)>() as u64 + 1)
    }
}

struct Printer {
    /// Zero once a line is printed.
    counts: Counts,
    output: Output,
    /// What stands before a line that was kept.
    head: String,
}

impl Printer {
    /// Prints a line that was kept.
    fn print(&mut self, hash: Option<u64>, line: &[u8]) -> Result<()> {
        self.head.clear();
        if let Some(hash) = hash {
            count_once(&mut self.counts, hash, &mut self.head)?;
        }
        self.output.write(self.head.as_bytes())?;
        self.output.write(line)
    }
}

impl Sink for Printer {
    fn take(&mut self, block: &Block) -> Result<()> {
        let mut digests = block.digests.iter();
        self.output.write_each(block, |head| {
            let digest = digests.next().ok_or_else(changed)?;
            count_once(&mut self.counts, digest.hi, head)
        })
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}

/// Writes the count of a key before its line, the first time; false when it is not.
fn count_once(counts: &mut Counts, hash: u64, head: &mut String) -> Result<bool> {
    use std::fmt::Write as _;
    let times = std::mem::take(counts.get_mut(&hash).ok_or_else(changed)?);
    if times > 0 {
        // As uniq -c has it.
        write!(head, "{times:7} ").expect("a string takes all");
    }
    Ok(times > 0)
}

fn changed() -> Failure {
    Failure::new("the input changed while it was read")
}
