//! How often: `-c`, `-d` and `-u`.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use mayhap::Fingerprints;

use super::losses::Loss;
use super::{Args, Summary};
use crate::amounts::show_count;
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

type Counts = HashMap<u64, u64, OwnHash>;

/// Counts in a first pass, and prints in a second.
pub(super) fn run(args: &Args, sources: &[Source], global: &Global) -> Result<Exit> {
    let hash = LineHash::fresh()?;
    let mut counter = Counter {
        counts: Counts::default(),
        lines: 0,
    };
    let failed = pipeline::run_first(blocks(args, sources, &hash)?, global, &mut counter)?;
    let (distinct, lines) = (counter.counts.len() as u64, counter.lines);
    let entry = size_of::<(u64, u64)>() + 1;
    let memory = counter.counts.capacity() * entry;

    let mut printer = Printer {
        counts: counter.counts,
        output: args.open_output()?,
    };
    pipeline::run(blocks(args, sources, &hash)?, global, &mut printer)?;
    printer.output.flush()?;
    failed.map_or(Ok(()), Err)?;
    Summary {
        lines,
        distinct,
        lost: Loss::of_hashes(distinct),
        memory: memory as u64,
        store: "hashes",
    }
    .print(global);
    Ok(Exit::Success)
}

/// The lines of the inputs, once more.
pub(super) fn blocks(args: &Args, sources: &[Source], hash: &LineHash) -> Result<Blocks> {
    let sources = sources.iter().map(Source::again).collect::<Result<_>>()?;
    Ok(Blocks::new(sources, &args.key, Some(hash.clone())))
}

struct Counter {
    counts: Counts,
    lines: u64,
}

impl Sink for Counter {
    fn take(&mut self, block: &Block) -> Result<()> {
        for digest in &block.digests {
            if self.counts.len() == self.counts.capacity() {
                self.make_room()?;
            }
            *self.counts.entry(digest.hi).or_insert(0) += 1;
        }
        self.lines += block.count() as u64;
        Ok(())
    }
}

impl Counter {
    /// Room for one more, or an error in place of the abort that an insert without room is.
    #[cold]
    fn make_room(&mut self) -> Result<()> {
        self.counts.try_reserve(1).map_err(|_| {
            let lines = show_count(self.counts.len() as u64);
            Failure::new(format!(
                "no memory to count more than {lines} distinct lines"
            ))
            .hint("`sort | uniq -c` counts on disk; -d and -u take half the memory")
        })
    }
}

struct Printer {
    /// Zero once a line is printed.
    counts: Counts,
    output: Output,
}

impl Sink for Printer {
    fn take(&mut self, block: &Block) -> Result<()> {
        use std::fmt::Write as _;
        let mut digests = block.digests.iter();
        self.output.write_each(block, |head| {
            let count = digests
                .next()
                .and_then(|digest| self.counts.get_mut(&digest.hi))
                .ok_or_else(|| Failure::new("the input changed while it was read"))?;
            let times = std::mem::take(count);
            if times > 0 {
                // As uniq -c has it.
                write!(head, "{times:7} ").expect("a string takes all");
            }
            Ok(times > 0)
        })
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}

/// Prints lines that come again, in one pass, or those that do not, in a second.
pub(super) fn run_repeated(args: &Args, sources: &[Source], global: &Global) -> Result<Exit> {
    let hash = LineHash::fresh()?;
    let mut repeats = Repeats {
        seen: Fingerprints::new(),
        repeated: Fingerprints::new(),
        new: Vec::new(),
        output: match args.repeated {
            true => Some(args.open_output()?),
            false => None,
        },
        lines: 0,
    };
    let failed = pipeline::run_first(blocks(args, sources, &hash)?, global, &mut repeats)?;
    if let Some(output) = &mut repeats.output {
        output.flush()?;
    }
    let distinct = repeats.seen.count();
    let memory = repeats.seen.bytes() + repeats.repeated.bytes();
    if args.unique {
        // Only the repeated ones are needed from here on.
        drop(std::mem::take(&mut repeats.seen));
        let mut singles = Singles {
            repeated: repeats.repeated,
            output: args.open_output()?,
            chosen: Vec::new(),
        };
        pipeline::run(blocks(args, sources, &hash)?, global, &mut singles)?;
        singles.output.flush()?;
    }
    failed.map_or(Ok(()), Err)?;
    Summary {
        lines: repeats.lines,
        distinct,
        lost: Loss::of_hashes(distinct),
        memory,
        store: "hashes",
    }
    .print(global);
    Ok(Exit::Success)
}

/// Finds the hashes that come again.
pub(super) struct Repeats {
    pub(super) seen: Fingerprints,
    pub(super) repeated: Fingerprints,
    pub(super) new: Vec<bool>,
    /// Where a line goes when it comes again for the first time.
    pub(super) output: Option<Output>,
    pub(super) lines: u64,
}

impl Sink for Repeats {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.new.clear();
        let hashes = block.digests.iter().map(|digest| digest.hi);
        self.seen.insert_each(hashes, |new| self.new.push(new))?;
        self.lines += block.count() as u64;
        for (new, digest) in self.new.iter_mut().zip(&block.digests) {
            // From here on it says: is this the second time?
            *new = !*new && self.repeated.insert(digest.hi)?;
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
