//! The contents of a filter now, against what was asked of it.

use crate::shape::{check_request, hash_rate};
use crate::{Error, Result};

/// The capacity and rate a filter was made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// The number of keys it was made for.
    pub keys: u64,
    /// The false-positive rate asked for at that many keys.
    pub rate: f64,
}

/// The share of a rate that may be missed without a word: predictions are no better.
const UNNOTICED: f64 = 1e-3;

impl Promise {
    /// The promise of a new filter.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or the hash cannot give it. Filters that exist
    /// already may have promised that: they are not made by this.
    pub(crate) fn new(keys: u64, rate: f64) -> Result<Promise> {
        check_request(keys, rate)?;
        let least = hash_rate(keys) * (1.0 + UNNOTICED);
        if least >= 1.0 {
            return Err(Error::TooLarge { keys, rate });
        }
        if rate < least {
            return Err(Error::NarrowHash { keys, rate, least });
        }
        Ok(Promise { keys, rate })
    }

    /// Returns what `size` makes of the keys and of the rate that the hash leaves to the bits. Of most rates that is
    /// all; a refusal names the rates that were asked for.
    ///
    /// # Errors
    ///
    /// Those of `size`.
    pub(crate) fn size<T>(self, size: impl FnOnce(u64, f64) -> Result<T>) -> Result<T> {
        let Promise { keys, rate } = self;
        size(keys, left_by_hash(keys, rate)).map_err(|error| match error {
            Error::LowRate { least: bits, .. } => {
                let mut least = if left_by_hash(keys, bits) < bits {
                    bits + hash_rate(keys)
                } else {
                    bits
                };
                // What is added and taken off again may be rounded down.
                while left_by_hash(keys, least) < bits {
                    least = least.next_up();
                }
                Error::LowRate { got: rate, least }
            }
            Error::TooLarge { .. } => Error::TooLarge { keys, rate },
            other => other,
        })
    }
}

/// Returns the part of a rate that the hash leaves.
fn left_by_hash(keys: u64, rate: f64) -> f64 {
    let hash = hash_rate(keys);
    if hash <= rate * UNNOTICED {
        rate
    } else {
        rate - hash
    }
}

/// The contents of a filter now, and the rate that gives.
///
/// ```
/// use mayhap::{Bloom, Insert};
///
/// let mut filter = Bloom::with_capacity(1000, 0.01)?;
/// filter.insert_all(0..1000_u32);
/// assert!(!filter.stats().is_over_capacity());
/// filter.insert_all(1000..2000_u32);
/// let stats = filter.stats();
/// assert!(stats.is_over_capacity());
/// assert!(stats.rate > 0.1, "the rate now, not the rate asked for");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// The number of bits.
    pub bits: u64,
    /// The number of ones; of a filter of counters, all bits of those that are not zero.
    pub ones: u64,
    /// The estimated number of distinct keys; `None` when the filter is saturated, and there is no estimate.
    pub keys: Option<f64>,
    /// The false-positive rate now, from the ones.
    pub rate: f64,
    /// The keys and the rate it was made for, if it was made by them.
    pub promise: Option<Promise>,
}

impl Stats {
    /// The share of ones, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.ones as f64 / self.bits as f64
    }

    /// Bits per estimated key; `None` when the filter is empty or saturated.
    pub fn bits_per_key(&self) -> Option<f64> {
        let keys = self.keys.filter(|&keys| keys > 0.0)?;
        Some(self.bits as f64 / keys)
    }

    /// Returns whether more keys are in than the filter was made for: false when that is not known.
    ///
    /// Judged by the estimated number of keys, allowing it four standard deviations of its own
    /// error (taken as the square root of the capacity, which is on the safe side), so that a
    /// filter filled exactly to its capacity is not called over it.
    pub fn is_over_capacity(&self) -> bool {
        let Some(promise) = self.promise else {
            return false;
        };
        let capacity = promise.keys as f64;
        match self.keys {
            Some(keys) => keys > capacity + 4.0 * libm::sqrt(capacity),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_rates_are_left_to_the_bits_whole() {
        for (keys, rate) in [(1, 0.5), (1_000_000, 0.01), (1 << 40, 1e-4), (1000, 1e-12)] {
            let left =
                Promise::new(keys, rate).and_then(|promise| promise.size(|_, left| Ok(left)));
            assert_eq!(left.expect("possible"), rate);
        }
    }

    #[test]
    fn what_the_hash_takes_is_taken_off_the_rate() {
        // 500 M keys: 2.7 in 10^11 absent keys have the hash of one of them.
        let promise = Promise::new(500_000_000, 1e-10).expect("possible");
        let left = promise.size(|_, left| Ok(left)).expect("possible");
        assert!((left - 7.289e-11).abs() < 1e-14, "{left}");
    }

    #[test]
    fn rates_that_the_hash_cannot_give_are_refused_and_the_least_is_given() {
        for (keys, rate) in [(500_000_000, 1e-12), (1, 1e-300), (1 << 62, 0.1)] {
            let refused = Promise::new(keys, rate);
            let Err(Error::NarrowHash { least, .. }) = refused else {
                panic!("{refused:?}");
            };
            assert!(least > rate && Promise::new(keys, least).is_ok(), "{least}");
        }
        for keys in [0, u64::MAX] {
            assert!(Promise::new(keys, 0.5).is_err());
        }
    }

    #[test]
    fn the_least_rate_of_a_refusal_is_accepted() {
        for keys in [1, 1000, 1_000_000, 123_456_789_012] {
            for bits_least in [1e-6, 1e-12, libm::exp2(-32.0)] {
                let size = |_, left: f64| match left < bits_least {
                    true => Err(Error::LowRate {
                        got: left,
                        least: bits_least,
                    }),
                    false => Ok(()),
                };
                let low = hash_rate(keys) * 1.01;
                let refused = Promise::new(keys, low).and_then(|promise| promise.size(size));
                let Err(Error::LowRate { got, least }) = refused else {
                    assert!(low - hash_rate(keys) >= bits_least);
                    continue;
                };
                assert_eq!(got, low);
                let kept = Promise::new(keys, least).and_then(|promise| promise.size(size));
                assert!(kept.is_ok(), "{keys} keys, {least}");
            }
        }
    }
}
