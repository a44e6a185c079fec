//! `mayhap eval posts`: the experiments of the posts, row by row.
//!
//! For each: what the post printed, what its algorithm gives here, and what `Blocked` gives. Where the
//! post's arithmetic is wrong, the row says so.

mod rates;
mod statements;
mod times;

use clap::ValueEnum;
use mayhap_lab::report::{Cell, Column, Figure, Report, Section, Table};

use super::report::ReportArgs;
use super::{Run, machine};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// The keys of the experiments: ten million, in every post.
const KEYS: u64 = 10_000_000;

/// Repeats the experiments of the posts with their algorithms, bit for bit, and with the kind `blocked`: ten
/// million keys each. Rates are judged by the number of distinct keys; statements by arithmetic.
#[derive(Debug, clap::Args)]
pub(in crate::verbs) struct Args {
    /// The experiments; all of them unless given
    #[arg(value_enum)]
    experiments: Vec<Experiment>,

    /// Another seed draws other keys for the experiments that draw any
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    #[command(flatten)]
    report: ReportArgs,
}

/// An experiment of the posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Experiment {
    /// Post 004: even numbers in, odd ones asked for; prints ten false positives
    EvenOdd,
    /// Posts 000 and 002: ten million integers in Guava's filter
    Guava,
    /// Post 003: salted MD5, 600 000 keys
    Salted,
    /// Post 004: random UUIDs
    Uuid,
    /// Post 004: uniform numbers
    Uniform,
    /// Post 004: Gaussian numbers
    Gaussian,
    /// Post 004: exponential numbers, at the scale printed and at the one it must have been
    Exponential,
    /// Post 004: seconds for ten million inserts and lookups, MD5 against murmur
    Times,
    /// What the posts say of bits, hashes and collisions
    Statements,
}

/// What is to be thought of a line of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// To the last digit, or as theory has it for the distinct keys.
    Agrees,
    /// Not what was printed, and not to be explained.
    Differs,
    /// The post is wrong, and the note says how.
    Mistake,
    /// A time: other machines have others.
    Time,
}

/// A line of a post, and what becomes of it.
struct Row {
    post: &'static str,
    what: String,
    printed: String,
    theirs: String,
    blocked: String,
    verdict: Verdict,
    note: String,
}

const COLUMNS: [Column; 7] = [
    Column::shown("experiment", "experiment"),
    Column::shown("post", "post"),
    Column::shown("printed", "the post printed"),
    Column::shown("theirs", "its algorithm, here"),
    Column::shown("blocked", "blocked, here"),
    Column::shown("verdict", "verdict"),
    Column::kept("note", "note"),
];

impl Row {
    fn cells(&self) -> Vec<Cell> {
        let verdict = match self.verdict {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::Mistake => "mistake",
            Verdict::Time => "time",
        };
        let texts = [
            &self.what,
            self.post,
            &self.printed,
            &self.theirs,
            &self.blocked,
            verdict,
            &self.note,
        ];
        texts.map(Cell::text).into()
    }
}

/// What the experiments have come to so far.
#[derive(Default)]
struct Outcome {
    rows: Vec<Row>,
    points: Vec<rates::Point>,
    denied: u64,
}

impl Args {
    pub(in crate::verbs) fn run(self, global: &Global) -> Result<Exit> {
        let run = Run::start(global)?;
        let destination = self.report.open(global)?;
        let all = Experiment::value_variants();
        let chosen: Vec<Experiment> = all
            .iter()
            .copied()
            .filter(|one| self.experiments.is_empty() || self.experiments.contains(one))
            .collect();
        run.expect(chosen.iter().map(|one| one.keys()).sum());
        let mut outcome = Outcome::default();
        for experiment in chosen {
            run.say(
                experiment
                    .to_possible_value()
                    .map_or(String::new(), |name| name.get_name().into())
                    .as_str(),
            );
            match experiment.perform(self.seed, &run, &mut outcome) {
                Err(_) if run.is_interrupted() => break,
                done => done?,
            }
        }
        let exit = run.end(global);
        destination.publish(&self.page(&outcome, !run.is_interrupted()), global)?;
        if outcome.denied > 0 {
            return Err(Failure::new(format!(
                "{} lookups of inserted keys were denied",
                outcome.denied
            )));
        }
        let differs = outcome
            .rows
            .iter()
            .any(|row| row.verdict == Verdict::Differs);
        Ok(if differs { Exit::Nothing } else { exit })
    }

    fn page(&self, outcome: &Outcome, is_whole: bool) -> Report {
        let count = |verdict| {
            outcome
                .rows
                .iter()
                .filter(|row| row.verdict == verdict)
                .count()
        };
        let mut findings = vec![format!(
            "Of {} lines {} agree with what comes out here, {} differ, {} are mistakes of \
             the posts, {} are times.",
            outcome.rows.len(),
            count(Verdict::Agrees),
            count(Verdict::Differs),
            count(Verdict::Mistake),
            count(Verdict::Time),
        )];
        let mistakes = outcome
            .rows
            .iter()
            .filter(|row| row.verdict == Verdict::Mistake);
        let mistakes: Vec<&str> = mistakes.map(|row| row.what.as_str()).collect();
        if !mistakes.is_empty() {
            findings.push(format!(
                "Mistakes: {}. The notes say how.",
                mistakes.join("; ")
            ));
        }
        let noted = outcome.rows.iter().filter(|row| !row.note.is_empty());
        let notes = noted.map(|row| format!("{} (post {}): {}", row.what, row.post, row.note));
        let mut sections = Vec::new();
        if !outcome.points.is_empty() {
            sections.push(Section {
                heading: "Better than theory?",
                text: "Post 004 measures Gaussian and exponential numbers below the \
                       predicted rate. It predicts for ten million keys, but many numbers \
                       came twice: theory for the distinct ones goes through all points."
                    .into(),
                figures: vec![Figure::Chart(rates::chart(&outcome.points))],
                tables: Vec::new(),
            });
        }
        Report {
            title: "The experiments of the posts, repeated".into(),
            findings,
            notes: notes.collect(),
            parameters: vec![
                ("seed", self.seed.to_string()),
                (
                    "keys",
                    "10 000 000, as in the posts, but for salted MD5, which has 600 000".into(),
                ),
                ("interval", "Wilson, 95 %".into()),
                ("machine", machine::class()),
                ("version", env!("CARGO_PKG_VERSION").into()),
            ],
            sections,
            records: Table {
                caption: "What the posts printed, and what comes out".into(),
                columns: COLUMNS.into(),
                rows: outcome.rows.iter().map(Row::cells).collect(),
            },
            is_whole,
        }
    }
}

impl Experiment {
    /// About how many keys it takes.
    fn keys(self) -> u64 {
        match self {
            Experiment::EvenOdd | Experiment::Guava => 22_000_000,
            Experiment::Salted => 4_600_000,
            Experiment::Uuid | Experiment::Uniform => 6 * KEYS,
            Experiment::Gaussian => 8 * KEYS,
            Experiment::Exponential => 16 * KEYS,
            Experiment::Times => 4 * KEYS,
            Experiment::Statements => 1,
        }
    }

    fn perform(self, seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
        match self {
            Experiment::EvenOdd => rates::even_odd(run, outcome),
            Experiment::Guava => rates::guava(run, outcome),
            Experiment::Salted => rates::salted(seed, run, outcome),
            Experiment::Uuid => rates::uuid(seed, run, outcome),
            Experiment::Uniform => rates::uniform(seed, run, outcome),
            Experiment::Gaussian => rates::gaussian(seed, run, outcome),
            Experiment::Exponential => rates::exponential(seed, run, outcome),
            Experiment::Times => times::times(seed, run, outcome),
            Experiment::Statements => statements::statements(outcome),
        }
    }
}
