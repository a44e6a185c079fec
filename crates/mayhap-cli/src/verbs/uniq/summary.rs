//! The summary of a run.

use mayhap_program::amounts::{show_bytes, show_count};
use mayhap_program::failure::{note, say};
use mayhap_program::global::Global;
use serde_json::json;

use super::kept::Kept;
use super::losses::Loss;

/// The summary of a run, printed at its end.
pub(super) struct Summary {
    pub(super) lines: u64,
    pub(super) distinct: u64,
    /// The number of distinct lines expected to be taken for repeats.
    pub(super) lost: Loss,
    /// True when more are lost if lines were prepared to collide.
    pub(super) is_public: bool,
    pub(super) memory: u64,
    pub(super) store: &'static str,
}

impl Summary {
    /// The summary of a run that has the hashes of all lines in memory, with the lines that are kept.
    pub(super) fn of_hashes(
        lines: u64,
        distinct: u64,
        hashes: u64,
        kept: Option<&Kept>,
    ) -> Summary {
        Summary {
            lines,
            distinct,
            lost: Loss::of_hashes(distinct),
            is_public: false,
            memory: hashes + kept.map_or(0, Kept::bytes),
            store: match kept {
                Some(_) => "hashes and lines",
                None => "hashes",
            },
        }
    }

    pub(super) fn print(&self, global: &Global) {
        if global.json {
            let summary = json!({
                "lines": self.lines,
                "distinct": self.distinct,
                "expected_losses": self.lost.lines,
                "expected_losses_error": self.lost.error,
                "unless_prepared": self.is_public,
                "memory": self.memory,
                "store": self.store,
            });
            say(summary);
        } else {
            let (lines, distinct) = (show_count(self.lines), show_count(self.distinct));
            let (lost, memory) = (self.lost.show(), show_bytes(self.memory));
            let store = self.store;
            let unless = match self.is_public {
                true => ", unless lines were prepared to collide",
                false => "",
            };
            note(format_args!(
                "{lines} lines, {distinct} distinct; {lost} distinct lines expected lost{unless}; {memory} of {store}"
            ));
        }
    }
}
