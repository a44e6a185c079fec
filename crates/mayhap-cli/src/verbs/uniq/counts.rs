//! `-c`: the number of times that each line occurs.
//!
//! It is known at the end of the input. A file is then read a second time; of a pipe the distinct lines are [`Kept`].

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use mayhap::sets::Fingerprints;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;
use mayhap_program::input::Input;

use super::args::Args;
use super::budget::Budget;
use super::kept::Kept;
use super::summary::Summary;
use crate::block::{Block, LineHash, Share};
use crate::blocks::Blocks;
use crate::output::Output;
use crate::pipeline::{self, Shard, Sink};

/// A hash is its own hash, with its halves exchanged.
#[derive(Default)]
pub(super) struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        // The first bits of a hash are the same in all of a shard, and a table goes by them and by the last.
        self.0.rotate_left(32)
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("hashes are u64")
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Hashes what is a hash already, by a function drawn at random.
type OwnHash = BuildHasherDefault<Itself>;

/// Counts in a first pass, and prints in a second, or from the lines that were kept.
pub(super) fn run(args: &mut Args, sources: &[Input], global: &Global) -> Result<Exit> {
    let budget = Budget::new(args.memory, &mut args.key.lines);
    let (hash, threads) = (LineHash::fresh()?, global.threads());
    let mut counter = Counter {
        own: budget.is_given().then(|| Counts::new(budget, 1)),
        answers: Vec::new(),
        lines: 0,
        kept: budget.kept(sources),
    };
    let shards = pipeline::many_shards(threads);
    let mut counts = match budget.is_given() {
        true => Vec::new(),
        false => (0..shards)
            .map(|_| Counts::new(budget, shards as u64))
            .collect(),
    };
    let first = blocks(args, sources, &hash)?;
    let failed = pipeline::run_first(first, threads, &mut counts, &mut counter)?;
    counts.extend(counter.own);
    let distinct = counts.iter().map(|counts| counts.map.len() as u64).sum();
    let hashes = counts.iter().map(Counts::bytes).sum();
    let summary = Summary::of_hashes(counter.lines, distinct, hashes, counter.kept.as_ref());

    let mut counted: Vec<Counted> = counts
        .into_iter()
        .map(|counts| Counted(counts.map))
        .collect();
    let mut printer = Printer {
        output: args.open_output()?,
        head: Vec::new(),
    };
    match counter.kept {
        Some(kept) => kept.each(|hash, line| {
            let shards = counted.len();
            let times = match hash {
                Some(hash) => counted[Fingerprints::shard_of(hash, shards)].take(hash)?,
                None => 0,
            };
            printer.print(times, line)
        })?,
        None => {
            let second = blocks(args, sources, &hash)?;
            pipeline::run_sharded(second, threads, &mut counted, &mut printer)?;
        }
    }
    printer.output.flush()?;
    failed.map_or(Ok(()), Err)?;
    summary.print(global);
    Ok(Exit::Success)
}

/// The lines of the inputs, from their beginning.
pub(super) fn blocks(args: &Args, sources: &[Input], hash: &LineHash) -> Result<Blocks> {
    let sources = sources.iter().map(Input::again).collect::<Result<_>>()?;
    Ok(Blocks::new(sources, &args.key, Some(hash.clone())))
}

/// The number of times that each hash of a shard occurred.
struct Counts {
    map: HashMap<u64, u64, OwnHash>,
    budget: Budget,
    /// The number of shards.
    of: u64,
}

impl Counts {
    fn new(budget: Budget, of: u64) -> Counts {
        Counts {
            map: HashMap::default(),
            budget,
            of,
        }
    }

    /// Counts each key, and appends 1 where it is the first. Calls `room` with the bytes of the budget that are left for
    /// others, when they are fewer than before.
    fn count(
        &mut self,
        keys: Share<'_>,
        answers: &mut Vec<u64>,
        mut room: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        for hash in keys.hashes() {
            // A key that is there already needs no room, and must not fail for want of it.
            if self.map.len() == self.map.capacity() && !self.map.contains_key(&hash) {
                self.make_room(&mut room)?;
            }
            let count = self.map.entry(hash).or_insert(0);
            *count += 1;
            answers.push(u64::from(*count == 1));
        }
        Ok(())
    }

    /// Room for one more, or an error instead of the abort that an insert without room is.
    #[cold]
    fn make_room(&mut self, room: &mut impl FnMut(u64) -> Result<()>) -> Result<()> {
        let (budget, distinct) = (self.budget, self.map.len() as u64 * self.of);
        let spent = || budget.spent("count", distinct);
        // It doubles, and both sizes are in memory while it does.
        let left = budget.bytes.checked_sub(3 * self.bytes());
        room(left.ok_or_else(spent)?)?;
        self.map.try_reserve(1).map_err(|_| spent())?;
        room(budget.bytes.saturating_sub(self.bytes()))
    }

    /// The bytes of memory that the counts take.
    fn bytes(&self) -> u64 {
        // A hash table has room for seven eighths of its entries, each with a byte besides.
        let entries = self.map.capacity() as u64 * 8 / 7;
        entries * (size_of::<(u64, u64)>() as u64 + 1)
    }
}

impl Shard for Counts {
    fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()> {
        self.count(keys, answers, |_| Ok(()))
    }
}

/// Counts lines, and keeps the first of each key where the input cannot be read twice.
struct Counter {
    /// All counts, where a budget is for them and for lines.
    own: Option<Counts>,
    answers: Vec<u64>,
    lines: u64,
    kept: Option<Kept>,
}

impl Sink for Counter {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.lines += block.count() as u64;
        let mut first = block.answers();
        if let Some(own) = &mut self.own {
            self.answers.clear();
            own.count(block.of_shard(0), &mut self.answers, |left| {
                let kept = self.kept.as_mut();
                kept.map_or(Ok(()), |kept| kept.keep_to(left))
            })?;
            first = &self.answers;
        }
        match &mut self.kept {
            Some(kept) => kept.push_lines(block, first.iter().map(|first| *first == 1)),
            None => Ok(()),
        }
    }
}

/// The counts of a shard: zero once a line is printed.
struct Counted(HashMap<u64, u64, OwnHash>);

impl Counted {
    /// Returns how often a key occurred when first called, and zero after that.
    fn take(&mut self, hash: u64) -> Result<u64> {
        Ok(std::mem::take(self.0.get_mut(&hash).ok_or_else(changed)?))
    }
}

impl Shard for Counted {
    fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()> {
        for hash in keys.hashes() {
            answers.push(self.take(hash)?);
        }
        Ok(())
    }
}

struct Printer {
    output: Output,
    /// The text before a line.
    head: Vec<u8>,
}

impl Printer {
    /// Prints a line after its count, if it has one.
    fn print(&mut self, times: u64, line: &[u8]) -> Result<()> {
        self.head.clear();
        if times > 0 {
            write_count(times, &mut self.head);
        }
        self.output.write(&self.head)?;
        self.output.write(line)
    }
}

impl Sink for Printer {
    fn take(&mut self, block: &Block) -> Result<()> {
        let mut answers = block.answers().iter();
        for row in block.rows() {
            let times = match row.has_key {
                true => *answers.next().ok_or_else(changed)?,
                false => 0,
            };
            if times > 0 || !row.has_key && row.is_printed {
                self.print(times, row.bytes)?;
            }
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}

/// Appends a count as uniq -c has it: in seven places, and a blank.
fn write_count(times: u64, head: &mut Vec<u8>) {
    // A format takes 50 ns, as much as all else that is done with a line.
    let mut digits = [b' '; 20];
    let (mut left, mut start) = (times, digits.len());
    while left > 0 {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    head.extend_from_slice(&digits[start.min(digits.len() - 7)..]);
    head.push(b' ');
}

fn changed() -> Failure {
    Failure::new("the input changed while it was read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_written_as_the_format_of_uniq_writes_it() {
        for times in [1, 9, 10, 123_456, 9_999_999, 12_345_678, u64::MAX] {
            let mut head = Vec::new();
            write_count(times, &mut head);
            assert_eq!(String::from_utf8_lossy(&head), format!("{times:7} "));
        }
    }
}
