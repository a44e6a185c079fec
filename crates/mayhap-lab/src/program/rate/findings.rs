//! Conclusions from the rows of `mayhap-lab rate`, and from nothing else.

use mayhap_lab::Measured;
use mayhap_lab::report::{Cell, Column, Table, Tone};
use mayhap_program::amounts::{show_count, show_rate};

use super::{Args, Outcome, Part, Record};
use crate::contenders::absences;
use crate::fill::forgets;

/// The widest interval of a rate, as a share of the promise, with which the promise is called kept: a wider one
/// includes rates that break it.
const SHARP: f64 = 0.25;

/// The standard deviations from which a promise is called broken: by chance that happens to one filter in 700.
const BROKEN: f64 = 3.0;

/// The verdict on a filter's promise at its capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    Kept,
    Broken,
    /// Open: too few keys were looked up.
    Open,
}

impl Promise {
    /// Judges the promise by the rate of a full filter: broken when it is higher than chance explains, and
    /// kept when it is known precisely enough to say that it is not.
    fn of(record: &Record, measured: Measured) -> Promise {
        let sample = (record.promised / record.filled.negatives as f64).sqrt();
        let spread = record.expected.map_or(0.0, |expected| expected.spread);
        let deviation = sample.hypot(spread);
        if measured.rate - BROKEN * deviation > record.promised {
            return Promise::Broken;
        }
        match 2.0 * deviation <= SHARP * record.promised {
            true => Promise::Kept,
            false => Promise::Open,
        }
    }
}

/// Returns the record of a contender at its capacity, and its measured rate.
fn at_capacity(outcome: &Outcome, contender: usize) -> Option<(&Record, Measured)> {
    let record = outcome.records.iter().find(|record| {
        record.part == Part::Load
            && record.contender == contender
            && record.filled.picture.is_some()
            && record.load() > 0.9
    })?;
    Some((record, record.filled.measured()?))
}

/// Makes a row for each filter: is the promise kept, and is the rate as predicted?
pub(super) fn verdicts(outcome: &Outcome) -> Table {
    let columns = [
        Column::shown("filter", "filter"),
        Column::shown("promise", "promise at capacity"),
        Column::shown("promised", "promised"),
        Column::shown("measured", "measured"),
        Column::shown("as_predicted", "as predicted"),
        Column::shown("lost", "keys lost"),
        Column::shown("bits_per_key", "bits per key"),
    ];
    let rows = outcome
        .contenders
        .iter()
        .enumerate()
        .map(|(index, contender)| {
            let own = || {
                outcome
                    .records
                    .iter()
                    .filter(|record| record.contender == index)
            };
            let full = at_capacity(outcome, index);
            let promise = match full.map(|(record, measured)| Promise::of(record, measured)) {
                Some(Promise::Kept) => Cell::Judged(Tone::Good, "kept".into()),
                Some(Promise::Broken) => Cell::Judged(Tone::Bad, "broken".into()),
                Some(Promise::Open) => Cell::Judged(Tone::Open, "too few questions to say".into()),
                None => Cell::Judged(Tone::Open, "not measured".into()),
            };
            let (inside, judged) = judged(own());
            let prediction = match judged {
                0 => Cell::Judged(Tone::Open, "no prediction".into()),
                _ if inside == judged => Cell::Judged(
                    Tone::Good,
                    match judged {
                        1 => "its row".into(),
                        _ => format!("all {judged} rows"),
                    },
                ),
                _ => {
                    let tone = if is_chance(inside, judged) {
                        Tone::Open
                    } else {
                        Tone::Bad
                    };
                    Cell::Judged(tone, format!("{inside} of {judged} rows"))
                }
            };
            let checked = own().filter_map(|record| record.filled.checked);
            let lost = checked.map(|checked| checked.denied).sum();
            vec![
                Cell::text(&contender.name),
                promise,
                Cell::rate(full.map(|(record, _)| record.promised)),
                Cell::rate(full.map(|(_, measured)| measured.rate)),
                prediction,
                Cell::Count(lost),
                Cell::number(full.map(|(record, _)| record.filled.bits_per_key()), 2),
            ]
        });
    Table {
        caption: "What is to be thought of each filter".into(),
        columns: columns.into(),
        rows: rows.collect(),
    }
}

/// Counts the rows that are as predicted, and those that were judged.
fn judged<'a>(records: impl Iterator<Item = &'a Record>) -> (u64, u64) {
    let judged = records.filter_map(Record::is_as_predicted);
    judged.fold((0, 0), |(inside, all), is| {
        (inside + u64::from(is), all + 1)
    })
}

/// Returns whether no more rows are outside than one in twenty explains: 1 in 100 runs has more.
fn is_chance(inside: u64, all: u64) -> bool {
    mayhap_lab::chance_of_at_least(all - inside, all, 0.05) > 0.01
}

pub(super) fn findings(args: &Args, outcome: &Outcome) -> Vec<String> {
    let records = &outcome.records;
    let (mut denied, mut checked) = (0, 0);
    for all in records.iter().filter_map(|record| record.filled.checked) {
        denied += all.denied;
        checked += all.keys;
    }
    let lost = format!(
        "FALSE NEGATIVES: {} of {} lookups of inserted keys were denied.",
        show_count(denied),
        show_count(checked)
    );
    if !outcome.is_whole {
        let mut findings = vec![format!(
            "Interrupted after {} measurements: nothing follows from them.",
            records.len()
        )];
        findings.extend((denied > 0).then_some(lost));
        return findings;
    }
    let mut findings = vec![match (denied, checked) {
        (0, 0) => "No inserted key was looked up.".into(),
        (0, _) => format!(
            "No false negative: {} lookups of inserted keys, and all were found.",
            show_count(checked)
        ),
        _ => lost,
    }];
    if records.iter().any(|record| record.filled.negatives == 0) {
        findings.push(
            "Every key that was asked for had been inserted: there is nothing a filter could \
             be wrong about, and no rate to measure. With other data, or another --scale, \
             there is."
                .into(),
        );
    }
    findings.extend(promises(args, outcome));
    findings.extend(predictions(outcome));
    findings.extend(best_hashes(outcome));
    findings.extend(repeats(outcome));
    let is_forgetful = |record: &&Record| forgets(record.filled.description.kind);
    if let Some(record) = records.iter().find(is_forgetful) {
        let name = &outcome.contenders[record.contender].name;
        findings.push(format!(
            "Past its capacity {name} forgets its oldest keys, as it is meant to: measured \
             up to that."
        ));
    }
    findings.extend(absences(&outcome.absent));
    findings
}

/// Says which filters keep the promise at capacity, which do not, and which have too few lookups.
fn promises(args: &Args, outcome: &Outcome) -> Vec<String> {
    let mut full: Vec<(Promise, Measured, &str, f64)> = Vec::new();
    for (index, contender) in outcome.contenders.iter().enumerate() {
        if let Some((record, measured)) = at_capacity(outcome, index) {
            full.push((
                Promise::of(record, measured),
                measured,
                &contender.name,
                record.promised,
            ));
        }
    }
    full.sort_by(|a, b| a.1.rate.total_cmp(&b.1.rate));
    let of = |promise: Promise| full.iter().filter(move |one| one.0 == promise);
    let list = |promise: Promise| {
        let shown = of(promise)
            .map(|(_, measured, name, _)| format!("{name} ({})", show_rate(measured.rate)));
        shown.collect::<Vec<String>>().join(", ")
    };
    let promised = show_rate(args.rate);
    let mut findings = Vec::new();
    if of(Promise::Broken).count() > 0 {
        let broken = list(Promise::Broken);
        findings.push(format!(
            "At capacity the promise of {promised} is broken by {broken}."
        ));
    }
    let kept = of(Promise::Kept).count();
    // A cascade has a rate of its own.
    let asked = || of(Promise::Kept).filter(|one| one.3 == args.rate);
    if let (Some(first), Some(last)) = (asked().next(), asked().next_back()) {
        let (least, most) = (show_rate(first.1.rate), show_rate(last.1.rate));
        findings.push(match kept {
            1 => format!("At capacity {} keeps its promise: it measures {least}.", first.2),
            _ => format!(
                "At capacity {kept} of {} filters keep their promise; those of {promised} measure {least} ({}) to {most} ({}).",
                full.len(),
                first.2,
                last.2
            ),
        });
    }
    if of(Promise::Open).count() > 0 {
        let asked = outcome
            .records
            .iter()
            .map(|record| record.filled.negatives)
            .min();
        findings.push(format!(
            "{} keys that were never inserted are too few to say whether a promise of {promised} is kept by {}.",
            show_count(asked.unwrap_or(0)),
            of(Promise::Open).map(|one| one.2).collect::<Vec<&str>>().join(", ")
        ));
    }
    findings
}

/// Says how many rows are as predicted, and which are not.
fn predictions(outcome: &Outcome) -> Option<String> {
    let (inside, all) = judged(outcome.records.iter());
    if all == 0 {
        return None;
    }
    let outside = outcome
        .records
        .iter()
        .filter(|record| record.is_as_predicted() == Some(false));
    let outside: Vec<String> = outside
        .map(|record| {
            let name = &outcome.contenders[record.contender].name;
            match record.part {
                Part::Load => format!("{name} at {} load", show_rate(record.load())),
                Part::Space => format!("{name} for {}", show_rate(record.promised)),
                Part::Hashes => format!("{name} with {} hashes", record.filled.description.hashes),
            }
        })
        .collect();
    let together = match outcome.asks_others_each_step {
        true => "",
        false => " The loads of one filter are asked for the same keys, and miss together.",
    };
    Some(match outside.is_empty() {
        true => format!(
            "All {all} rows that have a prediction are as predicted, each by a test that 95 % of runs pass.{together}"
        ),
        false => format!(
            "{inside} of {all} rows are as predicted; one in twenty is expected not to be by chance alone{}. Not as \
             predicted: {}.{together}",
            if is_chance(inside, all) {
                ""
            } else {
                ", and these are more"
            },
            outside.join(", ")
        ),
    })
}

/// Names the number of hashes with the lowest measured rate, for each filter that had a choice.
fn best_hashes(outcome: &Outcome) -> Option<String> {
    let best = outcome
        .contenders
        .iter()
        .enumerate()
        .filter_map(|(index, contender)| {
            let own = outcome
                .records
                .iter()
                .filter(|record| record.part == Part::Hashes && record.contender == index);
            let rate = |record: &&Record| {
                record
                    .filled
                    .measured()
                    .map_or(1.0, |measured| measured.rate)
            };
            let best = own.min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
            Some(format!(
                "{} {}",
                contender.name, best.filled.description.hashes
            ))
        });
    let best: Vec<String> = best.collect();
    (!best.is_empty()).then(|| {
        format!(
            "The number of hashes that measured the lowest rate: {}.",
            best.join(", ")
        )
    })
}

/// Says how repeats change a prediction that counts each of them as a key.
fn repeats(outcome: &Outcome) -> Option<String> {
    let last = outcome.records.iter().rfind(|record| {
        record.part == Part::Load && record.filled.step.distinct < record.filled.step.inserts
    })?;
    let (step, description) = (last.filled.step, &last.filled.description);
    let counted = description.predicted_rate(step.inserts).zip(last.expected);
    let counted = counted.map_or_else(String::new, |(counted, expected)| {
        format!(
            " Counting each as a key would predict {}, and the filter would look better than theory; for the distinct ones \
             theory has {}.",
            show_rate(counted),
            show_rate(expected.rate)
        )
    });
    Some(format!(
        "Keys repeat: of {} inserts {} were distinct.{counted}",
        show_count(step.inserts),
        show_count(step.distinct)
    ))
}
