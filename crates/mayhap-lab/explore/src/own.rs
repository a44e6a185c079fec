//! Measuring the rate on a reader's keys: half of the distinct lines are inserted, the others looked up.

use std::collections::HashSet;

use mayhap::{AnyFilter, Assemble as _, Digester, Filter as _, Kind};

/// The measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The number of lines, without empty ones.
    pub lines: u64,
    /// The distinct lines that were inserted.
    pub inserted: u64,
    /// The distinct lines that were not, all of which were looked up.
    pub asked: u64,
    /// The number of those that were found nevertheless.
    pub wrong: u64,
    /// The number of inserted lines that were not found: always 0.
    pub missed: u64,
    /// The bits of the filter.
    pub bits: u64,
}

/// Measures a filter of this kind, made for half of the distinct lines.
///
/// The hash of a line decides which half it belongs to, so a line that occurs twice is never in both.
///
/// ```
/// use mayhap::Kind;
///
/// let lines: String = (0..20_000).map(|i| format!("line {i}\n")).collect();
/// let measured = mayhap_explore::own::measure(lines.as_bytes(), Kind::Blocked, 0.01)?;
/// assert_eq!((measured.lines, measured.missed), (20_000, 0));
/// assert!((50..200).contains(&measured.wrong), "about 1 % of {}", measured.asked);
/// # Ok::<(), mayhap::Error>(())
/// ```
///
/// # Errors
///
/// When such a filter cannot exist, or keys cannot be inserted into it one by one.
pub fn measure(text: &[u8], kind: Kind, rate: f64) -> mayhap::Result<Measured> {
    let lines = || {
        let lines = text.split(|&byte| byte == b'\n');
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.filter(|line| !line.is_empty())
    };
    // Not the digester of the filter: its false positives must not depend on the halves.
    let digester = Digester::RapidhashProtected { seed: 1 };
    let (mut members, mut others) = (HashSet::new(), HashSet::new());
    let mut count = 0;
    for line in lines() {
        let digest = digester.digest(line);
        count += 1;
        match digest.lo & 1 {
            0 => members.insert(digest.hi),
            _ => others.insert(digest.hi),
        };
    }
    let inserted = members.len() as u64;
    let mut filter = AnyFilter::new(&kind.plan(inserted.max(1), rate)?)?;
    let mut measured = Measured {
        lines: count,
        inserted,
        asked: others.len() as u64,
        wrong: 0,
        missed: 0,
        bits: 0,
    };
    for line in lines() {
        let digest = digester.digest(line);
        if digest.lo & 1 == 0 && members.remove(&digest.hi) {
            filter.insert(line)?;
        }
    }
    for line in lines() {
        let digest = digester.digest(line);
        let found = filter.contains(line);
        match digest.lo & 1 {
            0 => measured.missed += u64::from(!found),
            _ => measured.wrong += u64::from(others.remove(&digest.hi) && found),
        }
    }
    measured.bits = filter.description().bits.max(filter.stats().bits);
    Ok(measured)
}
