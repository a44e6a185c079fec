//! Packed small counters in bits of any storage.
//!
//! Counter `i` is the `width` bits from bit `i * width` on, least significant first. A width divides a
//! word, so no counter lies in two.
//!
//! Counters *stick*: one that has reached its top may have been meant to go further, so it can no longer be
//! trusted to fall, and never does. So a counter is sometimes too high and never too low.

use core::fmt;

use super::{Bits, BitsMut};
use crate::{Error, Result};

/// The number of bits in each counter of a filter.
///
/// ```
/// use mayhap::bits::CounterWidth;
///
/// assert_eq!(CounterWidth::Four.top(), 15);
/// assert_eq!(CounterWidth::from_bits(16), Some(CounterWidth::Sixteen));
/// assert_eq!(CounterWidth::from_bits(5), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterWidth {
    /// 2 bits: up to 3.
    Two,
    /// 4 bits: up to 15.
    Four,
    /// 8 bits: up to 255.
    Eight,
    /// 16 bits: up to 65 535.
    Sixteen,
    /// 32 bits: up to 4 294 967 295.
    ThirtyTwo,
}

impl fmt::Display for CounterWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bits", self.bits())
    }
}

impl CounterWidth {
    /// Every width, the narrowest first.
    pub const ALL: [CounterWidth; 5] = [
        CounterWidth::Two,
        CounterWidth::Four,
        CounterWidth::Eight,
        CounterWidth::Sixteen,
        CounterWidth::ThirtyTwo,
    ];

    /// The number of bits, as stored in files.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            CounterWidth::Two => 2,
            CounterWidth::Four => 4,
            CounterWidth::Eight => 8,
            CounterWidth::Sixteen => 16,
            CounterWidth::ThirtyTwo => 32,
        }
    }

    /// The width of this many bits, if there is one.
    pub fn from_bits(bits: u32) -> Option<CounterWidth> {
        Self::ALL.into_iter().find(|width| width.bits() == bits)
    }

    /// The highest value, at which a counter sticks.
    #[inline]
    pub fn top(self) -> u64 {
        (1 << self.bits()) - 1
    }

    /// The bits of this many counters, unless they are more than 2^63.
    pub(crate) fn bits_of(self, count: u64) -> Option<u64> {
        let bits = count.checked_mul(u64::from(self.bits()))?;
        (bits <= 1 << 63).then_some(bits)
    }

    /// The number of counters in this many bits.
    pub(crate) fn count_in(self, bits: u64) -> Result<u64> {
        let width = u64::from(self.bits());
        if bits == 0 || bits > 1 << 63 || !bits.is_multiple_of(width) {
            return Err(Error::Bits {
                got: bits,
                expected: "whole counters, of 2^63 bits at most",
            });
        }
        Ok(bits / width)
    }
}

/// The location of a run of counters in some bits. It does not own the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counters {
    first_word: u64,
    count: u64,
    width: CounterWidth,
    /// The logarithm of the bits of a counter, and its highest value: computed once.
    log: u32,
    top: u64,
}

/// The totals of a run of counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// The counters that are not zero.
    pub(crate) used: u64,
    /// The counters at their top.
    pub(crate) stuck: u64,
    /// All counters added up.
    pub(crate) total: u128,
}

impl Counters {
    /// A run of `count` counters, from the beginning of the word at `first_word` on.
    pub(crate) fn new(first_word: u64, count: u64, width: CounterWidth) -> Counters {
        Counters {
            first_word,
            count,
            width,
            log: width.bits().ilog2(),
            top: width.top(),
        }
    }

    /// The number of bits in each.
    #[inline]
    pub(crate) fn width(self) -> CounterWidth {
        self.width
    }

    /// Returns the word of the counter at `index`, and the bit where it begins.
    #[inline]
    fn place(self, index: u64) -> (u64, u64) {
        debug_assert!(index < self.count, "counter {index} of {}", self.count);
        let bit = index << self.log;
        (self.first_word + bit / 64, bit % 64)
    }

    /// The counter at `index`.
    #[inline]
    pub(crate) fn get(self, bits: &impl Bits, index: u64) -> u64 {
        let (word, shift) = self.place(index);
        bits.word(word) >> shift & self.top
    }

    /// The lowest of the counters at these positions; 0 for no positions.
    #[inline]
    pub(crate) fn least(self, bits: &impl Bits, positions: impl Iterator<Item = u64>) -> u64 {
        // `Iterator::min` branches on every counter, and the CPU cannot predict which is lower.
        let lowest = |lowest: Option<u64>, position| {
            let value = self.get(bits, position);
            Some(lowest.map_or(value, |lowest| lowest.min(value)))
        };
        positions.fold(None, lowest).unwrap_or(0)
    }

    /// Returns whether the counter at `index` can be lowered by `times`: it is at least as high, or stuck.
    #[inline]
    pub(crate) fn has(self, bits: &impl Bits, index: u64, times: u64) -> bool {
        let value = self.get(bits, index);
        value >= times || value == self.top
    }

    /// Raises the counter at `index` by `times`, to its top at most; returns its old value.
    #[inline]
    pub(crate) fn raise(self, bits: &mut impl BitsMut, index: u64, times: u64) -> u64 {
        self.change(bits, index, |value| value.saturating_add(times))
    }

    /// Raises the counter at `index` to `value`, or to its top, if it is lower.
    #[inline]
    pub(crate) fn raise_to(self, bits: &mut impl BitsMut, index: u64, value: u64) {
        self.change(bits, index, |before| before.max(value));
    }

    /// Lowers the counter at `index`, which must [have](Counters::has) as much, unless it is stuck.
    #[inline]
    pub(crate) fn lower(self, bits: &mut impl BitsMut, index: u64, times: u64) {
        debug_assert!(self.has(bits, index, times), "asked before");
        let top = self.top;
        self.change(bits, index, |value| match value {
            stuck if stuck == top => stuck,
            // Saturating, so that even a caller's mistake does not wrap around.
            value => value.saturating_sub(times),
        });
    }

    /// Replaces the counter at `index`, to its top at most; returns its old value.
    #[inline]
    fn change(self, bits: &mut impl BitsMut, index: u64, change: impl FnOnce(u64) -> u64) -> u64 {
        let (place, shift) = self.place(index);
        let top = self.top;
        let mut before = 0;
        bits.change_word(place, |word| {
            before = word >> shift & top;
            let after = change(before).min(top);
            word ^ (before ^ after) << shift
        });
        before
    }

    /// Hints that the counter at `index` will soon be read or written.
    #[inline]
    pub(crate) fn prefetch(self, bits: &impl Bits, index: u64) {
        let (word, _) = self.place(index);
        bits.prefetch_line(word / 8);
    }

    /// Replaces every counter by `join` of it and the one of `other` in the same place, to its top at
    /// most. Two zeros must join to zero.
    pub(crate) fn join(
        self,
        bits: &mut impl BitsMut,
        other: &impl Bits,
        join: impl Fn(u64, u64) -> u64,
    ) {
        let top = self.width.top();
        for index in self.words() {
            let (left, right) = (bits.word(index), other.word(index));
            let mut joined = 0;
            for shift in (0..64).step_by(self.width.bits() as usize) {
                let value = join(left >> shift & top, right >> shift & top);
                joined |= value.min(top) << shift;
            }
            bits.set_word(index, joined);
        }
    }

    /// Counts and adds up all counters.
    pub(crate) fn sums(self, bits: &impl Bits) -> Sums {
        let top = self.width.top();
        let mut sums = Sums::default();
        for word in self.words().map(|index| bits.word(index)) {
            for shift in (0..64).step_by(self.width.bits() as usize) {
                let value = word >> shift & top;
                sums.used += u64::from(value > 0);
                sums.stuck += u64::from(value == top);
                sums.total += u128::from(value);
            }
        }
        sums
    }

    /// The words that the counters are in. The rest of the last word is zero.
    fn words(self) -> core::ops::Range<u64> {
        let bits = self.count * u64::from(self.width.bits());
        self.first_word..self.first_word + bits.div_ceil(64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bitmap;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const COUNT: u64 = 37;

    fn widths() -> impl Strategy<Value = CounterWidth> {
        proptest::sample::select(CounterWidth::ALL.to_vec())
    }

    fn empty(width: CounterWidth) -> (Counters, Bitmap) {
        // From the third word on: the words before must not change.
        let counters = Counters::new(2, COUNT, width);
        let size = 128 + COUNT * u64::from(width.bits());
        (counters, Bitmap::new(size).expect("small"))
    }

    fn values(counters: Counters, bits: &Bitmap) -> Vec<u64> {
        (0..COUNT).map(|index| counters.get(bits, index)).collect()
    }

    #[test]
    fn four_bits_are_the_nibbles_of_bytes_the_low_one_first() {
        let counters = Counters::new(0, 4, CounterWidth::Four);
        let mut bits = Bitmap::new(16).expect("small");

        for (index, value) in [1, 2, 3, 15].into_iter().enumerate() {
            counters.raise(&mut bits, index as u64, value);
        }

        assert_eq!(bits.to_bytes(), [0x21, 0xF3]);
    }

    #[test]
    fn a_stuck_counter_never_moves_again() {
        for width in CounterWidth::ALL {
            let (counters, mut bits) = empty(width);
            counters.raise(&mut bits, 5, u64::MAX);
            for times in [1, width.top(), u64::MAX] {
                assert!(counters.has(&bits, 5, times));
                counters.lower(&mut bits, 5, times);
                assert_eq!(counters.get(&bits, 5), width.top());
            }
            assert_eq!(counters.raise(&mut bits, 5, 1), width.top());
            let top = u128::from(width.top());
            let (used, stuck, total) = (1, 1, top);
            assert_eq!(counters.sums(&bits), Sums { used, stuck, total });
        }
    }

    proptest! {
        /// Compares with plain integers: a counter is raised and lowered, and no other counter changes.
        #[test]
        fn counters_are_integers_that_stick(
            width in widths(),
            changes in proptest::collection::vec((0..COUNT, 0..40_u64, any::<bool>()), 0..300),
        ) {
            let (counters, mut bits) = empty(width);
            let top = width.top();
            let mut model = vec![0_u64; COUNT as usize];
            for (index, times, up) in changes {
                let value = &mut model[index as usize];
                if up {
                    prop_assert_eq!(counters.raise(&mut bits, index, times), *value);
                    *value = (*value + times).min(top);
                } else if counters.has(&bits, index, times) {
                    prop_assert!(*value >= times || *value == top);
                    counters.lower(&mut bits, index, times);
                    if *value < top {
                        *value -= times;
                    }
                } else {
                    prop_assert!(*value < times && *value < top);
                    counters.raise_to(&mut bits, index, times);
                    *value = times.min(top);
                }
            }
            prop_assert_eq!(values(counters, &bits), model.clone());
            let sums = counters.sums(&bits);
            prop_assert_eq!(sums.used, model.iter().filter(|value| **value > 0).count() as u64);
            prop_assert_eq!(sums.stuck, model.iter().filter(|value| **value == top).count() as u64);
            prop_assert_eq!(sums.total, model.iter().map(|value| u128::from(*value)).sum::<u128>());
            prop_assert_eq!((bits.word(0), bits.word(1)), (0, 0));
            let odd = (0..COUNT).filter(|index| index % 2 == 1);
            let least = odd.clone().map(|index| model[index as usize]).min();
            prop_assert_eq!(Some(counters.least(&bits, odd)), least);
        }

        #[test]
        fn joining_is_done_counter_by_counter(
            width in widths(),
            left in proptest::collection::vec(any::<u64>(), COUNT as usize),
            right in proptest::collection::vec(any::<u64>(), COUNT as usize),
        ) {
            let top = width.top();
            let made = |numbers: &[u64]| {
                let (counters, mut bits) = empty(width);
                for (index, number) in numbers.iter().enumerate() {
                    counters.raise(&mut bits, index as u64, number & top);
                }
                (counters, bits)
            };
            let ((counters, mut bits), (_, other)) = (made(&left), made(&right));
            counters.join(&mut bits, &other, |left, right| left + right);
            let sum = |(left, right): (&u64, &u64)| ((left & top) + (right & top)).min(top);
            let expected: Vec<u64> = left.iter().zip(&right).map(sum).collect();
            prop_assert_eq!(values(counters, &bits), expected);
        }
    }
}
