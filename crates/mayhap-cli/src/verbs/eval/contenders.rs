//! The filters that take part in an experiment.

use clap::Args;
use mayhap::format::Format;
use mayhap::kinds::Cascade;
use mayhap::{AnyFilter, Assemble as _, Bitmap, Description, Inserts, Kind};

use crate::failure::{Failure, Result};
use crate::filters::SecretArgs;
use crate::values;
use crate::verbs::new::PlanArgs;

/// Which kinds and schemes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct ContenderArgs {
    /// The kinds: all of them, unless given; those that are built once have no inserts to time
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = values::kind())]
    kind: Vec<Kind>,

    /// Ways to hash, each with the kind that has it; foreign ones with the kind `bloom`
    #[arg(long, value_name = "SCHEME", value_delimiter = ',', value_parser = values::scheme())]
    scheme: Vec<&'static str>,

    #[command(flatten)]
    secret: SecretArgs,
}

/// A filter that takes part.
pub(super) struct Contender {
    pub(super) name: String,
    kind: Option<Kind>,
    scheme: Option<&'static str>,
    secret: SecretArgs,
}

impl Contender {
    /// Describes the filter for this many keys at a rate, without making it. A cascade has the rate that as many excluded
    /// keys as others give it.
    pub(super) fn plan(&self, capacity: u64, rate: f64) -> Result<Description> {
        if self.kind == Some(Kind::Cascade) && self.scheme.is_none() {
            return Ok(Cascade::plan_for(capacity, capacity)?);
        }
        let plan = PlanArgs::of(self.kind, self.scheme, capacity, rate);
        let secret = match self.scheme {
            Some("siphash") => self.secret.secret()?,
            _ => None,
        };
        plan.description(Format::Native, secret.as_ref())
    }

    /// The same filter, of as many bits, with another number of hashes; `None` where the kind has no choice.
    pub(super) fn plan_with(
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

/// How an experiment fills its filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fills {
    /// With one key after another.
    KeyByKey,
    /// In any way, all keys at once too.
    AnyWay,
}

/// A filter that does not take part, and why.
pub(super) struct Absent {
    name: String,
    reason: String,
}

/// A sentence for each reason to be absent.
pub(super) fn absences(absent: &[Absent]) -> Vec<String> {
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
    /// The filters that take part, and those that cannot.
    pub(super) fn contenders(
        &self,
        capacity: u64,
        rate: f64,
        fills: Fills,
    ) -> Result<(Vec<Contender>, Vec<Absent>)> {
        let kinds: Vec<Option<Kind>> = match (self.kind.is_empty(), self.scheme.is_empty()) {
            (false, _) => self.kind.iter().copied().map(Some).collect(),
            (true, true) => Kind::ALL.iter().copied().map(Some).collect(),
            // The scheme says which kind.
            (true, false) => vec![None],
        };
        let schemes: Vec<Option<&'static str>> = match self.scheme.is_empty() {
            true => vec![None],
            false => self.scheme.iter().copied().map(Some).collect(),
        };
        let (mut contenders, mut absent) = (Vec::new(), Vec::new());
        for kind in kinds {
            for &scheme in &schemes {
                let contender = Contender {
                    name: name(kind, scheme),
                    kind,
                    scheme,
                    secret: self.secret.clone(),
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

fn name(kind: Option<Kind>, scheme: Option<&'static str>) -> String {
    match (kind, scheme) {
        (Some(kind), Some(scheme)) => format!("{kind} {scheme}"),
        (Some(kind), None) => kind.to_string(),
        (None, scheme) => scheme.unwrap_or_default().to_owned(),
    }
}
