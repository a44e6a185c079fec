//! `mayhap-lab rate`: is the promised rate true, on these keys?
//!
//! Every filter is filled step by step from 10 % of its capacity to 300 %, and at each step absent keys are looked up.
//! The rate is compared with the prediction for *distinct* keys: a repeat sets no bit, so counting it as a key makes
//! any filter look better than theory. The prediction is the formula of the kind, never the filter's own estimate, and
//! includes the spread of the rates of such filters ([`mayhap_lab::spreads`]).

mod charts;
mod findings;
mod page;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

use clap::Args as ClapArgs;
use mayhap::Description;
use mayhap_lab::{Expected, Role, spreads};
use mayhap_program::amounts;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;

use crate::contenders::{Absent, Contender, ContenderArgs, Fills};
use crate::data::{Data, DataArgs, capacity};
use crate::fill::{Filled, fill};
use crate::report::ReportArgs;
use crate::run::Run;
use crate::survey::{Survey, count_keys};

/// The capacity of an experiment with drawn keys, unless given.
const CAPACITY: u64 = 1_000_000;

/// The most keys in a filter of the second part, which compares rates and not loads.
const SPACE_KEYS: u64 = 200_000;

/// The rates of the second part.
const SPACE_RATES: [f64; 6] = [0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4];

/// Measures the false-positive rate against the one predicted, at many loads.
///
/// Fills filters of each kind and asks them for keys that were never inserted: the measured rate against what 95 % of
/// all such filters have if the kind's formula is true, from 10 % to 300 % of capacity; bits per key against what
/// information theory needs; and a check that no inserted key is ever denied.
///
/// Exit codes: 0 when it was measured, 2 on an error, after an interruption, or if an inserted key was denied.
#[derive(Debug, ClapArgs)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
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

    /// The number of keys to look up at each load: a million, or all of --asked, unless given
    #[arg(short, long, value_name = "N", value_parser = capacity)]
    queries: Option<u64>,

    /// Also measure filters of the same size with these numbers of hashes, such as 1-12 or 4,6,8, where the kind leaves
    /// the choice
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = hashes)]
    hashes: Vec<(u32, u32)>,

    #[command(flatten)]
    report: ReportArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap-lab rate -n 10M -p 0.1% --data gaussian          drawn keys
  mayhap-lab rate keys.txt --report rate.html             your keys, every kind, and a page
  mayhap-lab rate known.txt --asked questions.txt         your keys, and your own questions
  cut -d' ' -f1 access.log | mayhap-lab rate -            keys that are a part of each line";

fn load(text: &str) -> std::result::Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|load| load / 100.0),
        None => text.parse::<f64>(),
    };
    let load = number.ok().filter(|load| (0.001..=100.0).contains(load));
    load.ok_or_else(|| format!("`{text}` is not a load from 0.1% to 10000%, such as 50% or 1.5"))
}

/// The keys asked for at each load, unless given.
const QUERIES: u64 = 1_000_000;

/// Parses a number of hashes, or the first and the last of several.
fn hashes(text: &str) -> std::result::Result<(u32, u32), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let range = number(first).zip(number(last));
    range
        .filter(|(first, last)| (1..=64).contains(first) && first <= last && *last <= 64)
        .ok_or_else(|| {
            format!("`{text}` is not a number of hashes from 1 to 64, or two such as 1-12")
        })
}

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// One filter, filled more and more.
    Load,
    /// Filters for other rates, filled to capacity.
    Space,
    /// Filters of the same size with other numbers of hashes, filled to capacity.
    Hashes,
}

/// The measurement at one step of one filter.
struct Record {
    part: Part,
    contender: usize,
    /// The promise.
    capacity: u64,
    promised: f64,
    /// The prediction of the kind's formula; `None` if it has none for these keys.
    expected: Option<Expected>,
    filled: Filled,
}

impl Record {
    fn load(&self) -> f64 {
        self.filled.step.distinct as f64 / self.capacity as f64
    }

    /// The rates that 95 % of all runs measure, if the prediction is true.
    fn range(&self) -> Option<(f64, f64)> {
        let asked = self.filled.negatives;
        let range = self.expected.filter(|_| asked > 0)?.range(asked);
        let rate = |events: u64| events as f64 / asked as f64;
        Some((rate(*range.start()), rate(*range.end())))
    }

    /// Returns whether the measured rate is one of them; `None` when nothing was measured or predicted.
    fn is_as_predicted(&self) -> Option<bool> {
        let (low, high) = self.range()?;
        let measured = self.filled.measured()?.rate;
        Some((low..=high).contains(&measured))
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
    /// The spread of the rates of such filters at each step, divided by the predicted rate.
    fn spreads(&self, contender: &Contender) -> Result<Vec<f64>> {
        let steps = self.survey.steps.iter();
        let loads: Vec<f64> = steps
            .map(|step| step.distinct as f64 / self.capacity as f64)
            .collect();
        let plan = |capacity: u64| match self.part {
            Part::Hashes => {
                let hashes = self.description.hashes;
                let plan = contender.plan_with(capacity, self.promised, hashes)?;
                plan.ok_or_else(|| Failure::new("no such number of hashes"))
            }
            Part::Load | Part::Space => contender.plan(capacity, self.promised),
        };
        spreads(plan, self.capacity, &loads)
    }

    fn record(&self, spreads: &[f64], filled: Filled) -> Record {
        let spread = spreads.get(filled.index).copied().unwrap_or(0.0);
        let expected = filled.predicted().map(|rate| Expected {
            rate,
            spread: spread * rate,
        });
        Record {
            part: self.part,
            contender: self.contender,
            capacity: self.capacity,
            // A kind may have another rate than the one asked for.
            promised: self
                .description
                .promise
                .map_or(self.promised, |promise| promise.rate),
            expected,
            filled,
        }
    }
}

/// All measurements, and the keys they were made with.
struct Outcome {
    contenders: Vec<Contender>,
    absent: Vec<Absent>,
    records: Vec<Record>,
    data: String,
    capacity: u64,
    queries: u64,
    /// Set if each load looked up keys of its own.
    asks_others_each_step: bool,
    is_whole: bool,
}

impl Args {
    pub(crate) fn run(mut self, global: &Global) -> Result<Exit> {
        self.loads.sort_by(f64::total_cmp);
        self.loads.dedup();
        let run = Run::start()?;
        let destination = self.report.open(global)?;
        let data = self.data.open()?;
        let mut repeats = 1.0;
        let mut members = u64::MAX;
        if data.is_finite() {
            run.say("counting keys");
            let all = count_keys(&data, Role::Member, &run)?;
            repeats = all.inserts as f64 / all.distinct as f64;
            members = all.inserts;
            self.capacity = self.capacity.or(Some(all.distinct));
        }
        if data.has_questions() && self.queries.is_none() {
            self.queries = Some(count_keys(&data, Role::Absent, &run)?.inserts);
        }
        let queries = self.queries.unwrap_or(QUERIES);
        let capacity = self.capacity.unwrap_or(CAPACITY);
        let filters = &self.filters;
        let (contenders, absent) = filters.contenders(capacity, self.rate, Fills::AnyWay)?;

        let inserts = |load: &f64| ((load * capacity as f64 * repeats).round() as u64).max(1);
        let mut steps: Vec<u64> = self.loads.iter().map(inserts).collect();
        steps.dedup();
        // A file may have fewer keys.
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
            queries,
            others: SPACE_RATES.len() as u64 + self.hashes().count() as u64,
        };
        run.expect(work.keys(&data));
        run.say("counting distinct keys");
        let survey = Survey::new(&data, &steps, queries, &run)?;
        let space = Survey::new(&data, &[space_inserts], queries, &run)?;
        let jobs = self.jobs(&contenders, capacity, &survey, &space)?;
        let records = fill_all(jobs, &contenders, &data, &run, global.threads())?;
        let exit = run.end();
        let checked = records.iter().filter_map(|record| record.filled.checked);
        let denied: u64 = checked.map(|checked| checked.denied).sum();
        let outcome = Outcome {
            contenders,
            absent,
            records,
            data: data.name(),
            capacity,
            queries,
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

    /// The numbers of hashes to measure with, each once.
    fn hashes(&self) -> impl Iterator<Item = u32> {
        (1..=64).filter(|hashes| {
            self.hashes
                .iter()
                .any(|(first, last)| (first..=last).contains(&hashes))
        })
    }

    /// Makes a job for each contender that is overfilled, and for each of the rates and numbers of hashes.
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
            let mut push = |part, promised, description| {
                jobs.push_back(Job {
                    part,
                    contender,
                    description,
                    capacity,
                    promised,
                    survey: space,
                });
            };
            // Not every kind can have every rate, and a kind with a rate of its own is measured once.
            for promised in SPACE_RATES {
                let plan = known.plan(capacity, promised).ok();
                let has = |plan: &Description| plan.promise.is_none_or(|own| own.rate == promised);
                if let Some(description) = plan.filter(has) {
                    push(Part::Space, promised, description);
                }
            }
            let plan = |hashes| known.plan_with(capacity, self.rate, hashes).ok().flatten();
            let plans: Vec<Description> = self.hashes().filter_map(plan).collect();
            // A filter that can only have its own number has no choice.
            if plans.len() > 1 || self.hashes().count() == 1 {
                plans
                    .into_iter()
                    .for_each(|plan| push(Part::Hashes, self.rate, plan));
            }
        }
        Ok(jobs)
    }
}

/// The amount of work of the run.
struct Work<'a> {
    contenders: u64,
    steps: &'a [u64],
    space_inserts: u64,
    queries: u64,
    /// The filters of each contender that are not overfilled.
    others: u64,
}

impl Work<'_> {
    /// The keys that will be drawn, inserted or looked up.
    fn keys(&self, data: &Data) -> u64 {
        let last = self.steps.last().copied().unwrap_or(0);
        let surveys = match data.is_distinct() {
            true => 0,
            false => last + self.space_inserts + (self.steps.len() as u64 + 1) * self.queries,
        };
        let load = 3 * last + self.steps.len() as u64 * self.queries;
        let space = self.others * (2 * self.space_inserts + self.queries);
        surveys + self.contenders * (load + space)
    }
}

/// Runs the jobs, on this many threads.
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
        let next = || lock(&jobs).pop_front().filter(|_| !run.is_interrupted());
        while let Some(job) = next() {
            run.say(&contenders[job.contender].name);
            let spreads = job.spreads(&contenders[job.contender]);
            let filled = spreads.and_then(|spreads| {
                let keep = |filled| lock(&records).push(job.record(&spreads, filled));
                fill(&job.description, job.capacity, data, job.survey, run, keep)
            });
            match filled {
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
            // Jobs end in any order; the steps of each are in order.
            records.sort_by(|a: &Record, b| {
                let part = |record: &Record| (record.part as u8, record.contender);
                let hashes = |record: &Record| record.filled.description.hashes;
                part(a)
                    .cmp(&part(b))
                    .then(b.promised.total_cmp(&a.promised))
                    .then(hashes(a).cmp(&hashes(b)))
            });
            Ok(records)
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics with it")
}
