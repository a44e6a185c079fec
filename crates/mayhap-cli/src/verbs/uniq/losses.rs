//! The number of distinct lines that a filter has taken for repeats.
//!
//! There are two estimates, and the one with the smaller error is reported, if the other does not contradict it.
//!
//! * *By rate*: a key answered *new* at a false-positive rate p stands for 1/(1-p) keys that were offered, so it
//!   adds p/(1-p) to the losses. Exact while few lines are lost, and blind once no key is answered *new*.
//! * *By count*: the distinct keys offered ([`Distinct`]) less those answered *new*. Its standard error is 0.8 % of
//!   all keys, however full the filter is, and however badly its scheme hashes them.

use mayhap::{
    AnyFilter, Assemble as _, Digester, Filter as _, Hashing, Inserts, Scheme, Stats,
    sets::expected_collisions,
};
use mayhap_program::amounts::{show_count, show_expected};

use super::distinct::Distinct;

/// An estimated number of lost lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Loss {
    pub(super) lines: f64,
    /// Two standard deviations: the truth lies within them 19 times in 20.
    pub(super) error: f64,
}

/// Sums up what a filter is expected to lose.
pub(super) struct Losses {
    sum: f64,
    variance: f64,
    /// The error of `sum` because the rate is looked at only now and then.
    bias: f64,
    /// The filter at the last look.
    stats: Stats,
    /// New keys since then, and in all before.
    since: u64,
    keys: f64,
    /// The number of new keys after which the filter is looked at again.
    wait: u64,
    /// The keys offered, where the filter may become too full to go by its rate, or may hash too badly to.
    offered: Option<Distinct>,
    /// True when the filter may be past its capacity.
    goes_on: bool,
    /// The effect of inserting on the filter.
    inserts: Inserts,
    /// The keys answered *new*.
    new: u64,
    /// True when the filter was empty at first, so that every key offered was new to it once.
    from_empty: bool,
}

impl Loss {
    /// Shows it for people: with its error if at least one line is lost.
    pub(super) fn show(self) -> String {
        match self.lines {
            ..1.0 => show_expected(self.lines),
            lines => {
                let error = show_count(self.error.ceil() as u64);
                format!("{} ± {error}", show_expected(lines))
            }
        }
    }

    /// The loss by whole hashes, which may be equal.
    pub(super) fn of_hashes(count: u64) -> Loss {
        let lines = expected_collisions(count);
        Loss {
            lines,
            error: 2.0 * lines.sqrt(),
        }
    }

    /// The loss of keys answered *new* while the rate rose from one to another.
    pub(super) fn between(new: u64, lower: f64, higher: f64) -> Loss {
        let lines = |rate: f64| new as f64 * odds(rate);
        let middle = lines(f64::midpoint(lower, higher));
        Loss {
            lines: middle,
            error: (lines(higher) - lines(lower)).max(2.0 * middle.sqrt()),
        }
    }
}

/// Returns whether anyone can prepare lines that the filter takes for one.
pub(super) fn is_public(hashing: &Hashing) -> bool {
    use Digester::{SipHash, Universal};
    let Hashing::Scheme(Scheme::Native(digester)) = hashing else {
        return true;
    };
    !matches!(digester, SipHash { .. } | Universal { .. })
}

impl Losses {
    /// The losses of a filter from now on. Only one that may be past its capacity, or that hashes by a scheme of another
    /// program, needs the count of what it is offered.
    pub(super) fn new(filter: &AnyFilter, accepts: bool) -> Losses {
        let stats = filter.stats();
        let goes_on = accepts || stats.promise.is_none();
        let is_foreign = !matches!(
            filter.description().hashing,
            Hashing::Scheme(Scheme::Native(_)) | Hashing::Xxh64
        );
        let keys = stats.keys.unwrap_or(f64::MAX);
        Losses {
            sum: 0.0,
            variance: 0.0,
            bias: 0.0,
            since: 0,
            keys,
            wait: wait(&stats, keys, goes_on),
            offered: (goes_on || is_foreign).then(Distinct::new),
            goes_on,
            inserts: filter.kind().inserts(),
            new: 0,
            from_empty: stats.ones == 0,
            stats,
        }
    }

    /// The losses of a filter that replaces this many hashes, which were all offered and new.
    pub(super) fn after(filter: &AnyFilter, offered: Distinct, new: u64) -> Losses {
        Losses {
            offered: Some(offered),
            new,
            from_empty: true,
            ..Losses::new(filter, true)
        }
    }

    /// Returns whether the filter is full and may not go past its capacity: nothing more should be inserted. A filter of fixed
    /// size is full before it is past its capacity, so that it can still become one that grows.
    pub(super) fn is_full(&self) -> bool {
        let is_full = match self.inserts {
            Inserts::BySettingBits => self.stats.promise.is_some() && room(&self.stats) <= 0.0,
            _ => self.stats.is_over_capacity(),
        };
        is_full && !self.goes_on
    }

    /// Returns whether [`offer`](Losses::offer) needs the hashes of keys.
    pub(super) fn counts(&self) -> bool {
        self.offered.is_some()
    }

    /// Counts keys that are about to be inserted.
    pub(super) fn offer(&mut self, hashes: impl Iterator<Item = u64>) {
        if let Some(offered) = &mut self.offered {
            hashes.for_each(|hash| offered.insert(hash));
        }
    }

    /// The keys that can be inserted before the filter is looked at again: at least one.
    pub(super) fn room(&self) -> usize {
        let room = self.wait.saturating_sub(self.since).max(1);
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Takes the answers for keys that were inserted.
    pub(super) fn pass(&mut self, filter: &AnyFilter, new: &[bool]) {
        self.since += new.iter().filter(|new| **new).count() as u64;
        if self.since >= self.wait {
            self.look(filter);
        }
    }

    /// The filter as it was when it was last looked at.
    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Counts the keys since the last look at the mean of the rates from then to now.
    fn look(&mut self, filter: &AnyFilter) {
        let stats = filter.stats();
        let now = self.keys + self.since as f64;
        let (before, after) = (self.stats.rate, stats.rate);
        let mean = mean_rate((self.keys, before), (now, after));
        let since = self.since as f64;
        if self.since > 0 {
            self.sum += since * odds(mean);
            // A key offered is lost with chance p and else counted as p/(1-p): its variance is p/(1-p), and there
            // are 1/(1-p) of them for each answered *new*.
            self.variance += since * odds(mean) / (1.0 - mean);
            // Near saturation the odds rise faster than any power of the keys.
            self.bias += since * (odds(after) - odds(before)) * after * after / 4.0;
        }
        self.new += self.since;
        self.since = 0;
        self.keys = now;
        self.wait = wait(&stats, now, self.goes_on);
        self.stats = stats;
    }

    /// The lines lost so far.
    pub(super) fn total(&mut self, filter: &AnyFilter) -> Loss {
        self.look(filter);
        // After the last key answered *new* others may have been lost: three times their mean is exceeded once in 20.
        let unseen = 3.0 * odds(self.stats.rate);
        let by_rate = Loss {
            lines: self.sum,
            error: 2.0 * self.variance.sqrt() + self.bias + self.sum / 100.0 + unseen,
        };
        let Some(offered) = &self.offered else {
            return by_rate;
        };
        let count = offered.count();
        let error = 2.0 * Distinct::ERROR * count;
        let lines = (count - self.new as f64).max(0.0);
        let by_count = match self.from_empty {
            true => Loss { lines, error },
            // Keys that were in the filter before are offered and not new: any number of them, so none to all are lost.
            false => {
                let half = f64::midpoint(lines, error);
                Loss {
                    lines: half,
                    error: half,
                }
            }
        };
        // A scheme that maps many keys to the same positions loses more than the rate predicts. A difference of four
        // deviations of the count is not chance.
        let more = by_count.lines - by_rate.lines;
        let is_contradicted = self.from_empty && more > by_rate.error + 2.0 * by_count.error;
        // The comparison holds when the error by rate is infinite or not a number, too.
        match by_rate.error < by_count.error && !is_contradicted {
            true => by_rate,
            false => by_count,
        }
    }
}

fn odds(chance: f64) -> f64 {
    chance / (1.0 - chance)
}

/// The mean of the rates between two numbers of keys, each with its rate.
///
/// A filter's rate grows as a power of its keys (of k hashes, the k-th while it is empty), so the mean is that
/// of the power through both points. The middle of the two would be a twentieth too high in the end.
fn mean_rate((keys, rate): (f64, f64), (more_keys, higher_rate): (f64, f64)) -> f64 {
    let power = (higher_rate / rate).ln() / (more_keys / keys).ln();
    let mean = (more_keys * higher_rate - keys * rate) / ((power + 1.0) * (more_keys - keys));
    if mean >= rate && mean <= higher_rate {
        mean
    } else {
        // There is no such power: nothing was there before, or the rate did not grow.
        f64::midpoint(rate, higher_rate)
    }
}

/// The new keys after which the filter is looked at again.
///
/// Looking reads all bits: not while the filter is all but empty, and after a quarter more keys, or a sixteenth
/// where lines are lost in numbers; but as soon as the filter can be full.
fn wait(stats: &Stats, keys: f64, goes_on: bool) -> u64 {
    let part = if stats.rate < 0.01 { 4.0 } else { 16.0 };
    let wait = (keys / part).max(stats.bits as f64 / 1000.0).max(64.0);
    let Some(promise) = stats
        .promise
        .filter(|_| !goes_on || !stats.is_over_capacity())
    else {
        return wait as u64;
    };
    // Half a deviation past full is still half a deviation before it is past its capacity.
    let least = (promise.keys as f64).sqrt() / 2.0;
    wait.min(room(stats).max(least)).max(1.0) as u64
}

/// The keys that a filter takes until it is full, by the estimate of those it has: three standard deviations of that
/// estimate past the capacity. It counts as past its capacity at four.
fn room(stats: &Stats) -> f64 {
    let (Some(promise), Some(keys)) = (stats.promise, stats.keys) else {
        return 0.0;
    };
    let capacity = promise.keys as f64;
    capacity + 3.0 * capacity.sqrt() - keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_power_is_its_integral() {
        for power in [1, 6, 14] {
            let rate = |keys: f64| 0.01 * keys.powi(power);
            let integral = |keys: f64| rate(keys) * keys / f64::from(power + 1);
            let mean = mean_rate((0.8, rate(0.8)), (1.0, rate(1.0)));
            let expected = (integral(1.0) - integral(0.8)) / 0.2;
            assert!((mean / expected - 1.0).abs() < 1e-9, "{mean} {expected}");
        }
    }

    #[test]
    fn where_there_is_no_power_the_mean_is_the_middle() {
        assert_eq!(mean_rate((0.0, 0.0), (10.0, 0.5)), 0.25);
        assert_eq!(mean_rate((5.0, 0.5), (5.0, 0.5)), 0.5);
        assert_eq!(mean_rate((5.0, 0.5), (9.0, 0.25)), 0.375);
        assert_eq!(mean_rate((0.0, 0.0), (0.0, 0.0)), 0.0);
    }

    /// No key was answered *new*, so the rate showed no loss: 0 ± 0 was reported.
    #[test]
    fn a_full_filter_that_was_there_before_is_not_reported_to_lose_nothing() {
        use mayhap::{AnyFilter, Digester, Kind};
        let plan = Kind::Blocked.plan(10, 0.01).expect("valid");
        let mut filter = AnyFilter::new(&plan).expect("small");
        for key in 0..100_000_u64 {
            filter.insert(&key).expect("it takes keys");
        }
        let mut losses = Losses::new(&filter, true);

        let hash = |key: u64| Digester::default().digest(&key.to_le_bytes()).hi;
        losses.offer((200_000..201_000).map(hash));
        losses.pass(&filter, &[false; 1000]);
        let Loss { lines, error } = losses.total(&filter);

        assert!(lines - error <= 1.0, "{lines} ± {error}");
        assert!(lines + error >= 950.0, "{lines} ± {error}");
    }

    /// The three string hashes of small numbers are few: lines were lost by the hundred, and none stated.
    #[test]
    fn keys_that_collide_by_their_scheme_are_reported_lost() {
        use mayhap::{Digester, Kind};
        let plan = Kind::Bloom.plan(4000, 0.001).expect("valid");
        let plan = plan.hashed_by(Scheme::ThreeHash).expect("it takes all");
        let mut filter = AnyFilter::new(&plan).expect("small");
        let mut losses = Losses::new(&filter, false);
        assert!(losses.counts());

        let mut lost = 0;
        for number in (0..1500_i32).map(|number| if number % 5 == 0 { -number } else { number }) {
            let key = number.to_le_bytes();
            losses.offer([Digester::default().digest(&key).hi].into_iter());
            let new = filter.insert(&key[..]).expect("it takes keys");
            lost += u32::from(!new);
            losses.pass(&filter, &[new]);
        }
        let Loss { lines, error } = losses.total(&filter);

        assert!(lost > 100, "{lost}");
        let off = (lines - f64::from(lost)).abs();
        assert!(off <= 2.0 * error + 4.0, "{lost} lost, {lines} ± {error}");
    }

    /// Offers keys to a filter for 1000, and compares what is reported with what was lost.
    ///
    /// Fixed keys and hashes, 20 filters of each load: of 320 estimates at most 8 % are outside two standard
    /// deviations (5 % are expected), and none outside four.
    #[test]
    fn the_reported_loss_is_true_at_any_load() {
        use mayhap::{AnyFilter, Digester, Kind};
        let mut outside = 0;
        let mut trials = 0;
        for kind in [Kind::Blocked, Kind::Bloom] {
            for keys in [100_u64, 500, 1000, 2000, 5000, 10_000, 30_000, 100_000] {
                for seed in 0..20_u64 {
                    let plan = kind.plan(1000, 0.01).expect("valid");
                    let mut filter = AnyFilter::new(&plan).expect("small");
                    let mut losses = Losses::new(&filter, true);
                    let mut lost = 0_u64;
                    let mut key = seed << 32;
                    let last = key + keys;
                    while key < last {
                        let until = last.min(key + losses.room() as u64);
                        let hash = |key: u64| Digester::default().digest(&key.to_le_bytes()).hi;
                        losses.offer((key..until).map(hash));
                        let new: Vec<bool> = (key..until)
                            .map(|key| filter.insert(&key).expect("it takes keys"))
                            .collect();
                        lost += new.iter().filter(|new| !**new).count() as u64;
                        losses.pass(&filter, &new);
                        key = until;
                    }
                    let Loss { lines, error } = losses.total(&filter);
                    let off = (lines - lost as f64).abs();
                    // A Poisson number of lines cannot be estimated better than to a few.
                    assert!(
                        off <= 2.0 * error + 4.0,
                        "{kind} {keys}: {lost} lost, {lines} ± {error}"
                    );
                    trials += 1;
                    outside += u32::from(off > error + 1.0);
                    if seed == 0 {
                        println!("{kind} {keys}: {lost} lost, {lines:.1} ± {error:.1}");
                    }
                }
            }
        }
        println!("{outside} of {trials} outside");
        assert!(outside * 100 <= 8 * trials, "{outside} of {trials}");
    }
}
