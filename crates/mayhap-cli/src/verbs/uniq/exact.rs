//! `--exact`: a first pass finds the hashes that come again, a second compares their keys byte for byte.
//!
//! A key whose hash comes once is certainly new. Only keys whose hash comes again are kept.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, TryReserveError};

use mayhap::sets::Fingerprints;

use super::budget::Budget;
use super::counts::{OwnHash, blocks};
use super::losses::Loss;
use super::repeats::Repeats;
use super::{Args, Summary};
use crate::block::{Block, LineHash};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::input::Source;
use crate::keys::KeyArgs;
use crate::output::Output;
use crate::pipeline::{self, Sink};

pub(super) fn run(args: &Args, sources: &[Source], global: &Global) -> Result<Exit> {
    let hash = LineHash::fresh()?;
    let mut repeats = Repeats::new(None, None, Budget::NONE);
    let failed = pipeline::run_first(blocks(args, sources, &hash)?, global, &mut repeats)?;
    let first_pass = repeats.bytes();
    drop(repeats.seen);

    let mut compare = Compare {
        suspected: repeats.repeated,
        keys: Keys::default(),
        chosen: Vec::new(),
        distinct: 0,
        output: args.open_output()?,
        prints_new: args.prints_new(),
        args: &args.key,
    };
    pipeline::run(blocks(args, sources, &hash)?, global, &mut compare)?;
    compare.output.flush()?;
    failed.map_or(Ok(()), Err)?;
    Summary {
        lines: repeats.lines,
        distinct: compare.distinct,
        lost: Loss::of_hashes(0),
        memory: first_pass.max(compare.suspected.bytes() + compare.keys.bytes()),
        store: "hashes and keys",
    }
    .print(global);
    Ok(Exit::Success)
}

struct Compare<'a> {
    suspected: Fingerprints,
    keys: Keys,
    /// First whether the hash comes again, then whether the line is printed.
    chosen: Vec<bool>,
    distinct: u64,
    output: Output,
    prints_new: bool,
    args: &'a KeyArgs,
}

impl Sink for Compare<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.chosen.clear();
        let hashes = block.digests.iter().map(|digest| digest.hi);
        self.suspected
            .contains_each(hashes, |found| self.chosen.push(found));
        let keys = block.keys(self.args).zip(&block.digests);
        for (chosen, (key, digest)) in self.chosen.iter_mut().zip(keys) {
            let new = !*chosen || self.keys.insert(digest.hi, key)?;
            self.distinct += u64::from(new);
            *chosen = new == self.prints_new;
        }
        self.output.write_lines(block, self.chosen.iter().copied())
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}

/// A set of keys: all bytes one after another, found by hash.
#[derive(Default)]
struct Keys {
    /// Where the first key of a hash starts and ends.
    first: HashMap<u64, (usize, usize), OwnHash>,
    /// The other keys of a hash, of which there are hardly any.
    others: HashMap<u64, Vec<(usize, usize)>, OwnHash>,
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
                let is_key = |(start, end): (usize, usize)| self.bytes[start..end] == *key;
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
        let entries = self.first.capacity() * (size_of::<(u64, (usize, usize))>() + 1);
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
