//! Rules that choose a shape for a capacity and a rate: our own, and the bit-exact rules of others.

use crate::shape::check_request;
use crate::{Error, Result, Shape};

use core::f64::consts::LN_2;

/// A rule that turns a capacity and a rate into a [`Shape`].
///
/// The foreign rules give, to the last bit, the shape their original gives. Where the original
/// overflows or makes a filter without hashes, they refuse: otherwise the filter would silently have
/// another rate than the one asked for. Every rule refuses a capacity of zero (Guava
/// takes it for one).
///
/// ```
/// use mayhap::Sizing;
///
/// let guava = Sizing::Guava.shape(10_000_000, 0.01)?;
/// assert_eq!((guava.bits(), guava.hashes()), (95_850_624, 7));
/// let murmur = Sizing::MurmurFloorMod.shape(10_000_000, 0.01)?;
/// assert_eq!((murmur.bits(), murmur.hashes()), (95_850_583, 6));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sizing {
    /// The integer number of hashes with the lower rate, then as many bits as keep the *predicted*
    /// rate at or below the one asked for; never fewer than 1024 bits, because the predictions of
    /// smaller filters are too low.
    Optimal,
    /// Guava since 33.4: hashes from the rate alone, bits rounded up to whole 64-bit words.
    Guava,
    /// Guava before 33.4: hashes from bits per key. Differs from [`Sizing::Guava`] for a few keys.
    GuavaBefore33_4,
    /// Salted digests in Redis: hashes rounded up, bits from the rounded hashes.
    Salted,
    /// Murmur with floor-mod: bits and hashes both truncated.
    MurmurFloorMod,
    /// Three string hashes: the bits that three hashes need. (The original has a fixed size.)
    ThreeHash,
    /// DCSO's `bloom` tools: bits truncated, hashes rounded up. (Spark's rule is
    /// [`Sizing::GuavaBefore33_4`].)
    Dcso,
    /// One layer of RedisBloom: bits truncated, then up to a multiple of 64, hashes rounded up.
    RedisBloom,
}

impl Sizing {
    /// Returns the shape this rule gives.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, the rule's own arithmetic
    /// overflows, or the result is not a valid shape.
    pub fn shape(self, keys: u64, rate: f64) -> Result<Shape> {
        check_request(keys, rate)?;
        match self {
            Sizing::Optimal => optimal(keys, rate),
            Sizing::Guava => {
                let hashes = libm::floor(-libm::log(rate) / LN_2 + 0.5);
                guava(guava_bits(keys, rate), hashes)
            }
            Sizing::GuavaBefore33_4 => {
                let bits = guava_bits(keys, rate);
                let hashes = libm::floor(bits as f64 / keys as f64 * LN_2 + 0.5);
                guava(bits, hashes)
            }
            Sizing::Salted => salted(keys, rate),
            Sizing::MurmurFloorMod => murmur_floor_mod(keys, rate),
            Sizing::ThreeHash => {
                let bits = -3.0 * keys as f64 / libm::log1p(-libm::cbrt(rate));
                Shape::new((libm::ceil(bits) as u64).max(64), 3)
            }
            Sizing::Dcso => dcso(keys, rate),
            Sizing::RedisBloom => {
                let bits_per_key = -libm::log(rate) / REDISBLOOM_LN_2_SQUARED;
                let bits = ((bits_per_key * keys as f64) as u64).max(1);
                let bits = bits.checked_next_multiple_of(64);
                let bits = bits.ok_or(Error::TooLarge { keys, rate })?;
                Shape::new(bits, libm::ceil(LN_2 * bits_per_key) as u32)
            }
        }
    }

    /// The number of bits the rule computes before rounding it to its storage.
    ///
    /// Guava reports this figure and then rounds it up to whole words; for every other rule it is
    /// `shape(..)?.bits()`.
    ///
    /// # Errors
    ///
    /// As [`Sizing::shape`], but a Guava filter that would be refused still has this figure.
    pub fn unrounded_bits(self, keys: u64, rate: f64) -> Result<u64> {
        check_request(keys, rate)?;
        match self {
            Sizing::Guava | Sizing::GuavaBefore33_4 => Ok(guava_bits(keys, rate)),
            other => Ok(other.shape(keys, rate)?.bits()),
        }
    }
}

/// RedisBloom's ln(2)^2, to 15 digits: it gives rates that are powers of a half one hash more.
pub(crate) const REDISBLOOM_LN_2_SQUARED: f64 = 0.480_453_013_918_201;

/// The fewest bits [`Sizing::Optimal`] chooses. Below about 1000 bits the number of ones varies so
/// much from filter to filter that the mean rate is well above the predicted one.
const LEAST_BITS: f64 = 1024.0;

fn optimal(keys: u64, rate: f64) -> Result<Shape> {
    let n = keys as f64;
    let too_large = Error::TooLarge { keys, rate };
    let bits = libm::ceil(-n * libm::log(rate) / (LN_2 * LN_2)).max(LEAST_BITS);
    let Some(bits) = whole_bits(bits) else {
        return Err(too_large);
    };
    let hashes = -libm::log2(rate);
    let fewer = Shape::new(bits, (libm::floor(hashes) as u32).max(1))?;
    let more = Shape::new(bits, libm::ceil(hashes) as u32)?;
    let best = if fewer.rate_at(keys) <= more.rate_at(keys) {
        fewer
    } else {
        more
    };
    if best.rate_at(keys) <= rate {
        return Ok(best);
    }

    // Neither integer reaches the rate: keep the better one and solve the classic formula for m.
    let k = f64::from(best.hashes());
    let bits = libm::ceil(-k * n / libm::log1p(-libm::pow(rate, 1.0 / k)));
    let Some(mut bits) = whole_bits(bits.max(best.bits() as f64)) else {
        return Err(too_large);
    };
    // The classic formula is a little low; a few more bits close the gap.
    loop {
        let shape = Shape::new(bits, best.hashes())?;
        if shape.rate_at(keys) <= rate {
            return Ok(shape);
        }
        bits += 1 + (bits >> 40);
    }
}

/// `bits` as an integer, unless it is past 2^63.
fn whole_bits(bits: f64) -> Option<u64> {
    (bits <= (1_u64 << 63) as f64).then_some(bits as u64)
}

/// Guava's `optimalNumOfBits`: `(long) (-n ln p / (ln 2)^2)`, truncated and saturating.
fn guava_bits(keys: u64, rate: f64) -> u64 {
    (-(keys as f64) * libm::log(rate) / (LN_2 * LN_2)) as i64 as u64
}

fn guava(bits: u64, hashes: f64) -> Result<Shape> {
    const EXPECTED: &str = "1 to 64 * (2^31 - 1), as Guava stores them";
    let words = bits.div_ceil(64);
    if words == 0 || words > i32::MAX as u64 {
        return Err(Error::Bits {
            got: bits,
            expected: EXPECTED,
        });
    }
    let hashes = (hashes as u32).max(1);
    if hashes > 255 {
        return Err(Error::Hashes {
            got: hashes,
            least: 1,
            most: 255,
        });
    }
    Shape::new(words * 64, hashes)
}

fn salted(keys: u64, rate: f64) -> Result<Shape> {
    let overflow = Error::Overflow {
        rule: "salted digests",
        keys,
        rate,
    };
    let hashes = libm::ceil(-(libm::log(rate) / LN_2)) as u32;
    // The original multiplies in 32 bits and wraps; past 2^31 - 1 its m is garbage.
    let product = keys
        .checked_mul(u64::from(hashes))
        .and_then(|product| i32::try_from(product).ok());
    let Some(product) = product else {
        return Err(overflow);
    };
    let bits = libm::ceil(f64::from(product) / LN_2);
    if bits > f64::from(i32::MAX) {
        return Err(overflow);
    }
    Shape::new(bits as u64, hashes)
}

fn murmur_floor_mod(keys: u64, rate: f64) -> Result<Shape> {
    let n = keys as f64;
    let bits = -n * libm::log(rate) / libm::pow(LN_2, 2.0);
    // The original saturates here, and its filter then has another rate than the one asked for.
    if bits >= f64::from(i32::MAX) {
        return Err(Error::Overflow {
            rule: "murmur, floor-mod",
            keys,
            rate,
        });
    }
    let bits = libm::trunc(bits);
    Shape::new(bits as u64, (bits / n * LN_2) as u32)
}

fn dcso(keys: u64, rate: f64) -> Result<Shape> {
    let n = keys as f64;
    // The original rounds the negative figure up and drops the sign.
    let bits = libm::trunc(-(n * libm::log(rate) / (LN_2 * LN_2)));
    let Some(whole) = whole_bits(bits) else {
        return Err(Error::TooLarge { keys, rate });
    };
    Shape::new(whole, libm::ceil(LN_2 * bits / n) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_integer_of_hashes_is_chosen_and_bits_grow_until_the_rate_holds() {
        // (rate, unrounded m, better k): the table of the sizing specification.
        for (rate, textbook, hashes, holds) in [
            (0.1, 4793, 3, false),
            (0.05, 6236, 4, false),
            (0.03, 7299, 5, true),
            (0.01, 9586, 7, false),
            (0.001, 14378, 10, true),
            (1e-4, 19171, 13, false),
            (1e-6, 28756, 20, true),
        ] {
            let shape = Shape::for_capacity(1000, rate).expect("valid");

            assert_eq!(shape.hashes(), hashes, "k at {rate}");
            assert!(shape.rate_at(1000) <= rate, "rate at {rate}");
            let at_textbook = Shape::new(textbook, hashes).expect("valid");
            assert_eq!(at_textbook.classic_rate_at(1000) <= rate, holds, "{rate}");
            assert!(shape.bits() as f64 <= textbook as f64 * 1.01, "m at {rate}");
        }
    }

    #[test]
    fn one_bit_less_would_miss_the_rate() {
        for (keys, rate) in [(1000, 0.01), (123_456, 0.05), (1_000_000, 1e-4)] {
            let shape = Shape::for_capacity(keys, rate).expect("valid");
            let smaller = Shape::new(shape.bits() - 12, shape.hashes()).expect("valid");
            assert!(smaller.rate_at(keys) > rate);
        }
    }

    #[test]
    fn published_shapes_come_out() {
        let salted = Sizing::Salted.shape(600_000, 0.0001).expect("valid");
        assert_eq!((salted.bits(), salted.hashes()), (12_118_639, 14));
        assert!((salted.classic_rate_at(600_000) - 6.103_51e-5).abs() < 1e-9);

        let three_percent = Sizing::MurmurFloorMod
            .shape(10_000_000, 0.03)
            .expect("valid");
        assert_eq!(
            (three_percent.bits(), three_percent.hashes()),
            (72_984_408, 5)
        );
        assert_eq!(
            three_percent.classic_rate_at(10_000_000),
            0.030_004_411_202_804_09
        );
        let one_percent = Sizing::MurmurFloorMod
            .shape(10_000_000, 0.01)
            .expect("valid");
        assert_eq!((one_percent.bits(), one_percent.hashes()), (95_850_583, 6));
        assert_eq!(
            one_percent.classic_rate_at(10_000_000),
            0.010_143_159_512_273_257
        );

        assert_eq!(
            Sizing::Guava
                .unrounded_bits(10_000_000, 0.001)
                .expect("valid"),
            143_775_875
        );
        assert_eq!(
            Sizing::Guava.unrounded_bits(1000, 1e-16).expect("valid"),
            76_680
        );
    }

    #[test]
    fn two_hundred_million_keys_fit_512_mebibytes() {
        let shape = Shape::new(1 << 32, 15).expect("valid");
        assert!((shape.classic_rate_at(200_000_000) - 3.305e-5).abs() < 1e-8);
        let fits = Shape::for_capacity(224_000_000, 1e-4).expect("valid");
        assert!(fits.bits() as f64 <= 1.001 * (1_u64 << 32) as f64);
    }

    #[test]
    fn every_rule_refuses_what_is_no_request() {
        for rule in [
            Sizing::Optimal,
            Sizing::Guava,
            Sizing::GuavaBefore33_4,
            Sizing::Salted,
            Sizing::MurmurFloorMod,
            Sizing::ThreeHash,
            Sizing::Dcso,
            Sizing::RedisBloom,
        ] {
            assert!(matches!(
                rule.shape(0, 0.01),
                Err(Error::Capacity { got: 0 })
            ));
            for rate in [0.0, -0.1, 1.0, 1.5, f64::INFINITY, f64::NAN] {
                assert!(
                    matches!(rule.shape(10, rate), Err(Error::Rate { .. })),
                    "{rule:?} {rate}"
                );
            }
        }
    }

    #[test]
    fn requests_past_64_bits_are_refused() {
        assert!(matches!(
            Shape::for_capacity(u64::MAX, 0.01),
            Err(Error::TooLarge { keys: u64::MAX, .. })
        ));
        let smallest = f64::from_bits(1);
        assert_eq!(
            Shape::for_capacity(1, smallest).expect("valid").hashes(),
            1074
        );
        assert!(Shape::for_capacity(1, 1.0 - f64::EPSILON).is_ok());
    }

    #[test]
    fn rules_that_overflow_their_originals_are_refused_by_name() {
        assert!(matches!(
            Sizing::Salted.shape(153_391_690, 0.0001),
            Err(Error::Overflow {
                rule: "salted digests",
                ..
            })
        ));
        assert!(matches!(
            Sizing::MurmurFloorMod.shape(1_000_000_000, 0.01),
            Err(Error::Overflow {
                rule: "murmur, floor-mod",
                ..
            })
        ));
        assert!(matches!(
            Sizing::MurmurFloorMod.shape(10, 0.6),
            Err(Error::Hashes { got: 0, .. })
        ));
    }
}
