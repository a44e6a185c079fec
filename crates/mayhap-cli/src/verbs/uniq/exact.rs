//! `--exact`: a first pass finds the hashes that come again, a second compares their keys byte for byte.
//!
//! A key whose hash comes once is certainly new. Only keys whose hash comes again are kept.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, TryReserveError};

use mayhap::sets::Fingerprints;

use super::budget::Budget;
use super::counts::{OwnHash, blocks};
use super::losses::Loss;
use super::repeats::{Repeated, Repeats};
use super::{Args, Summary};
use crate::block::{Block, LineHash, Share};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::keys::KeyArgs;
use crate::output::Output;
use crate::pipeline::{self, Shard, Sink};

pub(super) fn run(args: &Args, sources: &[Input], global: &Global) -> Result<Exit> {
    let hash = LineHash::fresh()?;
    let (mut shards, mut first) = (
        Repeats::shards(global),
        Repeated::new(None, None, Budget::NONE),
    );
    let blocks_of = || blocks(args, sources, &hash);
    let failed = pipeline::run_first(blocks_of()?, global, &mut shards, &mut first)?;
    let first_pass = shards.iter().map(Repeats::bytes).sum::<u64>();
    // Only the repeated ones are needed from here on.
    let suspects = shards.into_iter().map(|shard| Suspects {
        hashes: shard.repeated,
        keys: Keys::default(),
        suspected: Vec::new(),
        known: Vec::new(),
        args: args.key.clone(),
    });
    let mut suspects: Vec<Suspects> = suspects.collect();

    let mut compared = Compared {
        distinct: 0,
        output: args.open_output()?.on_threads(global.threads())?,
        prints_new: args.prints_new(),
    };
    pipeline::run_sharded(blocks_of()?, global, &mut suspects, &mut compared)?;
    compared.output.flush()?;
    failed.map_or(Ok(()), Err)?;
    let second_pass = suspects.iter().map(Suspects::bytes).sum();
    Summary {
        lines: first.lines,
        distinct: compared.distinct,
        lost: Loss::of_hashes(0),
        memory: first_pass.max(second_pass),
        store: "hashes and keys",
    }
    .print(global);
    Ok(Exit::Success)
}

/// The hashes of one shard that occurred again, and their keys so far.
struct Suspects {
    hashes: Fingerprints,
    keys: Keys,
    /// Of a block: the keys whose hash occurred again, by number, and where the first of each hash is.
    suspected: Vec<(usize, u64)>,
    known: Vec<Option<Place>>,
    args: KeyArgs,
}

impl Suspects {
    fn bytes(&self) -> u64 {
        self.hashes.bytes() + self.keys.bytes()
    }
}

impl Shard for Suspects {
    /// Whether each key is new: 1 or 0.
    fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()> {
        let before = answers.len();
        let mut numbered = keys.hashes().enumerate();
        self.suspected.clear();
        self.hashes.contains_each(keys.hashes(), |found| {
            answers.push(u64::from(!found));
            self.suspected.extend(numbered.next().filter(|_| found));
        });
        // Looked up before any is compared: lookups that do not depend on each other wait for memory together.
        let first = &self.keys.first;
        let known = self
            .suspected
            .iter()
            .map(|(_, hash)| first.get(hash).copied());
        self.known.clear();
        self.known.extend(known);
        for (&(number, hash), known) in self.suspected.iter().zip(&self.known) {
            let key = keys.key(number, &self.args);
            let is_known = known.is_some_and(|(start, end)| self.keys.bytes[start..end] == *key);
            let new = !is_known && self.keys.insert(hash, key)?;
            answers[before + number] = u64::from(new);
        }
        Ok(())
    }
}

/// Prints the lines that are new, or those that are not.
struct Compared {
    distinct: u64,
    output: Output,
    prints_new: bool,
}

impl Sink for Compared {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.distinct += block.answers().iter().sum::<u64>();
        let wanted = u64::from(self.prints_new);
        let chosen = block.answers().iter().map(|new| *new == wanted);
        self.output.write_lines(block, chosen)
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}

/// Where a key starts and ends.
type Place = (usize, usize);

/// A set of keys: all bytes one after another, found by hash.
#[derive(Default)]
struct Keys {
    first: HashMap<u64, Place, OwnHash>,
    /// The other keys of a hash, of which there are hardly any.
    others: HashMap<u64, Vec<Place>, OwnHash>,
    bytes: Vec<u8>,
}

impl Keys {
    /// Inserts the key; true when it was not there.
    fn insert(&mut self, hash: u64, key: &[u8]) -> Result<bool> {
        self.bytes.try_reserve(key.len()).map_err(no_memory)?;
        self.first.try_reserve(1).map_err(no_memory)?;
        let place = (self.bytes.len(), self.bytes.len() + key.len());
        match self.first.entry(hash) {
            Entry::Vacant(vacant) => {
                vacant.insert(place);
            }
            Entry::Occupied(occupied) => {
                let is_key = |(start, end): Place| self.bytes[start..end] == *key;
                if is_key(*occupied.get()) {
                    return Ok(false);
                }
                self.others.try_reserve(1).map_err(no_memory)?;
                let others = self.others.entry(hash).or_default();
                if others.iter().any(|place| is_key(*place)) {
                    return Ok(false);
                }
                others.try_reserve(1).map_err(no_memory)?;
                others.push(place);
            }
        }
        self.bytes.extend_from_slice(key);
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        let entries = self.first.capacity() * (size_of::<(u64, Place)>() + 1);
        (self.bytes.capacity() + entries) as u64
    }
}

fn no_memory(_: TryReserveError) -> Failure {
    Failure::new("no memory for the keys of all suspected repeats")
        .hint("without --exact a hash is kept of each, not the key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_hash_are_told_apart() {
        let mut keys = Keys::default();
        for key in [&b"a"[..], b"b", b"", b"c"] {
            assert!(keys.insert(7, key).expect("memory"));
        }
        for key in [&b"c"[..], b"", b"a", b"b"] {
            assert!(!keys.insert(7, key).expect("memory"));
        }
        assert!(keys.insert(8, b"a").expect("memory"));
    }

    /// All lines of one length with this number before the last word had one hash once: each was compared with all
    /// before it, and 40 000 took 13 seconds.
    #[test]
    fn prepared_keys_are_compared_with_one_key_at_most() {
        const COUNT: usize = 400_000;
        let hash = mayhap::hash::UniversalHash::random().expect("a random source");
        let mut keys = Keys::default();
        for number in 0..COUNT {
            let mut key = format!("{number:050}").into_bytes();
            let word = 0x8bb8_4b93_962e_acc9_u64 ^ key.len() as u64;
            key[34..42].copy_from_slice(&word.to_le_bytes());
            assert!(keys.insert(hash.hash(&key), &key).expect("memory"));
            assert!(!keys.insert(hash.hash(&key), &key).expect("memory"));
        }
        // A key is compared with the first of its hash, and then with the others.
        assert_eq!((keys.first.len(), keys.others.len()), (COUNT, 0));
    }
}
