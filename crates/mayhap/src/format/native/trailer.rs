//! The end of a file: a checksum per chunk of the body, metadata, progress, and a checksum of these.

use std::io::{Read, Write};

use xxhash_rust::xxh3::Xxh3Default as Xxh3;

use super::header::Header;
use super::{CHUNK_BYTES, FORMAT, Metadata, PROGRESS_BYTES, Progress};
use crate::format::source::Source;
use crate::{Error, Result};

/// The most bytes of the texts of metadata, including their lengths.
pub(crate) const METADATA_MOST: u64 = 4 + 2 + Metadata::LABEL_MOST + 2 + Metadata::CREATED_BY_MOST;

/// The checksums of a body that is seen piece by piece.
pub(crate) struct ChunkSums {
    hasher: Xxh3,
    /// The bytes of the current chunk so far.
    seen: u64,
    sums: Vec<u64>,
}

impl ChunkSums {
    pub(crate) fn new() -> ChunkSums {
        ChunkSums {
            hasher: Xxh3::new(),
            seen: 0,
            sums: Vec::new(),
        }
    }

    /// Adds the next bytes of the body.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let left = (CHUNK_BYTES - self.seen).min(bytes.len() as u64);
            let (now, later) = bytes.split_at(left as usize);
            self.hasher.update(now);
            self.seen += left;
            if self.seen == CHUNK_BYTES {
                self.end_chunk();
            }
            bytes = later;
        }
    }

    /// Returns one checksum per chunk, after the whole body was added.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        if self.seen > 0 {
            self.end_chunk();
        }
        self.sums
    }

    fn end_chunk(&mut self) {
        self.sums.push(self.hasher.digest());
        self.hasher = Xxh3::new();
        self.seen = 0;
    }
}

/// The error of a chunk whose checksum does not match.
pub(crate) fn damaged_chunk(index: u64) -> Error {
    Error::Damaged {
        format: FORMAT,
        part: "chunk",
        index,
        offset: super::HEADER_BYTES + index * CHUNK_BYTES,
    }
}

/// Writes the trailer.
pub(crate) fn write(sums: &[u64], metadata: &Metadata, mut output: impl Write) -> Result<()> {
    let mut hasher = Xxh3::new();
    let mut write = |bytes: &[u8]| {
        hasher.update(bytes);
        output.write_all(bytes)
    };
    for sum in sums {
        write(&sum.to_le_bytes())?;
    }
    if metadata.has_texts() {
        write(&metadata.to_bytes()?)?;
    }
    if let Some(progress) = metadata.progress {
        write(&progress.to_bytes())?;
    }
    let checksum = hasher.digest();
    output.write_all(&checksum.to_le_bytes())?;
    Ok(())
}

/// Reads the trailer; calls `see` with each checksum and the number of its chunk.
///
/// The trailer's own checksum is compared before this returns, so the checksums that `see` was given are then
/// known to be those that were written.
pub(crate) fn read<R: Read>(
    source: &mut Source<R>,
    header: &Header,
    mut see: impl FnMut(u64, u64),
) -> Result<Metadata> {
    let offset = source.at();
    let mut hasher = Xxh3::new();
    for index in 0..header.chunks() {
        let mut sum = [0; 8];
        source.fill(&mut sum)?;
        hasher.update(&sum);
        see(index, u64::from_le_bytes(sum));
    }
    let mut texts = Vec::new();
    if header.has_metadata {
        let mut length = [0; 4];
        source.fill(&mut length)?;
        hasher.update(&length);
        let bytes = metadata_length(length)?;
        source.need(header.least_bytes() + 4 + bytes)?;
        texts.resize(bytes as usize, 0);
        source.fill(&mut texts)?;
        hasher.update(&texts);
    }
    let mut progress = [0; PROGRESS_BYTES as usize];
    if header.has_progress {
        source.fill(&mut progress)?;
        hasher.update(&progress);
    }
    let mut checksum = [0; 8];
    source.fill(&mut checksum)?;
    if u64::from_le_bytes(checksum) != hasher.digest() {
        return Err(Error::Damaged {
            format: FORMAT,
            part: "trailer",
            index: 0,
            offset,
        });
    }
    let mut metadata = match header.has_metadata {
        true => Metadata::parse(&texts)?,
        false => Metadata::default(),
    };
    if header.has_progress {
        metadata.progress = Some(Progress::parse(&progress)?);
    }
    Ok(metadata)
}

/// Returns the length of the metadata after this field, if so many bytes are possible.
pub(crate) fn metadata_length(length: [u8; 4]) -> Result<u64> {
    let length = u64::from(u32::from_le_bytes(length));
    if length > METADATA_MOST - 4 {
        return Err(Error::Field {
            format: FORMAT,
            field: "metadata length",
            got: length as i64,
            expected: "at most 4355",
        });
    }
    Ok(length)
}
