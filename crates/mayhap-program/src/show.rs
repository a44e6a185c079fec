//! Numbers as people read them.

use std::fmt::Write as _;
use std::time::Duration;

/// A number of bytes for people: `1.2 MiB`.
///
/// ```
/// assert_eq!(mayhap_program::amounts::show_bytes(1 << 20), "1.0 MiB");
/// ```
pub fn show_bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 || unit == "TiB" {
            return match unit {
                "B" => format!("{bytes} B"),
                unit => format!("{size:.1} {unit}"),
            };
        }
        size /= 1024.0;
    }
    unreachable!("the last unit ends the loop")
}

/// A count for people, in groups of three digits: `12 345 678`.
///
/// ```
/// assert_eq!(mayhap_program::amounts::show_count(12_345_678), "12 345 678");
/// ```
pub fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A rate or a small expectation for people: `1.03 %`, `0.0025 %`, `2.7e-4`.
///
/// ```
/// assert_eq!(mayhap_program::amounts::show_rate(0.0103), "1.03 %");
/// ```
pub fn show_rate(rate: f64) -> String {
    let percent = rate * 100.0;
    let mut text = String::new();
    let written = match percent {
        _ if percent == 0.0 => write!(text, "0"),
        _ if percent >= 10.0 => write!(text, "{percent:.1} %"),
        _ if percent >= 0.1 => write!(text, "{percent:.2} %"),
        _ if percent >= 0.001 => write!(text, "{percent:.4} %"),
        _ => write!(text, "{rate:.2e}"),
    };
    written.expect("a string takes all");
    text
}

/// An expected number of keys for people: whole where there are many, with its first digits where few.
///
/// ```
/// assert_eq!(mayhap_program::amounts::show_expected(0.00027), "2.7e-4");
/// ```
pub fn show_expected(expected: f64) -> String {
    match expected {
        _ if expected >= 100.0 => show_count(expected.round() as u64),
        _ if expected >= 0.01 => format!("{expected:.2}"),
        _ if expected == 0.0 => "0".into(),
        _ => format!("{expected:.1e}"),
    }
}

/// A time in its two largest units, such as `6 d 23 h`.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(mayhap_program::amounts::show_time(Duration::from_secs(600_000)), "6 d 22 h");
/// ```
pub fn show_time(time: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let seconds = time.as_secs();
    let Some(first) = UNITS.iter().position(|(unit, _)| seconds >= *unit) else {
        return "less than 1 s".into();
    };
    let (unit, name) = UNITS[first];
    match UNITS.get(first + 1) {
        Some((next, next_name)) => {
            format!(
                "{} {name} {} {next_name}",
                seconds / unit,
                seconds % unit / next
            )
        }
        None => format!("{} {name}", seconds / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_short() {
        assert_eq!(show_bytes(512), "512 B");
        assert_eq!(show_bytes(1 << 20), "1.0 MiB");
        assert_eq!(show_count(12_345_678), "12 345 678");
        assert_eq!(show_rate(0.0103), "1.03 %");
        assert_eq!(show_rate(2.7e-7), "2.70e-7");
        assert_eq!(show_expected(0.00027), "2.7e-4");
    }
}
