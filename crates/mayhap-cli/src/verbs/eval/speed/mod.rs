//! `mayhap eval speed`: what an insert and a lookup cost, and how near that is to the memory's limit.
//!
//! Keys of eight bytes are made before the clock starts. A filter and the limit of memory of its size are
//! timed in turns, so that a slow moment of the machine falls on both; the first turn does not count.

mod hashes;
mod limit;
mod page;
mod passes;

use mayhap::{AnyFilter, Assemble as _};

use super::Run;
use super::contenders::{Absent, Contender, ContenderArgs};
use super::data::{capacity, mix};
use super::report::ReportArgs;
use crate::amounts;
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use limit::Limit;
use passes::{Keys, Mode, Shared, Times, ask, insert, nanoseconds};

/// The most keys in a pass: too many for a branch predictor to learn, few enough to be stored.
const MOST_KEYS: u64 = 1 << 20;

/// Times inserts, hits, misses and a mixture of them, key by key and in batches, on one thread and on more,
/// for filters of the sizes you name; hash functions alone; and beside them what the memory of this machine
/// allows, one random cache line per key.
#[derive(Debug, clap::Args)]
pub(in crate::verbs) struct Args {
    /// The sizes of the filters, in keys
    #[arg(short = 'n', long = "capacity", value_name = "N", value_delimiter = ',',
          default_value = "10k,100k,1M,10M", value_parser = capacity)]
    sizes: Vec<u64>,

    /// The rate the filters are made for
    #[arg(short = 'p', long, value_name = "P", default_value = "1%", value_parser = amounts::rate)]
    rate: f64,

    /// How many turns count
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    #[command(flatten)]
    filters: ContenderArgs,

    #[command(flatten)]
    report: ReportArgs,
}

/// What was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Insert,
    Hit,
    Miss,
    /// Hits and misses, in no order.
    Mixed,
    Hash,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Insert => "insert",
            Operation::Hit => "hit",
            Operation::Miss => "miss",
            Operation::Mixed => "mixed",
            Operation::Hash => "hash",
        }
    }
}

/// One time.
struct Record {
    /// The filter or the hash function.
    subject: String,
    operation: Operation,
    mode: Mode,
    /// The filter's keys, or none for a hash function.
    keys: Option<u64>,
    /// The filter's bytes, or those of a key that is hashed.
    bytes: u64,
    threads: usize,
    times: Times,
    /// What the memory allows.
    limit: Option<f64>,
}

/// All that was timed.
struct Outcome {
    contenders: Vec<Contender>,
    absent: Vec<Absent>,
    records: Vec<Record>,
    is_whole: bool,
}

impl Args {
    pub(in crate::verbs) fn run(mut self, global: &Global) -> Result<Exit> {
        self.sizes.sort_unstable();
        self.sizes.dedup();
        let destination = self.report.open()?;
        let (contenders, absent) = self.filters.contenders(self.sizes[0], self.rate)?;
        let run = Run::start(global)?;
        let threads = thread_counts(global.threads());
        let all: u64 = self.sizes.iter().sum();
        let passes = u64::from(self.rounds + 1) * MOST_KEYS * 8 * threads.len() as u64;
        let per_contender = all + passes * self.sizes.len() as u64;
        run.expect(contenders.len() as u64 * per_contender);
        let mut records = Vec::new();
        run.say("hash functions");
        let mut measured = hashes::hashes(self.rounds, &run, &mut records);
        for (contender, size) in self
            .sizes
            .iter()
            .flat_map(|size| contenders.iter().map(move |one| (one, *size)))
        {
            if measured.is_err() {
                break;
            }
            run.say(&contender.name);
            measured = self.time(contender, size, &threads, &run, &mut records);
        }
        match measured {
            Err(_) if run.is_interrupted() => {}
            done => done?,
        }
        let exit = run.end(global);
        let outcome = Outcome {
            contenders,
            absent,
            records,
            is_whole: !run.is_interrupted(),
        };
        destination.publish(&page::report(&self, &outcome), global)?;
        Ok(exit)
    }

    /// Times one filter.
    fn time(
        &self,
        contender: &Contender,
        size: u64,
        threads: &[usize],
        run: &Run,
        records: &mut Vec<Record>,
    ) -> Result<()> {
        let description = contender.plan(size, self.rate)?;
        let mut filter = AnyFilter::new(&description)?;
        let bits = filter.description().bits;
        let mut limit = Limit::new(bits)?;
        let turns = u64::from(self.rounds) + 1;
        let count = (size / (4 * turns)).clamp(1, MOST_KEYS);
        let mut keep =
            |operation, mode, threads, times: Vec<f64>, limits: Vec<f64>| -> Result<()> {
                // The first turn finds cold caches and untouched memory.
                let counted = |times: Vec<f64>| Times::of(times.into_iter().skip(1).collect());
                records.push(Record {
                    subject: contender.name.clone(),
                    operation,
                    mode,
                    keys: Some(size),
                    bytes: bits.div_ceil(8),
                    threads,
                    times: counted(times)?,
                    limit: match limits.is_empty() {
                        true => None,
                        false => Some(counted(limits)?.median),
                    },
                });
                Ok(())
            };

        // The last keys are inserted on the clock: half of them singly, half in batches.
        let mut inserted = size.saturating_sub(2 * turns * count);
        for first in (0..inserted).step_by(MOST_KEYS as usize) {
            let last = inserted.min(first + MOST_KEYS);
            insert(filter.as_insert()?, &Keys::of(first..last), Mode::Batched);
            run.advance(last - first)?;
        }
        for mode in Mode::ALL {
            let (mut times, mut limits) = (Vec::new(), Vec::new());
            for turn in 0..turns {
                let keys = Keys::of(inserted..inserted + count);
                inserted += count;
                times.push(insert(filter.as_insert()?, &keys, mode));
                limits.push(clocked(count, |keys| limit.write(keys, mix(turn))));
                run.advance(count)?;
            }
            keep(Operation::Insert, mode, 1, times, limits)?;
        }

        // Members are the numbers below `inserted`, strangers those from 2^63 on.
        let asked = size.clamp(1024, MOST_KEYS);
        let member = |i: u64| ((u128::from(mix(i)) * u128::from(inserted)) >> 64) as u64;
        let stranger = |i: u64| 1 << 63 | i;
        let questions = [
            (Operation::Hit, Keys::of((0..asked).map(member))),
            (Operation::Miss, Keys::of((0..asked).map(stranger))),
            (
                Operation::Mixed,
                Keys::of((0..asked).map(|i| {
                    if mix(!i) % 2 == 0 {
                        member(i)
                    } else {
                        stranger(i)
                    }
                })),
            ),
        ];
        for &threads in threads {
            for (operation, keys) in &questions {
                for mode in Mode::ALL {
                    let (mut times, mut limits) = (Vec::new(), Vec::new());
                    for turn in 0..turns {
                        times.push(ask(&filter, keys, mode, threads));
                        if threads == 1 {
                            limits.push(clocked(asked, |keys| limit.read(keys, mix(turn))));
                        }
                        run.advance(asked)?;
                    }
                    keep(*operation, mode, threads, times, limits)?;
                }
            }
        }

        let shared = threads.iter().copied().filter(|threads| *threads > 1);
        let Some(filter) = Shared::of(filter) else {
            return Ok(());
        };
        for threads in shared {
            for mode in Mode::ALL {
                let mut times = Vec::new();
                for turn in 0..turns {
                    // Keys that are there already: the same lines are brought in, and the filter stays as full.
                    let first = turn * count % inserted.max(1);
                    let keys = Keys::of(first..first + count);
                    times.push(filter.insert(&keys, mode, threads));
                    run.advance(count)?;
                }
                keep(Operation::Insert, mode, threads, times, Vec::new())?;
            }
        }
        Ok(())
    }
}

/// The nanoseconds per key of a pass over memory.
fn clocked(keys: u64, pass: impl FnOnce(u64) -> u64) -> f64 {
    let start = std::time::Instant::now();
    std::hint::black_box(pass(keys));
    nanoseconds(start, keys as usize)
}

/// One thread, two, four … and as many as there are.
fn thread_counts(most: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
        .take_while(|count| *count < most)
        .collect();
    counts.push(most);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_all_of_them() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(thread_counts(2), [1, 2]);
        assert_eq!(thread_counts(6), [1, 2, 4, 6]);
    }
}
