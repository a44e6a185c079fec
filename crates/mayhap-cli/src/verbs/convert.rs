//! `mayhap convert`: the same bits in another format.

use std::path::PathBuf;

use mayhap::format::Format;

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filters::{Held, SecretArgs, read};
use crate::values;
use crate::verbs::info;

/// Writes a filter in another format.
///
/// The bits stay the same, so the format must be able to hold the filter: kind, scheme and shape.
///
/// Exit codes: 0 when it was written, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter to read, in any format
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = values::format())]
    to: Format,

    #[command(flatten)]
    secret: SecretArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap convert shared.bin shared.mayhap --to native   a file of Guava, as our own
  mayhap convert seen.mayhap redis://localhost#seen --to native
  mayhap convert redis://localhost#seen copy.mayhap --to native";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        // First: the output may be the input.
        let reserved = Held::reserve(&self.output)?;
        let (filter, metadata, _) = read(&self.input, self.secret.secret()?.as_ref())?;
        let held = reserved.hold(filter, metadata, self.to);
        held.save()?;
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }
}
