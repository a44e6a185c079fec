//! `mayhap-lab speed`: the cost of an insert and a lookup, and how near that is to the memory's limit.
//!
//! Keys of eight bytes are made before the clock starts. A filter and the limit of memory of its size are
//! timed in turns, so that a slow moment of the machine falls on both; the first turn does not count.

mod hashes;
mod page;
mod passes;

use mayhap::hash::mix;
use mayhap::{AnyFilter, Description};
use mayhap_lab::Light;
use mayhap_program::amounts::{self, show_count};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Result, note};
use mayhap_program::global::Global;

use crate::contenders::{Absent, Contender, ContenderArgs, Fills};
use crate::data::capacity;
use crate::report::ReportArgs;
use crate::run::Run;
use passes::{Keys, Mode, Shared, Times, ask, insert, nanoseconds};

/// The most keys in a pass: too many for a branch predictor to learn, few enough to be stored.
const MOST_KEYS: u64 = 1 << 20;

/// The fewest keys that are timed: small filters repeat theirs.
const FEWEST_KEYS: u64 = 1 << 17;

/// The approximate time per key, on average over the kinds and sizes of a run without options, and the limit beside it:
/// 110 s for 2.4 thousand million keys on two cores of an AMD EPYC.
const SECONDS_PER_KEY: f64 = 46e-9;

/// Measures inserts and lookups, single and batched, on one thread and many.
///
/// Times inserts, hits, misses and a mixture of them, key by key and in batches, on one thread and on more,
/// for filters of the sizes you name; hash functions alone; and beside them what the memory of this machine
/// allows, one random cache line per key.
///
/// Exit codes: 0 when it was measured, 2 on an error or after an interruption.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The sizes of the filters, in keys
    #[arg(short = 'n', long = "capacity", value_name = "N", value_delimiter = ',',
          default_value = "10k,100k,1M,10M", value_parser = capacity)]
    sizes: Vec<u64>,

    /// The rate the filters are made for
    #[arg(short = 'p', long, value_name = "P", default_value = "1%", value_parser = amounts::rate)]
    rate: f64,

    /// The number of turns that count
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    #[command(flatten)]
    filters: ContenderArgs,

    #[command(flatten)]
    report: ReportArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap-lab speed                                     every kind, in about two minutes
  mayhap-lab speed -n 1M,100M --kind blocked,bloom     two kinds, in a cache and far beyond it
  mayhap-lab speed --report speed.html                 and a page with pictures";

/// The timed operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Insert,
    Hit,
    Miss,
    /// Hits and misses, in random order.
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
    /// The filter's keys; `None` for a hash function.
    keys: Option<u64>,
    /// The filter's bytes, or those of a key that is hashed.
    bytes: u64,
    threads: usize,
    times: Times,
    /// The limit of the memory.
    limit: Option<f64>,
}

/// All times.
struct Outcome {
    contenders: Vec<Contender>,
    absent: Vec<Absent>,
    records: Vec<Record>,
    is_whole: bool,
}

impl Args {
    pub(crate) fn run(mut self, global: &Global) -> Result<Exit> {
        self.sizes.sort_unstable();
        self.sizes.dedup();
        let (contenders, absent) =
            self.filters
                .contenders(self.sizes[0], self.rate, Fills::KeyByKey)?;
        let run = Run::start()?;
        let destination = self.report.open(global)?;
        let threads = thread_counts(global.threads());
        let keys = contenders.len() as u64 * self.keys(threads.len() as u64);
        run.expect(keys);
        note(format_args!(
            "timing {} filters of {} sizes in {} rounds: {} keys, about {} s; the table follows",
            contenders.len(),
            self.sizes.len(),
            self.rounds + 1,
            show_count(keys),
            (keys as f64 * SECONDS_PER_KEY).ceil()
        ));
        let mut records = Vec::new();
        run.say("hash functions");
        let measured = self.time_all(&contenders, &threads, &run, &mut records);
        match measured {
            Err(_) if run.is_interrupted() => {}
            done => done?,
        }
        let exit = run.end();
        let outcome = Outcome {
            contenders,
            absent,
            records,
            is_whole: !run.is_interrupted(),
        };
        destination.publish(&page::report(&self, &outcome), global)?;
        Ok(exit)
    }

    fn time_all(
        &self,
        contenders: &[Contender],
        threads: &[usize],
        run: &Run,
        records: &mut Vec<Record>,
    ) -> Result<()> {
        hashes::hashes(self.rounds, run, records)?;
        for &size in &self.sizes {
            for contender in contenders {
                run.say(&contender.name);
                let description = contender.plan(size, self.rate)?;
                let mut clock = Clock {
                    contender,
                    limit: Light::new(description.bits)?,
                    description,
                    size,
                    turns: u64::from(self.rounds) + 1,
                    run,
                    records,
                };
                clock.time(threads)?;
            }
        }
        Ok(())
    }

    /// The keys that one contender's filters will insert or look up.
    fn keys(&self, threads: u64) -> u64 {
        let turns = u64::from(self.rounds) + 1;
        let per_size = |size: &u64| {
            let inserts = match *size <= MOST_KEYS {
                true => 2 * turns * size.max(&FEWEST_KEYS),
                false => *size,
            };
            inserts + turns * size.clamp(&FEWEST_KEYS, &MOST_KEYS) * (8 * threads - 2)
        };
        self.sizes.iter().map(per_size).sum()
    }
}

/// The filters of one contender and one size, on the clock.
struct Clock<'a> {
    contender: &'a Contender,
    description: Description,
    size: u64,
    limit: Light,
    /// The number of turns, including the one that does not count.
    turns: u64,
    run: &'a Run,
    records: &'a mut Vec<Record>,
}

impl Clock<'_> {
    fn time(&mut self, threads: &[usize]) -> Result<()> {
        let filter = self.time_inserts()?;
        for &threads in threads {
            self.time_lookups(&filter, threads)?;
        }
        let Some(shared) = Shared::of(filter) else {
            return Ok(());
        };
        for &threads in threads.iter().filter(|threads| **threads > 1) {
            self.time_shared_inserts(&shared, threads)?;
        }
        Ok(())
    }

    /// Times the inserts of new keys, and returns the full filter.
    fn time_inserts(&mut self) -> Result<AnyFilter> {
        let mut filter = AnyFilter::new(&self.description)?;
        let is_small = self.size <= MOST_KEYS;
        // The last keys of a large filter are timed, the others inserted before; a small one is
        // filled again in each turn, or several are.
        let count = match is_small {
            true => self.size,
            false => MOST_KEYS.min(self.size / (4 * self.turns)),
        };
        let mut inserted = 0;
        if !is_small {
            let before = self.size - 2 * self.turns * count;
            while inserted < before {
                let next = before.min(inserted + MOST_KEYS);
                insert(
                    filter.as_insert()?,
                    &Keys::of(inserted..next),
                    Mode::Batched,
                );
                self.run.advance(next - inserted)?;
                inserted = next;
            }
        }
        for mode in Mode::ALL {
            let (mut times, mut limits) = (Vec::new(), Vec::new());
            for turn in 0..self.turns {
                let again = if is_small {
                    (FEWEST_KEYS / self.size).max(1)
                } else {
                    1
                };
                let mut sum = 0.0;
                for _ in 0..again {
                    if is_small {
                        filter = AnyFilter::new(&self.description)?;
                        inserted = 0;
                    }
                    let keys = Keys::of(inserted..inserted + count);
                    sum += insert(filter.as_insert()?, &keys, mode);
                    inserted += count;
                    self.run.advance(count)?;
                }
                times.push(sum / again as f64);
                let keys = FEWEST_KEYS.max(count);
                limits.push(clocked(keys, turn, |keys| self.limit.write_ahead(keys)));
            }
            self.keep(Operation::Insert, mode, 1, times, limits)?;
        }
        Ok(filter)
    }

    fn time_lookups(&mut self, filter: &AnyFilter, threads: usize) -> Result<()> {
        let asked = self.asked();
        let size = self.size;
        let questions = [
            (
                Operation::Hit,
                Keys::of((0..asked).map(|i| member(i, size))),
            ),
            (Operation::Miss, Keys::of((0..asked).map(absent))),
            (
                Operation::Mixed,
                Keys::of((0..asked).map(|i| match mix(!i) % 2 {
                    0 => member(i, size),
                    _ => absent(i),
                })),
            ),
        ];
        for (operation, keys) in &questions {
            for mode in Mode::ALL {
                let (mut times, mut limits) = (Vec::new(), Vec::new());
                for turn in 0..self.turns {
                    times.push(ask(filter, keys, mode, threads));
                    if threads == 1 {
                        limits.push(clocked(asked, turn, |keys| self.limit.read_ahead(keys)));
                    }
                    self.run.advance(asked)?;
                }
                self.keep(*operation, mode, threads, times, limits)?;
            }
        }
        Ok(())
    }

    /// Times inserts of keys that are already there: they load the same lines as new ones, and the
    /// filter stays as full as it is.
    fn time_shared_inserts(&mut self, filter: &Shared, threads: usize) -> Result<()> {
        let asked = self.asked();
        let size = self.size;
        for mode in Mode::ALL {
            let mut times = Vec::new();
            for turn in 0..self.turns {
                let draws = turn * asked..(turn + 1) * asked;
                let keys = Keys::of(draws.map(|i| member(i, size)));
                times.push(filter.insert(&keys, mode, threads));
                self.run.advance(asked)?;
            }
            self.keep(Operation::Insert, mode, threads, times, Vec::new())?;
        }
        Ok(())
    }

    /// The number of keys in a timed pass of lookups.
    fn asked(&self) -> u64 {
        self.size.clamp(FEWEST_KEYS, MOST_KEYS)
    }

    fn keep(
        &mut self,
        operation: Operation,
        mode: Mode,
        threads: usize,
        times: Vec<f64>,
        limits: Vec<f64>,
    ) -> Result<()> {
        // The first turn finds cold caches and untouched memory.
        let counted = |times: Vec<f64>| Times::of(times.into_iter().skip(1).collect());
        self.records.push(Record {
            subject: self.contender.name.clone(),
            operation,
            mode,
            keys: Some(self.size),
            bytes: self.description.bits.div_ceil(8),
            threads,
            times: counted(times)?,
            limit: match limits.is_empty() {
                true => None,
                false => Some(counted(limits)?.median),
            },
        });
        Ok(())
    }
}

/// Picks one of the first `size` keys at random.
fn member(draw: u64, size: u64) -> u64 {
    ((u128::from(mix(draw)) * u128::from(size)) >> 64) as u64
}

/// Returns a key that is in no filter.
fn absent(index: u64) -> u64 {
    1 << 63 | index
}

/// The nanoseconds per key of a pass over memory, by other keys in every turn.
fn clocked(count: u64, turn: u64, pass: impl FnOnce(&[u64]) -> u64) -> f64 {
    let first = mix(turn);
    let keys: Vec<u64> = (0..count).map(|key| mix(first.wrapping_add(key))).collect();
    let start = std::time::Instant::now();
    std::hint::black_box(pass(&keys));
    nanoseconds(start, keys.len())
}

/// One thread, two, four … and all.
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
