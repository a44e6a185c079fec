//! Which lines are to be printed: a map of keys, and nothing that is clever.

use std::collections::HashMap;

use super::lines::{Found, Line};
use super::options::{Choice, KeyType, Keyless, Options, What};

/// A key in the form in which equal ones are equal.
type Key = Vec<Vec<u8>>;

/// Keys, and how often each occurred.
pub(super) type Keys = HashMap<Key, u64>;

/// The text to print for a line.
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    pub(super) is: Sure,
}

/// Decides whether a piece must be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sure {
    /// In any case.
    Always,
    /// By a store that never takes a new key for a repeat.
    IfNotLost,
    /// By a store that takes this new key for a repeat.
    IfLost,
}

/// The expected outcome of a run.
pub(super) struct Expected {
    pub(super) pieces: Vec<Piece>,
    /// True when a line ends it with an error.
    pub(super) fails: bool,
    /// The lines that have a key, and how many of these keys are new.
    pub(super) lines: u64,
    pub(super) new: u64,
}

/// The treatment of one line.
enum Fate {
    Key(Key, Vec<u8>),
    Printed,
    LeftOut,
    Stop,
}

/// The text to print for some lines, after those whose keys are in `seen`. Adds their keys.
pub(super) fn expected(options: &Options, lines: &[Line], seen: &mut Keys) -> Expected {
    let terminator = options.terminator();
    let mut fates = Vec::new();
    let mut has_header = false;
    for line in lines {
        match fate(options, line, has_header) {
            Fate::Stop => break,
            fate => fates.push((line, fate)),
        }
        has_header |= line.key == Found::Header;
    }
    let mut totals = Keys::new();
    for (_, fate) in &fates {
        if let Fate::Key(key, _) = fate {
            *totals.entry(key.clone()).or_default() += 1;
        }
    }

    let mut expected = Expected {
        pieces: Vec::new(),
        fails: fates.len() < lines.len(),
        lines: 0,
        new: 0,
    };
    for (line, fate) in fates {
        let whole = || [&line.bytes[..], &[terminator]].concat();
        let (bytes, is) = match fate {
            Fate::Printed => (whole(), Some(Sure::Always)),
            Fate::Key(key, shown) => {
                let time = seen.entry(key.clone()).or_default();
                *time += 1;
                expected.lines += 1;
                expected.new += u64::from(*time == 1);
                let is = match (options.what, *time) {
                    (What::First | What::Counts, 1) => Some(Sure::IfNotLost),
                    (What::Repeats, 1) => Some(Sure::IfLost),
                    (What::Repeats, _) | (What::Seconds, 2) => Some(Sure::Always),
                    (What::Singles, _) if totals[&key] == 1 => Some(Sure::Always),
                    _ => None,
                };
                let mut bytes = match options.what {
                    What::Counts => format!("{:7} ", totals[&key]).into_bytes(),
                    _ => Vec::new(),
                };
                bytes.extend(if options.prints_keys { shown } else { whole() });
                (bytes, is)
            }
            Fate::LeftOut | Fate::Stop => continue,
        };
        expected.pieces.extend(is.map(|is| Piece { bytes, is }));
    }
    expected
}

fn fate(options: &Options, line: &Line, has_header: bool) -> Fate {
    let without_key = |is_printed: bool| match is_printed && !options.prints_keys {
        true => Fate::Printed,
        false => Fate::LeftOut,
    };
    let parts = match &line.key {
        Found::Stop => return Fate::Stop,
        Found::Header => return without_key(!has_header),
        Found::Parts(parts) => parts,
    };
    let mut key = Key::new();
    for part in parts {
        let Some(part) = part else {
            return match options.keyless {
                Keyless::Error => Fate::Stop,
                Keyless::Keep => without_key(true),
                Keyless::Skip => Fate::LeftOut,
            };
        };
        let Some(equal) = in_one_form(options, part) else {
            return Fate::Stop;
        };
        if options.prints_keys && part.contains(&options.terminator()) {
            return Fate::Stop;
        }
        key.push(equal);
    }
    let parts: Vec<&[u8]> = parts.iter().flatten().map(Vec::as_slice).collect();
    Fate::Key(key, shown(options, &parts))
}

/// The form in which equal parts of keys are equal; none where it is not of the type.
fn in_one_form(options: &Options, part: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(part);
    match options.key_type {
        KeyType::Bytes => {}
        KeyType::Utf16 => drop(text.ok()?),
        KeyType::Long => {
            return Some(
                text.ok()?
                    .trim()
                    .parse::<i64>()
                    .ok()?
                    .to_string()
                    .into_bytes(),
            );
        }
        KeyType::Int => {
            return Some(
                text.ok()?
                    .trim()
                    .parse::<i32>()
                    .ok()?
                    .to_string()
                    .into_bytes(),
            );
        }
    }
    Some(match options.ignores_case {
        true => part.to_ascii_lowercase(),
        false => part.to_vec(),
    })
}

/// The text to print for a key.
fn shown(options: &Options, parts: &[&[u8]]) -> Vec<u8> {
    let is_csv = matches!(options.choice, Choice::Csv(_));
    let joint = options.separator.unwrap_or(match &options.choice {
        Choice::Csv(_) => b',',
        Choice::Fields(_) => b' ',
        _ => b'\t',
    });
    let needs_quotes = |part: &[u8]| {
        let special = [b'"', b'\r', joint];
        is_csv && parts.len() > 1 && part.iter().any(|byte| special.contains(byte))
    };
    let parts = parts.iter().map(|part| match needs_quotes(part) {
        true => {
            let text: Vec<&[u8]> = part.split(|byte| *byte == b'"').collect();
            [b"\"", &text.join(&b"\"\""[..])[..], b"\""].concat()
        }
        false => part.to_vec(),
    });
    let mut shown = parts.collect::<Vec<_>>().join(&joint);
    shown.push(options.terminator());
    shown
}
