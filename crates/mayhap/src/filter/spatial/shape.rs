//! The shape of a spatial filter: how many cells, how wide, and how often each area is mistaken.
//!
//! Symbols: `m` cells, `k` of them for each key, `n_i` keys in area `i`. A cell has a label of at least
//! `i` with probability `a_i = 1 - (1-1/m)^(k (n_i + n_i+1 + …))`, and everything else follows from
//! these shares, whether predicted from the keys or counted in a filter: an absent key is claimed for
//! area `i` with `a_i^k - a_(i+1)^k`, a member of `i` for a higher one with `a_(i+1)^k`.

use core::fmt;

use alloc::vec::Vec;

use crate::filter::Kind;
use crate::{Error, Result, Shape};

/// The bits of a line: a filter is whole lines.
const LINE_BITS: u64 = 512;

/// The size of a [`Spatial`](crate::kinds::Spatial) filter: its cells, the cells of a key, and the areas.
///
/// ```
/// use mayhap::{Shape, kinds::SpatialShape};
///
/// let shape = SpatialShape::new(Shape::new(4096, 5)?, 4)?;
/// assert_eq!((shape.width(), shape.bits()), (4, 16_384));
/// let areas = shape.forecast(&[100, 100, 100, 100])?;
/// assert!(areas[0].rate > 100.0 * areas[3].rate, "absent keys are taken for the lowest area");
/// assert_eq!(areas[3].error, 0.0, "the highest area is never mistaken for another");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpatialShape {
    cells: Shape,
    areas: u32,
}

/// The state of one area of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AreaStats {
    /// The area.
    pub area: u32,
    /// The number of cells that have its label.
    pub cells: f64,
    /// The share of absent keys that are claimed for this area.
    pub rate: f64,
    /// The share of its keys that are claimed for a higher area.
    pub error: f64,
    /// The share of the cells its keys wrote that no higher area has written over.
    pub emersion: f64,
}

impl AreaStats {
    /// The chance that none of `keys` keys of this area is claimed for a higher one.
    pub fn error_free(&self, keys: u64) -> f64 {
        libm::exp(keys as f64 * libm::log1p(-self.error))
    }
}

impl fmt::Display for SpatialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cells, hashes) = (self.cells.bits(), self.cells.hashes());
        write!(f, "{cells} cells, {hashes} hashes, {} areas", self.areas)
    }
}

impl SpatialShape {
    /// The most areas: the labels that 16 bits hold, but for zero.
    pub const MOST_AREAS: u32 = u16::MAX as u32;

    /// A shape of `cells.bits()` cells, rounded up to whole lines of 512 bits, with
    /// `cells.hashes()` of them for each key.
    ///
    /// # Errors
    ///
    /// When `areas` is not 1 to 65535, or the cells need more than 2^63 bits.
    pub fn new(cells: Shape, areas: u32) -> Result<SpatialShape> {
        check_areas(areas)?;
        let width = width_of(areas);
        let per_line = LINE_BITS / width;
        let count = cells.bits().next_multiple_of(per_line);
        if count > (1 << 63) / width {
            return Err(Error::Bits {
                got: count,
                expected: "cells that fit 2^63 bits",
            });
        }
        let cells = Shape::new(count, cells.hashes())?;
        Ok(SpatialShape { cells, areas })
    }

    /// The smallest shape whose predicted rate with `keys` keys, of all areas together, is at most
    /// `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, `areas` is not 1 to 65535, or 2^63
    /// bits do not suffice.
    pub fn for_capacity(keys: u64, rate: f64, areas: u32) -> Result<SpatialShape> {
        SpatialShape::new(Shape::for_capacity(keys, rate)?, areas)
    }

    /// The shape of a file's fields.
    pub(super) fn from_numbers(bits: u64, hashes: u32, areas: u32) -> Result<SpatialShape> {
        check_areas(areas)?;
        let width = width_of(areas);
        if bits == 0 || bits > 1 << 63 || !bits.is_multiple_of(LINE_BITS) {
            return Err(Error::Bits {
                got: bits,
                expected: "512 to 2^63, in lines of 512",
            });
        }
        SpatialShape::new(Shape::new(bits / width, hashes)?, areas)
    }

    /// The number of cells, and of those for each key.
    #[inline]
    pub fn cells(self) -> Shape {
        self.cells
    }

    /// The number of areas.
    #[inline]
    pub fn areas(self) -> u32 {
        self.areas
    }

    /// The bits of a cell: 1, 2, 4, 8 or 16, the least that hold every label.
    #[inline]
    pub fn width(self) -> u64 {
        width_of(self.areas)
    }

    /// The number of bits.
    pub fn bits(self) -> u64 {
        self.cells.bits() * self.width()
    }

    /// Predicts how each area fares when `members[i]` keys are in area `i + 1`. The areas past the
    /// slice are empty.
    ///
    /// # Errors
    ///
    /// When there are more members than areas.
    pub fn forecast(self, members: &[u64]) -> Result<Vec<AreaStats>> {
        if members.len() > self.areas as usize {
            return Err(Error::Field {
                format: Kind::Spatial.name(),
                field: "number of areas",
                got: i64::try_from(members.len()).unwrap_or(i64::MAX),
                expected: "as many as the shape has, or fewer",
            });
        }
        let mut keys = 0.0;
        let zero = libm::log1p(-1.0 / self.cells.bits() as f64) * f64::from(self.cells.hashes());
        let mut shares = Vec::new();
        for area in (0..self.areas as usize).rev() {
            keys += members.get(area).map_or(0.0, |&members| members as f64);
            shares.push(-libm::expm1(keys * zero));
        }
        shares.reverse();
        Ok(self.fare(&shares))
    }

    /// Computes the state of each area, from the shares of cells with its label or a higher one.
    pub(super) fn fare(self, shares: &[f64]) -> Vec<AreaStats> {
        let hashes = f64::from(self.cells.hashes());
        let higher = shares.iter().skip(1).chain([&0.0]);
        let each = (1..).zip(shares.iter().zip(higher));
        each.map(|(area, (share, higher))| {
            let error = libm::pow(*higher, hashes);
            AreaStats {
                area,
                cells: (share - higher) * self.cells.bits() as f64,
                rate: (libm::pow(*share, hashes) - error).max(0.0),
                error,
                emersion: 1.0 - higher,
            }
        })
        .collect()
    }
}

fn check_areas(areas: u32) -> Result<()> {
    if (1..=SpatialShape::MOST_AREAS).contains(&areas) {
        return Ok(());
    }
    Err(Error::Field {
        format: Kind::Spatial.name(),
        field: "number of areas",
        got: i64::from(areas),
        expected: "1 to 65535",
    })
}

#[inline]
fn width_of(areas: u32) -> u64 {
    u64::from(u32::BITS - areas.leading_zeros()).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(cells: u64, hashes: u32, members: &[u64]) -> Vec<AreaStats> {
        let cells = Shape::new(cells, hashes).expect("valid");
        let shape = SpatialShape::new(cells, members.len() as u32).expect("valid");
        assert_eq!(shape.cells(), cells, "whole lines");
        shape.forecast(members).expect("as many")
    }

    /// Asserts that `got` prints as `expected` when rounded to as many significant digits.
    #[track_caller]
    fn assert_digits(got: f64, expected: f64, digits: i32) {
        let tolerance = expected.abs() * libm::pow(10.0, f64::from(1 - digits)) * 0.51;
        let off = (got - expected).abs();
        assert!(off <= tolerance, "{got} is not {expected}");
    }

    fn error_free(areas: &[AreaStats], members: &[u64]) -> f64 {
        let pairs = areas.iter().zip(members);
        pairs.map(|(area, &keys)| area.error_free(keys)).product()
    }

    #[test]
    fn the_first_table_is_predicted_to_six_digits() {
        let members = [100; 4];
        let areas = forecast(4096, 5, &members);

        let total: f64 = areas.iter().map(|area| area.rate).sum();
        assert_digits(total, 0.008_608_75, 6);
        assert_digits(error_free(&areas, &members), 0.725_153_3, 7);
        for (area, (rate, error, cells, emersion, free)) in areas.iter().zip([
            (0.005_896_14, 0.002_712_61, 326.38, 0.693_326, 0.762_136),
            (0.002_235_36, 4.772_57e-4, 368.76, 0.783_354, 0.953_384),
            (4.572_07e-4, 2.004_99e-5, 416.64, 0.885_073, 0.997_997),
            (2.004_99e-5, 0.0, 470.74, 1.0, 1.0),
        ]) {
            assert_digits(area.rate, rate, 6);
            assert_digits(area.error, error, 6);
            assert_digits(area.cells, cells, 5);
            assert_digits(area.emersion, emersion, 6);
            assert_digits(area.error_free(100), free, 6);
        }
    }

    #[test]
    fn the_other_tables_are_predicted_to_six_digits() {
        let members = [200; 5];
        let areas = forecast(16_384, 10, &members);
        for (area, (rate, error)) in areas.iter().zip([
            (3.219_82e-4, 7.4058e-5),
            (6.670_53e-5, 7.3527e-6),
            (7.125_11e-6, 2.2759e-7),
            (2.271_88e-7, 4.016_51e-10),
            (4.016_51e-10, 0.0),
        ]) {
            assert_digits(area.rate, rate, 6);
            assert_digits(area.error, error, 5);
        }
        let total: f64 = areas.iter().map(|area| area.rate).sum();
        assert_digits(total, 3.960_40e-4, 6);
        assert_digits(error_free(&areas, &members), 0.983_804_3, 7);

        let members = [500, 300, 200, 100, 50];
        let areas = forecast(16_384, 10, &members);
        let total: f64 = areas.iter().map(|area| area.rate).sum();
        assert_digits(total, 1.065_352e-3, 7);
        assert_digits(areas[0].rate, 0.001_051_16, 6);
        for (area, error) in areas.iter().zip([1.419_06e-5, 6.933_91e-8, 2.627_56e-11]) {
            assert_digits(area.error, error, 6);
        }
        assert_digits(error_free(&areas, &members), 0.992_909_1, 7);
    }

    #[test]
    fn cells_are_as_wide_as_the_labels_need_and_fill_lines() {
        let cells = Shape::new(100, 3).expect("valid");
        for (areas, width) in [
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 4),
            (15, 4),
            (16, 8),
            (255, 8),
            (256, 16),
            (65_535, 16),
        ] {
            let shape = SpatialShape::new(cells, areas).expect("valid");
            assert_eq!(shape.width(), width, "{areas} areas");
            assert!(shape.bits().is_multiple_of(512) && shape.cells().bits() >= 100);
            let described = SpatialShape::from_numbers(shape.bits(), 3, areas);
            assert_eq!(described.expect("as it is"), shape);
        }
        for areas in [0, 65_536, u32::MAX] {
            assert!(SpatialShape::new(cells, areas).is_err());
        }
        let huge = Shape::new(1 << 63, 3).expect("valid");
        assert!(SpatialShape::new(huge, 1).is_ok());
        assert!(SpatialShape::new(huge, 2).is_err());
    }
}
