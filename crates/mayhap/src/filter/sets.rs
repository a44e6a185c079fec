//! Overlap of the key sets of two filters, estimated from their bits.
//!
//! The union of filters built alike is exact, so its size is estimated as well as theirs; the common keys are
//! what the two have together beyond it (inclusion and exclusion). Never from the bits in both: many of those
//! were set by different keys. The error does not shrink with the overlap, so small overlaps drown in it,
//! and it is returned with every estimate.
//!
//! Works for kinds that only set bits. Others refuse, for slots and levels of two sets do not add up.
//! After Swamidass and Baldi, 2007; Papapetrou, Siberski, Nejdl, "Cardinality estimation and dynamic
//! length adaptation for Bloom filters", 2010, whose estimator is the same in other letters.

use core::f64::consts::LN_2;

use super::any::differ;
use super::description::Wrap as _;
use super::{AnyFilter, Blocked, Bloom, Kind, SplitBlock};
use crate::bits::Bits;
use crate::shape::check_request;
use crate::{Error, Result};

/// Estimates of how the keys of two filters overlap: [`Bloom::overlap`] and its like.
///
/// ```
/// use mayhap::{Bloom, Insert};
///
/// let mut left = Bloom::with_capacity(100_000, 0.01)?;
/// let mut right = left.clone();
/// left.insert_all(0..60_000_u32);
/// right.insert_all(30_000..90_000_u32);
///
/// let overlap = left.overlap(&right)?;
/// assert!((overlap.intersection() - 30_000.0).abs() < 4.0 * overlap.deviation());
/// assert!((overlap.jaccard() - 1.0 / 3.0).abs() < 0.01);
/// assert!(overlap.is_certain());
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    left: f64,
    right: f64,
    union: f64,
    spreads: Spreads,
    is_disjoint: bool,
    may_be_subset: bool,
}

/// The variance of the number of keys in a set, as estimated from its ones.
///
/// Ones that two sets share vary together, so the covariance of two estimates is the spread of what the sets
/// have in common; every error below follows from these four.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spreads {
    left: f64,
    right: f64,
    union: f64,
    common: f64,
}

impl Overlap {
    /// The distinct keys in the left filter.
    pub fn left(&self) -> f64 {
        self.left
    }

    /// The distinct keys in the right filter.
    pub fn right(&self) -> f64 {
        self.right
    }

    /// The distinct keys in either.
    pub fn union(&self) -> f64 {
        self.union
    }

    /// The keys in both: 0 where the estimate falls below, as it does half of the time when there are none.
    pub fn intersection(&self) -> f64 {
        let most = self.left.min(self.right);
        (self.left + self.right - self.union).min(most).max(0.0)
    }

    /// The keys in the left filter that are not in the right one. Only their number is known: a filter
    /// of them cannot be made, because clearing bits that both have would lose keys of the left one.
    pub fn difference(&self) -> f64 {
        self.left - self.intersection()
    }

    /// Returns how similar the sets are: the keys in both as a share of those in either, 0 to 1. Empty sets are
    /// alike.
    pub fn jaccard(&self) -> f64 {
        if self.union <= 0.0 {
            return 1.0;
        }
        (self.intersection() / self.union).min(1.0)
    }

    /// The standard deviation of [`intersection`](Overlap::intersection): the truth is within two of them 19
    /// times in 20.
    pub fn deviation(&self) -> f64 {
        deviation(self.intersection_variance())
    }

    /// The standard deviation of [`union`](Overlap::union).
    pub fn union_deviation(&self) -> f64 {
        deviation(self.spreads.union)
    }

    /// The standard deviation of [`difference`](Overlap::difference).
    pub fn difference_deviation(&self) -> f64 {
        // The difference is the union less the right set, whose covariance is the spread of the latter.
        deviation(self.spreads.union - self.spreads.right)
    }

    /// The standard deviation of [`jaccard`](Overlap::jaccard).
    pub fn jaccard_deviation(&self) -> f64 {
        if self.union <= 0.0 {
            return 0.0;
        }
        // That of a quotient, by the delta method.
        let Spreads {
            left, right, union, ..
        } = self.spreads;
        let (share, covariance) = (self.jaccard(), left + right - union);
        let variance =
            self.intersection_variance() + share * share * union - 2.0 * share * covariance;
        deviation(variance) / self.union
    }

    fn intersection_variance(&self) -> f64 {
        let Spreads {
            left,
            right,
            union,
            common,
        } = self.spreads;
        union + 2.0 * common - left - right
    }

    /// Returns whether there are common keys beyond doubt: the estimate is four standard deviations above none. False
    /// means that there may be some, or not.
    pub fn is_certain(&self) -> bool {
        self.intersection() > 4.0 * self.deviation()
    }

    /// Returns whether the two certainly have no key in common: no bit is set in both. False says nothing.
    pub fn is_disjoint(&self) -> bool {
        self.is_disjoint
    }

    /// Returns whether the right filter may have every key of the left: false is certain, true is *mayhap*.
    pub fn may_be_subset(&self) -> bool {
        self.may_be_subset
    }
}

/// Ones in one filter, in another, and in either.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ones {
    bits: u64,
    left: u64,
    right: u64,
    either: u64,
}

impl Ones {
    fn count(left: &impl Bits, right: &impl Bits) -> Ones {
        let mut ones = Ones {
            bits: left.size(),
            left: 0,
            right: 0,
            either: 0,
        };
        for index in 0..left.size().div_ceil(64) {
            let (left, right) = (left.word(index), right.word(index));
            ones.left += u64::from(left.count_ones());
            ones.right += u64::from(right.count_ones());
            ones.either += u64::from((left | right).count_ones());
        }
        ones
    }

    /// The estimates, given how many keys make as many ones in the kind and shape, at `hashes` ones each.
    fn overlap(self, hashes: u32, keys_at: impl Fn(u64) -> Option<f64>) -> Result<Overlap> {
        let saturated = || Error::Saturated { bits: self.bits };
        let keys = |ones| keys_at(ones).ok_or_else(saturated);
        let (left, right, union) = (keys(self.left)?, keys(self.right)?, keys(self.either)?);
        let ones_per_bit = f64::from(hashes) / self.bits as f64;
        let common = (left + right - union).clamp(0.0, left.min(right).max(0.0));
        // By the delta method the estimate of one set varies by m/k² (e^t - 1 - t) at t = keys k/m.
        let per_key = 1.0 / (ones_per_bit * f64::from(hashes));
        let spread = |keys: f64| (libm::expm1(keys * ones_per_bit) - keys * ones_per_bit) * per_key;
        Ok(Overlap {
            left,
            right,
            union,
            spreads: Spreads {
                left: spread(left),
                right: spread(right),
                union: spread(union),
                common: spread(common),
            },
            is_disjoint: self.left + self.right == self.either,
            may_be_subset: self.right == self.either,
        })
    }
}

/// The root of a variance that rounding may have taken below zero.
fn deviation(variance: f64) -> f64 {
    libm::sqrt(variance.max(0.0))
}

impl<B: Bits> Bloom<B> {
    /// Estimates how the keys of this filter and another overlap. Reads every bit of both.
    ///
    /// # Errors
    ///
    /// When the two differ in shape or scheme, or are too full for an estimate.
    pub fn overlap<C: Bits>(&self, other: &Bloom<C>) -> Result<Overlap> {
        self.body().check_same(other.body())?;
        let shape = self.shape();
        Ones::count(self.bits(), other.bits()).overlap(shape.hashes(), |ones| shape.keys_at(ones))
    }
}

impl<B: Bits> Blocked<B> {
    /// Estimates how the keys of this filter and another overlap. Reads every bit of both.
    ///
    /// # Errors
    ///
    /// When the two differ in shape or digester, or are too full for an estimate.
    pub fn overlap<C: Bits>(&self, other: &Blocked<C>) -> Result<Overlap> {
        self.body().check_same(other.body())?;
        let shape = self.shape();
        Ones::count(self.bits(), other.bits()).overlap(shape.hashes(), |ones| shape.keys_at(ones))
    }
}

impl<B: Bits> SplitBlock<B> {
    /// Estimates how the keys of this filter and another overlap. Reads every bit of both.
    ///
    /// # Errors
    ///
    /// When the two differ in shape, or are too full for an estimate.
    pub fn overlap<C: Bits>(&self, other: &SplitBlock<C>) -> Result<Overlap> {
        self.body().check_same(other.body())?;
        let (shape, hashes) = (self.shape(), 8);
        Ones::count(self.bits(), other.bits()).overlap(hashes, |ones| shape.keys_at(ones))
    }
}

impl<B: Bits> AnyFilter<B> {
    /// Estimates how the keys of this filter and another overlap. Reads every bit of both.
    ///
    /// # Errors
    ///
    /// When the two differ in kind or in how they are built, or are too full for an estimate;
    /// [`Error::Unsupported`] when it does not follow from the bits of this kind.
    pub fn overlap<C: Bits>(&self, other: &AnyFilter<C>) -> Result<Overlap> {
        match (self, other) {
            (AnyFilter::Bloom(left), AnyFilter::Bloom(right)) => left.overlap(right),
            (AnyFilter::Blocked(left), AnyFilter::Blocked(right)) => left.overlap(right),
            (AnyFilter::SplitBlock(left), AnyFilter::SplitBlock(right)) => left.overlap(right),
            (left, right) => Err(refusal(left.kind(), right.kind())),
        }
    }
}

/// Why two filters that are not both of a kind that only sets bits have no overlap.
fn refusal(left: Kind, right: Kind) -> Error {
    if left != right {
        return differ(left, right);
    }
    Error::Unsupported {
        kind: left.name(),
        what: "estimate an overlap",
        instead: "ask the filter for each key of the other set",
    }
}

/// The rate of the filter that makes it cheapest to find the common keys of two sets that lie apart: the
/// owner of `left` keys sends a filter of them, the owner of `right` keys sends back those it finds there,
/// of `key_bits` each, and the first drops the few that are wrong.
///
/// A lower rate makes the filter larger, a higher one the answer: `left / (right * key_bits * ln² 2)`.
///
/// # Errors
///
/// When a number is 0, or no rate below 1 is cheapest: send the keys then.
///
/// ```
/// let rate = mayhap::sets::exchange_rate(10_000, 1_000_000, 128)?;
/// assert!((rate - 1.6261e-4).abs() < 1e-8);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn exchange_rate(left: u64, right: u64, key_bits: u64) -> Result<f64> {
    let answer_bits = right as f64 * key_bits as f64;
    let rate = left as f64 / (answer_bits * LN_2 * LN_2);
    check_request(left, rate)?;
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digester, Filter as _, Fuse, Insert as _, Merge as _, Scheme, Shape};
    use alloc::vec::Vec;

    fn bloom(bits: u64, hashes: u32, keys: impl Iterator<Item = u64>) -> Bloom {
        let shape = Shape::new(bits, hashes).expect("valid");
        let mut filter = Bloom::new(shape, Scheme::default()).expect("small");
        filter.insert_all(keys);
        filter
    }

    #[test]
    fn the_estimates_of_the_worked_example_hold() {
        let shape = Shape::new(95_851, 7).expect("valid");
        let ones = Ones {
            bits: 95_851,
            left: 30_000,
            right: 30_000,
            either: 46_000,
        };
        let overlap = ones
            .overlap(7, |ones| shape.keys_at(ones))
            .expect("not full");
        assert!((overlap.left() - 5_140.356_148).abs() < 1e-6);
        assert!((overlap.union() - 8_951.885_646).abs() < 1e-6);
        assert!((overlap.intersection() - 1_328.826_649).abs() < 1e-6);
        assert!((overlap.difference() - 3_811.529_498).abs() < 1e-5);
        assert!((overlap.jaccard() - 0.148_441).abs() < 1e-6);
    }

    /// The mean estimates of 200 pairs each are within 4 standard errors of the truth, and the standard
    /// deviations are within a quarter of those measured (whose own error is a twentieth).
    #[test]
    fn overlaps_are_estimated_within_the_error_told() {
        for (left, right, common) in [
            (5000, 5000, 1000),
            (5000, 5000, 100),
            (8000, 2000, 500),
            (5000, 5000, 0),
            (5000, 5000, 5000),
        ] {
            let (mut unions, mut intersections) = (Vec::new(), Vec::new());
            let (mut differences, mut shares) = (Vec::new(), Vec::new());
            let mut stated = [0.0; 4];
            for round in 0..200 {
                let first = round << 32;
                let start = first + left - common;
                let overlap = bloom(95_851, 7, first..first + left)
                    .overlap(&bloom(95_851, 7, start..start + right))
                    .expect("not full");
                unions.push(overlap.union());
                // As it comes, for where there is none it falls below zero half of the time.
                let estimate = overlap.left() + overlap.right() - overlap.union();
                assert_eq!(overlap.intersection() > 0.0, estimate > 0.0);
                intersections.push(estimate);
                differences.push(overlap.left() - estimate);
                shares.push(estimate / overlap.union());
                for (stated, deviation) in stated.iter_mut().zip([
                    overlap.deviation(),
                    overlap.union_deviation(),
                    overlap.difference_deviation(),
                    overlap.jaccard_deviation(),
                ]) {
                    *stated += deviation / 200.0;
                }
            }
            let union = (left + right - common) as f64;
            assert_mean_and_deviation(&intersections, common as f64, stated[0]);
            assert_mean_and_deviation(&unions, union, stated[1]);
            if common == left {
                // Every pair has the same bits, so nothing is left to vary.
                assert!(differences.iter().all(|keys| keys.abs() < 1e-6) && stated[2] < 1e-3);
                continue;
            }
            assert_mean_and_deviation(&differences, (left - common) as f64, stated[2]);
            assert_mean_and_deviation(&shares, common as f64 / union, stated[3]);
        }
    }

    /// Why neither an estimate nor a rate comes from the bits in both. Means over 50 pairs: the ones scatter
    /// by 70 from pair to pair, and a rate by 7 times the share that its ones do, 4 % at most.
    #[test]
    fn the_bits_in_both_are_more_than_those_of_the_common_keys() {
        let shape = Shape::new(95_851, 7).expect("valid");
        for (common, ones, keys) in [(0, 8_969.7, 1345.4), (1000, 12_480.0, 1908.1)] {
            let (mut mean, mut rates) = (0.0, [0.0; 3]);
            for round in 0..50 {
                let first = round << 32;
                let left = bloom(95_851, 7, first..first + 5000);
                let start = first + 5000 - common;
                let mut both = left.clone();
                both.intersect(&bloom(95_851, 7, start..start + 5000))
                    .expect("built alike");
                let alone = bloom(95_851, 7, start..start + common);
                assert!((start..start + common).all(|key| both.contains(&key)));
                mean += both.stats().ones as f64 / 50.0;
                for (rate, filter) in rates.iter_mut().zip([&left, &both, &alone]) {
                    *rate += filter.stats().rate / 50.0;
                }
            }
            assert!((mean - ones).abs() < 40.0, "{mean} is not {ones}");
            let stated = shape.keys_at(mean as u64).expect("not full");
            std::println!("{common} common keys: {mean:.1} ones in both, as of {stated:.1} keys");
            std::println!("rates of one, of both, of the common keys: {rates:?}");
            assert!((stated - keys).abs() < 6.0, "{stated} is not {keys}");
            if common > 0 {
                for (rate, expected) in rates.into_iter().zip([2.51e-4, 6.30e-7, 8.59e-9]) {
                    assert!((rate / expected - 1.0).abs() < 0.03, "{rate:e}");
                }
            }
        }
    }

    #[track_caller]
    fn assert_mean_and_deviation(estimates: &[f64], truth: f64, stated: f64) {
        let count = estimates.len() as f64;
        let mean = estimates.iter().sum::<f64>() / count;
        let squares = estimates.iter().map(|estimate| (estimate - mean).powi(2));
        let measured = (squares.sum::<f64>() / (count - 1.0)).sqrt();
        std::println!("{truth}: {mean:.1} ± {measured:.1}, stated ± {stated:.1}");
        let off = (mean - truth).abs();
        assert!(
            off <= 4.0 * stated / count.sqrt(),
            "{mean} for {truth}, stated {stated}"
        );
        assert!(
            (stated / measured - 1.0).abs() < 0.25,
            "stated {stated}, measured {measured}"
        );
    }

    #[test]
    fn blocked_kinds_estimate_as_well() {
        let (mut blocked, mut split) = (Vec::new(), Vec::new());
        let mut stated = [0.0; 2];
        for round in 0..200_u64 {
            let first = round << 32;
            let sets = [first..first + 5000, first + 4000..first + 9000];
            let [left, right] = sets.clone().map(|keys| {
                let mut filter = Blocked::with_capacity(10_000, 0.01).expect("valid");
                filter.insert_all(keys);
                filter
            });
            let overlap = left.overlap(&right).expect("not full");
            blocked.push(overlap.intersection());
            stated[0] += overlap.deviation() / 200.0;
            let [left, right] = sets.map(|keys| {
                let mut filter = SplitBlock::with_capacity(10_000, 0.01).expect("valid");
                filter.insert_all(keys);
                filter
            });
            let overlap = left.overlap(&right).expect("not full");
            split.push(overlap.intersection());
            stated[1] += overlap.deviation() / 200.0;
        }
        assert_mean_and_deviation(&blocked, 1000.0, stated[0]);
        assert_mean_and_deviation(&split, 1000.0, stated[1]);
    }

    #[test]
    fn what_the_bits_prove_is_told_apart_from_what_they_suggest() {
        let few = bloom(1 << 20, 4, 0..100);
        let more = bloom(1 << 20, 4, 0..200);
        let others = bloom(1 << 20, 4, 5000..5010);
        let stated = |left: &Bloom, right: &Bloom| left.overlap(right).expect("not full");

        assert!(stated(&few, &more).may_be_subset() && !stated(&more, &few).may_be_subset());
        assert!(stated(&few, &more).is_certain() && !stated(&few, &more).is_disjoint());
        assert!(stated(&few, &others).is_disjoint() && !stated(&few, &others).is_certain());
        assert_eq!(stated(&few, &others).jaccard(), 0.0);
        let empty = bloom(1 << 20, 4, 0..0);
        assert_eq!(stated(&empty, &empty).jaccard(), 1.0);
        assert!(stated(&empty, &few).may_be_subset() && stated(&empty, &few).is_disjoint());
    }

    #[test]
    fn filters_that_cannot_be_compared_are_refused() {
        let filter = bloom(1000, 7, 0..10);
        let other = bloom(1001, 7, 0..10);
        assert!(matches!(
            filter.overlap(&other),
            Err(Error::Incompatible { what: "shape", .. })
        ));
        let full = bloom(64, 7, 0..1000);
        assert!(matches!(
            full.overlap(&full),
            Err(Error::Saturated { bits: 64 })
        ));

        let fuse = AnyFilter::from(Fuse::build(Digester::default(), 8, 0..10_u32).expect("built"));
        let refused = fuse.overlap(&fuse).expect_err("no sets of bits");
        assert!(matches!(refused, Error::Unsupported { kind: "fuse", .. }));
        let refused = fuse.clone().intersect(&fuse).expect_err("no sets of bits");
        assert!(matches!(refused, Error::Unsupported { kind: "fuse", .. }));
        let refused = fuse
            .overlap(&AnyFilter::from(filter))
            .expect_err("two kinds");
        assert!(matches!(refused, Error::Incompatible { what: "kind", .. }));
    }

    #[test]
    fn kinds_that_set_bits_intersect_and_keep_every_common_key() {
        for kind in [Kind::Bloom, Kind::Blocked, Kind::SplitBlock, Kind::Shifting] {
            let filled = |keys: core::ops::Range<u32>| {
                let plan = kind.plan(1000, 0.01).expect("valid");
                let mut filter = AnyFilter::new(&plan).expect("small");
                for key in keys {
                    filter.insert(&key).expect("a kind that can");
                }
                filter
            };
            let (left, right) = (filled(0..600), filled(400..1000));
            let mut both = left.clone();
            both.intersect(&right).expect("built alike");
            assert!((400..600_u32).all(|key| both.contains(&key)), "{kind}");
            let rates = [left.stats().rate, right.stats().rate];
            assert!(both.stats().rate <= rates[0].min(rates[1]), "{kind}");
            let others = (0..400_u32).filter(|key| both.contains(key)).count();
            assert!(others < 20, "{kind}: {others}");
            if kind == Kind::Shifting {
                let refused = left.overlap(&right).expect_err("bits that lie together");
                assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
                continue;
            }
            let overlap = left.overlap(&right).expect("built alike");
            assert!((overlap.intersection() - 200.0).abs() < 60.0, "{kind}");
        }
    }

    #[test]
    fn an_exchange_that_cannot_be_cheap_is_refused() {
        for (left, right, key_bits) in [(0, 10, 64), (10, 0, 64), (10, 10, 0), (1000, 1, 64)] {
            assert!(exchange_rate(left, right, key_bits).is_err());
        }
    }
}
