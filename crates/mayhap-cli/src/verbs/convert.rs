//! `mayhap convert`: the same bits in another format.

use std::path::PathBuf;

use mayhap::Assemble as _;
use mayhap::format::Format;

use crate::amounts::show_bytes;
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Result, advise};
use crate::filters::{SecretArgs, WaitArgs, is_same, name_of, read_with_data};
use crate::values;
use crate::verbs::info;

/// Writes a filter in another format.
///
/// The bits stay the same, so the format must be able to hold the filter: kind, scheme and shape. OUT may be IN;
/// another file that exists is replaced only with --force.
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

    /// Replace OUT if it exists; not needed if OUT is IN
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    wait: WaitArgs,

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
        let reserved = self.wait.reserve(&self.output)?;
        if !is_same(&self.input, &self.output) {
            reserved.refuse_to_replace(self.force, "or name another file")?;
        }
        let secret = self.secret.secret()?;
        let (filter, metadata, _, data) = read_with_data(&self.input, secret.as_ref())?;
        self.secret.check_used(&filter.description(), &self.input)?;
        let mut held = reserved.hold(filter, metadata, self.to);
        if self.to == Format::Dcso {
            held.data = data;
        } else if !data.is_empty() {
            let (name, bytes) = (name_of(&self.input), show_bytes(data.len() as u64));
            advise(format!(
                "{bytes} of data in {name} are left out: only the format dcso has a place for them"
            ));
        }
        held.save()?;
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }
}
