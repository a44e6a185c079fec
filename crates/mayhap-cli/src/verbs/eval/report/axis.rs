//! Where numbers lie in a picture, and how they are written beside it.

use crate::amounts::{show_bytes, show_rate};

/// One direction of a chart.
pub(in crate::verbs::eval) struct Axis {
    pub(in crate::verbs::eval) label: &'static str,
    pub(in crate::verbs::eval) unit: Unit,
    /// Whether equal factors are equal distances, rather than equal differences.
    pub(in crate::verbs::eval) is_log: bool,
}

/// What the numbers along an axis are.
#[derive(Clone, Copy)]
pub(in crate::verbs::eval) enum Unit {
    /// A share, shown in per cent or as a power.
    Rate,
    /// Bytes.
    Bytes,
    /// Just a number.
    Plain,
}

/// An axis with its ends and marks.
pub(super) struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
    unit: Unit,
    /// How far the values lie from one another where they are marked.
    pub(super) ticks: Vec<f64>,
}

impl Axis {
    /// The scale that has all these values inside it.
    pub(super) fn scale(&self, values: impl Iterator<Item = f64>) -> Scale {
        let is_log = self.is_log;
        let usable = values.filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let (mut low, mut high) = usable.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            (low, high) = if is_log { (0.1, 1.0) } else { (0.0, 1.0) };
        }
        let ticks = match (is_log, self.unit) {
            (true, Unit::Bytes) => {
                low = (low.log2() / 2.0).floor().mul_add(2.0, 0.0).exp2();
                high = (high.log2() / 2.0)
                    .ceil()
                    .mul_add(2.0, 0.0)
                    .exp2()
                    .max(low * 4.0);
                powers(low, high, 4.0)
            }
            (true, _) => {
                low = 10_f64.powf(low.log10().floor());
                high = 10_f64.powf(high.log10().ceil()).max(low * 10.0);
                powers(low, high, 10.0)
            }
            (false, _) => {
                let step = round_step((high - low.min(0.0)).max(1e-12) / 5.0);
                low = (low.min(0.0) / step).floor() * step;
                high = (high / step).ceil() * step;
                let count = ((high - low) / step).round() as u32;
                (0..=count).map(|i| low + f64::from(i) * step).collect()
            }
        };
        Scale {
            low,
            high,
            is_log,
            unit: self.unit,
            ticks,
        }
    }
}

/// The powers of `factor` from `low` to `high`, every second, third … where they would crowd.
fn powers(low: f64, high: f64, factor: f64) -> Vec<f64> {
    let count = ((high / low).ln() / factor.ln()).round() as i32;
    let every = (count / 8 + 1) as usize;
    (0..=count)
        .step_by(every)
        .map(|power| low * factor.powi(power))
        .collect()
}

/// One, two or five times a power of ten, at least this much.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= least * 0.999);
    step.unwrap_or(10.0) * power
}

impl Scale {
    /// Where a value lies, 0 at the low end and 1 at the high one; what is outside lies on the edge.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.is_log {
            true if value <= 0.0 => 0.0,
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        place.clamp(0.0, 1.0)
    }

    /// A value as it is written at the axis.
    pub(super) fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Bytes => show_bytes(value as u64).replace(".0", ""),
            Unit::Rate if value == 0.0 => "0 %".into(),
            Unit::Rate if value >= 1e-4 => {
                let text = format!("{:.4}", value * 100.0);
                let text = text.trim_end_matches('0').trim_end_matches('.');
                format!("{text} %")
            }
            Unit::Rate => show_rate(value).replace(".00e", "e"),
            Unit::Plain if value >= 1e4 => format!("{value:e}"),
            Unit::Plain => {
                let text = format!("{value:.3}");
                let text = text.trim_end_matches('0').trim_end_matches('.');
                text.to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(is_log: bool, unit: Unit, values: &[f64]) -> Scale {
        let axis = Axis {
            label: "",
            unit,
            is_log,
        };
        axis.scale(values.iter().copied())
    }

    #[test]
    fn scales_end_at_round_values() {
        let rates = scale(true, Unit::Rate, &[3e-7, 0.4, 0.0]);
        let shown: Vec<String> = rates.ticks.iter().map(|tick| rates.show(*tick)).collect();
        assert_eq!(
            shown,
            [
                "1e-7", "1e-6", "1e-5", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"
            ]
        );
        let loads = scale(false, Unit::Rate, &[0.1, 2.9]);
        assert_eq!((loads.low, loads.high), (0.0, 3.0));
        assert_eq!(loads.show(loads.ticks[1]), "100 %");
        let sizes = scale(true, Unit::Bytes, &[1e6, 2e8]);
        assert_eq!(sizes.show(sizes.ticks[0]), "256 KiB");
    }

    #[test]
    fn values_lie_between_the_ends() {
        let rates = scale(true, Unit::Rate, &[1e-3, 1.0]);
        assert!((rates.place(0.1) - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(rates.place(0.0), 0.0);
        assert_eq!(rates.place(7.0), 1.0);
        assert_eq!(scale(true, Unit::Rate, &[]).ticks.len(), 2);
    }
}
