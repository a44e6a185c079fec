//! The number of lines and of bits per key, and the rate that gives.
//!
//! A generation has 120 bits of a line: a word of 64 and one of 56. With `n` keys in it on `L` lines, its
//! part of a line holds a Poisson number of keys with mean `n/L`. Given `i` keys in a word of `b` bits, at
//! which each throws `t` times, `j` given bits are all avoided with chance `(1 - j/b)^(t i)`, so a
//! question's throws all hit with a chance that inclusion and exclusion over the distinct ones among
//! them gives exactly. The two words are independent, and a question has one chance per generation.

use crate::filter::load;
use crate::shape::check_request;
use crate::{Error, Result};

/// The number of generations: three that are complete, and the current one. With two, or eight, in
/// a line, a key of the window takes 25 or 31 bits at 1 % instead of 22.
pub(super) const GENERATIONS: usize = 4;

/// The bits of a generation's two words that keys set.
pub(super) const WORD_BITS: [u32; 2] = [64, 56];

/// The most bits per key.
const MAX_HASHES: u32 = 16;

/// The lowest rate that is sized for: a generation's part of a line would hold less than one key.
const LEAST_RATE: f64 = 1e-6;

/// The lines of a filter, and the bits per key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) lines: u64,
    pub(super) hashes: u32,
}

impl Shape {
    pub(super) fn new(lines: u64, hashes: u32) -> Result<Shape> {
        if lines == 0 || lines > 1 << 53 {
            return Err(Error::Bits {
                got: lines.saturating_mul(512),
                expected: "512 to 2^62, in lines of 512",
            });
        }
        if !(2..=MAX_HASHES).contains(&hashes) {
            return Err(Error::Hashes {
                got: hashes,
                least: 2,
                most: MAX_HASHES,
            });
        }
        Ok(Shape { lines, hashes })
    }

    /// The smallest shape whose rate is at most `rate` when every generation holds `keys` keys.
    pub(super) fn for_generations(keys: u64, rate: f64) -> Result<Shape> {
        check_request(keys, rate)?;
        if rate < LEAST_RATE {
            return Err(Error::LowRate {
                got: rate,
                least: LEAST_RATE,
            });
        }
        let fits = |hashes| (keys_per_line(hashes, rate / GENERATIONS as f64), hashes);
        let best = (2..=MAX_HASHES)
            .map(fits)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((keys_per_line, hashes)) = best else {
            return Err(Error::Rate { got: rate });
        };
        let lines = libm::ceil(keys as f64 / keys_per_line);
        if lines > (1_u64 << 53) as f64 {
            return Err(Error::TooLarge { keys, rate });
        }
        Shape::new(lines as u64, hashes)
    }

    /// Predicts the rate of one generation after `keys` distinct keys.
    pub(super) fn rate_at(self, keys: u64) -> f64 {
        // Far past any sensible load every bit is one.
        if keys as f64 / self.lines as f64 > 20_000.0 {
            return 1.0;
        }
        rate_of(&self.words(), load::on_line(keys, self.lines))
    }

    fn words(self) -> [Word; 2] {
        let throws = self.throws();
        core::array::from_fn(|word| Word::new(WORD_BITS[word], throws[word]))
    }

    /// Divides the bits per key among the two words.
    pub(super) fn throws(self) -> [u32; 2] {
        [self.hashes.div_ceil(2), self.hashes / 2]
    }

    /// Estimates how many keys made `ones` ones in the first words of a generation; `None` when they
    /// are all ones.
    pub(super) fn keys_at(self, ones: u64) -> Option<f64> {
        let bits = self.lines as f64 * f64::from(WORD_BITS[0]);
        let zeros = 1.0 - ones as f64 / bits;
        if zeros <= 0.0 {
            return None;
        }
        let avoids = libm::pow(
            1.0 - 1.0 / f64::from(WORD_BITS[0]),
            f64::from(self.throws()[0]),
        );
        Some(-libm::log(zeros) / (1.0 - avoids) * self.lines as f64)
    }
}

/// The mean number of keys on a generation's part of a line at which its rate is the one given.
fn keys_per_line(hashes: u32, rate: f64) -> f64 {
    let words = Shape { lines: 1, hashes }.words();
    // The rate rises with the load; 50 halvings leave an error of 10^-12.
    let exceeds = |mean| rate_of(&words, load::poisson(mean)) > rate;
    load::highest((0.0, 256.0), 50, load::arithmetic, exceeds)
}

/// The rate of a generation with these chances of having keys on a line, from the fewest on.
fn rate_of(words: &[Word; 2], (fewest, chances): (f64, impl Iterator<Item = f64>)) -> f64 {
    let powers_of = |word: &Word| word.avoids.map(|avoids| libm::pow(avoids, fewest));
    let mut powers = [powers_of(&words[0]), powers_of(&words[1])];
    let mut rate = 0.0;
    for chance in chances {
        rate += chance * words[0].hits(&powers[0]) * words[1].hits(&powers[1]);
        for (word, powers) in words.iter().zip(&mut powers) {
            let avoids = powers.iter_mut().zip(word.avoids);
            avoids.for_each(|(power, avoids)| *power *= avoids);
        }
    }
    rate
}

/// One more than the most throws at a word.
const TERMS: usize = MAX_HASHES as usize / 2 + 1;

/// A word and the throws at it, as the formula needs them.
struct Word {
    /// `avoids[j]`: the chance that one key leaves `j` given bits alone.
    avoids: [f64; TERMS],
    /// The weights of the powers of `avoids` that give the chance that all throws hit.
    weights: [f64; TERMS],
}

impl Word {
    fn new(bits: u32, throws: u32) -> Word {
        let bits = f64::from(bits);
        let avoids = core::array::from_fn(|j| libm::pow(1.0 - j as f64 / bits, f64::from(throws)));
        let weights = load::weights(bits, throws);
        Word { avoids, weights }
    }

    fn hits(&self, powers: &[f64; TERMS]) -> f64 {
        let terms = powers.iter().zip(self.weights);
        let sum: f64 = terms.map(|(power, weight)| power * weight).sum();
        sum.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_table() {
        // Bits per key of a window of three generations, computed apart from this code.
        for (rate, hashes, bits_per_key) in [(0.01, 7, 22.31), (0.001, 9, 37.43)] {
            let shape = Shape::for_generations(1_000_000, rate).expect("valid");
            let got = shape.lines as f64 * 512.0 / 3e6;
            assert_eq!(shape.hashes, hashes);
            assert!((got / bits_per_key - 1.0).abs() < 2e-3, "{got} at {rate}");
        }
    }

    #[test]
    fn what_cannot_be_sized_is_refused() {
        assert!(matches!(
            Shape::for_generations(0, 0.01),
            Err(Error::Capacity { .. })
        ));
        assert!(matches!(
            Shape::for_generations(1, 1.0),
            Err(Error::Rate { .. })
        ));
        assert!(matches!(
            Shape::for_generations(1, 1e-7),
            Err(Error::LowRate { .. })
        ));
        assert!(matches!(
            Shape::for_generations(u64::MAX, 0.01),
            Err(Error::TooLarge { .. })
        ));
        assert!(matches!(Shape::new(0, 7), Err(Error::Bits { .. })));
        for hashes in [0, 1, 17] {
            assert!(matches!(Shape::new(1, hashes), Err(Error::Hashes { .. })));
        }
    }
}
