//! The bits and keys of a filter now, and how Python shows them.

use std::fmt::Write as _;

use mayhap::{Description, Stats as Core};
use pyo3::prelude::*;

/// The bits of a filter now, and the keys and the rate that follow from them.
#[pyclass(frozen, get_all, eq, module = "pymayhap")]
#[derive(PartialEq)]
pub(crate) struct Stats {
    /// The number of bits.
    bits: u64,
    /// The number of ones among them.
    ones: u64,
    /// The share of ones, 0 to 1.
    fill: f64,
    /// The estimated number of distinct keys; None when every bit is a one.
    keys: Option<f64>,
    /// The false-positive rate now.
    rate: f64,
    /// The keys it was made for, where that is known.
    capacity: Option<u64>,
    /// The rate asked for at that many keys, where that is known.
    promised_rate: Option<f64>,
    /// True when there are more keys than it was made for.
    over_capacity: bool,
    /// The bytes of memory or of the file that the bits take.
    nbytes: u64,
}

/// Returns the bytes that this many bits take, in whole words.
pub(crate) fn bytes_of_bits(bits: u64) -> u64 {
    bits.div_ceil(64) * 8
}

impl From<Core> for Stats {
    fn from(stats: Core) -> Stats {
        Stats {
            bits: stats.bits,
            ones: stats.ones,
            fill: stats.fill(),
            keys: stats.keys,
            rate: stats.rate,
            capacity: stats.promise.map(|promise| promise.keys),
            promised_rate: stats.promise.map(|promise| promise.rate),
            over_capacity: stats.is_over_capacity(),
            nbytes: bytes_of_bits(stats.bits),
        }
    }
}

#[pymethods]
impl Stats {
    fn __repr__(&self) -> String {
        let python = |known: Option<String>| known.unwrap_or_else(|| "None".into());
        format!(
            "Stats(bits={}, ones={}, fill={:.4}, keys={}, rate={:.3e}, capacity={}, promised_rate={}, \
             over_capacity={}, nbytes={})",
            self.bits,
            self.ones,
            self.fill,
            python(self.keys.map(|keys| format!("{keys:.0}"))),
            self.rate,
            python(self.capacity.map(|keys| keys.to_string())),
            python(self.promised_rate.map(|rate| format!("{rate:?}"))),
            if self.over_capacity { "True" } else { "False" },
            self.nbytes,
        )
    }
}

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of bytes in the largest unit that leaves a whole part.
fn bytes(count: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let (mut size, mut unit) = (count as f64, 0);
    while size >= 1000.0 && unit + 1 < units.len() {
        size /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{count} B"),
        _ => format!("{size:.3} {}", units[unit]),
    }
}

/// Formats the capacity and rate as the constructor takes them.
fn asked(name: &str, description: &Description) -> String {
    match description.promise {
        Some(promise) => format!("{name}(capacity={}, rate={:?})", promise.keys, promise.rate),
        None => format!(
            "{name}({} bits, {} hashes)",
            description.bits, description.hashes
        ),
    }
}

fn now(stats: &Core) -> String {
    let keys = match stats.keys {
        Some(keys) => format!("{} keys", grouped(keys.round() as u64)),
        None => "saturated".into(),
    };
    let fill = stats.fill() * 100.0;
    format!("{keys}, {fill:.1} % full, rate now {:.1e}", stats.rate)
}

/// Formats the filter in one line: what was asked for, and what is in it now.
pub(crate) fn line(name: &str, description: &Description, stats: &Core) -> String {
    let size = bytes(stats.bits.div_ceil(8));
    format!("{}  # {}, {size}", asked(name, description), now(stats))
}

/// Formats the same for a notebook, with a bar that shows how full of keys the filter is.
pub(crate) fn html(name: &str, description: &Description, stats: &Core) -> String {
    let share = match (stats.keys, stats.promise) {
        (Some(keys), Some(promise)) => (keys / promise.keys as f64).min(1.0),
        (None, _) => 1.0,
        (_, None) => stats.fill(),
    };
    let colour = if stats.is_over_capacity() {
        "#c0392b"
    } else {
        "#2e86c1"
    };
    let mut html = String::from("<table><tbody>");
    let rows = [
        ("filter", asked(name, description)),
        ("now", now(stats)),
        ("size", bytes(stats.bits.div_ceil(8))),
    ];
    for (title, text) in rows {
        let _ = write!(html, "<tr><th>{title}</th><td>{text}</td></tr>");
    }
    let _ = write!(
        html,
        "<tr><th>used</th><td><div style=\"width:16em;border:1px solid {colour}\"><div style=\"width:{:.1}%;\
         height:0.8em;background:{colour}\"></div></div></td></tr></tbody></table>",
        share * 100.0
    );
    html
}
