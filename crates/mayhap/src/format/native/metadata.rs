//! A user's notes about a filter, in its file.

use super::{FORMAT, Progress};
use crate::{Error, Result};

/// A short name, a free text and the progress of a run, stored with a filter; empty by default, and then
/// nothing is written, so that equal filters make equal files.
///
/// ```
/// use mayhap::Bloom;
/// use mayhap::format::native::{self, Metadata};
///
/// let filter = Bloom::with_capacity(100, 0.01)?;
/// let metadata = Metadata { label: "blocked hosts".into(), ..Metadata::default() };
/// let mut file = Vec::new();
/// native::write(&filter, &metadata, &mut file)?;
/// assert_eq!(native::decode(&file, None)?.1, metadata);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// A short name, at most 255 bytes.
    pub label: String,
    /// The person or program that made the file, at most 4096 bytes.
    pub created_by: String,
    /// The progress of the run that fills the filter.
    pub progress: Option<Progress>,
}

impl Metadata {
    /// The most bytes of a label.
    pub const LABEL_MOST: u64 = 255;
    /// The most bytes of a created-by text.
    pub const CREATED_BY_MOST: u64 = 4096;

    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        !self.has_texts() && self.progress.is_none()
    }

    /// Returns whether there is a text to write.
    pub(crate) fn has_texts(&self) -> bool {
        !self.label.is_empty() || !self.created_by.is_empty()
    }

    /// Encodes the texts: their total length, then each after its own length.
    ///
    /// # Errors
    ///
    /// When a text is too long.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut texts = Vec::new();
        for (what, text, most) in [
            ("label", &self.label, Self::LABEL_MOST),
            ("created-by", &self.created_by, Self::CREATED_BY_MOST),
        ] {
            let got = text.len() as u64;
            if got > most {
                return Err(Error::Long { what, got, most });
            }
            texts.extend_from_slice(&(got as u16).to_le_bytes());
            texts.extend_from_slice(text.as_bytes());
        }
        let mut bytes = (texts.len() as u32).to_le_bytes().to_vec();
        bytes.append(&mut texts);
        Ok(bytes)
    }

    /// Parses the texts after the total length. They must be what [`to_bytes`](Metadata::to_bytes) writes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Metadata> {
        let mut rest = bytes;
        let metadata = Metadata {
            label: text(&mut rest, "label", Self::LABEL_MOST)?,
            created_by: text(&mut rest, "created-by", Self::CREATED_BY_MOST)?,
            progress: None,
        };
        if !rest.is_empty() || metadata.is_empty() {
            return Err(field("metadata length", bytes.len(), "that of its texts"));
        }
        Ok(metadata)
    }
}

/// Takes one text and its length from the front.
fn text(rest: &mut &[u8], what: &'static str, most: u64) -> Result<String> {
    let Some((length, texts)) = rest.split_first_chunk() else {
        return Err(field(what, rest.len(), "a length of two bytes"));
    };
    let length = usize::from(u16::from_le_bytes(*length));
    if length as u64 > most {
        return Err(field(what, length, "a shorter text"));
    }
    let Some((text, others)) = texts.split_at_checked(length) else {
        return Err(field(what, length, "a length within the metadata"));
    };
    *rest = others;
    let Ok(text) = str::from_utf8(text) else {
        return Err(field(what, length, "UTF-8"));
    };
    Ok(text.to_owned())
}

fn field(field: &'static str, got: usize, expected: &'static str) -> Error {
    Error::Field {
        format: FORMAT,
        field,
        got: got as i64,
        expected,
    }
}
