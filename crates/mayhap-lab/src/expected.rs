//! The counts to expect if a prediction is true.

/// The share of runs of a true prediction that are outside its range, to either side.
const TAIL: f64 = 0.025;

/// Probabilities below this share of the highest are ignored.
const NOTHING: f64 = 1e-18;

/// A predicted rate: the mean over filters, and how far apart they are.
///
/// Two things are random: where the keys of a filter fall, which makes its own rate, and which keys are looked up. The
/// first is modelled by a beta distribution of this mean and standard deviation, the second is binomial.
///
/// ```
/// use mayhap_lab::Expected;
///
/// let expected = Expected { rate: 0.01, spread: 0.0006 };
/// let range = expected.range(100_000);
/// assert!(range.contains(&1000) && range.contains(&1100) && !range.contains(&1200));
/// // Without the spread among filters, 1100 would be out of the question.
/// assert!(!Expected { spread: 0.0, ..expected }.range(100_000).contains(&1100));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The mean over all filters of the kind and size.
    pub rate: f64,
    /// The standard deviation from filter to filter.
    pub spread: f64,
}

impl Expected {
    /// Returns the numbers of events among `trials` that 95 % of all runs have, if the prediction is true.
    ///
    /// Counts outside have a probability of 2.5 % on either side, including half of the probability of the edge (the
    /// mid-p value): so with few events 95 % are inside on average, and not more.
    pub fn range(&self, trials: u64) -> std::ops::RangeInclusive<u64> {
        if self.rate <= 0.0 {
            return 0..=0;
        }
        if self.rate >= 1.0 {
            return trials..=trials;
        }
        let steps = Steps::of(self, trials as f64);
        let middle = (self.rate * trials as f64).floor();
        // Outwards from the middle, whose probability is taken as one: far away it vanishes.
        let (mut lowest, mut chance, mut all) = (middle, 1.0, 1.0);
        while lowest > 0.0 && chance > NOTHING * all {
            lowest -= 1.0;
            chance /= steps.up_from(lowest);
            all += chance;
        }
        let first = chance;
        let (mut at, mut chance) = (middle, 1.0);
        while at < trials as f64 && chance > NOTHING * all {
            chance *= steps.up_from(at);
            at += 1.0;
            all += chance;
        }
        let (mut at, mut chance, mut below) = (lowest, first, 0.0);
        let mut low = None;
        loop {
            let middle = (below + chance / 2.0) / all;
            if low.is_none() && middle >= TAIL {
                low = Some(at);
            }
            below += chance;
            let next = chance * steps.up_from(at);
            if at >= trials as f64 || (below + next / 2.0) / all > 1.0 - TAIL {
                let low = low.unwrap_or(at);
                return low as u64..=at.max(low) as u64;
            }
            chance = next;
            at += 1.0;
        }
    }
}

/// The ratio of the probabilities of neighbouring numbers of events.
struct Steps {
    trials: f64,
    /// The two parameters of the beta distribution; `None` if filters do not differ.
    shape: Option<(f64, f64)>,
    odds: f64,
}

impl Steps {
    fn of(expected: &Expected, trials: f64) -> Steps {
        let rate = expected.rate;
        // No distribution on 0 to 1 of this mean has a greater variance.
        let most = rate * (1.0 - rate);
        let variance = (expected.spread * expected.spread).min(0.99 * most);
        let sum = most / variance - 1.0;
        // Past this the beta distribution is a point, and the numbers would lose their digits.
        let shape = (sum < 1e12).then_some((rate * sum, (1.0 - rate) * sum));
        Steps {
            trials,
            shape,
            odds: rate / (1.0 - rate),
        }
    }

    /// The probability of one more event, divided by that of `events`.
    fn up_from(&self, events: f64) -> f64 {
        let ways = (self.trials - events) / (events + 1.0);
        match self.shape {
            None => ways * self.odds,
            Some((a, b)) => ways * (events + a) / (self.trials - events - 1.0 + b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Binomial, DiscreteCDF as _};

    /// Compares with the sum of the probabilities inside a range, each end counted by half of what it has above the
    /// tail.
    #[test]
    fn without_spread_the_range_is_the_binomial_one() {
        for (rate, trials) in [
            (0.5, 10),
            (0.01, 500),
            (0.01, 100_000),
            (0.3, 2000),
            (1e-4, 20_000),
        ] {
            let range = Expected { rate, spread: 0.0 }.range(trials);

            let binomial = Binomial::new(rate, trials).expect("valid");
            let middle = |events: u64| {
                let below = events
                    .checked_sub(1)
                    .map_or(0.0, |fewer| binomial.cdf(fewer));
                (below + binomial.cdf(events)) / 2.0
            };
            assert!(middle(*range.start()) >= 0.025 && middle(*range.end()) <= 0.975);
            assert!(middle(*range.end() + 1) > 0.975, "{range:?}");
            assert!(*range.start() == 0 || middle(*range.start() - 1) < 0.025);
        }
    }

    #[test]
    fn with_many_trials_the_range_is_that_of_the_spread() {
        let expected = Expected {
            rate: 0.1,
            spread: 0.002,
        };

        let range = expected.range(100_000_000);

        // 1.96 standard deviations to either side; those of the trials are 0.00003.
        let ends = [*range.start(), *range.end()].map(|events| events as f64 / 1e8);
        assert!(
            (ends[0] - 0.0961).abs() < 1e-4 && (ends[1] - 0.1039).abs() < 1e-4,
            "{ends:?}"
        );
    }

    #[test]
    fn rates_of_nothing_and_of_all_have_no_range() {
        let range = |rate, trials| Expected { rate, spread: 0.1 }.range(trials);
        assert_eq!((range(0.0, 10), range(1.0, 10)), (0..=0, 10..=10));
        assert_eq!(range(0.5, 0), 0..=0);
        assert!(*range(1e-9, 1000).end() <= 1);
    }
}
