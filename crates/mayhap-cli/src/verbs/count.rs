//! `mayhap count`: how often each key was inserted.

use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use serde_json::Value;

use crate::given::GivenArgs;

pub(crate) const EXAMPLES: &str = "Examples:
  mayhap count often.mayhap words.txt          each line after its count
  echo ann | mayhap count --json often.mayhap  an object for each line
  mayhap count -i often.mayhap words.txt       the count in lower case";

pub(crate) fn run(given: &GivenArgs, global: &Global) -> Result<Exit> {
    let filter = given.read()?;
    let filter = filter.as_count()?;
    let count_of = |key: &[u8]| match filter.contains_bytes(key) {
        true => filter.count_bytes(key).into(),
        false => 0.into(),
    };
    // As uniq -c has it.
    let head = |count: &Value| format!("{:>7} ", count.to_string());
    given.tell(global, "count", count_of, head)
}
