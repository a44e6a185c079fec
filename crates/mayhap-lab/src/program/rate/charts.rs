//! The pictures of `mayhap-lab rate`: a panel for each filter, all with one scale.

use mayhap_lab::report::{Axis, Chart, Mark, Panels, Series, Spacing, Unit};
use mayhap_program::amounts::show_rate;

use super::{Outcome, Part, Record};

const LOAD: Axis = Axis::new("distinct keys, of capacity", Unit::Rate, Spacing::Linear);

const RATE: Axis = Axis::new("false-positive rate", Unit::Rate, Spacing::Log);

/// Makes a panel for each filter that has records of this part, and more than one load: filters that are built once
/// have no curve.
fn panels<'a>(
    outcome: &'a Outcome,
    part: Part,
    chart: impl Fn(&'a str, Vec<&'a Record>) -> Chart,
) -> Vec<Chart> {
    let own = |index: usize| {
        let records = outcome.records.iter();
        let own = records.filter(|record| record.part == part && record.contender == index);
        own.collect::<Vec<&Record>>()
    };
    let contenders = outcome.contenders.iter().enumerate();
    contenders
        .map(|(index, contender)| (contender.name.as_str(), own(index)))
        .filter(|(_, own)| own.len() > usize::from(part == Part::Load))
        .map(|(name, own)| chart(name, own))
        .collect()
}

fn mark(record: &Record, name: &str, x: f64, y: impl Fn(f64) -> f64) -> Option<Mark> {
    let measured = record.filled.measured()?;
    let expected = match (record.expected, record.range()) {
        (Some(expected), Some((low, high))) => format!(
            ", predicted {} ({} to {})",
            show_rate(expected.rate),
            show_rate(low),
            show_rate(high)
        ),
        _ => String::new(),
    };
    Some(Mark {
        x,
        y: y(measured.rate),
        interval: None,
        text: format!(
            "{name}, {} load: measured {}{expected}",
            show_rate(record.load()),
            show_rate(measured.rate),
        ),
    })
}

fn promised(outcome: &Outcome, most: f64) -> Series {
    let promised = outcome
        .records
        .first()
        .map_or(0.01, |record| record.promised);
    Series::reference(
        "promised at capacity",
        vec![(0.0, promised), (most, promised)],
    )
}

/// The highest load that was measured.
fn most_load(outcome: &Outcome) -> f64 {
    let load = outcome
        .records
        .iter()
        .filter(|record| record.part == Part::Load);
    load.map(Record::load).fold(1.0, f64::max)
}

/// Draws the rate against the load.
pub(super) fn rates(outcome: &Outcome) -> Panels {
    let most = most_load(outcome);
    let charts = panels(outcome, Part::Load, |name, own| {
        let first = own[0];
        let last = own.iter().map(|record| record.load()).fold(0.0, f64::max);
        let predict = |load: f64| {
            let keys = (load * first.capacity as f64) as u64;
            first.filled.description.predicted_rate(keys)
        };
        let has_line = own.iter().all(|record| record.expected.is_some());
        let theory = (1..=48)
            .map(|i| last * f64::from(i) / 48.0)
            .filter(|_| has_line);
        let band = own.iter().filter_map(|record| {
            let (low, high) = record.range()?;
            Some((record.load(), low, high))
        });
        let marks = own
            .iter()
            .filter_map(|record| mark(record, name, record.load(), |rate| rate));
        Chart {
            title: name.into(),
            description:
                "The rate rises steeply with the load; at 100 % it is near the one promised.".into(),
            x: LOAD,
            y: RATE,
            series: vec![
                promised(outcome, most),
                Series {
                    name: "predicted, and what 95 % of runs measure".into(),
                    line: theory
                        .filter_map(|load| Some((load, predict(load)?)))
                        .collect(),
                    band: band.collect(),
                    ..Series::default()
                },
                measured(marks.collect()),
            ],
        }
    });
    Panels {
        title: "False-positive rate against load".into(),
        charts,
    }
}

fn measured(marks: Vec<Mark>) -> Series {
    Series {
        name: "measured".into(),
        marks,
        ..Series::default()
    }
}

/// Draws the deviation of the rate from the prediction.
pub(super) fn deviations(outcome: &Outcome) -> Panels {
    let most = most_load(outcome);
    let charts = panels(outcome, Part::Load, |name, own| {
        // With fewer false positives the band is wider than the picture.
        let seen = own
            .iter()
            .filter(|record| record.filled.false_positives >= 100);
        let seen = seen.filter_map(|record| Some((*record, record.expected?.rate)));
        let band = seen.clone().filter_map(|(record, rate)| {
            let (low, high) = record.range()?;
            Some((record.load(), low / rate - 1.0, high / rate - 1.0))
        });
        let marks = seen.clone().filter_map(|(record, predicted)| {
            mark(record, name, record.load(), |rate| rate / predicted - 1.0)
        });
        Chart {
            title: name.into(),
            description: "Measured rate over predicted, less one, where at least a hundred false positives were seen; the \
                          dashed line is perfect agreement."
                .into(),
            x: LOAD,
            y: Axis::new("measured against predicted", Unit::Rate, Spacing::Linear),
            series: vec![
                Series::reference("exactly as predicted", vec![(0.0, 0.0), (most, 0.0)]),
                Series {
                    name: "what 95 % of runs measure".into(),
                    band: band.collect(),
                    ..Series::default()
                },
                measured(marks.collect()),
            ],
        }
    });
    Panels {
        title: "How far from the prediction".into(),
        charts,
    }
}

/// Draws the rate against the bits per key.
pub(super) fn space(outcome: &Outcome) -> Panels {
    let records = outcome
        .records
        .iter()
        .filter(|record| record.part == Part::Space);
    let most = records
        .map(|record| record.filled.bits_per_key())
        .fold(15.0, f64::max);
    let bound = |name: &str, factor: f64| {
        Series::reference(
            name,
            (0..=80)
                .map(|i| 2.0 * (most / 2.0).powf(f64::from(i) / 80.0))
                .map(|bits| (bits, (-bits / factor).exp2()))
                .collect(),
        )
    };
    let charts = panels(outcome, Part::Space, |name, own| {
        let marks = own
            .iter()
            .filter_map(|record| mark(record, name, record.filled.bits_per_key(), |rate| rate));
        Chart {
            title: name.into(),
            description: "Measured rates of filters for six rates, against the least bits any filter needs and 1.44 times \
                          that."
                .into(),
            x: Axis::new("bits per distinct key", Unit::Whole, Spacing::Log),
            y: RATE,
            series: vec![
                bound("the information bound, and 1.44 times it", 1.0),
                bound("", mayhap::shape::BLOOM_OVERHEAD),
                measured(marks.collect()),
            ],
        }
    });
    Panels {
        title: "Rate against bits per key, at capacity".into(),
        charts,
    }
}

/// Draws the rate against the number of hashes.
pub(super) fn hashes(outcome: &Outcome) -> Panels {
    let charts = panels(outcome, Part::Hashes, |name, own| {
        let hashes = |record: &Record| f64::from(record.filled.description.hashes);
        let line = own
            .iter()
            .filter_map(|record| Some((hashes(record), record.expected?.rate)));
        let band = own.iter().filter_map(|record| {
            let (low, high) = record.range()?;
            Some((hashes(record), low, high))
        });
        let marks = own
            .iter()
            .filter_map(|record| mark(record, name, hashes(record), |rate| rate));
        Chart {
            title: name.into(),
            description:
                "The rate falls with the number of hashes, and rises again when there are too many."
                    .into(),
            x: Axis::new("hashes", Unit::Whole, Spacing::Near),
            y: RATE,
            series: vec![
                Series {
                    name: "predicted, and what 95 % of runs measure".into(),
                    line: line.collect(),
                    band: band.collect(),
                    ..Series::default()
                },
                measured(marks.collect()),
            ],
        }
    });
    Panels {
        title: "Rate against the number of hashes".into(),
        charts,
    }
}
