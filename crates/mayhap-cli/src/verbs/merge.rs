//! `mayhap merge`: one filter of several.

use std::path::{Path, PathBuf};

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Merge as _};

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filters::{Held, PromiseArgs, SecretArgs, explain, read};
use crate::verbs::info;

/// Makes one filter of several: their union, or their intersection.
///
/// The filters must be built alike: the same kind, shape and scheme. OUT may be one of them.
///
/// Exit codes: 0 when it was written, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
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

const EXAMPLES: &str = "Examples:
  mayhap merge all.mayhap a.mayhap b.mayhap                     the keys of both
  mayhap merge --intersection common.mayhap a.mayhap b.mayhap   the keys that both have";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let secret = self.secret.secret()?;
        // First: the output may be one of the inputs.
        let reserved = Held::reserve(&self.output)?;
        let mut merged: Option<(AnyFilter, Format)> = None;
        let mut kept = Metadata::default();
        for path in &self.inputs {
            let (filter, metadata, format) = read(path, secret.as_ref())?;
            if is_same(path, &self.output) {
                // It goes on to be the file that it was, and the run that fills it goes on too.
                kept = metadata;
            }
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
        let held = reserved.hold(filter, kept, format);
        held.save()?;
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }
}

/// Whether two paths lead to one file.
fn is_same(left: &Path, right: &Path) -> bool {
    match (left.canonicalize(), right.canonicalize()) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}
