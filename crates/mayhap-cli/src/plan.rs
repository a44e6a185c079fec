//! The filter that is asked for: by words on the command line, and by defaults from the environment.

mod size;

use std::env;

use mayhap::format::Format;
use mayhap::{
    AnyFilter, Assemble as _, Counting, CountingOptions, Description, Digester, Hashing, Inserts,
    Kind, Rotation, Scheme, SecretKey, Windowed,
    bits::CounterWidth,
    kinds::{Spatial, SpatialOptions, Spectral, SpectralOptions, SpectralPolicy},
};
use mayhap_program::amounts;
use mayhap_program::failure::{Failure, Result};

use crate::values;

pub(crate) use size::{OPTIONS as SIZE_OPTIONS, SizeArgs};

/// The size of a filter, its kind, and its scheme.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) size: SizeArgs,

    /// The kind of filter; `mayhap size` compares their sizes
    #[arg(long, value_name = "KIND", value_parser = values::kind())]
    pub(crate) kind: Option<Kind>,

    /// The hash scheme; kinds other than `bloom` take the first four
    #[arg(long, value_name = "SCHEME", hide_short_help = true, value_parser = values::scheme())]
    pub(crate) scheme: Option<&'static str>,

    /// The bits of a counter of the kinds `counting` and `spectral`
    #[arg(long, value_name = "BITS", hide_short_help = true, value_parser = values::named(WIDTHS))]
    pub(crate) counter_bits: Option<CounterWidth>,

    /// The counting policy of the kind `spectral`
    #[arg(long, value_name = "POLICY", hide_short_help = true, value_parser = values::named(POLICIES))]
    pub(crate) policy: Option<SpectralPolicy>,

    /// The number of areas of the kind `spatial`; 255 unless given
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) areas: Option<u32>,

    /// The event that starts the next generation of the kind `windowed`
    #[arg(long, value_name = "WHAT", hide_short_help = true, value_parser = values::named(ROTATIONS))]
    pub(crate) rotate_by: Option<Rotation>,

    /// The number of bits, instead of capacity and rate
    #[arg(long, value_name = "BITS", hide_short_help = true, value_parser = amounts::count, requires = "hashes", conflicts_with_all = size::OPTIONS)]
    pub(crate) bits: Option<u64>,

    /// The number of hashes, with --bits
    #[arg(long, value_name = "K", hide_short_help = true, requires = "bits", conflicts_with_all = size::OPTIONS)]
    pub(crate) hashes: Option<u32>,
}

/// The widths of counters.
const WIDTHS: &[(&str, CounterWidth)] = &[
    ("2", CounterWidth::Two),
    ("4", CounterWidth::Four),
    ("8", CounterWidth::Eight),
    ("16", CounterWidth::Sixteen),
    ("32", CounterWidth::ThirtyTwo),
];

/// The counting policies of the kind `spectral`.
const POLICIES: &[(&str, SpectralPolicy)] = &[
    ("minimum-selection", SpectralPolicy::MinimumSelection),
    ("minimal-increase", SpectralPolicy::MinimalIncrease),
    ("recurring-minimum", SpectralPolicy::RecurringMinimum),
];

/// The events that end a generation of the kind `windowed`: a third of the capacity, or `mayhap rotate`.
const ROTATIONS: &[(&str, Rotation)] =
    &[("keys", Rotation::ByKeys), ("command", Rotation::ByCaller)];

/// The options of [`PlanArgs`], for the options that conflict with them.
pub(crate) const OPTIONS: [&str; 10] = [
    "capacity",
    "rate",
    "kind",
    "scheme",
    "counter_bits",
    "policy",
    "areas",
    "rotate_by",
    "bits",
    "hashes",
];

/// The default from a variable. The parser does not read it: it treats a variable like a word on the command line, which
/// conflicts with other options.
pub(crate) fn default<T>(
    variable: &str,
    parse: impl FnOnce(&str) -> std::result::Result<T, String>,
) -> Result<Option<T>> {
    let Some(text) = env::var_os(variable) else {
        return Ok(None);
    };
    let value = parse(&text.to_string_lossy());
    value
        .map(Some)
        .map_err(|error| Failure::new(format!("{variable}: {error}")))
}

impl PlanArgs {
    /// The plan, completed by defaults from the environment.
    pub(crate) fn with_defaults(&self) -> Result<PlanArgs> {
        let mut plan = self.clone();
        if !self.is_shape() {
            plan.size = self.size.with_defaults()?;
        }
        let parse = |name: &str| name.parse::<Kind>().map_err(|error| error.to_string());
        plan.kind = plan.kind.or(default("MAYHAP_KIND", parse)?);
        let scheme = default("MAYHAP_SCHEME", values::scheme_name)?;
        plan.scheme = plan.scheme.or(scheme);
        Ok(plan)
    }

    /// Returns whether the filter is given by its shape instead of capacity and rate.
    pub(crate) fn is_shape(&self) -> bool {
        self.bits.is_some()
    }

    /// Makes the filter that was asked for; keyed when there is a secret.
    pub(crate) fn filter(&self, format: Format, secret: Option<&SecretKey>) -> Result<AnyFilter> {
        self.kind.map_or(Ok(()), check_can_be_empty)?;
        Ok(AnyFilter::new(&self.description(format, secret)?)?)
    }

    /// Describes that filter without allocating it.
    pub(crate) fn description(
        &self,
        format: Format,
        secret: Option<&SecretKey>,
    ) -> Result<Description> {
        // The format of another program decides what was not given.
        let name = self.scheme.unwrap_or(match format {
            Format::Guava => "guava64",
            Format::Spark => "spark1",
            Format::Dcso => "dcso",
            Format::RedisBloom => "redisbloom",
            _ if secret.is_some() => "siphash",
            _ => "rapidhash",
        });
        let by_format = (format == Format::Parquet).then_some(Kind::SplitBlock);
        match self.kind.or(by_format) {
            Some(
                kind @ (Kind::SplitBlock | Kind::ShiftingAssociation | Kind::ShiftingMultiplicity),
            ) if secret.is_some() => return Err(takes_no_secret(kind)),
            _ => {}
        }
        let scheme = Scheme::named(name, secret).map_err(secret_failure)?;
        let kind = self.kind.or(by_format).unwrap_or(match &scheme {
            Scheme::Native(_) => Kind::Blocked,
            _ => Kind::Bloom,
        });
        if let (Some(bits), Some(hashes)) = (self.bits, self.hashes) {
            self.check_options(None)?;
            return Ok(shaped(kind, bits, hashes, scheme));
        }
        let (Some(capacity), Some(rate)) = (self.size.capacity, self.size.rate) else {
            let text = match self.size.capacity {
                Some(_) => "the rate is missing: --rate P",
                None => "how large? --capacity N and --rate P are expected",
            };
            return Err(
                Failure::new(text).hint("mayhap new seen.mayhap --capacity 10M --rate 0.01")
            );
        };
        self.check_options(Some(kind))?;
        if let Scheme::Native(digester) = &scheme
            && let Some(description) = self.with_options(kind, capacity, rate, digester.clone())?
        {
            return Ok(description);
        }
        let planned = kind.plan(capacity, rate)?;
        if self.scheme.is_none() && scheme == Scheme::default() {
            return Ok(planned);
        }
        planned.hashed_by(scheme).map_err(|error| match error {
            mayhap::Error::Incompatible { .. } => {
                Failure::new(format!("the kind {kind} does not hash by {name}"))
                    .hint("the kind bloom hashes by every scheme")
            }
            other => other.into(),
        })
    }

    /// Refuses an option that the kind does not have; one that is given by its shape has none.
    fn check_options(&self, kind: Option<Kind>) -> Result<()> {
        let counts = matches!(kind, Some(Kind::Counting | Kind::Spectral));
        for (option, given, fits) in [
            ("--counter-bits", self.counter_bits.is_some(), counts),
            ("--areas", self.areas.is_some(), kind == Some(Kind::Spatial)),
            (
                "--policy",
                self.policy.is_some(),
                kind == Some(Kind::Spectral),
            ),
            (
                "--rotate-by",
                self.rotate_by.is_some(),
                kind == Some(Kind::Windowed),
            ),
        ] {
            if given && !fits {
                return Err(Failure::new(match kind {
                    Some(kind) => format!("{option} is not for the kind {kind}"),
                    None => format!("{option} is not for a filter that --bits and --hashes give"),
                }));
            }
        }
        Ok(())
    }

    /// The description of a kind that has options of its own.
    fn with_options(
        &self,
        kind: Kind,
        capacity: u64,
        rate: f64,
        digester: Digester,
    ) -> Result<Option<Description>> {
        let width = self.counter_bits;
        Ok(Some(match kind {
            Kind::Counting => {
                let width = width.unwrap_or(CountingOptions::default().width);
                Counting::plan_with(capacity, rate, CountingOptions { width, digester })?
            }
            Kind::Spectral => {
                let options = SpectralOptions {
                    width: width.unwrap_or(SpectralOptions::default().width),
                    policy: self.policy.unwrap_or(SpectralPolicy::MinimumSelection),
                    digester,
                };
                Spectral::plan_with(capacity, rate, options)?
            }
            Kind::Windowed => {
                let rotation = self.rotate_by.unwrap_or(Rotation::ByKeys);
                Windowed::new(capacity, rate, rotation, digester)?.description()
            }
            Kind::Spatial => match self.areas {
                Some(areas) => {
                    Spatial::plan_with(capacity, rate, SpatialOptions { areas, digester })?
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }
}

/// Refuses a kind that is made of all its keys at once.
pub(crate) fn check_can_be_empty(kind: Kind) -> Result<()> {
    match kind.inserts() {
        Inserts::Never => {
            let text = format!("a {kind} filter is made of its keys, and none are given");
            Err(Failure::new(text)
                .hint("name files of keys after the filter, or - for standard input"))
        }
        _ => Ok(()),
    }
}

/// The refusal of a secret for a kind that takes none.
fn takes_no_secret(kind: Kind) -> Failure {
    Failure::new(format!("a secret is given, but the kind {kind} takes none"))
        .hint("leave out --secret-file and MAYHAP_SECRET, or choose another kind")
}

/// The filter of a shape that is given, with no promise.
fn shaped(kind: Kind, bits: u64, hashes: u32, scheme: Scheme) -> Description {
    let hashing = match kind {
        Kind::SplitBlock => Hashing::Xxh64,
        _ => Hashing::Scheme(scheme),
    };
    Description {
        kind,
        hashing,
        bits,
        hashes,
        detail: 0,
        promise: None,
    }
}

/// The refusal of a scheme and a secret that do not go together.
fn secret_failure(error: mayhap::Error) -> Failure {
    match error {
        mayhap::Error::SecretNeeded => Failure::new("the scheme siphash needs a secret")
            .hint("head -c 16 /dev/urandom > secret; mayhap new --secret-file secret …"),
        mayhap::Error::SecretUnused { scheme } => Failure::new(format!(
            "a secret is given, but the scheme {scheme} takes none"
        ))
        .hint("a secret alone makes a keyed filter: leave out the scheme, or the secret"),
        other => other.into(),
    }
}
