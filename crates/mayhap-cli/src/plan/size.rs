//! Compares a filter that exists with the one that is asked for.

use mayhap::{AnyFilter, Description, Kind};
use mayhap_program::failure::{Failure, Result};

use super::{PlanArgs, PolicyName, RotationName};
use crate::filters::promise::GrowArgs;

impl PlanArgs {
    /// Refuses an existing filter that is not the one asked for. One that has grown still is.
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
                return Err(self::differs(
                    option,
                    &asked.unwrap_or_default(),
                    name,
                    &has,
                ));
            }
        }
        self.check_options(Some(filter.kind))
    }

    /// Refuses an existing filter without the options of its kind that were asked for.
    pub(crate) fn check_same_options(&self, filter: &AnyFilter, name: &str) -> Result<()> {
        self.check_options(Some(filter.kind()))?;
        let width = match filter {
            AnyFilter::Counting(filter) => Some(filter.width().bits()),
            AnyFilter::Spectral(filter) => Some(filter.width().bits()),
            _ => None,
        };
        let policy = match filter {
            AnyFilter::Spectral(filter) => {
                name_with(|named: &PolicyName| named.policy() == filter.policy())
            }
            _ => None,
        };
        let rotation = match filter {
            AnyFilter::Windowed(filter) => {
                name_with(|named: &RotationName| named.rotation() == filter.rotation())
            }
            _ => None,
        };
        let areas = match filter {
            AnyFilter::Spatial(filter) => Some(filter.shape().areas().to_string()),
            _ => None,
        };
        for (option, asked, has) in [
            (
                "--counter-bits",
                self.counter_bits.clone(),
                width.map(|bits| bits.to_string()),
            ),
            ("--policy", self.policy.map(name_of_value), policy),
            ("--areas", self.areas.map(|areas| areas.to_string()), areas),
            ("--rotate-by", self.rotate_by.map(name_of_value), rotation),
        ] {
            match (asked, has) {
                (Some(asked), Some(has)) if asked != has => {
                    return Err(differs(option, &asked, name, &has));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The refusal of an existing filter that differs from the one asked for.
fn differs(option: &str, asked: &str, name: &str, has: &str) -> Failure {
    let text = format!("{option} {asked} is asked for, but {name} has {has}");
    Failure::new(text).hint(format!(
        "a filter that is there stays what it is: leave out {option}, or name another file"
    ))
}

/// The name of a value, as it is typed.
fn name_of_value<V: clap::ValueEnum>(value: V) -> String {
    let value = value.to_possible_value().expect("none is hidden");
    value.get_name().to_owned()
}

/// The name of the value that is meant.
fn name_with<V: clap::ValueEnum>(is_meant: impl Fn(&V) -> bool) -> Option<String> {
    let meant = V::value_variants().iter().find(|value| is_meant(value));
    meant.cloned().map(name_of_value)
}
