//! How many buckets each layer has, and how long its fingerprints are: all of it follows from whole numbers and the promise.
//!
//! An absent key finds one of `2 b` fingerprints of `f` bits by accident at most as often as `2 b (2^f + 2) / 4^f`, even in
//! a table that is full to the last slot. Of the rate `P` the first layer has four fifths and layer `i` after it
//! `P / (5 i (i + 1))`, which add up to `P`; a filter that does not grow has all of it. Each takes the shortest fingerprints
//! that keep its share. The first layer has as many buckets as hold the promised keys at the load that inserts reach, each
//! further one `growth` times those of the one before. Nothing here takes a logarithm or a power of a double, so that every
//! platform reads a file alike.

use alloc::vec::Vec;

use super::super::layered;
use super::super::{Description, Kind, Promise};
use super::changes::KEYS;
use super::options::{CuckooOptions, Numbers, field};
use super::table::CuckooShape;
use crate::bits::{Bits, LINE_BITS};
use crate::{Error, Result};

/// The share of slots, in thousandths, that inserts fill before one finds no room among 1024 buckets, by the slots of a
/// bucket from 1 on. Measured: 8 M slots fill to 873, 940, 966, 977 and 991 with 2, 3, 4, 5 and 8 slots a bucket, and lose
/// 1 in thousand for every doubling.
const LOADS: [u64; 8] = [250, 860, 932, 960, 970, 980, 984, 987];

/// The slots above that, for filters so small that chance matters.
const SPARE_SLOTS: u64 = 12;

/// The share of the rate that the first layer of a filter that grows has.
pub(super) const FIRST_SHARE: f64 = 0.8;

/// The longest fingerprints, in bits.
const MOST_FINGERPRINT: u32 = 56;

/// In how many steps the keys of a layer are taken to be inserted, where a rate is predicted.
const STEPS: u32 = 64;

/// What the layers of a filter are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    pub(super) numbers: Numbers,
    /// The keys of the first layer, and the rate of all together.
    promise: Promise,
}

impl Growth {
    /// The growth of a filter for this first capacity and this rate over all layers.
    pub(super) fn new(keys: u64, rate: f64, options: &CuckooOptions) -> Result<Growth> {
        options.check()?;
        let promise = Promise::new(keys, rate)?;
        let of = |bucket| Growth {
            numbers: Numbers::new(options, bucket),
            promise,
        };
        let growth = of(options.bucket.unwrap_or_else(|| best_bucket(of)));
        layered::Growth::layer(growth, 0).map(|_| growth)
    }

    /// The rate that layer `index` may have.
    fn share(self, index: u32) -> f64 {
        let rate = self.promise.rate;
        match (self.numbers.growth, index) {
            (None, _) => rate,
            (Some(_), 0) => rate * FIRST_SHARE,
            (Some(_), index) => rate * 0.2 / f64::from(index * (index + 1)),
        }
    }

    /// The bits of a fingerprint in layer `index`.
    ///
    /// # Errors
    ///
    /// [`Error::LowRate`] when none is long enough for the rate, or those of a given length are one layer too many.
    fn fingerprint(self, index: u32) -> Result<u32> {
        let bucket = self.numbers.bucket;
        let low_rate = |least| Error::LowRate {
            got: self.promise.rate,
            least,
        };
        if let Some(bits) = self.numbers.fingerprint {
            let together = full_rate(bits, bucket) * f64::from(index + 1);
            return match together <= self.promise.rate {
                true => Ok(bits),
                false => Err(low_rate(together)),
            };
        }
        let share = self.share(index);
        let mut lengths = CuckooOptions::LEAST_FINGERPRINT..=MOST_FINGERPRINT;
        let kept = lengths.find(|&bits| full_rate(bits, bucket) <= share);
        kept.ok_or_else(|| {
            let least = full_rate(MOST_FINGERPRINT, bucket) / (share / self.promise.rate);
            low_rate(least.next_up())
        })
    }

    /// The buckets of the first layer.
    fn first_buckets(self) -> Option<u64> {
        let load = LOADS[(self.numbers.bucket as usize).min(LOADS.len()) - 1];
        let slots = (u128::from(self.promise.keys) * 1000).div_ceil(load.into());
        let slots = slots + u128::from(SPARE_SLOTS);
        let buckets = slots.div_ceil(self.numbers.bucket.into());
        u64::try_from(buckets.max(2)).ok()
    }
}

impl layered::Growth for Growth {
    type Shape = CuckooShape;
    const KIND: Kind = Kind::Cuckoo;
    const CACHE_LINES: Option<u32> = Some(2);
    const STATE_WORDS: u64 = 4;

    fn described(description: &Description) -> Result<(Growth, u32)> {
        let (numbers, layers) = Numbers::described(description)?;
        let promise = description.needed_promise()?;
        let growth = Growth { numbers, promise };
        // The newest layer is the largest and the strictest.
        growth.layer(layers - 1)?;
        if description.hashes != 2 {
            return Err(Error::Hashes {
                got: description.hashes,
                least: 2,
                most: 2,
            });
        }
        let piles = description.bits.checked_sub(growth.bits(layers));
        if !piles.is_some_and(|bits| bits.is_multiple_of(LINE_BITS)) {
            return Err(Error::Bits {
                got: description.bits,
                expected: "512, as many as the layers of the promise have, and whole lines of piles",
            });
        }
        Ok((growth, layers))
    }

    fn detail(self, layers: u32) -> (u32, u32) {
        (self.numbers.detail(layers), 2)
    }

    fn promise(self) -> Promise {
        self.promise
    }

    fn layer(self, index: u32) -> Result<CuckooShape> {
        let too_large = Error::TooLarge {
            keys: self.promise.keys,
            rate: self.promise.rate,
        };
        let power = match (self.numbers.growth, index) {
            (_, 0) => 0,
            (Some(power), index) => power * index,
            (None, index) => {
                let expected = "1: the filter does not grow";
                return Err(field("number of layers", index + 1, expected));
            }
        };
        let Some(buckets) = self
            .first_buckets()
            .filter(|_| index < CuckooOptions::MOST_LAYERS)
        else {
            return Err(too_large);
        };
        let shape = CuckooShape {
            first_buckets: buckets,
            power,
            bucket: self.numbers.bucket,
            fingerprint: self.fingerprint(index)?,
            first_fingerprint: self.fingerprint(0)?,
        };
        shape.checked_bits().map(|_| shape).ok_or(too_large)
    }

    fn capacity(self, index: u32) -> u64 {
        let power = self.numbers.growth.unwrap_or(0) * index;
        let times = 1_u64.checked_shl(power).unwrap_or(u64::MAX);
        self.promise.keys.saturating_mul(times)
    }

    /// With more keys than slots, every insert would begin a layer.
    fn check_state(self, state: &impl Bits, layers: u32) -> Result<()> {
        super::piles::check(state)?;
        let slots = |index| self.layer(index).map_or(0, CuckooShape::slots);
        let slots = (0..layers).map(slots).fold(0, u64::saturating_add);
        match state.word(KEYS) {
            keys if keys > slots => Err(Error::Field {
                format: Kind::Cuckoo.name(),
                field: "number of keys",
                got: keys as i64,
                expected: "at most the number of slots",
            }),
            _ => Ok(()),
        }
    }

    fn stored_bits(shape: CuckooShape) -> u64 {
        shape.checked_bits().unwrap_or(u64::MAX)
    }

    fn rate_with(shape: CuckooShape, keys: f64) -> f64 {
        shape.rate_with(keys)
    }

    /// Every key takes a slot: in the oldest layer that has an empty one for it, which is taken to be one of `b e` slots
    /// of each of its buckets where a share `e` of all slots is empty, or else in the newest. `None` for more keys than
    /// there can be.
    fn predicted_rate(self, keys: u64) -> Option<f64> {
        let mut layers: Vec<(CuckooShape, f64)> = Vec::new();
        let mut left = keys as f64;
        while left > 0.0 {
            let index = layers.len() as u32;
            layers.push((self.layer(index).ok()?, 0.0));
            let taken = left.min(self.capacity(index) as f64);
            for _ in 0..STEPS {
                let mut share = taken / f64::from(STEPS);
                for (shape, held) in &mut layers[..index as usize] {
                    let empty = 1.0 - *held / shape.slots() as f64;
                    let finds = 1.0 - libm::pow(1.0 - empty, 2.0 * f64::from(shape.bucket()));
                    *held += share * finds;
                    share *= 1.0 - finds;
                }
                layers[index as usize].1 += share;
            }
            left -= taken;
        }
        let misses = layers
            .iter()
            .map(|(shape, held)| 1.0 - shape.rate_with(*held));
        Some(1.0 - misses.product::<f64>())
    }
}

/// A bound on the share of absent keys that are found in buckets of this many slots, all of them taken.
///
/// A fingerprint is one of `2^f` numbers but for 0, which becomes 1.
pub(super) fn full_rate(fingerprint: u32, bucket: u32) -> f64 {
    2.0 * f64::from(bucket) * match_rate(fingerprint)
}

/// How often two fingerprints are the same by accident.
pub(super) fn match_rate(fingerprint: u32) -> f64 {
    let numbers = (1_u64 << fingerprint) as f64;
    (numbers + 2.0) / (numbers * numbers)
}

/// The slots of a bucket that need the fewest bits per key. Where fingerprints have a given length, as many as leave room
/// for eight layers at the rate, from two to four.
fn best_bucket(of: impl Fn(u32) -> Growth) -> u32 {
    let given = |bucket: u32| {
        let growth = of(bucket);
        let bits = growth.numbers.fingerprint?;
        Some(8.0 * full_rate(bits, bucket) <= growth.promise.rate)
    };
    if given(2).is_some() {
        let fits = |&bucket: &u32| given(bucket) == Some(true);
        return [4, 3].into_iter().find(fits).unwrap_or(2);
    }
    let cost = |&bucket: &u32| {
        let bits = of(bucket).fingerprint(0).unwrap_or(MOST_FINGERPRINT + 1);
        u64::from(bits) * 1_000_000 / LOADS[bucket as usize - 1]
    };
    (2..=LOADS.len() as u32).min_by_key(cost).unwrap_or(4)
}

#[cfg(test)]
mod tests {
    use super::layered::Growth as _;
    use super::*;
    use crate::kinds::Counting;
    use alloc::string::ToString as _;

    fn growth(keys: u64, rate: f64, options: CuckooOptions) -> Growth {
        Growth::new(keys, rate, &options).expect("valid")
    }

    #[test]
    fn the_rates_of_all_layers_add_up_to_at_most_the_one_asked_for() {
        for rate in [0.3, 0.01, 0.001, 1e-6] {
            for options in [(None, 2), (None, 1), (None, 0), (Some(32), 4)] {
                let (fingerprint, times) = options;
                let options = CuckooOptions {
                    fingerprint,
                    growth: times,
                    ..CuckooOptions::default()
                };
                let growth = growth(1000, rate, options);
                let layers = (0..63).map_while(|index| growth.layer(index).ok());
                let (mut count, mut sum) = (0, 0.0);
                for shape in layers {
                    count += 1;
                    sum += shape.rate();
                }
                assert!(sum <= rate, "{sum} for {rate}, {count} layers");
                let least = if times == 0 { 1 } else { 23 };
                assert!(count >= least, "{count} layers, {rate}, {fingerprint:?}");
            }
        }
    }

    #[test]
    fn a_key_takes_a_third_of_what_counters_take() {
        // (rate, slots of a bucket, bits of a fingerprint, most bits per key): for a million keys.
        for (rate, bucket, fingerprint, most) in [
            (0.01, 4, 10, 10.42),
            (0.001, 3, 13, 13.95),
            (1e-6, 6, 24, 24.5),
        ] {
            let growth = growth(1_000_000, rate, CuckooOptions::default());
            let first = growth.layer(0).expect("valid");
            assert_eq!((first.bucket(), first.fingerprint()), (bucket, fingerprint));
            let bits = growth.bits(1) as f64 / 1e6;
            assert!(bits < most, "{bits} at {rate}");
            let counting = Counting::plan(1_000_000, rate).expect("valid").bits as f64 / 1e6;
            assert!(bits < counting / 3.0, "{bits} for {counting}");
        }
    }

    #[test]
    fn a_description_has_the_growth() {
        for (fingerprint, bucket, times, search) in [
            (None, None, 2, 1024),
            (None, Some(1), 1, 2),
            (Some(8), Some(255), 32_768, 512),
            (Some(32), Some(2), 4, 16),
            (Some(12), None, 0, 32),
        ] {
            let options = CuckooOptions {
                fingerprint,
                bucket,
                growth: times,
                search,
                ..CuckooOptions::default()
            };
            // Eight bits and 510 slots: no lower rate.
            let Ok(growth) = Growth::new(100, 0.999, &options) else {
                assert_eq!((fingerprint, bucket), (Some(8), Some(255)));
                continue;
            };
            for layers in 1..=(if times == 0 { 1 } else { 3 }) {
                let mut description = crate::Cuckoo::plan(100, 0.999).expect("valid");
                description.bits = growth.bits(layers);
                description.detail = growth.detail(layers).0;
                let described = Growth::described(&description).expect("just made");
                assert_eq!(described, (growth, layers));

                for bit in 28..32 {
                    let mut changed = description.clone();
                    changed.detail |= 1 << bit;
                    assert!(Growth::described(&changed).is_err());
                }
                let mut changed = description.clone();
                changed.hashes = 3;
                assert!(Growth::described(&changed).is_err());
                changed = description.clone();
                // Whole lines behind the layers are piles.
                changed.bits += 64;
                assert!(Growth::described(&changed).is_err());
                changed.bits = description.bits - 512;
                assert!(Growth::described(&changed).is_err());
                changed = description;
                changed.detail &= !(63 << 13);
                assert!(Growth::described(&changed).is_err());
            }
        }
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let refused = |change: &dyn Fn(&mut CuckooOptions)| {
            let mut options = CuckooOptions::default();
            change(&mut options);
            let error = Growth::new(1000, 0.01, &options).expect_err("out of range");
            error.to_string()
        };
        for bits in [0, 7, 33] {
            let message = refused(&|options| options.fingerprint = Some(bits));
            assert!(message.contains("fingerprint"), "{message}");
        }
        for slots in [0, 256] {
            let message = refused(&|options| options.bucket = Some(slots));
            assert!(message.contains("bucket"), "{message}");
        }
        for times in [3, 65_536] {
            let message = refused(&|options| options.growth = times);
            assert!(message.contains("growth"), "{message}");
        }
        for search in [0, 1, 20, 2048] {
            let message = refused(&|options| options.search = search);
            assert!(message.contains("search"), "{message}");
        }
        // Eight bits find one in 64 absent keys in two buckets of two.
        let low = refused(&|options| options.fingerprint = Some(8));
        assert!(low.contains("lower than"), "{low}");
    }

    #[test]
    fn layers_that_cannot_be_are_refused() {
        let growth = growth(1 << 30, 0.01, CuckooOptions::default());
        assert!(growth.layer(25).is_ok());
        for index in [30, 40, 62, 63, 1000] {
            let refused = growth.layer(index);
            assert!(matches!(refused, Err(Error::TooLarge { .. })), "{index}");
        }
        let large = Growth::new(1 << 62, 0.5, &CuckooOptions::default());
        assert!(matches!(large, Err(Error::TooLarge { .. })));
    }
}
