//! How many lines, how many bits per key, and the rate that gives.
//!
//! Lines fill unevenly: with `n` keys on `L` lines a line holds a Poisson number of keys with mean
//! `λ = n/L`, and the rate is the mean over that number (Putze, Sanders, Singler, 2007). Given `i`
//! keys in a line, each lane of 64 bits was thrown at `q` times per key, and once more with chance
//! `r/8`, where `k = 8q + r`. So `j` given bits of a lane are all avoided with chance
//!
//! ```text
//! ((1 - j/64)^q · (1 - (r/8) (j/64)))^i
//! ```
//!
//! and a question, which throws `q + 1` times at `r` lanes and `q` times at the others, hits with
//! the product of the chances that all its bits are set, if lanes were independent. They are not: a key throws
//! once more at `r` lanes that lie side by side, so that two lanes `d` apart both have it in `b_d` of 8
//! starts and not in `r²/8`. One key then leaves `j` bits of one and `j'` of the other alone more often than
//! independent lanes would have it, by `(b_d/8 - r²/64) (j/64) (j'/64)`; summed over the pairs of
//! lanes, `i` times this is the correction. Without it the rate would come out 1 % too low at 10 %, and nearly
//! 1 % too high at 1 %. What is left out is below 0.1 % wherever a filter is sized.

use alloc::boxed::Box;
use core::fmt;

use once_cell::race::OnceBox;

use super::pattern::{Pattern, Spread};
use crate::filter::load;
use crate::hash::{Digest, mix, reduce};
use crate::shape::check_request;
use crate::{Error, Result};

/// How big a [`Blocked`](crate::Blocked) filter is: its lines of 512 bits, and bits per key.
///
/// ```
/// use mayhap::kinds::BlockedShape;
///
/// let shape = BlockedShape::for_capacity(1_000_000, 0.01)?;
/// assert_eq!(shape.hashes(), 6);
/// assert!(shape.bits() < 9_970_000); // the standard filter needs 9 585 059
/// assert!(shape.rate_at(1_000_000) <= 0.01);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockedShape {
    lines: u64,
    hashes: u32,
}

/// Bits in a line, as a number in formulas.
const LINE_BITS: f64 = 512.0;

impl fmt::Display for BlockedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} lines of 512 bits, {} hashes",
            self.lines, self.hashes
        )
    }
}

impl BlockedShape {
    /// The most bits per key: eight in each lane, more than any rate it can be sized for asks for.
    pub const MAX_HASHES: u32 = 64;

    /// The lowest rate a shape is sized for. A line would hold fewer than four keys at it, and a
    /// standard filter takes less than half the memory.
    pub const LEAST_RATE: f64 = 1e-12;

    /// A shape of exactly `lines` lines and `hashes` bits per key.
    ///
    /// # Errors
    ///
    /// When `lines` is 0 or above 2^54, or `hashes` is not in `1..=`[`BlockedShape::MAX_HASHES`].
    pub fn new(lines: u64, hashes: u32) -> Result<BlockedShape> {
        if lines == 0 || lines > 1 << 54 {
            return Err(Error::Bits {
                got: lines.saturating_mul(512),
                expected: "512 to 2^63, in lines of 512",
            });
        }
        if hashes == 0 || hashes > Self::MAX_HASHES {
            return Err(Error::Hashes {
                got: hashes,
                least: 1,
                most: Self::MAX_HASHES,
            });
        }
        Ok(BlockedShape { lines, hashes })
    }

    /// The smallest shape whose predicted rate with `keys` keys is at most `rate`.
    ///
    /// Its lines are rounded up, by a thousandth at most, to a multiple of a power of two, so that
    /// the filter can be folded.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or is below
    /// [`BlockedShape::LEAST_RATE`] (a [`Bloom`](crate::Bloom) goes lower), or 2^63 bits do not
    /// suffice.
    pub fn for_capacity(keys: u64, rate: f64) -> Result<BlockedShape> {
        check_request(keys, rate)?;
        if rate < Self::LEAST_RATE {
            return Err(Error::LowRate {
                got: rate,
                least: Self::LEAST_RATE,
            });
        }
        let Some((keys_per_line, hashes)) = fitting(rate) else {
            return Err(Error::Rate { got: rate });
        };
        let lines = libm::ceil(keys as f64 / keys_per_line);
        if lines > (1_u64 << 54) as f64 {
            return Err(Error::TooLarge { keys, rate });
        }
        let lines = lines as u64;
        let step = 1 << (lines / 1024).max(1).ilog2();
        BlockedShape::new(lines.next_multiple_of(step), hashes)
    }

    /// The number of lines.
    #[inline]
    pub fn lines(self) -> u64 {
        self.lines
    }

    /// The number of bits: 512 in each line.
    #[inline]
    pub fn bits(self) -> u64 {
        self.lines * 512
    }

    /// The number of bits set for a key, all in one line.
    #[inline]
    pub fn hashes(self) -> u32 {
        self.hashes
    }

    /// The line of a key with this digest, and the bits it sets there: bit `i` of the line is bit
    /// `i % 64` of word `i / 64`. For filters whose bits are kept elsewhere, such as on a server.
    ///
    /// ```
    /// use mayhap::{Blocked, Digester};
    ///
    /// let mut filter = Blocked::with_capacity(1000, 0.01)?;
    /// filter.insert("key");
    /// let (line, bits) = filter.shape().place(Digester::default().digest(b"key"));
    /// for (word, bits) in bits.into_iter().enumerate() {
    ///     let stored = filter.bits().words().nth(line as usize * 8 + word);
    ///     assert_eq!(stored, Some(bits));
    /// }
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn place(self, digest: Digest) -> (u64, [u64; 8]) {
        let pattern = Pattern {
            word: digest.lo,
            spread: Spread::new(self.hashes),
        };
        (reduce(digest.hi, self.lines), pattern.mask())
    }

    /// Predicts the false-positive rate after `keys` distinct keys.
    pub fn rate_at(self, keys: u64) -> f64 {
        if keys as f64 / self.lines as f64 > MOST_LOAD {
            return 1.0;
        }
        Load::new(self.hashes).rate_of(load::on_line(keys, self.lines))
    }

    /// The most keys for which the predicted rate is at most `rate`; 0 when one is too many.
    pub fn capacity_at(self, rate: f64) -> u64 {
        match Load::new(self.hashes).keys_per_line(rate) {
            Some(keys_per_line) => (keys_per_line * self.lines as f64) as u64,
            None => 0,
        }
    }

    /// Estimates how many distinct keys made `ones` ones; `None` when every bit is one.
    ///
    /// A bit stays zero with chance `e^(-λ(1-v))` after a Poisson number of keys per line, where
    /// `v` is the chance that one key of the line leaves it alone; solved for `λ`.
    pub fn keys_at(self, ones: u64) -> Option<f64> {
        if ones >= self.bits() {
            return None;
        }
        let zeros = -libm::log1p(-(ones as f64 / self.bits() as f64));
        let keys_per_line = zeros / (1.0 - Load::new(self.hashes).avoids[1]);
        Some(keys_per_line * self.lines as f64)
    }

    /// The shape of half as many lines.
    pub(super) fn halved(self) -> Option<BlockedShape> {
        self.lines.is_multiple_of(2).then_some(BlockedShape {
            lines: self.lines / 2,
            hashes: self.hashes,
        })
    }
}

/// The rates that were searched for, and what was found.
static FOUND: [OnceBox<Found>; 256] = [const { OnceBox::new() }; 256];

/// A rate, the keys that fit a line at it, and the hashes with which they do.
struct Found {
    rate: f64,
    fits: Option<(f64, u32)>,
}

/// The most keys that fit a line at this rate, and the hashes with which they do.
///
/// The search takes a third of a millisecond, so what it found is kept. Rates past the 256 that can be are searched for
/// each time.
fn fitting(rate: f64) -> Option<(f64, u32)> {
    let first = (mix(rate.to_bits()) % FOUND.len() as u64) as usize;
    let (before, from) = FOUND.split_at(first);
    for place in from.iter().chain(before) {
        let found = place.get_or_init(|| {
            let fits = search(rate);
            Box::new(Found { rate, fits })
        });
        if found.rate == rate {
            return found.fits;
        }
    }
    search(rate)
}

/// Searches for the best number of hashes: at most the standard filter's. From there the keys that fit a line rise to
/// their most and fall again.
fn search(rate: f64) -> Option<(f64, u32)> {
    let most = f64::from(BlockedShape::MAX_HASHES);
    let textbook = libm::ceil(-libm::log2(rate)).clamp(1.0, most);
    let mut best: Option<(f64, u32)> = None;
    for hashes in (1..=textbook as u32).rev() {
        let load = Load::new(hashes);
        let from = match best {
            Some((most, _)) if load.rate(most) > rate => break,
            Some((most, _)) => most,
            None => load.most_keys(rate),
        };
        // Roughly is enough to compare numbers of hashes.
        let fits = load.near(from, rate, 1e-7);
        if let Some(fits) = fits.or_else(|| load.keys_per_line(rate)) {
            best = Some((fits, hashes));
        }
    }
    let (_, hashes) = best?;
    let fits = Load::new(hashes).keys_per_line(rate)?;
    Some((fits, hashes))
}

/// What the formula needs to know about a number of bits per key.
struct Load {
    /// `k / 8`: throws at every lane.
    rounds: u32,
    /// `k % 8`: lanes that are thrown at once more.
    rest: u32,
    /// `avoids[j]`: the chance that one key of the line leaves `j` given bits of a lane alone.
    avoids: [f64; TERMS],
    /// What the powers of `avoids` are weighted with to give the chance that a question's throws at
    /// a lane all hit: for the lanes with one throw more, and for the others.
    more: [f64; TERMS],
    fewer: [f64; TERMS],
    /// How often one key throws once more at both lanes of a pair, above what independent lanes would have: summed over
    /// the pairs of lanes that a question throws once more at, over those with one such lane, and over the others.
    together: [f64; 3],
}

/// The keys per line from which on every bit is taken for a one.
const MOST_LOAD: f64 = 20_000.0;

/// One more than the most throws at a lane.
const TERMS: usize = BlockedShape::MAX_HASHES as usize / 8 + 2;

impl Load {
    fn new(hashes: u32) -> Load {
        let (rounds, rest) = (hashes / 8, hashes % 8);
        let avoids = core::array::from_fn(|bits| {
            let share = bits as f64 / 64.0;
            libm::pow(1.0 - share, f64::from(rounds)) * (1.0 - f64::from(rest) / 8.0 * share)
        });
        Load {
            rounds,
            rest,
            avoids,
            more: load::weights(64.0, rounds + 1),
            fewer: load::weights(64.0, rounds),
            together: together(rest),
        }
    }

    /// The rate over lines with a Poisson number of keys of this mean.
    fn rate(&self, mean: f64) -> f64 {
        match mean {
            _ if mean > MOST_LOAD => 1.0,
            0.0 => 0.0,
            _ => self.rate_of(load::poisson(mean)),
        }
    }

    /// The rate over lines with these chances of having keys, from the fewest on.
    fn rate_of(&self, (fewest, chances): (f64, impl Iterator<Item = f64>)) -> f64 {
        let mut powers = self.avoids.map(|avoids| libm::pow(avoids, fewest));
        let (mut rate, mut keys) = (0.0, fewest);
        for chance in chances {
            rate += chance * self.rate_of_line(keys, &powers);
            for (power, avoids) in powers.iter_mut().zip(self.avoids) {
                *power *= avoids;
            }
            keys += 1.0;
        }
        rate.min(1.0)
    }

    /// The rate of a line with this many keys, from `avoids` to the power of them.
    fn rate_of_line(&self, keys: f64, powers: &[f64; TERMS]) -> f64 {
        let more = self.lane(&self.more, self.rounds + 1, powers);
        let fewer = self.lane(&self.fewer, self.rounds, powers);
        let independent = libm::pow(more.all_set, f64::from(self.rest))
            * libm::pow(fewer.all_set, f64::from(8 - self.rest));
        if independent == 0.0 {
            return 0.0;
        }
        let (more, fewer) = (more.slope(), fewer.slope());
        let pairs = [more * more, more * fewer, fewer * fewer];
        let together = self.together.iter().zip(pairs);
        let excess: f64 = together.map(|(together, pair)| together * pair).sum();
        (independent * (1.0 + keys * excess)).clamp(0.0, 1.0)
    }

    /// What is known of a lane at which a question throws this often.
    fn lane(&self, weights: &[f64; TERMS], throws: u32, powers: &[f64; TERMS]) -> Lane {
        let mut lane = Lane {
            all_set: 0.0,
            falls: 0.0,
        };
        let chance = f64::from(self.rest) / 8.0;
        for (bits, (power, weight)) in powers
            .iter()
            .zip(weights)
            .take(throws as usize + 1)
            .enumerate()
        {
            let share = bits as f64 / 64.0;
            lane.all_set += power * weight;
            lane.falls -= power * weight * share / (1.0 - chance * share);
        }
        // What rounding leaves of nothing may be below it.
        lane.all_set = lane.all_set.max(0.0);
        lane
    }

    /// The mean number of keys per line at which the rate is the one given; `None` below 1/64 of a
    /// key.
    fn keys_per_line(&self, rate: f64) -> Option<f64> {
        let high = self.most_keys(rate);
        let low = high / 4096.0;
        if low.is_nan() || self.rate(low) > rate {
            return None;
        }
        // The rate rises with the load; 40 halvings leave a relative error of 10^-11. All but the last few have their answer
        // from the rates at two loads.
        let (below, above) = self.around(high, rate).unwrap_or((low, high));
        let exceeds = |load| load >= above || load > below && self.rate(load) > rate;
        Some(load::highest((low, high), 40, load::geometric, exceeds))
    }

    /// More keys than fit a line at the rate: a filter without lines holds nearly as many, and lines only make it worse.
    fn most_keys(&self, rate: f64) -> f64 {
        let hashes = f64::from(8 * self.rounds + self.rest);
        -LINE_BITS / hashes * libm::log1p(-libm::pow(rate, 1.0 / hashes)) * 1.1
    }

    /// Finds two loads that hardly differ, of which only the higher one exceeds the rate. `None` where secants from `high`
    /// do not lead there.
    fn around(&self, high: f64, rate: f64) -> Option<(f64, f64)> {
        const APART: f64 = 2e-11;
        let found = self.near(high, rate, APART / 4.0)?;
        let (below, above) = (found * (1.0 - APART), found * (1.0 + APART));
        (self.rate(below) <= rate && self.rate(above) > rate).then_some((below, above))
    }

    /// Follows secants from a load to the one at which the rate is the one given, until a step is shorter than `apart`, as
    /// a share. `None` after ten steps.
    fn near(&self, from: f64, rate: f64, apart: f64) -> Option<f64> {
        // By their logarithms the rate over the load is nearly a line.
        let excess = |load: f64| libm::log(self.rate(libm::exp(load)) / rate);
        let mut load = libm::log(from);
        let mut older = load - 0.1;
        let (mut older_excess, mut newer_excess) = (excess(older), excess(load));
        for _ in 0..10 {
            let slope = (newer_excess - older_excess) / (load - older);
            (older, older_excess) = (load, newer_excess);
            load -= newer_excess / slope;
            if (load - older).abs() < apart {
                return Some(libm::exp(load));
            }
            newer_excess = excess(load);
        }
        None
    }
}

/// A lane at which a question throws.
struct Lane {
    /// The chance that all its bits there are set.
    all_set: f64,
    /// How much lower that chance is with one throw fewer at the lane.
    falls: f64,
}

impl Lane {
    /// How much lower, as a share.
    fn slope(&self) -> f64 {
        match self.all_set > 0.0 {
            true => self.falls / self.all_set,
            false => 0.0,
        }
    }
}

/// See `Load::together`; a key throws once more at `rest` lanes, side by side.
fn together(rest: u32) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for left in 0..8 {
        for right in left + 1..8 {
            let apart = right - left;
            let both = rest.saturating_sub(apart) + rest.saturating_sub(8 - apart);
            let outside = usize::from(left >= rest) + usize::from(right >= rest);
            sums[outside] += f64::from(both) / 8.0 - f64::from(rest * rest) / 64.0;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::BLOOM_OVERHEAD;
    use alloc::vec::Vec;

    #[track_caller]
    fn assert_near(got: f64, expected: f64, tolerance: f64) {
        assert!(
            (got / expected - 1.0).abs() < tolerance,
            "{got} is not {expected}"
        );
    }

    /// Shapes are in files and on servers: the short way must find the same load to the last bit.
    #[test]
    fn secants_and_halving_find_what_halving_alone_finds() {
        let (mut short, mut all) = (0, 0);
        for step in 0..300 {
            let rate = libm::pow(10.0, -f64::from(step) / 25.0 - 0.01);
            let mut best: Option<(f64, u32)> = None;
            for hashes in (1..=(libm::ceil(-libm::log2(rate)) as u32).max(1)).rev() {
                let load = Load::new(hashes);
                let high = load.most_keys(rate);
                let low = high / 4096.0;
                let exceeds = |keys| load.rate(keys) > rate;
                let plain = (!exceeds(low))
                    .then(|| load::highest((low, high), 40, load::geometric, exceeds));
                assert_eq!(load.keys_per_line(rate), plain, "{rate} by {hashes} hashes");
                short += u32::from(load.around(high, rate).is_some());
                all += 1;
                if let Some(plain) = plain
                    && best.is_none_or(|(most, _)| plain > most)
                {
                    best = Some((plain, hashes));
                }
            }
            assert_eq!(search(rate), best, "{rate}");
        }
        assert!(short > all - 50, "{short} of {all}");
    }

    #[test]
    fn eight_bits_per_key_have_the_split_block_rates_of_the_table() {
        for (bits_per_key, rate) in [
            (8.0, 0.02931),
            (10.0, 0.01049),
            (12.0, 0.004222),
            (16.0, 9.089e-4),
            (20.0, 2.596e-4),
            (24.0, 9.086e-5),
        ] {
            assert_near(Load::new(8).rate(LINE_BITS / bits_per_key), rate, 1e-3);
        }
    }

    /// The exact rate for up to eight bits per key: inclusion and exclusion over the lanes of a
    /// question, with their dependence.
    fn exact_rate(hashes: u32, mean: f64) -> f64 {
        let window = |start: u32| {
            ((1_u32 << hashes) - 1).rotate_left(start) as u8
                | (((1_u32 << hashes) - 1) << start >> 8) as u8
        };
        (0..1_u32 << hashes)
            .map(|subset| {
                let avoided: f64 = (0..8)
                    .map(|start| {
                        let met = (window(start) & subset as u8).count_ones();
                        libm::pow(63.0 / 64.0, f64::from(met))
                    })
                    .sum();
                let sign = if subset.count_ones() % 2 == 0 {
                    1.0
                } else {
                    -1.0
                };
                sign * libm::exp(-mean * (1.0 - avoided / 8.0))
            })
            .sum()
    }

    #[test]
    fn what_is_neglected_of_the_dependence_of_lanes_is_within_a_thousandth() {
        for (hashes, bits_per_key) in [
            (1, 2.0),
            (2, 3.3),
            (3, 4.8),
            (4, 6.3),
            (5, 7.5),
            (6, 9.9),
            (7, 11.5),
            (8, 14.0),
        ] {
            let mean = LINE_BITS / bits_per_key;
            assert_near(Load::new(hashes).rate(mean), exact_rate(hashes, mean), 1e-3);
        }
    }

    #[test]
    fn sizes_are_near_the_textbook_at_usual_rates() {
        // (rate, hashes, most times the textbook's bits per key)
        for (rate, hashes, most) in [
            (0.1, 3, 1.02),
            (0.01, 6, 1.04),
            (0.001, 9, 1.09),
            (1e-4, 12, 1.16),
            (1e-6, 16, 1.36),
            (1e-9, 22, 1.88),
            (1e-12, 27, 2.81),
        ] {
            let shape = BlockedShape::for_capacity(10_000_000, rate).expect("valid");
            let textbook = -libm::log2(rate) * BLOOM_OVERHEAD;
            let bits_per_key = shape.bits() as f64 / 1e7;
            assert_eq!(shape.hashes(), hashes, "at {rate}");
            assert!(bits_per_key <= most * textbook, "{bits_per_key} at {rate}");
            assert!(shape.rate_at(10_000_000) <= rate);
            assert_near(shape.rate_at(10_000_000), rate, 0.02);
        }
    }

    /// More rates than are kept, each twice: what is found again is what was searched for, to the last bit.
    #[test]
    fn what_was_found_for_a_rate_is_kept_and_is_the_same() {
        let rates: Vec<f64> = (1..300).map(|step| 0.9 / f64::from(step * step)).collect();
        for _ in 0..2 {
            for &rate in &rates {
                assert_eq!(fitting(rate), search(rate), "{rate}");
            }
        }
        assert!(FOUND.iter().all(|place| place.get().is_some()));

        for keys in [1, 1000, 123_456_789] {
            let shape = BlockedShape::for_capacity(keys, rates[9]).expect("valid");
            let (keys_per_line, hashes) = search(rates[9]).expect("valid");
            let lines = libm::ceil(keys as f64 / keys_per_line) as u64;
            assert_eq!(shape.hashes(), hashes);
            assert!((lines..=lines + lines / 1024).contains(&shape.lines()));
        }
    }

    #[test]
    fn capacity_is_the_inverse_of_the_rate() {
        for rate in [0.2, 0.01, 1e-5] {
            let shape = BlockedShape::for_capacity(1_000_000, rate).expect("valid");
            let capacity = shape.capacity_at(rate);
            assert!((1_000_000..1_002_000).contains(&capacity), "{capacity}");
        }
        assert_eq!(
            BlockedShape::new(1, 1).expect("valid").capacity_at(1e-12),
            0
        );
    }

    #[test]
    fn lines_can_be_halved_down_to_about_a_thousand() {
        let mut shape = BlockedShape::for_capacity(100_000_000, 0.01).expect("valid");
        while let Some(half) = shape.halved() {
            shape = half;
        }
        assert!(shape.lines() < 4096, "{}", shape.lines());
    }

    #[test]
    fn what_is_no_shape_is_refused_by_value() {
        assert!(matches!(
            BlockedShape::new(0, 6),
            Err(Error::Bits { got: 0, .. })
        ));
        assert!(matches!(
            BlockedShape::new(u64::MAX, 6),
            Err(Error::Bits { .. })
        ));
        assert!(matches!(
            BlockedShape::new(8, 0),
            Err(Error::Hashes { got: 0, .. })
        ));
        assert!(matches!(
            BlockedShape::new(8, 65),
            Err(Error::Hashes { got: 65, .. })
        ));
        assert!(matches!(
            BlockedShape::for_capacity(0, 0.1),
            Err(Error::Capacity { .. })
        ));
        for rate in [0.0, 1.0, f64::NAN] {
            assert!(
                matches!(BlockedShape::for_capacity(9, rate), Err(Error::Rate { .. })),
                "{rate}"
            );
        }
        assert!(matches!(
            BlockedShape::for_capacity(9, 1e-13),
            Err(Error::LowRate { .. })
        ));
        assert!(matches!(
            BlockedShape::for_capacity(u64::MAX, 0.01),
            Err(Error::TooLarge { .. })
        ));
    }
}
