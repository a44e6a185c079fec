//! `mayhap guard`: a white list for a filter's known false positives.

use mayhap::{AnyFilter, Filter as _, kinds::Guarded};
use serde_json::json;

use crate::amounts::show_count;
use crate::block::Block;
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result, say};
use crate::filters::{WaitArgs, name_of};
use crate::given::GivenArgs;
use crate::keys::KeyArgs;
use crate::output::print_json;
use crate::pipeline::{self, Sink};

/// What the keys are: here, and in no other verb, not those of the filter.
const KEYS: &str =
    "Files of keys that were never inserted, one per line; `-` or nothing is standard input";

/// Keeps a list of keys that a filter finds wrongly.
///
/// Give keys that were never inserted. Those that the filter finds anyway are put on a list, which is saved with it, and
/// are not found from then on. A filter of the kind `blocked` becomes one of the kind `guarded`. Give all these keys again
/// after `add`: a new key can make the filter find more of them.
///
/// Exit codes: 0 when the filter was saved, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(mut_arg("keys", |keys| keys.help(KEYS)))]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    given: GivenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap guard spam.mayhap good.txt            no line of good.txt is found in it any more
  mayhap guard spam.mayhap < good.txt          the same from standard input
  mayhap guard --json spam.mayhap good.txt     how many keys were given, and how many are listed";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let mut held = self.given.hold(self.wait)?;
        let mut filter = match held.filter {
            AnyFilter::Blocked(filter) => Guarded::guard(filter)?,
            AnyFilter::Guarded(filter) => filter,
            other => {
                let text = format!("a {} filter has no white list", other.kind());
                return Err(Failure::new(text).hint("blocked and guarded ones have"));
            }
        };
        let mut found = Found {
            filter: &filter,
            args: &self.given.key,
            keys: Vec::new(),
            known: 0,
        };
        pipeline::run(self.given.blocks(None)?, global, &mut found)?;
        let (keys, known) = (found.keys, found.known);
        // The other known keys are answered rightly as it is.
        filter.refresh(&keys)?;
        let listed = filter.listed();
        held.filter = filter.into();
        held.save()?;
        if global.json {
            let name = name_of(&self.given.filter);
            print_json(&json!({ "filter": name, "known": known, "listed": listed }))?;
        } else if !global.quiet {
            let (known, listed) = (show_count(known), show_count(listed as u64));
            say(format_args!(
                "{known} known keys, {listed} on the white list"
            ));
        }
        Ok(Exit::Success)
    }
}

/// The known keys that a filter finds wrongly.
struct Found<'a> {
    filter: &'a Guarded,
    args: &'a KeyArgs,
    keys: Vec<Vec<u8>>,
    known: u64,
}

impl Sink for Found<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        for key in block.keys(self.args) {
            self.known += 1;
            if self.filter.contains_bytes(key) {
                self.keys.push(key.to_vec());
            }
        }
        Ok(())
    }
}
