//! `mayhap merge`: one filter of several.

use std::path::PathBuf;

use mayhap::format::Format;
use mayhap::{AnyFilter, Merge as _};

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::filters::{Held, PromiseArgs, SecretArgs, explain, read};
use crate::verbs::info;

/// Makes the filter of all keys of the inputs, or of the common ones. They must be built alike; OUT may be
/// one of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// The filters to read
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,

    /// Keep the common keys, in place of all. Bits that different keys left in both stay too, so its rate
    /// is above that of a filter of the common keys alone
    #[arg(long)]
    intersection: bool,

    #[command(flatten)]
    promise: PromiseArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let secret = self.secret.secret()?;
        let mut merged: Option<(AnyFilter, Format)> = None;
        for path in &self.inputs {
            let (filter, _, format) = read(path, secret.as_ref())?;
            match &mut merged {
                None => merged = Some((filter, format)),
                Some((all, _)) => {
                    let outcome = match self.intersection {
                        true => intersect(all, &filter),
                        false => all.union(&filter).map_err(|error| explain(error, path)),
                    };
                    outcome?;
                }
            }
        }
        let (filter, format) = merged.expect("at least one input is required");
        self.promise.check(&filter, &self.output, global)?;
        let held = Held::create(&self.output, filter, Default::default(), format)?;
        held.save()?;
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }
}

fn intersect(all: &mut AnyFilter, other: &AnyFilter) -> Result<()> {
    match (all, other) {
        (AnyFilter::Bloom(left), AnyFilter::Bloom(right)) => left.intersect(right)?,
        (AnyFilter::Blocked(left), AnyFilter::Blocked(right)) => left.intersect(right)?,
        (AnyFilter::SplitBlock(left), AnyFilter::SplitBlock(right)) => left.intersect(right)?,
        (left, right) => {
            let text = format!(
                "a {} and a {} have no intersection",
                left.kind(),
                right.kind()
            );
            return Err(Failure::new(text)
                .hint("bloom, blocked and split-block have, each with its own kind"));
        }
    }
    Ok(())
}
