//! Confidence intervals of measured rates.

/// The standard deviations that a 95 % interval reaches to either side of a normal mean.
const SPREAD: f64 = 1.959_963_984_540_054;

/// A measured share of trials.
///
/// ```
/// use mayhap_lab::Measured;
///
/// let rate = Measured::of(1_000, 100_000).expect("trials");
/// assert!(rate.holds(0.0101) && !rate.holds(0.012));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The share.
    pub rate: f64,
    /// The lower end of its 95 % confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Measured {
    /// Measures the share of events in trials, with Wilson's interval; `None` when there was no trial.
    ///
    /// Wilson's interval stays inside 0 to 1 and is sound for few events and for none, where the textbook's
    /// `p ± 1.96 sqrt(p(1-p)/n)` has no width at all. After Wilson, "Probable Inference", 1927.
    pub fn of(events: u64, trials: u64) -> Option<Measured> {
        if trials == 0 {
            return None;
        }
        let n = trials as f64;
        let rate = events as f64 / n;
        let z2 = SPREAD * SPREAD;
        let middle = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = SPREAD / (1.0 + z2 / n) * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt();
        Some(Measured {
            rate,
            low: if events == 0 { 0.0 } else { middle - half },
            high: if events == trials { 1.0 } else { middle + half },
        })
    }

    /// Returns whether the interval includes this rate.
    pub fn holds(&self, rate: f64) -> bool {
        (self.low..=self.high).contains(&rate)
    }
}

/// The probability of `events` or more in `trials` independent ones, each of probability `rate`.
///
/// ```
/// // Ten or more false positives among 500 lookups at a rate of 1 %.
/// assert!((mayhap_lab::chance_of_at_least(10, 500, 0.01) - 0.0311).abs() < 1e-4);
/// ```
pub fn chance_of_at_least(events: u64, trials: u64, rate: f64) -> f64 {
    // The probability of exactly x events follows from that of x - 1.
    let mut exactly = (trials as f64 * (-rate).ln_1p()).exp();
    let mut fewer = 0.0;
    for x in 0..events.min(trials + 1) {
        fewer += exactly;
        exactly *= (trials - x) as f64 / (x + 1) as f64 * rate / (1.0 - rate);
    }
    1.0 - fewer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I.
        for (events, trials, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0000, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let measured = Measured::of(events, trials).expect("trials");
            assert!((measured.low - low).abs() < 5e-5, "{measured:?}");
            assert!((measured.high - high).abs() < 5e-5, "{measured:?}");
        }
    }

    #[test]
    fn nothing_tried_is_nothing_measured() {
        assert_eq!(Measured::of(0, 0), None);
        let all = Measured::of(7, 7).expect("trials");
        assert!(all.holds(1.0) && !all.holds(0.5));
    }

    #[test]
    fn chances_are_those_of_a_kept_library() {
        use statrs::distribution::{Binomial, ContinuousCDF as _, DiscreteCDF as _, Normal};
        let normal = Normal::standard();
        assert!((normal.inverse_cdf(0.975) - SPREAD).abs() < 1e-9);
        for trials in [1, 10, 500, 20_000] {
            for rate in [1e-4, 0.01, 0.3] {
                let binomial = Binomial::new(rate, trials).expect("valid");
                for events in [1, 2, 7, 40].into_iter().filter(|events| *events <= trials) {
                    let expected = binomial.sf(events - 1);
                    let chance = chance_of_at_least(events, trials, rate);
                    assert!(
                        (chance - expected).abs() < 1e-9,
                        "{events} of {trials}, {rate}"
                    );
                }
            }
        }
    }

    #[test]
    fn ten_of_five_hundred_at_one_per_cent_is_not_surprising() {
        // The sizing specification's own figure for the reading of post 004.
        let chance = chance_of_at_least(10, 500, 0.010_143_159_512_273_257);
        assert!((chance - 0.0337).abs() < 5e-5, "{chance}");
        assert_eq!(chance_of_at_least(0, 10, 0.5), 1.0);
        assert!((chance_of_at_least(10, 10, 0.5) - 0.5_f64.powi(10)).abs() < 1e-12);
    }
}
