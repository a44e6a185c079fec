//! Lines in blocks: read many at a time, and never copied one by one.
//!
//! Every line of a block ends in the terminator: a last line that has none gets one, as awk and uniq do. A record of CSV
//! is a line here, also where it takes several.

mod ahead;
mod inputs;
mod ledger;
mod records;
mod split;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mayhap::{
    Digester,
    hash::{Digest, UniversalHash},
    sets::Fingerprints,
};

use crate::csv::Records;
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::keys::KeyArgs;
use crate::made::{Made, Passed, Stop};

pub(crate) use ahead::{Ahead, Early, Step};
pub(crate) use inputs::{Ending, Header, Inputs};
use inputs::{Part, Why};
pub(crate) use ledger::Ledger;

/// The bytes of a block, unless a line is longer: a quarter of a level-2 cache, and well above what one
/// system call costs.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;

/// The bytes of memory above which a block is large: it is given back after use, and no other is read before.
const LARGE_BYTES: usize = 4 * BLOCK_BYTES;

/// Some lines, whole.
#[derive(Debug, Default)]
pub(crate) struct Block {
    buffer: Vec<u8>,
    /// Where each line ends, its terminator included.
    ends: Vec<usize>,
    /// The digest of each line's key, when the lines are hashed.
    pub(crate) digests: Vec<Digest>,
    /// The keys that do not stand in the lines as they are, and the lines that have none.
    made: Made,
    /// Where there are several shards: the numbers of the keys, those of one shard together, and where those of each end.
    by_shard: Vec<u32>,
    shard_ends: Vec<usize>,
    /// What the shards answered about each key, where there are any, and memory for what each of several answers.
    answers: Vec<u64>,
    answers_by_shard: Vec<Vec<u64>>,
    /// The lines that were read.
    part: Part,
    is_prepared: bool,
    /// Why there are no more lines after these.
    stop: Option<Why>,
    /// The lines of the input before them.
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

    /// What is printed of the lines: themselves or their keys, where each ends, and which are lines without a key.
    pub(crate) fn printed(&self) -> (&[u8], &[usize], &[Passed]) {
        match self.made.shown() {
            Some((bytes, ends)) => (bytes, ends, &[]),
            None => (&self.buffer, &self.ends, self.made.passed()),
        }
    }

    /// Whether it takes much more memory than most, because of a long line.
    pub(crate) fn is_large(&self) -> bool {
        self.buffer.capacity().max(self.made.capacity()) > LARGE_BYTES
    }

    /// A block to be filled again, which takes the memory of this one unless that is much.
    pub(crate) fn emptied(self) -> Block {
        match self.is_large() {
            true => Block::default(),
            false => self,
        }
    }

    /// The keys of the lines that have one.
    pub(crate) fn keys<'a>(&'a self, args: &'a KeyArgs) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, ends) = self.made.keys();
        let made = (!args.as_they_stand()).then(|| pieces(bytes, ends));
        let standing = args
            .as_they_stand()
            .then(|| self.lines().map(|line| args.of(line)));
        made.into_iter()
            .flatten()
            .chain(standing.into_iter().flatten())
    }

    /// The key with this number, from 0.
    pub(crate) fn key<'a>(&'a self, number: usize, args: &KeyArgs) -> &'a [u8] {
        let (bytes, ends) = match args.as_they_stand() {
            true => (&self.buffer[..], &self.ends[..]),
            false => self.made.keys(),
        };
        let start = number.checked_sub(1).map_or(0, |before| ends[before]);
        let piece = &bytes[start..ends[number]];
        match args.as_they_stand() {
            true => args.of(piece),
            false => piece,
        }
    }

    /// The hash of each key.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.digests.iter().map(|digest| digest.hi)
    }

    /// What the shards answered about each key.
    pub(crate) fn answers(&self) -> &[u64] {
        &self.answers
    }

    /// Whether there are no more lines after these, because something is wrong.
    pub(crate) fn is_last(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether it has no lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Makes it the lines of a part, which are in its buffer.
    fn begin(&mut self, part: Part) {
        self.part = part;
        self.is_prepared = false;
        self.stop = None;
    }

    /// Finds the lines, their keys and their digests, and which shard has each key.
    pub(crate) fn prepare(&mut self, prepare: &Prepare) {
        if !self.is_prepared
            && let Some(Stop::NoKey(no_key)) = self.prepare_records(prepare, None)
        {
            self.stop = Some(Why::NoKey(no_key));
        }
        self.sort_by_shard(prepare.shards);
    }

    /// Finds the lines, their keys and their digests. Returns why they end before the bytes do, if they do.
    fn prepare_records(
        &mut self,
        prepare: &Prepare,
        records: Option<&mut Records>,
    ) -> Option<Stop> {
        let Prepare { args, hash, .. } = prepare;
        self.is_prepared = true;
        self.ends.clear();
        self.made.clear();
        let bytes = &self.buffer[..self.part.length];
        let header = self.part.header;
        let stop = match args.as_they_stand() {
            true => {
                split::find_ends(bytes, args.terminator(), &mut self.ends);
                None
            }
            false => self.made.make(bytes, &mut self.ends, args, records, header),
        };
        self.digests.clear();
        if let Some(hash) = hash {
            let (buffer, ends, digests) = (&self.buffer, &self.ends, &mut self.digests);
            // Not by `keys`: one iterator for both ways takes a third longer.
            match args.as_they_stand() {
                true => {
                    let lines = pieces(buffer, ends);
                    hash.extend(digests, lines.map(|line| args.of(line)));
                }
                false => {
                    let (bytes, ends) = self.made.keys();
                    hash.extend(digests, pieces(bytes, ends));
                }
            }
        }
        stop
    }

    /// Puts the numbers of keys in the order of their shards, and those of one shard in their own.
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

    /// Gives memory for the answers of each shard.
    pub(crate) fn lend_answers(&mut self, shards: usize) -> Vec<Vec<u64>> {
        let mut answers = std::mem::take(&mut self.answers_by_shard);
        answers.resize_with(shards, Vec::new);
        answers.iter_mut().for_each(Vec::clear);
        answers
    }

    /// Takes the answers of all shards, those of each in the order of its keys.
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

/// The keys of a block that are of one shard.
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

    /// The number in the block of a key, of which the number in this share is given.
    #[inline]
    fn number(&self, key: usize) -> usize {
        self.keys.map_or(key, |keys| keys[key] as usize)
    }

    /// The hash of each key, in order.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> + 'a {
        let share = *self;
        (0..self.count()).map(move |key| share.block.digests[share.number(key)].hi)
    }

    /// The bytes of a key, of which the number in this share is given.
    pub(crate) fn key(&self, key: usize, args: &KeyArgs) -> &'a [u8] {
        self.block.key(self.number(key), args)
    }
}

/// How lines become keys.
#[derive(Debug, Clone)]
pub(crate) struct Prepare {
    args: KeyArgs,
    hash: Option<LineHash>,
    /// The number of shards that keys are for.
    shards: usize,
}

/// How keys are hashed while their lines are read.
#[derive(Debug, Clone)]
pub(crate) enum LineHash {
    /// As the filter hashes that gets the digests.
    Filter(Digester),
    /// By a function drawn for this run, for hashes that stay in memory.
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
        match self {
            LineHash::Filter(digester) => digests.extend(keys.map(|key| digester.digest(key))),
            LineHash::Fresh(hash) => {
                digests.extend(keys.map(|key| Digest::from_u64(hash.hash(key))));
            }
        }
    }
}

/// What lies between one end and the next.
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

/// Reads inputs, one after another, block by block.
pub(crate) struct Blocks {
    inputs: Inputs,
    ledger: Ledger,
    prepare: Prepare,
    /// Why there are no more lines, after some that are given first.
    failed: Option<Failure>,
    is_live: bool,
    size: Option<u64>,
    /// The bytes read so far as they lie in the files, for whoever shows them.
    seen: Arc<AtomicU64>,
}

impl Blocks {
    pub(crate) fn new(sources: Vec<Input>, args: &KeyArgs, hash: Option<LineHash>) -> Blocks {
        let names = sources.iter().map(|source| source.name().to_owned());
        let seen = Arc::default();
        Blocks {
            ledger: Ledger::new(names.collect(), args),
            prepare: Prepare {
                args: args.clone(),
                hash,
                shards: 0,
            },
            failed: None,
            is_live: sources.iter().any(Input::is_live),
            size: sources.iter().map(Input::size).sum(),
            inputs: Inputs::new(sources, args, &seen),
            seen,
        }
    }

    /// Blocks of the same table as others, whose header is printed once and is the same in all files.
    pub(crate) fn with_header(mut self, header: &Header) -> Blocks {
        self.inputs.header = Arc::clone(header);
        self
    }

    /// Whether an input gives what there is, and more only when someone writes it.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// The bytes of all inputs as they lie in the files, when their number is known.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Where the number of bytes read so far can be seen.
    pub(crate) fn seen(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.seen)
    }

    /// What reads lines, what prepares them for this many shards, and what numbers them: each for another thread.
    pub(crate) fn apart(self, shards: usize) -> (Inputs, Prepare, Ledger) {
        let prepare = Prepare {
            shards,
            ..self.prepare
        };
        (self.inputs, prepare, self.ledger)
    }

    /// Fills the block with the next lines; false at the end of all inputs.
    pub(crate) fn next(&mut self, block: &mut Block) -> Result<bool> {
        loop {
            if let Some(failure) = self.failed.take() {
                return Err(failure);
            }
            let filled = self.inputs.fill(block, &self.prepare);
            if !filled.map_err(|ending| self.ledger.failure(ending))? {
                self.ledger.end();
                return Ok(false);
            }
            block.prepare(&self.prepare);
            self.failed = self.ledger.pass(block);
            if !block.is_empty() {
                return Ok(true);
            }
        }
    }

    /// The lines that were looked at and come next.
    pub(crate) fn ahead(&self) -> &[u8] {
        self.inputs.ahead()
    }

    /// Looks at more lines, after those that it has looked at; false at the end of all inputs.
    pub(crate) fn look_ahead(&mut self) -> Result<bool> {
        let looked = self.inputs.look_ahead();
        looked.map_err(|ending| self.ledger.failure(ending))
    }

    /// Leaves out the first of the lines that it has looked at.
    pub(crate) fn leave_out(&mut self, bytes: usize) {
        let ledger = &mut self.ledger;
        let count = |input, lines| ledger.leave_out(input, lines);
        self.inputs.leave_out(bytes, count);
    }
}
