//! `mayhap count`: how often each key was inserted.

use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use serde_json::Value;

use crate::given::GivenArgs;

/// Prints how often keys were inserted.
///
/// Each line is printed after the count of its key, from a filter of a kind that counts, such as `spectral`. A count is
/// never too low, up to what the filter counts, and sometimes too high.
///
/// Exit codes: 0 when the count of a key is above 0, 1 when none is, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    given: GivenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap count often.mayhap words.txt          each line after its count
  echo ann | mayhap count --json often.mayhap  an object for each line
  mayhap count -i often.mayhap words.txt       the count of each word in lower case";

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
