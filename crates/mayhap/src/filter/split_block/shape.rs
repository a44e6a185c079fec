//! How many blocks, and the rate that gives.
//!
//! Blocks fill unevenly: with `n` keys on `L` blocks a block holds a Poisson number of keys with mean
//! `λ = n/L`, and the rate is the mean over that number of `(1 - (31/32)^i)^8`, the chance that one
//! bit in each of the eight words of 32 is set by `i` keys (Putze, Sanders, Singler, 2007).
//!
//! The closed form in Parquet's specification, `-8 / ln(1 - f^(1/8))` bits per key, takes every
//! block for average: asked for 0.01 it gives 0.0146, asked for 10^-4 it gives 3.2 · 10^-4.

use core::fmt;

use crate::filter::load;
use crate::shape::check_request;
use crate::{Error, Result};

/// How big a [`SplitBlock`](crate::kinds::SplitBlock) filter is: its blocks of 256 bits.
///
/// ```
/// use mayhap::kinds::SplitBlockShape;
///
/// let shape = SplitBlockShape::for_capacity(1_000_000, 0.01)?;
/// assert_eq!(shape.blocks(), 41_130);
/// assert!(shape.rate_at(1_000_000) <= 0.01);
/// assert_eq!(shape.to_power_of_two().blocks(), 65_536);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SplitBlockShape {
    blocks: u64,
}

impl fmt::Display for SplitBlockShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks of 256 bits", self.blocks)
    }
}

impl SplitBlockShape {
    /// The most blocks: a block is chosen by 32 bits of the hash.
    pub const MAX_BLOCKS: u64 = 1 << 32;

    /// The lowest rate a shape is sized for. A block would hold fewer than four keys at it, and a
    /// standard filter takes less than half the memory.
    pub const LEAST_RATE: f64 = 1e-6;

    /// A shape of exactly `blocks` blocks.
    ///
    /// # Errors
    ///
    /// When `blocks` is not in `1..=`[`SplitBlockShape::MAX_BLOCKS`].
    pub fn new(blocks: u64) -> Result<SplitBlockShape> {
        if blocks == 0 || blocks > Self::MAX_BLOCKS {
            return Err(Error::Bits {
                got: blocks.saturating_mul(256),
                expected: "256 to 2^40, in blocks of 256",
            });
        }
        Ok(SplitBlockShape { blocks })
    }

    /// The smallest shape whose predicted rate with `keys` keys is at most `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or is below
    /// [`SplitBlockShape::LEAST_RATE`] (a [`Bloom`](crate::Bloom) goes lower), or 2^32 blocks do not
    /// suffice.
    pub fn for_capacity(keys: u64, rate: f64) -> Result<SplitBlockShape> {
        check_request(keys, rate)?;
        if rate < Self::LEAST_RATE {
            return Err(Error::LowRate {
                got: rate,
                least: Self::LEAST_RATE,
            });
        }
        // Past 2^64 the cast saturates, and `new` refuses.
        SplitBlockShape::new(libm::ceil(keys as f64 / keys_per_block(rate)) as u64)
    }

    /// The shape with as many blocks rounded up to a power of two, which is what writers of Parquet
    /// files make and some of its readers demand.
    #[must_use]
    pub fn to_power_of_two(self) -> SplitBlockShape {
        // The most blocks are a power of two themselves, so this never passes them.
        SplitBlockShape {
            blocks: self.blocks.next_power_of_two(),
        }
    }

    /// The number of blocks.
    #[inline]
    pub fn blocks(self) -> u64 {
        self.blocks
    }

    /// The number of bits: 256 in each block.
    #[inline]
    pub fn bits(self) -> u64 {
        self.blocks * 256
    }

    /// The block of a key with this hash.
    #[inline]
    pub(super) fn block(self, hash: u64) -> u64 {
        // Below 2^64: both factors are at most 2^32, and the first is less.
        ((hash >> 32) * self.blocks) >> 32
    }

    /// Predicts the false-positive rate after `keys` distinct keys.
    pub fn rate_at(self, keys: u64) -> f64 {
        if keys as f64 / self.blocks as f64 > MOST_LOAD {
            return 1.0;
        }
        rate_of(load::on_line(keys, self.blocks))
    }

    /// The most keys for which the predicted rate is at most `rate`; 0 when one is too many.
    pub fn capacity_at(self, rate: f64) -> u64 {
        (keys_per_block(rate) * self.blocks as f64) as u64
    }

    /// Estimates how many distinct keys made `ones` ones; `None` when every bit is one.
    ///
    /// A key sets one of the `32 L` bits that lie in the first words of the blocks, one of those in
    /// the second words, and so on: `n` keys leave a bit zero with chance `(1 - 1/(32 L))^n`,
    /// however unevenly the blocks fill.
    pub fn keys_at(self, ones: u64) -> Option<f64> {
        if ones >= self.bits() {
            return None;
        }
        let zeros = libm::log1p(-(ones as f64 / self.bits() as f64));
        // Not below zero for no ones, where the quotient is -0.
        Some((zeros / libm::log1p(-1.0 / (32.0 * self.blocks as f64))).max(0.0))
    }
}

/// The keys per block from which on every bit is taken for a one.
const MOST_LOAD: f64 = 10_000.0;

/// The rate over blocks with a Poisson number of keys of this mean.
fn rate(mean: f64) -> f64 {
    match mean {
        _ if mean > MOST_LOAD => 1.0,
        0.0 => 0.0,
        _ => rate_of(load::poisson(mean)),
    }
}

/// The rate over blocks with these chances of having keys, from the fewest on.
fn rate_of((fewest, chances): (f64, impl Iterator<Item = f64>)) -> f64 {
    let mut zero = libm::pow(31.0 / 32.0, fewest);
    let mut rate = 0.0;
    for chance in chances {
        rate += chance * libm::pow(1.0 - zero, 8.0);
        zero *= 31.0 / 32.0;
    }
    rate.min(1.0)
}

/// The mean number of keys per block at which the rate is the one given.
fn keys_per_block(wanted: f64) -> f64 {
    // The rate rises with the load from 0 to 1; 60 halvings leave a relative error of 10^-17.
    let exceeds = |load| rate(load) > wanted;
    load::highest((1e-12, MOST_LOAD), 60, load::geometric, exceeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(got: f64, expected: f64) {
        // The tables have four digits.
        assert!(
            (got / expected - 1.0).abs() < 2e-4,
            "{got} is not {expected}"
        );
    }

    #[test]
    fn rates_are_those_of_the_table() {
        for (bits_per_key, expected) in [
            (8.0, 0.03321),
            (10.0, 0.01265),
            (12.0, 0.005420),
            (16.0, 0.001316),
            (20.0, 4.200e-4),
            (24.0, 1.627e-4),
        ] {
            let got = rate(256.0 / bits_per_key);
            // Half a unit in the fourth digit.
            assert!((got / expected - 1.0).abs() < 5e-4, "{got}, not {expected}");
        }
    }

    #[test]
    fn bits_per_key_are_those_of_the_table() {
        for (rate, bits_per_key) in [
            (0.1, 5.989),
            (0.01, 10.529),
            (0.001, 16.890),
            (1e-4, 26.342),
            (1e-5, 40.985),
        ] {
            assert_near(256.0 / keys_per_block(rate), bits_per_key);
            let shape = SplitBlockShape::for_capacity(10_000_000, rate).expect("valid");
            assert_near(shape.bits() as f64 / 1e7, bits_per_key);
            assert!(shape.rate_at(10_000_000) <= rate);
        }
    }

    #[test]
    fn the_closed_form_misses_the_rate_it_promises() {
        for (asked, given) in [(0.01, 0.014627), (0.001, 0.0020765), (1e-4, 3.2251e-4)] {
            let bits_per_key = -8.0 / libm::log1p(-libm::pow(asked, 0.125));
            assert_near(rate(256.0 / bits_per_key), given);
        }
    }

    #[test]
    fn capacity_is_the_inverse_of_the_rate() {
        for rate in [0.2, 0.01, 1e-5] {
            let shape = SplitBlockShape::for_capacity(1_000_000, rate).expect("valid");
            let capacity = shape.capacity_at(rate);
            assert!((1_000_000..1_000_100).contains(&capacity), "{capacity}");
        }
        assert_eq!(
            SplitBlockShape::new(1).expect("valid").capacity_at(1e-20),
            0
        );
    }

    #[test]
    fn every_hash_has_a_block() {
        let most = SplitBlockShape::new(SplitBlockShape::MAX_BLOCKS).expect("valid");
        assert_eq!(most.block(u64::MAX), SplitBlockShape::MAX_BLOCKS - 1);
        let odd = SplitBlockShape::new(7).expect("valid");
        assert_eq!((odd.block(0), odd.block(u64::MAX)), (0, 6));
        assert_eq!(odd.block(0xFFFF_FFFF), 0, "the low half has no say");
    }

    #[test]
    fn no_ones_are_no_keys_and_all_ones_cannot_tell() {
        let shape = SplitBlockShape::new(10).expect("valid");
        assert_eq!(shape.keys_at(0), Some(0.0));
        assert_near(shape.keys_at(8).expect("not full"), 1.0);
        assert_eq!(shape.keys_at(2560), None);
    }

    #[test]
    fn what_is_no_shape_is_refused_by_value() {
        for blocks in [0, SplitBlockShape::MAX_BLOCKS + 1, u64::MAX] {
            let refused = SplitBlockShape::new(blocks);
            assert!(matches!(refused, Err(Error::Bits { .. })), "{blocks}");
        }
        let request = SplitBlockShape::for_capacity;
        assert!(matches!(request(0, 0.1), Err(Error::Capacity { .. })));
        for rate in [0.0, 1.0, f64::NAN] {
            assert!(matches!(request(9, rate), Err(Error::Rate { .. })));
        }
        assert!(matches!(request(9, 1e-7), Err(Error::LowRate { .. })));
        assert!(matches!(request(u64::MAX, 0.01), Err(Error::Bits { .. })));
    }
}
