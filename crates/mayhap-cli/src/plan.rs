//! What is asked of a filter: by words on the command line, by defaults from the environment, and whether a filter
//! that is there is the one.

use std::env;

use mayhap::{Description, Kind};

use crate::amounts;
use crate::failure::{Failure, Result};
use crate::filters::GrowArgs;
use crate::values;
use crate::verbs::new::PlanArgs;

/// The options of [`PlanArgs`], for those that they conflict with.
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

/// The default that a variable gives. The parser is not asked: to it a variable is as good as a word on the command
/// line, and would conflict with all that such a word conflicts with.
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

/// The rate that the environment gives.
pub(crate) fn default_rate() -> Result<Option<f64>> {
    default("MAYHAP_RATE", amounts::rate)
}

impl PlanArgs {
    /// What was asked for, and for what was not said the defaults from the environment.
    pub(crate) fn with_defaults(&self) -> Result<PlanArgs> {
        let mut plan = self.clone();
        if !self.is_shape() {
            let capacity = default("MAYHAP_CAPACITY", amounts::count)?;
            plan.capacity = plan.capacity.or(capacity);
            plan.rate = plan.rate.or(default_rate()?);
        }
        let parse = |name: &str| name.parse::<Kind>().map_err(|error| error.to_string());
        plan.kind = plan.kind.or(default("MAYHAP_KIND", parse)?);
        let scheme = default("MAYHAP_SCHEME", values::scheme_name)?;
        plan.scheme = plan.scheme.or(scheme);
        Ok(plan)
    }

    /// Whether the filter is given by its shape, not by capacity and rate.
    pub(crate) fn is_shape(&self) -> bool {
        self.bits.is_some()
    }

    /// An option that was given, if any was.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--capacity", self.capacity.is_some()),
            ("--rate", self.rate.is_some()),
            ("--kind", self.kind.is_some()),
            ("--scheme", self.scheme.is_some()),
            ("--counter-bits", self.counter_bits.is_some()),
            ("--policy", self.policy.is_some()),
            ("--areas", self.areas.is_some()),
            ("--rotate-by", self.rotate_by.is_some()),
            ("--bits", self.bits.is_some()),
        ];
        let given = options.into_iter().find(|(_, given)| *given);
        given.map(|(option, _)| option)
    }

    /// Refuses a filter that is there already and not the one that was asked for. One that has grown still is.
    pub(crate) fn check_same(
        &self,
        filter: &Description,
        name: &str,
        grow: GrowArgs,
    ) -> Result<()> {
        let has_grown = grow.is_asked() && filter.kind == Kind::Scalable;
        let promise = filter.promise;
        let is_rate = |rate: f64| {
            let same = |promised: f64| (promised / rate - 1.0).abs() < 1e-9;
            promise
                .is_some_and(|promise| same(promise.rate) || has_grown && same(promise.rate / 2.0))
        };
        let scheme = filter.hashing.to_string();
        let has = |what: Option<String>| what.unwrap_or_else(|| "none".into());
        for (option, differs, asked, has) in [
            (
                "--capacity",
                self.capacity
                    .is_some_and(|keys| promise.is_none_or(|promise| promise.keys != keys)),
                self.capacity.map(|keys| keys.to_string()),
                has(promise.map(|promise| promise.keys.to_string())),
            ),
            (
                "--rate",
                self.rate.is_some_and(|rate| !is_rate(rate)),
                self.rate.map(|rate| rate.to_string()),
                has(promise.map(|promise| promise.rate.to_string())),
            ),
            (
                "--kind",
                self.kind.is_some_and(|kind| {
                    kind != filter.kind && !(has_grown && kind == Kind::Blocked)
                }),
                self.kind.map(|kind| kind.to_string()),
                filter.kind.to_string(),
            ),
            (
                "--scheme",
                self.scheme.is_some_and(|asked| asked != scheme),
                self.scheme.map(|scheme| scheme.to_string()),
                scheme.clone(),
            ),
            (
                "--bits",
                self.bits.is_some_and(|bits| bits != filter.bits),
                self.bits.map(|bits| bits.to_string()),
                filter.bits.to_string(),
            ),
            (
                "--hashes",
                self.hashes.is_some_and(|hashes| hashes != filter.hashes),
                self.hashes.map(|hashes| hashes.to_string()),
                filter.hashes.to_string(),
            ),
        ] {
            if differs {
                let asked = asked.unwrap_or_default();
                let text = format!("{option} {asked} is asked for, but {name} has {has}");
                return Err(Failure::new(text).hint(format!(
                    "a filter that is there stays what it is: leave out {option}, or name another file"
                )));
            }
        }
        Ok(())
    }
}
