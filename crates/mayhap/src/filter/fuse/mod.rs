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
mod place;
mod shape;

use alloc::vec;
use alloc::vec::Vec;

pub use shape::FuseShape;

use super::description::check_size;
use super::hashes::{digests, distinct_hashes};
use super::roll::{Find, into_slice, roll_large};
use super::{Assemble, Description, Filter, Kind, Merge, Promise, Stats};
use crate::bits::{Bitmap, BitmapView, Bits};
use crate::hash::{Digest, Digester, Hash, Rapidhash};
use crate::shape::check_rate;
use crate::{Error, Key, Result};
use place::{Place, Places};

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
#[derive(Debug, Clone, PartialEq)]
pub struct Fuse<B = Bitmap> {
    bits: B,
    digester: Digester,
    places: Places,
    promise: Option<Promise>,
}

/// A [`Fuse`] over borrowed bytes.
///
/// ```
/// use mayhap::{Assemble as _, BitmapView, Digester, Fuse, FuseView};
///
/// let filter = Fuse::build(Digester::default(), 8, 0..1000_u32)?;
/// let bytes = filter.bits().to_bytes();
///
/// let bits = BitmapView::new(&bytes[..], filter.shape().bits())?;
/// let view: FuseView<_> = FuseView::assemble(&filter.description(), vec![bits])?;
/// assert!(view.contains(&7_u32));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type FuseView<D> = Fuse<BitmapView<D>>;

impl Fuse {
    /// A filter of these keys with the shortest fingerprint whose rate is at most `rate`, hashed without a
    /// secret.
    ///
    /// # Errors
    ///
    /// When `rate` is not strictly between 0 and 1 or is below [`FuseShape::LEAST_RATE`], or as
    /// [`build`](Fuse::build).
    pub fn with_rate<K: Key>(rate: f64, keys: impl IntoIterator<Item = K>) -> Result<Fuse> {
        check_rate(rate)?;
        let digester = Digester::default();
        let hashes = distinct_hashes(digests(&digester, keys))?;
        let keys = hashes.len() as u64;
        // The rate of a filter of no keys is 0, with any fingerprint.
        let shape = FuseShape::for_rate(keys.max(1), rate)?;
        let mut filter = Fuse::solve(digester, &hashes, shape.fingerprint_bits())?;
        filter.promise = filter.promise.map(|promise| Promise { rate, ..promise });
        Ok(filter)
    }

    /// A filter of these keys with fingerprints of 8, 16 or 32 bits.
    ///
    /// # Errors
    ///
    /// When a fingerprint has not 8, 16 or 32 bits, or there is no memory for it. [`Error::Unbuilt`]
    /// when keys have been chosen so that none can be built: use a digester with a secret.
    ///
    /// ```
    /// use mayhap::{Digester, Fuse, SecretKey};
    ///
    /// let secret = Digester::SipHash { key: SecretKey::random()? };
    /// let filter = Fuse::build(secret, 8, 0..1_000_000_u32)?;
    /// assert!(filter.contains(&999_999_u32));
    /// assert_eq!(filter.stats().bits, 9_011_200);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn build<K: Key>(
        digester: Digester,
        fingerprint_bits: u32,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Fuse> {
        let hashes = distinct_hashes(digests(&digester, keys))?;
        Fuse::solve(digester, &hashes, fingerprint_bits)
    }

    /// A filter of the keys that have these digests, made by the digester: for callers who hash once for
    /// many filters.
    ///
    /// # Errors
    ///
    /// As [`build`](Fuse::build).
    pub fn build_digests(
        digester: Digester,
        fingerprint_bits: u32,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<Fuse> {
        let hashes = distinct_hashes(digests)?;
        Fuse::solve(digester, &hashes, fingerprint_bits)
    }

    /// The description of a filter of `keys` distinct keys at `rate`, but for the attempt that will
    /// succeed; makes none.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, or `rate` is not strictly between 0 and 1 or is below
    /// [`FuseShape::LEAST_RATE`].
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        let places = Places::new(FuseShape::for_rate(keys, rate)?, 0);
        let promise = Some(Promise { keys, rate });
        Ok(describe(&places, Digester::default(), promise))
    }

    fn solve(digester: Digester, hashes: &[u64], fingerprint_bits: u32) -> Result<Fuse> {
        let keys = hashes.len() as u64;
        let shape = FuseShape::for_keys(keys, fingerprint_bits)?;
        let (bits, places) = build::build(hashes, shape)?;
        let rate = shape.rate_at(keys);
        Ok(Fuse {
            bits,
            digester,
            places,
            promise: (keys > 0).then_some(Promise { keys, rate }),
        })
    }
}

impl<B: Bits> Fuse<B> {
    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// Whether a key with this digest may be in the filter.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        // First: a filter of no keys has no slots to look at.
        !self.is_empty() && {
            let place = self.places.find(digest.hi);
            self.places.difference(&self.bits, place) == 0
        }
    }

    /// Whether every key may be in the filter.
    pub fn contains_all<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> bool {
        let mut all = true;
        self.contains_each(keys, |found| all &= found);
        all
    }

    /// Answers [`contains`](Fuse::contains) for each key, in order, keeping the lines of many keys on
    /// their way from memory at a time.
    pub fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        answer: impl FnMut(bool),
    ) {
        match &self.digester {
            Digester::Rapidhash { seed } => {
                self.look_up(Rapidhash::<false>::new(*seed), keys, answer);
            }
            Digester::RapidhashProtected { seed } => {
                self.look_up(Rapidhash::<true>::new(*seed), keys, answer);
            }
            Digester::SipHash { key } => self.look_up(key, keys, answer),
        }
    }

    /// Settles the width of a slot, so that a loop over keys need not ask again.
    fn look_up<K: Key>(
        &self,
        hash: impl Hash,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let places = self.places;
        let finder = Finder { hash, places };
        match self.shape().fingerprint_bits() {
            _ if self.is_empty() => keys.into_iter().for_each(|_| answer(false)),
            8 => self.look_up_in::<1, K>(finder, keys, answer),
            16 => self.look_up_in::<2, K>(finder, keys, answer),
            _ => self.look_up_in::<4, K>(finder, keys, answer),
        }
    }

    fn look_up_in<const BYTES: u64, K: Key>(
        &self,
        finder: Finder<impl Hash>,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        roll_large(
            self.bits.size(),
            keys,
            &finder,
            &mut answer,
            |_, place: Place| {
                for slot in place.slots {
                    self.bits.prefetch(slot * 8 * BYTES);
                }
            },
            |answer, place| answer(place.difference::<BYTES>(&self.bits) == 0),
        );
    }

    /// Answers [`contains`](Fuse::contains) for each key, in order, into a slice.
    ///
    /// # Panics
    ///
    /// When `found` and `keys` differ in length.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer per key");
        self.contains_each(keys, into_slice(found));
    }

    /// Whether there is no key in the filter. It then has no slots, and holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bits.size() == 0
    }

    /// What the filter holds: the exact number of keys, and the rate of its fingerprints.
    pub fn stats(&self) -> Stats {
        let keys = match self.promise {
            Some(promise) => Some(promise.keys),
            None => self.is_empty().then_some(0),
        };
        Stats {
            bits: self.bits.size(),
            ones: self.bits.count_ones(),
            keys: keys.map(|keys| keys as f64),
            rate: self.shape().rate_at(keys.unwrap_or(1)),
            promise: self.promise,
        }
    }

    /// The bits of a fingerprint and the number of slots.
    pub fn shape(&self) -> FuseShape {
        self.places.shape()
    }

    /// How keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.digester
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.bits
    }

    /// Takes the bits out of the filter.
    pub fn into_bits(self) -> B {
        self.bits
    }
}

/// From a key to a place, by a hash that is settled.
struct Finder<H> {
    hash: H,
    places: Places,
}

impl<K: Key, H: Hash> Find<K> for Finder<H> {
    type Place = Place;

    #[inline(always)]
    fn find(&self, key: K) -> Place {
        self.places
            .find(self.hash.digest(key.key_bytes().as_ref()).hi)
    }
}

impl<B: Bits> Filter for Fuse<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Fuse::stats(self)
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

/// The slots of a key. Another number would be another filter.
const HASHES: u32 = 3;

/// The detail of a description: the attempt in the lowest 7 bits, then 5 bits for the logarithm of a
/// segment's slots, 2 for that of a fingerprint's bytes, 18 for the number of parts less one.
fn describe(places: &Places, digester: Digester, promise: Option<Promise>) -> Description {
    let shape = places.shape();
    let fingerprint = shape.fingerprint_bits().ilog2() - 3;
    let parts = (shape.parts() - 1) as u32;
    Description {
        kind: Kind::Fuse,
        hashing: digester.into(),
        bits: shape.bits(),
        hashes: HASHES,
        detail: places.attempt() | shape.segment_log() << 7 | fingerprint << 12 | parts << 14,
        promise,
    }
}

/// What a description's detail, bits and hashes say together.
fn described(description: &Description) -> Result<Places> {
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
    Ok(Places::new(shape, attempt))
}

impl<B: Bits> Assemble for Fuse<B> {
    type Bits = B;

    fn description(&self) -> Description {
        describe(&self.places, self.digester.clone(), self.promise)
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.bits]
    }

    fn check(description: &Description) -> Result<()> {
        description.check_promise()?;
        description.digester()?;
        described(description).map(drop)
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Fuse<B>> {
        Self::check(description)?;
        let bits = description.only_part(parts)?;
        check_size(&bits, description.bits, "as many as the shape has")?;
        Ok(Fuse {
            bits,
            digester: description.digester()?,
            places: described(description)?,
            promise: description.promise,
        })
    }
}

impl Merge for Fuse {
    /// Refused: the slots of two sets say nothing about their union. Build a filter of both.
    fn union(&mut self, _: &Fuse) -> Result<()> {
        Err(Error::Unsupported {
            kind: Kind::Fuse.name(),
            what: "be joined with another",
            instead: "build one from the keys of both",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                for attempt in [filter.places.attempt(), 1, 99] {
                    filter.places = Places::new(filter.shape(), attempt);
                    let parts = vec![filter.bits.clone()];
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
