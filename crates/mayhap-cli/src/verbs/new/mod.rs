//! `mayhap new`: a filter, empty or of keys: by capacity and rate, by its shape, or like another.

mod keys;

use std::path::PathBuf;

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Assemble as _, Description, Kind};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;

use crate::filters::held::ReplaceArgs;
use crate::filters::secret::SecretArgs;
use crate::filters::{FormatArgs, TextArgs};
use crate::keys::KeyArgs;
use crate::plan::{self, PlanArgs, check_can_be_empty};
use crate::server::{Server, ServerArgs};
use crate::values;
use crate::verbs::info;

/// Makes a filter, empty or of keys.
///
/// Give --capacity and --rate: the number of keys, and the share of absent keys that may be found by mistake. They fix
/// the memory the filter takes; `mayhap size` shows how much. Keys that are named are counted, so --rate is enough. Kinds that
/// are built once need them: no key is added later.
///
/// Exit codes: 0 when it was made, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter to make: a file, or redis://host#name
    filter: PathBuf,

    /// Files of keys to insert; `-` is standard input
    keys: Vec<PathBuf>,

    #[command(flatten)]
    plan: PlanArgs,

    /// Make one that can be merged with this filter
    #[arg(long, value_name = "FILTER", conflicts_with_all = plan::OPTIONS)]
    like: Option<PathBuf>,

    /// Keys that are not in the set, for the kind `cascade`
    #[arg(long, value_name = "FILE", num_args = 1, hide_short_help = true)]
    excluded: Vec<PathBuf>,

    /// Keys of the second set, for the kind `shifting-association`
    #[arg(long, value_name = "FILE", num_args = 1, hide_short_help = true)]
    second: Vec<PathBuf>,

    /// The format of the file
    #[arg(long, default_value = "native", value_name = "FORMAT", value_parser = values::format())]
    format: Format,

    #[command(flatten)]
    texts: TextArgs,

    #[command(flatten)]
    replace: ReplaceArgs,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    server: ServerArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap new seen.mayhap -n 10M -p 1%                  for ten million keys
  mayhap new live.mayhap -n 9k -p 1% --kind counting   keys can be removed
  mayhap new known.mayhap keys -p 1% --kind fuse       of the lines of a file
  mayhap new exact.mayhap keys --kind cascade --excluded others
  mayhap new shared.bin -n 10k -p 1% --format guava    a file that Guava reads
  mayhap new other.mayhap --like seen.mayhap           merges with it
  mayhap new redis://localhost#seen -n 10M -p 1%       on a server";

impl Args {
    /// The same of the keys on standard input, if none are named, and of the kind `fuse`, if none is given: `mayhap build`.
    pub(crate) fn of_keys(mut self) -> Args {
        if self.keys.is_empty() {
            self.keys.push("-".into());
        }
        if self.like.is_none() {
            self.plan.kind.get_or_insert(Kind::Fuse);
        }
        self
    }

    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        self.check_options()?;
        let (path, force) = (&self.filter, self.replace.force);
        let is_on_server = Server::is_named_by(path);
        if is_on_server && self.keys.is_empty() && !(force && Server::is_taken(path)?) {
            Server::create(path, &self.description()?, self.server)?;
            return Ok(Exit::Success);
        }
        match is_on_server {
            true => self.server.refuse_replacing_any(path)?,
            false => self.server.refuse_file(path)?,
        }
        let reserved = self.replace.wait.reserve(path)?;
        reserved.refuse_to_replace(force, "`mayhap add` inserts into it")?;
        let filter = match self.keys.is_empty() {
            true => self.empty()?,
            false => self.filled(global.threads())?,
        };
        let metadata = Metadata {
            label: self.texts.label.clone().unwrap_or_default(),
            created_by: self.texts.created_by.clone().unwrap_or_default(),
            progress: None,
        };
        let held = reserved.hold(filter, metadata, self.format);
        match is_on_server {
            true if force => Server::push(path, &held.filter, self.server)?,
            true => Server::push_new(path, &held.filter, self.server)?,
            false => held.save()?,
        }
        if global.json && !(is_on_server && self.keys.is_empty()) {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }

    /// Refuses options that would change nothing.
    fn check_options(&self) -> Result<()> {
        self.texts.check(self.format, &self.filter)?;
        self.key.check()?;
        let is = |kind: Kind| self.plan.kind == Some(kind);
        let (option, needed) = if !self.excluded.is_empty() && !is(Kind::Cascade) {
            ("--excluded", "--kind cascade")
        } else if !self.second.is_empty() && !is(Kind::ShiftingAssociation) {
            ("--second", "--kind shifting-association")
        } else if self.keys.is_empty() && !self.key.is_default() {
            ("an option for keys", "files of keys after the filter")
        } else {
            return Ok(());
        };
        let text = format!("{option} is given without {needed}");
        Err(Failure::new(text).hint(format!("give {needed}, or leave it out")))
    }

    /// Makes the filter without keys.
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
        plan.kind.map_or(Ok(()), check_can_be_empty)?;
        plan.description(self.format, self.secret.secret()?.as_ref())
    }
}
