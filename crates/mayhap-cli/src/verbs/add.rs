//! `mayhap add`: inserts keys into a filter.

use std::path::PathBuf;

use mayhap::{AnyFilter, Assemble as _, Digester, Hashing, Scheme};
use serde_json::json;

use crate::amounts::show_count;
use crate::block::{Block, Blocks};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Result, say};
use crate::filters::{Held, PromiseArgs, SecretArgs};
use crate::input::Source;
use crate::keys::KeyArgs;
use crate::output::print_json;
use crate::pipeline::{self, Sink};

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
    promise: PromiseArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let mut held = Held::open(&self.filter, self.secret.secret()?.as_ref())?;
        let sources = Source::open_all(&self.keys)?;
        let mut inserter = Inserter {
            digester: native_digester(&held.filter),
            filter: &mut held.filter,
            args: &self.key,
            keys: 0,
            new: 0,
            answers: Vec::new(),
        };
        let blocks = Blocks::new(sources, &self.key, inserter.digester);
        pipeline::run(blocks, global, &mut inserter)?;
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

/// The digester of a filter that takes digests in place of keys.
pub(crate) fn native_digester(filter: &AnyFilter) -> Option<Digester> {
    match (filter, filter.description().hashing) {
        (AnyFilter::Blocked(_), Hashing::Scheme(Scheme::Native(digester))) => Some(digester),
        _ => None,
    }
}

/// Inserts the keys of a block; one answer each, whether it was definitely new.
pub(crate) fn insert_block(
    filter: &mut AnyFilter,
    block: &Block,
    args: &KeyArgs,
    answers: &mut Vec<bool>,
) -> Result<()> {
    answers.clear();
    match filter {
        AnyFilter::Blocked(filter) => {
            filter.insert_digests(block.digests.iter().copied(), |new| answers.push(new));
        }
        other => {
            let keys: Vec<&[u8]> = block.keys(args).collect();
            answers.resize(keys.len(), false);
            other.as_insert()?.insert_bytes_batch(&keys, answers);
        }
    }
    Ok(())
}

struct Inserter<'a> {
    filter: &'a mut AnyFilter,
    digester: Option<Digester>,
    args: &'a KeyArgs,
    keys: u64,
    new: u64,
    answers: Vec<bool>,
}

impl Sink for Inserter<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        insert_block(self.filter, block, self.args, &mut self.answers)?;
        self.keys += block.count() as u64;
        self.new += self.answers.iter().filter(|new| **new).count() as u64;
        Ok(())
    }
}
