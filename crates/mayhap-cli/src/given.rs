//! A filter and keys, as most verbs are given them.

use std::path::PathBuf;

use clap::Args;
use mayhap::{AnyFilter, Digester};
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use mayhap_program::input::Input;
use serde_json::{Value, json};

use crate::block::{Block, LineHash};
use crate::blocks::Blocks;
use crate::filters::held::{Held, WaitArgs};
use crate::filters::secret::SecretArgs;
use crate::filters::{FormatArgs, OpenArgs};
use crate::keys::KeyArgs;
use crate::output::Output;
use crate::pipeline::{self, Sink};

/// A filter, and the keys that it is asked about or that change it.
#[derive(Debug, Args)]
pub(crate) struct GivenArgs {
    /// The filter: a file, or redis://host#name
    pub(crate) filter: PathBuf,

    /// Files of keys, one per line; `-` or nothing is standard input
    keys: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,

    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

/// Filters to be looked at, which needs no secret.
#[derive(Debug, Args)]
pub(crate) struct NamedArgs {
    /// The filters: files, or redis://host#name
    #[arg(required = true)]
    pub(crate) filters: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

impl GivenArgs {
    /// Reads the filter.
    pub(crate) fn read(&self) -> Result<AnyFilter> {
        self.secret.read(&self.filter, FormatArgs::default())
    }

    /// Takes the lock of the filter and reads it.
    pub(crate) fn hold(&self, wait: WaitArgs, format: FormatArgs) -> Result<Held> {
        wait.hold(&self.filter, format, &self.secret)
    }

    /// The inputs that hold the keys.
    pub(crate) fn sources(&self) -> Result<Vec<Input>> {
        self.key.check()?;
        Input::open_all(&self.keys)
    }

    /// The lines of all keys, with the digests of a filter that takes them.
    pub(crate) fn blocks(&self, digester: Option<Digester>) -> Result<Blocks> {
        Ok(self.blocks_of(self.sources()?, digester))
    }

    /// The lines of some inputs, with the digests of a filter that takes them.
    pub(crate) fn blocks_of(&self, sources: Vec<Input>, digester: Option<Digester>) -> Blocks {
        Blocks::new(sources, &self.key, digester.map(LineHash::Filter))
    }

    /// Prints each line after what is known of its key, or both as JSON. `value_of` returns it: null or 0 for a
    /// key that is certainly not there. `head` writes it as text.
    pub(crate) fn tell(
        &self,
        global: &Global,
        field: &'static str,
        value_of: impl FnMut(&[u8]) -> Value,
        head: fn(&Value) -> String,
    ) -> Result<Exit> {
        let mut teller = Teller {
            value_of,
            head,
            field: global.json.then_some(field),
            args: &self.key,
            output: Output::standard()?,
            found: false,
        };
        pipeline::run(self.blocks(None)?, global.threads(), &mut teller)?;
        teller.output.flush()?;
        Ok(Exit::found(teller.found))
    }
}

struct Teller<'a, F> {
    value_of: F,
    head: fn(&Value) -> String,
    /// The field that the value has in JSON, where that is wanted.
    field: Option<&'static str>,
    args: &'a KeyArgs,
    output: Output,
    found: bool,
}

impl<F: FnMut(&[u8]) -> Value> Sink for Teller<'_, F> {
    fn take(&mut self, block: &Block) -> Result<()> {
        let mut keys = block.keys(self.args);
        for row in block.rows() {
            let key = match row.has_key {
                true => keys.next(),
                false if row.is_printed => None,
                false => continue,
            };
            let value = key.map(&mut self.value_of);
            let is_there = |value: &Value| !value.is_null() && *value != 0;
            self.found |= value.as_ref().is_some_and(is_there);
            match self.field {
                Some(field) => {
                    let mut object = row.json(json!({}));
                    if let Some(value) = value {
                        object[field] = value;
                    }
                    self.output.write(format!("{object}\n").as_bytes())?;
                }
                None => {
                    let head = value.as_ref().map(self.head).unwrap_or_default();
                    self.output.write(head.as_bytes())?;
                    self.output.write(row.bytes)?;
                }
            }
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}
