//! Numbers as people write them: `10M`, `1e6`, `64MiB`, `0.1%`.

use std::time::Duration;

pub use crate::show::{show_bytes, show_count, show_expected, show_rate, show_time};

/// A count, such as `1000`, `10M`, `2.5k` or `1e9`: `k`, `M`, `G`, `T` are powers of a thousand.
pub fn count(text: &str) -> Result<u64, String> {
    number(text, 1000.0, "a count such as 1000, 10M or 1e9")
}

/// A number of bytes, such as `4096`, `64M` or `1.5GiB`: units are powers of 1024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    number(digits, 1024.0, "a size such as 4096, 64M or 1.5GiB")
}

/// A false-positive rate between 0 and 1: `0.01`, `1e-6`, `1%` or `1/1000`.
pub fn rate(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("`{text}` is not a rate above 0 and below 1, such as 0.01, 1e-6, 1% or 1/1000");
    let parse = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
    let rate = if let Some(percent) = text.strip_suffix('%') {
        parse(percent)? / 100.0
    } else if let Some((over, under)) = text.split_once('/') {
        parse(over)? / parse(under)?
    } else {
        parse(text)?
    };
    if rate > 0.0 && rate < 1.0 {
        Ok(rate)
    } else {
        Err(wrong())
    }
}

/// A time with its unit, above zero: `500ms`, `90s`, `15m` or `15min`, `12h`, `7d`.
pub fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time such as 500ms, 90s, 15m, 12h or 7d");
    let split = text
        .find(|letter: char| !letter.is_ascii_digit())
        .ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let time = number.checked_mul(milliseconds).filter(|time| *time > 0);
    time.map(Duration::from_millis).ok_or_else(wrong)
}

fn number(text: &str, thousand: f64, expected: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not {expected}");
    let plain = without_groups(text).ok_or_else(wrong)?;
    // Exact where possible: a count past 2^53 is not exact as f64.
    if let Ok(number) = plain.parse::<u64>() {
        return Ok(number);
    }
    let (digits, power) = match plain.char_indices().last() {
        Some((at, unit)) => match "kMGTP"
            .find(unit.to_ascii_uppercase())
            .or("KMGTP".find(unit.to_ascii_uppercase()))
        {
            Some(power) => (&plain[..at], power as i32 + 1),
            None => (&plain[..], 0),
        },
        None => return Err(wrong()),
    };
    let number = digits.parse::<f64>().map_err(|_| wrong())? * thousand.powi(power);
    if (0.0..=u64::MAX as f64).contains(&number) {
        Ok(number.round() as u64)
    } else {
        Err(wrong())
    }
}

/// The text without the commas or underscores between groups of three digits; `None` when they are elsewhere, as
/// in `1,5M`, which may mean 1.5 or 15 million.
fn without_groups(text: &str) -> Option<String> {
    for separator in [',', '_'] {
        let mut groups = text.split(separator);
        groups.next();
        for group in groups {
            let digits = group.bytes().take_while(u8::is_ascii_digit).count();
            if digits != 3 {
                return None;
            }
        }
    }
    Some(text.replace(['_', ','], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        for (text, expected) in [
            ("0", 0),
            ("1000", 1000),
            ("10M", 10_000_000),
            ("2.5k", 2500),
            ("1e9", 1_000_000_000),
            ("1_000", 1000),
            ("1,000", 1000),
            ("12,345,678", 12_345_678),
            ("1,500M", 1_500_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for (text, expected) in [
            ("4096", 4096),
            ("64M", 64 << 20),
            ("1.5GiB", 3 << 29),
            ("2KB", 2048),
            ("7B", 7),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for (text, expected) in [
            ("0.01", 0.01),
            ("1%", 0.01),
            ("1/1000", 0.001),
            ("1e-6", 1e-6),
        ] {
            assert_eq!(rate(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "", "x", "-1", "1Q", "1e400", "nan", "k", "1,5M", "1,5", "1,", ",100k5", "1,00",
            "1_0000", "1,000,00",
        ] {
            assert!(count(text).is_err() && bytes(text).is_err(), "{text}");
        }
        for text in ["0", "1", "-0.1", "100%", "1/0", "nan", ""] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("15min"), time("15m"));
        assert_eq!(time("7d"), Ok(Duration::from_secs(7 * 86_400)));
        for text in ["", "7", "d", "0s", "-1s", "1w", "99999999999999999999d"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
