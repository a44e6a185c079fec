//! `mayhap count`: how often each key has come.

use serde_json::Value;

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
        let count_of = |key: &[u8]| match filter.contains_bytes(key) {
            true => filter.count_bytes(key).into(),
            false => 0.into(),
        };
        // As uniq -c has it.
        let head = |count: &Value| format!("{:>7} ", count.to_string());
        self.given.tell(global, "count", count_of, head)
    }
}
