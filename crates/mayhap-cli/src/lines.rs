//! How lines end, and how long they may be.

use clap::Args;

use crate::amounts::{self, show_bytes};
use crate::block::BLOCK_BYTES;

/// The longest line unless another is given: longer ones are rather a small file that unpacks to a huge one, or
/// a file that is not made of lines.
const LONGEST_LINE: u64 = 1 << 30;

/// Of a memory budget, what one line may take.
const SHARE_OF_A_LINE: u64 = 16;

/// How lines end, and how long they may be.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct LineArgs {
    /// Lines end in a NUL byte instead of a newline, in input and output
    #[arg(short = 'z', visible_short_alias = '0', long = "zero-terminated")]
    pub(crate) zero: bool,

    /// Stop with an error at a line longer than this; 1 GiB unless given, at least 256 KiB
    #[arg(long, value_name = "SIZE", value_parser = longest_line)]
    max_line: Option<u64>,

    /// Whether lines are kept to a share of a memory budget.
    #[arg(skip)]
    keeps_to_memory: bool,
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

    /// The bytes of the longest line, without its end.
    pub(crate) fn longest(&self) -> usize {
        let longest = self.max_line.unwrap_or(LONGEST_LINE);
        // Room for the end of it must be an address too.
        usize::try_from(longest)
            .unwrap_or(usize::MAX)
            .min(usize::MAX - 1)
    }

    /// Keeps lines to a share of a memory budget, unless their length was given. Returns what is left of it.
    pub(crate) fn keep_to(&mut self, memory: u64) -> u64 {
        let share = memory / SHARE_OF_A_LINE;
        self.keeps_to_memory = true;
        self.max_line.get_or_insert(share.max(BLOCK_BYTES as u64));
        // A key that is not in the line as it stands takes as much again.
        memory - 2 * share
    }

    /// Whether lines are kept to a share of a memory budget.
    pub(crate) fn keeps_to_memory(&self) -> bool {
        self.keeps_to_memory
    }
}
