//! The keys of a block, and a filter: all asked about, or inserted, at once.
//!
//! Kinds that take digests get those that were made while the lines were read, on the other core.

use mayhap::{
    AnyFilter, Assemble as _, Bits, Description, Digester, Filter as _, Hashing, Kind, Scheme,
};

use crate::block::{Block, Blocks};
use crate::cli::Global;
use crate::failure::Result;
use crate::input::Source;
use crate::keys::KeyArgs;
use crate::pipeline::{self, Sink};

/// The digester of a filter that takes digests in place of keys.
pub(crate) fn digester(description: &Description) -> Option<Digester> {
    match (description.kind, description.hashing) {
        (Kind::Blocked, Hashing::Scheme(Scheme::Native(digester))) => Some(digester),
        _ => None,
    }
}

/// Inserts the keys of a block; one answer each, whether it was definitely new.
pub(crate) fn insert(
    filter: &mut AnyFilter,
    block: &Block,
    args: &KeyArgs,
    new: &mut Vec<bool>,
) -> Result<()> {
    new.clear();
    match filter {
        AnyFilter::Blocked(filter) => {
            filter.insert_digests(block.digests.iter().copied(), |answer| new.push(answer));
        }
        other => {
            let keys: Vec<&[u8]> = block.keys(args).collect();
            new.resize(keys.len(), false);
            other.as_insert()?.insert_bytes_batch(&keys, new);
        }
    }
    Ok(())
}

/// Looks up the keys of a block; one answer each, whether it may be in the filter.
pub(crate) fn contains<B: Bits>(
    filter: &AnyFilter<B>,
    block: &Block,
    args: &KeyArgs,
    found: &mut Vec<bool>,
) {
    found.clear();
    match filter {
        AnyFilter::Blocked(filter) => {
            filter.contains_digests(block.digests.iter().copied(), |answer| found.push(answer));
        }
        other => {
            let keys: Vec<&[u8]> = block.keys(args).collect();
            found.resize(keys.len(), false);
            other.contains_bytes_batch(&keys, found);
        }
    }
}

/// Inserts all keys, and counts them.
pub(crate) struct Inserter<'a> {
    filter: &'a mut AnyFilter,
    args: &'a KeyArgs,
    pub(crate) keys: u64,
    pub(crate) new: u64,
    answers: Vec<bool>,
}

impl<'a> Inserter<'a> {
    pub(crate) fn new(filter: &'a mut AnyFilter, args: &'a KeyArgs) -> Inserter<'a> {
        Inserter {
            filter,
            args,
            keys: 0,
            new: 0,
            answers: Vec::new(),
        }
    }

    pub(crate) fn run(mut self, sources: Vec<Source>, global: &Global) -> Result<Inserter<'a>> {
        let digester = digester(&self.filter.description());
        pipeline::run(Blocks::new(sources, self.args, digester), global, &mut self)?;
        Ok(self)
    }
}

impl Sink for Inserter<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        insert(self.filter, block, self.args, &mut self.answers)?;
        self.keys += block.count() as u64;
        self.new += self.answers.iter().filter(|new| **new).count() as u64;
        Ok(())
    }
}
