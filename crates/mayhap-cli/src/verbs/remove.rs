//! `mayhap remove`: takes keys out of a filter that counts.

use mayhap::Remove;
use serde_json::json;

use crate::amounts::show_count;
use crate::block::Block;
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result, say};
use crate::filters::{WaitArgs, name_of};
use crate::given::GivenArgs;
use crate::keys::KeyArgs;
use crate::output::{Output, print_json};
use crate::pipeline::{self, Sink};

/// Removes each key once, from a filter of the kind `counting` or `spectral`. A key that is certainly not there is
/// refused and printed, and changes nothing. Exit codes: 0 when a key was removed, 1 when none was.
///
/// Remove only what was inserted: a key that was not, but passes for one that was, takes away what belongs to
/// others.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    given: GivenArgs,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let mut held = self.given.hold(self.wait)?;
        let mut remover = Remover {
            filter: held.filter.as_remove()?,
            args: &self.given.key,
            output: Output::standard()?,
            removed: 0,
            refused: 0,
            silent: global.json,
        };
        pipeline::run(self.given.blocks(None)?, global, &mut remover)?;
        remover.output.flush()?;
        let (removed, refused) = (remover.removed, remover.refused);
        held.save()?;
        if global.json {
            let name = name_of(&self.given.filter);
            print_json(&json!({ "filter": name, "removed": removed, "refused": refused }))?;
        } else if !global.quiet {
            let (removed, refused) = (show_count(removed), show_count(refused));
            say(format_args!(
                "{removed} keys removed, {refused} were not there"
            ));
        }
        Ok(Exit::found(removed > 0))
    }
}

struct Remover<'a> {
    filter: &'a mut dyn Remove,
    args: &'a KeyArgs,
    output: Output,
    removed: u64,
    refused: u64,
    silent: bool,
}

impl Sink for Remover<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        let mut keys = block.keys(self.args);
        let mut refuse_next = || {
            let Some(key) = keys.next() else {
                return Ok(None);
            };
            let is_removed = self.filter.remove_bytes(key)?;
            *(if is_removed {
                &mut self.removed
            } else {
                &mut self.refused
            }) += 1;
            Ok::<_, Failure>(Some(!is_removed))
        };
        if self.silent {
            while refuse_next()?.is_some() {}
            return Ok(());
        }
        self.output
            .write_each(block, |_| Ok(refuse_next()? == Some(true)))
    }
}
