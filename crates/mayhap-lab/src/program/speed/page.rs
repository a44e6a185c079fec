//! The report of `mayhap-lab speed`.

use mayhap_lab::machine;
use mayhap_lab::report::{
    Axis, Cell, Chart, Column, Figure, Mark, Panels, Report, Section, Series, Spacing, Table, Tone,
    Unit,
};
use mayhap_program::amounts::{show_bytes, show_count, show_rate};

use super::passes::Mode;
use super::{Args, Operation, Outcome, Record};
use crate::contenders::absences;

const COLUMNS: [Column; 10] = [
    Column::shown("subject", "filter or hash"),
    Column::shown("operation", "operation"),
    Column::shown("mode", "mode"),
    Column::shown("keys", "keys"),
    Column::shown("bytes", "bytes"),
    Column::shown("threads", "threads"),
    Column::shown("nanoseconds", "ns per key"),
    Column::shown("least", "least"),
    Column::shown("greatest", "greatest"),
    Column::shown("times_the_limit", "times the limit"),
];

pub(super) fn report(args: &Args, outcome: &Outcome) -> Report {
    let mut limit = Section::new(
        "How near to the limit",
        "Nanoseconds per key in batches, on one thread; bars are the middle half of the turns. The dashed line is one random \
         cache line per key of a memory of that size, which no filter beats; while the filter is in a cache, hashing costs \
         more. All panels have one scale.",
    );
    limit.figures = vec![Figure::Panels(size_panels(outcome))];
    let mut sections = vec![limit];
    if outcome.records.iter().any(|record| record.threads > 1) {
        let mut threads = Section::new(
            "More threads",
            "Keys per second that all threads together look up in the largest filter, in batches.",
        );
        threads.figures = vec![Figure::Panels(thread_panels(outcome))];
        sections.push(threads);
    }
    let mut hashes = Section::new(
        "Hash functions alone",
        "Every lookup begins with a hash; this is all that it costs.",
    );
    hashes.tables = vec![hash_table(outcome)];
    sections.push(hashes);
    let sizes: Vec<String> = args.sizes.iter().map(|size| show_count(*size)).collect();
    Report {
        title: "What an insert and a lookup cost".into(),
        findings: findings(outcome),
        notes: Vec::new(),
        verdicts: outcome.is_whole.then(|| verdicts(outcome)),
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

/// The spread of the middle half of a record's turns, as a share of the median.
fn unrest(record: &Record) -> f64 {
    (record.times.quartiles.1 - record.times.quartiles.0) / record.times.median
}

/// The share from which the turns of one filter differ more than filters do.
const NOISY: f64 = 0.15;

fn findings(outcome: &Outcome) -> Vec<String> {
    if !outcome.is_whole {
        let text = format!(
            "Interrupted after {} times: nothing follows from them.",
            outcome.records.len()
        );
        return vec![text];
    }
    let mut findings = Vec::new();
    let mut unrests: Vec<f64> = outcome.records.iter().map(unrest).collect();
    unrests.sort_by(f64::total_cmp);
    if let Some(&middle) = unrests
        .get(unrests.len() / 2)
        .filter(|middle| **middle > NOISY)
    {
        findings.push(format!(
            "This machine is too noisy to say which filter is faster: half of all times differ by {} or more from turn to turn. \
             End what else runs, or raise --rounds.",
            show_rate(middle)
        ));
        findings.extend(absences(&outcome.absent));
        return findings;
    }
    let largest = outcome
        .records
        .iter()
        .filter_map(|record| record.keys)
        .max();
    for operation in [Operation::Miss, Operation::Insert] {
        let own = batched(outcome, operation).filter(|record| record.keys == largest);
        let Some(best) = own
            .clone()
            .min_by(|a, b| a.times.median.total_cmp(&b.times.median))
        else {
            continue;
        };
        let near = best.limit.map_or_else(String::new, |limit| {
            format!(
                ", {:.2} times the {limit:.1} ns that the memory alone takes",
                best.times.median / limit
            )
        });
        // Those whose middle half begins before that of the best ends.
        let rivals = own.filter(|record| {
            record.subject != best.subject && record.times.quartiles.0 <= best.times.quartiles.1
        });
        let rivals: Vec<&str> = rivals.map(|record| record.subject.as_str()).collect();
        let rivals = match rivals.is_empty() {
            true => String::new(),
            false => format!(
                " As fast, as far as these turns show: {}.",
                rivals.join(", ")
            ),
        };
        findings.push(format!(
            "At {} keys the fastest {} in batches is that of {}: {:.1} ns ({:.1} to {:.1}){near}.{rivals}",
            show_count(largest.unwrap_or(0)),
            operation.name(),
            best.subject,
            best.times.median,
            best.times.least,
            best.times.greatest,
        ));
    }
    findings.extend(absences(&outcome.absent));
    findings
}

/// Makes a row for each filter: the times of its lookups and inserts at the largest size, on one thread.
fn verdicts(outcome: &Outcome) -> Table {
    let largest = outcome
        .records
        .iter()
        .filter_map(|record| record.keys)
        .max();
    let columns = [
        Column::shown("filter", "filter"),
        Column::shown("miss", "miss, ns"),
        Column::shown("hit", "hit, ns"),
        Column::shown("insert", "insert, ns"),
        Column::shown("times_the_limit", "miss, times the limit"),
        Column::shown("spread", "middle half of the turns"),
    ];
    let rows = outcome.contenders.iter().map(|contender| {
        let of = |operation| {
            batched(outcome, operation)
                .find(|record| record.keys == largest && record.subject == contender.name)
        };
        let time = |operation| Cell::number(of(operation).map(|record| record.times.median), 1);
        let miss = of(Operation::Miss);
        vec![
            Cell::text(&contender.name),
            time(Operation::Miss),
            time(Operation::Hit),
            time(Operation::Insert),
            Cell::number(
                miss.and_then(|miss| Some(miss.times.median / miss.limit?)),
                2,
            ),
            miss.map_or(Cell::Empty, |miss| match unrest(miss) > NOISY {
                true => Cell::Judged(
                    Tone::Open,
                    format!("± {}: too noisy", show_rate(unrest(miss) / 2.0)),
                ),
                false => Cell::Judged(Tone::Good, format!("± {}", show_rate(unrest(miss) / 2.0))),
            }),
        ]
    });
    Table {
        caption: format!(
            "At {} keys, in batches, on one thread",
            show_count(largest.unwrap_or(0))
        ),
        columns: columns.into(),
        rows: rows.collect(),
    }
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

/// Draws a panel for each filter: the times of its operations, by size.
fn size_panels(outcome: &Outcome) -> Panels {
    let mut limits: Vec<(f64, f64)> = Vec::new();
    let mut sizes: Vec<u64> = batched(outcome, Operation::Miss)
        .filter_map(|record| record.keys)
        .collect();
    sizes.dedup();
    for size in sizes {
        // Filters of one size differ little in bytes; the lowest time is the nearest to the limit.
        let own = batched(outcome, Operation::Miss).filter(|record| record.keys == Some(size));
        let own = own.filter_map(|record| Some((record.bytes as f64, record.limit?)));
        limits.extend(own.min_by(|a, b| a.1.total_cmp(&b.1)));
    }
    let series = |contender: &str, operation: Operation, name: &str| {
        let own = batched(outcome, operation).filter(|record| record.subject == contender);
        let line = own
            .clone()
            .map(|record| (record.bytes as f64, record.times.median));
        Series {
            name: name.into(),
            line: line.collect(),
            marks: own
                .map(|record| mark(record, record.bytes as f64, |time| time))
                .collect(),
            ..Series::default()
        }
    };
    let charts = outcome.contenders.iter().map(|contender| Chart {
        title: contender.name.clone(),
        description: "Nanoseconds per key of lookups and inserts, against the bytes of the filter."
            .into(),
        x: Axis::new("size of the filter", Unit::Bytes, Spacing::Log),
        y: Axis::new("ns per key", Unit::Plain, Spacing::Log),
        series: vec![
            Series::reference("limit of this memory", limits.clone()),
            series(&contender.name, Operation::Miss, "lookup of an absent key"),
            series(
                &contender.name,
                Operation::Hit,
                "lookup of a key that is there",
            ),
            series(&contender.name, Operation::Insert, "insert"),
        ],
    });
    Panels {
        title: "Nanoseconds per key, by the size of the filter".into(),
        charts: charts.collect(),
    }
}

/// Draws a panel for each filter: keys per second by threads.
fn thread_panels(outcome: &Outcome) -> Panels {
    let largest = outcome
        .records
        .iter()
        .filter_map(|record| record.keys)
        .max();
    let speed = |time: f64| 1e3 / time;
    let charts = outcome.contenders.iter().map(|contender| {
        let own = outcome.records.iter().filter(|record| {
            record.subject == contender.name
                && record.keys == largest
                && record.operation == Operation::Miss
                && record.mode == Mode::Batched
        });
        let line = own
            .clone()
            .map(|record| (record.threads as f64, speed(record.times.median)));
        Chart {
            title: contender.name.clone(),
            description: "Millions of keys per second against the number of threads.".into(),
            x: Axis::new("threads", Unit::Whole, Spacing::Near),
            y: Axis::new("million keys per second", Unit::Plain, Spacing::Linear),
            series: vec![Series {
                name: "lookups of absent keys".into(),
                line: line.collect(),
                marks: own
                    .map(|record| mark(record, record.threads as f64, speed))
                    .collect(),
                ..Series::default()
            }],
        }
    });
    Panels {
        title: "Lookups of keys that are not there, all threads".into(),
        charts: charts.collect(),
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
