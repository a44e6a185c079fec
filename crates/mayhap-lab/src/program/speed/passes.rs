//! Timed passes over keys.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use mayhap::hash::mix;
use mayhap::{AnyFilter, AtomicBlocked, AtomicBloom, Filter, Insert, kinds::AtomicSplitBlock};
use mayhap_program::failure::{Failure, Result};

/// The keys in one batch.
const BATCH: usize = 4096;

/// Keys of eight bytes, made before the clock starts.
pub(super) struct Keys(Vec<[u8; 8]>);

impl Keys {
    /// Makes the keys of these numbers: distinct for distinct numbers.
    pub(super) fn of(numbers: impl Iterator<Item = u64>) -> Keys {
        Keys(numbers.map(|number| mix(number).to_le_bytes()).collect())
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.0.iter().map(<[u8; 8]>::as_slice).collect()
    }
}

/// The way keys are passed to a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Single,
    Batched,
}

impl Mode {
    pub(super) const ALL: [Mode; 2] = [Mode::Single, Mode::Batched];

    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Single => "single",
            Mode::Batched => "batched",
        }
    }
}

/// Inserts every key; returns nanoseconds per key.
pub(super) fn insert(filter: &mut dyn Insert, keys: &Keys, mode: Mode) -> f64 {
    let slices = keys.slices();
    let mut new = vec![false; BATCH];
    let start = Instant::now();
    match mode {
        Mode::Single => slices.iter().for_each(|key| {
            black_box(filter.insert_bytes(key));
        }),
        Mode::Batched => slices.chunks(BATCH).for_each(|batch| {
            filter.insert_bytes_batch(batch, &mut new[..batch.len()]);
        }),
    }
    nanoseconds(start, keys.count())
}

/// Looks up every key, each thread its share at the same time; returns nanoseconds per key.
pub(super) fn ask(filter: &AnyFilter, keys: &Keys, mode: Mode, threads: usize) -> f64 {
    let slices = keys.slices();
    on_threads(&slices, threads, |share| {
        let mut found = vec![false; BATCH];
        match mode {
            Mode::Single => share.iter().for_each(|key| {
                black_box(filter.contains_bytes(key));
            }),
            Mode::Batched => share.chunks(BATCH).for_each(|batch| {
                filter.contains_bytes_batch(batch, &mut found[..batch.len()]);
                black_box(&found);
            }),
        }
    })
}

/// A filter that many threads insert into at once.
pub(super) enum Shared {
    Bloom(AtomicBloom),
    Blocked(AtomicBlocked),
    SplitBlock(AtomicSplitBlock),
}

impl Shared {
    /// Makes the filter a shared one; `None` when its kind has no such form.
    pub(super) fn of(filter: AnyFilter) -> Option<Shared> {
        match filter {
            AnyFilter::Bloom(filter) => Some(Shared::Bloom(filter.into())),
            AnyFilter::Blocked(filter) => Some(Shared::Blocked(filter.into())),
            AnyFilter::SplitBlock(filter) => Some(Shared::SplitBlock(filter.into())),
            _ => None,
        }
    }

    /// Inserts every key, each thread its share at the same time; returns nanoseconds per key.
    pub(super) fn insert(&self, keys: &Keys, mode: Mode, threads: usize) -> f64 {
        let slices = keys.slices();
        on_threads(&slices, threads, |share| match (self, mode) {
            (Shared::Blocked(filter), Mode::Batched) => {
                filter.insert_each(share, |new| {
                    black_box(new);
                });
            }
            (Shared::Blocked(filter), Mode::Single) => share.iter().for_each(|key| {
                black_box(filter.insert(*key));
            }),
            (Shared::Bloom(filter), _) => share.iter().for_each(|key| {
                black_box(filter.insert(*key));
            }),
            (Shared::SplitBlock(filter), _) => share.iter().for_each(|key| {
                black_box(filter.insert(*key));
            }),
        })
    }
}

/// Gives each thread its share of the keys, all at one moment; returns nanoseconds per key, from when the first thread
/// begins to when the last one ends. Each thread reads the clock itself: one that only waits for them may wake up long
/// after they are done.
fn on_threads(keys: &[&[u8]], threads: usize, work: impl Fn(&[&[u8]]) + Sync) -> f64 {
    let gate = Barrier::new(threads);
    thread::scope(|scope| {
        let shares = keys.chunks(keys.len().div_ceil(threads).max(1));
        // As many threads as the gate waits for, even if some have no share.
        let shares = shares.chain(std::iter::repeat(&keys[..0])).take(threads);
        let handles: Vec<_> = shares
            .map(|share| {
                let (gate, work) = (&gate, &work);
                scope.spawn(move || {
                    gate.wait();
                    let start = Instant::now();
                    work(share);
                    (start, Instant::now())
                })
            })
            .collect();
        let times = handles
            .into_iter()
            .map(|handle| handle.join().expect("no panic"));
        let (starts, ends): (Vec<_>, Vec<_>) = times.unzip();
        let start = starts.into_iter().min().expect("a thread");
        let end = ends.into_iter().max().expect("a thread");
        per_key(end - start, keys.len())
    })
}

/// The nanoseconds since `start`, per key.
pub(super) fn nanoseconds(start: Instant, keys: usize) -> f64 {
    per_key(start.elapsed(), keys)
}

fn per_key(time: Duration, keys: usize) -> f64 {
    time.as_secs_f64() * 1e9 / keys.max(1) as f64
}

/// A summary of times: the median, the least and greatest, and the quartiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) greatest: f64,
    pub(super) quartiles: (f64, f64),
}

impl Times {
    pub(super) fn of(mut times: Vec<f64>) -> Result<Times> {
        times.sort_by(f64::total_cmp);
        let (Some(&least), Some(&greatest)) = (times.first(), times.last()) else {
            return Err(Failure::new("nothing was timed"));
        };
        let middle = times.len() / 2;
        let median = match times.len() % 2 {
            1 => times[middle],
            _ => f64::midpoint(times[middle - 1], times[middle]),
        };
        Ok(Times {
            median,
            least,
            greatest,
            quartiles: (
                times[times.len() / 4],
                times[times.len() - 1 - times.len() / 4],
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_moment_moves_neither_median_nor_quartiles() {
        let times = Times::of(vec![5.0, 1.0, 900.0, 3.0, 2.0]).expect("some");
        assert_eq!((times.median, times.quartiles), (3.0, (2.0, 5.0)));
        assert_eq!((times.least, times.greatest), (1.0, 900.0));
        assert!(Times::of(Vec::new()).is_err());
    }

    /// Waiting is not timed: threads that each take 20 ms for their share take at least that together, however late
    /// this one wakes up.
    #[test]
    fn threads_are_timed_from_the_first_start_to_the_last_end() {
        for threads in [1, 2, 8] {
            for _ in 0..5 {
                let keys = Keys::of(0..8);
                let time = on_threads(&keys.slices(), threads, |_| {
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_millis(20) {
                        std::hint::spin_loop();
                    }
                });
                assert!(time >= 20e6 / 8.0, "{threads} threads: {time} ns a key");
            }
        }
    }

    #[test]
    fn every_key_has_one_share() {
        for threads in [1, 2, 3, 7] {
            let keys = Keys::of(0..5);
            let asked = std::sync::atomic::AtomicUsize::new(0);
            on_threads(&keys.slices(), threads, |share| {
                asked.fetch_add(share.len(), std::sync::atomic::Ordering::Relaxed);
            });
            assert_eq!(asked.into_inner(), 5, "{threads} threads");
        }
    }
}
