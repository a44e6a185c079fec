//! Exact answers for a closed universe of keys, in a few bits each.
//!
//! The universe is two sets, included and excluded keys, and nothing else. A first filter holds the
//! included keys, a second those excluded keys that the first lets through, a third the included keys
//! that the second lets through, and so on until none is left. A key is included when it gets through an
//! odd number of them: exact for every key of the universe, and a coin that falls on *included* at about two
//! thirds of the first filter's rate for any other. So ask only for keys that you know to be of it.
//!
//! Costs 1.44 (r log2(s/r) + 2.9 r) bits for r included and s excluded keys, where s is the greater, some
//! 1.7 times the information bound. Static. After Salikhov, Sacomoto, Kucherov, "Using cascading Bloom
//! filters to improve the memory usage for de Brujin graphs", 2014, and Larisch et al., "CRLite", 2017.

mod build;
mod levels;

use alloc::vec;
use alloc::vec::Vec;
use core::f64::consts::FRAC_1_SQRT_2;

use super::description::check_size;
use super::places::Places;
use super::{Assemble, Description, Filter, Kind, Merge, Promise, Stats};
use crate::bits::{Bitmap, Bits};
use crate::{Digester, Error, Key, Result, Shape, hash::Digest};
use build::{build, distinct};
use levels::{Level, MAX_LEVELS, expected, odd_chance, read_sizes, size_bits};

/// A filter cascade: which of two sets a key is of, exactly, over bits of any storage.
///
/// ```
/// use mayhap::{Digester, kinds::Cascade};
///
/// let revoked = ["cert 3", "cert 7"];
/// let valid = (0..10_000).map(|i| format!("cert {i}")).filter(|name| !revoked.contains(&&name[..]));
/// let cascade = Cascade::build(Digester::default(), revoked, valid)?;
///
/// assert!(cascade.contains("cert 7"), "exact, not mayhap");
/// assert!(!cascade.contains("cert 8"), "exact, not mayhap");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Cascade<B = Bitmap> {
    bits: B,
    digester: Digester,
    /// The hashes of the first level.
    hashes: u32,
    /// None when no key is included.
    levels: Vec<Level>,
    promise: Option<Promise>,
}

impl Cascade {
    /// A cascade of these two sets. Duplicates do no harm.
    ///
    /// Building takes 16 bytes for each included key, and for each excluded key that the first level lets
    /// through: about 0.7 times as many as are included. The excluded keys are gone through twice, once
    /// to count them.
    ///
    /// # Errors
    ///
    /// [`Error::Overlap`] when a key is in both sets, or two keys of different sets have one digest;
    /// [`Error::Unbuilt`] when the sets do not come apart in 64 levels; or when there is no memory.
    pub fn build<K: Key, L: Key>(
        digester: Digester,
        included: impl IntoIterator<Item = K>,
        excluded: impl IntoIterator<Item = L, IntoIter: Clone>,
    ) -> Result<Cascade> {
        let digest = |key: &[u8]| digester.digest(key);
        let included = included.into_iter();
        let included = distinct(included.map(|key| digest(key.key_bytes().as_ref())))?;
        let excluded = excluded.into_iter();
        let keys = included.len() as u64;
        if keys == 0 {
            return Ok(Cascade {
                bits: Bitmap::new(0)?,
                digester,
                hashes: 0,
                levels: Vec::new(),
                promise: None,
            });
        }
        let rate = first_rate(keys, excluded.clone().count() as u64);
        let first = Shape::for_capacity(keys, rate)?;
        let excluded = excluded.map(|key| digest(key.key_bytes().as_ref()));
        let (bits, levels) = build(included, excluded, first, at_level)?;
        Ok(Cascade {
            bits,
            digester,
            hashes: first.hashes(),
            levels,
            promise: Some(Promise { keys, rate }),
        })
    }

    /// The description of a cascade of this many included and excluded keys, with the sizes that are
    /// expected; allocates nothing.
    ///
    /// # Errors
    ///
    /// When no key is included, or more than 2^63 bits are needed.
    pub fn plan_for(included: u64, excluded: u64) -> Result<Description> {
        let rate = first_rate(included, excluded);
        let first = Shape::for_capacity(included, rate)?;
        planned(
            included,
            excluded as f64 * first.rate_at(included),
            rate,
            first,
        )
    }

    /// The description of a cascade of `keys` included keys whose first level has the rate `rate`, which is
    /// that of one with `keys / (rate * sqrt(2))` excluded keys; allocates nothing.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, or `rate` is not strictly between 0 and 1.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let Promise { rate, .. } = Promise::new(keys, rate)?;
        let rate = rate.min(MOST_RATE);
        let second = keys as f64 * FRAC_1_SQRT_2;
        planned(keys, second, rate, Shape::for_capacity(keys, rate)?)
    }
}

/// The highest rate of the first level, and that of all others.
const MOST_RATE: f64 = 0.5;

/// The rate of the first level that makes the whole smallest.
fn first_rate(included: u64, excluded: u64) -> f64 {
    let rate = included as f64 * FRAC_1_SQRT_2 / excluded as f64;
    rate.min(MOST_RATE)
}

/// The description of a cascade with as many keys in its second level.
fn planned(included: u64, second: f64, rate: f64, first: Shape) -> Result<Description> {
    let (later, count) = expected(included, second);
    match first.bits().saturating_add(later) {
        bits @ ..=MAX_BITS => Ok(Description {
            kind: Kind::Cascade,
            hashing: Digester::default().into(),
            bits,
            hashes: first.hashes(),
            detail: count - 1,
            promise: Some(Promise {
                keys: included,
                rate,
            }),
        }),
        _ => Err(Error::TooLarge {
            keys: included,
            rate,
        }),
    }
}

/// The most bits of all levels.
const MAX_BITS: u64 = 1 << 63;

/// Returns what a key is hashed to for a level after the first: of levels that hash alike, each would let the same
/// keys through.
#[inline]
fn at_level(digest: Digest, level: u32) -> Digest {
    digest.remix(u64::from(level))
}

impl<B: Bits> Cascade<B> {
    /// Returns whether the key is included. For a key of the universe both answers are certain; for any other
    /// neither is.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// Returns whether the key with this digest is included.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.depth(digest) % 2 == 1
    }

    /// Returns whether the key is included, where it is of the universe at all: `None` when `is_enrolled` says
    /// that it is not, because the cascade cannot know.
    ///
    /// ```
    /// use mayhap::{Digester, kinds::Cascade};
    ///
    /// let cascade = Cascade::build(Digester::default(), [2_u32, 3, 5, 7], [0, 1, 4, 6, 8, 9_u32])?;
    /// let is_prime = |n: u32| cascade.contains_enrolled(&n, |&n| n < 10);
    /// assert_eq!([is_prime(7), is_prime(8), is_prime(11)], [Some(true), Some(false), None]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn contains_enrolled<K: Key + ?Sized>(
        &self,
        key: &K,
        is_enrolled: impl FnOnce(&K) -> bool,
    ) -> Option<bool> {
        is_enrolled(key).then(|| self.contains(key))
    }

    /// Returns where the cascade looks for a key with this digest: in each level up to the first that does not let it
    /// through.
    pub(super) fn places(&self, digest: Digest) -> Vec<Places> {
        let mut found = Vec::new();
        for (level, number) in self.levels.iter().zip(0_u32..) {
            let positions = match number {
                0 => digest.probe(self.first_shape(level)).collect(),
                _ => vec![level.position(at_level(digest, number))],
            };
            let places = Places::bits(0, &self.bits, positions).of("level", u64::from(number) + 1);
            let passes = places.hold();
            found.push(places);
            if !passes {
                break;
            }
        }
        found
    }

    /// Returns how many levels let the key through, before one that does not.
    #[inline]
    fn depth(&self, digest: Digest) -> u32 {
        let Some((first, later)) = self.levels.split_first() else {
            return 0;
        };
        let mut probe = digest.probe(self.first_shape(first));
        if !probe.all(|position| self.bits.get(position)) {
            return 0;
        }
        let mut depth = 1;
        for level in later {
            if !level.passes(&self.bits, at_level(digest, depth)) {
                break;
            }
            depth += 1;
        }
        depth
    }

    #[inline]
    fn first_shape(&self, first: &Level) -> Shape {
        Shape::new(first.bits, self.hashes).expect("built or checked with this shape")
    }

    /// Returns what the cascade holds: the number of included keys, which is exact, and how often a key that is not
    /// of the universe is taken for included. Counts every bit.
    pub fn stats(&self) -> Stats {
        Stats {
            bits: self.bits.size(),
            ones: self.bits.count_ones(),
            keys: match (self.promise, self.levels.len()) {
                (Some(promise), _) => Some(promise.keys as f64),
                (None, 0) => Some(0.0),
                (None, _) => None,
            },
            rate: self.outside_rate(),
            promise: self.promise,
        }
    }

    /// The chance that a random key gets through an odd number of levels: from the last one back, that it
    /// gets through a level, and not through an odd number of those after it.
    fn outside_rate(&self) -> f64 {
        let Some((first, later)) = self.levels.split_first() else {
            return 0.0;
        };
        let passes = |level: &Level| self.ones_in(level) as f64 / level.bits as f64;
        let odd_later = later
            .iter()
            .rev()
            .fold(0.0, |odd, level| passes(level) * (1.0 - odd));
        self.first_shape(first).rate_with(self.ones_in(first)) * (1.0 - odd_later)
    }

    fn ones_in(&self, level: &Level) -> u64 {
        let (start, end) = (level.start, level.end());
        let words = start / 64..end.div_ceil(64);
        let ones = words.map(|index| {
            let before = u64::MAX << start.saturating_sub(64 * index);
            let after = match end - 64 * index {
                left @ ..64 => u64::MAX >> (64 - left),
                _ => u64::MAX,
            };
            (self.bits.word(index) & before & after).count_ones()
        });
        ones.map(u64::from).sum()
    }

    /// The number of levels.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// Returns the way keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.digester
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.bits
    }

    /// Takes the bits out of the cascade.
    pub fn into_bits(self) -> B {
        self.bits
    }
}

impl<B: Bits> Filter for Cascade<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Cascade::stats(self)
    }
}

impl<B: Bits> Assemble for Cascade<B> {
    type Bits = B;

    /// The detail is the number of levels, less one.
    fn description(&self) -> Description {
        Description {
            kind: Kind::Cascade,
            hashing: self.digester.clone().into(),
            bits: self.bits.size(),
            hashes: self.hashes,
            detail: self.levels.len().saturating_sub(1) as u32,
            promise: self.promise,
        }
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.bits]
    }

    fn check(description: &Description) -> Result<()> {
        description.check_promise()?;
        description.digester()?;
        if description.detail >= MAX_LEVELS {
            return Err(Error::Field {
                format: "cascade",
                field: "levels after the first",
                got: i64::from(description.detail),
                expected: "0 to 63",
            });
        }
        let (bits, hashes) = (description.bits, description.hashes);
        if (bits, hashes, description.promise) == (0, 0, None) {
            return description.check_no_detail();
        }
        let sizes = size_bits(description.detail + 1);
        Shape::new(bits.saturating_sub(sizes), hashes).map(drop)
    }

    /// For keys of neither set: they get through the first level at its rate, and about two thirds of those through an even
    /// number of the others.
    ///
    /// For as many excluded keys as the rate of the first level is chosen for, or, where that is the highest there is, as
    /// many as included ones.
    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        let Promise {
            keys: included,
            rate,
        } = description.promise?;
        let first = Shape::for_capacity(included, rate).ok()?;
        let through = first.rate_at(keys);
        let excluded = match rate < MOST_RATE {
            true => keys as f64 * FRAC_1_SQRT_2 / rate,
            false => keys as f64,
        };
        Some(through * (1.0 - odd_chance(keys, excluded, through)))
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Cascade<B>> {
        Self::check(description)?;
        let bits = description.only_part(parts)?;
        check_size(&bits, description.bits, "as many as described")?;
        let levels = match bits.size() {
            0 => Vec::new(),
            _ => read_sizes(&bits, description.detail + 1)?,
        };
        Ok(Cascade {
            bits,
            digester: description.digester()?,
            hashes: description.hashes,
            levels,
            promise: description.promise,
        })
    }
}

impl Merge for Cascade {
    /// Refused: what one of the universes includes the other may exclude. Build a cascade of both.
    fn union(&mut self, _: &Cascade) -> Result<()> {
        Err(Error::Unsupported {
            kind: Kind::Cascade.name(),
            what: "be joined with another",
            instead: "build one from the keys of both",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Range;

    fn cascade(included: Range<u64>, excluded: Range<u64>) -> Cascade {
        Cascade::build(Digester::default(), included, excluded).expect("apart")
    }

    #[track_caller]
    fn assert_exact(cascade: &Cascade, included: Range<u64>, excluded: Range<u64>) {
        assert!(included.into_iter().all(|key| cascade.contains(&key)));
        assert!(!excluded.into_iter().any(|key| cascade.contains(&key)));
    }

    /// The formula: `1.4427 (r log2(1/f) + 2 (s f + r/2))` bits, at `f = r sqrt(1/2) / s`, a half at most.
    fn expected_bits(included: u64, excluded: u64) -> f64 {
        let (r, s) = (included as f64, excluded as f64);
        let f = (r * FRAC_1_SQRT_2 / s).min(0.5);
        crate::shape::BLOOM_OVERHEAD * (r * -libm::log2(f) + 2.0 * (s * f + r / 2.0))
    }

    #[test]
    fn the_worked_example_holds() {
        let cascade = cascade(0..1000, 1000..101_000);

        assert_exact(&cascade, 0..1000, 1000..101_000);
        assert!((expected_bits(1000, 100_000) - 13_784.6).abs() < 5.0);
        let bits = cascade.bits().size() as f64;
        assert!((bits / 13_784.6 - 1.0).abs() < 0.05, "{bits}");
        assert!(
            (10..=24).contains(&cascade.levels()),
            "{}",
            cascade.levels()
        );
        // 0.0047 is expected of keys outside. Within 10 %: 4 standard deviations of the sample are 6 %.
        let wrong = (1 << 40..(1 << 40) + 1_000_000_u64).filter(|key| cascade.contains(key));
        let measured = wrong.count() as f64 / 1e6;
        let stated = cascade.stats().rate;
        std::println!(
            "{bits} bits, {} levels, {measured} outside",
            cascade.levels()
        );
        assert!(
            (measured / stated - 1.0).abs() < 0.1,
            "{measured}, stated {stated}"
        );
        assert!((stated / 0.0047 - 1.0).abs() < 0.1, "{stated}");
    }

    #[test]
    fn revoked_certificates_take_19_megabytes() {
        let plan = Cascade::plan_for(11_700_000, 816_000_000 - 11_700_000).expect("valid");
        let megabytes = plan.bits as f64 / 8e6;
        assert!((megabytes / 19.03 - 1.0).abs() < 0.02, "{megabytes}");
    }

    /// Sizes scatter by 2 % at a thousand keys, so each is the mean of eight cascades.
    #[test]
    fn answers_are_exact_and_sizes_as_expected_at_any_ratio() {
        for (included, excluded) in [
            (1000, 1_000_000),
            (1000, 30_000),
            (1000, 10_000),
            (1000, 1000),
            (3000, 5000),
            (20_000, 6000),
            (10_000, 1000),
        ] {
            let all = included + excluded;
            let sizes = (0..8).map(|round| {
                let first = round << 32;
                let (included, excluded) = (first..first + included, first + included..first + all);
                let cascade = cascade(included.clone(), excluded.clone());
                assert_exact(&cascade, included, excluded);
                cascade.bits().size() as f64 / 8.0
            });
            let mean: f64 = sizes.sum();
            let planned = Cascade::plan_for(included, excluded).expect("valid").bits as f64;
            for expected in [expected_bits(included, excluded), planned] {
                let ratio = mean / expected;
                std::println!("{included} of {all}: {mean:.0} bits, {ratio:.3}");
                assert!(
                    (ratio - 1.0).abs() < 0.05,
                    "{included}, {excluded}: {ratio}"
                );
            }
        }
    }

    #[test]
    fn small_and_empty_sets_are_exact_too() {
        for included in 0..30 {
            for excluded in [0, 1, 2, 5, 100] {
                let all = included + excluded;
                let cascade = cascade(0..included, included..all);
                assert_exact(&cascade, 0..included, included..all);
                let description = cascade.description();
                let again = Cascade::assemble(&description, vec![cascade.bits.clone()]);
                assert_eq!(again.expect("as described"), cascade);
            }
        }
        assert_eq!(cascade(0..0, 0..100).stats().rate, 0.0);
        assert!(Cascade::plan_for(0, 100).is_err());
    }

    #[test]
    fn order_and_duplicates_change_nothing() {
        let once = cascade(0..100, 100..1000);
        let included = (0..100_u64).rev().chain(50..60);
        let excluded: Vec<u64> = (100..1000).rev().collect();
        let other = Cascade::build(Digester::default(), included, &excluded);
        assert_eq!(other.expect("apart"), once);
    }

    #[test]
    fn a_key_in_both_sets_is_refused() {
        let shared = Cascade::build(Digester::default(), 0..100_u64, 98..200_u64);
        assert!(matches!(shared, Err(Error::Overlap { keys: 2 })));
    }

    #[test]
    fn descriptions_that_no_build_makes_are_refused() {
        let valid = cascade(0..100, 100..1000).description();
        let changed = |change: fn(&mut Description)| {
            let mut description = valid.clone();
            change(&mut description);
            Cascade::<Bitmap>::check(&description).is_err()
        };
        assert!(!changed(|_| ()));
        assert!(changed(|description| description.bits = 8));
        assert!(changed(|description| description.bits = u64::MAX));
        assert!(changed(|description| description.hashes = 0));
        assert!(changed(|description| description.detail = 64));
        assert!(changed(
            |description| description.hashing = crate::Hashing::Xxh64
        ));
    }
}
