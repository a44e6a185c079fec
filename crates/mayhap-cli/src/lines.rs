//! Lines: how they end, how long they may be, and why one gives no key.

use clap::Args;
use mayhap_program::amounts::{self, show_bytes};

/// The bytes of a block, unless a line is longer: a quarter of a level-2 cache, and well above what one
/// system call costs.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;

/// The longest line unless another is given. A longer one is more likely a small file that unpacks to a huge one, or a
/// file that is not made of lines.
const LONGEST_LINE: u64 = 1 << 30;

/// One part in this many of a memory budget is for the longest line.
const SHARE_OF_A_LINE: u64 = 16;

/// The end and the greatest length of lines.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct LineArgs {
    /// End lines in a NUL byte, in input and output
    #[arg(short = 'z', short_alias = '0', long = "zero-terminated")]
    pub(crate) zero: bool,

    /// The longest line that is read
    #[arg(long, value_name = "SIZE", hide = true, value_parser = longest_line)]
    max_line: Option<u64>,

    /// True when lines may take only a share of a memory budget.
    #[arg(skip)]
    keeps_to_memory: bool,
}

/// Why a line gives no key.
#[derive(Debug)]
pub(crate) enum NoKey {
    /// It has none.
    Missing(String),
    /// It has one that cannot be used.
    Wrong(String),
}

fn longest_line(text: &str) -> Result<u64, String> {
    let size = amounts::bytes(text)?;
    match size >= BLOCK_BYTES as u64 {
        true => Ok(size),
        false => Err(format!(
            "`{text}` is less than the {} that are read at a time",
            show_bytes(BLOCK_BYTES as u64)
        )),
    }
}

impl LineArgs {
    /// The byte that ends a line.
    pub(crate) fn terminator(&self) -> u8 {
        if self.zero { 0 } else { b'\n' }
    }

    /// Returns whether no length is given.
    pub(crate) fn has_default_length(&self) -> bool {
        self.max_line.is_none()
    }

    /// The bytes of the longest line, without its end.
    pub(crate) fn longest(&self) -> usize {
        let longest = self.max_line.unwrap_or(LONGEST_LINE);
        // Room for the end of it must be an address too.
        usize::try_from(longest)
            .unwrap_or(usize::MAX)
            .min(usize::MAX - 1)
    }

    /// Limits lines to a share of a memory budget, unless their length was given. Returns the rest of the budget.
    pub(crate) fn keep_to(&mut self, memory: u64) -> u64 {
        let share = memory / SHARE_OF_A_LINE;
        self.keeps_to_memory = true;
        self.max_line.get_or_insert(share.max(BLOCK_BYTES as u64));
        // A key that is not a part of its line takes as much again.
        memory - 2 * share
    }

    /// Returns whether lines may take only a share of a memory budget.
    pub(crate) fn keeps_to_memory(&self) -> bool {
        self.keeps_to_memory
    }
}
