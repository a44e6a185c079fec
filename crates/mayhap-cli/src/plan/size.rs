//! The number of keys and the rate that are asked for, and the comparison with those of a filter that exists.

use mayhap::{Description, Kind};
use mayhap_program::amounts;
use mayhap_program::failure::{Failure, Result};

use super::default;
use crate::filters::promise::GrowArgs;

/// The number of keys and the rate of a filter.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct SizeArgs {
    /// The number of keys, such as 10M
    #[arg(short = 'n', long, value_name = "N", value_parser = amounts::count)]
    pub(crate) capacity: Option<u64>,

    /// The rate of false positives, such as 0.01 or 1%
    #[arg(short = 'p', long, value_name = "P", value_parser = amounts::rate)]
    pub(crate) rate: Option<f64>,
}

/// The options of [`SizeArgs`], for the options that conflict with them.
pub(crate) const OPTIONS: [&str; 2] = ["capacity", "rate"];

impl SizeArgs {
    /// The size, completed by defaults from the environment.
    pub(crate) fn with_defaults(self) -> Result<SizeArgs> {
        let capacity = default("MAYHAP_CAPACITY", amounts::count)?;
        let rate = default("MAYHAP_RATE", amounts::rate)?;
        Ok(SizeArgs {
            capacity: self.capacity.or(capacity),
            rate: self.rate.or(rate),
        })
    }

    /// An option that was given, if any was.
    pub(crate) fn given(self) -> Option<&'static str> {
        let capacity = self.capacity.map(|_| "--capacity");
        capacity.or(self.rate.map(|_| "--rate"))
    }

    /// Refuses an existing filter of another size. One that has grown still has the one it was made with.
    pub(crate) fn check_same(self, filter: &Description, name: &str, grow: GrowArgs) -> Result<()> {
        let has_grown = grow.is_asked() && filter.kind == Kind::Scalable;
        let promise = filter.promise;
        let is_rate = |rate: f64| {
            let same = |promised: f64| (promised / rate - 1.0).abs() < 1e-9;
            promise
                .is_some_and(|promise| same(promise.rate) || has_grown && same(promise.rate / 2.0))
        };
        let is_capacity = |keys| promise.is_some_and(|promise| promise.keys == keys);
        let differs = |option: &str, asked: String, has: Option<String>| {
            let has = has.unwrap_or_else(|| "none".into());
            let text = format!("{option} {asked} is asked for, but {name} has {has}");
            Err(Failure::new(text).hint(format!(
                "a filter that is there stays what it is: leave out {option}, or name another file"
            )))
        };
        if let Some(keys) = self.capacity.filter(|keys| !is_capacity(*keys)) {
            let has = promise.map(|promise| promise.keys.to_string());
            return differs("--capacity", keys.to_string(), has);
        }
        if let Some(rate) = self.rate.filter(|rate| !is_rate(*rate)) {
            let has = promise.map(|promise| promise.rate.to_string());
            return differs("--rate", rate.to_string(), has);
        }
        Ok(())
    }
}
