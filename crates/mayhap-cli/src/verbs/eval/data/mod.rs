//! The keys of an experiment: drawn at random from a seed, or the lines of files.
//!
//! Keys come in two roles, members (which are inserted) and strangers (which are asked for), as streams
//! of batches. Nothing is kept: a stream that is needed again is made again.

mod draw;
mod text;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mayhap::{Digester, SecretKey};

use crate::amounts;
use crate::block::{Block, Blocks, LineHash, pieces};
use crate::failure::{Failure, Result};
use crate::input::Source;
use crate::keys::KeyArgs;
use crate::shown::shown_path;
pub(super) use draw::mix;
use draw::{Zipf, exponential, gaussian, word};

/// The most keys in a batch.
const BATCH: u64 = 4096;

/// The ranks of Zipf's law: more than anyone draws.
const RANKS: u64 = 1 << 40;

/// One in so many keys of a file is a stranger.
const STRANGERS: u64 = 10;

/// What tells strangers from members in a file: a hash under a key of its own, which no filter uses, lest
/// the choice show in what is measured.
fn choice() -> Digester {
    let key = SecretKey::from_bytes(*b"held back or not");
    Digester::SipHash { key }
}

/// Which keys, drawn or read.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Data")]
pub(super) struct DataArgs {
    /// Files of keys, one per line, in place of drawn ones; `-` is standard input. A tenth of the
    /// distinct keys, chosen by hash, is not inserted but asked for
    files: Vec<PathBuf>,

    /// The distribution that keys are drawn from
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "NAME",
        conflicts_with = "files"
    )]
    data: Distribution,

    /// What gaussian and exponential numbers are multiplied by before the fraction is cut off
    #[arg(long, default_value_t = 1e8, value_name = "X", value_parser = scale)]
    scale: f64,

    /// The exponent of Zipf's law
    #[arg(long, default_value_t = 1.1, value_name = "S", value_parser = exponent)]
    exponent: f64,

    /// Another seed draws other keys
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    #[command(flatten)]
    keys: KeyArgs,
}

/// A distribution of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Distribution {
    /// Any 64-bit number, all alike
    #[default]
    Uniform,
    /// Numbers around 0: the nearer, the more often
    Gaussian,
    /// Numbers from 0 on, ever rarer; with --scale 1e-5, as in post 004, all of them are 0
    Exponential,
    /// A few numbers very often, many hardly ever
    Zipf,
    /// 0, 1, 2 …; the numbers after the last are asked for
    Sequential,
    /// 0, 2, 4 …; odd numbers are asked for, as in post 004
    EvenOdd,
    /// Random UUIDs, version 4
    Uuid,
    /// Addresses of web pages, 56 bytes on average
    Url,
}

fn scale(text: &str) -> std::result::Result<f64, String> {
    let scale = text.parse::<f64>().ok();
    // Nine standard deviations of it stay far inside 64 bits.
    let scale = scale.filter(|scale| *scale > 0.0 && *scale <= 1e15);
    scale.ok_or_else(|| format!("`{text}` is not a scale above 0 and up to 1e15"))
}

fn exponent(text: &str) -> std::result::Result<f64, String> {
    let exponent = text.parse::<f64>().ok();
    let exponent = exponent.filter(|exponent| (0.1..=10.0).contains(exponent));
    exponent.ok_or_else(|| format!("`{text}` is not an exponent from 0.1 to 10"))
}

/// Which of the two kinds of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Those that are inserted.
    Member,
    /// Those that are asked for. Some may happen to be members too.
    Stranger,
}

/// Keys that can be streamed as often as they are needed.
pub(super) enum Data {
    Drawn(Drawn),
    Files { sources: Vec<Source>, keys: KeyArgs },
}

/// Keys of a distribution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    distribution: Distribution,
    scale: f64,
    exponent: f64,
    seed: u64,
}

impl DataArgs {
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn open(&self, quiet: bool) -> Result<Data> {
        if self.files.is_empty() {
            return Ok(Data::Drawn(Drawn {
                distribution: self.data,
                scale: self.scale,
                exponent: self.exponent,
                seed: self.seed,
            }));
        }
        let mut sources = Source::open_all(&self.files)?;
        for source in &mut sources {
            source.keep(quiet)?;
        }
        Ok(Data::Files {
            sources,
            keys: self.keys.clone(),
        })
    }
}

impl Drawn {
    /// Keys of a distribution at its default scale, or at another.
    pub(super) fn new(distribution: Distribution, scale: f64, seed: u64) -> Drawn {
        Drawn {
            distribution,
            scale,
            exponent: 1.1,
            seed,
        }
    }
}

impl Data {
    /// What to call the keys.
    pub(super) fn name(&self) -> String {
        match self {
            Data::Files { sources, .. } => {
                let names = sources.iter().map(|source| shown_path(source.name()));
                let names: Vec<String> = names.map(|name| name.to_string()).collect();
                names.join(", ")
            }
            Data::Drawn(drawn) => {
                let name = drawn.distribution.to_possible_value();
                let name = name.map_or_else(String::new, |name| name.get_name().to_owned());
                match drawn.distribution {
                    Distribution::Gaussian | Distribution::Exponential => {
                        format!("{name}, scale {:e}", drawn.scale)
                    }
                    Distribution::Zipf => format!("{name}, exponent {}", drawn.exponent),
                    _ => name,
                }
            }
        }
    }

    /// Whether no key comes twice and no stranger is a member, by construction.
    pub(super) fn is_distinct(&self) -> bool {
        match self {
            Data::Files { .. } => false,
            Data::Drawn(drawn) => !matches!(
                drawn.distribution,
                Distribution::Gaussian | Distribution::Exponential | Distribution::Zipf
            ),
        }
    }

    /// Whether there are only so many keys.
    pub(super) fn is_finite(&self) -> bool {
        matches!(self, Data::Files { .. })
    }

    /// The keys of a role, from the first. `members` is the number of members that are ever inserted.
    pub(super) fn stream(&self, role: Role, members: u64) -> Result<Stream> {
        Ok(match self {
            Data::Drawn(drawn) => Stream::Drawn {
                drawn: *drawn,
                zipf: Zipf::new(RANKS, drawn.exponent),
                role,
                members,
                index: 0,
            },
            Data::Files { sources, keys } => {
                let sources = sources.iter().map(Source::again).collect::<Result<_>>()?;
                Stream::Files {
                    blocks: Box::new(Blocks::new(sources, keys, Some(LineHash::Filter(choice())))),
                    block: Box::default(),
                    at: 0,
                    keys: keys.clone(),
                    role,
                }
            }
        })
    }
}

/// Keys as they come.
pub(super) enum Stream {
    Drawn {
        drawn: Drawn,
        zipf: Zipf,
        role: Role,
        members: u64,
        index: u64,
    },
    Files {
        blocks: Box<Blocks>,
        block: Box<Block>,
        /// The lines of the block that were given already.
        at: usize,
        keys: KeyArgs,
        role: Role,
    },
}

impl Stream {
    /// Replaces the batch by the next keys, at most `most`; false when there are none.
    pub(super) fn next(&mut self, batch: &mut Batch, most: u64) -> Result<bool> {
        batch.clear();
        let most = most.min(BATCH);
        match self {
            Stream::Drawn {
                drawn,
                zipf,
                role,
                members,
                index,
            } => {
                for index in *index..*index + most {
                    drawn.push(zipf, *role, *members, index, batch);
                }
                *index += most;
            }
            Stream::Files {
                blocks,
                block,
                at,
                keys,
                role,
            } => {
                while batch.count() < most {
                    if *at == block.count() {
                        *at = 0;
                        if !blocks.next(block)? {
                            **block = Block::default();
                            break;
                        }
                    }
                    take(block, at, keys, *role, most, batch);
                }
            }
        }
        Ok(batch.count() > 0)
    }

    /// Leaves out the next keys, where they are drawn; files are always read from their beginning.
    pub(super) fn skip(&mut self, keys: u64) {
        if let Stream::Drawn { index, .. } = self {
            *index += keys;
        }
    }

    /// Gives the next keys of the stream to `take`, batch by batch, at most `count`; how many came.
    pub(super) fn each(
        &mut self,
        count: u64,
        mut take: impl FnMut(&Batch) -> Result<()>,
    ) -> Result<u64> {
        let mut batch = Batch::default();
        let mut given = 0;
        while given < count && self.next(&mut batch, count - given)? {
            given += batch.count();
            take(&batch)?;
        }
        Ok(given)
    }
}

/// Appends the keys of a role that a block has from line `at` on.
fn take(block: &Block, at: &mut usize, keys: &KeyArgs, role: Role, most: u64, batch: &mut Batch) {
    for (key, digest) in block.keys(keys).zip(&block.digests).skip(*at) {
        if batch.count() == most {
            return;
        }
        *at += 1;
        let is_stranger = digest.lo % STRANGERS == 0;
        if is_stranger == (role == Role::Stranger) {
            batch.push(digest.hi, |bytes| bytes.extend_from_slice(key));
        }
    }
}

impl Drawn {
    fn push(&self, zipf: &Zipf, role: Role, members: u64, index: u64, batch: &mut Batch) {
        let is_stranger = role == Role::Stranger;
        // Words of one seed are distinct: strangers are the second half of them.
        let word = word(self.seed, index | u64::from(is_stranger) << 63);
        let number = |number: i64, batch: &mut Batch| {
            batch.push(number as u64, |bytes| text::number(bytes, number));
        };
        match self.distribution {
            Distribution::Uniform => number(word as i64, batch),
            // As Java's cast to long does, this cuts the fraction off.
            Distribution::Gaussian => number((gaussian(word) * self.scale) as i64, batch),
            Distribution::Exponential => number((exponential(word) * self.scale) as i64, batch),
            Distribution::Zipf => number(zipf.rank(word) as i64, batch),
            Distribution::Sequential if is_stranger => number((members + index) as i64, batch),
            Distribution::Sequential => number(index as i64, batch),
            Distribution::EvenOdd => number((2 * index + u64::from(is_stranger)) as i64, batch),
            Distribution::Uuid => batch.push(word, |bytes| text::uuid(bytes, word, mix(!word))),
            Distribution::Url => batch.push(word, |bytes| text::url(bytes, word)),
        }
    }
}

/// Some keys, one after another.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    identities: Vec<u64>,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.identities.clear();
    }

    fn push(&mut self, identity: u64, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
        self.identities.push(identity);
    }

    /// The number of keys.
    pub(super) fn count(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The keys.
    pub(super) fn keys(&self) -> Vec<&[u8]> {
        pieces(&self.bytes, &self.ends).collect()
    }

    /// A number for each key: drawn keys are equal exactly when their numbers are, keys of files have a
    /// 64-bit hash.
    pub(super) fn identities(&self) -> &[u64] {
        &self.identities
    }
}

/// The capacity of an experiment with keys that are drawn.
pub(super) fn capacity(text: &str) -> std::result::Result<u64, String> {
    let count = amounts::count(text)?;
    match count {
        1..=1_000_000_000_000 => Ok(count),
        _ => Err(format!("`{text}` is not a number of keys from 1 to 1T")),
    }
}

/// Refuses files without enough keys to say anything.
pub(super) fn too_few_keys() -> Failure {
    Failure::new("there are too few keys in the files: none to insert, or none to ask for").hint(
        "a tenth of the distinct keys is asked for and not inserted; give some hundred at least",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn keys(distribution: Distribution, scale: f64, role: Role, count: u64) -> Vec<Vec<u8>> {
        let data = Data::Drawn(Drawn::new(distribution, scale, 1));
        let mut all = Vec::new();
        let given = data
            .stream(role, 5000)
            .and_then(|mut stream| {
                stream.each(count, |batch| {
                    assert!(batch.keys().len() == batch.identities().len());
                    all.extend(batch.keys().into_iter().map(<[u8]>::to_vec));
                    Ok(())
                })
            })
            .expect("drawn");
        assert_eq!(given, count);
        all
    }

    #[test]
    fn what_is_said_to_be_distinct_is() {
        for distribution in Distribution::value_variants() {
            let data = Data::Drawn(Drawn::new(*distribution, 1e8, 1));
            let members = keys(*distribution, 1e8, Role::Member, 5000);
            let strangers = keys(*distribution, 1e8, Role::Stranger, 5000);
            let all: HashSet<&Vec<u8>> = members.iter().chain(&strangers).collect();
            if data.is_distinct() {
                assert_eq!(all.len(), 10_000, "{distribution:?}");
            }
            assert!(members.iter().all(|key| str::from_utf8(key).is_ok()));
        }
    }

    #[test]
    fn the_exponential_numbers_of_post_004_are_all_zero() {
        for role in [Role::Member, Role::Stranger] {
            let all = keys(Distribution::Exponential, 1e-5, role, 100_000);
            assert!(all.iter().all(|key| key == b"0"));
        }
        let sane = keys(Distribution::Exponential, 1e8, Role::Member, 1000);
        assert!(sane.iter().collect::<HashSet<_>>().len() > 990);
    }

    #[test]
    fn a_stream_is_the_same_again_in_batches_of_any_size() {
        let data = Data::Drawn(Drawn::new(Distribution::Url, 1.0, 3));
        let mut whole = data.stream(Role::Member, 0).expect("drawn");
        let mut parts = data.stream(Role::Member, 0).expect("drawn");
        let (mut batch, mut part) = (Batch::default(), Batch::default());
        assert!(whole.next(&mut batch, 100).expect("drawn"));
        for (i, key) in batch.keys().into_iter().enumerate() {
            assert!(parts.next(&mut part, 1).expect("drawn"));
            assert_eq!(part.keys(), [key], "{i}");
        }
    }
}
