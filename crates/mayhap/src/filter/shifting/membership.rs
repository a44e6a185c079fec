//! Membership at half the reads: every second probe lies a short way after the one before.
//!
//! A key has `k/2` positions and one distance of 1 to 56; it sets the bits at the positions and those
//! at the distance after each. Both are seen in one read. No false negatives, ever. The rate is a
//! little above the standard filter's, because probes come in pairs: 1.008 times the bits of
//! [`Bloom`](crate::Bloom) at 1 %, 1.005 at 0.1 %, and half the cache lines for a key that is there.
//!
//! Keys can be inserted at any time, and none removed.

use super::{ShiftingShape, Windows};
use crate::bits::{Bitmap, Bits, BitsMut};
use crate::filter::description::Wrap;
use crate::filter::fixed::{Fixed, FixedShape};
use crate::filter::places::{Needed, Places};
use crate::filter::roll::roll_large;
use crate::filter::{Description, Filter, Insert, Kind, Merge, Stats};
use crate::hash::{Digest, Digester};
use crate::{Key, Result};

/// A Bloom filter that reads half as many places, over bits of any storage.
///
/// ```
/// use mayhap::kinds::Shifting;
///
/// let mut seen = Shifting::with_capacity(1_000_000, 0.01)?;
/// assert!(seen.insert("https://example.org/"), "definitely new");
/// assert!(!seen.insert("https://example.org/"), "mayhap seen before");
/// assert!(seen.contains("https://example.org/"));
/// assert!(!seen.contains("https://example.org/other"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Shifting<B = Bitmap> {
    body: Fixed<B, ShiftingShape>,
}

impl Shifting {
    /// A filter whose predicted rate with `keys` keys is at most `rate`, hashed without a secret.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Shifting> {
        Shifting::plan(keys, rate)?.empty()
    }

    /// Describes the filter that [`with_capacity`](Shifting::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or `rate` is not strictly between 0 and 1.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        ShiftingShape::plan(keys, rate, Digester::default(), ShiftingShape::for_capacity)
    }

    /// An empty filter of this shape, hashed by this digester.
    ///
    /// It promises nothing. One that knows its capacity is [planned](Shifting::plan) and then
    /// [made](crate::Description::make).
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn new(shape: ShiftingShape, digester: Digester) -> Result<Shifting> {
        Fixed::new(shape, digester).map(Shifting::wrap)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl<B: Bits> Shifting<B> {
    /// A filter of this shape and digester over bits that exist already.
    ///
    /// # Errors
    ///
    /// When there are fewer or more bits than the shape has.
    pub fn from_bits(bits: B, shape: ShiftingShape, digester: Digester) -> Result<Shifting<B>> {
        Fixed::from_bits(bits, shape, digester).map(Shifting::wrap)
    }

    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.body.hashing.digest(key.key_bytes().as_ref()))
    }

    /// Returns whether a key with this digest may be in the filter.
    #[inline(always)]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let (windows, mask) = masked(self.body.shape, digest);
        windows.cover(&self.body.bits, digest, mask)
    }

    /// Returns what the filter holds now, and the rate that gives. Counts every bit.
    pub fn stats(&self) -> Stats {
        let (shape, ones) = (self.shape(), self.body.bits.count_ones());
        self.body
            .stats(ones, shape.keys_at(ones), shape.rate_with(ones))
    }

    /// The number of bits and of probes, and how they are laid out.
    pub fn shape(&self) -> ShiftingShape {
        self.body.shape
    }

    /// Returns where the filter keeps a key with this digest.
    pub(in crate::filter) fn places(&self, digest: Digest) -> Places {
        let (windows, mask) = masked(self.body.shape, digest);
        let positions = digest.probe(windows.first());
        Places::windows(
            &self.body.bits,
            windows.span(),
            positions,
            Needed::Ones(mask),
        )
    }

    /// Returns the way keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.hashing
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.body.bits
    }

    /// Takes the bits out of the filter.
    pub fn into_bits(self) -> B {
        self.body.bits
    }
}

impl<B: BitsMut> Shifting<B> {
    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits.
    #[inline(always)]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.body.hashing.digest(key.key_bytes().as_ref()))
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the filter before.
    #[inline(always)]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        let (windows, mask) = masked(self.body.shape, digest);
        windows.set(&mut self.body.bits, digest, mask)
    }
}

/// Returns where the windows of a key are, and which bits of each it has: the first, and one in every slice
/// of the others.
#[inline(always)]
fn masked(shape: ShiftingShape, digest: Digest) -> (Windows, u64) {
    let (windows, distances) = shape.parts();
    let turned = Digest {
        lo: digest.hi,
        hi: digest.lo,
    };
    let (mut mask, mut slice) = (1, 1);
    for distance in turned.probe(distances) {
        mask |= 1 << (slice + distance);
        slice += distances.bits();
    }
    (windows, mask)
}

impl<B: Bits> Filter for Shifting<B> {
    #[inline(always)]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Shifting::stats(self)
    }

    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let (windows, _) = self.body.shape.parts();
        roll_large(
            self.body.bits.size(),
            keys,
            &self.body.hashing,
            &mut answer,
            |_, digest| windows.prefetch(&self.body.bits, digest),
            |answer, digest| answer(self.contains_digest(digest)),
        );
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: BitsMut> Insert for Shifting<B> {
    #[inline(always)]
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_each<K: Key>(&mut self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        let shape = self.body.shape;
        roll_large(
            self.body.bits.size(),
            keys,
            &self.body.hashing,
            &mut (&mut self.body.bits, answer),
            |(bits, _), digest| shape.parts().0.prefetch(*bits, digest),
            |(bits, answer), digest| {
                let (windows, mask) = masked(shape, digest);
                answer(windows.set(*bits, digest, mask));
            },
        );
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl FixedShape for ShiftingShape {
    type Hashing = Digester;

    fn kind(self) -> Kind {
        Kind::Shifting
    }

    fn numbers(self) -> (u64, u32, u32) {
        (self.bits(), self.hashes(), self.detail())
    }

    /// Two bits of a key lie in one word.
    fn cache_lines(self) -> u32 {
        self.hashes().div_ceil(2)
    }

    /// Like [`rate_at`](ShiftingShape::rate_at), with windows at the end that hold fewer ones: two of the bits that
    /// keys set and look for lie a third of a window apart on average.
    fn predicted_rate(self, keys: u64) -> Option<f64> {
        let windows = self.parts().0;
        let set = windows.set_at(f64::from(windows.span()) / 3.0);
        Some(self.rate_at(keys) * libm::pow(set, f64::from(self.hashes())))
    }

    fn described(description: &Description) -> Result<(ShiftingShape, Digester)> {
        let digester = description.digester()?;
        let Description {
            bits,
            hashes,
            detail,
            ..
        } = *description;
        Ok((ShiftingShape::from_numbers(bits, hashes, detail)?, digester))
    }
}

impl<B: Bits> Wrap for Shifting<B> {
    type Body = Fixed<B, ShiftingShape>;

    fn wrap(body: Fixed<B, ShiftingShape>) -> Shifting<B> {
        Shifting { body }
    }

    fn body(&self) -> &Fixed<B, ShiftingShape> {
        &self.body
    }
}

impl Merge for Shifting {
    fn union(&mut self, other: &Shifting) -> Result<()> {
        self.body.union(&other.body)
    }

    fn intersect(&mut self, other: &Shifting) -> Result<()> {
        self.body.intersect(&other.body)
    }
}
