//! Values in pieces, for `SCANDUMP` and `LOADCHUNK`, and what all bytes of ours share: checksums and descriptions.
//!
//! The first piece describes the value, each of the others holds bits of one layer, at most 16 MiB. The iterator of the first
//! is 1; that of another is 1 and the bytes of bits up to its end. Ours end with a checksum. All numbers are little-endian.

use std::io::Read;

use mayhap::bits::{Bitmap, Bits};
use mayhap::{AnyFilter, Assemble as _, Blocked, Description, Hashing, Kind, Promise, SecretKey};
use xxhash_rust::xxh3::xxh3_64;

/// The most bits in a piece, in bytes.
const PIECE: u64 = 16 << 20;

/// The bytes of a description.
pub(crate) const DESCRIPTION: usize = 48;

/// Why bytes are not a filter.
pub(crate) type Failure = String;

/// A value that is dumped in pieces.
pub(crate) trait Pieces {
    /// The first piece.
    fn first(&self) -> Vec<u8>;

    /// The bits of each layer.
    fn bits(&self) -> Vec<&Bitmap>;

    /// Whether pieces are ours: whole words, and a checksum at the end. Others are the bytes of the bits alone.
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

/// Bytes of bits, from one at a word on; `None` when there is no memory for them.
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

/// The piece that is asked for by `iterator`, and the iterator that belongs to it; `None` after the last.
pub(crate) fn piece(value: &impl Pieces, iterator: u64) -> Option<(u64, Vec<u8>)> {
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

/// Where the bits of a piece that ends at an iterator belong: the layer, and the byte in it.
#[derive(Debug, PartialEq)]
pub(crate) enum Place {
    At(usize, u64),
    /// No layer is there.
    Nowhere,
    /// A layer is there, but ends before the piece does.
    Crosses,
}

/// The bits of a piece, and where they belong.
pub(crate) fn locate<'p>(
    value: &impl Pieces,
    iterator: u64,
    piece: &'p [u8],
) -> Result<(Place, &'p [u8]), Failure> {
    let bits = match value.is_sealed() {
        true => opened(piece)?,
        false => piece,
    };
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

/// Whether bytes can be bits of a layer from byte `start` on: whole words, and no more than it has.
pub(crate) fn fits(bits: &Bitmap, start: u64, bytes: &[u8]) -> bool {
    let is_at_word = start.is_multiple_of(8) && bytes.len().is_multiple_of(8);
    let end = start.checked_add(bytes.len() as u64);
    is_at_word && end.is_some_and(|end| end <= bytes_of(bits, true))
}

/// Replaces bits that [`fits`] has found to fit.
pub(crate) fn replace(bits: &mut Bitmap, start: u64, bytes: &[u8]) {
    for (word, bytes) in (start / 8..).zip(bytes.chunks_exact(8)) {
        let bytes = bytes.try_into().expect("eight bytes");
        bits.set_word(word, u64::from_le_bytes(bytes));
    }
}

/// Changes the bits of a filter, which otherwise only keys do; false for kinds that cannot be taken apart.
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

/// A description as bytes: kind:u16 scheme:u16 hashes:u32 seed:u64 bits:u64 detail:u32 0:u32 promised keys:u64 promised
/// rate:f64.
pub(crate) fn description_bytes(description: &Description) -> [u8; DESCRIPTION] {
    let (scheme, seed) = description.hashing.code();
    let promise = description.promise;
    let promise = promise.unwrap_or(Promise { keys: 0, rate: 0.0 });
    let fields: [&[u8]; 9] = [
        &description.kind.code().to_le_bytes(),
        &scheme.to_le_bytes(),
        &description.hashes.to_le_bytes(),
        &seed.to_le_bytes(),
        &description.bits.to_le_bytes(),
        &description.detail.to_le_bytes(),
        &[0; 4],
        &promise.keys.to_le_bytes(),
        &promise.rate.to_le_bytes(),
    ];
    let mut bytes = [0; DESCRIPTION];
    bytes.copy_from_slice(&fields.concat());
    bytes
}

/// The description that comes next; a keyed one is the given secret's.
pub(crate) fn description(
    fields: &mut Fields<'_>,
    secret: Option<&SecretKey>,
) -> Result<Description, Failure> {
    let code = fields.u16()?;
    let kind = Kind::from_code(code).ok_or_else(|| format!("its kind {code} is not known"))?;
    let scheme = fields.u16()?;
    let hashes = fields.u32()?;
    let hashing = Hashing::from_code(scheme, fields.u64()?, secret);
    let bits = fields.u64()?;
    let detail = fields.u32()?;
    fields.u32()?;
    let (keys, rate) = (fields.u64()?, fields.f64()?);
    Ok(Description {
        kind,
        hashing: hashing.map_err(|error| error.to_string())?,
        bits,
        hashes,
        detail,
        promise: (keys > 0).then_some(Promise { keys, rate }),
    })
}

/// The bytes with their checksum.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = xxh3_64(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// The bytes before a checksum that is right.
pub(crate) fn opened(bytes: &[u8]) -> Result<&[u8], Failure> {
    let body = bytes
        .len()
        .checked_sub(8)
        .map(|length| bytes.split_at(length));
    let Some((body, sum)) = body else {
        return Err("it is too short".into());
    };
    if xxh3_64(body).to_le_bytes() != sum {
        return Err("its checksum is wrong: it was damaged".into());
    }
    Ok(body)
}

/// Reads bytes with their checksum.
pub(crate) fn unsealed(input: &mut dyn Read, length: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; length + 8];
    let read = input.read_exact(&mut bytes);
    read.map_err(|error| error.to_string())?;
    opened(&bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Fields one after the other.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Failure> {
        let split = self.0.split_at_checked(length);
        let (taken, left) = split.ok_or("it is too short")?;
        self.0 = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many as were taken"))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Failure> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Failure> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Failure> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Failure> {
        self.array().map(f64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
