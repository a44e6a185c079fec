//! One of many areas, by priority: cells with labels instead of bits.
//!
//! A key of area `a` raises the labels of its `k` cells to at least `a`; the answer for a key is the
//! lowest label among its cells. Areas are disjoint sets of keys, numbered from 1 by increasing
//! priority: a key is answered its own area or a higher one, never a lower one and never none, and a
//! key of the highest area is always answered right. Absent keys may be claimed, for a low area most
//! likely. Contents do not depend on the order of insertion; nothing can be removed.
//!
//! Costs the cells of a standard filter of all keys times 1, 2, 4, 8 or 16 bits. Who holds a filter
//! without a secret can ask it for every place on a map. After Palmieri, Calderoni, Maio, "Spatial
//! Bloom Filters", Inscrypt 2014.

mod shape;

use alloc::vec;
use alloc::vec::Vec;

pub use shape::{AreaStats, SpatialShape};

use super::description::Wrap;
use super::fixed::{Fixed, FixedShape};
use super::probed::{self, Cells};
use super::roll::roll_large;
use super::{Area, Description, Filter, Insert, InsertArea, Kind, Merge, Stats};
use crate::bits::{Bitmap, Bits, BitsMut};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result};

/// Tells which area a key belongs to, over bits of any storage.
///
/// ```
/// use mayhap::kinds::{Spatial, SpatialOptions};
///
/// let options = SpatialOptions { areas: 3, ..SpatialOptions::default() };
/// let mut zones = Spatial::with_options(1000, 0.001, options)?;
/// zones.insert_area("u33d", 1)?;
/// zones.insert_area("u33e", 3)?; // the area where a mistake is worst has the highest number
/// assert_eq!(zones.area("u33d"), Some(1));
/// assert_eq!(zones.area("u33e"), Some(3));
/// assert_eq!(zones.area("gcpv"), None);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Spatial<B = Bitmap> {
    body: Fixed<B, SpatialShape>,
}

/// Options of a [`Spatial`] filter, besides its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpatialOptions {
    /// The number of areas, 1 to 65 535.
    pub areas: u32,
    /// The way keys are hashed.
    pub digester: Digester,
}

impl Default for SpatialOptions {
    /// 255 areas, as many as a byte holds, hashed without a secret.
    fn default() -> SpatialOptions {
        SpatialOptions {
            areas: 255,
            digester: Digester::default(),
        }
    }
}

impl Spatial {
    /// A filter of 255 areas whose predicted rate with `keys` keys, of all areas together, is at
    /// most `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Spatial> {
        Spatial::with_options(keys, rate, SpatialOptions::default())
    }

    /// A filter with these options whose predicted rate with `keys` keys, of all areas together, is
    /// at most `rate`.
    ///
    /// # Errors
    ///
    /// When `areas` is not 1 to 65535, `keys` is 0, `rate` is not strictly between 0 and 1, or there
    /// is no memory for it.
    pub fn with_options(keys: u64, rate: f64, options: SpatialOptions) -> Result<Spatial> {
        Spatial::plan_with(keys, rate, options)?.empty()
    }

    /// Describes the filter that [`with_capacity`](Spatial::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0 or `rate` is not strictly between 0 and 1.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        Spatial::plan_with(keys, rate, SpatialOptions::default())
    }

    /// Describes the filter that [`with_options`](Spatial::with_options) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// As [`with_options`](Spatial::with_options), but for want of memory.
    pub fn plan_with(keys: u64, rate: f64, options: SpatialOptions) -> Result<Description> {
        let SpatialOptions { areas, digester } = options;
        let size = |keys, rate| SpatialShape::for_capacity(keys, rate, areas);
        SpatialShape::plan(keys, rate, digester, size)
    }

    /// An empty filter of this shape, hashed by this digester.
    ///
    /// It promises nothing. One that knows its capacity is [planned](Spatial::plan) and then
    /// [made](crate::Description::make).
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn new(shape: SpatialShape, digester: Digester) -> Result<Spatial> {
        Fixed::new(shape, digester).map(Spatial::wrap)
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.body.bits.clear_all();
    }
}

/// The higher of the labels in each cell of two words.
fn higher_labels(left: u64, right: u64, width: u64) -> u64 {
    let label = low_bits(width);
    let mut higher = 0;
    for at in (0..64).step_by(width as usize) {
        higher |= (left >> at & label).max(right >> at & label) << at;
    }
    higher
}

/// Raises the label of a cell in its line to at least `label`; returns what it was.
#[inline]
fn raise(line: &mut [u64; 8], cell: u64, width: u64, label: u64) -> u64 {
    let at = cell * width % 512;
    let word = &mut line[(at / 64) as usize];
    let before = *word >> (at % 64) & low_bits(width);
    // Without a branch: whether another key was here cannot be predicted.
    *word ^= (before ^ before.max(label)) << (at % 64);
    before
}

#[inline]
fn low_bits(width: u64) -> u64 {
    (1 << width) - 1
}

impl<B: Bits> Spatial<B> {
    /// A filter of this shape and digester over bits that exist already.
    ///
    /// # Errors
    ///
    /// When there are fewer or more bits than the shape has.
    pub fn from_bits(bits: B, shape: SpatialShape, digester: Digester) -> Result<Spatial<B>> {
        Fixed::from_bits(bits, shape, digester).map(Spatial::wrap)
    }

    /// The area that the key belongs to, or a higher one than its own; `None` is certain, an area is
    /// *mayhap*.
    #[inline]
    pub fn area<K: Key + ?Sized>(&self, key: &K) -> Option<u32> {
        self.area_digest(self.body.hashing.digest(key.key_bytes().as_ref()))
    }

    /// The area that a key with this digest may belong to.
    #[inline]
    pub fn area_digest(&self, digest: Digest) -> Option<u32> {
        let mut lowest = self.body.shape.areas();
        for cell in digest.probe(self.body.shape.cells()) {
            lowest = lowest.min(self.label(cell));
            if lowest == 0 {
                return None;
            }
        }
        Some(lowest)
    }

    /// Answers [`area`](Spatial::area) for each key, in order, with the cells of several keys on
    /// their way at a time.
    pub fn area_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(Option<u32>),
    ) {
        roll_large(
            self.body.bits.size(),
            keys,
            &self.body.hashing,
            &mut answer,
            |_, digest| self.prefetch_all(digest),
            |answer, digest| answer(self.area_digest(digest)),
        );
    }

    /// Hints that the cells of the key will soon be read or written.
    fn prefetch_all(&self, digest: Digest) {
        let cells = digest.probe(self.body.shape.cells());
        cells.for_each(|cell| self.prefetch(cell));
    }

    /// The label of a cell. One above the number of areas, which only a forged file has, is taken for
    /// the highest by whoever asks.
    #[inline]
    fn label(&self, cell: u64) -> u32 {
        let width = self.body.shape.width();
        let word = self.body.bits.word(cell * width / 64);
        (word >> (cell * width % 64) & low_bits(width)) as u32
    }

    /// Returns whether the key may be in some area: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.area(key).is_some()
    }

    /// Returns what the filter holds now, all areas together; the rate is that at which an absent key is
    /// claimed for any of them. Reads every cell.
    pub fn stats(&self) -> Stats {
        let (cells, used) = (self.body.shape.cells(), self.cells_used());
        let ones = self.body.bits.count_ones();
        self.body
            .stats(ones, cells.keys_at(used), cells.rate_with(used))
    }

    /// The number of cells with a label.
    fn cells_used(&self) -> u64 {
        let width = self.body.shape.width();
        let lowest_bits = u64::MAX / low_bits(width);
        let words = (0..self.body.shape.bits() / 64).map(|index| self.body.bits.word(index));
        let used = words.map(|mut word| {
            let mut half = width / 2;
            while half > 0 {
                word |= word >> half;
                half /= 2;
            }
            u64::from((word & lowest_bits).count_ones())
        });
        used.sum()
    }

    /// Returns the state of each area now, the lowest first, from the labels of all cells.
    ///
    /// ```
    /// use mayhap::kinds::{Spatial, SpatialOptions};
    ///
    /// let options = SpatialOptions { areas: 2, ..SpatialOptions::default() };
    /// let mut zones = Spatial::with_options(200, 0.01, options)?;
    /// for key in 0..100_u32 {
    ///     zones.insert_area(&key, 1)?;
    ///     zones.insert_area(&(key + 100), 2)?;
    /// }
    /// let areas = zones.area_stats();
    /// assert!(areas[0].error > 0.0 && areas[1].error == 0.0);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn area_stats(&self) -> Vec<AreaStats> {
        let cells = self.body.shape.cells().bits();
        let mut counts = vec![0_u64; self.body.shape.areas() as usize + 1];
        for cell in 0..cells {
            counts[self.label(cell).min(self.body.shape.areas()) as usize] += 1;
        }
        let mut higher = 0;
        let mut shares = Vec::new();
        for count in counts[1..].iter().rev() {
            higher += count;
            shares.push(higher as f64 / cells as f64);
        }
        shares.reverse();
        self.body.shape.fare(&shares)
    }

    /// The number of cells and areas.
    pub fn shape(&self) -> SpatialShape {
        self.body.shape
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

impl<B: BitsMut> Spatial<B> {
    /// Inserts a key of this area, and returns the area it was claimed for before: `None` when it was
    /// *definitely* new.
    ///
    /// Areas are disjoint. An answer of another area than this warns of a key in two of them (or is
    /// a false alarm, at the filter's rate); the key then has the higher of the two.
    ///
    /// # Errors
    ///
    /// When `area` is not 1 to the number of areas; nothing is then changed.
    pub fn insert_area<K: Key + ?Sized>(&mut self, key: &K, area: u32) -> Result<Option<u32>> {
        if area == 0 || area > self.body.shape.areas() {
            return Err(Error::Field {
                format: Kind::Spatial.name(),
                field: "area",
                got: i64::from(area),
                expected: "1 to the number of areas",
            });
        }
        let digest = self.body.hashing.digest(key.key_bytes().as_ref());
        Ok(self.insert_digest(digest, area))
    }

    /// Inserts the key as one of area 1, the lowest; true when it was *definitely* in none before.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.body.hashing.digest(key.key_bytes().as_ref());
        self.insert_digest(digest, 1).is_none()
    }

    #[inline]
    fn insert_digest(&mut self, digest: Digest, area: u32) -> Option<u32> {
        let width = self.body.shape.width();
        let mut lowest = u64::from(self.body.shape.areas());
        // Two of a key's cells may be one. It has been raised when it is met again, and is no longer the lowest.
        for cell in digest.probe(self.body.shape.cells()) {
            let line = self.body.bits.line_mut(cell * width / 512);
            lowest = lowest.min(raise(line, cell, width, u64::from(area)));
        }
        (lowest > 0).then_some(lowest as u32)
    }
}

impl<B: Bits> Filter for Spatial<B> {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Spatial::stats(self)
    }

    /// Prefetches the lines of several keys, if the filter is larger than the caches.
    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        let (bits, digester) = (self.body.bits.size(), &self.body.hashing);
        probed::contains_each(self, bits, digester, keys, answer);
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl<B: Bits> Cells for Spatial<B> {
    fn shape(&self) -> crate::Shape {
        self.body.shape.cells()
    }

    #[inline(always)]
    fn prefetch(&self, cell: u64) {
        self.body.bits.prefetch(cell * self.body.shape.width());
    }

    #[inline(always)]
    fn is_used(&self, cell: u64) -> bool {
        self.label(cell) > 0
    }
}

impl<B: Bits> Area for Spatial<B> {
    fn area_bytes(&self, key: &[u8]) -> Option<u32> {
        self.area(key)
    }
}

impl<B: BitsMut> InsertArea for Spatial<B> {
    fn insert_area_bytes(&mut self, key: &[u8], area: u32) -> Result<Option<u32>> {
        self.insert_area(key, area)
    }
}

impl<B: BitsMut> Insert for Spatial<B> {
    /// Inserts the key as one of area 1, the lowest. That only sets bits: a label other than 0 is at
    /// least 1 already.
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    /// Prefetches the lines of several keys, if the filter is larger than the caches.
    fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        let (size, digester) = (self.body.bits.size(), self.body.hashing.clone());
        let visit = |filter: &mut Spatial<B>, digest| {
            answer(filter.insert_digest(digest, 1).is_none());
        };
        roll_large(size, keys, &digester, self, Spatial::prefetch_all, visit);
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

impl FixedShape for SpatialShape {
    type Hashing = Digester;

    fn kind(self) -> Kind {
        Kind::Spatial
    }

    fn numbers(self) -> (u64, u32, u32) {
        (self.bits(), self.cells().hashes(), self.areas())
    }

    fn predicted_rate(self, keys: u64) -> Option<f64> {
        Some(self.cells().rate_at(keys))
    }

    fn described(description: &Description) -> Result<(SpatialShape, Digester)> {
        let digester = description.digester()?;
        let Description {
            bits,
            hashes,
            detail,
            ..
        } = *description;
        Ok((SpatialShape::from_numbers(bits, hashes, detail)?, digester))
    }
}

impl<B: Bits> Wrap for Spatial<B> {
    type Body = Fixed<B, SpatialShape>;

    fn wrap(body: Fixed<B, SpatialShape>) -> Spatial<B> {
        Spatial { body }
    }

    fn body(&self) -> &Fixed<B, SpatialShape> {
        &self.body
    }
}

impl Merge for Spatial {
    fn union(&mut self, other: &Spatial) -> Result<()> {
        self.body.check_same(&other.body)?;
        let width = self.body.shape.width();
        for index in 0..self.body.shape.bits() / 64 {
            let (left, right) = (self.body.bits.word(index), other.body.bits.word(index));
            self.body
                .bits
                .set_word(index, higher_labels(left, right, width));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn filter(areas: u32) -> Spatial {
        let cells = Shape::new(2000, 4).expect("valid");
        let shape = SpatialShape::new(cells, areas).expect("valid");
        Spatial::new(shape, Digester::default()).expect("small")
    }

    #[test]
    fn the_worked_example_holds() {
        let mut line = [0; 8];
        for (label, cells) in [(1, [1, 5]), (2, [5, 6]), (3, [1, 6])] {
            for cell in cells {
                raise(&mut line, cell, 2, label);
            }
        }

        let label = |cell: u64| line[0] >> (2 * cell) & 3;
        assert_eq!([0, 1, 5, 6].map(label), [0, 3, 2, 3]);
        let answer = |cells: [u64; 2]| cells.map(label).into_iter().min();
        assert_eq!(
            answer([1, 5]),
            Some(2),
            "a key of area 1, taken for one of 2"
        );
        assert_eq!(answer([5, 6]), Some(2));
        assert_eq!(answer([1, 6]), Some(3));
        assert_eq!(answer([0, 5]), Some(0), "an absent key");
    }

    #[test]
    fn labels_of_every_width_are_kept_apart_from_their_neighbours() {
        for areas in [1, 3, 15, 255, 65_535] {
            let mut filter = filter(areas);
            let cells = filter.shape().cells().bits();
            let label = |cell: u64| 1 + (cell * 7919) as u32 % areas;
            let width = filter.shape().width();
            for cell in 0..cells {
                let line = filter.body.bits.line_mut(cell * width / 512);
                raise(line, cell, width, u64::from(label(cell)));
            }

            assert!((0..cells).all(|cell| filter.label(cell) == label(cell)));
            assert_eq!(filter.cells_used(), cells);
            let counted: f64 = filter.area_stats().iter().map(|area| area.cells).sum();
            assert!((counted - cells as f64).abs() < 1e-6 * cells as f64);
        }
    }

    #[test]
    fn areas_that_are_not_there_are_refused_and_change_nothing() {
        let mut filter = filter(5);
        let before = filter.clone();
        for area in [0, 6, u32::MAX] {
            let refused = filter.insert_area("key", area);
            assert!(matches!(refused, Err(Error::Field { field: "area", .. })));
        }
        assert_eq!(filter, before);
    }

    #[test]
    fn a_key_in_two_areas_is_noticed_and_has_the_higher() {
        let mut filter = filter(5);
        assert_eq!(filter.insert_area("key", 4).expect("valid"), None);
        assert_eq!(filter.insert_area("key", 2).expect("valid"), Some(4));
        assert_eq!(filter.area("key"), Some(4));
        assert_eq!(filter.insert_area("key", 5).expect("valid"), Some(4));
        assert_eq!(filter.area("key"), Some(5));
    }

    #[test]
    fn labels_past_the_areas_read_as_the_highest() {
        let mut filter = filter(5);
        for index in 0..filter.shape().bits() / 64 {
            filter.body.bits.set_word(index, u64::MAX);
        }
        assert_eq!(filter.area("key"), Some(5));
        let areas = filter.area_stats();
        assert_eq!(areas[4].cells, filter.shape().cells().bits() as f64);
        assert_eq!(filter.stats().rate, 1.0);
        assert_eq!(filter.stats().keys, None);
    }
}
