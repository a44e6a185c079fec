//! What `eval rate` has to say.

use mayhap_lab::report::{
    Axis, Cell, Chart, Column, Figure, Mark, Report, Section, Series, Spacing, Table, Unit,
};

use super::super::contenders::absences;
use super::super::fill::forgets;
use super::super::machine;
use super::{Args, Outcome, Part, Record};
use crate::amounts::{show_count, show_rate};

const COLUMNS: [Column; 22] = [
    Column::shown("filter", "filter"),
    Column::kept("part", "part"),
    Column::kept("capacity", "capacity"),
    Column::shown("promised", "promised"),
    Column::shown("load", "load"),
    Column::kept("inserts", "inserts"),
    Column::shown("distinct", "distinct keys"),
    Column::shown("predicted", "predicted"),
    Column::shown("measured", "measured"),
    Column::shown("low", "95 % from"),
    Column::shown("high", "to"),
    Column::shown("as_predicted", "as predicted"),
    Column::kept("false_positives", "false positives"),
    Column::kept("negatives", "asked"),
    Column::shown("false_negatives", "lost"),
    Column::kept("checked", "of"),
    Column::kept("estimated", "its own estimate"),
    Column::shown("fill", "fill"),
    Column::kept("bits", "bits"),
    Column::shown("bits_per_key", "bits/key"),
    Column::shown("bound", "log2(1/rate)"),
    Column::kept("overhead", "times the bound"),
];

pub(super) fn report(args: &Args, outcome: &Outcome) -> Report {
    let Outcome {
        records, capacity, ..
    } = outcome;
    let load = || records.iter().filter(|record| record.part == Part::Load);
    let space = || records.iter().filter(|record| record.part == Part::Space);
    let mut sections = vec![
        Section {
            heading: "The rate as the filter fills",
            text: "Lines are what theory predicts for the distinct keys inserted, points \
                   what was measured, with their 95 % confidence intervals. A point at the \
                   lower edge means that not one of the keys asked for was a false positive; \
                   its interval says what the rate may still be."
                .into(),
            figures: vec![
                Figure::Chart(rate_chart(outcome, load())),
                Figure::Chart(deviation_chart(outcome, load())),
            ],
            tables: Vec::new(),
        },
        Section {
            heading: "What a rate costs",
            text: "Filters for six rates, each filled to its capacity. No filter can lie \
                   below the information bound, log2(1/rate) bits per key; a standard Bloom \
                   filter needs 1.44 times as many."
                .into(),
            figures: vec![Figure::Chart(space_chart(outcome, space()))],
            tables: Vec::new(),
        },
    ];
    let pictures = load().filter_map(|record| {
        let picture = record.filled.picture.as_ref()?;
        let name = &outcome.contenders[record.contender].name;
        let title = format!("{name} at {} load", show_rate(record.load()));
        Some(Figure::Bits(picture.titled(title)))
    });
    sections.push(Section {
        heading: "The bits, at capacity",
        text: "Hashing should leave no pattern: ones anywhere alike, and every stretch as \
               full as the next."
            .into(),
        figures: pictures.collect(),
        tables: Vec::new(),
    });
    let capacity = show_count(*capacity);
    Report {
        title: format!(
            "Is the promised rate true? {capacity} keys, {}",
            outcome.data
        ),
        findings: findings(args, outcome),
        notes: Vec::new(),
        parameters: parameters(args, outcome),
        sections,
        records: Table {
            caption: "Rates, measured and predicted".into(),
            columns: COLUMNS.into(),
            rows: records.iter().map(|record| row(outcome, record)).collect(),
        },
        is_whole: outcome.is_whole,
    }
}

fn row(outcome: &Outcome, record: &Record) -> Vec<Cell> {
    let (measured, checked) = (record.filled.measured(), record.filled.checked);
    let bound = measured
        .map(|measured| -measured.rate.log2())
        .filter(|bound| bound.is_finite() && *bound > 0.0);
    vec![
        Cell::text(&outcome.contenders[record.contender].name),
        Cell::text(match record.part {
            Part::Load => "load",
            Part::Space => "space",
        }),
        Cell::Count(record.capacity),
        Cell::Rate(record.promised),
        Cell::Rate(record.load()),
        Cell::Count(record.filled.step.inserts),
        Cell::Count(record.filled.step.distinct),
        Cell::Rate(record.filled.predicted()),
        Cell::rate(measured.map(|measured| measured.rate)),
        Cell::rate(measured.map(|measured| measured.low)),
        Cell::rate(measured.map(|measured| measured.high)),
        record
            .filled
            .is_as_predicted()
            .map_or(Cell::Empty, Cell::Truth),
        Cell::Count(record.filled.false_positives),
        Cell::Count(record.filled.negatives),
        checked.map_or(Cell::Empty, |checked| Cell::Count(checked.denied)),
        checked.map_or(Cell::Empty, |checked| Cell::Count(checked.keys)),
        Cell::Rate(record.filled.stats.rate),
        Cell::Rate(record.filled.stats.fill()),
        Cell::Count(record.filled.stats.bits),
        Cell::Number(record.filled.bits_per_key(), 2),
        Cell::number(bound, 2),
        Cell::number(bound.map(|bound| record.filled.bits_per_key() / bound), 3),
    ]
}

fn findings(args: &Args, outcome: &Outcome) -> Vec<String> {
    let records = &outcome.records;
    let mut findings = Vec::new();
    let (mut denied, mut checked) = (0, 0);
    for all in records.iter().filter_map(|record| record.filled.checked) {
        denied += all.denied;
        checked += all.keys;
    }
    findings.push(match denied {
        0 => format!(
            "No false negative: {} lookups of inserted keys, and all were found.",
            show_count(checked)
        ),
        _ => format!(
            "FALSE NEGATIVES: {} of {} lookups of inserted keys were denied.",
            show_count(denied),
            show_count(checked)
        ),
    });
    if records.iter().any(|record| record.filled.negatives == 0) {
        findings.push(
            "Every key that was asked for had been inserted: there is nothing a filter could \
             be wrong about, and no rate to measure. With other data, or another --scale, \
             there is."
                .into(),
        );
    }
    findings.extend(at_capacity(args, outcome));
    let judged = records
        .iter()
        .filter_map(|record| record.filled.is_as_predicted());
    let (inside, all) = (
        judged.clone().filter(|inside| *inside).count(),
        judged.count(),
    );
    if all > 0 {
        let together = match outcome.asks_others_each_step {
            true => "",
            false => " The loads of one filter are asked for the same keys, and miss together.",
        };
        findings.push(format!(
            "The predicted rate lies inside {inside} of {all} confidence intervals of 95 %; one in \
             twenty is expected outside by chance alone.{together}"
        ));
    }
    if let Some(last) = records.iter().rfind(|record| {
        record.part == Part::Load && record.filled.step.distinct < record.filled.step.inserts
    }) {
        let naive = last
            .filled
            .description
            .predicted_rate(last.filled.step.inserts);
        let told = naive.map_or_else(String::new, |naive| {
            format!(
                " Counting each as a key would predict {}, and the filter would look better \
                 than theory; for the distinct ones theory says {}.",
                show_rate(naive),
                show_rate(last.filled.predicted())
            )
        });
        findings.push(format!(
            "Keys repeat: of {} inserts {} were distinct.{told}",
            show_count(last.filled.step.inserts),
            show_count(last.filled.step.distinct)
        ));
    }
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

/// Who keeps the promise at capacity, and how well.
fn at_capacity(args: &Args, outcome: &Outcome) -> Option<String> {
    let full = outcome.records.iter().filter(|record| {
        record.part == Part::Load && record.filled.picture.is_some() && record.load() > 0.9
    });
    let mut measured: Vec<_> = full
        .filter_map(|record| {
            Some((
                record.filled.measured()?,
                &outcome.contenders[record.contender].name,
            ))
        })
        .collect();
    measured.sort_by(|a, b| a.0.rate.total_cmp(&b.0.rate));
    let (first, last) = (measured.first()?, measured.last()?);
    let promised = show_rate(args.rate);
    let broken: Vec<String> = measured
        .iter()
        .filter(|(measured, _)| {
            // Twice as far as the interval reaches: with many filters one in forty is no news.
            let all = measured.of_all_filters(outcome.capacity);
            all.rate - 2.0 * (all.rate - all.low) > args.rate
        })
        .map(|(measured, name)| format!("{name} ({})", show_rate(measured.rate)))
        .collect();
    let span = match measured.len() {
        1 => format!("{} measures {}", first.1, show_rate(first.0.rate)),
        _ => format!(
            "from {} ({}) to {} ({})",
            show_rate(first.0.rate),
            first.1,
            show_rate(last.0.rate),
            last.1
        ),
    };
    Some(match broken.is_empty() {
        true => format!("At capacity every filter keeps its promise of {promised}: {span}."),
        false => format!(
            "At capacity {promised} was promised, and is exceeded by {}; all: {span}.",
            broken.join(", ")
        ),
    })
}

fn parameters(args: &Args, outcome: &Outcome) -> Vec<(&'static str, String)> {
    let first = outcome.records.first();
    let loads: Vec<String> = args
        .loads
        .iter()
        .map(|load| format!("{}%", (load * 1e4).round() / 100.0))
        .collect();
    let filters: Vec<&str> = outcome
        .contenders
        .iter()
        .map(|contender| contender.name.as_str())
        .collect();
    vec![
        ("keys", outcome.data.clone()),
        ("seed", args.data.seed().to_string()),
        ("capacity", show_count(outcome.capacity)),
        ("promised rate", show_rate(args.rate)),
        ("filters", filters.join(", ")),
        ("loads", loads.join(", ")),
        ("keys asked for at each load", show_count(args.queries)),
        (
            "of these never inserted, each once",
            first.map_or_else(String::new, |record| show_count(record.filled.negatives)),
        ),
        (
            "interval",
            "Wilson's, 95 %, for the keys asked for".into(),
        ),
        (
            "as predicted",
            "whether the predicted rate lies in the interval, widened by the spread among filters of as \
             many keys: 4 % at 1000 keys, less by the square root for more"
                .into(),
        ),
        ("machine", machine::class()),
        ("version", env!("CARGO_PKG_VERSION").into()),
    ]
}

/// The records of each contender, in turn.
fn by_contender<'a>(
    outcome: &'a Outcome,
    records: impl Iterator<Item = &'a Record> + Clone,
) -> impl Iterator<Item = (&'a str, Vec<&'a Record>)> {
    outcome
        .contenders
        .iter()
        .enumerate()
        .map(move |(i, contender)| {
            let own = records.clone().filter(|record| record.contender == i);
            (contender.name.as_str(), own.collect())
        })
}

fn mark(record: &Record, name: &str, x: f64, y: impl Fn(f64) -> f64) -> Option<Mark> {
    let measured = record.filled.measured()?;
    Some(Mark {
        x,
        y: y(measured.rate),
        interval: Some((y(measured.low), y(measured.high))),
        text: format!(
            "{name}, {} load: measured {} ({} to {}), predicted {}",
            show_rate(record.load()),
            show_rate(measured.rate),
            show_rate(measured.low),
            show_rate(measured.high),
            show_rate(record.filled.predicted())
        ),
    })
}

fn rate_chart<'a>(
    outcome: &'a Outcome,
    records: impl Iterator<Item = &'a Record> + Clone,
) -> Chart {
    let most = records.clone().map(Record::load).fold(1.0, f64::max);
    let promised = records
        .clone()
        .next()
        .map_or(0.01, |record| record.promised);
    let mut series = vec![Series {
        name: "promised at capacity".into(),
        line: vec![(0.0, promised), (most, promised)],
        is_reference: true,
        ..Series::default()
    }];
    for (name, own) in by_contender(outcome, records) {
        let Some(first) = own.first() else { continue };
        let predict = |load: f64| {
            let keys = (load * first.capacity as f64) as u64;
            first.filled.description.predicted_rate(keys)
        };
        let theory = (1..=60).map(|i| most * f64::from(i) / 60.0);
        let mut line: Vec<(f64, f64)> = theory
            .filter_map(|load| Some((load, predict(load)?)))
            .collect();
        if line.is_empty() {
            line = own
                .iter()
                .map(|record| (record.load(), record.filled.stats.rate))
                .collect();
        }
        let marks = own
            .iter()
            .filter_map(|record| mark(record, name, record.load(), |rate| rate));
        series.push(Series {
            name: name.into(),
            line,
            marks: marks.collect(),
            is_reference: false,
        });
    }
    Chart {
        title: "False-positive rate against load".into(),
        description:
            "Rates rise steeply with load; at 100 % each filter is near the rate promised.".into(),
        x: Axis {
            label: "distinct keys, of capacity",
            unit: Unit::Rate,
            spacing: Spacing::Linear,
        },
        y: Axis {
            label: "false-positive rate",
            unit: Unit::Rate,
            spacing: Spacing::Log,
        },
        series,
    }
}

fn deviation_chart<'a>(
    outcome: &'a Outcome,
    records: impl Iterator<Item = &'a Record> + Clone,
) -> Chart {
    let most = records.clone().map(Record::load).fold(1.0, f64::max);
    let mut series = vec![Series {
        name: "as predicted".into(),
        line: vec![(0.0, 0.0), (most, 0.0)],
        is_reference: true,
        ..Series::default()
    }];
    let count = outcome.contenders.len() as f64;
    for (i, (name, own)) in by_contender(outcome, records).enumerate() {
        // Side by side, where one would hide the other. Fewer than a hundred events tell little.
        let beside = (i as f64 - (count - 1.0) / 2.0) / count * most / 35.0;
        let telling = own
            .iter()
            .filter(|record| record.filled.false_positives >= 100);
        let marks = telling.filter_map(|record| {
            let predicted = record.filled.predicted();
            mark(record, name, record.load() + beside, |rate| {
                rate / predicted - 1.0
            })
        });
        series.push(Series {
            name: name.into(),
            marks: marks.collect(),
            ..Series::default()
        });
    }
    Chart {
        title: "How far from the prediction".into(),
        description: "Measured rate over predicted, less one, where at least a hundred false \
                      positives were seen; the dashed line is perfect agreement."
            .into(),
        x: Axis {
            label: "distinct keys, of capacity",
            unit: Unit::Rate,
            spacing: Spacing::Linear,
        },
        y: Axis {
            label: "measured against predicted",
            unit: Unit::Rate,
            spacing: Spacing::Linear,
        },
        series,
    }
}

fn space_chart<'a>(
    outcome: &'a Outcome,
    records: impl Iterator<Item = &'a Record> + Clone,
) -> Chart {
    let most = records
        .clone()
        .map(|record| record.filled.bits_per_key())
        .fold(15.0, f64::max);
    let bound = |name: &str, factor: f64| Series {
        name: name.into(),
        line: (0..=80)
            .map(|i| 2.0 * (most / 2.0).powf(f64::from(i) / 80.0))
            .map(|bits| (bits, (-bits / factor).exp2()))
            .collect(),
        is_reference: true,
        ..Series::default()
    };
    let mut series = vec![
        bound("the information bound", 1.0),
        bound("1.44 times it: Bloom", mayhap::shape::BLOOM_OVERHEAD),
    ];
    for (name, own) in by_contender(outcome, records) {
        let marks = own
            .iter()
            .filter_map(|record| mark(record, name, record.filled.bits_per_key(), |rate| rate));
        series.push(Series {
            name: name.into(),
            marks: marks.collect(),
            ..Series::default()
        });
    }
    Chart {
        title: "Rate against bits per key, at capacity".into(),
        description: "Measured rates of filters of each kind, against the least bits any \
                      filter needs and 1.44 times that."
            .into(),
        x: Axis {
            label: "bits per distinct key",
            unit: Unit::Whole,
            spacing: Spacing::Log,
        },
        y: Axis {
            label: "false-positive rate",
            unit: Unit::Rate,
            spacing: Spacing::Log,
        },
        series,
    }
}
