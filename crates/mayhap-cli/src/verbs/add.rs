//! `mayhap add`: inserts keys into a filter.

use mayhap_program::amounts::show_count;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Result, note};
use mayhap_program::global::Global;
use serde_json::json;

use crate::batch::{Inserted, Inserter, OfArea};
use crate::filters::held::WaitArgs;
use crate::filters::promise::{GrowArgs, PromiseArgs};
use crate::filters::{FormatArgs, name_of};
use crate::given::GivenArgs;
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
    /// The area of the keys, in a filter of the kind `spatial`
    #[arg(long, value_name = "N", hide_short_help = true)]
    area: Option<u32>,

    #[command(flatten)]
    grow: GrowArgs,

    #[command(flatten)]
    promise: PromiseArgs,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    given: GivenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap add seen.mayhap urls.txt               every line is a key
  mayhap add seen.mayhap -t , -k 2 < table.csv  the second field of every line
  mayhap add --grow seen.mayhap urls.txt        grows past its capacity";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let (threads, filter) = (global.threads(), &self.given.filter);
        let (keys, new) = match Server::is_named_by(filter) {
            true => {
                self.refuse_server()?;
                let given = &self.given.secret;
                let secret = given.secret()?;
                let mut server = Server::open(filter, secret.as_ref())?;
                given.check_used(&[&server.description()?], filter)?;
                self.insert(&mut server, threads)?
            }
            false => self.add_to_file(threads)?,
        };
        if global.json {
            print_json(&json!({ "filter": name_of(filter), "keys": keys, "new": new }))?;
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
        let mut held = self.given.hold(self.wait, self.format)?;
        held.filter = self.grow.apply(held.filter)?;
        let counts = match self.area {
            Some(area) => {
                let filter = held.filter.as_insert_area()?;
                self.insert(&mut OfArea { filter, area }, threads)?
            }
            None => self.insert(&mut held.filter, threads)?,
        };
        self.promise.check(&held.filter, held.path())?;
        held.save()?;
        Ok(counts)
    }

    /// Inserts every key. Returns how many there were, and how many of them were new.
    fn insert<F: Inserted>(&self, filter: &mut F, threads: usize) -> Result<(u64, u64)> {
        Inserter::new(filter, &self.given.key).run(self.given.sources()?, threads)
    }
}
