//! Mayhap's own format, version 1: every kind of filter, with checksums.
//!
//! A header of 64 bytes with its own checksum, the body as little-endian words, then a checksum for
//! each 1 MiB of the body, optional metadata and a checksum of these. The body begins at a cache
//! line, so that a mapped file is a filter. Equal filters make equal files. Written down for other
//! languages in `docs/formats.md`.
//!
//! A secret is never written: a file made with one holds a number that recognises it
//! ([`SecretKey::check_value`]), and is opened by giving the secret back.

mod header;
mod metadata;
pub(crate) mod trailer;

use std::io::{Read, Write};

pub(crate) use header::{HEADER_BYTES, Header, State};
pub use metadata::Metadata;

use super::source::Source;
use crate::bits::Bits;
use crate::filter::{AnyFilter, Assemble};
use crate::{Error, Result, SecretKey};
use trailer::{ChunkSums, damaged_chunk};

/// The name of the format in errors.
pub(crate) const FORMAT: &str = "mayhap";

/// The bytes of the body under one checksum.
pub(crate) const CHUNK_BYTES: u64 = 1 << 20;

/// Writes one filter.
///
/// # Errors
///
/// [`Error::Long`] when a text of the metadata is too long, before anything is written;
/// [`Error::Io`] when writing fails.
///
/// ```
/// use mayhap::Blocked;
/// use mayhap::format::native::{self, Metadata};
///
/// let mut filter = Blocked::with_capacity(1000, 0.01)?;
/// filter.insert("key");
/// let mut file = Vec::new();
/// native::write(&filter, &Metadata::default(), &mut file)?;
///
/// let (read, _) = native::read(&file[..], None)?;
/// assert_eq!(Blocked::try_from(read)?, filter);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn write<F: Assemble>(filter: &F, metadata: &Metadata, mut output: impl Write) -> Result<()> {
    metadata.to_bytes()?;
    let header = Header::new(filter.description(), metadata);
    output.write_all(&header.to_bytes())?;
    let mut sums = ChunkSums::new();
    each_piece(filter.stored_bits(), |bytes| {
        sums.update(bytes);
        output.write_all(bytes)
    })?;
    trailer::write(&sums.finish(), metadata, output)
}

/// Calls `visit` with the bytes of the body, 64 KiB at a time.
pub(crate) fn each_piece<E>(
    bits: &impl Bits,
    mut visit: impl FnMut(&[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    const PIECE_WORDS: u64 = 8192;
    let words = bits.size().div_ceil(64);
    let mut piece = Vec::with_capacity(8 * PIECE_WORDS.min(words) as usize);
    for first in (0..words).step_by(PIECE_WORDS as usize) {
        piece.clear();
        for index in first..words.min(first + PIECE_WORDS) {
            piece.extend_from_slice(&bits.word(index).to_le_bytes());
        }
        visit(&piece)?;
    }
    Ok(())
}

/// Reads one filter and its metadata, and no byte more: what follows stays unread.
///
/// Every checksum is compared. `secret` is needed for a filter that was made with one, and is not
/// looked at otherwise.
///
/// # Errors
///
/// [`Error::Truncated`] when the input ends early, [`Error::Damaged`] when a checksum does not match,
/// [`Error::Unknown`] for a magic number, version, kind, scheme or flag that this version does not
/// know, [`Error::Unfinished`] for a build, [`Error::SecretNeeded`] and [`Error::SecretWrong`] as they
/// say, and the error of the kind for a filter that cannot be.
pub fn read(input: impl Read, secret: Option<&SecretKey>) -> Result<(AnyFilter, Metadata)> {
    read_from(&mut Source::new(input, FORMAT, None), secret)
}

/// Reads the filter that `bytes` are, all of them.
///
/// # Errors
///
/// As [`read`], and [`Error::Extra`] when bytes follow.
pub fn decode(bytes: &[u8], secret: Option<&SecretKey>) -> Result<(AnyFilter, Metadata)> {
    read_whole(bytes, bytes.len() as u64, secret)
}

/// Reads an input of known length to its end.
pub(crate) fn read_whole(
    input: impl Read,
    length: u64,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Metadata)> {
    let mut source = Source::new(input, FORMAT, Some(length));
    let read = read_from(&mut source, secret)?;
    source.end()?;
    Ok(read)
}

fn read_from<R: Read>(
    source: &mut Source<R>,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Metadata)> {
    let mut bytes = [0; 64];
    let got = source.fill_up_to(&mut bytes)?;
    let header = Header::parse(&bytes, got, secret)?.finished()?;
    source.need(header.least_bytes())?;

    let mut sums = ChunkSums::new();
    let mut last = [0; 8];
    let bits = source.words(header.description.bits, u64::from_le_bytes, |bytes| {
        sums.update(bytes);
        last = *bytes.last_chunk().unwrap_or(&last);
    })?;

    let sums = sums.finish();
    let mut damaged = None;
    let metadata = trailer::read(source, &header, |index, sum| {
        if sums.get(index as usize) != Some(&sum) {
            damaged.get_or_insert(index);
        }
    })?;
    if let Some(index) = damaged {
        return Err(damaged_chunk(index));
    }
    check_last_word(u64::from_le_bytes(last), &bits)?;
    Ok((AnyFilter::assemble(&header.description, bits)?, metadata))
}

/// Refuses ones past the last bit in the last word as it was stored.
pub(crate) fn check_last_word(stored: u64, bits: &impl Bits) -> Result<()> {
    if stored == bits.word((bits.size() - 1) / 64) {
        return Ok(());
    }
    Err(Error::Field {
        format: FORMAT,
        field: "last word",
        got: stored as i64,
        expected: "zeros past the last bit",
    })
}
