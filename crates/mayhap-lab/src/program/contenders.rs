//! The filters that take part in an experiment.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use mayhap::kinds::Cascade;
use mayhap::{AnyFilter, Assemble as _, Bitmap, Description, Inserts, Kind, Scheme, SecretKey};
use mayhap_program::failure::{Failure, Result};

/// The secret of the scheme `siphash`. Any other gives the same rates and speed: no keys here are chosen to collide.
const SECRET: [u8; 16] = *b"a secret of ours";

/// The kinds and schemes to use.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct ContenderArgs {
    /// The kinds: all of them, unless given; those that are built once have no inserts to time
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    kind: Vec<Kind>,

    /// Ways to hash, each with the kind that has it; foreign ones with the kind `bloom`
    #[arg(long, value_name = "SCHEME", value_delimiter = ',', value_parser = schemes())]
    scheme: Vec<String>,
}

/// Parses the name of a kind.
fn kinds() -> impl clap::builder::TypedValueParser<Value = Kind> {
    let values = Kind::ALL.iter();
    let values = values.map(|kind| PossibleValue::new(kind.name()).help(kind.summary()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Kind>())
}

/// Parses the name of a scheme.
fn schemes() -> PossibleValuesParser {
    let names = Scheme::NAMES.iter();
    PossibleValuesParser::new(names.map(|&(name, what)| PossibleValue::new(name).help(what)))
}

/// A filter that takes part.
pub(crate) struct Contender {
    pub(crate) name: String,
    kind: Option<Kind>,
    scheme: Option<String>,
}

impl Contender {
    /// Describes the filter for this many keys at a rate, without making it. A cascade has the rate that equally many
    /// excluded keys give it.
    pub(crate) fn plan(&self, capacity: u64, rate: f64) -> Result<Description> {
        if self.kind == Some(Kind::Cascade) && self.scheme.is_none() {
            return Ok(Cascade::plan_for(capacity, capacity)?);
        }
        let name = self.scheme.as_deref().unwrap_or("rapidhash");
        let secret = (name == "siphash").then(|| SecretKey::from_bytes(SECRET));
        let scheme = Scheme::named(name, secret.as_ref())?;
        let kind = self.kind.unwrap_or(match scheme {
            Scheme::Native(_) => Kind::Blocked,
            _ => Kind::Bloom,
        });
        let planned = kind.plan(capacity, rate)?;
        if self.scheme.is_none() {
            return Ok(planned);
        }
        planned.hashed_by(scheme).map_err(|error| match error {
            mayhap::Error::Incompatible { .. } => {
                Failure::new(format!("the kind {kind} does not hash by {name}"))
            }
            other => other.into(),
        })
    }

    /// The same filter, with the same number of bits and another number of hashes; `None` if the kind has no choice.
    pub(crate) fn plan_with(
        &self,
        capacity: u64,
        rate: f64,
        hashes: u32,
    ) -> Result<Option<Description>> {
        let mut plan = self.plan(capacity, rate)?;
        if plan.kind.inserts() == Inserts::Never || plan.hashes == hashes {
            return Ok(Some(plan).filter(|plan| plan.kind.inserts() != Inserts::Never));
        }
        plan.hashes = hashes;
        Ok(AnyFilter::<Bitmap>::check(&plan).ok().map(|()| plan))
    }

    fn check(&self, capacity: u64, rate: f64, fills: Fills) -> Result<()> {
        let description = self.plan(capacity, rate)?;
        match description.kind.inserts() {
            Inserts::Never if fills == Fills::KeyByKey => {
                Err(Failure::new("built once, from all its keys"))
            }
            Inserts::Never => Ok(()),
            _ => Ok(AnyFilter::<Bitmap>::check(&description)?),
        }
    }
}

/// The way an experiment fills its filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fills {
    /// One key after another.
    KeyByKey,
    /// In any way, including all keys at once.
    AnyWay,
}

/// A filter that does not take part, with the reason.
pub(crate) struct Absent {
    name: String,
    reason: String,
}

/// A sentence for each reason.
pub(crate) fn absences(absent: &[Absent]) -> Vec<String> {
    let mut reasons: Vec<&str> = absent.iter().map(|one| one.reason.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let sentence = |reason: &str| {
        let own = absent.iter().filter(|one| one.reason == reason);
        let names: Vec<&str> = own.map(|one| one.name.as_str()).collect();
        format!("Left out: {} ({reason}).", names.join(", "))
    };
    reasons.into_iter().map(sentence).collect()
}

impl ContenderArgs {
    /// Selects the filters that take part, and those that cannot.
    pub(crate) fn contenders(
        &self,
        capacity: u64,
        rate: f64,
        fills: Fills,
    ) -> Result<(Vec<Contender>, Vec<Absent>)> {
        let kinds: Vec<Option<Kind>> = match (self.kind.is_empty(), self.scheme.is_empty()) {
            (false, _) => self.kind.iter().copied().map(Some).collect(),
            (true, true) => Kind::ALL.iter().copied().map(Some).collect(),
            // The scheme determines the kind.
            (true, false) => vec![None],
        };
        let schemes: Vec<Option<String>> = match self.scheme.is_empty() {
            true => vec![None],
            false => self.scheme.iter().cloned().map(Some).collect(),
        };
        let (mut contenders, mut absent) = (Vec::new(), Vec::new());
        for kind in kinds {
            for scheme in &schemes {
                let contender = Contender {
                    name: name(kind, scheme.as_deref()),
                    kind,
                    scheme: scheme.clone(),
                };
                match contender.check(capacity, rate, fills) {
                    Ok(()) => contenders.push(contender),
                    Err(failure) => absent.push(Absent {
                        name: contender.name,
                        reason: failure.text().to_owned(),
                    }),
                }
            }
        }
        match absent.first() {
            Some(Absent { name, reason }) if contenders.is_empty() => {
                Err(Failure::new(format!("{name}: {reason}")))
            }
            _ => Ok((contenders, absent)),
        }
    }
}

fn name(kind: Option<Kind>, scheme: Option<&str>) -> String {
    match (kind, scheme) {
        (Some(kind), Some(scheme)) => format!("{kind} {scheme}"),
        (Some(kind), None) => kind.to_string(),
        (None, scheme) => scheme.unwrap_or_default().to_owned(),
    }
}
