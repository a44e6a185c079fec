//! `mayhap add`: inserts keys into a filter.

use std::path::PathBuf;

use serde_json::json;

use crate::amounts::show_count;
use crate::batch::Inserter;
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Result, say};
use crate::filters::{GrowArgs, Held, PromiseArgs, SecretArgs};
use crate::input::Source;
use crate::keys::KeyArgs;
use crate::output::print_json;

/// Inserts every key and saves the filter, or fails and leaves it as it was.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The filter
    filter: PathBuf,

    /// Files of keys, one per line; `-` or nothing is standard input
    keys: Vec<PathBuf>,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    grow: GrowArgs,

    #[command(flatten)]
    promise: PromiseArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let mut held = Held::open(&self.filter, self.secret.secret()?.as_ref())?;
        held.filter = self.grow.apply(held.filter)?;
        let sources = Source::open_all(&self.keys)?;
        let inserter = Inserter::new(&mut held.filter, &self.key).run(sources, global)?;
        let (keys, new) = (inserter.keys, inserter.new);
        self.promise.check(&held.filter, held.path(), global)?;
        held.save()?;
        if global.json {
            print_json(
                &json!({ "filter": self.filter.to_string_lossy(), "keys": keys, "new": new }),
            )?;
        } else if !global.quiet {
            let (keys, new) = (show_count(keys), show_count(new));
            say(format_args!("{keys} keys, {new} of them new"));
        }
        Ok(Exit::Success)
    }
}
