//! Contenders take turns.
//!
//! In every round each entry runs once, in an order that moves on by one per round; the first round
//! warms caches and is not counted. What disturbs the machine for a while so disturbs everyone, and
//! nobody always runs after the same neighbour. The median over the rounds is the result; the least
//! and the greatest show how far to trust it.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The time of one pass, and its answer, which keeps the work from being optimised away.
type Pass<'a> = Box<dyn FnMut() -> (Duration, u64) + 'a>;

struct Entry<'a> {
    name: String,
    group: String,
    keys: u64,
    pass: Pass<'a>,
}

/// One number about one contender: nanoseconds per key, unless a bench says otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The contender.
    pub name: String,
    /// The question: a column of the table.
    pub group: String,
    /// The median over the rounds.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    /// The answer of the last pass.
    pub checksum: u64,
}

impl Measurement {
    /// A number that was not timed and has no spread.
    pub fn exact(name: &str, group: &str, number: f64) -> Measurement {
        Measurement {
            name: name.into(),
            group: group.into(),
            median: number,
            least: number,
            greatest: number,
            checksum: 0,
        }
    }
}

/// The entries that run in turns.
#[derive(Default)]
pub struct Race<'a> {
    entries: Vec<Entry<'a>>,
}

impl<'a> Race<'a> {
    /// A race without entries.
    pub fn new() -> Race<'a> {
        Race::default()
    }

    /// Enters a pass over `keys` keys that returns a checksum. All of it is timed.
    pub fn enter(
        &mut self,
        name: &str,
        group: &str,
        keys: u64,
        mut pass: impl FnMut() -> u64 + 'a,
    ) {
        self.enter_timed(name, group, keys, move || {
            let start = Instant::now();
            let checksum = black_box(pass());
            (start.elapsed(), checksum)
        });
    }

    /// Enters a pass over `keys` keys that times itself, to leave its preparations out.
    pub fn enter_timed(
        &mut self,
        name: &str,
        group: &str,
        keys: u64,
        pass: impl FnMut() -> (Duration, u64) + 'a,
    ) {
        self.entries.push(Entry {
            name: name.into(),
            group: group.into(),
            keys,
            pass: Box::new(pass),
        });
    }

    /// Runs a round that does not count, then `rounds` that do; the results are in the order of
    /// entry.
    pub fn run(mut self, rounds: usize) -> Vec<Measurement> {
        let count = self.entries.len();
        let mut times = vec![Vec::with_capacity(rounds); count];
        let mut checksums = vec![0; count];
        for round in 0..=rounds {
            for turn in 0..count {
                let index = (turn + round) % count;
                let entry = &mut self.entries[index];
                let (time, checksum) = black_box((entry.pass)());
                checksums[index] = checksum;
                if round > 0 {
                    times[index].push(time.as_secs_f64() * 1e9 / entry.keys as f64);
                }
            }
        }
        let results = self.entries.into_iter().zip(times).zip(checksums);
        results
            .map(|((entry, times), checksum)| entry.result(times, checksum))
            .collect()
    }
}

impl Entry<'_> {
    fn result(self, mut times: Vec<f64>, checksum: u64) -> Measurement {
        times.sort_by(f64::total_cmp);
        Measurement {
            name: self.name,
            group: self.group,
            median: median(&times),
            least: times.first().copied().unwrap_or(f64::NAN),
            greatest: times.last().copied().unwrap_or(f64::NAN),
            checksum,
        }
    }
}

/// The middle of sorted numbers, or the mean of the two in the middle.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[middle],
        _ => sorted[middle - 1].midpoint(sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn every_round_starts_with_the_next_entry() {
        let order = RefCell::new(String::new());
        let mut race = Race::new();
        for name in ["a", "b", "c"] {
            race.enter(name, "", 1, || {
                order.borrow_mut().push_str(name);
                0
            });
        }

        race.run(3);

        assert_eq!(order.into_inner(), "abcbcacababc");
    }

    #[test]
    fn the_first_round_does_not_count() {
        let mut seconds = [100, 3, 1, 2].into_iter();
        let mut race = Race::new();
        race.enter_timed("a", "", 1_000_000_000, || {
            (Duration::from_secs(seconds.next().unwrap_or(0)), 7)
        });

        let results = race.run(3);

        let numbers = (results[0].least, results[0].median, results[0].greatest);
        assert_eq!(numbers, (1.0, 2.0, 3.0));
        assert_eq!(results[0].checksum, 7);
    }

    #[test]
    fn the_median_of_an_even_count_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert!(median(&[]).is_nan());
    }
}
