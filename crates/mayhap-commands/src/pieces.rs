//! Values in pieces, for `SCANDUMP` and `LOADCHUNK`.
//!
//! The first piece describes the value; each of the others holds bits of one layer, at most 16 MiB. The iterator of the first
//! is 1; that of another is 1 plus the bytes of bits up to its end. Pieces of ours end with a checksum.

use std::borrow::Cow;

use mayhap::bits::{Bitmap, Bits};
use mayhap::{AnyFilter, Assemble as _, Blocked};

use crate::encoding::{Damage, opened, sealed};

/// The most bits in a piece, in bytes.
const PIECE: u64 = 16 << 20;

/// A value that is dumped in pieces.
pub trait Pieces: Clone {
    /// The value with the bits of its layers, which a small one keeps in another way.
    fn whole(&self) -> Cow<'_, Self>;

    /// The first piece, of a value that is whole.
    fn first(&self) -> Vec<u8>;

    /// The bits of each layer, of a value that is whole.
    fn bits(&self) -> Vec<&Bitmap>;

    /// Returns whether pieces are of our layout: whole words, and a checksum at the end. Others are the bytes of the bits alone.
    fn is_sealed(&self) -> bool;

    /// Replaces the bits of a layer from byte `start` on, which is at a word in ours; false when they do not fit.
    fn load_bits(&mut self, layer: usize, start: u64, bytes: &[u8]) -> bool;
}

/// The bytes of a layer in pieces.
fn bytes_of(bits: &Bitmap, is_sealed: bool) -> u64 {
    match is_sealed {
        true => bits.size().div_ceil(64) * 8,
        false => bits.size().div_ceil(8),
    }
}

/// Copies bytes of bits, from one at a word on; `None` when there is no memory for them.
pub(crate) fn copied(bits: &Bitmap, start: u64, end: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = (end - start) as usize;
    // A word more than that: the last one may be cut, or a checksum follows.
    bytes.try_reserve_exact(length + 8).ok()?;
    for word in start / 8..end.div_ceil(8) {
        bytes.extend_from_slice(&bits.word(word).to_le_bytes());
    }
    bytes.truncate(length);
    Some(bytes)
}

/// Returns the piece that follows `iterator`, and its own iterator; `None` after the last.
pub fn piece(value: &impl Pieces, iterator: u64) -> Option<(u64, Vec<u8>)> {
    let value = value.whole();
    let Some(mut offset) = iterator.checked_sub(1) else {
        return Some((1, value.first()));
    };
    for bits in value.bits() {
        let bytes = bytes_of(bits, value.is_sealed());
        if offset >= bytes {
            offset -= bytes;
            continue;
        }
        // A piece begins where one ended, at a word.
        let start = offset & !7;
        let end = (start + PIECE).min(bytes);
        let mut piece = copied(bits, start, end)?;
        if value.is_sealed() {
            piece = sealed(piece);
        }
        return Some((iterator + end - offset, piece));
    }
    None
}

/// The place of a piece.
#[derive(Debug, PartialEq)]
pub enum Place {
    /// In this layer, from this byte on.
    At(usize, u64),
    /// After the last layer.
    Nowhere,
    /// In a layer that ends before the piece does.
    Crosses,
}

/// Finds the place of a piece by its iterator, and returns it with the bits of the piece.
///
/// # Errors
///
/// When the checksum of the piece is wrong.
pub fn locate<'p>(
    value: &impl Pieces,
    iterator: u64,
    piece: &'p [u8],
) -> Result<(Place, &'p [u8]), Damage> {
    let bits = match value.is_sealed() {
        true => opened(piece)?,
        false => piece,
    };
    let value = value.whole();
    let start = iterator.checked_sub(1 + bits.len() as u64);
    let Some(mut start) = start.filter(|_| !bits.is_empty()) else {
        return Ok((Place::Nowhere, bits));
    };
    for (index, layer) in value.bits().into_iter().enumerate() {
        let bytes = bytes_of(layer, value.is_sealed());
        if start >= bytes {
            start -= bytes;
            continue;
        }
        let place = match start + bits.len() as u64 {
            end if end <= bytes => Place::At(index, start),
            _ => Place::Crosses,
        };
        return Ok((place, bits));
    }
    Ok((Place::Nowhere, bits))
}

/// Returns whether bytes fit into a layer from byte `start` on: whole words, and no more than it has.
pub(crate) fn fits(bits: &Bitmap, start: u64, bytes: &[u8]) -> bool {
    let is_at_word = start.is_multiple_of(8) && bytes.len().is_multiple_of(8);
    let end = start.checked_add(bytes.len() as u64);
    is_at_word && end.is_some_and(|end| end <= bytes_of(bits, true))
}

/// Replaces bits; they must fit by [`fits`].
pub(crate) fn replace(bits: &mut Bitmap, start: u64, bytes: &[u8]) {
    for (word, bytes) in (start / 8..).zip(bytes.chunks_exact(8)) {
        let bytes = bytes.try_into().expect("eight bytes");
        bits.set_word(word, u64::from_le_bytes(bytes));
    }
}

/// Changes the bits of a filter; false for kinds that cannot be taken apart.
pub(crate) fn with_bits(filter: &mut AnyFilter, change: impl FnOnce(&mut Bitmap)) -> bool {
    let description = filter.description();
    // In the filter's place for a moment.
    let Ok(empty) = Blocked::plan(1, 0.5).and_then(|plan| AnyFilter::new(&plan)) else {
        return false;
    };
    let mut bits = match std::mem::replace(filter, empty) {
        AnyFilter::Blocked(filter) => filter.into_bits(),
        AnyFilter::Bloom(filter) => filter.into_bits(),
        AnyFilter::SplitBlock(filter) => filter.into_bits(),
        AnyFilter::Shifting(filter) => filter.into_bits(),
        AnyFilter::Spatial(filter) => filter.into_bits(),
        other => {
            *filter = other;
            return false;
        }
    };
    change(&mut bits);
    let whole = AnyFilter::assemble(&description, vec![bits]);
    *filter = whole.expect("it had this description before");
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Kind;

    #[test]
    fn a_filter_is_the_same_after_it_was_taken_apart() {
        for &kind in Kind::ALL {
            let description = kind.plan(100, 0.01).expect("valid");
            let Ok(mut filter) = AnyFilter::new(&description) else {
                continue;
            };
            if let Ok(insert) = filter.as_insert() {
                insert.insert_bytes_batch(&[b"a", b"b"], &mut [false; 2]);
            }
            let parts = |filter: &AnyFilter| -> Vec<Bitmap> {
                filter.parts().into_iter().cloned().collect()
            };
            let before = (filter.description(), parts(&filter));

            let is_done = with_bits(&mut filter, Bitmap::reallocate);

            assert_eq!((filter.description(), parts(&filter)), before, "{kind}");
            let expected = ["bloom", "blocked", "split-block", "shifting", "spatial"];
            assert_eq!(is_done, expected.contains(&kind.name()), "{kind}");
        }
    }
}
