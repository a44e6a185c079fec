//! The shape of a standard filter, and the rates that follow from it.
//!
//! Symbols, here and in [`Sizing`]: `m` bits, `k` hashes (probes) per key, `n` keys, `f` the
//! false-positive rate, `X` the number of ones. Logarithms and powers come from `libm` on every
//! target, so the same numbers give the same shape everywhere.

use core::fmt;

use alloc::vec;

use crate::sizing::Sizing;
use crate::{Error, Result};

/// The size of a standard filter as a multiple of the information bound: log2(e) = 1.442695.
///
/// ```
/// use mayhap::{Shape, shape::{BLOOM_OVERHEAD, minimum_bits}};
///
/// let shape = Shape::for_capacity(1_000_000, 0.001)?;
/// let ratio = shape.bits() as f64 / minimum_bits(1_000_000, 0.001)?;
/// assert!((ratio / BLOOM_OVERHEAD - 1.0).abs() < 0.001);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub const BLOOM_OVERHEAD: f64 = core::f64::consts::LOG2_E;

/// The bits that any filter needs for `keys` at `rate`: `n · log2(1/f)`.
///
/// ```
/// assert_eq!(mayhap::shape::minimum_bits(1000, 1.0 / 1024.0)?, 10_000.0);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn minimum_bits(keys: u64, rate: f64) -> Result<f64> {
    check_request(keys, rate)?;
    Ok(-(keys as f64) * libm::log2(rate))
}

/// Refuses a capacity of zero and a rate that is not strictly between 0 and 1.
pub(crate) fn check_request(keys: u64, rate: f64) -> Result<()> {
    if keys == 0 {
        return Err(Error::Capacity { got: keys });
    }
    check_rate(rate)
}

/// Refuses a rate that is not strictly between 0 and 1.
pub(crate) fn check_rate(rate: f64) -> Result<()> {
    if rate > 0.0 && rate < 1.0 {
        Ok(())
    } else {
        Err(Error::Rate { got: rate })
    }
}

/// The share of absent keys that a filter of `keys` keys always finds, however large it is: those whose 64-bit
/// hash is that of a key, `n / 2^64`.
pub(crate) fn hash_rate(keys: u64) -> f64 {
    keys as f64 / (1_u128 << 64) as f64
}

/// The size of a standard filter: its number of bits and of hashes per key.
///
/// ```
/// use mayhap::Shape;
///
/// let shape = Shape::for_capacity(1_000_000, 0.01)?;
/// assert_eq!(shape.hashes(), 7);
/// assert!(shape.rate_at(1_000_000) <= 0.01);
/// assert!(shape.rate_at(2_000_000) > 0.15); // past its capacity a filter collapses
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    bits: u64,
    hashes: u32,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bits, {} hashes", self.bits, self.hashes)
    }
}

impl Shape {
    /// The most hashes a shape may have: more than the smallest positive `f64` rate needs (1075),
    /// and few enough that a hostile file cannot make one lookup take seconds.
    pub const MAX_HASHES: u32 = 4096;

    /// Makes a shape of exactly `bits` bits and `hashes` hashes.
    ///
    /// # Errors
    ///
    /// When `bits` is 0 or above 2^63, or `hashes` is not in `1..=`[`Shape::MAX_HASHES`].
    pub fn new(bits: u64, hashes: u32) -> Result<Shape> {
        if bits == 0 || bits > 1 << 63 {
            return Err(Error::Bits {
                got: bits,
                expected: "1 to 2^63",
            });
        }
        if hashes == 0 || hashes > Self::MAX_HASHES {
            return Err(Error::Hashes {
                got: hashes,
                least: 1,
                most: Self::MAX_HASHES,
            });
        }
        Ok(Shape { bits, hashes })
    }

    /// The smallest shape whose predicted rate with `keys` keys is at most `rate`, by
    /// [`Sizing::Optimal`].
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or 2^63 bits do not suffice.
    pub fn for_capacity(keys: u64, rate: f64) -> Result<Shape> {
        Sizing::Optimal.shape(keys, rate)
    }

    /// The number of bits, `m`.
    #[inline]
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The number of hashes per key, `k`.
    #[inline]
    pub fn hashes(self) -> u32 {
        self.hashes
    }

    /// Predicts the share of ones after `keys` distinct keys: `1 - (1 - 1/m)^(kn)`.
    pub fn fill_at(self, keys: u64) -> f64 {
        if keys == 0 {
            return 0.0;
        }
        let throws = f64::from(self.hashes) * keys as f64;
        -libm::expm1(throws * libm::log1p(-1.0 / self.bits as f64))
    }

    /// Predicts the false-positive rate after `keys` distinct keys: `(1 - (1 - 1/m)^(kn))^k`.
    pub fn rate_at(self, keys: u64) -> f64 {
        libm::pow(self.fill_at(keys), f64::from(self.hashes))
    }

    /// The textbook prediction, `(1 - e^(-kn/m))^k`: a little low for small filters.
    pub fn classic_rate_at(self, keys: u64) -> f64 {
        let k = f64::from(self.hashes);
        libm::pow(1.0 - libm::exp(-k * keys as f64 / self.bits as f64), k)
    }

    /// The exact false-positive rate after `keys` distinct keys: the mean of `(X/m)^k` over the
    /// distribution of the number of ones `X` after `kn` independent throws.
    ///
    /// Always at or above [`rate_at`](Shape::rate_at) (Bose et al., 2008), by 6 % near 32 bits and
    /// by less than 0.1 % from 10 000 bits on. `None` where the sum would take more than 10^9
    /// steps, where the two are the same for every practical purpose.
    pub fn exact_rate_at(self, keys: u64) -> Option<f64> {
        const STEPS: u64 = 1_000_000_000;
        // Terms below this cannot move the 15th digit of any rate that 10^9 steps can reach.
        const NEGLIGIBLE: f64 = 1e-60;
        let throws = keys.checked_mul(u64::from(self.hashes))?;
        if throws.checked_mul(self.bits)? > STEPS {
            return None;
        }
        let m = self.bits as f64;
        let cells = usize::try_from(self.bits.min(throws)).ok()?;
        // chance[x] is the probability of x ones; only low..=high are not negligible.
        let mut chance = vec![0.0_f64; cells + 2];
        chance[0] = 1.0;
        let (mut low, mut high) = (0_usize, 0_usize);
        for _ in 0..throws {
            high = (high + 1).min(cells);
            for x in (low..=high).rev() {
                let stays = chance[x] * x as f64 / m;
                let grows = match x.checked_sub(1) {
                    Some(fewer) => chance[fewer] * (m - fewer as f64) / m,
                    None => 0.0,
                };
                chance[x] = stays + grows;
            }
            while low < high && chance[low] < NEGLIGIBLE {
                chance[low] = 0.0;
                low += 1;
            }
        }
        let k = f64::from(self.hashes);
        Some(
            (low..=high)
                .map(|x| chance[x] * libm::pow(x as f64 / m, k))
                .sum(),
        )
    }

    /// The false-positive rate of a filter that has `ones` ones now: `(X/m)^k`.
    pub fn rate_with(self, ones: u64) -> f64 {
        libm::pow(ones as f64 / self.bits as f64, f64::from(self.hashes))
    }

    /// Estimates how many distinct keys made `ones` ones: `-(m/k) ln(1 - X/m)` (Swamidass and
    /// Baldi, 2007).
    ///
    /// `None` when every bit is one: a saturated filter holds no estimate.
    pub fn keys_at(self, ones: u64) -> Option<f64> {
        if ones >= self.bits {
            return None;
        }
        let m = self.bits as f64;
        Some(-libm::log1p(-(ones as f64 / m)) * m / f64::from(self.hashes))
    }

    /// The number of hashes, as a real number, that would make the rate lowest for `keys` keys in
    /// this many bits: `(m/n) ln 2`.
    pub fn optimal_hashes(self, keys: u64) -> f64 {
        self.bits as f64 / keys as f64 * core::f64::consts::LN_2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(bits: u64, hashes: u32) -> Shape {
        Shape::new(bits, hashes).expect("a valid shape")
    }

    /// Asserts that `got` prints as `expected` when rounded to as many significant digits.
    #[track_caller]
    fn assert_digits(got: f64, expected: f64, digits: i32) {
        let tolerance = expected.abs() * libm::pow(10.0, f64::from(1 - digits)) * 0.51;
        assert!(
            (got - expected).abs() <= tolerance,
            "{got} is not {expected}"
        );
    }

    #[test]
    fn shapes_outside_the_accepted_range_are_refused_by_value() {
        assert!(matches!(Shape::new(0, 1), Err(Error::Bits { got: 0, .. })));
        assert!(matches!(
            Shape::new(u64::MAX, 1),
            Err(Error::Bits { got: u64::MAX, .. })
        ));
        assert!(matches!(
            Shape::new(64, 0),
            Err(Error::Hashes { got: 0, .. })
        ));
        assert!(matches!(
            Shape::new(64, 4097),
            Err(Error::Hashes { got: 4097, .. })
        ));
    }

    #[test]
    fn small_filters_have_the_classic_bit_level_and_exact_rates_of_the_table() {
        for (m, n, k, classic, bit_level, exact) in [
            (8, 2, 2, 0.154_818_1, 0.171_245_6, 0.177_764_892_6),
            (32, 4, 4, 0.023_968_65, 0.025_164_96, 0.026_768_25),
            (64, 8, 5, 0.021_679_22, 0.022_300_73, 0.023_416_09),
            (256, 32, 6, 0.021_577_14, 0.021_747_80, 0.022_122_86),
            (1024, 100, 7, 0.007_302_42, 0.007_319_84, 0.007_366_258),
            (9586, 1000, 7, 0.010_034_53, 0.010_037_02, 0.010_043_58),
        ] {
            let shape = shape(m, k);
            assert_digits(shape.classic_rate_at(n), classic, 6);
            assert_digits(shape.rate_at(n), bit_level, 6);
            assert_digits(shape.exact_rate_at(n).expect("small"), exact, 6);
        }
        assert_digits(
            shape(4, 2).exact_rate_at(1).expect("small"),
            13.0 / 64.0,
            15,
        );
        assert_digits(shape(2, 1).exact_rate_at(1).expect("small"), 0.5, 15);
        assert_digits(
            shape(8, 2).exact_rate_at(2).expect("small"),
            5825.0 / 32768.0,
            15,
        );
    }

    #[test]
    fn the_exact_rate_refuses_what_would_take_too_long() {
        assert_eq!(shape(1 << 40, 7).exact_rate_at(1 << 40), None);
        assert_eq!(shape(1 << 20, 7).exact_rate_at(1000), None);
    }

    #[test]
    fn overfilled_filters_collapse_as_tabled() {
        let shape = shape(9586, 7);
        for (keys, rate) in [
            (500, 2.506e-4),
            (1000, 0.010_035),
            (1500, 0.057_86),
            (2000, 0.157_41),
            (3000, 0.435_96),
            (5000, 0.831_83),
        ] {
            assert_digits(shape.classic_rate_at(keys), rate, 4);
        }
    }

    #[test]
    fn the_best_number_of_hashes_is_that_of_the_table() {
        for (rate, bound, bits, best, rates) in [
            (0.1, 3321.93, 4793, 3.3223, [0.100_691_9, 0.102_577_5]),
            (0.05, 4321.93, 6236, 4.3225, [0.050_251_6, 0.051_008_0]),
            (0.03, 5058.89, 7299, 5.0593, [0.029_996_4, 0.030_993_9]),
            (0.01, 6643.86, 9586, 6.6445, [0.010_138_86, 0.010_034_53]),
            (
                0.001,
                9965.78,
                14_378,
                9.9661,
                [0.001_021_361, 9.998_264e-4],
            ),
            (
                1e-4,
                13_287.7,
                19_171,
                13.2883,
                [1.000_927e-4, 1.007_418e-4],
            ),
            (
                1e-6,
                19_931.6,
                28_756,
                19.9321,
                [1.009_226e-6, 9.996_528e-7],
            ),
        ] {
            assert_digits(minimum_bits(1000, rate).expect("valid"), bound, 6);
            assert_digits(shape(bits, 1).optimal_hashes(1000), best, 5);
            for (hashes, rate) in (best as u32..).zip(rates) {
                assert_digits(shape(bits, hashes).classic_rate_at(1000), rate, 6);
            }
        }
    }

    #[test]
    fn keys_are_estimated_from_ones() {
        assert_digits(
            shape(1000, 5).keys_at(500).expect("not full"),
            138.629_436,
            9,
        );
        assert_digits(
            shape(9586, 7).keys_at(4990).expect("not full"),
            1_006.690_690,
            10,
        );
        assert_digits(
            shape(1000, 3).keys_at(100).expect("not full"),
            35.120_172,
            8,
        );
        assert_digits(
            shape(9586, 7).keys_at(9585).expect("not full"),
            12_555.001_9,
            9,
        );
        assert_eq!(shape(9586, 7).keys_at(9586), None);
        assert_eq!(shape(9586, 7).keys_at(0), Some(0.0));
    }

    #[test]
    fn no_keys_means_no_false_positives() {
        for shape in [shape(1, 1), shape(64, 3), shape(1 << 40, 20)] {
            assert_eq!(shape.rate_at(0), 0.0);
            assert_eq!(shape.classic_rate_at(0), 0.0);
            assert_eq!(shape.rate_with(0), 0.0);
        }
        assert_eq!(shape(1, 1).rate_at(1), 1.0);
    }
}
