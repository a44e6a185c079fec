//! The rates that the posts measured.

use std::thread;

use mayhap::hash::MessageDigest;
use mayhap::{AnyFilter, Assemble as _, Blocked, Bloom, Description, Scheme, Shape, Sizing};
use mayhap_lab::report::{Axis, Chart, Mark, Series, Spacing, Unit};
use mayhap_lab::{Distribution, Drawn, Role, chance_of_at_least};
use mayhap_program::amounts::{show_count, show_rate};
use mayhap_program::failure::Result;

use super::{KEYS, Outcome, Row, Verdict};
use crate::data::Data;
use crate::fill::{Filled, ask, fill, insert};
use crate::run::Run;
use crate::survey::Survey;

/// The output of post 004 for its own filter: the false positives below a thousand, and both rates.
const PRINTED: [u64; 10] = [45, 49, 55, 243, 309, 321, 361, 643, 723, 901];
const PRINTED_RATE: &str = "0.020000";
const PRINTED_THEORY: &str = "0.010143159512273257";

/// The tolerance in standard deviations: fewer than one run in a million exceeds it.
const BY_CHANCE: f64 = 5.0;

/// A rate, and the number of distinct keys it belongs to.
pub(super) struct Point {
    name: &'static str,
    printed: Option<f64>,
    filled: Filled,
}

/// The filter of post 004 for this many keys.
fn post_004(rate: f64) -> Result<(Shape, Description)> {
    let shape = Sizing::MurmurFloorMod.shape(KEYS, rate)?;
    let description = Bloom::new(shape, Scheme::MurmurFloorMod)?.description();
    Ok((shape, description))
}

/// Does the same with both filters, in parallel.
pub(super) fn both<T: Send>(
    theirs: Description,
    blocked: Description,
    work: impl Fn(Description) -> Result<T> + Sync,
) -> Result<(T, T)> {
    thread::scope(|scope| {
        let other = scope.spawn(|| work(blocked));
        let theirs = work(theirs);
        let other = other.join().expect("no panic");
        Ok((theirs?, other?))
    })
}

impl Outcome {
    /// Fills and asks both filters with the same keys; counts the keys that either lost.
    pub(super) fn measure_both(
        &mut self,
        (theirs, blocked): (Description, Description),
        keys: u64,
        data: &Data,
        questions: u64,
        run: &Run,
    ) -> Result<(Filled, Filled)> {
        let survey = Survey::new(data, &[keys], questions, run)?;
        let filled = both(theirs, blocked, |description| {
            one(description, keys, data, &survey, run)
        })?;
        self.denied += denied(&filled.0) + denied(&filled.1);
        Ok(filled)
    }
}

/// Post 004: 0, 2, 4 … are inserted, and the odd numbers below a thousand looked up.
pub(super) fn even_odd(run: &Run, outcome: &mut Outcome) -> Result<()> {
    let data = Data::Drawn(Drawn::new(Distribution::EvenOdd, 0));
    let (shape, theirs) = post_004(0.01)?;
    let asked = |description| {
        let mut filter = AnyFilter::new(&description)?;
        let mut members = data.stream(Role::Member, KEYS)?;
        insert(&mut filter, &mut members, KEYS, run)?;
        let mut answers = Vec::new();
        let mut odd = data.stream(Role::Absent, KEYS)?;
        ask(&filter, &mut odd, 1_000_000, run, |found| {
            answers.push(found)
        })?;
        let numbers = (0_u64..)
            .zip(answers)
            .filter_map(|(i, found)| found.then_some(2 * i + 1));
        Ok(numbers.collect::<Vec<u64>>())
    };
    let (theirs, blocked) = both(theirs, Blocked::plan(KEYS, 0.01)?, asked)?;
    let below = |numbers: &[u64]| {
        numbers
            .iter()
            .copied()
            .take_while(|number| *number < 1000)
            .collect::<Vec<u64>>()
    };
    let (ten, other) = (below(&theirs), below(&blocked));
    outcome.rows.push(Row {
        post: "004",
        what: "odd numbers below 1000 taken for even ones".into(),
        printed: Some(list(&PRINTED)),
        theirs: list(&ten),
        blocked: list(&other),
        verdict: agrees(ten == PRINTED),
        note: String::new(),
    });
    let share = |count: usize| format!("{:.6}", count as f64 / 500.0);
    let theory = shape.classic_rate_at(KEYS);
    let chance = chance_of_at_least(ten.len() as u64, 500, theory);
    outcome.rows.push(Row {
        post: "004",
        what: "their rate".into(),
        printed: Some(PRINTED_RATE.into()),
        theirs: share(ten.len()),
        blocked: share(other.len()),
        verdict: agrees(share(ten.len()) == PRINTED_RATE),
        note: format!(
            "500 questions are no test: {} false positives or more come with a chance of {} \
             when the rate is {}. Of a million odd numbers {} are taken for even ones, {}.",
            ten.len(),
            show_rate(chance),
            show_rate(theory),
            show_count(theirs.len() as u64),
            show_rate(theirs.len() as f64 / 1e6),
        ),
    });
    outcome.rows.push(Row {
        post: "004",
        what: "theoretical rate at 1 %".into(),
        printed: Some(PRINTED_THEORY.into()),
        theirs: theory.to_string(),
        blocked: promise(0.01),
        verdict: agrees(theory.to_string() == PRINTED_THEORY),
        note: format!(
            "k is cut off to 6; rounded to 7 the same bits would give {:.6}.",
            Shape::new(shape.bits(), 7)?.classic_rate_at(KEYS)
        ),
    });
    Ok(())
}

/// Post 003: the filter that its constructor makes by default.
pub(super) fn salted(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let keys = 600_000;
    let shape = Sizing::Salted.shape(keys, 1e-4)?;
    outcome.rows.push(Row {
        post: "003",
        what: "bits and hashes for 600 000 keys at 0.01 %".into(),
        printed: Some("12118639, 14".into()),
        theirs: format!("{}, {}", shape.bits(), shape.hashes()),
        blocked: format!(
            "{}, {}",
            Blocked::plan(keys, 1e-4)?.bits,
            Blocked::plan(keys, 1e-4)?.hashes
        ),
        verdict: agrees((shape.bits(), shape.hashes()) == (12_118_639, 14)),
        note: String::new(),
    });
    let theirs = Bloom::new(shape, Scheme::Salted(MessageDigest::Md5))?.description();
    let data = Data::Drawn(Drawn::new(Distribution::Url, seed));
    let filters = (theirs, Blocked::plan(keys, 1e-4)?);
    let (theirs, blocked) = outcome.measure_both(filters, keys, &data, 1_000_000, run)?;
    outcome.rows.push(Row {
        post: "003",
        what: "its rate, of URLs".into(),
        printed: None,
        theirs: interval(&theirs),
        blocked: interval(&blocked),
        verdict: as_theory(&theirs),
        note: format!(
            "0.01 % is asked for; hashes are rounded up and bits follow them, so that theory has {}, better than asked.",
            show_rate(theirs.predicted().unwrap_or(f64::NAN))
        ),
    });
    Ok(())
}

/// Post 004: UUIDs, 3 %.
pub(super) fn uuid(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let (shape, _) = post_004(0.03)?;
    let theory = shape.classic_rate_at(KEYS).to_string();
    outcome.rows.push(Row {
        post: "004",
        what: "theoretical rate at 3 %".into(),
        printed: Some("0.03000441120280409".into()),
        verdict: agrees(theory == "0.03000441120280409"),
        theirs: theory,
        blocked: promise(0.03),
        note: String::new(),
    });
    let data = Data::Drawn(Drawn::new(Distribution::Uuid, seed));
    let wrong = 296_216;
    let note = format!(
        "the post divides by all ten million questions, of which every hundredth was a \
         member: {} false positives of 9 900 000 are {:.6}.",
        show_count(wrong),
        wrong as f64 / 9.9e6
    );
    let printed = Printed {
        rate: 0.029_622,
        // The rate it should have printed.
        right: wrong as f64 / 9.9e6,
    };
    measure("UUIDs", &data, printed, note, run, outcome)
}

/// Post 004: uniform numbers.
pub(super) fn uniform(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let data = Data::Drawn(Drawn::new(Distribution::Uniform, seed));
    measure(
        "uniform numbers",
        &data,
        Printed::right(0.030_034),
        String::new(),
        run,
        outcome,
    )
}

/// Post 004: Gaussian numbers.
pub(super) fn gaussian(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let data = Data::Drawn(Drawn::new(Distribution::Gaussian, seed));
    let note = "the post predicts 0.030004, for ten million keys; some numbers occur twice.".into();
    measure(
        "Gaussian numbers",
        &data,
        Printed::right(0.028_583),
        note,
        run,
        outcome,
    )
}

/// Post 004: exponential numbers, which as printed are all zero.
pub(super) fn exponential(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let data = Data::Drawn(Drawn {
        scale: 1e-5,
        ..Drawn::new(Distribution::Exponential, seed)
    });
    let (_, theirs) = post_004(0.03)?;
    let survey = Survey::new(&data, &[KEYS], KEYS / 100 * 99, run)?;
    let filled = one(theirs, KEYS, &data, &survey, run)?;
    outcome.denied += denied(&filled);
    outcome.rows.push(Row {
        post: "004",
        what: "exponential numbers times 1e-5".into(),
        printed: Some("0.027511".into()),
        theirs: interval(&filled),
        blocked: "the same".into(),
        verdict: Verdict::Mistake,
        note: format!(
            "every number is cut off to 0: {} distinct key, and {} that were not inserted. \
             What the post printed was not measured with what it shows.",
            filled.step.distinct, filled.negatives
        ),
    });
    let data = Data::Drawn(Drawn::new(Distribution::Exponential, seed));
    let note = "at the scale that the post has for Gaussian numbers its figure comes out.".into();
    measure(
        "exponential numbers times 1e8",
        &data,
        Printed::right(0.027_511),
        note,
        run,
        outcome,
    )
}

/// A rate that a post printed, and the rate that it meant.
#[derive(Clone, Copy)]
struct Printed {
    rate: f64,
    /// The rate meant: the same, unless the post divided by the wrong number.
    right: f64,
}

impl Printed {
    fn right(rate: f64) -> Printed {
        Printed { rate, right: rate }
    }
}

/// Measures both filters on a data set, as post 004 does.
fn measure(
    name: &'static str,
    data: &Data,
    printed: Printed,
    mut note: String,
    run: &Run,
    outcome: &mut Outcome,
) -> Result<()> {
    let (_, theirs) = post_004(0.03)?;
    // Every hundredth lookup of the post is of a member, which says nothing about the rate.
    let filters = (theirs, Blocked::plan(KEYS, 0.03)?);
    let (theirs, blocked) = outcome.measure_both(filters, KEYS, data, KEYS / 100 * 99, run)?;
    let agrees = theirs.measured().is_some_and(|measured| {
        // Two samples of about equally many lookups; the filters differ by 0.04 %.
        let sample = (2.0 * printed.right / theirs.negatives as f64).sqrt();
        (measured.rate - printed.right).abs() < BY_CHANCE * sample.hypot(6e-4 * printed.right)
    });
    if !note.is_empty() {
        note.push(' ');
    }
    note.push_str(&format!(
        "Here {} keys were distinct, for which theory has {:.6}.",
        show_count(theirs.step.distinct),
        theirs.predicted().unwrap_or(f64::NAN)
    ));
    outcome.rows.push(Row {
        post: "004",
        what: format!("rate of {name}"),
        printed: Some(format!("{:.6}", printed.rate)),
        theirs: interval(&theirs),
        blocked: interval(&blocked),
        verdict: match (agrees, printed.rate == printed.right) {
            (false, _) => Verdict::Differs,
            (true, true) => Verdict::Agrees,
            (true, false) => Verdict::Mistake,
        },
        note,
    });
    outcome.points.push(Point {
        name,
        printed: Some(printed.rate),
        filled: theirs,
    });
    Ok(())
}

/// Returns the state of a filter after all inserts.
fn one(
    description: Description,
    keys: u64,
    data: &Data,
    survey: &Survey,
    run: &Run,
) -> Result<Filled> {
    let mut last = None;
    fill(&description, keys, data, survey, run, |filled| {
        last = Some(filled)
    })?;
    Ok(last.expect("a survey has a step"))
}

fn denied(filled: &Filled) -> u64 {
    filled.checked.map_or(0, |checked| checked.denied)
}

pub(super) fn interval(filled: &Filled) -> String {
    match filled.measured() {
        Some(measured) => {
            let digits = if measured.rate < 0.001 { 7 } else { 6 };
            format!(
                "{:.digits$} ({:.digits$} to {:.digits$})",
                measured.rate, measured.low, measured.high
            )
        }
        None => "none to ask for".into(),
    }
}

pub(super) fn agrees(same: bool) -> Verdict {
    if same {
        Verdict::Agrees
    } else {
        Verdict::Differs
    }
}

/// Compares a rate, for which no post printed anything, with theory.
pub(super) fn as_theory(filled: &Filled) -> Verdict {
    let (Some(measured), Some(predicted)) = (filled.measured(), filled.predicted()) else {
        return Verdict::Measured;
    };
    let sample = (predicted / filled.negatives as f64).sqrt();
    // Standard filters differ by 4 % at 1000 keys, and less by the square root for more.
    let spread = 0.04 * (1000.0 / filled.step.distinct as f64).sqrt() * predicted;
    match (measured.rate - predicted).abs() < BY_CHANCE * sample.hypot(spread) {
        true => Verdict::AsTheory,
        false => Verdict::Differs,
    }
}

fn list(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    numbers.join(", ")
}

/// The rate that `Blocked` promises.
fn promise(rate: f64) -> String {
    let predicted =
        mayhap::kinds::BlockedShape::for_capacity(KEYS, rate).map(|shape| shape.rate_at(KEYS));
    predicted.map_or_else(|_| "–".into(), |rate| format!("{rate:.6}"))
}

/// Draws rates against distinct keys: printed, measured, and predicted.
pub(super) fn chart(points: &[Point]) -> Chart {
    let distinct = |point: &Point| point.filled.step.distinct as f64;
    let least = points.iter().map(distinct).fold(9.7e6, f64::min) * 0.998;
    let shape = Sizing::MurmurFloorMod.shape(KEYS, 0.03).ok();
    let theory = (0..=40).filter_map(|i| {
        let keys = least + (KEYS as f64 - least) * f64::from(i) / 40.0;
        Some((keys, shape?.rate_at(keys as u64)))
    });
    let mark = |point: &Point, rate, interval, what| Mark {
        x: distinct(point),
        y: rate,
        interval,
        text: format!("{} {what}: {rate:.6}", point.name),
    };
    let printed = points
        .iter()
        .filter_map(|point| Some(mark(point, point.printed?, None, "as printed")));
    let measured = points.iter().filter_map(|point| {
        let measured = point.filled.measured()?;
        Some(mark(
            point,
            measured.rate,
            Some((measured.low, measured.high)),
            "here",
        ))
    });
    Chart {
        title: "Rate of post 004's filter against distinct keys".into(),
        description: "What was measured lies on the line that theory predicts for distinct \
                      keys; so does what the post printed."
            .into(),
        x: Axis::new("distinct keys", Unit::Plain, Spacing::Near),
        y: Axis::new("false-positive rate", Unit::Rate, Spacing::Near),
        series: vec![
            Series::reference("theory, for distinct keys", theory.collect()),
            Series {
                name: "measured here".into(),
                marks: measured.collect(),
                ..Series::default()
            },
            Series {
                name: "printed in the post".into(),
                marks: printed.collect(),
                ..Series::default()
            },
        ],
    }
}
