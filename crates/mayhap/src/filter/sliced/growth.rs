//! How many keys each layer takes, and how strict it is: all of it follows from four numbers.
//!
//! With `P` the rate asked for, `n` the first capacity, `s` the growth and `r` the tightening, layer `i`
//! takes `n s^i` keys and may have the rate `P_i = P (1 - r) r^i`; the sum over any number of layers is
//! below `P`. Rates are multiplied one by one and nothing here takes a logarithm or a power of a
//! double, so that every platform reads a file alike.

use super::super::layered;
use super::super::{Description, Kind, Promise, ScalableOptions};
use super::layer::SlicedShape;
use crate::{Error, Result};

/// What the layers of a filter are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    pub(super) options: ScalableOptions,
    /// The keys of the first layer, and the rate of all together.
    pub(super) promise: Promise,
}

impl Growth {
    /// The growth of a filter for this first capacity and this rate over all layers.
    pub(super) fn new(keys: u64, rate: f64, options: ScalableOptions) -> Result<Growth> {
        options.check(Kind::Sliced)?;
        let promise = Promise::new(keys, rate)?;
        Ok(Growth { options, promise })
    }

    /// What layer `index` has of a rate: `rate (1 - r) r^index`.
    fn share(self, rate: f64, index: u32) -> f64 {
        let tightening = self.options.ratio();
        let first = rate * (1.0 - tightening);
        (0..index).fold(first, |rate, _| rate * tightening)
    }
}

impl layered::Growth for Growth {
    type Shape = SlicedShape;
    const KIND: Kind = Kind::Sliced;
    const STATE_WORDS: u64 = 2;

    fn described(description: &Description) -> Result<(Growth, u32)> {
        let (options, layers) = ScalableOptions::described(description)?;
        let promise = description.needed_promise()?;
        if description.detail != options.detail(layers) {
            return Err(Error::Field {
                format: description.kind.name(),
                field: "detail",
                got: i64::from(description.detail),
                expected: "zeros in bits 4 to 11",
            });
        }
        let growth = Growth { options, promise };
        // The last is the largest and the strictest.
        growth.layer(layers - 1)?;
        let slices = growth.layer(0)?.slices();
        if description.hashes != slices {
            return Err(Error::Hashes {
                got: description.hashes,
                least: slices,
                most: slices,
            });
        }
        if description.bits != growth.bits(layers) {
            return Err(Error::Bits {
                got: description.bits,
                expected: "512, and as many as the layers of the promise have",
            });
        }
        Ok((growth, layers))
    }

    fn detail(self, layers: u32) -> (u32, u32) {
        let slices = self.layer(0).map_or(0, SlicedShape::slices);
        (self.options.detail(layers), slices)
    }

    fn promise(self) -> Promise {
        self.promise
    }

    fn layer(self, index: u32) -> Result<SlicedShape> {
        let times = u64::from(self.options.growth).checked_pow(index);
        let keys = times.and_then(|times| self.promise.keys.checked_mul(times));
        let keys = keys.filter(|&keys| keys <= SlicedShape::MOST_KEYS);
        let keys = keys.filter(|_| index < ScalableOptions::MOST_LAYERS);
        let keys = keys.ok_or(Error::TooLarge {
            keys: self.promise.keys,
            rate: self.promise.rate,
        })?;
        let rate = self.share(self.promise.rate, index);
        if rate < SlicedShape::LEAST_RATE {
            return Err(Error::LowRate {
                got: self.promise.rate,
                least: SlicedShape::LEAST_RATE / self.share(1.0, index),
            });
        }
        SlicedShape::new(Promise { keys, rate })
    }

    fn capacity(self, index: u32) -> u64 {
        self.layer(index).map_or(1, SlicedShape::capacity)
    }

    fn stored_bits(shape: SlicedShape) -> u64 {
        shape.stored_bits()
    }

    /// A bit of a slice stays zero with chance `(1 - 1/m)^n`.
    fn rate_with(shape: SlicedShape, keys: f64) -> f64 {
        let fill = -libm::expm1(keys * libm::log1p(-1.0 / shape.slice_bits() as f64));
        libm::pow(fill, f64::from(shape.slices()))
    }
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

    fn layers(growth: Growth, count: u32) -> Vec<SlicedShape> {
        let layer = |index| growth.layer(index).expect("small");
        (0..count).map(layer).collect()
    }

    /// The rate of full layers, half of whose bits are ones: `1 - Π (1 - 2^-k)`.
    fn compound(layers: &[SlicedShape]) -> f64 {
        let none = layers
            .iter()
            .map(|shape| 1.0 - libm::exp2(-f64::from(shape.slices())));
        1.0 - none.product::<f64>()
    }

    #[test]
    fn the_layers_of_a_worked_example_are_those_of_the_paper() {
        let expected = [
            (1000, 0.005, 8, 1443),
            (2000, 0.0025, 9, 2886),
            (4000, 0.001_25, 10, 5771),
            (8000, 0.000_625, 11, 11_542),
            (16_000, 0.000_312_5, 12, 23_084),
        ];
        for (shape, expected) in layers(growth(2, 5000), 5).into_iter().zip(expected) {
            let layer = (
                shape.capacity(),
                shape.rate(),
                shape.slices(),
                shape.slice_bits(),
            );
            assert_eq!(layer, expected);
        }
    }

    #[test]
    fn ten_layers_have_the_slices_the_bits_and_the_compound_rate_of_the_paper() {
        for (tightening, slices, bits, rate) in [
            (
                5000,
                [8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
                23_628_506,
                0.007_784_6,
            ),
            (
                8500,
                [10, 10, 10, 11, 11, 11, 11, 12, 12, 12],
                17_517_246,
                0.005_601_5,
            ),
            (
                9000,
                [10, 11, 11, 11, 11, 11, 11, 12, 12, 12],
                17_525_903,
                0.004_629_2,
            ),
        ] {
            let layers = layers(growth(2, tightening), 10);

            assert!(layers.iter().map(|shape| shape.slices()).eq(slices));
            assert_eq!(layers.iter().map(|shape| shape.bits()).sum::<u64>(), bits);
            let capacity: u64 = layers.iter().map(|shape| shape.capacity()).sum();
            assert_eq!(capacity, 1_023_000);
            let compound = compound(&layers);
            assert!((compound - rate).abs() < 5e-8, "{compound} at {tightening}");
        }
    }

    #[test]
    fn eight_layers_have_the_compound_rate_of_the_formula() {
        for (tightening, rate) in [(5000, 0.007_762), (8500, 0.005_116), (9000, 0.004_143)] {
            let compound = compound(&layers(growth(2, tightening), 8));
            assert!((compound - rate).abs() < 5e-7, "{compound} at {tightening}");
        }
    }

    #[test]
    fn without_the_first_factor_the_rate_would_be_missed_several_times_over() {
        // What is so easily left out: the first layer may not have the whole rate.
        let promise = Promise {
            keys: 1000,
            rate: 0.01,
        };
        let layer = |rate| SlicedShape::new(Promise { rate, ..promise }).expect("valid");
        let tightened = (0..10).map(|i| layer(0.01 * libm::pow(0.851_562_5, f64::from(i))));
        let compound = compound(&tightened.collect::<Vec<_>>());
        assert!((compound - 0.038_405).abs() < 5e-7, "{compound}");
        for tightening in [5000, 7000, 8500, 9000, 9999] {
            for times in [2, 4, 15] {
                let growth = growth(times, tightening);
                let shapes = (0..63).map_while(|index| growth.layer(index).ok());
                let rates: f64 = shapes.map(|shape| shape.rate()).sum();
                assert!(rates <= 0.01_f64.next_up(), "{rates} at {tightening}");
            }
        }
    }

    /// Bits against those of one filter for all keys, `n log2(1/P) / ln 2`, once the layers that there
    /// must be for 10, 100, 1000 and 10^6 times the first capacity are full.
    #[test]
    fn full_layers_cost_what_the_table_says_and_the_rounding_of_slices() {
        let table: [(u32, u32, [f64; 4]); 11] = [
            (2, 5000, [1.492, 1.911, 2.356, 3.860]),
            (2, 6000, [1.450, 1.760, 2.087, 3.196]),
            (2, 7000, [1.437, 1.653, 1.882, 2.656]),
            (2, 8000, [1.459, 1.594, 1.738, 2.222]),
            (2, 8500, [1.492, 1.590, 1.695, 2.047]),
            (2, 9000, [1.552, 1.616, 1.683, 1.912]),
            (2, 9500, [1.676, 1.707, 1.740, 1.851]),
            (4, 5000, [1.409, 1.703, 1.853, 2.605]),
            (4, 7000, [1.394, 1.546, 1.623, 2.010]),
            (4, 8000, [1.433, 1.527, 1.576, 1.818]),
            (4, 9000, [1.539, 1.584, 1.607, 1.721]),
        ];
        for (times, tightening, expected) in table {
            for (goal, expected) in [10, 100, 1000, 1_000_000].into_iter().zip(expected) {
                let (mut keys, mut bits, mut unrounded) = (0.0, 0.0, 0.0);
                for index in 0.. {
                    let shape = growth(times, tightening).layer(index).expect("not large");
                    let capacity = shape.capacity() as f64;
                    keys += capacity;
                    bits += shape.bits() as f64;
                    unrounded -= capacity * libm::log2(shape.rate());
                    if keys >= 1000.0 * f64::from(goal) {
                        break;
                    }
                }
                let one = -keys * libm::log2(0.01);
                let overhead = bits * core::f64::consts::LN_2 / one;
                let unrounded = unrounded / one;

                assert!(
                    (unrounded - expected).abs() < 0.001,
                    "{unrounded} for {expected}: {times} {tightening} {goal}"
                );
                // A layer has less than a slice more than the real number of them.
                let most = 1.02 * (expected + keys / one);
                assert!((expected..most).contains(&overhead), "{overhead}");
            }
        }
    }

    #[test]
    fn a_description_tells_the_growth() {
        for (times, tightening, keys) in [(2, 8500, 1), (4, 9999, 1000), (15, 5000, 100_000_000)] {
            let options = ScalableOptions {
                growth: times,
                tightening,
            };
            let growth = Growth::new(keys, 0.1, options).expect("valid");
            for count in 1..4 {
                let shapes = layers(growth, count);
                let mut description = crate::kinds::Sliced::plan(keys, 0.1).expect("valid");
                description.hashes = shapes[0].slices();
                description.bits = growth.bits(count);
                description.detail = options.detail(count);

                let described = Growth::described(&description).expect("just made");
                assert_eq!(described, (growth, count));

                description.detail |= 1 << 4;
                let refused = Growth::described(&description);
                assert!(matches!(refused, Err(Error::Field { .. })));
            }
        }
    }

    #[test]
    fn options_out_of_range_are_refused() {
        for (growth, tightening) in [(0, 9000), (1, 9000), (16, 9000), (2, 4999), (2, 10_000)] {
            let options = ScalableOptions { growth, tightening };
            let error = Growth::new(1000, 0.01, options).expect_err("out of range");
            assert!(error.to_string().contains("sliced"), "{error}");
            assert!(matches!(error, Error::Field { .. }), "{error}");
        }
    }

    #[test]
    fn layers_that_cannot_be_are_refused() {
        // 1000 times 15^12 is above 2^53, 1000 times 15^20 above 2^64.
        for index in [12, 20, 62, 63] {
            let refused = growth(15, 9999).layer(index);
            assert!(matches!(refused, Err(Error::TooLarge { .. })), "{index}");
        }
        // A rate of 10^-15 times 2^-21 is below 2^-64.
        let mut strict = growth(2, 5000);
        strict.promise.rate = 1e-15;
        let strict = strict.layer(20);
        assert!(matches!(strict, Err(Error::LowRate { .. })));
        let many = growth(2, 9999).layer(42).expect("2^42 times as many keys");
        assert_eq!(many.capacity(), 1000 << 42);
        assert!(growth(2, 9999).layer(44).is_err());
    }
}
