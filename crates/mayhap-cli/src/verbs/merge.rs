//! `mayhap merge`: one filter of several.

use std::path::PathBuf;

use mayhap::format::Format;
use mayhap::{AnyFilter, Merge as _};

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
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
        // First: the output may be one of the inputs.
        let reserved = Held::reserve(&self.output)?;
        let mut merged: Option<(AnyFilter, Format)> = None;
        for path in &self.inputs {
            let (filter, _, format) = read(path, secret.as_ref())?;
            match &mut merged {
                None => merged = Some((filter, format)),
                Some((all, _)) => {
                    let outcome = match self.intersection {
                        true => all.intersect(&filter),
                        false => all.union(&filter),
                    };
                    outcome.map_err(|error| explain(error, path))?;
                }
            }
        }
        let (filter, format) = merged.expect("at least one input is required");
        self.promise.check(&filter, &self.output, global)?;
        let held = reserved.hold(filter, Default::default(), format);
        held.save()?;
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }
}
