//! How many slots a set of keys needs.
//!
//! A slot is a bit of each column, and there are as many columns as a fingerprint has bits. Keys take 2 %
//! more slots than there are of them, as long as they are few: with slots in proportion, the first attempt
//! at 1000 to 8192 keys succeeds nine times in ten, at 16 000 eight times, at 100 000 never. So they are
//! dealt out to shards of 2^13 or fewer, which are solved one by one.

use super::super::Promise;
use super::super::hashes::{fingerprint_rate, shortest};
use crate::{Error, Result};

/// The coefficients of a key, and the slots of a block.
pub(super) const WIDTH: u64 = 128;

/// How big a [`Ribbon`](crate::Ribbon) filter is: the bits of a fingerprint, the slots and the shards.
///
/// ```
/// use mayhap::kinds::RibbonShape;
///
/// let shape = RibbonShape::for_rate(1_000_000, 0.001)?;
/// assert_eq!(shape.fingerprint_bits(), 10);
/// assert_eq!(shape.bits(), 10_208_512); // 10.2 bits per key
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RibbonShape {
    /// The bits of a fingerprint, and so the columns: 1 to 32.
    fingerprint_bits: u32,
    /// The shards that keys are dealt out to.
    shards: u64,
    /// The blocks of [`WIDTH`] slots, in all shards together. 0 in a filter of no keys.
    blocks: u64,
}

impl RibbonShape {
    /// The most keys in a shard, on average.
    const SHARD_KEYS: u64 = 1 << 13;

    /// The most shards, because descriptions have 27 bits for them: those of 2^40 keys.
    pub(super) const MAX_SHARDS: u64 = 1 << 27;

    /// The most slots, because the table has 48 bits for where a shard begins.
    const MAX_SLOTS: u64 = 1 << 48;

    /// The most bits of a fingerprint.
    pub(super) const MAX_FINGERPRINT: u32 = 32;

    /// The lowest rate there is: that of the longest fingerprint.
    pub const LEAST_RATE: f64 = 1.0 / (1_u64 << Self::MAX_FINGERPRINT) as f64;

    /// The shape for `keys` distinct keys, with fingerprints of as many bits.
    ///
    /// # Errors
    ///
    /// When a fingerprint has not 1 to 32 bits, or there are more than 2^40 keys.
    pub fn for_keys(keys: u64, fingerprint_bits: u32) -> Result<RibbonShape> {
        let shards = keys.div_ceil(Self::SHARD_KEYS).max(1);
        if shards > Self::MAX_SHARDS {
            let empty = RibbonShape::new(fingerprint_bits, 1, 0)?;
            return Err(Error::TooLarge {
                keys,
                rate: empty.rate_at(keys),
            });
        }
        let blocks = match keys {
            0 => 0,
            // Four above: of as many random equations as there are slots only 29 % can be solved, of four
            // fewer 94 %.
            _ => (keys + keys / 50 + 4).div_ceil(WIDTH),
        };
        RibbonShape::new(fingerprint_bits, shards, blocks)
    }

    /// The shape for `keys` distinct keys whose rate is at most `rate`, but for a thousandth of it: the
    /// shortest fingerprint that keeps it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or above 2^40, or `rate` is not strictly between 0 and 1 or is below that of 32
    /// bits (see [`rate_at`](RibbonShape::rate_at)).
    pub fn for_rate(keys: u64, rate: f64) -> Result<RibbonShape> {
        let width = shortest(Promise::new(keys, rate)?, 1..=Self::MAX_FINGERPRINT)?;
        RibbonShape::for_keys(keys, width)
    }

    /// The shape whose table and blocks are as many bits.
    ///
    /// # Errors
    ///
    /// When there is no such shape.
    pub(super) fn of_bits(bits: u64, fingerprint_bits: u32, shards: u64) -> Result<RibbonShape> {
        let empty = RibbonShape::new(fingerprint_bits, shards, 0)?;
        let block = WIDTH * u64::from(fingerprint_bits);
        match bits.checked_sub(empty.table_bits()) {
            Some(rest)
                if rest % block == 0
                    && rest / block <= Self::MAX_SLOTS / WIDTH
                    && rest / block >= (shards - 1) * (Self::SHARD_KEYS / WIDTH) =>
            {
                RibbonShape::new(fingerprint_bits, shards, rest / block)
            }
            _ => Err(Error::Bits {
                got: bits,
                expected: "a table of all shards but of a single one, and whole blocks of up to 2^48 slots, \
                           8192 for each shard but the last",
            }),
        }
    }

    fn new(fingerprint_bits: u32, shards: u64, blocks: u64) -> Result<RibbonShape> {
        if !(1..=Self::MAX_FINGERPRINT).contains(&fingerprint_bits) {
            return Err(Error::Bits {
                got: u64::from(fingerprint_bits),
                expected: "1 to 32 in a fingerprint",
            });
        }
        Ok(RibbonShape {
            fingerprint_bits,
            shards,
            blocks,
        })
    }

    /// The number of bits.
    pub fn bits(self) -> u64 {
        self.table_bits() + self.solution_bits()
    }

    /// The number of slots: what is left of them when there are as many keys is free.
    pub fn slots(self) -> u64 {
        self.blocks * WIDTH
    }

    /// The bits of a fingerprint.
    #[inline]
    pub fn fingerprint_bits(self) -> u32 {
        self.fingerprint_bits
    }

    /// The shards that keys are dealt out to.
    #[inline]
    pub(super) fn shards(self) -> u64 {
        self.shards
    }

    /// The bits of the table: a word for each shard, in whole lines. A single one needs none.
    pub(super) fn table_bits(self) -> u64 {
        match self.shards {
            1 => 0,
            shards => (64 * shards).next_multiple_of(512),
        }
    }

    /// The bits of all columns.
    pub(super) fn solution_bits(self) -> u64 {
        self.slots() * u64::from(self.fingerprint_bits)
    }

    /// The false-positive rate with `keys` keys: the chance that a fingerprint is right by accident, and
    /// that another key has all 64 bits that a filter learns about a key.
    pub fn rate_at(self, keys: u64) -> f64 {
        fingerprint_rate(self.fingerprint_bits, keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(keys: u64, fingerprint_bits: u32) -> RibbonShape {
        RibbonShape::for_keys(keys, fingerprint_bits).expect("valid")
    }

    /// 2 % of slots and a word per 2^13 keys above the fingerprints, and up to a block of slots more.
    #[test]
    fn bits_per_key_are_those_of_the_table() {
        let table = [
            (1, 7, 896.0),
            (10, 7, 89.6),
            (100, 7, 8.96),
            (1000, 7, 7.168),
            (1000, 8, 8.192),
            (1000, 10, 10.24),
            (1000, 16, 16.384),
            (1005, 7, 8.024), // a ninth block
            (10_000, 7, 7.2192),
            (10_000, 8, 8.2432),
            (10_000, 10, 10.2912),
            (10_000, 16, 16.4352),
            (100_000, 7, 7.15),
            (100_000, 8, 8.17),
            (100_000, 16, 16.335),
            (100_000, 10, 10.21),
            (1_000_000, 7, 7.149),
            (1_000_000, 8, 8.169),
            (1_000_000, 10, 10.209),
            (1_000_000, 16, 16.329),
            (1_000_000_000_000, 7, 7.148),
        ];
        for (keys, fingerprint_bits, expected) in table {
            let per_key = shape(keys, fingerprint_bits).bits() as f64 / keys as f64;
            std::println!("{keys} keys, {fingerprint_bits} bits: {per_key:.4} bits per key");
            assert!((per_key - expected).abs() < 0.01, "{keys}: {per_key}");
        }
    }

    #[test]
    fn ten_thousand_keys_and_more_take_1_04_times_their_fingerprints() {
        let sizes = (10_000..100_000)
            .step_by(37)
            .chain((100_000..10_000_000).step_by(99_991));
        for keys in sizes {
            for bits in [7, 10, 32] {
                let ratio = shape(keys, bits).bits() as f64 / (keys * u64::from(bits)) as f64;
                assert!((1.02..1.0405).contains(&ratio), "{keys}, {bits}: {ratio}");
            }
        }
    }

    #[test]
    fn the_shortest_fingerprint_keeps_the_rate_and_powers_of_two_are_exact() {
        for bits in 1..=32 {
            let power = libm::exp2(-f64::from(bits));
            let of = |rate| RibbonShape::for_rate(1000, rate).map(RibbonShape::fingerprint_bits);
            assert_eq!(of(power).expect("not too low"), bits);
            assert_eq!(of(1.4 * power.min(0.7)).expect("not too low"), bits);
            match of(power * 0.999) {
                Ok(more) => assert_eq!(more, bits + 1),
                Err(refused) => assert!(matches!(refused, Error::LowRate { .. }) && bits == 32),
            }
        }
        // Keys that share a hash are as many as those that share a fingerprint of 32 bits.
        let low = RibbonShape::LEAST_RATE;
        let refused = RibbonShape::for_rate(1 << 32, 1.5 * low);
        assert!(matches!(refused, Err(Error::LowRate { .. })));
        let kept = RibbonShape::for_rate(1 << 32, 2.5 * low).expect("kept");
        assert!(kept.rate_at(1 << 32) <= 2.5 * low);
        assert_eq!(kept.fingerprint_bits(), 32, "31 have 3 times the rate");
    }

    #[test]
    fn more_than_2_to_the_40_keys_are_refused() {
        let most = shape(1 << 40, 32);
        assert_eq!(most.shards(), RibbonShape::MAX_SHARDS);
        assert!(most.slots() <= RibbonShape::MAX_SLOTS);
        for keys in [(1 << 40) + 1, u64::MAX] {
            let refused = RibbonShape::for_rate(keys, 0.01);
            assert!(matches!(refused, Err(Error::TooLarge { .. })), "{keys}");
        }
    }

    #[test]
    fn bits_bring_back_the_shape() {
        for keys in [0, 1, 127, 1000, 8192, 8193, 123_456, 1 << 30, 1 << 40] {
            for bits in 1..=32 {
                let shape = shape(keys, bits);
                let again = RibbonShape::of_bits(shape.bits(), bits, shape.shards());
                assert_eq!(again.expect("the same"), shape);
            }
        }
        for (bits, fingerprint_bits, shards) in [
            (127, 1, 1),
            (128, 2, 1),
            (128, 1, 2),
            (512 + 64, 1, 2),
            (512, 1, 2), // shards without slots
            (512 + 63 * 128, 1, 2),
            ((1 << 48) + 128, 1, 1),
            (u64::MAX, 1, 1),
            (0, 0, 1),
            (0, 33, 1),
        ] {
            let refused = RibbonShape::of_bits(bits, fingerprint_bits, shards);
            assert!(matches!(refused, Err(Error::Bits { .. })), "{bits}");
        }
    }
}
