//! The number of layers, their sizes and their rates: whole numbers that a description holds.
//!
//! With `P` the rate asked for and `r` the tightening, layer `i` may have the rate
//! `P_i = P (1 - r) r^i`; the sum over any number of layers is below `P`. The first layer is sized for
//! the first capacity at `P_0`. Each further one has as many bits per key, so that a key has one
//! pattern for all, and `growth` times the lines of the one before; small ones have more, because
//! many small layers take time and save no memory worth it. The size of every layer so follows from the
//! size of all and whole numbers.
//!
//! A description decides how much memory later inserts take, so one that no filter has is refused: leaps
//! that do not follow from the first layer, and layers that would take less than a key per line.

use super::super::layered::{self, STATE_BITS};
use super::super::{Description, Kind, Promise};
use super::ScalableOptions;
use crate::{Error, Result, kinds::BlockedShape};

/// The lines below which the next layer has `growth` to the power 4, and squared, times as many.
const SMALL: u64 = 1 << 10;
const MEDIUM: u64 = 1 << 18;

/// The greatest growth that leaps. One key more then takes at most 256 times a newest layer of 64 KiB, 16 times
/// one of 16 MiB, and 15 times a larger one.
const MOST_LEAPING: u32 = 4;

/// The layers of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    pub(super) options: ScalableOptions,
    pub(super) promise: Promise,
    /// The first layer.
    pub(super) first: BlockedShape,
    /// After how many layers the next has `growth` to the power 4 times the lines, and after how
    /// many more it has `growth` squared times.
    leaps: [u8; 2],
}

impl Growth {
    /// The growth of a filter for this first capacity and this rate over all layers.
    pub(super) fn new(keys: u64, rate: f64, options: ScalableOptions) -> Result<Growth> {
        options.check(Kind::Scalable)?;
        let promise = Promise::new(keys, rate)?;
        let first = promise
            .size(|keys, rate| BlockedShape::for_capacity(keys, rate_of(options, rate, 0)))?;
        Growth::from_first(first, promise, options)
    }

    /// The growth of a filter whose first layer is there already.
    ///
    /// # Errors
    ///
    /// When the first layer takes no key per line at its share of the rate.
    pub(super) fn from_first(
        first: BlockedShape,
        promise: Promise,
        options: ScalableOptions,
    ) -> Result<Growth> {
        let growth = Growth {
            options,
            promise,
            first,
            leaps: leaps(first.lines(), options.growth),
        };
        layered::Growth::layer(growth, 0).map(|_| growth)
    }

    /// Returns how many times the lines of the first layer the one at `index` has.
    fn times(self, index: u32) -> Option<u64> {
        let [small, medium] = self.leaps.map(u32::from);
        let small = index.min(small);
        let medium = (index - small).min(medium);
        let power = 4 * small + 2 * medium + (index - small - medium);
        u64::from(self.options.growth).checked_pow(power)
    }

    /// Returns how many times the lines of the first layer this many layers have.
    fn times_all(self, layers: u32) -> Option<u64> {
        (0..layers).try_fold(0_u64, |sum, index| sum.checked_add(self.times(index)?))
    }

    /// The rate that layer `index`, from 0, may have.
    pub(super) fn rate(self, index: u32) -> f64 {
        rate_of(self.options, self.promise.rate, index)
    }
}

impl layered::Growth for Growth {
    type Shape = BlockedShape;
    const KIND: Kind = Kind::Scalable;
    const CACHE_LINES: Option<u32> = Some(1);
    const STATE_WORDS: u64 = 1;

    fn described(description: &Description) -> Result<(Growth, u32)> {
        let detail = description.detail;
        let (options, layers) = ScalableOptions::described(description)?;
        let promise = description.needed_promise()?;
        let mut growth = Growth {
            options,
            promise,
            first: BlockedShape::new(1, description.hashes)?,
            leaps: [(detail >> 4 & 15) as u8, (detail >> 8 & 15) as u8],
        };
        let not_so_many = || Error::Bits {
            got: description.bits,
            expected: "512, and as many lines of 512 as the layers have",
        };
        let bits = description.bits.checked_sub(STATE_BITS);
        let bits = bits.filter(|bits| bits.is_multiple_of(512));
        let lines = bits.ok_or_else(not_so_many)? / 512;
        let times = growth.times_all(layers).ok_or_else(not_so_many)?;
        if !lines.is_multiple_of(times) {
            return Err(not_so_many());
        }
        growth.first = BlockedShape::new(lines / times, description.hashes)?;
        if growth.leaps != leaps(lines / times, options.growth) {
            return Err(Error::Field {
                format: description.kind.name(),
                field: "leaps",
                got: i64::from(detail >> 4 & 0xFF),
                expected: "those that follow from the size of the first layer",
            });
        }
        // The newest layer is the strictest: the others take more keys per line.
        growth.layer(layers - 1)?;
        Ok((growth, layers))
    }

    fn bits(self, layers: u32) -> u64 {
        let times = self.times_all(layers).unwrap_or(u64::MAX);
        STATE_BITS.saturating_add(self.first.bits().saturating_mul(times))
    }

    fn detail(self, layers: u32) -> (u32, u32) {
        let [small, medium] = self.leaps.map(u32::from);
        let detail = self.options.detail(layers) | small << 4 | medium << 8;
        (detail, self.first.hashes())
    }

    fn layer(self, index: u32) -> Result<BlockedShape> {
        let too_large = Error::TooLarge {
            keys: self.promise.keys,
            rate: self.promise.rate,
        };
        let times = self.times(index);
        let lines = times.and_then(|times| self.first.lines().checked_mul(times));
        let Some(lines) = lines.filter(|_| index < ScalableOptions::MOST_LAYERS) else {
            return Err(too_large);
        };
        let shape = BlockedShape::new(lines, self.first.hashes())?;
        // With as many keys as lines, a key per line on average.
        if shape.rate_at(lines) > self.rate(index) {
            return Err(too_large);
        }
        Ok(shape)
    }

    fn capacity(self, index: u32) -> u64 {
        let shape = self.layer(index);
        shape.map_or(1, |shape| shape.capacity_at(self.rate(index)).max(1))
    }

    fn promise(self) -> Promise {
        self.promise
    }

    fn stored_bits(shape: BlockedShape) -> u64 {
        shape.bits()
    }

    fn rate_with(shape: BlockedShape, keys: f64) -> f64 {
        shape.rate_at(keys as u64)
    }
}

/// After how many layers the next no longer has `growth` to the power 4 times the lines, and after how many
/// more no longer `growth` squared times.
fn leaps(mut lines: u64, growth: u32) -> [u8; 2] {
    [(SMALL, 4), (MEDIUM, 2)].map(|(limit, power)| {
        let mut leaps = 0;
        while lines < limit && growth <= MOST_LEAPING {
            lines *= u64::from(growth.pow(power));
            leaps += 1;
        }
        leaps
    })
}

fn rate_of(options: ScalableOptions, rate: f64, index: u32) -> f64 {
    let tightening = options.ratio();
    rate * (1.0 - tightening) * libm::pow(tightening, f64::from(index))
}

#[cfg(test)]
mod tests {
    use super::layered::Growth as _;
    use super::*;
    use alloc::vec::Vec;

    fn growth(growth: u32, tightening: u32) -> Growth {
        let options = ScalableOptions { growth, tightening };
        Growth::new(1000, 0.01, options).expect("valid")
    }

    #[test]
    fn the_rates_of_layers_are_those_of_the_paper() {
        let rates = [0.005, 0.0025, 0.00125, 0.000_625, 0.000_312_5];
        for (index, rate) in (0..).zip(rates) {
            assert_eq!(growth(2, 5000).rate(index), rate);
        }
    }

    #[test]
    fn the_rates_of_all_layers_add_up_to_less_than_the_one_asked_for() {
        // Without the factor 1 - r the sum over layers is several times the rate asked for.
        for tightening in [5000, 7000, 8500, 9000, 9999] {
            let growth = growth(2, tightening);
            let sum: f64 = (0..ScalableOptions::MOST_LAYERS)
                .map(|index| growth.rate(index))
                .sum();
            assert!(sum < 0.01, "{sum} at {tightening}");
        }
        let many: f64 = (0..ScalableOptions::MOST_LAYERS)
            .map(|i| growth(2, 8500).rate(i))
            .sum();
        assert!(many > 0.009_99, "{many}");
    }

    #[test]
    fn a_layer_at_its_capacity_keeps_its_rate_and_wastes_little() {
        for (times, tightening) in [(2, 7000), (2, 8500), (4, 9000), (4, 8000), (15, 9500)] {
            let growth = growth(times, tightening);
            for index in 0..8 {
                let shape = growth.layer(index).expect("small");
                let rate = growth.rate(index);
                let capacity = growth.capacity(index);

                assert!(shape.rate_at(capacity) <= rate);
                let best = BlockedShape::for_capacity(capacity, rate).expect("valid");
                let waste = shape.bits() as f64 / best.bits() as f64;
                assert!(waste < 1.05, "{waste}: {times} {tightening} {index}");
            }
        }
    }

    #[test]
    fn small_layers_grow_faster() {
        let growth = growth(2, 8500);
        let lines = |index| growth.layer(index).expect("small").lines();
        // From 1.8 KiB to 464 KiB, to 29 MiB, and on.
        let times: [u64; 8] = core::array::from_fn(|i| lines(i as u32 + 1) / lines(i as u32));
        assert_eq!(times, [16, 16, 4, 4, 4, 2, 2, 2]);
        assert_eq!(lines(2), 464 * 16);
    }

    #[test]
    fn a_description_tells_the_growth() {
        for (times, tightening, keys) in [(2, 8500, 1), (4, 9999, 1000), (15, 5000, 100_000_000)] {
            let options = ScalableOptions {
                growth: times,
                tightening,
            };
            let growth = Growth::new(keys, 0.1, options).expect("valid");
            for layers in 1..4 {
                let mut description = crate::Scalable::plan(keys, 0.1).expect("valid");
                description.hashes = growth.first.hashes();
                description.bits = growth.bits(layers);
                description.detail = growth.detail(layers).0;
                let described = Growth::described(&description).expect("just made");
                assert_eq!(described, (growth, layers));
            }
        }
    }

    #[test]
    fn options_out_of_range_are_refused() {
        for (growth, tightening) in [
            (0, 9000),
            (1, 9000),
            (16, 9000),
            (2, 0),
            (2, 1),
            (2, 4999),
            (2, 10_000),
        ] {
            let options = ScalableOptions { growth, tightening };
            let error = Growth::new(1000, 0.01, options).expect_err("out of range");
            assert!(matches!(error, Error::Field { .. }), "{error}");
        }
    }

    #[test]
    fn layers_that_cannot_be_are_refused() {
        let growth = growth(15, 9000);
        assert!(growth.layer(8).is_ok());
        assert!(growth.layer(13).is_err());
        assert!(matches!(growth.layer(62), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn a_layer_takes_little_more_memory_than_the_one_before() {
        for times in 2..=15 {
            for keys in [1, 1000, 100_000, 10_000_000] {
                let options = ScalableOptions {
                    growth: times,
                    tightening: 8500,
                };
                let growth = Growth::new(keys, 0.01, options).expect("valid");
                for index in 1..8 {
                    let [before, after] =
                        [index - 1, index].map(|index| growth.layer(index).expect("small"));
                    let ratio = after.lines() / before.lines();
                    let most = if before.lines() < SMALL { 256 } else { 16 };
                    assert!(ratio <= most, "{ratio}: {times} {keys} {index}");
                }
            }
        }
    }

    #[test]
    fn layers_take_a_key_per_line_or_there_are_none() {
        // One hash and half the rate each time: without an end, twice the memory for the same keys.
        let options = ScalableOptions {
            growth: 2,
            tightening: 5000,
        };
        let growth = Growth::new(1000, 0.9, options).expect("valid");
        assert_eq!(growth.first.hashes(), 1);
        let layers: Vec<BlockedShape> = (0..63)
            .map_while(|index| growth.layer(index).ok())
            .collect();
        assert!((5..12).contains(&layers.len()), "{}", layers.len());
        for (index, shape) in (0..).zip(layers) {
            assert!(shape.capacity_at(growth.rate(index)) >= shape.lines() - 1);
        }
    }

    #[test]
    fn growth_that_no_filter_has_is_refused() {
        let valid = crate::Scalable::plan(1000, 0.01).expect("valid");
        let refused = |change: &dyn Fn(&mut Description)| {
            let mut description = valid.clone();
            change(&mut description);
            Growth::described(&description).is_err()
        };
        assert!(!refused(&|_| ()));
        // Leaps that multiply the memory by 15 to the power 4, and one too many or too few.
        assert!(refused(&|changed| changed.detail |= 0xFFF));
        assert!(refused(&|changed| changed.detail |= 15));
        assert!(refused(&|changed| changed.detail += 1 << 4));
        assert!(refused(&|changed| changed.detail -= 1 << 8));
        // A tenth of the rate with every layer; rates that so few hashes never have.
        assert!(refused(
            &|changed| changed.detail = changed.detail & 0x3FFFF | 1000 << 18
        ));
        for rate in [1e-15, 1e-300] {
            let promise = Some(Promise { keys: 1000, rate });
            assert!(refused(&|changed| changed.promise = promise), "{rate}");
        }
        assert!(refused(&|changed| changed.hashes = 1));
    }
}
