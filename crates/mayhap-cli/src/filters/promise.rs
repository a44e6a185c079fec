//! Filters past the keys that they were made for: accepted, grown, or refused.

use std::path::Path;

use clap::Args;
use mayhap::{AnyFilter, Filter as _, Inserts, Scalable, Stats};
use mayhap_program::amounts::{show_count, show_rate};
use mayhap_program::failure::{Failure, Result, advise};

use super::name_of;
use crate::server::not_on_a_server;

/// Accepts or refuses a filter that holds more keys than it was made for.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PromiseArgs {
    /// Accept a filter past its capacity, with a higher rate
    #[arg(long, hide_short_help = true)]
    accept_rate: bool,
}

/// Lets a filter become one that grows.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct GrowArgs {
    /// Let a blocked filter grow, at twice its rate
    #[arg(long)]
    grow: bool,
}

impl GrowArgs {
    /// Returns whether a filter that can grow is asked for.
    pub(crate) fn is_asked(self) -> bool {
        self.grow
    }

    /// Refuses to let a filter on a server grow.
    pub(crate) fn refuse_server(self) -> Result<()> {
        match self.grow {
            true => Err(not_on_a_server("--grow")),
            false => Ok(()),
        }
    }

    /// Makes the filter one that grows, when that was asked for.
    pub(crate) fn apply(self, filter: AnyFilter) -> Result<AnyFilter> {
        match filter {
            AnyFilter::Blocked(filter) if self.grow => Ok(Scalable::from_blocked(filter)?.into()),
            filter if self.grow && filter.kind().inserts() != Inserts::Growing => {
                let text = format!("a {} filter cannot grow", filter.kind());
                Err(Failure::new(text)
                    .hint("blocked ones can, and those of a kind that grows by itself"))
            }
            filter => Ok(filter),
        }
    }
}

impl PromiseArgs {
    /// Returns whether a filter may be past its capacity.
    pub(crate) fn accepts(self) -> bool {
        self.accept_rate
    }

    /// Refuses a filter that does not keep its promise, unless that was accepted.
    pub(crate) fn check(&self, filter: &AnyFilter, path: &Path) -> Result<()> {
        let Some(text) = past_capacity(&filter.stats()) else {
            return Ok(());
        };
        let text = format!("{} {text}", name_of(path));
        if self.accept_rate {
            advise(text);
            return Ok(());
        }
        Err(Failure::new(format!("{text}; nothing was saved")).hint(
            "--grow makes it a filter that grows, at twice its rate; --accept-rate saves it as it is; \
             and `mayhap new --kind scalable` makes one that grows from the beginning",
        ))
    }
}

/// Describes how far a filter is past its capacity, if it is.
pub(crate) fn past_capacity(stats: &Stats) -> Option<String> {
    let promise = stats.promise.filter(|_| stats.is_over_capacity())?;
    let keys = match stats.keys {
        Some(keys) => format!("about {} keys", show_count(keys.round() as u64)),
        None => "more keys than can be estimated".into(),
    };
    Some(format!(
        "would hold {keys}, but was made for {} at {}: its rate would be {}",
        show_count(promise.keys),
        show_rate(promise.rate),
        show_rate(stats.rate),
    ))
}
