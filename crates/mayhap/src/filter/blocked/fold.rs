//! Start big, shrink to fit: halving a filter whose keys turned out to be few.
//!
//! The line of a key is the high half of a product with the number of lines, so in half as many
//! lines it is the same number without its last bit: lines `2i` and `2i + 1` become line `i`.

use super::super::description::Wrap as _;
use super::super::fixed::Fixed;
use super::Blocked;
use crate::bits::{Bitmap, Bits, BitsMut};
use crate::{Error, Promise, Result};

impl Blocked {
    /// Halves the filter: bit for bit the filter of half the lines with the same keys.
    ///
    /// Its capacity at the promised rate falls with it, and [`stats`](Blocked::stats) says so.
    ///
    /// # Errors
    ///
    /// When the number of lines is odd, or there is no memory for the half; the filter is then
    /// unchanged.
    ///
    /// ```
    /// use mayhap::{Blocked, Filter, Insert};
    ///
    /// let mut filter = Blocked::with_capacity(1_000_000, 0.01)?; // nobody knew how many
    /// filter.insert_all(0..200_000_u32);
    /// filter.shrink(0.01)?;
    /// assert!(filter.shape().bits() < 2_500_000);
    /// assert!(filter.contains_all(0..200_000_u32));
    /// assert!(filter.stats().rate < 0.01);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn fold(&mut self) -> Result<()> {
        let Some(half) = self.shape().halved() else {
            return Err(Error::Bits {
                got: self.shape().bits(),
                expected: "an even number of lines, to be halved",
            });
        };
        let mut bits = Bitmap::new(half.bits())?;
        for index in 0..half.lines() {
            *bits.line_mut(index) = self.folded_line(index);
        }
        let mut body = Fixed::from_bits(bits, half, self.digester().clone())?;
        // One at least: a promise of none is no promise, and no file can say it.
        body.promise = self.body.promise.map(|promise| Promise {
            keys: half.capacity_at(promise.rate).max(1),
            ..promise
        });
        *self = Blocked::wrap(body);
        Ok(())
    }

    /// Folds as often as the rate, from the bits as they are, stays at most `rate`. Does nothing
    /// when it is above already, or `rate` is not a number.
    ///
    /// # Errors
    ///
    /// When there is no memory for the half; the filter is then folded as far as it went.
    pub fn shrink(&mut self, rate: f64) -> Result<()> {
        while let Some(half) = self.shape().halved() {
            let lines = (0..half.lines()).map(|index| self.folded_line(index));
            let fits = observed_rate(lines, half.hashes()) <= rate;
            if !fits {
                break;
            }
            self.fold()?;
        }
        Ok(())
    }

    fn folded_line(&self, index: u64) -> [u64; 8] {
        let (left, right) = (
            self.body.bits.line(2 * index),
            self.body.bits.line(2 * index + 1),
        );
        core::array::from_fn(|lane| left[lane] | right[lane])
    }
}

/// The rate of a filter with these lines: the mean over them of the chance that a question's bits
/// are all set, over every start of its window.
pub(super) fn observed_rate(lines: impl Iterator<Item = [u64; 8]>, hashes: u32) -> f64 {
    let (rounds, rest) = (hashes / 8, (hashes % 8) as usize);
    let mut sum = 0.0;
    let mut count = 0_u64;
    for line in lines {
        let fill = line.map(|lane| f64::from(lane.count_ones()) / 64.0);
        let full: f64 = fill.iter().product();
        let mut windows = 0.0;
        for start in 0..8 {
            let window: f64 = (start..start + rest).map(|lane| fill[lane % 8]).product();
            windows += window;
        }
        sum += libm::pow(full, f64::from(rounds)) * windows / 8.0;
        count += 1;
    }
    sum / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Assemble as _, Description, Digester, Filter as _, Insert as _, kinds::BlockedShape,
    };

    fn filled(lines: u64, hashes: u32, keys: u32) -> Blocked {
        let shape = BlockedShape::new(lines, hashes).expect("valid");
        let mut filter = Blocked::new(shape, Digester::default()).expect("small");
        filter.insert_all(0..keys);
        filter
    }

    #[test]
    fn a_folded_filter_is_the_filter_of_half_the_lines() {
        for hashes in [1, 6, 8, 9, 16, 21] {
            let mut folded = filled(96, hashes, 1000);
            for lines in [48, 24, 12, 6, 3] {
                folded.fold().expect("even");
                assert_eq!(
                    folded,
                    filled(lines, hashes, 1000),
                    "{hashes} hashes, {lines} lines"
                );
            }
            assert!(matches!(folded.fold(), Err(Error::Bits { .. })));
            assert_eq!(folded.shape().lines(), 3, "unchanged");
        }
    }

    #[test]
    fn a_promise_survives_folding_past_its_last_key() {
        // One hash never reaches this rate, so the half has room for no key at all.
        let description = Description {
            hashes: 1,
            bits: 1024,
            ..Blocked::plan(10, 1e-12).expect("valid")
        };
        let bits = Bitmap::new(1024).expect("small");
        let mut filter = Blocked::assemble(&description, vec![bits]).expect("valid");

        filter.fold().expect("even");

        let promise = filter.stats().promise.expect("as described");
        assert_eq!(
            promise.keys, 1,
            "0 could not be written to a file and read again"
        );
    }

    #[test]
    fn shrinking_stops_before_the_rate_is_passed() {
        let mut filter = Blocked::with_capacity(1_000_000, 0.01).expect("valid");
        filter.insert_all(0..100_000_u32);
        let lines = filter.shape().lines();

        filter.shrink(0.01).expect("memory");

        assert_eq!(filter.shape().lines(), lines / 8, "an eighth holds a tenth");
        assert!(filter.stats().rate <= 0.01);
        assert!(filter.contains_all(0..100_000_u32));
        let promise = filter.stats().promise.expect("made by capacity");
        assert!(
            (125_000..125_500).contains(&promise.keys),
            "{}",
            promise.keys
        );
        assert!(!filter.stats().is_over_capacity());
        filter.insert_all(100_000..140_000_u32);
        assert!(filter.stats().is_over_capacity());
    }

    #[test]
    fn shrinking_to_what_is_no_number_does_nothing() {
        // No rate compares above it, so the filter was folded to the end.
        let mut filter = filled(96, 6, 1000);
        filter.shrink(f64::NAN).expect("memory");
        assert_eq!(filter.shape().lines(), 96);
    }

    #[test]
    fn the_observed_rate_of_a_line_is_the_share_of_patterns_it_covers() {
        // Every lane half full: k bits are all set with chance 2^-k.
        let half = [0x5555_5555_5555_5555; 8];
        for hashes in [1, 5, 8, 13, 16] {
            let rate = observed_rate([half, half].into_iter(), hashes);
            assert_eq!(rate, libm::exp2(-f64::from(hashes)));
        }
        // Lanes 0 to 3 full, the others empty: of eight windows of two lanes, three are full.
        let full = u64::MAX;
        let line = [full, full, full, full, 0, 0, 0, 0];
        assert_eq!(observed_rate([line].into_iter(), 2), 3.0 / 8.0);
    }
}
