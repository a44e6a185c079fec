//! Keys per line: the sums by which kinds with lines, blocks or generations are sized.
//!
//! Keys fall on lines at random, so that a line of many has a Poisson number of them and one of few a binomial number,
//! and the rate of a filter is the mean of the rates of its lines. It rises with the load, which is therefore found by
//! bisection.

/// The lines from which on the number of keys on one is taken for Poisson's: the rate is then off by less than 1 in 10^5.
const MANY_LINES: u64 = 1 << 16;

/// The fewest keys that count at this mean number of them, and the chance of having this many, one more,
/// and so on to the most that count: 12 standard deviations and 30 keys to either side.
pub(super) fn poisson(mean: f64) -> (f64, impl Iterator<Item = f64>) {
    let (fewest, most) = ends(mean);
    let first = poisson_chance(fewest, mean);
    (fewest, chances(fewest, most, first, (mean, 0.0)))
}

/// The chance of this many keys where that is their mean.
fn poisson_chance(keys: f64, mean: f64) -> f64 {
    libm::exp(keys * libm::log(mean) - mean - libm::lgamma(keys + 1.0))
}

/// The same for a line of a filter that has this many of them, and this many keys.
pub(super) fn on_line(keys: u64, lines: u64) -> (f64, impl Iterator<Item = f64>) {
    let (n, mean) = (keys as f64, keys as f64 / lines as f64);
    let (mut fewest, mut most) = ends(mean);
    let (first, step) = match lines {
        _ if lines == 1 || keys == 0 => {
            fewest = n;
            (1.0, (0.0, 0.0))
        }
        ..MANY_LINES => {
            let share = 1.0 / lines as f64;
            let ways =
                libm::lgamma(n + 1.0) - libm::lgamma(fewest + 1.0) - libm::lgamma(n - fewest + 1.0);
            let chance = fewest * libm::log(share) + (n - fewest) * libm::log1p(-share);
            (libm::exp(ways + chance), (n / (lines - 1) as f64, 1.0 / n))
        }
        _ => (poisson_chance(fewest, mean), (mean, 0.0)),
    };
    most = most.min(n + 1.0);
    (fewest, chances(fewest, most, first, step))
}

/// The numbers of keys that count around a mean: 12 standard deviations and 30 keys to either side.
fn ends(mean: f64) -> (f64, f64) {
    let spread = 12.0 * libm::sqrt(mean) + 30.0;
    (libm::floor((mean - spread).max(0.0)), mean + spread)
}

/// The chances of `fewest` keys and of each number above it that is below `most`. That of `i + 1` is
/// `odds (1 - share i) / (i + 1)` times that of `i`, for Poisson's numbers, which have no share, and for binomial ones.
fn chances(
    fewest: f64,
    most: f64,
    first: f64,
    (odds, share): (f64, f64),
) -> impl Iterator<Item = f64> {
    let (mut keys, mut chance) = (fewest, first);
    core::iter::from_fn(move || {
        (keys < most).then(|| {
            let now = chance;
            chance *= odds * (1.0 - share * keys) / (keys + 1.0);
            keys += 1.0;
            now
        })
    })
}

/// The weights that turn the chances of leaving j bits alone into the chance that `throws` random
/// bits of this many are all set: inclusion and exclusion over the distinct ones among them.
pub(super) fn weights<const TERMS: usize>(bits: f64, throws: u32) -> [f64; TERMS] {
    // distinct[d]: the chance that this many of the throws were distinct.
    let mut distinct = [0.0; TERMS];
    distinct[0] = 1.0;
    for _ in 0..throws {
        for d in (1..TERMS).rev() {
            let further = distinct[d - 1] * (bits - (d - 1) as f64);
            distinct[d] = (distinct[d] * d as f64 + further) / bits;
        }
        distinct[0] = 0.0;
    }
    let mut weights = [0.0; TERMS];
    for (d, chance) in distinct.iter().enumerate() {
        let mut binomial = 1.0;
        for (j, weight) in weights.iter_mut().enumerate().take(d + 1) {
            *weight += chance * binomial;
            binomial *= -((d - j) as f64) / (j + 1) as f64;
        }
    }
    weights
}

/// The highest load that does not exceed what it may, between two of which the higher one does: halves
/// the way between them this many times, at what `middle` says is its middle.
pub(super) fn highest(
    (mut low, mut high): (f64, f64),
    halvings: u32,
    middle: impl Fn(f64, f64) -> f64,
    exceeds: impl Fn(f64) -> bool,
) -> f64 {
    for _ in 0..halvings {
        let middle = middle(low, high);
        if exceeds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    low
}

/// The middle of loads that differ by orders of magnitude.
pub(super) fn geometric(low: f64, high: f64) -> f64 {
    libm::sqrt(low * high)
}

/// The middle of loads of one magnitude.
pub(super) fn arithmetic(low: f64, high: f64) -> f64 {
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_add_up_to_one_and_their_mean_is_the_mean() {
        for mean in [0.01, 1.0, 33.0, 900.0, 19_000.0] {
            let (fewest, chances) = poisson(mean);
            let (mut sum, mut keys, mut at) = (0.0, 0.0, fewest);
            for chance in chances {
                sum += chance;
                keys += at * chance;
                at += 1.0;
            }
            assert!((sum - 1.0).abs() < 1e-9, "{sum} at {mean}");
            assert!((keys / mean - 1.0).abs() < 1e-9, "{keys} at {mean}");
        }
    }

    #[test]
    fn keys_on_few_lines_are_binomial_and_on_many_poisson() {
        for (keys, lines) in [
            (1, 1),
            (50, 1),
            (3, 2),
            (1000, 20),
            (70_000, 40_000),
            (90_000, 70_000),
        ] {
            let (fewest, chances) = on_line(keys, lines);
            let (mut sum, mut mean, mut square, mut at) = (0.0, 0.0, 0.0, fewest);
            for chance in chances {
                sum += chance;
                mean += at * chance;
                square += at * at * chance;
                at += 1.0;
            }
            let share = 1.0 / lines as f64;
            let variance = keys as f64 * share * (1.0 - share);
            assert!((sum - 1.0).abs() < 1e-9, "{sum}: {keys} on {lines}");
            assert!((mean / (keys as f64 * share) - 1.0).abs() < 1e-9);
            assert!((square - mean * mean - variance).abs() < 1e-4 * variance.max(1e-6));
        }
    }

    #[test]
    fn two_throws_at_two_bits_both_hit_when_both_are_set() {
        // One bit of the two is set: both throws must be it.
        let weights: [f64; 3] = weights(2.0, 2);
        let alone = [1.0, 0.5, 0.0]; // that this many given bits are the zero ones

        let hit: f64 = weights.iter().zip(alone).map(|(w, a)| w * a).sum();

        assert!((hit - 0.25).abs() < 1e-15, "{hit}");
    }

    #[test]
    fn the_highest_load_is_found_from_below() {
        for middle in [geometric, arithmetic] {
            let found = highest((1e-3, 1e3), 60, middle, |load| load * load > 2.0);
            assert!(found * found <= 2.0 && (found - 2_f64.sqrt()).abs() < 1e-12);
        }
    }
}
