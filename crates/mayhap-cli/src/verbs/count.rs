//! `mayhap count`: how often each key has come.

use std::fmt::Write as _;

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::given::GivenArgs;

/// Prints each line after the number of times its key came, from a filter of the kind `spectral` or
/// `shifting-multiplicity`: never less than it did, and sometimes more. Exit codes: 0 when a key came at all, 1 when none did.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    given: GivenArgs,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let filter = self.given.read()?;
        let filter = filter.as_count()?;
        self.given.tell(global, |key, head| {
            let count = match filter.contains_bytes(key) {
                true => filter.count_bytes(key),
                false => 0,
            };
            // As uniq -c has it.
            write!(head, "{count:7} ").expect("a string takes all");
            count > 0
        })
    }
}
