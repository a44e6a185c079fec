//! The keys of an experiment: drawn at random from a seed, or the lines of files.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mayhap::{Digester, SecretKey};
use mayhap_lab::{Batch, Distribution, Drawn, DrawnStream, Role};
use mayhap_program::amounts;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::input::Input;
use mayhap_program::shown::shown_path;

use crate::lines::{LineArgs, Lines};

/// One in this many keys of a file is not inserted but looked up.
const ASKED: u64 = 10;

/// The hash that separates absent keys from members in a file. It has a key of its own, which no filter uses, so that
/// the choice does not influence the measurement.
fn choice() -> Digester {
    let key = SecretKey::from_bytes(*b"held back or not");
    Digester::SipHash { key }
}

/// The keys to use, drawn or read.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// Files of keys, one per line, instead of drawn ones; `-` is standard input. A tenth of the
    /// distinct keys, chosen by hash, is not inserted but looked up
    files: Vec<PathBuf>,

    /// Look up the keys of this file, such as real queries, that are not in the other files, each once; then no key of the
    /// other files is held back
    #[arg(long, value_name = "FILE", requires = "files")]
    asked: Vec<PathBuf>,

    /// The distribution that keys are drawn from
    #[arg(
        long,
        value_parser = distribution(),
        default_value = Distribution::default().name(),
        value_name = "NAME",
        conflicts_with = "files"
    )]
    data: Distribution,

    /// The factor of gaussian and exponential numbers, before the fraction is cut off
    #[arg(long, default_value_t = Drawn::SCALE, value_name = "X", value_parser = scale)]
    scale: f64,

    /// The exponent of Zipf's law
    #[arg(long, default_value_t = Drawn::EXPONENT, value_name = "S", value_parser = exponent)]
    exponent: f64,

    /// Another seed draws other keys
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    #[command(flatten)]
    lines: LineArgs,
}

/// Parses the name of a distribution.
fn distribution() -> impl TypedValueParser<Value = Distribution> {
    let values = Distribution::ALL.iter();
    let values = values.map(|one| PossibleValue::new(one.name()).help(one.summary()));
    let named = |name: String| {
        Distribution::named(&name).ok_or_else(|| format!("`{name}` is not a distribution"))
    };
    PossibleValuesParser::new(values).try_map(named)
}

fn scale(text: &str) -> std::result::Result<f64, String> {
    let scale = text.parse::<f64>().ok();
    // Nine standard deviations of it are far below 64 bits.
    let scale = scale.filter(|scale| *scale > 0.0 && *scale <= 1e15);
    scale.ok_or_else(|| format!("`{text}` is not a scale above 0 and up to 1e15"))
}

fn exponent(text: &str) -> std::result::Result<f64, String> {
    let exponent = text.parse::<f64>().ok();
    let exponent = exponent.filter(|exponent| (0.1..=10.0).contains(exponent));
    exponent.ok_or_else(|| format!("`{text}` is not an exponent from 0.1 to 10"))
}

/// Keys that can be streamed any number of times.
pub(crate) enum Data {
    Drawn(Drawn),
    Files {
        sources: Vec<Input>,
        /// The files of the keys that are looked up; if empty, those are held back from the others.
        asked: Vec<Input>,
        lines: LineArgs,
    },
}

impl DataArgs {
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn open(&self) -> Result<Data> {
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
            sources.iter_mut().try_for_each(Input::keep)?;
            Ok::<_, Failure>(sources)
        };
        Ok(Data::Files {
            sources: open(&self.files)?,
            asked: match self.asked.is_empty() {
                true => Vec::new(),
                false => open(&self.asked)?,
            },
            lines: self.lines.clone(),
        })
    }
}

impl Data {
    /// Names the keys for reports.
    pub(crate) fn name(&self) -> String {
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

    /// Returns whether no key occurs twice and no absent key is a member, by construction.
    pub(crate) fn is_distinct(&self) -> bool {
        match self {
            Data::Files { .. } => false,
            Data::Drawn(drawn) => drawn.distribution.is_distinct(),
        }
    }

    /// Returns whether the keys to look up are in files of their own.
    pub(crate) fn has_questions(&self) -> bool {
        matches!(self, Data::Files { asked, .. } if !asked.is_empty())
    }

    /// Returns whether the number of keys is limited.
    pub(crate) fn is_finite(&self) -> bool {
        matches!(self, Data::Files { .. })
    }

    /// Returns the keys of a role, from the first. `members` is the number of members that are ever inserted.
    pub(crate) fn stream(&self, role: Role, members: u64) -> Result<Stream> {
        Ok(match self {
            Data::Drawn(drawn) => Stream::Drawn(drawn.stream(role, members)),
            Data::Files {
                sources,
                asked,
                lines,
            } => {
                let (inputs, part) = match (asked.is_empty(), role) {
                    (true, role) => (sources, Some(role)),
                    (false, Role::Member) => (sources, None),
                    (false, Role::Absent) => (asked, None),
                };
                Stream::Files {
                    lines: Box::new(Lines::new(inputs, lines)?),
                    choice: choice(),
                    part,
                }
            }
        })
    }
}

/// A stream of keys.
pub(crate) enum Stream {
    Drawn(DrawnStream),
    Files {
        lines: Box<Lines>,
        choice: Digester,
        /// The inserted keys, or those that are held back; `None` for all of them, if there are files of keys to look
        /// up.
        part: Option<Role>,
    },
}

impl Stream {
    /// Replaces the batch by the next keys, at most `most`; false when there are none.
    pub(crate) fn next(&mut self, batch: &mut Batch, most: u64) -> Result<bool> {
        batch.clear();
        match self {
            Stream::Drawn(stream) => stream.next(batch, most),
            Stream::Files {
                lines,
                choice,
                part,
            } => {
                while batch.count() < most && !batch.is_full() {
                    let Some(key) = lines.next()? else { break };
                    let digest = choice.digest(key);
                    let is_held_back = digest.lo % ASKED == 0;
                    if part.is_none_or(|role| is_held_back == (role == Role::Absent)) {
                        batch.push(digest.hi, |bytes| bytes.extend_from_slice(key));
                    }
                }
            }
        }
        Ok(batch.count() > 0)
    }

    /// Skips the next keys if they are drawn; files are always read from their beginning.
    pub(crate) fn skip(&mut self, keys: u64) {
        if let Stream::Drawn(stream) = self {
            stream.skip(keys);
        }
    }

    /// Calls `take` with the next keys of the stream, batch by batch, at most `count`; returns how many there were.
    pub(crate) fn each(
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

/// Parses the capacity of an experiment with drawn keys.
pub(crate) fn capacity(text: &str) -> std::result::Result<u64, String> {
    let count = amounts::count(text)?;
    match count {
        1..=1_000_000_000_000 => Ok(count),
        _ => Err(format!("`{text}` is not a number of keys from 1 to 1T")),
    }
}

/// The error for files without enough keys to measure anything.
pub(crate) fn too_few_keys() -> Failure {
    Failure::new("there are too few keys in the files: none to insert, or none to ask for").hint(
        "a tenth of the distinct keys is asked for and not inserted; give some hundred at least, or questions by --asked",
    )
}
