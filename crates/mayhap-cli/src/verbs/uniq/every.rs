//! `--checkpoint`: the times when a run saves its filter.

use std::time::Duration;

use mayhap_program::amounts;

/// Saves after this many bytes of input, and after this time if there was any input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Every {
    pub(super) bytes: u64,
    pub(super) time: Duration,
}

impl Every {
    /// The meaning of `--checkpoint` without a value.
    pub(super) const DEFAULT: &str = "1GiB,30s";

    const UNLESS_GIVEN: Every = Every {
        bytes: 1 << 30,
        time: Duration::from_secs(30),
    };

    /// `SIZE`, `TIME`, or both with a comma between them; what is not given is as by default.
    pub(super) fn parse(text: &str) -> std::result::Result<Every, String> {
        let number = text.strip_suffix('m').unwrap_or_default();
        if amounts::count(number).is_ok() {
            return Err(format!(
                "`{text}` may be minutes or mebibytes: write {number}min or {number}M"
            ));
        }
        let wrong =
            || format!("`{text}` is not a size such as 64M, a time such as 30s, or both: 64M,30s");
        let default = Every::UNLESS_GIVEN;
        let (bytes, time) = (amounts::bytes, amounts::time);
        match (bytes(text), time(text), text.split_once(',')) {
            (Ok(bytes), ..) => Ok(Every { bytes, ..default }),
            (_, Ok(time), _) => Ok(Every { time, ..default }),
            (.., Some((left, right))) => match (bytes(left), time(right)) {
                (Ok(bytes), Ok(time)) => Ok(Every { bytes, time }),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}
