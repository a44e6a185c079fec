//! Lines in blocks: read many at a time, and never copied one by one.
//!
//! Every line of a block ends in the terminator: a last line that has none gets one, as awk and uniq do. A record of CSV
//! is a line here, also where it takes several.

pub(crate) mod ahead;
pub(crate) mod ending;
pub(crate) mod inputs;
pub(crate) mod ledger;
mod records;
mod split;

use std::sync::Arc;

use mayhap::{
    Digester,
    hash::{Digest, UniversalHash},
    sets::Fingerprints,
};
use mayhap_program::failure::Result;

use crate::csv::Records;
use crate::keys::KeyArgs;
use crate::lines::BLOCK_BYTES;
use crate::made::{Made, Passed, Stop};

use ending::Why;

/// The bytes of memory above which a block is large: it is given back after use, and no other is read before.
const LARGE_BYTES: usize = 4 * BLOCK_BYTES;

/// Some lines, whole.
#[derive(Debug, Default)]
pub(crate) struct Block {
    buffer: Vec<u8>,
    /// The end of each line, its terminator included.
    ends: Vec<usize>,
    /// The digest of each line's key, when the lines are hashed.
    pub(crate) digests: Vec<Digest>,
    /// True when the key of every line is a part of the line, unchanged.
    stands: bool,
    /// The keys otherwise, and the lines without one.
    made: Made,
    /// With several shards: the numbers of the keys, grouped by shard, and the end of each group.
    by_shard: Vec<u32>,
    shard_ends: Vec<usize>,
    /// The answers of the shards, one for each key, and a buffer for the answers of each shard.
    answers: Vec<u64>,
    answers_by_shard: Vec<Vec<u64>>,
    /// The lines that were read.
    part: Part,
    is_prepared: bool,
    /// The reason why there are no more lines after these.
    stop: Option<Why>,
    /// The number of lines before them.
    pub(crate) first_line: u64,
}

impl Block {
    /// The number of lines that have a key.
    pub(crate) fn count(&self) -> usize {
        self.ends.len() - self.made.passed().len()
    }

    /// The lines, each with its terminator, also those without a key.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        pieces(&self.buffer, &self.ends)
    }

    /// All lines at once.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.ends.last().copied().unwrap_or(0)]
    }

    /// The lines before that of the key with this number, counted from 0; all lines when there is no such key.
    pub(crate) fn bytes_before(&self, key: usize) -> &[u8] {
        let passed = self.made.passed().iter();
        let line = passed.fold(key, |line, passed| line + usize::from(passed.line <= line));
        match line.checked_sub(1) {
            None => &[],
            Some(last) => &self.buffer[..self.ends[last.min(self.ends.len() - 1)]],
        }
    }

    /// The text to print: the lines or their keys, the end of each, and the lines without a key.
    pub(crate) fn printed(&self) -> (&[u8], &[usize], &[Passed]) {
        match self.made.shown() {
            Some((bytes, ends)) => (bytes, ends, &[]),
            None => (&self.buffer, &self.ends, self.made.passed()),
        }
    }

    /// Returns whether it takes much more memory than most blocks, because of a long line.
    pub(crate) fn is_large(&self) -> bool {
        self.buffer.capacity().max(self.made.capacity()) > LARGE_BYTES
    }

    /// Empties it for the next lines. The memory of a large block is freed.
    pub(crate) fn emptied(self) -> Block {
        match self.is_large() {
            true => Block::default(),
            false => self,
        }
    }

    /// The keys of the lines that have one.
    pub(crate) fn keys<'a>(&'a self, args: &'a KeyArgs) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, ends) = self.made.keys();
        let made = (!self.stands).then(|| pieces(bytes, ends));
        let standing = self
            .stands
            .then(|| self.lines().map(|line| args.of(line).unwrap_or_default()));
        made.into_iter()
            .flatten()
            .chain(standing.into_iter().flatten())
    }

    /// The key with this number, from 0.
    pub(crate) fn key<'a>(&'a self, number: usize, args: &KeyArgs) -> &'a [u8] {
        let (bytes, ends) = match self.stands {
            true => (&self.buffer[..], &self.ends[..]),
            false => self.made.keys(),
        };
        let start = number.checked_sub(1).map_or(0, |before| ends[before]);
        let piece = &bytes[start..ends[number]];
        match self.stands {
            true => args.of(piece).unwrap_or_default(),
            false => piece,
        }
    }

    /// The hash of each key.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.digests.iter().map(|digest| digest.hi)
    }

    /// The answers of the shards, one for each key.
    pub(crate) fn answers(&self) -> &[u64] {
        &self.answers
    }

    /// Returns whether something is wrong after these lines, so that no more follow.
    pub(crate) fn is_last(&self) -> bool {
        self.stop.is_some()
    }

    /// Returns whether it has no lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Takes the lines of a part, which are in the buffer.
    fn begin(&mut self, part: Part) {
        self.part = part;
        self.is_prepared = false;
        self.stop = None;
    }

    /// Finds the lines, their keys and digests, and the shard of each key.
    pub(crate) fn prepare(&mut self, prepare: &Prepare) {
        if !self.is_prepared
            && let Some(Stop::NoKey(no_key)) = self.prepare_records(prepare, None)
        {
            self.stop = Some(Why::NoKey(no_key));
        }
        self.sort_by_shard(prepare.shards);
    }

    /// Finds the lines, their keys and digests. Returns why they end before the bytes do, if they do.
    fn prepare_records(
        &mut self,
        prepare: &Prepare,
        records: Option<&mut Records>,
    ) -> Option<Stop> {
        let Prepare { args, hash, .. } = prepare;
        self.is_prepared = true;
        self.ends.clear();
        self.digests.clear();
        self.made.clear();
        self.stands = args.as_they_stand() && self.find_standing(prepare);
        if self.stands {
            return None;
        }
        self.ends.clear();
        self.digests.clear();
        let (bytes, header) = (&self.buffer[..self.part.length], self.part.header);
        let stop = self.made.make(bytes, &mut self.ends, args, records, header);
        if let Some(hash) = hash {
            let (bytes, ends) = self.made.keys();
            hash.extend(&mut self.digests, pieces(bytes, ends));
        }
        stop
    }

    /// Finds the lines, and the digests of keys that are parts of them. Returns false when a line has no key.
    fn find_standing(&mut self, prepare: &Prepare) -> bool {
        let Prepare { args, hash, .. } = prepare;
        let bytes = &self.buffer[..self.part.length];
        split::find_ends(bytes, args.lines.terminator(), &mut self.ends);
        let mut have_keys = true;
        let keys = pieces(&self.buffer, &self.ends).map(|line| {
            args.of(line).unwrap_or_else(|| {
                have_keys = false;
                &[]
            })
        });
        match hash {
            // Not by `keys`: one iterator for both ways takes a third longer.
            Some(hash) => hash.extend(&mut self.digests, keys),
            None if args.are_lines() => {}
            None => keys.for_each(drop),
        }
        have_keys
    }

    /// Sorts the numbers of the keys by shard, stably.
    fn sort_by_shard(&mut self, shards: usize) {
        self.by_shard.clear();
        self.shard_ends.clear();
        self.answers.clear();
        if shards <= 1 {
            return;
        }
        assert!(
            u32::try_from(self.digests.len()).is_ok(),
            "a block has fewer than 2^32 keys"
        );
        let shard_of = |digest: &Digest| Fingerprints::shard_of(digest.hi, shards);
        self.shard_ends.resize(shards, 0);
        for digest in &self.digests {
            self.shard_ends[shard_of(digest)] += 1;
        }
        let mut start = 0;
        for end in &mut self.shard_ends {
            start += std::mem::replace(end, start);
        }
        self.by_shard.resize(self.digests.len(), 0);
        for (number, digest) in (0..).zip(&self.digests) {
            let next = &mut self.shard_ends[shard_of(digest)];
            self.by_shard[*next] = number;
            *next += 1;
        }
    }

    /// The keys of a shard, or all of them for the only one.
    pub(crate) fn of_shard(&self, shard: usize) -> Share<'_> {
        let start = shard.checked_sub(1).map_or(0, |last| self.shard_ends[last]);
        let end = self.shard_ends.get(shard);
        Share {
            block: self,
            keys: end.map(|end| &self.by_shard[start..*end]),
        }
    }

    /// Lends a buffer to each shard for its answers.
    pub(crate) fn lend_answers(&mut self, shards: usize) -> Vec<Vec<u64>> {
        let mut answers = std::mem::take(&mut self.answers_by_shard);
        answers.resize_with(shards, Vec::new);
        answers.iter_mut().for_each(Vec::clear);
        answers
    }

    /// Takes back the answers of all shards, each in the order of its keys.
    pub(crate) fn take_answers(&mut self, mut answers: Vec<Vec<u64>>) {
        if let [only] = &mut answers[..] {
            std::mem::swap(&mut self.answers, only);
        } else {
            self.answers.resize(self.by_shard.len(), 0);
            for (number, answer) in self.by_shard.iter().zip(answers.iter().flatten()) {
                self.answers[*number as usize] = *answer;
            }
        }
        self.answers_by_shard = answers;
    }
}

/// Whole lines of one input.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// The number of the input.
    input: usize,
    length: usize,
    /// Set when it begins with a header: true when that is printed.
    header: Option<bool>,
    /// True when the input ends with it.
    is_last: bool,
}

/// The keys of a block that belong to one shard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share<'a> {
    block: &'a Block,
    /// Their numbers, unless it has all of them.
    keys: Option<&'a [u32]>,
}

impl<'a> Share<'a> {
    /// The number of keys.
    pub(crate) fn count(&self) -> usize {
        self.keys.map_or(self.block.count(), <[u32]>::len)
    }

    /// The number in the block of the key with this number in the share.
    #[inline]
    fn number(&self, key: usize) -> usize {
        self.keys.map_or(key, |keys| keys[key] as usize)
    }

    /// The hash of each key, in order.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> + 'a {
        let share = *self;
        (0..self.count()).map(move |key| share.block.digests[share.number(key)].hi)
    }

    /// The bytes of the key with this number in the share.
    pub(crate) fn key(&self, key: usize, args: &KeyArgs) -> &'a [u8] {
        self.block.key(self.number(key), args)
    }
}

/// The way from lines to keys, digests and shards.
#[derive(Debug, Clone)]
pub(crate) struct Prepare {
    pub(crate) args: KeyArgs,
    pub(crate) hash: Option<LineHash>,
    /// The number of shards that keys are divided among.
    pub(crate) shards: usize,
}

/// The hash that is taken of keys while their lines are read.
#[derive(Debug, Clone)]
pub(crate) enum LineHash {
    /// The hash of the filter that gets the digests.
    Filter(Digester),
    /// A function drawn for this run, for hashes that stay in memory.
    Fresh(Arc<UniversalHash>),
}

impl LineHash {
    /// Draws a function for this run.
    pub(crate) fn fresh() -> Result<LineHash> {
        Ok(LineHash::Fresh(Arc::new(UniversalHash::random()?)))
    }

    /// Appends the digest of each key.
    fn extend<'a>(&self, digests: &mut Vec<Digest>, keys: impl ExactSizeIterator<Item = &'a [u8]>) {
        digests.reserve_exact(keys.len());
        let hash = match self {
            LineHash::Filter(Digester::Universal { key }) => key.hash(),
            LineHash::Filter(digester) => {
                return digests.extend(keys.map(|key| digester.digest(key)));
            }
            LineHash::Fresh(hash) => hash,
        };
        digests.extend(keys.map(|key| Digest::from_u64(hash.hash(key))));
    }
}

/// The pieces between one end and the next.
pub(crate) fn pieces<'a>(
    bytes: &'a [u8],
    ends: &'a [usize],
) -> impl ExactSizeIterator<Item = &'a [u8]> {
    let mut start = 0;
    ends.iter().map(move |end| {
        let piece = &bytes[start..*end];
        start = *end;
        piece
    })
}
