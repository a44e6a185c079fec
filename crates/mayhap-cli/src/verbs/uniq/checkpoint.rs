//! Where a run that was killed goes on.
//!
//! How far it had come is written into the saved filter itself, so that the two cannot disagree: a file is
//! replaced whole or not at all. Output is made durable before the filter is, so no line is marked as seen
//! that was not written; with `--output` what was written after the last checkpoint is cut off again.

use super::seen::Seen;
use crate::block::{Block, Resume};
use crate::failure::{Failure, Result};
use crate::filters::Held;
use crate::output::Output;

/// How a text about an unfinished run begins.
const BEGINNING: &str = "mayhap uniq, unfinished: ";

/// When to save, and what was saved.
pub(super) struct Checkpoint {
    /// The bytes of input between two checkpoints.
    every: Option<u64>,
    /// Where the last run was interrupted.
    resumed: Option<Progress>,
    /// The input at the last checkpoint of this run.
    last: u64,
    terminator: u8,
    /// What was said of the filter before.
    created_by: String,
}

/// How far a run had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Progress {
    input: u64,
    output: u64,
    /// A hash of the last line of the input so far: a different input is noticed.
    line: u64,
}

impl Progress {
    fn show(self) -> String {
        let Progress {
            input,
            output,
            line,
        } = self;
        format!("{BEGINNING}{input} bytes read, {output} written, last line {line:016x}")
    }

    fn parse(text: &str) -> Option<Progress> {
        let text = text.strip_prefix(BEGINNING)?;
        let (input, rest) = text.split_once(" bytes read, ")?;
        let (output, line) = rest.split_once(" written, last line ")?;
        Some(Progress {
            input: input.parse().ok()?,
            output: output.parse().ok()?,
            line: u64::from_str_radix(line, 16).ok()?,
        })
    }
}

impl Checkpoint {
    /// Goes on where the filter says that a run was interrupted.
    pub(super) fn of(seen: &Seen, every: Option<u64>, terminator: u8) -> Result<Checkpoint> {
        let created_by = match seen {
            Seen::Saved { held, .. } => held.metadata.created_by.clone(),
            _ => String::new(),
        };
        let resumed = Progress::parse(&created_by);
        if resumed.is_some() && every.is_none() {
            return Err(
                Failure::new("the filter is that of a run that was interrupted").hint(
                    "run it again with --checkpoint and the same input to finish it, \
                 or remove the filter to begin anew",
                ),
            );
        }
        Ok(Checkpoint {
            every,
            resumed,
            terminator,
            last: resumed.map_or(0, |progress| progress.input),
            created_by: if resumed.is_some() {
                String::new()
            } else {
                created_by
            },
        })
    }

    pub(super) fn is_resumed(&self) -> bool {
        self.resumed.is_some()
    }

    /// The bytes of input that are done already.
    pub(super) fn input_bytes(&self) -> u64 {
        self.resumed.map_or(0, |progress| progress.input)
    }

    /// The bytes of output that stand.
    pub(super) fn output_bytes(&self) -> u64 {
        self.resumed.map_or(0, |progress| progress.output)
    }

    /// The lines that are done already.
    pub(super) fn resume(&self) -> Option<Resume> {
        self.resumed.map(|progress| Resume {
            bytes: progress.input,
            line: progress.line,
        })
    }

    /// Saves the filter when it is time to, and it keeps its promise.
    pub(super) fn pass(
        &mut self,
        block: &Block,
        seen: &mut Seen,
        output: &mut Output,
        may_save: impl FnOnce(&Held) -> Result<()>,
    ) -> Result<()> {
        let Some(every) = self.every else {
            return Ok(());
        };
        let input = block.first_byte + block.bytes().len() as u64;
        if input - self.last < every {
            return Ok(());
        }
        let Some(held) = seen.held() else {
            return Ok(());
        };
        may_save(held)?;
        output.sync()?;
        let progress = Progress {
            input,
            output: output.written(),
            line: Resume::hash_of_last(block.bytes(), self.terminator),
        };
        held.metadata.created_by = progress.show();
        held.save()?;
        self.last = input;
        Ok(())
    }

    /// Puts back what was said of the filter.
    pub(super) fn end(&mut self, seen: &mut Seen) {
        if let Some(held) = seen.held() {
            held.metadata.created_by = std::mem::take(&mut self.created_by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_as_it_was_written() {
        let progress = Progress {
            input: 12,
            output: 34,
            line: 0xABC,
        };
        assert_eq!(Progress::parse(&progress.show()), Some(progress));
        assert_eq!(Progress::parse("a crawler"), None);
    }
}
