//! Random numbers, the same on every run and machine.
//!
//! Every draw is a function of the seed, the stream and its index, so that a stream needs no memory, can
//! begin anywhere and can be repeated. Two streams have nothing in common except by chance.

use std::f64::consts::TAU;

use mayhap::hash::mix;

/// 2^64 divided by the golden ratio, made odd: the step of a Weyl sequence.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Two to the power of -53: a uniform f64 in 0..1 is a multiple of it.
const STEP: f64 = 1.0 / (1_u64 << 53) as f64;

/// The `index`-th word of a seed: all words of one seed are different.
pub(crate) fn word(seed: u64, index: u64) -> u64 {
    mix(mix(seed).wrapping_add(index.wrapping_mul(GOLDEN)))
}

/// A uniform number, at least 0 and below 1.
fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * STEP
}

/// A number of the normal distribution of mean 0 and standard deviation 1 (Box and Muller, 1958).
pub(crate) fn gaussian(word: u64) -> f64 {
    let radius = (-2.0 * (1.0 - unit(word)).ln()).sqrt();
    radius * (TAU * unit(mix(word.wrapping_add(GOLDEN)))).cos()
}

/// A number of the exponential distribution of mean 1.
pub(crate) fn exponential(word: u64) -> f64 {
    -(1.0 - unit(word)).ln()
}

/// Zipf's law: rank `r` of `ranks` occurs in proportion to `r^-exponent`.
///
/// Drawn by rejection-inversion, in constant time and memory for any number of ranks. After Hörmann and
/// Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", 1996.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zipf {
    ranks: u64,
    exponent: f64,
    /// The integral of the hat function up to half a rank past the last, and from before the first.
    most: f64,
    least: f64,
    /// The distance below a rank within which a draw is accepted without a second test.
    shortcut: f64,
}

impl Zipf {
    pub(crate) fn new(ranks: u64, exponent: f64) -> Zipf {
        let mut zipf = Zipf {
            ranks,
            exponent,
            most: 0.0,
            least: 0.0,
            shortcut: 0.0,
        };
        zipf.most = zipf.integral(ranks as f64 + 0.5);
        zipf.least = zipf.integral(1.5) - 1.0;
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// Returns the rank of a word.
    pub(crate) fn rank(&self, mut word: u64) -> u64 {
        loop {
            let area = self.most + unit(word) * (self.least - self.most);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.ranks as f64);
            let near = rank - x <= self.shortcut;
            if near || area >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
            word = mix(word.wrapping_add(GOLDEN));
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the weight from 1 to x: (x^(1-s) - 1) / (1-s), or ln x where s is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.exponent) * log;
        match power.abs() > 1e-8 {
            true => power.exp_m1() / power * log,
            false => log * (1.0 + power / 2.0),
        }
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = (area * (1.0 - self.exponent)).max(-1.0);
        match power.abs() > 1e-8 {
            true => (power.ln_1p() / power * area).exp(),
            false => (area * (1.0 - power / 2.0)).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean and the standard deviation of a million draws, of seed 1.
    fn moments(draw: impl Fn(u64) -> f64) -> (f64, f64) {
        let draws = || (0..1_000_000).map(|i| draw(word(1, i)));
        let mean = draws().sum::<f64>() / 1e6;
        let variance = draws().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e6;
        (mean, variance.sqrt())
    }

    #[test]
    fn distributions_have_their_moments() {
        // Five standard errors of a million draws: 0.005, and for the exponential's deviation 0.007.
        let (mean, deviation) = moments(gaussian);
        assert!(mean.abs() < 0.005 && (deviation - 1.0).abs() < 0.005);
        let (mean, deviation) = moments(exponential);
        assert!((mean - 1.0).abs() < 0.005 && (deviation - 1.0).abs() < 0.01);
    }

    #[test]
    fn ranks_occur_as_often_as_zipf_says() {
        for exponent in [0.8, 1.0, 1.1, 2.0] {
            let zipf = Zipf::new(1000, exponent);
            let mut counts = vec![0_u32; 1001];
            (0..1_000_000).for_each(|i| counts[zipf.rank(word(2, i)) as usize] += 1);

            let all: f64 = (1..=1000).map(|r| f64::from(r).powf(-exponent)).sum();
            for rank in [1, 2, 3, 10, 100, 1000] {
                let expected = 1e6 * f64::from(rank).powf(-exponent) / all;
                let off = (f64::from(counts[rank as usize]) - expected).abs();
                assert!(off < 5.0 * expected.sqrt() + 1.0, "{exponent} {rank} {off}");
            }
            assert_eq!(counts[0], 0);
        }
    }

    #[test]
    fn words_of_a_seed_are_distinct() {
        let mut words: Vec<u64> = (0..100_000).map(|i| word(7, i)).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 100_000);
        assert_ne!(word(7, 0), word(8, 0));
    }
}
