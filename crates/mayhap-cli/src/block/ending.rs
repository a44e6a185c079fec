//! The reasons why there are no more lines.

use std::io;

use mayhap_program::failure::Failure;

use crate::lines::NoKey;

/// The reason why there are no more lines.
#[derive(Debug)]
pub(crate) enum Why {
    /// A failure that says why.
    Failed(Failure),
    Unread(io::Error),
    Long,
    NoMemory,
    /// A record does not end.
    Unclosed,
    NoKey(NoKey),
}

/// The input that has no more lines, and why.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(super) input: usize,
    pub(super) why: Why,
}

/// The result of reading, or why there are no more lines.
pub(super) type Result<T> = std::result::Result<T, Why>;
