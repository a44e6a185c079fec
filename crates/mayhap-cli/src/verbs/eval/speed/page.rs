//! What `eval speed` has to say.

use mayhap_lab::report::{
    Axis, Cell, Chart, Column, Figure, Mark, Report, Section, Series, Spacing, Table, Unit,
};

use super::super::contenders::absences;
use super::super::machine;
use super::passes::Mode;
use super::{Args, Operation, Outcome, Record};
use crate::amounts::{show_bytes, show_count, show_rate};

const COLUMNS: [Column; 10] = [
    Column::shown("subject", "filter or hash"),
    Column::shown("operation", "operation"),
    Column::shown("mode", "mode"),
    Column::shown("keys", "keys"),
    Column::shown("bytes", "bytes"),
    Column::shown("threads", "threads"),
    Column::shown("nanoseconds", "ns per key"),
    Column::kept("least", "least"),
    Column::kept("greatest", "greatest"),
    Column::shown("times_the_limit", "times the limit"),
];

pub(super) fn report(args: &Args, outcome: &Outcome) -> Report {
    let mut sections = vec![Section {
        heading: "How near to the limit",
        text: "Nanoseconds per key in batches, on one thread. The dashed line is one random \
               cache line per key of a memory of that size, which no filter beats; while the \
               filter is in a cache, hashing costs more."
            .into(),
        figures: [Operation::Miss, Operation::Hit, Operation::Insert]
            .map(|operation| Figure::Chart(size_chart(outcome, operation)))
            .into(),
        tables: Vec::new(),
    }];
    if outcome.records.iter().any(|record| record.threads > 1) {
        sections.push(Section {
            heading: "More threads",
            text: "Keys per second that all threads together look up in the largest filter, \
                   in batches."
                .into(),
            figures: vec![Figure::Chart(thread_chart(outcome))],
            tables: Vec::new(),
        });
    }
    sections.push(Section {
        heading: "Hash functions alone",
        text: "Every lookup begins with a hash; this is all that it costs.".into(),
        figures: Vec::new(),
        tables: vec![hash_table(outcome)],
    });
    let sizes: Vec<String> = args.sizes.iter().map(|size| show_count(*size)).collect();
    Report {
        title: "What an insert and a lookup cost".into(),
        findings: findings(outcome),
        notes: Vec::new(),
        parameters: vec![
            ("sizes, in keys", sizes.join(", ")),
            ("rate", show_rate(args.rate)),
            ("keys", "8 bytes each, made beforehand".into()),
            (
                "turns",
                format!(
                    "{}, and one before that does not count; medians",
                    args.rounds
                ),
            ),
            ("machine", machine::class()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ],
        sections,
        records: Table {
            caption: "Nanoseconds per key".into(),
            columns: COLUMNS.into(),
            rows: outcome.records.iter().map(row).collect(),
        },
        is_whole: outcome.is_whole,
    }
}

fn row(record: &Record) -> Vec<Cell> {
    vec![
        Cell::text(&record.subject),
        Cell::text(record.operation.name()),
        Cell::text(record.mode.name()),
        record.keys.map_or(Cell::Empty, Cell::Count),
        Cell::Count(record.bytes),
        Cell::Count(record.threads as u64),
        Cell::Number(record.times.median, 2),
        Cell::Number(record.times.least, 2),
        Cell::Number(record.times.greatest, 2),
        Cell::number(record.limit.map(|limit| record.times.median / limit), 2),
    ]
}

/// The records of one operation in batches, on one thread.
fn batched(outcome: &Outcome, operation: Operation) -> impl Iterator<Item = &Record> + Clone {
    outcome.records.iter().filter(move |record| {
        record.operation == operation && record.mode == Mode::Batched && record.threads == 1
    })
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let mut findings = Vec::new();
    let largest = outcome
        .records
        .iter()
        .filter_map(|record| record.keys)
        .max();
    for operation in [Operation::Miss, Operation::Insert] {
        let own = batched(outcome, operation).filter(|record| record.keys == largest);
        let Some(best) = own.min_by(|a, b| a.times.median.total_cmp(&b.times.median)) else {
            continue;
        };
        let near = best.limit.map_or_else(String::new, |limit| {
            format!(
                ", {:.2} times the {limit:.1} ns that the memory alone takes",
                best.times.median / limit
            )
        });
        findings.push(format!(
            "At {} keys the fastest {} in batches is that of {}: {:.1} ns{near}.",
            show_count(largest.unwrap_or(0)),
            operation.name(),
            best.subject,
            best.times.median,
        ));
    }
    findings.extend(absences(&outcome.absent));
    findings
}

fn mark(record: &Record, x: f64, y: impl Fn(f64) -> f64) -> Mark {
    Mark {
        x,
        y: y(record.times.median),
        interval: Some((y(record.times.quartiles.0), y(record.times.quartiles.1))),
        text: format!(
            "{}, {}, {} threads: {:.2} ns ({:.2} to {:.2})",
            record.subject,
            show_bytes(record.bytes),
            record.threads,
            record.times.median,
            record.times.least,
            record.times.greatest
        ),
    }
}

fn size_chart(outcome: &Outcome, operation: Operation) -> Chart {
    let mut limits: Vec<(f64, f64)> = Vec::new();
    let mut sizes: Vec<u64> = batched(outcome, operation)
        .filter_map(|record| record.keys)
        .collect();
    sizes.dedup();
    for size in sizes {
        // Filters of one size differ little in bytes; the least time is the nearest to the limit.
        let own = batched(outcome, operation).filter(|record| record.keys == Some(size));
        let own = own.filter_map(|record| Some((record.bytes as f64, record.limit?)));
        limits.extend(own.min_by(|a, b| a.1.total_cmp(&b.1)));
    }
    let mut series = vec![Series {
        name: "limit of this memory".into(),
        line: limits,
        is_reference: true,
        ..Series::default()
    }];
    for contender in &outcome.contenders {
        let own = batched(outcome, operation).filter(|record| record.subject == contender.name);
        series.push(Series {
            name: contender.name.clone(),
            line: own
                .clone()
                .map(|record| (record.bytes as f64, record.times.median))
                .collect(),
            marks: own
                .map(|record| mark(record, record.bytes as f64, |time| time))
                .collect(),
            is_reference: false,
        });
    }
    let (title, what) = match operation {
        Operation::Insert => ("Insert, in batches", "inserts"),
        Operation::Hit => (
            "Lookup of a key that is there",
            "lookups of keys that are there",
        ),
        _ => (
            "Lookup of a key that is not there",
            "lookups of keys that are not there",
        ),
    };
    Chart {
        title: title.into(),
        description: format!(
            "Nanoseconds per key of {what}, against the bytes of the filter; bars are least \
             and greatest."
        ),
        x: Axis {
            label: "size of the filter",
            unit: Unit::Bytes,
            spacing: Spacing::Log,
        },
        y: Axis {
            label: "ns per key",
            unit: Unit::Plain,
            spacing: Spacing::Log,
        },
        series,
    }
}

fn thread_chart(outcome: &Outcome) -> Chart {
    let largest = outcome
        .records
        .iter()
        .filter_map(|record| record.keys)
        .max();
    let series = outcome.contenders.iter().map(|contender| {
        let own = outcome.records.iter().filter(|record| {
            record.subject == contender.name
                && record.keys == largest
                && record.operation == Operation::Miss
                && record.mode == Mode::Batched
        });
        let speed = |time: f64| 1e3 / time;
        Series {
            name: contender.name.clone(),
            line: own
                .clone()
                .map(|record| (record.threads as f64, speed(record.times.median)))
                .collect(),
            marks: own
                .map(|record| mark(record, record.threads as f64, speed))
                .collect(),
            is_reference: false,
        }
    });
    Chart {
        title: "Lookups of keys that are not there, all threads".into(),
        description: "Millions of keys per second against the number of threads.".into(),
        x: Axis {
            label: "threads",
            unit: Unit::Whole,
            spacing: Spacing::Near,
        },
        y: Axis {
            label: "million keys per second",
            unit: Unit::Plain,
            spacing: Spacing::Linear,
        },
        series: series.collect(),
    }
}

fn hash_table(outcome: &Outcome) -> Table {
    let hashes = outcome
        .records
        .iter()
        .filter(|record| record.operation == Operation::Hash);
    Table {
        caption: "Nanoseconds per hash".into(),
        columns: vec![
            Column::shown("hash", "hash"),
            Column::shown("bytes", "bytes of the key"),
            Column::shown("nanoseconds", "ns"),
            Column::shown("least", "least"),
            Column::shown("greatest", "greatest"),
        ],
        rows: hashes
            .map(|record| {
                vec![
                    Cell::text(&record.subject),
                    Cell::Count(record.bytes),
                    Cell::Number(record.times.median, 2),
                    Cell::Number(record.times.least, 2),
                    Cell::Number(record.times.greatest, 2),
                ]
            })
            .collect(),
    }
}
