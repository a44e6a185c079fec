//! The arguments of a bench.

use crate::Result;

/// The options every bench understands; each has its own defaults for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    /// The sizes, in keys.
    pub keys: Vec<u64>,
    /// The sizes of runs over URLs, in keys.
    pub urls: Vec<u64>,
    /// The false-positive rates filters are sized for.
    pub rates: Vec<f64>,
    /// The number of rounds that count; one more, before them, does not.
    pub rounds: usize,
    /// Only contenders whose name has one of these in it; empty for all.
    pub only: Vec<String>,
    /// True if the report is also written to `bench/results`.
    pub record: bool,
}

impl Arguments {
    /// The command line of this process over these defaults.
    ///
    /// Cargo gives `--bench` to a bench. Without it (`cargo test --benches`) the bench should only
    /// show that it works, so everything is small and runs once.
    ///
    /// # Errors
    ///
    /// When an option is unknown or its value does not parse.
    pub fn parse(defaults: Arguments) -> Result<Arguments> {
        let given: Vec<String> = std::env::args().skip(1).collect();
        if !given.iter().any(|option| option == "--bench") {
            return defaults.small().with(&given);
        }
        defaults.with(&given)
    }

    /// Returns whether a contender of this name takes part.
    pub fn takes(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }

    fn small(self) -> Arguments {
        Arguments {
            keys: vec![10_000],
            urls: vec![10_000],
            rates: vec![0.01],
            rounds: 1,
            ..self
        }
    }

    fn with(mut self, given: &[String]) -> Result<Arguments> {
        let mut given = given.iter();
        while let Some(option) = given.next() {
            let mut value = || {
                let missing = || format!("{option} needs a value");
                given.next().ok_or_else(missing)
            };
            match option.as_str() {
                "--bench" => {}
                "--keys" => self.keys = list(value()?)?,
                "--urls" => self.urls = list(value()?)?,
                "--rates" => self.rates = list(value()?)?,
                "--rounds" => self.rounds = value()?.parse()?,
                "--only" => self.only = list(value()?)?,
                "--record" => self.record = true,
                unknown => return Err(format!("unknown option {unknown}").into()),
            }
        }
        if self.rounds == 0 {
            return Err("at least one round must count".into());
        }
        Ok(self)
    }
}

/// Parses values that commas separate; nothing at all is no values.
fn list<T: std::str::FromStr<Err: std::error::Error + 'static>>(text: &str) -> Result<Vec<T>> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts.map(|part| Ok(part.parse()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Arguments {
        Arguments {
            keys: vec![1],
            urls: vec![2],
            rates: vec![0.5],
            rounds: 3,
            only: vec![],
            record: false,
        }
    }

    fn with(options: &[&str]) -> Result<Arguments> {
        let given: Vec<String> = options.iter().map(|&option| option.into()).collect();
        defaults().with(&given)
    }

    #[test]
    fn options_replace_the_defaults_they_name() {
        let got = with(&["--bench", "--keys", "10,20", "--urls", "", "--record"]);

        let expected = Arguments {
            keys: vec![10, 20],
            urls: vec![],
            record: true,
            ..defaults()
        };
        assert_eq!(got.expect("all known"), expected);
    }

    #[test]
    fn unknown_options_missing_values_and_zero_rounds_are_refused() {
        assert!(with(&["--what"]).is_err());
        assert!(with(&["--keys"]).is_err());
        assert!(with(&["--keys", "many"]).is_err());
        assert!(with(&["--rounds", "0"]).is_err());
    }
}
