//! The failure of a run whose filter takes no more lines.

use std::path::Path;

use mayhap::{AnyFilter, Inserts, Kind, Stats};
use mayhap_program::amounts::{show_count, show_rate};
use mayhap_program::failure::Failure;

use super::losses::Losses;
use crate::filters::name_of;

/// The failure of a run that ends because its filter is full.
pub(super) fn full(
    filter: &AnyFilter,
    losses: &Losses,
    lines: u64,
    path: Option<&Path>,
) -> Failure {
    let when = format!("after {} lines", show_count(lines));
    past(filter, losses.stats(), &when, path)
}

/// The failure of a filter that is full, or past its capacity, with the file that it is saved in.
pub(super) fn past(filter: &AnyFilter, stats: &Stats, when: &str, path: Option<&Path>) -> Failure {
    let keys = match stats.keys {
        Some(keys) => format!("about {} keys", show_count(keys.round() as u64)),
        None => "more keys than can be estimated".into(),
    };
    let made_for = stats.promise.map_or_else(String::new, |promise| {
        let (keys, rate) = (show_count(promise.keys), show_rate(promise.rate));
        format!(", and was made for {keys} at {rate}")
    });
    let saved = match path {
        Some(path) => format!("{} remembers what was printed, and ", name_of(path)),
        None => String::new(),
    };
    let text = format!(
        "{when} the filter is full: it holds {keys}{made_for}; {saved}the rest is not read"
    );
    let is_blocked = filter.kind() == Kind::Blocked;
    Failure::new(text).hint(match (filter.kind().inserts(), path) {
        (Inserts::Growing, None) => {
            "there is no memory for it to grow: a higher --rate takes less"
        }
        (Inserts::Growing, Some(_)) => {
            "there is no memory for it to grow: with more, the same command continues there"
        }
        (_, None) => {
            "give a larger --capacity, or none for a filter that grows; --accept-rate continues, and loses lines"
        }
        (_, Some(_)) if is_blocked => {
            "the same command with --grow continues there, with a filter that grows; with --accept-rate too, but that \
             loses lines"
        }
        (_, Some(_)) => "the same command with --accept-rate continues there, and loses lines",
    })
}
