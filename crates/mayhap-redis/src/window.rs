//! Recently seen keys: a filter per stretch of time, each of which expires by itself.
//!
//! Time is cut into generations by the clients' clocks. A key is inserted into the current generation
//! and looked up in that and the last few, so that it is remembered for at least the span asked for,
//! and at most one generation longer. Every insert also looks at the next generation, in the same
//! transaction: exactly one of many clients learns that a key is new as long as their clocks differ
//! by less than a generation.
//!
//! Costs a test per generation for each key, and their rates add up: [`Window::plan`] accounts for that.

use std::time::Duration;

use mayhap::{Description, Kind};

use crate::{Error, Result};

/// The time for which keys are remembered, and the steps in which they are forgotten.
///
/// ```
/// use std::time::Duration;
/// use mayhap::Kind;
/// use mayhap_redis::Window;
///
/// // The last seven days, forgotten day by day; ten million keys a week, one in a hundred mistaken.
/// let week = Window { span: Duration::from_secs(7 * 24 * 3600), generations: 7 };
/// let day = week.plan(Kind::Blocked, 10_000_000, 0.01)?;
/// assert!(day.promise.is_some_and(|day| day.rate < 0.01 / 7.0));
/// # Ok::<(), mayhap_redis::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The time for which a key is remembered after its last insert.
    pub span: Duration,
    /// The steps in which keys are forgotten: 1 to 64.
    pub generations: u32,
}

impl Window {
    /// Describes one generation, for this many keys that are inserted evenly within the span and this rate
    /// of the whole window.
    ///
    /// # Errors
    ///
    /// Those of [`Kind::plan`].
    pub fn plan(&self, kind: Kind, keys: u64, rate: f64) -> Result<Description> {
        self.check()?;
        let each = keys.div_ceil(u64::from(self.generations));
        Ok(kind.plan(each, rate / f64::from(self.generations + 1))?)
    }

    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |what, got: String, expected: &str| {
            Err(Error::Option {
                what,
                got,
                expected: expected.into(),
            })
        };
        if !(1..=64).contains(&self.generations) {
            return refuse("generations", self.generations.to_string(), "1 to 64");
        }
        let least = u128::from(self.generations) * 100;
        let most = 3_652 * 24 * 3600 * 1000;
        if !(least..=most).contains(&self.span.as_millis()) {
            let span = format!("{:?}", self.span);
            return refuse("span", span, "100 ms for each generation to 10 years");
        }
        Ok(())
    }

    /// The milliseconds of a generation.
    pub(crate) fn step(&self) -> u64 {
        (self.span.as_millis() as u64).div_ceil(u64::from(self.generations))
    }

    /// The line in the settings.
    pub(crate) fn to_text(self) -> String {
        format!("{} {}", self.span.as_millis(), self.generations)
    }

    pub(crate) fn from_text(text: &str) -> Option<Window> {
        let (span, generations) = text.split_once(' ')?;
        let window = Window {
            span: Duration::from_millis(span.parse().ok()?),
            generations: generations.parse().ok()?,
        };
        window.check().is_ok().then_some(window)
    }
}
