//! `mayhap size`: from what is known of keys, rate and memory, the rest, for every kind side by side.

use mayhap::{Description, Kind, Shape, Sizing, shape::minimum_bits};
use mayhap_program::amounts::{self, show_bytes, show_count, show_rate};
use mayhap_program::columns;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;
use serde_json::{Value, json};

use crate::output::{print, print_json};
use crate::plan::SizeArgs;

/// Plans a filter: keys, rate and memory of every kind.
///
/// Give two of --capacity, --rate and --memory (or --bits); the third follows. Shows bits per key, memory, hashes, the
/// rate after rounding, and the cache lines that a lookup reads.
///
/// Exit codes: 0, or 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    size: SizeArgs,

    /// The bytes of memory, such as 64M
    #[arg(long, value_name = "SIZE", value_parser = amounts::bytes, conflicts_with = "bits")]
    memory: Option<u64>,

    /// The bits of memory
    #[arg(long, value_name = "BITS", value_parser = amounts::count)]
    bits: Option<u64>,
}

const EXAMPLES: &str = "Examples:
  mayhap size -n 10M -p 1%        the memory for ten million keys at 1 %
  mayhap size -n 10M --memory 8M  the rate that 8 MiB give them
  mayhap size -p 1% --memory 8M   how many keys they hold at 1 %";

/// A kind that does what was asked.
struct Plan {
    description: Description,
    keys: u64,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let SizeArgs { capacity, rate } = self.size;
        let bits = self
            .bits
            .or(self.memory.map(|bytes| bytes.saturating_mul(8)));
        let plan = |kind| match (capacity, rate, bits) {
            (Some(keys), Some(rate), None) => kind_for(kind, keys, rate),
            (Some(keys), None, Some(bits)) => lowest_rate(kind, keys, bits),
            (None, Some(rate), Some(bits)) => most_keys(kind, rate, bits),
            (Some(_), Some(_), Some(_)) => {
                Err(Failure::new("capacity, rate and memory are one too many")
                    .hint("give two of them; the third follows"))
            }
            _ => Err(
                Failure::new("two of --capacity, --rate and --memory are expected")
                    .hint("mayhap size --capacity 10M --rate 0.01"),
            ),
        };
        let mut plans = Vec::new();
        for &kind in Kind::ALL {
            match plan(kind) {
                Ok(plan) => plans.push((kind, Ok(plan))),
                // What no kind can do is refused as a whole.
                Err(failure) if kind == Kind::Bloom => return Err(failure),
                Err(failure) => plans.push((kind, Err(failure))),
            }
        }
        let rules = match (capacity, rate) {
            (Some(keys), Some(rate)) => rules(keys, rate),
            _ => Vec::new(),
        };
        if global.json {
            let kinds: Vec<Value> = plans
                .iter()
                .map(|(kind, plan)| row_json(*kind, plan))
                .collect();
            let rules: Vec<Value> = rules.iter().map(Rule::json).collect();
            return print_json(&json!({ "kinds": kinds, "rules": rules })).map(|()| Exit::Success);
        }
        let mut text = kinds_table(&plans);
        if let (Some(keys), Some(rate)) = (capacity, rate) {
            text.push('\n');
            text.push_str(&rules_table(&rules, keys, rate)?);
        }
        print(&text)?;
        Ok(Exit::Success)
    }
}

fn kind_for(kind: Kind, keys: u64, rate: f64) -> Result<Plan> {
    let description = kind.plan(keys, rate)?;
    Ok(Plan { description, keys })
}

/// The lowest rate that this many keys have in this many bits.
fn lowest_rate(kind: Kind, keys: u64, bits: u64) -> Result<Plan> {
    // Plans take more bits the lower the rate is, so halving an interval finds it.
    let fits = |power: f64| {
        let description = kind.plan(keys, (-power).exp2()).ok()?;
        (description.bits <= bits).then_some(description)
    };
    let (mut low, mut high) = (1e-3, 1000.0);
    let mut best = fits(low).ok_or_else(|| {
        let (bits, keys) = (show_count(bits), show_count(keys));
        Failure::new(format!(
            "{bits} bits are too few for {keys} keys at any rate, as {kind}"
        ))
    })?;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match fits(middle) {
            Some(description) => (low, best) = (middle, description),
            None => high = middle,
        }
    }
    Ok(Plan {
        description: best,
        keys,
    })
}

/// The most keys that have a rate in this many bits.
fn most_keys(kind: Kind, rate: f64, bits: u64) -> Result<Plan> {
    let fits = |keys: u64| {
        let description = kind.plan(keys, rate).ok()?;
        (description.bits <= bits).then_some(description)
    };
    // If even one key does not fit, its error says what is wrong.
    kind.plan(1, rate)?;
    let mut best = fits(1).ok_or_else(|| {
        Failure::new(format!(
            "{} bits are too few for a key at that rate, as {kind}",
            show_count(bits)
        ))
    })?;
    let (mut low, mut high) = (1, u64::MAX);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match fits(middle) {
            Some(description) => (low, best) = (middle, description),
            None => high = middle,
        }
    }
    Ok(Plan {
        description: best,
        keys: low,
    })
}

impl Plan {
    fn bits_per_key(&self) -> f64 {
        self.description.bits as f64 / self.keys as f64
    }

    fn bytes(&self) -> u64 {
        self.description.bits.div_ceil(8)
    }

    /// The predicted rate when all keys are in; that of the request where the kind's own maths gives
    /// nothing finer.
    fn rate(&self) -> Option<f64> {
        let promise = self.description.promise;
        self.description
            .predicted_rate(self.keys)
            .or(promise.map(|promise| promise.rate))
    }
}

fn row_json(kind: Kind, plan: &Result<Plan>) -> Value {
    match plan {
        Ok(plan) => json!({
            "kind": kind.name(),
            "keys": plan.keys,
            "rate": plan.rate(),
            "bits": plan.description.bits,
            "bytes": plan.bytes(),
            "bits_per_key": plan.bits_per_key(),
            "hashes": plan.description.hashes,
            "cache_lines": plan.description.cache_lines(),
        }),
        Err(failure) => json!({ "kind": kind.name(), "refused": failure.text() }),
    }
}

/// The size by the rule of another program.
struct Rule {
    name: &'static str,
    shape: std::result::Result<Shape, String>,
    keys: u64,
}

impl Rule {
    fn json(&self) -> Value {
        match &self.shape {
            Ok(shape) => json!({
                "rule": self.name,
                "bits": shape.bits(),
                "hashes": shape.hashes(),
                "rate": shape.rate_at(self.keys),
            }),
            Err(text) => json!({ "rule": self.name, "refused": text }),
        }
    }
}

fn rules(keys: u64, rate: f64) -> Vec<Rule> {
    let rules = [
        ("ours", Sizing::Optimal),
        ("Guava since 33.4", Sizing::Guava),
        ("Guava before, Spark", Sizing::GuavaBefore33_4),
        ("salted digests, in Redis", Sizing::Salted),
        ("murmur, floor-mod", Sizing::MurmurFloorMod),
        ("DCSO bloom", Sizing::Dcso),
    ];
    rules
        .map(|(name, sizing)| Rule {
            name,
            shape: sizing.shape(keys, rate).map_err(|error| error.to_string()),
            keys,
        })
        .into()
}

fn kinds_table(plans: &[(Kind, Result<Plan>)]) -> String {
    let mut rows = vec![cells([
        "kind", "keys", "bits/key", "memory", "k", "rate", "lines",
    ])];
    for (kind, plan) in plans {
        rows.push(match plan {
            Ok(plan) => vec![
                kind.name().into(),
                show_count(plan.keys),
                format!("{:.2}", plan.bits_per_key()),
                show_bytes(plan.bytes()),
                plan.description.hashes.to_string(),
                plan.rate().map_or_else(|| "-".into(), show_rate),
                plan.description.cache_lines().to_string(),
            ],
            Err(failure) => vec![format!("{kind}: {}", failure.text())],
        });
    }
    columns::lines(&rows)
}

fn rules_table(rules: &[Rule], keys: u64, rate: f64) -> Result<String> {
    let bound = minimum_bits(keys, rate)?;
    let mut rows = vec![cells([
        "rule for a standard filter",
        "bits",
        "bits/key",
        "memory",
        "k",
        "rate",
    ])];
    rows.push(vec![
        "the information bound".into(),
        show_count(bound.ceil() as u64),
        format!("{:.2}", bound / keys as f64),
        show_bytes((bound / 8.0).ceil() as u64),
        "-".into(),
        show_rate(rate),
    ]);
    for rule in rules {
        rows.push(match &rule.shape {
            Ok(shape) => vec![
                rule.name.into(),
                show_count(shape.bits()),
                format!("{:.2}", shape.bits() as f64 / keys as f64),
                show_bytes(shape.bits().div_ceil(8)),
                shape.hashes().to_string(),
                show_rate(shape.rate_at(keys)),
            ],
            Err(reason) => vec![format!("{}: {reason}", rule.name)],
        });
    }
    Ok(columns::lines(&rows))
}

fn cells<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(String::from).into()
}
