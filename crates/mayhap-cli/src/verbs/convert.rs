//! `mayhap convert`: the same bits in another format.

use std::path::PathBuf;

use mayhap::format::Format;

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filters::{Held, SecretArgs, read};
use crate::verbs::{info, new};

/// Writes a filter in another format, where that can hold it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The filter to read, in any format
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// The format to write: native, guava, parquet, spark or dcso
    #[arg(long, value_name = "FORMAT", value_parser = new::format)]
    to: Format,

    #[command(flatten)]
    secret: SecretArgs,
}

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
