//! The places of the levels of a cascade.
//!
//! They lie one after another, the first one first; behind them the sizes of all but the first, a byte
//! each, so that the first is what is left. Every level after the first has one hash, and a bit for each
//! ln 2 keys in it: half of all keys get through.

use alloc::vec::Vec;
use core::f64::consts::LN_2;

use crate::bits::{Bitmap, Bits};
use crate::hash::reduce;
use crate::{Error, Result, hash::Digest};

/// The most levels. A billion keys take 60; more is a set of keys that does not come to an end.
pub(super) const MAX_LEVELS: u32 = 64;

/// The fewest bits of a level: what is left of the sets in the end gets through few such levels.
const LEAST_BITS: u64 = 16;

/// The bits of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    pub(super) start: u64,
    pub(super) bits: u64,
}

impl Level {
    /// A level after the first for this many keys, or hardly more.
    pub(super) fn after(start: u64, keys: u64) -> Level {
        let bits = libm::ceil(keys as f64 / LN_2) as u64;
        let bits = Size::new(bits.max(LEAST_BITS)).bits();
        Level { start, bits }
    }

    /// Returns whether the level, which is not the first, lets a key through that has this digest for it.
    #[inline]
    pub(super) fn passes(&self, bits: &impl Bits, digest: Digest) -> bool {
        bits.get(self.position(digest))
    }

    /// The only position of a key in a level after the first.
    #[inline]
    pub(super) fn position(&self, digest: Digest) -> u64 {
        self.start + reduce(digest.hi, self.bits)
    }

    /// The start of the next level.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bits
    }
}

/// The size of a level in a byte: 4 significant bits, the first of which is not written, above an exponent
/// of 5. Rounded up, a level lets fewer keys through, so those after it are smaller: in a simulation sizes of
/// 16 bits saved 0.2 % of large cascades and cost 3 % of small ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size(u8);

impl Size {
    /// The bits of a size in the body.
    const WIDTH: u64 = 8;

    /// The size of at least this many bits; the greatest, 15 * 2^31, for anything above. A level of more than
    /// 2 * 10^10 keys is then fuller than half.
    fn new(bits: u64) -> Size {
        let least = |size: &Size| size.bits() >= bits;
        let mut sizes = (0..=u8::MAX).map(Size);
        sizes.find(least).unwrap_or(Size(u8::MAX))
    }

    fn bits(self) -> u64 {
        u64::from(8 | self.0 & 7) << (self.0 >> 3)
    }
}

/// The bits that the sizes of `count` levels take.
pub(super) fn size_bits(count: u32) -> u64 {
    u64::from(count.saturating_sub(1)) * Size::WIDTH
}

/// Writes the sizes of the levels behind them.
///
/// # Errors
///
/// When there is no memory for them.
pub(super) fn write_sizes(levels: &[Level], bits: &mut Bitmap) -> Result<()> {
    let start = bits.size();
    bits.grow(start + size_bits(levels.len() as u32))?;
    for (index, level) in levels.iter().skip(1).enumerate() {
        let size = Size::new(level.bits);
        let place = start + index as u64 * Size::WIDTH;
        for bit in (0..Size::WIDTH).filter(|bit| size.0 >> bit & 1 == 1) {
            bits.set(place + bit);
        }
    }
    Ok(())
}

/// Reads where `count` levels are.
///
/// # Errors
///
/// When they take more bits than there are.
pub(super) fn read_sizes(bits: &impl Bits, count: u32) -> Result<Vec<Level>> {
    let refusal = Error::Bits {
        got: bits.size(),
        expected: "more than the levels after the first take",
    };
    let Some(start) = bits.size().checked_sub(size_bits(count)) else {
        return Err(refusal);
    };
    let size = |index: u64| {
        let place = start + index * Size::WIDTH;
        let one = |bit: u64| u8::from(bits.get(place + bit)) << bit;
        Size((0..Size::WIDTH).map(one).sum()).bits()
    };
    let sizes: Vec<u64> = (0..u64::from(count) - 1).map(size).collect();
    // At most 63 sizes below 2^35.
    let later: u64 = sizes.iter().sum();
    let first = match start.checked_sub(later) {
        None | Some(0) => return Err(refusal),
        Some(bits) => Level { start: 0, bits },
    };
    let mut levels = Vec::with_capacity(count as usize);
    levels.push(first);
    let mut start = first.end();
    for bits in sizes {
        levels.push(Level { start, bits });
        start += bits;
    }
    Ok(levels)
}

/// The bits after the first level, and the number of levels, that are expected with this many included keys
/// and this many keys in the second level: a build by mean numbers.
pub(super) fn expected(included: u64, second: f64) -> (u64, u32) {
    let (mut last, mut others) = (included as f64, second);
    let (mut bits, mut count) = (0_u64, 1);
    while others >= 0.5 && count < MAX_LEVELS {
        let level = Level::after(0, libm::ceil(others) as u64);
        let passing = -libm::expm1(-others / level.bits as f64);
        (last, others) = (others, last * passing);
        bits = bits.saturating_add(level.bits);
        count += 1;
    }
    (bits.saturating_add(size_bits(count)), count)
}

/// The chance that a key of neither set gets through an odd number of the levels after the first: the mean over builds.
///
/// Sizes are rounded up, so a level lets half of all keys through at the most; how many, depends on how far the number of
/// its keys is below what its size is for.
pub(super) fn odd_chance(included: u64, excluded: f64, first_rate: f64) -> f64 {
    let (mut last, mut others) = (included as f64, excluded * first_rate);
    let mut variance = others * (1.0 - first_rate);
    let (mut through, mut odd) = (-1.0, 0.0);
    for _ in 1..MAX_LEVELS {
        if others < 0.5 {
            break;
        }
        let (passing, spread) = passing(others, variance);
        variance = last * passing * (1.0 - passing) + last * last * spread;
        (last, others) = (others, last * passing);
        through *= -passing;
        odd += through;
    }
    odd
}

/// The share of keys that a level lets through, and its variance from build to build, when the number of keys in it has
/// this mean and variance.
fn passing(keys: f64, variance: f64) -> (f64, f64) {
    let deviation = libm::sqrt(variance);
    let (mut weights, mut sum, mut squares) = (0.0, 0.0, 0.0);
    // Four standard deviations to either side, by fifths of one.
    for step in -20..=20 {
        let away = f64::from(step) / 5.0;
        let keys = keys + away * deviation;
        if keys < 0.5 {
            continue;
        }
        let level = Level::after(0, libm::ceil(keys) as u64);
        let share = -libm::expm1(-keys / level.bits as f64);
        let weight = libm::exp(-away * away / 2.0);
        weights += weight;
        sum += weight * share;
        squares += weight * share * share;
    }
    let mean = sum / weights;
    (mean, (squares / weights - mean * mean).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_hardly_larger_than_what_they_are_of() {
        for exponent in 3..34 {
            for bits in [(1 << exponent) - 1, 1 << exponent, (1 << exponent) + 1] {
                let size = Size::new(bits).bits();
                assert!(
                    size >= bits && size - bits <= bits / 8 + 1,
                    "{bits}: {size}"
                );
            }
        }
        assert_eq!((Size::new(0).bits(), Size::new(16).bits()), (8, 16));
        assert_eq!(Size::new(u64::MAX).bits(), 15 << 31);
        assert!((0..=255).all(|byte| Size::new(Size(byte).bits()) == Size(byte)));
    }

    #[test]
    fn sizes_come_back_and_impossible_ones_are_refused() {
        let first = Level {
            start: 0,
            bits: 1000,
        };
        let second = Level::after(first.end(), 500);
        let third = Level::after(second.end(), 3);
        let levels = [first, second, third];
        let mut bits = Bitmap::new(third.end()).expect("small");
        write_sizes(&levels, &mut bits).expect("small");

        assert_eq!(read_sizes(&bits, 3).expect("as written"), levels);
        bits.set_range(third.end()..bits.size() - 8);
        assert!(matches!(read_sizes(&bits, 3), Err(Error::Bits { .. })));
        let few = Bitmap::new(15).expect("small");
        assert!(matches!(read_sizes(&few, 3), Err(Error::Bits { .. })));
    }
}
