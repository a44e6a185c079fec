//! Mayhap's own format, version 1: every kind of filter, with checksums.
//!
//! A header of 64 bytes with its own checksum, the body as little-endian words, then a checksum for
//! each 1 MiB of the body, optional metadata and a checksum of these. The body begins at a cache
//! line, so that a mapped file is a filter. Equal filters make equal files. Written down for other
//! languages in `docs/formats.md`.
//!
//! A secret is never written: a file made with one holds a check value of it
//! ([`SecretKey::check_value`]), and is opened with the secret.

mod header;
mod metadata;
mod progress;
pub(crate) mod trailer;

use std::io::{Read, Write};

pub(crate) use header::{Access, HEADER_BYTES, Header, State};
pub use metadata::Metadata;
pub(crate) use progress::PROGRESS_BYTES;
pub use progress::Progress;

use super::pieces::each_piece;
use super::source::{Source, check_last_word};
#[cfg(doc)]
use crate::Error;
use crate::filter::{AnyFilter, Assemble};
use crate::{Bitmap, Result, SecretKey};
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
    filter.settle()?;
    let header = Header::new(filter.description(), metadata);
    output.write_all(&header.to_bytes())?;
    let mut sums = ChunkSums::new();
    for part in filter.parts() {
        each_piece(part, u64::to_le_bytes, |bytes| {
            sums.update(bytes);
            output.write_all(bytes)
        })?;
    }
    trailer::write(&sums.finish(), metadata, output)
}

/// Reads one filter and its metadata, and not a byte more: what follows stays unread.
///
/// Every checksum is compared. `secret` is needed for a filter that was made with one, and
/// ignored otherwise.
///
/// # Errors
///
/// [`Error::Truncated`] when the input ends early, [`Error::Damaged`] when a checksum does not match,
/// [`Error::Unrecognised`] for another magic number, [`Error::Unknown`] for a version, kind, scheme or flag that this
/// version does not know, [`Error::Unfinished`] for a build, [`Error::SecretNeeded`] and [`Error::SecretWrong`] when
/// the secret is missing or wrong, and the error of the kind for a filter that cannot exist.
pub fn read(input: impl Read, secret: Option<&SecretKey>) -> Result<(AnyFilter, Metadata)> {
    read_from(&mut Source::new(input, FORMAT, None), secret.into())
}

/// Reads a filter from all of `bytes`.
///
/// # Errors
///
/// As [`read`], and [`Error::Extra`] when bytes follow.
pub fn decode(bytes: &[u8], secret: Option<&SecretKey>) -> Result<(AnyFilter, Metadata)> {
    read_whole(bytes, bytes.len() as u64, secret.into())
}

/// Reads an input of known length to its end.
pub(crate) fn read_whole(
    input: impl Read,
    length: u64,
    access: Access<'_>,
) -> Result<(AnyFilter, Metadata)> {
    let mut source = Source::new(input, FORMAT, Some(length));
    let read = read_from(&mut source, access)?;
    source.end()?;
    Ok(read)
}

pub(super) fn read_from<R: Read>(
    source: &mut Source<R>,
    access: Access<'_>,
) -> Result<(AnyFilter, Metadata)> {
    let mut bytes = [0; 64];
    let got = source.fill_up_to(&mut bytes)?;
    let header = Header::parse(&bytes, got, access)?.finished()?;
    source.need(header.least_bytes())?;

    let mut sums = ChunkSums::new();
    let (mut parts, mut last) = (Vec::new(), 0);
    for size in AnyFilter::<Bitmap>::layout(&header.description)? {
        let (part, word) = source.words(size, u64::from_le_bytes, |bytes| sums.update(bytes))?;
        parts.push(part);
        last = word;
    }

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
    if let Some(part) = parts.last() {
        check_last_word(FORMAT, last, part)?;
    }
    Ok((AnyFilter::assemble(&header.description, parts)?, metadata))
}
