//! The keys of a block, and a filter: all asked about, or inserted, at once.
//!
//! Kinds that take digests get those that were made while the lines were read, on the other core.

use std::ops::Range;

use mayhap::{
    AnyFilter, Assemble as _, Description, Digester, Filter as _, Hashing, Kind, Scheme,
    bits::Bits, kinds::InsertArea,
};
use mayhap_program::failure::Result;
use mayhap_program::input::Input;

use crate::block::{Block, LineHash};
use crate::blocks::Blocks;
use crate::keys::KeyArgs;
use crate::pipeline::{self, Sink};
use crate::server::{Answer, Server};

/// A filter that a block of keys can be inserted into.
pub(crate) trait Inserted {
    /// The digester of a filter that takes digests instead of keys.
    fn digester(&self) -> Option<Digester>;

    /// Inserts the keys of a block; one answer each, whether it was definitely new.
    fn insert_block(&mut self, block: &Block, args: &KeyArgs, new: &mut Vec<bool>) -> Result<()>;
}

/// The digester of a filter that takes digests instead of keys.
pub(crate) fn digester(description: &Description) -> Option<Digester> {
    match (description.kind, &description.hashing) {
        (Kind::Blocked, Hashing::Scheme(Scheme::Native(digester))) => Some(digester.clone()),
        _ => None,
    }
}

/// Looks up the keys of a block; one answer each, whether it may be in the filter.
pub(crate) fn contains_lines<B: Bits>(
    filter: &AnyFilter<B>,
    block: &Block,
    args: &KeyArgs,
    found: &mut Vec<bool>,
) {
    found.clear();
    match filter {
        // Without them where several filters are asked, which may hash in several ways.
        AnyFilter::Blocked(filter) if block.digests.len() == block.count() => {
            filter.contains_digests(block.digests.iter().copied(), |answer| found.push(answer));
        }
        other => {
            let keys: Vec<&[u8]> = block.keys(args).collect();
            found.resize(keys.len(), false);
            other.contains_bytes_batch(&keys, found);
        }
    }
}

impl Inserted for AnyFilter {
    fn digester(&self) -> Option<Digester> {
        digester(&self.description())
    }

    fn insert_block(&mut self, block: &Block, args: &KeyArgs, new: &mut Vec<bool>) -> Result<()> {
        new.clear();
        insert_lines(self, block, 0..block.count(), args, new)
    }
}

/// Inserts the keys of some lines of a block, and appends one answer each: whether it was definitely new.
pub(crate) fn insert_lines(
    filter: &mut AnyFilter,
    block: &Block,
    lines: Range<usize>,
    args: &KeyArgs,
    new: &mut Vec<bool>,
) -> Result<()> {
    match filter {
        AnyFilter::Blocked(filter) => {
            let digests = block.digests[lines].iter().copied();
            filter.insert_digests(digests, |answer| new.push(answer));
        }
        other => {
            let keys = block.keys(args).skip(lines.start).take(lines.len());
            let keys: Vec<&[u8]> = keys.collect();
            let before = new.len();
            new.resize(before + keys.len(), false);
            other
                .as_insert()?
                .insert_bytes_batch(&keys, &mut new[before..]);
        }
    }
    Ok(())
}

impl Inserted for Server {
    fn digester(&self) -> Option<Digester> {
        None
    }

    fn insert_block(&mut self, block: &Block, args: &KeyArgs, new: &mut Vec<bool>) -> Result<()> {
        let keys: Vec<&[u8]> = block.keys(args).collect();
        let (answers, failure) = self.insert(&keys)?;
        // A key in doubt is inserted; that it was new is not certain.
        *new = answers
            .iter()
            .map(|answer| *answer == Answer::New)
            .collect();
        failure.map_or(Ok(()), Err)
    }
}

/// A filter whose keys are all of one area.
pub(crate) struct OfArea<'a> {
    pub(crate) filter: &'a mut dyn InsertArea,
    pub(crate) area: u32,
}

impl Inserted for OfArea<'_> {
    fn digester(&self) -> Option<Digester> {
        None
    }

    fn insert_block(&mut self, block: &Block, args: &KeyArgs, new: &mut Vec<bool>) -> Result<()> {
        new.clear();
        for key in block.keys(args) {
            let before = self.filter.insert_area_bytes(key, self.area)?;
            new.push(before.is_none());
        }
        Ok(())
    }
}

/// Inserts all keys, and counts them.
pub(crate) struct Inserter<'a, F> {
    filter: &'a mut F,
    args: &'a KeyArgs,
    keys: u64,
    new: u64,
    answers: Vec<bool>,
}

impl<'a, F: Inserted> Inserter<'a, F> {
    pub(crate) fn new(filter: &'a mut F, args: &'a KeyArgs) -> Inserter<'a, F> {
        Inserter {
            filter,
            args,
            keys: 0,
            new: 0,
            answers: Vec::new(),
        }
    }

    /// Inserts the lines of all inputs; how many keys there were, and how many were new.
    pub(crate) fn run(mut self, sources: Vec<Input>, threads: usize) -> Result<(u64, u64)> {
        let hash = self.filter.digester().map(LineHash::Filter);
        pipeline::run(Blocks::new(sources, self.args, hash), threads, &mut self)?;
        Ok((self.keys, self.new))
    }
}

impl<F: Inserted> Sink for Inserter<'_, F> {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.filter
            .insert_block(block, self.args, &mut self.answers)?;
        self.keys += block.count() as u64;
        self.new += self.answers.iter().filter(|new| **new).count() as u64;
        Ok(())
    }
}
