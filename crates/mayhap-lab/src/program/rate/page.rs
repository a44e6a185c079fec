//! The report of `mayhap-lab rate`: its page, and every row of it.

use mayhap_lab::machine;
use mayhap_lab::report::{Cell, Column, Figure, Report, Section, Table};
use mayhap_program::amounts::{show_count, show_rate};

use super::{Args, Outcome, Part, Record, charts, findings};

const COLUMNS: [Column; 25] = [
    Column::shown("filter", "filter"),
    Column::kept("part", "part"),
    Column::kept("capacity", "capacity"),
    Column::shown("promised", "promised"),
    Column::shown("load", "load"),
    Column::kept("hashes", "hashes"),
    Column::kept("inserts", "inserts"),
    Column::shown("distinct", "distinct keys"),
    Column::shown("predicted", "predicted"),
    Column::shown("expected_low", "95 % of runs from"),
    Column::shown("expected_high", "to"),
    Column::shown("measured", "measured"),
    Column::shown("as_predicted", "as predicted"),
    Column::kept("low", "its interval from"),
    Column::kept("high", "to"),
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
    let mut filling = Section::new(
        "The rate as the filter fills",
        "The line is what theory predicts for the distinct keys inserted, the band around it what 95 % of runs measure if \
         that is true, and points are what was measured. A point at the lower edge means that not one of the keys asked \
         for was a false positive. All panels have one scale. Kinds that are built once are always full: they have a \
         verdict above and no curve.",
    );
    filling.figures = vec![
        Figure::Panels(charts::rates(outcome)),
        Figure::Panels(charts::deviations(outcome)),
    ];
    let mut space = Section::new(
        "What a rate costs",
        "Filters for six rates, each filled to its capacity. No filter can lie below the information bound, log2(1/rate) \
         bits per key; a standard Bloom filter needs 1.44 times as many.",
    );
    space.figures = vec![Figure::Panels(charts::space(outcome))];
    let mut sections = vec![filling, space];
    if records.iter().any(|record| record.part == Part::Hashes) {
        let mut hashes = Section::new(
            "How many hashes",
            "Filters of the same size, filled to capacity, with other numbers of hashes: too few ask too little of a key, \
             too many fill the filter.",
        );
        hashes.figures = vec![Figure::Panels(charts::hashes(outcome))];
        sections.push(hashes);
    }
    let pictures = load().filter_map(|record| {
        let picture = record.filled.picture.as_ref()?;
        let name = &outcome.contenders[record.contender].name;
        let title = format!("{name} at {} load", show_rate(record.load()));
        Some(Figure::Bits(picture.titled(title)))
    });
    let mut bits = Section::new(
        "The bits, at capacity",
        "Hashing should leave no pattern: ones anywhere alike, and every stretch as full as the next. Counters and labels \
         are drawn as their values.",
    );
    bits.figures = pictures.collect();
    sections.push(bits);
    let capacity = show_count(*capacity);
    Report {
        title: format!(
            "Is the promised rate true? {capacity} keys, {}",
            outcome.data
        ),
        findings: findings::findings(args, outcome),
        notes: Vec::new(),
        parameters: parameters(args, outcome),
        verdicts: outcome.is_whole.then(|| findings::verdicts(outcome)),
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
    let range = record.range();
    let bound = measured
        .map(|measured| -measured.rate.log2())
        .filter(|bound| bound.is_finite() && *bound > 0.0);
    vec![
        Cell::text(&outcome.contenders[record.contender].name),
        Cell::text(match record.part {
            Part::Load => "load",
            Part::Space => "space",
            Part::Hashes => "hashes",
        }),
        Cell::Count(record.capacity),
        Cell::Rate(record.promised),
        Cell::Rate(record.load()),
        Cell::Count(record.filled.description.hashes.into()),
        Cell::Count(record.filled.step.inserts),
        Cell::Count(record.filled.step.distinct),
        Cell::rate(record.expected.map(|expected| expected.rate)),
        Cell::rate(range.map(|range| range.0)),
        Cell::rate(range.map(|range| range.1)),
        Cell::rate(measured.map(|measured| measured.rate)),
        record.is_as_predicted().map_or(Cell::Empty, Cell::Truth),
        Cell::rate(measured.map(|measured| measured.low)),
        Cell::rate(measured.map(|measured| measured.high)),
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
        ("keys asked for at each load", show_count(outcome.queries)),
        (
            "of these never inserted, each once",
            first.map_or_else(String::new, |record| show_count(record.filled.negatives)),
        ),
        (
            "predicted",
            "by the formula of the kind, for the distinct keys: the mean over all such filters".into(),
        ),
        (
            "as predicted",
            "whether the measured rate is one that 95 % of runs have if the prediction is true. What differs from run to \
             run is which keys are asked for, and the filter: how much such filters differ was found with 2500 of each \
             kind, of other keys"
                .into(),
        ),
        ("its interval", "Wilson's, 95 %: where the rate of this one filter lies".into()),
        ("machine", machine::class()),
        ("version", env!("CARGO_PKG_VERSION").into()),
    ]
}
