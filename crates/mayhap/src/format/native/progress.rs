//! The progress of a run that fills a filter.

use super::FORMAT;
use crate::{Error, Result};

/// The bytes of a record in a file.
pub(crate) const PROGRESS_BYTES: u64 = 64;

/// The values of the word that says whether the run has ended.
const UNFINISHED: u64 = 1;
const FINISHED: u64 = 2;

/// The progress of a run that reads an input, inserts its keys and writes an output.
///
/// It is saved in the file of the filter, so that the two cannot disagree: every key of the first
/// `input_bytes` bytes is in the filter, and their result is in the output. The program decides
/// what it hashes, and by which function; `mayhap uniq` writes and reads this.
///
/// ```
/// use mayhap::Bloom;
/// use mayhap::format::native::{self, Metadata, Progress};
///
/// let filter = Bloom::with_capacity(100, 0.01)?;
/// let progress = Progress { input_bytes: 1 << 30, ..Progress::default() };
/// let metadata = Metadata { progress: Some(progress), ..Metadata::default() };
/// let mut file = Vec::new();
/// native::write(&filter, &metadata, &mut file)?;
/// assert_eq!(native::decode(&file, None)?.1.progress, Some(progress));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Set if the run reached the end of its input.
    pub is_finished: bool,
    /// The seed of the hashes.
    pub seed: u64,
    /// The number of bytes of input that are done.
    pub input_bytes: u64,
    /// A hash of the beginning of the input, so that another input is recognised early.
    pub beginning_hash: u64,
    /// A hash of all input that is done.
    pub input_hash: u64,
    /// The offset at which the run began to write in its output.
    pub output_start: u64,
    /// The offset that it reached.
    pub output_end: u64,
    /// A hash of the bytes between the two.
    pub output_hash: u64,
}

impl Progress {
    pub(super) fn to_bytes(self) -> [u8; PROGRESS_BYTES as usize] {
        let state = match self.is_finished {
            true => FINISHED,
            false => UNFINISHED,
        };
        let mut bytes = [0; PROGRESS_BYTES as usize];
        let (words, _) = bytes.as_chunks_mut();
        for (word, number) in words.iter_mut().zip([
            state,
            self.seed,
            self.input_bytes,
            self.beginning_hash,
            self.input_hash,
            self.output_start,
            self.output_end,
            self.output_hash,
        ]) {
            *word = number.to_le_bytes();
        }
        bytes
    }

    pub(super) fn parse(bytes: &[u8; PROGRESS_BYTES as usize]) -> Result<Progress> {
        let (words, _) = bytes.as_chunks();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        let refused = |field, got: u64, expected| Error::Field {
            format: FORMAT,
            field,
            got: got as i64,
            expected,
        };
        let progress = Progress {
            is_finished: match word(0) {
                FINISHED => true,
                UNFINISHED => false,
                state => return Err(refused("state of the run", state, "1 or 2")),
            },
            seed: word(1),
            input_bytes: word(2),
            beginning_hash: word(3),
            input_hash: word(4),
            output_start: word(5),
            output_end: word(6),
            output_hash: word(7),
        };
        if progress.output_end < progress.output_start {
            let end = progress.output_end;
            return Err(refused("end of the output", end, "not before its start"));
        }
        Ok(progress)
    }
}
