//! `mayhap area`: which area, or which of two sets, each key belongs to.

use std::path::PathBuf;

use mayhap::{AnyFilter, Area, ShiftingAssociation};

use crate::block::{Block, Blocks};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filters::{SecretArgs, read};
use crate::input::Source;
use crate::keys::KeyArgs;
use crate::output::Output;
use crate::pipeline::{self, Sink};

/// Prints each line after the area of its key and a tab; `-` is certainly in none. A filter of the kind `spatial` tells
/// the number of the area, one of the kind `shifting-association` `first`, `second` or `both`, or several of them
/// that it may be. Exit codes: 0 when a key has an area, 1 when none has.
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

/// A filter that tells areas.
enum Areas<'a> {
    Numbered(&'a dyn Area),
    OfTwo(&'a ShiftingAssociation),
}

impl Areas<'_> {
    fn of(&self, key: &[u8]) -> Option<String> {
        match self {
            Areas::Numbered(filter) => filter.area_bytes(key).map(|area| area.to_string()),
            Areas::OfTwo(filter) => {
                let regions = filter.regions(key);
                (!regions.is_empty()).then(|| regions.to_string())
            }
        }
    }
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let (filter, _, _) = read(&self.filter, self.secret.secret()?.as_ref())?;
        let mut teller = Teller {
            areas: match &filter {
                AnyFilter::ShiftingAssociation(filter) => Areas::OfTwo(filter),
                other => Areas::Numbered(other.as_area()?),
            },
            args: &self.key,
            output: Output::standard()?,
            found: false,
        };
        let blocks = Blocks::new(Source::open_all(&self.keys)?, &self.key, None);
        pipeline::run(blocks, global, &mut teller)?;
        teller.output.flush()?;
        Ok(Exit::found(teller.found))
    }
}

struct Teller<'a> {
    areas: Areas<'a>,
    args: &'a KeyArgs,
    output: Output,
    found: bool,
}

impl Sink for Teller<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        for (line, key) in block.lines().zip(block.keys(self.args)) {
            let area = self.areas.of(key);
            self.found |= area.is_some();
            self.output
                .write(area.as_deref().unwrap_or("-").as_bytes())?;
            self.output.write(b"\t")?;
            self.output.write(line)?;
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}
