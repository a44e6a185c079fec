//! `mayhap remove`: takes keys out of a filter that counts.

use mayhap::Remove;
use mayhap_program::amounts::show_count;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Result, note};
use mayhap_program::global::Global;
use serde_json::json;

use crate::block::Block;
use crate::filters::held::WaitArgs;
use crate::filters::{FormatArgs, name_of};
use crate::given::GivenArgs;
use crate::keys::KeyArgs;
use crate::output::{Output, print_json};
use crate::pipeline::{self, Sink};

/// Removes keys from a filter that counts.
///
/// Each key is removed once, from a filter of a kind that counts, such as `counting`. A key that is certainly not in
/// the filter changes nothing, and its line is printed.
///
/// Remove only keys that were inserted: removing a false positive makes the filter forget other keys.
///
/// Exit codes: 0 when a key was removed, 1 when none was, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    given: GivenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap remove live.mayhap gone.txt             the keys in gone.txt
  echo ann | mayhap remove live.mayhap           one key
  mayhap remove -t , -k 2 live.mayhap table.csv  the second field of every line";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let mut held = self.given.hold(self.wait, FormatArgs::default())?;
        let mut remover = Remover {
            filter: held.filter.as_remove()?,
            args: &self.given.key,
            output: Output::standard()?,
            removed: 0,
            refused: 0,
            json: global.json,
        };
        pipeline::run(self.given.blocks(None)?, global.threads(), &mut remover)?;
        remover.output.flush()?;
        let (removed, refused) = (remover.removed, remover.refused);
        held.save()?;
        if global.json {
            let name = name_of(&self.given.filter);
            print_json(&json!({ "filter": name, "removed": removed, "refused": refused }))?;
        } else {
            let (removed, refused) = (show_count(removed), show_count(refused));
            note(format_args!(
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
    json: bool,
}

impl Sink for Remover<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        let mut keys = block.keys(self.args);
        for row in block.rows() {
            if row.has_key
                && let Some(key) = keys.next()
            {
                if self.filter.remove_bytes(key)? {
                    self.removed += 1;
                    continue;
                }
                self.refused += 1;
            }
            match self.json {
                _ if !row.is_printed => {}
                true => {
                    let object = row.json(json!({}));
                    self.output.write(format!("{object}\n").as_bytes())?;
                }
                false => self.output.write(row.bytes)?,
            }
        }
        Ok(())
    }
}
