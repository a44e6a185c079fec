//! A filter and keys, as most verbs are given them.

use std::path::PathBuf;

use clap::Args;
use mayhap::{AnyFilter, Assemble as _, Digester};

use crate::block::{Block, Blocks, LineHash};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filters::{Held, SecretArgs, WaitArgs, read};
use crate::input::Source;
use crate::keys::KeyArgs;
use crate::output::Output;
use crate::pipeline::{self, Sink};

/// A filter, and the keys that it is asked about or that change it.
#[derive(Debug, Args)]
pub(crate) struct GivenArgs {
    /// The filter
    pub(crate) filter: PathBuf,

    /// Files of keys, one per line; `-` or nothing is standard input
    keys: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) key: KeyArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,
}

impl GivenArgs {
    /// Reads the filter.
    pub(crate) fn read(&self) -> Result<AnyFilter> {
        let (filter, _, _) = read(&self.filter, self.secret.secret()?.as_ref())?;
        self.secret
            .check_used(&filter.description(), &self.filter)?;
        Ok(filter)
    }

    /// Takes the lock of the filter and reads it.
    pub(crate) fn hold(&self, wait: WaitArgs) -> Result<Held> {
        let secret = self.secret.secret()?;
        let held = wait.reserve(&self.filter)?.read(secret.as_ref())?;
        self.secret
            .check_used(&held.filter.description(), &self.filter)?;
        Ok(held)
    }

    /// The lines of all keys, with the digests of a filter that takes them.
    pub(crate) fn blocks(&self, digester: Option<Digester>) -> Result<Blocks> {
        let sources = Source::open_all(&self.keys)?;
        Ok(Blocks::new(
            sources,
            &self.key,
            digester.map(LineHash::Filter),
        ))
    }

    /// Prints each line after what there is to tell of its key: `tell` writes it, and says whether the
    /// key was found.
    pub(crate) fn tell(
        &self,
        global: &Global,
        tell: impl FnMut(&[u8], &mut String) -> bool,
    ) -> Result<Exit> {
        let mut teller = Teller {
            tell,
            args: &self.key,
            output: Output::standard()?,
            found: false,
        };
        pipeline::run(self.blocks(None)?, global, &mut teller)?;
        teller.output.flush()?;
        Ok(Exit::found(teller.found))
    }
}

struct Teller<'a, F> {
    tell: F,
    args: &'a KeyArgs,
    output: Output,
    found: bool,
}

impl<F: FnMut(&[u8], &mut String) -> bool> Sink for Teller<'_, F> {
    fn take(&mut self, block: &Block) -> Result<()> {
        let mut keys = block.keys(self.args);
        self.output.write_each(block, |head| {
            if let Some(key) = keys.next() {
                self.found |= (self.tell)(key, head);
            }
            Ok(true)
        })
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}
