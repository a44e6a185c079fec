//! `--exact`: a first pass finds the hashes that occur again, a second compares their keys byte for byte.
//!
//! A key whose hash occurs once is certainly new. Only keys whose hash occurs again are kept.

use std::collections::{HashMap, TryReserveError};
use std::hint::black_box;
use std::ops::Range;

use mayhap::sets::Fingerprints;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;
use mayhap_program::input::Input;

use super::args::Args;
use super::budget::Budget;
use super::counts::blocks;
use super::losses::Loss;
use super::repeats::{Repeated, Repeats};
use super::summary::Summary;
use crate::block::{Block, LineHash, Share};
use crate::keys::KeyArgs;
use crate::output::Output;
use crate::pipeline::{self, Shard, Sink};

pub(super) fn run(args: &Args, sources: &[Input], global: &Global) -> Result<Exit> {
    let (hash, threads) = (LineHash::fresh()?, global.threads());
    let (mut shards, mut first) = (
        Repeats::shards(threads),
        Repeated::new(None, None, Budget::NONE),
    );
    let blocks_of = || blocks(args, sources, &hash);
    let failed = pipeline::run_first(blocks_of()?, threads, &mut shards, &mut first)?;
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
        output: args.open_output()?.on_threads(threads)?,
        prints_new: args.prints_new(),
    };
    pipeline::run_sharded(blocks_of()?, threads, &mut suspects, &mut compared)?;
    compared.output.flush()?;
    failed.map_or(Ok(()), Err)?;
    let second_pass = suspects.iter().map(Suspects::bytes).sum();
    Summary {
        lines: first.lines,
        distinct: compared.distinct,
        lost: Loss::of_hashes(0),
        is_public: false,
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
    /// For each key of a block whose hash occurred again: its number, the place of its hash, and the stored key of that hash.
    suspected: Vec<(usize, usize)>,
    known: Vec<Range<usize>>,
    args: KeyArgs,
}

impl Suspects {
    fn bytes(&self) -> u64 {
        self.hashes.bytes() + self.keys.bytes()
    }
}

impl Shard for Suspects {
    /// Answers 1 for each key that is new, and else 0.
    fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()> {
        self.keys.make_room(self.hashes.places())?;
        let before = answers.len();
        self.suspected.clear();
        self.hashes.find_each(keys.hashes(), |place| {
            let number = answers.len() - before;
            answers.push(u64::from(place.is_none()));
            self.suspected.extend(place.map(|place| (number, place)));
        });
        // Found before any is compared: lookups that do not depend on each other wait for memory together.
        let stored = self.suspected.iter().map(|(_, place)| {
            let at = self.keys.first[*place];
            // Most keys lie in two cache lines: the second is loaded now as well.
            black_box(self.keys.bytes.get(at + CACHE_LINE).copied());
            self.keys.stored(at)
        });
        self.known.clear();
        self.known.extend(stored);
        for (&(number, place), known) in self.suspected.iter().zip(&self.known) {
            let key = keys.key(number, &self.args);
            let is_known = !known.is_empty() && self.keys.bytes[known.clone()] == *key;
            let new = !is_known && self.keys.insert(place, key)?;
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

/// A set of keys: all bytes one after another, found by the place of their hash.
#[derive(Default)]
struct Keys {
    /// The place of the first key of each hash; 0 where there is none yet.
    first: Vec<usize>,
    /// The other keys of a hash, of which there are hardly any.
    others: HashMap<usize, Vec<usize>>,
    /// Each key after its length: a byte, or [`LONG`] and eight. One byte is before the first.
    bytes: Vec<u8>,
}

/// The bytes that are loaded from memory together.
const CACHE_LINE: usize = 64;

/// The byte before the length of a key that does not fit in one.
const LONG: u8 = u8::MAX;

impl Keys {
    /// Gives every place of a hash room for a key, if it has none yet.
    fn make_room(&mut self, places: usize) -> Result<()> {
        if self.first.len() < places {
            self.first.try_reserve_exact(places).map_err(no_memory)?;
            self.first.resize(places, 0);
            self.bytes.try_reserve(1).map_err(no_memory)?;
            self.bytes.push(0);
        }
        Ok(())
    }

    /// The bytes of the key that is stored here.
    #[inline]
    fn stored(&self, at: usize) -> Range<usize> {
        let (start, length) = match self.bytes[at] {
            LONG => {
                let length = self.bytes[at + 1..].first_chunk().copied();
                (
                    at + 9,
                    u64::from_le_bytes(length.unwrap_or_default()) as usize,
                )
            }
            length => (at + 1, length.into()),
        };
        start..start + length
    }

    /// Returns whether this key is stored here.
    fn is_stored(&self, at: usize, key: &[u8]) -> bool {
        self.bytes[self.stored(at)] == *key
    }

    /// Inserts a key whose hash has this place; true when it was not there.
    fn insert(&mut self, place: usize, key: &[u8]) -> Result<bool> {
        self.bytes.try_reserve(9 + key.len()).map_err(no_memory)?;
        let at = self.bytes.len();
        match self.first[place] {
            0 => self.first[place] = at,
            first if self.is_stored(first, key) => return Ok(false),
            _ => {
                let others = self.others.get(&place);
                if others.is_some_and(|others| others.iter().any(|at| self.is_stored(*at, key))) {
                    return Ok(false);
                }
                self.others.try_reserve(1).map_err(no_memory)?;
                let others = self.others.entry(place).or_default();
                others.try_reserve(1).map_err(no_memory)?;
                others.push(at);
            }
        }
        match u8::try_from(key.len()) {
            Ok(length) if length < LONG => self.bytes.push(length),
            _ => {
                self.bytes.push(LONG);
                let length = (key.len() as u64).to_le_bytes();
                self.bytes.extend_from_slice(&length);
            }
        }
        self.bytes.extend_from_slice(key);
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        (self.bytes.capacity() + self.first.capacity() * size_of::<usize>()) as u64
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
        keys.make_room(9).expect("memory");
        let lengths = [0, 1, 254, 255, 256, 100_000];
        let of = |byte: u8| lengths.map(|length| vec![byte; length]);
        for key in of(b'a').iter().chain(&of(b'b')[1..]) {
            assert!(keys.insert(7, key).expect("memory"));
        }
        for key in of(b'b').iter().chain(&of(b'a')) {
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
        let prepared = |number: usize| {
            let mut key = format!("{number:050}").into_bytes();
            let word = 0x8bb8_4b93_962e_acc9_u64 ^ key.len() as u64;
            key[34..42].copy_from_slice(&word.to_le_bytes());
            key
        };
        let hashes = || (0..COUNT).map(|number| hash.hash(&prepared(number)));
        let mut set = Fingerprints::new();
        set.insert_each(hashes(), |_| ()).expect("memory");
        let mut places = Vec::new();
        set.find_each(hashes(), |place| places.extend(place));

        let mut keys = Keys::default();
        keys.make_room(set.places()).expect("memory");
        for (number, place) in places.iter().enumerate() {
            let key = prepared(number);
            assert!(keys.insert(*place, &key).expect("memory"));
            assert!(!keys.insert(*place, &key).expect("memory"));
        }

        // A key is compared with the first of its hash, and then with the others.
        assert_eq!((places.len(), keys.others.len()), (COUNT, 0));
    }
}
