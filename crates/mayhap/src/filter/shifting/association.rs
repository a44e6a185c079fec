//! One of two sets: a key's bits lie at its positions, or a short or a longer way after them.
//!
//! A key of the first set alone sets the bits at its `k` positions; one of both sets, those at a
//! distance of 1 to 28 after them; one of the second alone, those at a distance of up to 56. One read
//! per position shows all three. For a key of either set the truth is always among the answers, so
//! an answer of one region is certain; with `k` hashes (1 - 2^-k)² of the answers are.
//!
//! Static: a key is inserted once, with its region, and never without one. Bits cannot be taken back,
//! so a key whose region changes needs a new filter. 1.44 k bits per key of the union.

use alloc::collections::BTreeSet;
use core::fmt;

use super::{Spans, Usage};
use crate::bits::{Bitmap, Bits, BitsMut};
use crate::filter::description::Wrap;
use crate::filter::fixed::Fixed;
use crate::filter::{Description, Filter, Kind, Merge, Places, Stats};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result, Shape};

/// The place of a key in two sets that may overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// In the first set and not in the second.
    First,
    /// In both sets.
    Both,
    /// In the second set and not in the first.
    Second,
}

impl Region {
    /// Every region, by ascending distance from the position.
    pub const ALL: [Region; 3] = [Region::First, Region::Both, Region::Second];
}

/// The regions that a key may be in. It is in none of the others.
///
/// ```
/// use mayhap::kinds::{Region, ShiftingAssociation};
///
/// let mut filter = ShiftingAssociation::with_capacity(100, 0.001)?;
/// filter.insert_region("pear", Region::Both);
/// let regions = filter.regions("pear");
/// assert_eq!(regions.only(), Some(Region::Both));
/// assert_eq!(regions.to_string(), "both");
/// assert!(filter.regions("stone").is_empty());
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Regions {
    /// Bit `i` for `Region::ALL[i]`.
    mask: u8,
}

impl Regions {
    /// Returns whether the key is in neither set. False does not prove that it is in one: see
    /// [`ShiftingAssociation::regions`].
    pub fn is_empty(self) -> bool {
        self.mask == 0
    }

    /// Returns whether the key may be in this region.
    pub fn holds(self, region: Region) -> bool {
        self.mask >> region as u8 & 1 == 1
    }

    /// The region, when there is but one.
    pub fn only(self) -> Option<Region> {
        let mut regions = self.iter();
        let first = regions.next()?;
        regions.next().is_none().then_some(first)
    }

    /// The regions, in the order of [`Region::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Region> {
        Region::ALL
            .into_iter()
            .filter(move |&region| self.holds(region))
    }
}

impl fmt::Display for Regions {
    /// Writes what is known in words: `first`, `second or both`, `neither`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self.mask {
            0b000 => "neither",
            0b001 => "first",
            0b010 => "both",
            0b011 => "first or both",
            0b100 => "second",
            0b101 => "first or second",
            0b110 => "second or both",
            _ => "first, second or both",
        })
    }
}

/// Tells which of two sets a key is in, over bits of any storage.
///
/// ```
/// use std::collections::BTreeSet;
/// use mayhap::kinds::{Region, ShiftingAssociation};
///
/// let cached = BTreeSet::from(["/", "/a", "/b"]);
/// let archived = BTreeSet::from(["/b", "/c"]);
/// let filter = ShiftingAssociation::from_sets(&cached, &archived, 0.001)?;
/// assert_eq!(filter.regions("/a").only(), Some(Region::First));
/// assert_eq!(filter.regions("/b").only(), Some(Region::Both));
/// assert_eq!(filter.regions("/c").only(), Some(Region::Second));
/// assert!(!filter.contains("/d"), "in neither");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct ShiftingAssociation<B = Bitmap> {
    body: Fixed<B, Spans>,
    /// The number of distances that each of the two steps has to choose from, and that they are two.
    distances: Shape,
}

impl ShiftingAssociation {
    /// A filter for `keys` keys of both sets together. An absent key is then claimed for some region at
    /// most at `rate`, and [`clear_at`](ShiftingAssociation::clear_at) is how many members get an
    /// answer of one region: about 1 - 2/3 `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<ShiftingAssociation> {
        ShiftingAssociation::plan(keys, rate)?.empty()
    }

    /// Describes the filter that [`with_capacity`](ShiftingAssociation::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or `rate` is not strictly between 0 and 1.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        USAGE.plan(keys, rate)
    }

    /// The filter of two sets, made for as many keys as they have together. An empty union makes a
    /// filter for one key, with none in it.
    ///
    /// # Errors
    ///
    /// When `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn from_sets<K: Key + Ord>(
        first: &BTreeSet<K>,
        second: &BTreeSet<K>,
        rate: f64,
    ) -> Result<ShiftingAssociation> {
        let keys = first.union(second).count() as u64;
        let mut filter = ShiftingAssociation::with_capacity(keys.max(1), rate)?;
        for key in first {
            let region = match second.contains(key) {
                true => Region::Both,
                false => Region::First,
            };
            filter.insert_region(key, region);
        }
        for key in second.difference(first) {
            filter.insert_region(key, Region::Second);
        }
        Ok(filter)
    }

    /// An empty filter of `shape.bits()` positions and `shape.hashes()` of them for each key, in
    /// windows of `span` bits.
    ///
    /// # Errors
    ///
    /// When `span` is not 3 to 57, or there is no memory for it.
    pub fn new(shape: Shape, span: u32, digester: Digester) -> Result<ShiftingAssociation> {
        USAGE
            .make(shape, span, digester)
            .map(ShiftingAssociation::wrap)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

impl<B: Bits> ShiftingAssociation<B> {
    /// The regions that the key may be in.
    ///
    /// For a key of either set the truth is among them, always: one region is certain. An absent key
    /// gets none, but at the filter's rate it gets one or more: ask for keys of the two sets, or
    /// take the answer for *mayhap*.
    #[inline]
    pub fn regions<K: Key + ?Sized>(&self, key: &K) -> Regions {
        self.regions_digest(self.body.digest(key))
    }

    /// The regions that a key with this digest may be in.
    #[inline]
    pub fn regions_digest(&self, digest: Digest) -> Regions {
        let places = self.distances_of(digest);
        let common = self.body.common(digest, mask_of(places));
        let mut regions = Regions { mask: 0 };
        for (region, place) in Region::ALL.into_iter().zip(places) {
            regions.mask |= ((common >> place & 1) as u8) << region as u8;
        }
        regions
    }

    /// Answers [`regions`](ShiftingAssociation::regions) for each key, in order, with the windows of
    /// several keys in flight at a time.
    pub fn regions_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(Regions),
    ) {
        let tell = |digest| answer(self.regions_digest(digest));
        self.body.digest_each(keys, tell);
    }

    /// Returns whether the key may be in either set: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        !self.regions(key).is_empty()
    }

    /// The place in a window of each region's bit.
    #[inline]
    fn distances_of(&self, digest: Digest) -> [u64; 3] {
        let turned = Digest {
            lo: digest.hi,
            hi: digest.lo,
        };
        let mut places = [0; 3];
        let mut last = 0;
        for (place, step) in places[1..].iter_mut().zip(turned.probe(self.distances)) {
            last += 1 + step;
            *place = last;
        }
        places
    }

    /// Predicts the share of members that get an answer of one region, when there are `keys` of both
    /// sets together: `(1 - f)²`, with `f` the rate of a standard filter of the same shape.
    pub fn clear_at(&self, keys: u64) -> f64 {
        let wrong = self.body.shape.windows.first().rate_at(keys);
        (1.0 - wrong) * (1.0 - wrong)
    }

    /// Returns what the filter holds now. The rate is that at which an absent key is claimed for some region.
    /// Counts every bit.
    pub fn stats(&self) -> Stats {
        self.body.window_stats()
    }

    /// Returns where the filter keeps a key with this digest.
    pub(in crate::filter) fn places(&self, digest: Digest) -> Places {
        let mask = mask_of(self.distances_of(digest));
        self.body.places(digest, mask)
    }

    /// Returns the way keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.body.hashing
    }

    /// The bits themselves.
    pub fn bits(&self) -> &B {
        &self.body.bits
    }
}

impl<B: BitsMut> ShiftingAssociation<B> {
    /// Inserts a key of this region, and returns the regions it might have been in before: none when
    /// it was *definitely* new.
    ///
    /// Insert a key once, with the region it has in the end. A second region for a key stays beside
    /// the first: the answers for it are never of one region again, and if it is then in both sets
    /// though neither insertion said so, the truth is not among them. An answer that is not empty
    /// warns of it, or is a false alarm at the filter's rate.
    pub fn insert_region<K: Key + ?Sized>(&mut self, key: &K, region: Region) -> Regions {
        let digest = self.body.digest(key);
        let before = self.regions_digest(digest);
        let place = self.distances_of(digest)[region as usize];
        self.body.set(digest, 1 << place);
        before
    }
}

/// A one at each of these places of a window.
#[inline]
fn mask_of(places: [u64; 3]) -> u64 {
    places.iter().fold(0, |mask, place| mask | 1 << place)
}

pub(super) static USAGE: Usage = Usage {
    kind: Kind::ShiftingAssociation,
    span: "window",
    least: 3,
    expected: "3 to 57 bits",
    answers: Region::ALL.len() as u32,
    // Half of the keys in each set: their ones are the first of a window, or in the middle of it on average.
    distance: |answer, span| f64::from(span - 1) * [0.25, 0.25, 0.375][answer as usize],
};

impl<B: Bits> Filter for ShiftingAssociation<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        ShiftingAssociation::stats(self)
    }

    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        self.regions_each(keys, |regions| answer(!regions.is_empty()));
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: Bits> Wrap for ShiftingAssociation<B> {
    type Body = Fixed<B, Spans>;

    fn wrap(body: Fixed<B, Spans>) -> ShiftingAssociation<B> {
        let span = u64::from(body.shape.windows.span());
        let distances = Shape::new((span - 1) / 2, 2).expect("a window has three bits at least");
        ShiftingAssociation { body, distances }
    }

    fn body(&self) -> &Fixed<B, Spans> {
        &self.body
    }
}

impl Merge for ShiftingAssociation {
    /// Refuses: a key that is in the first set here and in the second there is then in both, and its
    /// bits do not say so.
    fn union(&mut self, _: &ShiftingAssociation) -> Result<()> {
        Err(Error::Unsupported {
            kind: Kind::ShiftingAssociation.name(),
            what: "take in another",
            instead: "build it again, from the two sets",
        })
    }
}
