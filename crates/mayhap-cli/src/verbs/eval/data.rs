//! The keys of an experiment: drawn at random from a seed, or the lines of files.

use std::path::PathBuf;

use clap::Args;
use mayhap::{Digester, SecretKey};
use mayhap_lab::{Batch, Distribution, Drawn, DrawnStream, Role};

use crate::amounts;
use crate::block::{Block, Blocks, LineHash};
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::keys::KeyArgs;
use crate::shown::shown_path;
use crate::values;

/// One in this many keys of a file is not inserted but asked for.
const ASKED: u64 = 10;

/// What separates absent keys from members in a file: a hash under a key of its own, which no filter uses, lest
/// the choice show in what is measured.
fn choice() -> Digester {
    let key = SecretKey::from_bytes(*b"held back or not");
    Digester::SipHash { key }
}

/// Which keys, drawn or read.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Data")]
pub(super) struct DataArgs {
    /// Files of keys, one per line, instead of drawn ones; `-` is standard input. A tenth of the
    /// distinct keys, chosen by hash, is not inserted but asked for
    files: Vec<PathBuf>,

    /// Ask for the keys of this file, such as real questions, those that are not in the other files, each once; then no
    /// key of the other files is held back
    #[arg(long, value_name = "FILE", requires = "files")]
    asked: Vec<PathBuf>,

    /// The distribution that keys are drawn from
    #[arg(
        long,
        value_parser = values::distribution(),
        default_value = Distribution::default().name(),
        value_name = "NAME",
        conflicts_with = "files"
    )]
    data: Distribution,

    /// What gaussian and exponential numbers are multiplied by before the fraction is cut off
    #[arg(long, default_value_t = Drawn::SCALE, value_name = "X", value_parser = scale)]
    scale: f64,

    /// The exponent of Zipf's law
    #[arg(long, default_value_t = Drawn::EXPONENT, value_name = "S", value_parser = exponent)]
    exponent: f64,

    /// Another seed draws other keys
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    #[command(flatten)]
    keys: KeyArgs,
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

/// Keys that can be streamed as often as they are needed.
pub(super) enum Data {
    Drawn(Drawn),
    Files {
        sources: Vec<Input>,
        /// Where the keys that are asked for are, unless they are held back of the others.
        asked: Vec<Input>,
        keys: KeyArgs,
    },
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
        let open = |paths: &[PathBuf]| {
            let mut sources = Input::open_all(paths)?;
            sources
                .iter_mut()
                .try_for_each(|source| source.keep(quiet))?;
            Ok::<_, Failure>(sources)
        };
        Ok(Data::Files {
            sources: open(&self.files)?,
            asked: match self.asked.is_empty() {
                true => Vec::new(),
                false => open(&self.asked)?,
            },
            keys: self.keys.clone(),
        })
    }
}

impl Data {
    /// What to call the keys.
    pub(super) fn name(&self) -> String {
        match self {
            Data::Files { sources, asked, .. } => {
                let names = |inputs: &[Input]| {
                    let names = inputs.iter().map(|source| shown_path(source.name()));
                    let names: Vec<String> = names.map(|name| name.to_string()).collect();
                    names.join(", ")
                };
                match asked.is_empty() {
                    true => names(sources),
                    false => format!("{}, asked for {}", names(sources), names(asked)),
                }
            }
            Data::Drawn(drawn) => drawn.name(),
        }
    }

    /// Whether no key comes twice and no absent key is a member, by construction.
    pub(super) fn is_distinct(&self) -> bool {
        match self {
            Data::Files { .. } => false,
            Data::Drawn(drawn) => drawn.distribution.is_distinct(),
        }
    }

    /// Whether what is asked for is in files of its own.
    pub(super) fn has_questions(&self) -> bool {
        matches!(self, Data::Files { asked, .. } if !asked.is_empty())
    }

    /// Whether the keys come to an end.
    pub(super) fn is_finite(&self) -> bool {
        matches!(self, Data::Files { .. })
    }

    /// The keys of a role, from the first. `members` is the number of members that are ever inserted.
    pub(super) fn stream(&self, role: Role, members: u64) -> Result<Stream> {
        Ok(match self {
            Data::Drawn(drawn) => Stream::Drawn(drawn.stream(role, members)),
            Data::Files {
                sources,
                asked,
                keys,
            } => {
                let (inputs, part) = match (asked.is_empty(), role) {
                    (true, role) => (sources, Some(role)),
                    (false, Role::Member) => (sources, None),
                    (false, Role::Absent) => (asked, None),
                };
                let sources = inputs.iter().map(Input::again).collect::<Result<_>>()?;
                Stream::Files {
                    blocks: Box::new(Blocks::new(sources, keys, Some(LineHash::Filter(choice())))),
                    block: Box::default(),
                    at: 0,
                    keys: keys.clone(),
                    part,
                }
            }
        })
    }
}

/// Keys as they come.
pub(super) enum Stream {
    Drawn(DrawnStream),
    Files {
        blocks: Box<Blocks>,
        block: Box<Block>,
        /// The lines of the block that were given already.
        at: usize,
        keys: KeyArgs,
        /// Those that are inserted, or those that are held back; all of them when there are questions of their own.
        part: Option<Role>,
    },
}

impl Stream {
    /// Replaces the batch by the next keys, at most `most`; false when there are none.
    pub(super) fn next(&mut self, batch: &mut Batch, most: u64) -> Result<bool> {
        batch.clear();
        match self {
            Stream::Drawn(stream) => stream.next(batch, most),
            Stream::Files {
                blocks,
                block,
                at,
                keys,
                part,
            } => {
                while batch.count() < most && !batch.is_full() {
                    if *at == block.count() {
                        *at = 0;
                        if !blocks.next(block)? {
                            **block = Block::default();
                            break;
                        }
                    }
                    take(block, at, keys, *part, most, batch);
                }
            }
        }
        Ok(batch.count() > 0)
    }

    /// Leaves out the next keys, where they are drawn; files are always read from their beginning.
    pub(super) fn skip(&mut self, keys: u64) {
        if let Stream::Drawn(stream) = self {
            stream.skip(keys);
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

/// Appends the keys of a part that a block has from line `at` on.
fn take(
    block: &Block,
    at: &mut usize,
    keys: &KeyArgs,
    part: Option<Role>,
    most: u64,
    batch: &mut Batch,
) {
    for (key, digest) in block.keys(keys).zip(&block.digests).skip(*at) {
        if batch.count() == most || batch.is_full() {
            return;
        }
        *at += 1;
        let is_held_back = digest.lo % ASKED == 0;
        if part.is_none_or(|role| is_held_back == (role == Role::Absent)) {
            batch.push(digest.hi, |bytes| bytes.extend_from_slice(key));
        }
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
        "a tenth of the distinct keys is asked for and not inserted; give some hundred at least, or questions by --asked",
    )
}
