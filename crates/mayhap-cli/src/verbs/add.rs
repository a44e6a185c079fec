//! `mayhap add`: inserts keys into a filter.

use std::path::PathBuf;

use mayhap_program::amounts::show_count;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Result, note};
use mayhap_program::global::Global;
use mayhap_program::input::Input;
use serde_json::json;

use crate::batch::{Inserter, OfArea};
use crate::filters::held::WaitArgs;
use crate::filters::promise::{GrowArgs, PromiseArgs};
use crate::filters::secret::SecretArgs;
use crate::filters::{FormatArgs, name_of};
use crate::keys::KeyArgs;
use crate::output::print_json;
use crate::server::{Server, not_on_a_server};

/// Inserts keys into a filter.
///
/// All keys are inserted and the filter is saved, or the command fails and the filter is as it was. A filter that would
/// be past its capacity is not saved, unless --grow or --accept-rate is given.
///
/// Exit codes: 0 when the filter was saved, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter: a file, or redis://host#name
    filter: PathBuf,

    /// Files of keys, one per line; `-` or nothing is standard input
    keys: Vec<PathBuf>,

    /// The area of the keys, in a filter of the kind `spatial`
    #[arg(long, value_name = "N")]
    area: Option<u32>,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    grow: GrowArgs,

    #[command(flatten)]
    promise: PromiseArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap add seen.mayhap urls.txt                every line is a key
  mayhap add seen.mayhap -t , -k 2 < table.csv   the second field of every line
  mayhap add --grow seen.mayhap urls.txt         past its capacity the filter grows";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        self.key.check()?;
        let threads = global.threads();
        let (keys, new) = match Server::is_named_by(&self.filter) {
            true => {
                self.refuse_server()?;
                let secret = self.secret.secret()?;
                let mut server = Server::open(&self.filter, secret.as_ref())?;
                self.secret
                    .check_used(&[&server.description()?], &self.filter)?;
                let sources = Input::open_all(&self.keys)?;
                Inserter::new(&mut server, &self.key).run(sources, threads)?
            }
            false => self.add_to_file(threads)?,
        };
        if global.json {
            print_json(&json!({ "filter": name_of(&self.filter), "keys": keys, "new": new }))?;
        } else {
            let (keys, new) = (show_count(keys), show_count(new));
            note(format_args!("{keys} keys, {new} of them new"));
        }
        Ok(Exit::Success)
    }

    /// Refuses what a filter on a server cannot do.
    fn refuse_server(&self) -> Result<()> {
        if self.area.is_some() {
            return Err(not_on_a_server("--area"));
        }
        self.grow.refuse_server()
    }

    fn add_to_file(&self, threads: usize) -> Result<(u64, u64)> {
        let mut held = self.wait.hold(&self.filter, self.format, &self.secret)?;
        held.filter = self.grow.apply(held.filter)?;
        let sources = Input::open_all(&self.keys)?;
        let counts = match self.area {
            Some(area) => {
                let mut filter = OfArea {
                    filter: held.filter.as_insert_area()?,
                    area,
                };
                Inserter::new(&mut filter, &self.key).run(sources, threads)?
            }
            None => Inserter::new(&mut held.filter, &self.key).run(sources, threads)?,
        };
        self.promise.check(&held.filter, held.path())?;
        held.save()?;
        Ok(counts)
    }
}
