//! A filter of a fixed set of keys, near the information bound.
//!
//! Three slots of a key, combined by exclusive or, are its fingerprint of 8, 16 or 32 bits. The slots are
//! solved for all keys at once (`build.rs`), so no key can be inserted later; duplicates do no harm.
//! No false negatives; other keys are found at the rate 2^-8, 2^-16 or 2^-32, always.
//!
//! Costs 1.13 log2(1/rate) bits per key from a million keys on, against 1.44 of a Bloom filter, and more
//! below: 1.19 at 10^5, 1.28 at 10^4, 1.41 at 1000. A lookup touches three cache lines. Building takes 8
//! bytes per key, 15 more for each of the first 2^24 (at most 250 MB), and the filter itself. After Graf
//! and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters", 2022.

mod build;
mod lookup;
mod shape;
mod slots;

use alloc::vec;
use alloc::vec::Vec;

pub use shape::FuseShape;

use super::kernel::{Chosen, Kernel};
use super::solved::{SlotMap, Solve, Solved};
use super::{Description, Kind, Needed, Places};
use crate::bits::{Bitmap, Bits};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result};
use lookup::LookUp;
use slots::Triples;

/// A binary fuse filter: the fastest static kind, built once from all its keys, over bits of any storage.
///
/// ```
/// use mayhap::Fuse;
///
/// let words = ["ash", "birch", "cedar", "ash"];
/// let trees = Fuse::with_rate(0.001, words)?;
/// assert!(trees.contains("birch") && !trees.contains("granite"));
/// assert_eq!(trees.stats().keys, Some(3.0));
/// assert_eq!(trees.shape().fingerprint_bits(), 16); // the shortest that keeps 0.1 %
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type Fuse<B = Bitmap> = Solved<FuseSlots<B>>;

impl<B: Bits> Fuse<B> {
    /// Where the filter keeps a key with this digest.
    pub(super) fn places(&self, digest: Digest) -> Vec<Places> {
        if self.is_empty() {
            return Vec::new();
        }
        let triple = self.slots.triples.find(digest.hi);
        let width = self.shape().fingerprint_bits();
        let needed = Needed::Sum(triple.fingerprint(width));
        let (bits, slots) = (self.bits(), triple.slots);
        vec![Places::numbers("slot", 0, bits, width, slots, needed)]
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.slots.bits
    }

    /// Takes the bits out of the filter.
    pub fn into_bits(self) -> B {
        self.slots.bits
    }
}

/// All slots, three of them a key's.
#[derive(Clone)]
pub struct FuseSlots<B> {
    triples: Triples,
    bits: B,
}

impl<B: Bits> SlotMap for FuseSlots<B> {
    type Bits = B;
    type Shape = FuseShape;
    const KIND: Kind = Kind::Fuse;

    fn shape(&self) -> FuseShape {
        self.triples.shape()
    }

    fn numbers(&self) -> (u64, u32, u32) {
        numbers(&self.triples)
    }

    fn rate_at(&self, keys: u64) -> f64 {
        self.triples.shape().rate_at(keys)
    }

    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        let shape = FuseShape::for_rate(keys, description.promise?.rate);
        shape.ok().map(|shape| shape.rate_at(keys))
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.bits.size() == 0
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.bits]
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        described(description)?;
        Ok(vec![description.bits])
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<FuseSlots<B>> {
        Ok(FuseSlots {
            triples: described(description)?,
            bits: description.only_part(parts)?,
        })
    }

    #[inline(always)]
    fn has(&self, hash: u64) -> bool {
        let triple = self.triples.find(hash);
        self.triples.difference(&self.bits, triple) == 0
    }

    fn look_up<K: Key>(
        &self,
        digester: &Digester,
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        let task = LookUp::<1, _, _, _> {
            triples: self.triples,
            bits: &self.bits,
            keys,
            answer,
        };
        let kernel = Chosen::widest(Kernel::Avx512);
        match self.triples.shape().fingerprint_bits() {
            8 => kernel.run_hashed(digester, task),
            16 => kernel.run_hashed(digester, task.settled::<2>()),
            _ => kernel.run_hashed(digester, task.settled::<4>()),
        }
    }
}

impl Solve for FuseSlots<Bitmap> {
    fn fingerprint_for(keys: u64, rate: f64) -> Result<u32> {
        FuseShape::for_rate(keys, rate).map(FuseShape::fingerprint_bits)
    }

    fn planned(keys: u64, fingerprint_bits: u32) -> Result<(u64, u32, u32)> {
        let shape = FuseShape::for_keys(keys, fingerprint_bits)?;
        Ok(numbers(&Triples::new(shape, 0)))
    }

    fn solve(hashes: &[u64], fingerprint_bits: u32) -> Result<FuseSlots<Bitmap>> {
        let shape = FuseShape::for_keys(hashes.len() as u64, fingerprint_bits)?;
        let (bits, triples) = build::build(hashes, shape)?;
        Ok(FuseSlots { triples, bits })
    }
}

/// The slots of a key. Another number would be another filter.
const HASHES: u32 = 3;

/// The detail of a description: the attempt in the lowest 7 bits, then 5 bits for the logarithm of a
/// segment's slots, 2 for that of a fingerprint's bytes, 18 for the number of parts less one.
fn numbers(triples: &Triples) -> (u64, u32, u32) {
    let shape = triples.shape();
    let fingerprint = shape.fingerprint_bits().ilog2() - 3;
    let parts = (shape.parts() - 1) as u32;
    let detail = triples.attempt() | shape.segment_log() << 7 | fingerprint << 12 | parts << 14;
    (shape.bits(), HASHES, detail)
}

/// What a description's detail, bits and hashes say together.
fn described(description: &Description) -> Result<Triples> {
    let Description { hashes, detail, .. } = *description;
    if hashes != HASHES {
        return Err(Error::Hashes {
            got: hashes,
            least: HASHES,
            most: HASHES,
        });
    }
    let attempt = detail & 0x7F;
    if attempt >= build::ATTEMPTS {
        return Err(Error::Field {
            format: "fuse",
            field: "attempt",
            got: i64::from(attempt),
            expected: "0 to 99",
        });
    }
    let (segment_log, fingerprint) = (detail >> 7 & 0x1F, 8 << (detail >> 12 & 3));
    let parts = u64::from(detail >> 14) + 1;
    let shape = FuseShape::of_bits(description.bits, fingerprint, parts, segment_log)?;
    Ok(Triples::new(shape, attempt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Assemble as _, Filter as _, Merge as _};

    fn filter(keys: u32, fingerprint_bits: u32) -> Fuse {
        Fuse::build(Digester::default(), fingerprint_bits, 0..keys).expect("built")
    }

    #[test]
    fn every_key_is_found_in_filters_of_every_small_size() {
        for keys in 0..2000 {
            let filter = filter(keys, 8);
            assert!(filter.contains_all(0..keys), "{keys}");
            assert!((0..keys).all(|key| filter.contains(&key)), "{keys}");
            assert_eq!(filter.stats().keys, Some(f64::from(keys)));
        }
        for keys in [1, 2, 3, 10, 100, 1000, 30_000] {
            for fingerprint_bits in [16, 32] {
                let filter = filter(keys, fingerprint_bits);
                assert!(filter.contains_all(0..keys), "{keys}, {fingerprint_bits}");
            }
        }
    }

    #[test]
    fn a_filter_of_no_keys_holds_nothing() {
        let empty = filter(0, 8);
        assert!(!(0..10_000).any(|key| empty.contains(&key)));
        empty.contains_each(0..10_000, |found| assert!(!found));
        assert_eq!((empty.stats().rate, empty.stats().bits), (0.0, 0));
    }

    #[test]
    fn duplicates_change_nothing() {
        let once = filter(1000, 16);
        let keys = (0..1000_u32).chain((0..1000).rev()).chain([7; 5000]);
        let often = Fuse::build(Digester::default(), 16, keys).expect("built");
        assert_eq!(once, often);
    }

    #[test]
    fn the_shortest_fingerprint_that_keeps_the_rate_is_taken() {
        let power = |bits| libm::exp2(-f64::from(bits));
        for (rate, bits) in [
            (0.5, 8),
            (0.004, 8),
            // Keys that share a hash, which are rare, once took the next length.
            (power(8), 8),
            (0.003, 16),
            (1e-4, 16),
            (power(16), 16),
            (1e-5, 32),
            (FuseShape::LEAST_RATE, 32),
        ] {
            let filter = Fuse::with_rate(rate, 0..100_u32).expect("built");
            assert_eq!(filter.shape().fingerprint_bits(), bits, "{rate}");
            let planned = Fuse::plan(100, rate).expect("possible");
            assert_eq!(planned.bits, filter.shape().bits());
            assert_eq!(planned.promise, filter.stats().promise);
        }
        for rate in [1e-10, f64::MIN_POSITIVE] {
            let refused = Fuse::with_rate(rate, 0..100_u32);
            let low = matches!(
                refused,
                Err(Error::LowRate { .. } | Error::NarrowHash { .. })
            );
            assert!(low, "{rate}");
        }
        for rate in [0.0, 1.0, f64::NAN] {
            let refused = Fuse::with_rate(rate, 0..100_u32);
            assert!(matches!(refused, Err(Error::Rate { .. })), "{rate}");
        }
        let refused = Fuse::build(Digester::default(), 7, 0..100_u32);
        assert!(matches!(refused, Err(Error::Bits { got: 7, .. })));
    }

    #[test]
    fn a_description_brings_back_every_attempt_and_shape() {
        for keys in [0, 1, 2, 50, 300, 1000, 20_000] {
            for fingerprint_bits in [8, 16, 32] {
                let mut filter = filter(keys, fingerprint_bits);
                for attempt in [filter.slots.triples.attempt(), 1, 99] {
                    filter.slots.triples = Triples::new(filter.shape(), attempt);
                    let parts = vec![filter.bits().clone()];
                    let again = Fuse::assemble(&filter.description(), parts).expect("valid");
                    assert_eq!(again, filter);
                }
            }
        }
    }

    #[test]
    fn descriptions_that_no_build_makes_are_refused() {
        let valid = Fuse::plan(1000, 0.01).expect("possible");
        let changed = |change: fn(&mut Description)| {
            let mut description = valid.clone();
            change(&mut description);
            Fuse::<Bitmap>::check(&description).is_err()
        };
        assert!(!changed(|_| ()));
        assert!(changed(|description| description.hashes = 4));
        assert!(changed(|description| description.detail |= 100));
        assert!(changed(|description| description.detail |= 3 << 12));
        assert!(changed(|description| description.detail |= 31 << 7));
        assert!(changed(|description| description.bits += 8));
        assert!(changed(|description| description.bits = 8 * 128 * 2));
        assert!(changed(|description| description.bits = 1 << 63 | 1 << 62));
        assert!(changed(
            |description| description.hashing = crate::Hashing::Xxh64
        ));
    }

    #[test]
    fn unions_are_refused() {
        let mut filter = filter(10, 8);
        let refused = filter.union(&filter.clone());
        assert!(matches!(
            refused,
            Err(Error::Unsupported { kind: "fuse", .. })
        ));
    }
}
