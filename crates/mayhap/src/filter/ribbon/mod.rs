//! The smallest filter of a fixed set of keys, for any rate.
//!
//! A fingerprint of r bits is the sum, without carries, of up to 128 slots in a row; which, the key's
//! hash says. The slots are solved for all keys at once (`build.rs`), so no key can be inserted later;
//! duplicates do no harm. No false negatives; other keys are found at the rate 2^-r, r from 1 to 32.
//!
//! Costs 1.02 to 1.04 r bits per key from 10^4 keys on (7.15 at 1 %, 10.2 at 0.1 %), 2 to 4 % above the
//! information bound of 2^-r. Slots come in blocks of 128: 1000 keys take 1.02 to 1.15 r bits each, 100
//! take 1.28 r, 10 take 12.8 r. A lookup reads up to 32 r bytes in a row, and takes 2 to 5 times as long
//! as in [`Fuse`](crate::Fuse). Building takes 8 bytes per key, 170 kB, and the filter itself. After Dillinger and
//! Walzer, "Ribbon filter: practically smaller than Bloom and Xor", 2021.

mod build;
mod groups;
mod parity;
mod shape;
mod sums;

use alloc::vec;
use alloc::vec::Vec;

pub use shape::RibbonShape;

use super::kernel::{Chosen, Kernel, Task};
use super::roll::LARGE;
use super::solved::{SlotMap, Solve, Solved};
use super::{Description, Kind, Places};
use crate::bits::{Bitmap, Bits};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result};
use groups::LookUp;
use parity::Parity;
use sums::Sums;

/// A ribbon filter: the smallest kind, built once from all its keys, over bits of any storage.
///
/// ```
/// use mayhap::Ribbon;
///
/// let trees = Ribbon::with_rate(0.001, (0..5000_u32).chain(0..10))?;
/// assert!(trees.contains(&4999_u32) && !trees.contains(&5001_u32));
/// assert_eq!(trees.stats().keys, Some(5000.0));
/// assert_eq!(trees.shape().fingerprint_bits(), 10); // the shortest that keeps 0.1 %
/// assert!(trees.stats().bits < 52_000); // the information bound is 49 829
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type Ribbon<B = Bitmap> = Solved<RibbonSlots<B>>;

impl<B: Bits> Ribbon<B> {
    /// Where the filter keeps a key with this digest.
    pub(super) fn places(&self, digest: Digest) -> Vec<Places> {
        let slots = &self.slots;
        match self.is_empty() {
            true => Vec::new(),
            false => vec![slots.sums.places(&slots.table, &slots.solution, digest.hi)],
        }
    }
}

/// All slots, up to 128 of them in a row a key's.
#[derive(Clone)]
pub struct RibbonSlots<B> {
    sums: Sums,
    /// Where each shard begins, and the attempt that solved it. Empty when there is one.
    table: B,
    solution: B,
    /// The instructions that add up.
    kernel: Chosen,
}

/// One lookup.
struct Has<'a, B> {
    slots: &'a RibbonSlots<B>,
    hash: u64,
}

impl<S: Parity, B: Bits> Task<S> for Has<'_, B> {
    type Output = bool;

    #[inline(always)]
    fn run(self, simd: S) -> bool {
        let slots = self.slots;
        let sum = slots.sums.find(&slots.table, self.hash);
        slots.sums.holds(simd, &slots.solution, sum)
    }
}

impl<B: Bits> SlotMap for RibbonSlots<B> {
    type Bits = B;
    type Shape = RibbonShape;
    const KIND: Kind = Kind::Ribbon;

    fn shape(&self) -> RibbonShape {
        self.sums.shape()
    }

    fn numbers(&self) -> (u64, u32, u32) {
        numbers(&self.sums)
    }

    fn rate_at(&self, keys: u64) -> f64 {
        self.sums.shape().rate_at(keys)
    }

    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        let shape = RibbonShape::for_keys(keys, description.hashes);
        shape.ok().map(|shape| shape.rate_at(keys))
    }

    /// Two blocks of 16 bytes for each bit of a fingerprint, and the table.
    fn cache_lines(description: &Description) -> u32 {
        description.hashes.div_ceil(2) + 1
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.solution.size() == 0
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.table, &self.solution]
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        let shape = described(description)?.shape();
        Ok(vec![shape.table_bits(), shape.solution_bits()])
    }

    #[inline(always)]
    fn has(&self, hash: u64) -> bool {
        self.kernel.run(Has { slots: self, hash })
    }

    fn look_up<K: Key>(
        &self,
        digester: &Digester,
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        let task = LookUp {
            slots: self,
            is_large: self.sums.shape().bits() >= LARGE,
            keys,
            answer,
        };
        self.kernel.run_hashed(digester, task);
    }

    fn assemble(description: &Description, mut parts: Vec<B>) -> Result<RibbonSlots<B>> {
        let solution = parts.pop();
        Ok(RibbonSlots {
            sums: described(description)?,
            table: description.only_part(parts)?,
            solution: solution.expect("the layout has two parts"),
            kernel: Chosen::widest(Kernel::Avx512),
        })
    }
}

impl Solve for RibbonSlots<Bitmap> {
    fn fingerprint_for(keys: u64, rate: f64) -> Result<u32> {
        RibbonShape::for_rate(keys, rate).map(RibbonShape::fingerprint_bits)
    }

    fn planned(keys: u64, fingerprint_bits: u32) -> Result<(u64, u32, u32)> {
        let shape = RibbonShape::for_keys(keys, fingerprint_bits)?;
        Ok(numbers(&Sums::new(shape, 0)))
    }

    fn solve(hashes: &[u64], fingerprint_bits: u32) -> Result<RibbonSlots<Bitmap>> {
        let shape = RibbonShape::for_keys(hashes.len() as u64, fingerprint_bits)?;
        let (table, solution, sums) = build::build(hashes, shape)?;
        Ok(RibbonSlots {
            sums,
            table,
            solution,
            kernel: Chosen::widest(Kernel::Avx512),
        })
    }
}

/// The bits of a description's detail that are the attempt of the only shard.
const ATTEMPT_BITS: u32 = build::ATTEMPTS.ilog2();

/// The hashes of a description are the bits of a fingerprint. Its detail: the attempt of a single shard in
/// the lowest 5 bits, and the number of shards less one in the others.
fn numbers(sums: &Sums) -> (u64, u32, u32) {
    let shape = sums.shape();
    let detail = sums.attempt() | ((shape.shards() - 1) as u32) << ATTEMPT_BITS;
    (shape.bits(), shape.fingerprint_bits(), detail)
}

/// What a description's detail, bits and hashes say together.
fn described(description: &Description) -> Result<Sums> {
    let Description { hashes, detail, .. } = *description;
    if !(1..=RibbonShape::MAX_FINGERPRINT).contains(&hashes) {
        return Err(Error::Hashes {
            got: hashes,
            least: 1,
            most: RibbonShape::MAX_FINGERPRINT,
        });
    }
    let attempt = detail % build::ATTEMPTS;
    let shards = u64::from(detail >> ATTEMPT_BITS) + 1;
    if shards > 1 && attempt > 0 {
        return Err(Error::Field {
            format: "ribbon",
            field: "attempt",
            got: i64::from(attempt),
            expected: "0: the table has those of several shards",
        });
    }
    let shape = RibbonShape::of_bits(description.bits, hashes, shards)?;
    Ok(Sums::new(shape, attempt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Assemble as _, Filter as _, Merge as _};

    fn filter(keys: u32, fingerprint_bits: u32) -> Ribbon {
        Ribbon::build(Digester::default(), fingerprint_bits, 0..keys).expect("built")
    }

    #[test]
    fn every_key_is_found_in_filters_of_every_small_size() {
        for keys in 0..2000 {
            let filter = filter(keys, 8);
            assert!(filter.contains_all(0..keys), "{keys}");
            assert!((0..keys).all(|key| filter.contains(&key)), "{keys}");
            assert_eq!(filter.stats().keys, Some(f64::from(keys)));
        }
        for keys in [1, 2, 3, 128, 1000, 8192, 8193, 30_000] {
            for fingerprint_bits in [1, 2, 3, 4, 5, 7, 13, 16, 31, 32] {
                let filter = filter(keys, fingerprint_bits);
                assert!(filter.contains_all(0..keys), "{keys}, {fingerprint_bits}");
            }
        }
    }

    #[test]
    fn keys_that_are_prefetched_get_the_same_answers() {
        for fingerprint_bits in [1, 4, 7, 32] {
            let filter = filter(20_000, fingerprint_bits);
            let expected: Vec<bool> = (0..40_000).map(|key| filter.contains(&key)).collect();
            let mut found = Vec::new();
            let task = LookUp {
                slots: &filter.slots,
                is_large: true,
                keys: 0..40_000_u32,
                answer: |is_found| found.push(is_found),
            };
            filter.slots.kernel.run_hashed(filter.digester(), task);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_filter_of_no_keys_holds_nothing() {
        let empty = filter(0, 1);
        assert!(!(0..10_000).any(|key| empty.contains(&key)));
        empty.contains_each(0..10_000, |found| assert!(!found));
        assert_eq!((empty.stats().rate, empty.stats().bits), (0.0, 0));
        let empty = Ribbon::with_rate(0.001, [0_u8; 0]).expect("built");
        assert!(empty.is_empty() && empty.stats().promise.is_none());
    }

    #[test]
    fn ten_thousand_keys_take_7_4_bits_each_at_2_to_the_minus_7() {
        let filter = filter(10_000, 7);
        let per_key = filter.stats().bits_per_key().expect("known");
        assert!(per_key <= 7.4, "{per_key}");
        let stored: u64 = filter.parts().iter().map(|part| part.size()).sum();
        assert_eq!(stored, filter.stats().bits);
    }

    #[test]
    fn duplicates_change_nothing() {
        for count in [1000, 20_000] {
            let once = filter(count, 10);
            let keys = (0..count).chain((0..count).rev()).chain([7; 5000]);
            let often = Ribbon::build(Digester::default(), 10, keys).expect("built");
            assert_eq!(once, often);
        }
    }

    #[test]
    fn the_shortest_fingerprint_that_keeps_the_rate_is_taken() {
        for (rate, bits) in [(0.9, 1), (0.5, 1), (0.01, 7), (0.001, 10), (1e-9, 30)] {
            let filter = Ribbon::with_rate(rate, 0..20_000_u32).expect("built");
            assert_eq!(filter.shape().fingerprint_bits(), bits, "{rate}");
            let planned = Ribbon::plan(20_000, rate).expect("possible");
            assert_eq!(planned.bits, filter.shape().bits());
            assert_eq!(planned.promise, filter.stats().promise);
        }
        for rate in [1e-10, f64::MIN_POSITIVE] {
            let refused = Ribbon::with_rate(rate, 0..100_u32);
            let low = matches!(
                refused,
                Err(Error::LowRate { .. } | Error::NarrowHash { .. })
            );
            assert!(low, "{rate}");
        }
        for rate in [0.0, 1.0, f64::NAN] {
            let refused = Ribbon::with_rate(rate, 0..100_u32);
            assert!(matches!(refused, Err(Error::Rate { .. })), "{rate}");
        }
        for bits in [0, 33] {
            let refused = Ribbon::build(Digester::default(), bits, 0..100_u32);
            assert!(matches!(refused, Err(Error::Bits { .. })), "{bits}");
        }
    }

    #[test]
    fn a_description_brings_back_every_attempt_and_shape() {
        for keys in [0, 1, 2, 50, 300, 1000, 20_000] {
            for fingerprint_bits in [1, 7, 32] {
                let mut filter = filter(keys, fingerprint_bits);
                let attempts = if keys < 20_000 { &[1, 31][..] } else { &[0] };
                for &attempt in [&filter.slots.sums.attempt()].into_iter().chain(attempts) {
                    filter.slots.sums = Sums::new(filter.shape(), attempt);
                    let parts = filter.parts().into_iter().cloned().collect();
                    let again = Ribbon::assemble(&filter.description(), parts).expect("valid");
                    assert_eq!(again, filter);
                }
            }
        }
    }

    #[test]
    fn descriptions_that_no_build_makes_are_refused() {
        let valid = Ribbon::plan(20_000, 0.01).expect("possible");
        let changed = |change: fn(&mut Description)| {
            let mut description = valid.clone();
            change(&mut description);
            Ribbon::<Bitmap>::layout(&description).is_err()
        };
        assert!(!changed(|_| ()));
        assert!(changed(|description| description.hashes = 0));
        assert!(changed(|description| description.hashes = 9));
        assert!(changed(|description| description.hashes = 33));
        assert!(changed(|description| description.detail |= 1));
        assert!(changed(|description| description.detail += 1 << 14));
        assert!(changed(|description| description.bits += 128));
        assert!(changed(|description| description.bits = u64::MAX));
        // Three shards without slots, which only a full look at the file used to refuse.
        assert!(changed(|description| description.bits = 512));
        assert!(changed(
            |description| description.hashing = crate::Hashing::Xxh64
        ));
    }

    #[test]
    fn a_trillion_keys_can_be_described() {
        let plan = Ribbon::plan(1_000_000_000_000, 0.001).expect("possible");
        let layout = Ribbon::<Bitmap>::layout(&plan).expect("as planned");
        assert_eq!(layout.iter().sum::<u64>(), plan.bits);
        assert!(plan.bits as f64 / 1e12 < 10.21);
    }

    #[test]
    fn unions_are_refused() {
        let mut filter = filter(10, 8);
        let refused = filter.union(&filter.clone());
        assert!(matches!(
            refused,
            Err(Error::Unsupported { kind: "ribbon", .. })
        ));
    }
}
