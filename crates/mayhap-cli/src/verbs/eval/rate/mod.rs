//! `mayhap eval rate`: is the promised rate true, on these keys?
//!
//! Every filter is filled step by step from 10 % of its capacity to 300 %, and asked at each step for keys
//! that were never inserted. The prediction it is held against is that for *distinct* keys: a repeat sets
//! no bit, so counting it as a key makes any filter look better than theory.

mod page;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

use clap::Args as ClapArgs;
use mayhap::Description;

use super::Run;
use super::contenders::{Absent, Contender, ContenderArgs};
use super::data::{Data, DataArgs, capacity};
use super::fill::{Filled, fill};
use super::report::ReportArgs;
use super::survey::{Survey, count_members};
use crate::amounts;
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// The capacity of an experiment with drawn keys, unless given.
const CAPACITY: u64 = 1_000_000;

/// The most keys in a filter of the second part, which compares rates and not loads.
const SPACE_KEYS: u64 = 200_000;

/// The rates of the second part.
const SPACE_RATES: [f64; 6] = [0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4];

/// Fills filters of each kind and asks them for keys that were never inserted: the measured rate with its
/// 95 % confidence interval against the predicted one, from 10 % to 300 % of capacity; bits per key against
/// what information theory needs; and a check that no inserted key is ever denied. Exits with 2 if one is.
#[derive(Debug, ClapArgs)]
pub(in crate::verbs) struct Args {
    #[command(flatten)]
    data: DataArgs,

    /// The number of keys the filters are for, such as 10M: a million, or all distinct keys of the files,
    /// unless given
    #[arg(short = 'n', long, value_name = "N", value_parser = capacity)]
    capacity: Option<u64>,

    /// The rate promised at that many keys
    #[arg(short = 'p', long, value_name = "P", default_value = "1%", value_parser = amounts::rate)]
    rate: f64,

    #[command(flatten)]
    filters: ContenderArgs,

    /// The loads to measure at, such as 50%,100%,200%
    #[arg(long, value_name = "LOAD", value_delimiter = ',', value_parser = load,
          default_value = "10%,25%,50%,75%,100%,125%,150%,200%,250%,300%")]
    loads: Vec<f64>,

    /// How many keys are asked for at each load
    #[arg(short, long, value_name = "N", default_value = "1M", value_parser = capacity)]
    queries: u64,

    #[command(flatten)]
    report: ReportArgs,
}

fn load(text: &str) -> std::result::Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|load| load / 100.0),
        None => text.parse::<f64>(),
    };
    let load = number.ok().filter(|load| (0.001..=100.0).contains(load));
    load.ok_or_else(|| format!("`{text}` is not a load from 0.1% to 10000%, such as 50% or 1.5"))
}

/// Which part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// One filter, ever fuller.
    Load,
    /// Filters for other rates, filled to capacity.
    Space,
}

/// What was measured at one step of one filter.
struct Record {
    part: Part,
    contender: usize,
    /// The promise.
    capacity: u64,
    promised: f64,
    filled: Filled,
}

impl Record {
    fn load(&self) -> f64 {
        self.filled.step.distinct as f64 / self.capacity as f64
    }
}

/// One filter to be filled: part, contender, promise.
struct Job<'a> {
    part: Part,
    contender: usize,
    description: Description,
    capacity: u64,
    promised: f64,
    survey: &'a Survey,
}

impl Job<'_> {
    fn record(&self, filled: Filled) -> Record {
        Record {
            part: self.part,
            contender: self.contender,
            capacity: self.capacity,
            promised: self.promised,
            filled,
        }
    }
}

/// All that was measured, and what it was measured on.
struct Outcome {
    contenders: Vec<Contender>,
    absent: Vec<Absent>,
    records: Vec<Record>,
    data: String,
    capacity: u64,
    /// Whether each load was asked for keys of its own.
    asks_others_each_step: bool,
    is_whole: bool,
}

impl Args {
    pub(in crate::verbs) fn run(mut self, global: &Global) -> Result<Exit> {
        self.loads.sort_by(f64::total_cmp);
        self.loads.dedup();
        let run = Run::start(global)?;
        let destination = self.report.open(global)?;
        let data = self.data.open(global.quiet)?;
        let mut repeats = 1.0;
        let mut members = u64::MAX;
        if data.is_finite() {
            run.say("counting keys");
            let all = count_members(&data, &run)?;
            repeats = all.inserts as f64 / all.distinct as f64;
            members = all.inserts;
            self.capacity = self.capacity.or(Some(all.distinct));
        }
        let capacity = self.capacity.unwrap_or(CAPACITY);
        let (contenders, absent) = self.filters.contenders(capacity, self.rate)?;

        let inserts = |load: &f64| ((load * capacity as f64 * repeats).round() as u64).max(1);
        let mut steps: Vec<u64> = self.loads.iter().map(inserts).collect();
        steps.dedup();
        // A file ends where it ends.
        steps.retain(|inserts| *inserts <= members);
        if steps.is_empty() {
            steps.push(members);
        }
        let space_inserts = (SPACE_KEYS.min(capacity) as f64 * repeats) as u64;
        let space_inserts = space_inserts.clamp(1, members);
        let work = Work {
            contenders: contenders.len() as u64,
            steps: &steps,
            space_inserts,
            queries: self.queries,
        };
        run.expect(work.keys(&data));
        run.say("counting distinct keys");
        let survey = Survey::new(&data, &steps, self.queries, &run)?;
        let space = Survey::new(&data, &[space_inserts], self.queries, &run)?;
        let jobs = self.jobs(&contenders, capacity, &survey, &space)?;
        let records = fill_all(jobs, &contenders, &data, &run, global.threads())?;
        let exit = run.end(global);
        let checked = records.iter().filter_map(|record| record.filled.checked);
        let denied: u64 = checked.map(|checked| checked.denied).sum();
        let outcome = Outcome {
            contenders,
            absent,
            records,
            data: data.name(),
            capacity,
            asks_others_each_step: survey.asks_others_each_step,
            is_whole: !run.is_interrupted(),
        };
        destination.publish(&page::report(&self, &outcome), global)?;
        if denied > 0 {
            return Err(
                Failure::new(format!("{denied} lookups of inserted keys were denied")).hint(
                    "this must never happen: please report it, with the command and its data",
                ),
            );
        }
        Ok(exit)
    }

    /// A filter of each contender that is overfilled, and one for each of the rates.
    fn jobs<'a>(
        &self,
        contenders: &[Contender],
        capacity: u64,
        survey: &'a Survey,
        space: &'a Survey,
    ) -> Result<VecDeque<Job<'a>>> {
        let mut jobs = VecDeque::new();
        for (contender, known) in contenders.iter().enumerate() {
            jobs.push_back(Job {
                part: Part::Load,
                contender,
                description: known.plan(capacity, self.rate)?,
                capacity,
                promised: self.rate,
                survey,
            });
        }
        let capacity = space.steps[0].distinct;
        for (contender, known) in contenders.iter().enumerate() {
            for promised in SPACE_RATES {
                // A kind need not have every rate.
                let Ok(description) = known.plan(capacity, promised) else {
                    continue;
                };
                jobs.push_back(Job {
                    part: Part::Space,
                    contender,
                    description,
                    capacity,
                    promised,
                    survey: space,
                });
            }
        }
        Ok(jobs)
    }
}

/// How long the run will be.
struct Work<'a> {
    contenders: u64,
    steps: &'a [u64],
    space_inserts: u64,
    queries: u64,
}

impl Work<'_> {
    /// The keys that will be drawn, inserted or asked for.
    fn keys(&self, data: &Data) -> u64 {
        let last = self.steps.last().copied().unwrap_or(0);
        let surveys = match data.is_distinct() {
            true => 0,
            false => last + self.space_inserts + (self.steps.len() as u64 + 1) * self.queries,
        };
        let load = 3 * last + self.steps.len() as u64 * self.queries;
        let space = SPACE_RATES.len() as u64 * (2 * self.space_inserts + self.queries);
        surveys + self.contenders * (load + space)
    }
}

/// Does the jobs, on as many threads at a time.
fn fill_all(
    jobs: VecDeque<Job<'_>>,
    contenders: &[Contender],
    data: &Data,
    run: &Run,
    threads: usize,
) -> Result<Vec<Record>> {
    let jobs = Mutex::new(jobs);
    let records = Mutex::new(Vec::new());
    let failure = Mutex::new(None);
    let work = || {
        while let Some(job) = take(&jobs).filter(|_| !run.is_interrupted()) {
            run.say(&contenders[job.contender].name);
            let keep = |filled| lock(&records).push(job.record(filled));
            match fill(&job.description, job.capacity, data, job.survey, run, keep) {
                Err(_) if run.is_interrupted() => {}
                Err(wrong) => {
                    lock(&jobs).clear();
                    *lock(&failure) = Some(wrong);
                }
                Ok(()) => {}
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    match lock(&failure).take() {
        Some(failure) => Err(failure),
        None => {
            let mut records = std::mem::take(&mut *lock(&records));
            // Jobs end in any order; the steps of each came in theirs.
            records.sort_by(|a: &Record, b| {
                let part = |record: &Record| (record.part != Part::Load, record.contender);
                part(a)
                    .cmp(&part(b))
                    .then(b.promised.total_cmp(&a.promised))
            });
            Ok(records)
        }
    }
}

fn take<T>(queue: &Mutex<VecDeque<T>>) -> Option<T> {
    lock(queue).pop_front()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics with it")
}
