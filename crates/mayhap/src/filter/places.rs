//! The places where a filter keeps a key: what a picture or an explanation of an answer is made of.
//!
//! Lookups do not come through here. A kind whose fields are its own finds its places beside them; `explain.rs` has the
//! dispatch.

use alloc::vec::Vec;

use crate::bits::Bits;

/// The places of a key in one part of a filter, and what is in them.
///
/// ```
/// use mayhap::{AnyFilter, Kind};
///
/// let mut filter = AnyFilter::new(&Kind::Bloom.plan(1000, 0.01)?)?;
/// filter.insert("key")?;
/// let places = &filter.places("key")[0];
/// assert_eq!((places.unit, places.places.len()), ("bit", 7));
/// assert!(places.places.iter().all(|place| place.value == 1) && places.hold());
/// assert!(!filter.places("another key")[0].hold(), "one of its bits is 0");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The index of their part, of the [`parts`](crate::Assemble::parts).
    pub part: usize,
    /// The layer, level or generation they belong to, if the kind has several: its name and its number.
    pub layer: Option<(&'static str, u64)>,
    /// The unit at a place: a `bit`, `counter`, `cell`, `slot` or `window`.
    pub unit: &'static str,
    /// The bits of each.
    pub width: u32,
    /// The distance of these bits: 1, except in a ribbon, which keeps them in columns.
    pub stride: u64,
    /// Each place, in the order in which the filter looks at them. Some may be equal.
    pub places: Vec<Place>,
    /// The values that have to be there, for the key to be found.
    pub needed: Needed,
}

/// One place, and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number among the places of its unit, from 0.
    pub number: u64,
    /// The position of its lowest bit in the part.
    pub first_bit: u64,
    /// The value in it.
    pub value: u64,
}

/// The condition on the values at the places of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Needed {
    /// None of them is 0.
    NoZero,
    /// Each has at least these ones.
    Ones(u64),
    /// One of these is a one in all of them.
    Common(u64),
    /// One of them is this fingerprint.
    Any(u64),
    /// Their sum without carries is this fingerprint.
    Sum(u64),
}

impl Places {
    /// Single bits at these positions.
    pub(super) fn bits(
        part: usize,
        bits: &impl Bits,
        positions: impl IntoIterator<Item = u64>,
    ) -> Places {
        Places::numbers("bit", part, bits, 1, positions, Needed::NoZero)
    }

    /// Numbers of `width` bits each, one after another from the first bit on.
    pub(super) fn numbers(
        unit: &'static str,
        part: usize,
        bits: &impl Bits,
        width: u32,
        numbers: impl IntoIterator<Item = u64>,
        needed: Needed,
    ) -> Places {
        let place = |number| Place {
            number,
            first_bit: number * u64::from(width),
            value: read(bits, number * u64::from(width), width),
        };
        Places {
            part,
            layer: None,
            unit,
            width,
            stride: 1,
            places: numbers.into_iter().map(place).collect(),
            needed,
        }
    }

    /// Windows of `width` bits that begin at these positions.
    pub(super) fn windows(
        bits: &impl Bits,
        width: u32,
        positions: impl IntoIterator<Item = u64>,
        needed: Needed,
    ) -> Places {
        let place = |position| Place {
            number: position,
            first_bit: position,
            value: read(bits, position, width),
        };
        Places {
            part: 0,
            layer: None,
            unit: "window",
            width,
            stride: 1,
            places: positions.into_iter().map(place).collect(),
            needed,
        }
    }

    /// The same places, of this layer.
    pub(super) fn of(self, name: &'static str, number: u64) -> Places {
        Places {
            layer: Some((name, number)),
            ..self
        }
    }

    /// Returns whether the values are what is needed.
    ///
    /// A key is found when the places of any layer hold. Three kinds ask for more: a cascade wants an odd number of levels
    /// that hold, a guarded filter that its list does not have the key, and a cuckoo filter that lost keys finds every key.
    pub fn hold(&self) -> bool {
        let mut values = self.places.iter().map(|place| place.value);
        match self.needed {
            Needed::NoZero => values.all(|value| value != 0),
            Needed::Ones(ones) => values.all(|value| value & ones == ones),
            Needed::Common(ones) => values.fold(ones, |common, value| common & value) != 0,
            Needed::Any(fingerprint) => values.any(|value| value == fingerprint),
            Needed::Sum(fingerprint) => values.fold(fingerprint, |sum, value| sum ^ value) == 0,
        }
    }
}

/// The number in the `width` bits from a position on.
fn read(bits: &impl Bits, position: u64, width: u32) -> u64 {
    bits.window(position) & (u64::MAX >> (64 - width))
}

/// The positions of the ones in a mask, in words of 64, after this many bits.
pub(super) fn ones_of(first_bit: u64, mask: &[u64]) -> impl Iterator<Item = u64> {
    let positions = (0..64 * mask.len() as u64).map(move |bit| (bit, first_bit + bit));
    positions
        .filter(|(bit, _)| mask[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
        .map(|(_, position)| position)
}
