//! `mayhap-lab posts`: the experiments of the posts, row by row.
//!
//! For each: what the post printed, if anything, the result of its algorithm here, and that of `Blocked`. A verdict
//! compares with what was printed, or else with theory. The tolerance is wide enough that no run fails by chance. If
//! the post's arithmetic is wrong, the row says so.

mod guava;
mod ladder;
mod rates;
mod statements;
mod times;

use clap::ValueEnum;
use mayhap_lab::machine;
use mayhap_lab::report::{Card, Cell, Column, Figure, Report, Section, Table, Tone};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;

use crate::report::ReportArgs;
use crate::run::Run;

/// The keys of the experiments: ten million, in every post.
const KEYS: u64 = 10_000_000;

/// Repeats the experiments of the posts, and compares the results with what they printed.
///
/// Uses their algorithms, bit for bit, and the kind `blocked`: ten million keys each. Results are compared with what a
/// post printed, or, if it printed nothing, with theory for the distinct keys; statements are judged by arithmetic.
///
/// Exit codes: 0 when all printed results are reproduced, 1 when one is not, 2 on an error or after an interruption.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The experiments; all of them unless given
    #[arg(value_enum)]
    experiments: Vec<Experiment>,

    /// Another seed draws other keys for the experiments that draw any
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    #[command(flatten)]
    report: ReportArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap-lab posts even-odd statements     two of them, in seconds
  mayhap-lab posts ladder                  from a database to a filter
  mayhap-lab posts --report posts.html     all of them, and a page";

/// An experiment of the posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Experiment {
    /// Post 004: even numbers in, odd ones asked for; prints ten false positives
    EvenOdd,
    /// Posts 000 and 002: ten million integers in Guava's filter
    Guava,
    /// Post 000: three string hashes
    ThreeHash,
    /// Post 003: salted MD5, 600 000 keys
    Salted,
    /// Post 004: UUIDs in Guava's filter at 0.1 %, and their times
    GuavaUuid,
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
    /// Post 004: from a database to a filter, the memory and time of each rung
    Ladder,
    /// Statements about bits, hashes and collisions
    Statements,
}

/// The judgement on a line of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The result is the printed one: to the last digit, or within chance.
    Agrees,
    /// Nothing was printed, and the result agrees with theory.
    AsTheory,
    /// Nothing was printed, and there is no theory to compare with.
    Measured,
    /// The result is not the printed one, and there is no explanation.
    Differs,
    /// The post is wrong, and the note says how.
    Mistake,
    /// A time: it depends on the machine.
    Time,
}

/// A line of a post, and the result here.
struct Row {
    post: &'static str,
    what: String,
    /// `None` if the post printed nothing.
    printed: Option<String>,
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

impl Verdict {
    fn words(self) -> (Tone, &'static str) {
        match self {
            Verdict::Agrees => (Tone::Good, "agrees"),
            Verdict::AsTheory => (Tone::Good, "as theory"),
            Verdict::Measured => (Tone::Open, "measured"),
            Verdict::Differs => (Tone::Bad, "differs"),
            Verdict::Mistake => (Tone::Open, "mistake"),
            Verdict::Time => (Tone::Open, "time"),
        }
    }
}

impl Row {
    fn printed(&self) -> String {
        self.printed.clone().unwrap_or_else(|| "–".into())
    }

    fn cells(&self) -> Vec<Cell> {
        let (tone, verdict) = self.verdict.words();
        vec![
            Cell::text(&self.what),
            Cell::text(self.post),
            Cell::text(self.printed()),
            Cell::text(&self.theirs),
            Cell::text(&self.blocked),
            Cell::Judged(tone, verdict.into()),
            Cell::text(&self.note),
        ]
    }

    fn card(&self) -> Card {
        let (tone, verdict) = self.verdict.words();
        let verdict = match self.verdict {
            Verdict::Mistake => "mistake of the post",
            Verdict::Time => "a time of this machine",
            Verdict::Differs => "differs from what was printed",
            _ => verdict,
        };
        let printed = self.printed.clone().unwrap_or_else(|| "nothing".into());
        Card {
            title: self.what.clone(),
            origin: format!("post {}", self.post),
            verdict: (tone, verdict.into()),
            facts: vec![
                ("the post printed", printed),
                ("its algorithm, here", self.theirs.clone()),
                ("blocked, here", self.blocked.clone()),
            ],
            note: self.note.clone(),
        }
    }
}

/// The results of the experiments so far.
#[derive(Default)]
struct Outcome {
    rows: Vec<Row>,
    points: Vec<rates::Point>,
    denied: u64,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let run = Run::start()?;
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
        let exit = run.end();
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
        let mut findings = vec![match is_whole {
            true => format!(
                "Of {} lines {} agree with what a post printed, {} differ from it, {} are as theory has them, {} are mistakes of \
                 the posts; {} are measurements and times of this machine.",
                outcome.rows.len(),
                count(Verdict::Agrees),
                count(Verdict::Differs),
                count(Verdict::AsTheory),
                count(Verdict::Mistake),
                count(Verdict::Time) + count(Verdict::Measured),
            ),
            false => format!(
                "Interrupted after {} lines: the others are missing.",
                outcome.rows.len()
            ),
        }];
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
        let mut cards = Section::new("The experiments", "");
        cards.cards = outcome.rows.iter().map(Row::card).collect();
        let mut sections = vec![cards];
        if !outcome.points.is_empty() {
            let mut chart = Section::new(
                "Better than theory?",
                "Post 004 measures Gaussian and exponential numbers below the predicted rate. It predicts for ten million \
                 keys, but many numbers occur twice: theory for the distinct ones goes through all points.",
            );
            chart.figures = vec![Figure::Chart(rates::chart(&outcome.points))];
            sections.push(chart);
        }
        Report {
            title: "The experiments of the posts, repeated".into(),
            findings,
            notes: notes.collect(),
            verdicts: None,
            parameters: vec![
                ("seed", self.seed.to_string()),
                (
                    "keys",
                    "10 000 000, as in the posts, but for salted MD5, which has 600 000, three hashes, which have \
                     1 000 000, and the ladder, which has 2 000 000"
                        .into(),
                ),
                ("in brackets", "Wilson's interval, 95 %".into()),
                (
                    "agrees",
                    "to the last digit where nothing is chance, else within five standard deviations of what was printed: \
                     fewer than one run in a million is further off by chance"
                        .into(),
                ),
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
    /// The approximate number of keys that it takes.
    fn keys(self) -> u64 {
        match self {
            Experiment::EvenOdd | Experiment::Guava => 22_000_000,
            Experiment::ThreeHash | Experiment::Salted => 6_000_000,
            Experiment::GuavaUuid => 10 * KEYS,
            Experiment::Ladder => 2_500_000,
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
            Experiment::Guava => guava::integers(run, outcome),
            Experiment::GuavaUuid => guava::uuid(seed, run, outcome),
            Experiment::ThreeHash => guava::three_hash(seed, run, outcome),
            Experiment::Ladder => ladder::ladder(seed, run, outcome),
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
