//! The memory that counting may take: `--memory` with `-c` or `-u`.

use mayhap_program::amounts::{show_bytes, show_count};
use mayhap_program::failure::Failure;
use mayhap_program::input::Input;

use super::kept::Kept;
use crate::lines::LineArgs;

/// The memory that is given, if any.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    given: Option<u64>,
    /// The bytes that are left beside the lines that are being read.
    pub(super) bytes: u64,
}

impl Budget {
    /// No limit.
    pub(super) const NONE: Budget = Budget {
        given: None,
        bytes: u64::MAX,
    };

    /// The budget of this many bytes, if they are given. Lines are kept to their share of it.
    pub(super) fn new(memory: Option<u64>, lines: &mut LineArgs) -> Budget {
        let keep_to = |memory| Budget {
            given: Some(memory),
            bytes: lines.keep_to(memory),
        };
        memory.map_or(Budget::NONE, keep_to)
    }

    /// Returns whether it is given: then one thread does all the counting, and knows all that takes memory.
    pub(super) fn is_given(self) -> bool {
        self.given.is_some()
    }

    /// A store for lines until the end, if an input cannot be read twice.
    pub(super) fn kept(self, sources: &[Input]) -> Option<Kept> {
        let is_live = sources.iter().any(Input::is_live);
        is_live.then(|| Kept::within(self.bytes))
    }

    /// The error of a run that this many distinct lines have brought to the end of its memory.
    pub(super) fn spent(self, what: &str, lines: u64) -> Failure {
        let lines = show_count(lines);
        match self.given {
            None => Failure::new(format!(
                "no memory to {what} more than {lines} distinct lines"
            ))
            .hint("`sort | uniq` works on disk"),
            Some(memory) => Failure::new(format!(
                "{} of memory are too few to {what} more than {lines} distinct lines",
                show_bytes(memory)
            ))
            .hint("give more --memory: lines are kept on disk past it, but not their hashes; `sort | uniq` works on disk"),
        }
    }
}
