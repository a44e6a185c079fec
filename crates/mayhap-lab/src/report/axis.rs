//! Axes: the places of numbers in a picture, and their labels.

use mayhap_program::amounts::{show_bytes, show_count};

/// One direction of a chart.
pub struct Axis {
    /// The label.
    pub label: &'static str,
    /// The unit of its numbers.
    pub unit: Unit,
    /// The spacing of its numbers.
    pub spacing: Spacing,
}

impl Axis {
    /// Makes an axis.
    pub const fn new(label: &'static str, unit: Unit, spacing: Spacing) -> Axis {
        Axis {
            label,
            unit,
            spacing,
        }
    }
}

/// The spacing of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences are equal distances, and zero is included.
    Linear,
    /// The same, without zero if it is far away.
    Near,
    /// Equal factors are equal distances.
    Log,
}

/// The unit of the numbers along an axis.
#[derive(Clone, Copy)]
pub enum Unit {
    /// A share, shown in per cent or as a power.
    Rate,
    /// Bytes.
    Bytes,
    /// A plain number.
    Plain,
    /// A whole number.
    Whole,
}

/// An axis with its ends and marks.
pub(super) struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
    unit: Unit,
    /// The marked values.
    pub(super) ticks: Vec<f64>,
}

impl Axis {
    /// Makes the scale that includes all these values.
    pub(super) fn scale(&self, values: impl Iterator<Item = f64>) -> Scale {
        let is_log = self.spacing == Spacing::Log;
        let usable = values.filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let (mut low, mut high) = usable.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            (low, high) = if is_log { (0.1, 1.0) } else { (0.0, 1.0) };
        }
        let ticks = match (is_log, self.unit) {
            (true, Unit::Bytes | Unit::Whole) => {
                // Marks are powers of four for bytes, and of two for other whole numbers.
                let twos = if matches!(self.unit, Unit::Bytes) {
                    2.0
                } else {
                    1.0
                };
                low = ((low.log2() / twos).floor() * twos).exp2();
                high = ((high.log2() / twos).ceil() * twos).exp2().max(low * 2.0);
                powers(low, high, f64::exp2(twos))
            }
            (true, _) => {
                low = 10_f64.powf(low.log10().floor());
                high = 10_f64.powf(high.log10().ceil()).max(low * 10.0);
                powers(low, high, 10.0)
            }
            (false, _) => {
                if self.spacing == Spacing::Linear {
                    (low, high) = (low.min(0.0), high.max(0.0));
                }
                let mut step = round_step((high - low).max(1e-12) / 5.0);
                if matches!(self.unit, Unit::Whole) {
                    step = step.max(1.0);
                }
                // A twentieth of a step past a mark does not need another mark.
                low = (low / step + 0.05).floor() * step;
                high = ((high / step - 0.05).ceil() * step).max(low + step);
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

/// The powers of `factor` from `low` to `high`; only every second, third … if they would crowd.
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
    /// The place of a value, 0 at the low end and 1 at the high one; values outside are on the edge.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.is_log {
            true if value <= 0.0 => 0.0,
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        place.clamp(0.0, 1.0)
    }

    /// Returns whether a value lies between the ends.
    pub(super) fn has(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Formats a value for the axis.
    pub(super) fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Bytes => show_bytes(value as u64).replace(".0", ""),
            // Powers of ten are not exact: slightly less than one is one.
            Unit::Rate if value.abs() >= 9.9e-5 || value.abs() < 1e-18 => {
                format!("{} %", shortest(value * 100.0, 4))
            }
            Unit::Rate => format!("{value:.0e}"),
            Unit::Whole => show_count(value.round() as u64),
            Unit::Plain if value >= 1e4 => show_count(value.round() as u64),
            Unit::Plain => shortest(value, 3),
        }
    }
}

/// Formats a number with at most this many digits after the point, without zeros at the end.
fn shortest(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.strip_prefix('-')
        .filter(|rest| *rest == "0")
        .unwrap_or(text)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(spacing: Spacing, unit: Unit, values: &[f64]) -> Scale {
        let axis = Axis {
            label: "",
            unit,
            spacing,
        };
        axis.scale(values.iter().copied())
    }

    #[test]
    fn scales_end_at_round_values() {
        let rates = scale(Spacing::Log, Unit::Rate, &[3e-7, 0.4, 0.0]);
        let shown: Vec<String> = rates.ticks.iter().map(|tick| rates.show(*tick)).collect();
        assert_eq!(
            shown,
            [
                "1e-7", "1e-6", "1e-5", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"
            ]
        );
        let loads = scale(Spacing::Linear, Unit::Rate, &[0.1, 2.9]);
        assert_eq!((loads.low, loads.high), (0.0, 3.0));
        assert_eq!(loads.show(loads.ticks[1]), "100 %");
        let off = scale(Spacing::Linear, Unit::Rate, &[-0.034, 0.051]);
        assert_eq!(
            (off.show(off.ticks[0]), off.show(off.ticks[2])),
            ("-4 %".into(), "0 %".into())
        );
        let near = scale(Spacing::Near, Unit::Plain, &[9.75e6, 1e7]);
        assert_eq!(near.show(near.ticks[0]), "9 750 000");
        let sizes = scale(Spacing::Log, Unit::Bytes, &[1e6, 2e8]);
        assert_eq!(sizes.show(sizes.ticks[0]), "256 KiB");
    }

    #[test]
    fn values_lie_between_the_ends() {
        let rates = scale(Spacing::Log, Unit::Rate, &[1e-3, 1.0]);
        assert!((rates.place(0.1) - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(rates.place(0.0), 0.0);
        assert_eq!(rates.place(7.0), 1.0);
        assert_eq!(scale(Spacing::Log, Unit::Rate, &[]).ticks.len(), 2);
    }
}
