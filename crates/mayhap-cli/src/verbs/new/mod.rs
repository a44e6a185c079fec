//! `mayhap new`: an empty filter, by capacity and rate, by its shape, or like another.

use std::path::PathBuf;

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Assemble as _, Description};
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;

use crate::filters::held::WaitArgs;
use crate::filters::secret::SecretArgs;
use crate::filters::{FormatArgs, TextArgs};
use crate::plan::{self, PlanArgs, check_can_be_empty};
use crate::server::{Server, ServerArgs};
use crate::values;
use crate::verbs::info;

/// Makes an empty filter.
///
/// Give --capacity and --rate: the number of keys, and the share of absent keys that may be found by mistake. They fix
/// the memory the filter takes; `mayhap size` shows how much. Or give --like and a filter that it is to merge with.
///
/// Exit codes: 0 when it was made, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file to make
    filter: PathBuf,

    #[command(flatten)]
    plan: PlanArgs,

    /// Make it like this filter, so that the two can be merged: the same kind, shape and scheme, and the same key where
    /// that filter has one of its own
    #[arg(long, value_name = "FILTER", conflicts_with_all = plan::OPTIONS)]
    like: Option<PathBuf>,

    /// The format of the file
    #[arg(long, default_value = "native", value_name = "FORMAT", value_parser = values::format())]
    format: Format,

    #[command(flatten)]
    texts: TextArgs,

    /// Replace a file that exists
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    server: ServerArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap new seen.mayhap -n 10M -p 1%                           12 MiB for ten million keys
  mayhap new live.mayhap -n 10k -p 0.001 --kind counting        one that keys can be removed from
  mayhap new shared.bin -n 10k -p 1% --format guava             a file that Guava reads
  mayhap new other.mayhap --like seen.mayhap                    one that merges with it
  mayhap new redis://localhost#seen -n 10M -p 1% --expire 7d    on a server, for a week";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        self.texts.check(self.format, &self.filter)?;
        if Server::is_named_by(&self.filter) {
            if self.force && Server::is_taken(&self.filter)? {
                self.server.refuse_replacing(&self.filter)?;
                Server::push(&self.filter, &self.empty()?, self.server)?;
            } else {
                Server::create(&self.filter, &self.description()?, self.server)?;
            }
            return Ok(Exit::Success);
        }
        self.server.refuse_file(&self.filter)?;
        let reserved = self.wait.reserve(&self.filter)?;
        reserved.refuse_to_replace(self.force, "`mayhap add` inserts into it")?;
        let filter = self.empty()?;
        let metadata = Metadata {
            label: self.texts.label.unwrap_or_default(),
            created_by: self.texts.created_by.unwrap_or_default(),
            progress: None,
        };
        let held = reserved.hold(filter, metadata, self.format);
        held.save()?;
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }

    /// The filter that was asked for.
    fn empty(&self) -> Result<AnyFilter> {
        let Some(path) = &self.like else {
            let plan = self.plan.with_defaults()?;
            return plan.filter(self.format, self.secret.secret()?.as_ref());
        };
        let mut filter = self.secret.read(path, FormatArgs::default())?;
        check_can_be_empty(filter.kind())?;
        filter.clear()?;
        Ok(filter)
    }

    /// Describes that filter.
    fn description(&self) -> Result<Description> {
        if self.like.is_some() {
            return Ok(self.empty()?.description());
        }
        let plan = self.plan.with_defaults()?;
        plan.description(self.format, self.secret.secret()?.as_ref())
    }
}
