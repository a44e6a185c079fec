//! `mayhap rotate`: moves a filter that forgets to its next generation.

use std::path::PathBuf;

use mayhap::AnyFilter;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result, note};
use mayhap_program::global::Global;
use serde_json::json;

use crate::filters::held::WaitArgs;
use crate::filters::secret::SecretArgs;
use crate::filters::{FormatArgs, name_of};
use crate::output::print_json;

/// Starts the next generation of a filter that forgets.
///
/// The filter is of the kind `windowed`. Keys of the three generations before the new one stay; older keys are
/// forgotten. Run it by the clock: every day for a window of three days.
///
/// Exit codes: 0 when the filter was saved, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter
    filter: PathBuf,

    /// Move to this generation, such as a day's number
    #[arg(long, value_name = "GENERATION")]
    to: Option<u64>,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap rotate week.mayhap             to the next generation
  mayhap rotate week.mayhap --to 20000  to this one, such as the number of the day
  mayhap rotate --wait week.mayhap      after another program that writes the file";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let mut held = self
            .wait
            .hold(&self.filter, FormatArgs::default(), &self.secret)?;
        let AnyFilter::Windowed(filter) = &mut held.filter else {
            let text = format!("a {} filter does not forget", held.filter.kind());
            return Err(Failure::new(text).hint("make one that does: mayhap new --kind windowed"));
        };
        match self.to {
            Some(generation) => filter.advance_to(generation),
            None => filter.rotate(),
        }
        let generation = filter.generation();
        held.save()?;
        if global.json {
            let name = name_of(&self.filter);
            print_json(&json!({ "filter": name, "generation": generation }))?;
        } else {
            note(format_args!("generation {generation}"));
        }
        Ok(Exit::Success)
    }
}
