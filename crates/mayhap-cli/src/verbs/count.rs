//! `mayhap count`: how often each key has come.

use std::path::PathBuf;

use mayhap::Count;

use crate::block::{Block, Blocks};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filters::{SecretArgs, read};
use crate::input::Source;
use crate::keys::KeyArgs;
use crate::output::Output;
use crate::pipeline::{self, Sink};

/// Prints each line after the number of times its key came, from a filter of the kind `spectral`: never less than
/// it did, and sometimes more. Exit codes: 0 when a key came at all, 1 when none did.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The filter
    filter: PathBuf,

    /// Files of keys, one per line; `-` or nothing is standard input
    keys: Vec<PathBuf>,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let (filter, _, _) = read(&self.filter, self.secret.secret()?.as_ref())?;
        let mut counter = Counter {
            filter: filter.as_count()?,
            args: &self.key,
            output: Output::standard()?,
            found: false,
        };
        let blocks = Blocks::new(Source::open_all(&self.keys)?, &self.key, None);
        pipeline::run(blocks, global, &mut counter)?;
        counter.output.flush()?;
        Ok(Exit::found(counter.found))
    }
}

struct Counter<'a> {
    filter: &'a dyn Count,
    args: &'a KeyArgs,
    output: Output,
    found: bool,
}

impl Sink for Counter<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        for (line, key) in block.lines().zip(block.keys(self.args)) {
            let count = match self.filter.contains_bytes(key) {
                true => self.filter.count_bytes(key),
                false => 0,
            };
            self.found |= count > 0;
            // As uniq -c has it.
            self.output.write(format!("{count:7} ").as_bytes())?;
            self.output.write(line)?;
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}
