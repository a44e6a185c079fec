//! Records that have a header or take several lines, and lines that have no key.

use mayhap_program::failure::Failure;
use mayhap_program::shown::shown_path;
use serde_json::Value;

use crate::output::json_text;

use super::ending::{Result, Why};
use super::inputs::Inputs;
use super::{Block, Part, pieces};

/// The text to print for a line, with its terminator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    /// The number of the line in its block, from 0.
    pub(crate) line: usize,
    pub(crate) bytes: &'a [u8],
    pub(crate) has_key: bool,
    /// True when a line without a key is printed. One with a key is printed if it is chosen.
    pub(crate) is_printed: bool,
}

impl Row<'_> {
    /// Adds the line to a JSON object, with a mark if it has no key.
    pub(crate) fn json(&self, mut object: Value) -> Value {
        object["line"] = json_text(&self.bytes[..self.bytes.len() - 1]);
        if !self.has_key {
            object["keyless"] = true.into();
        }
        object
    }
}

impl Block {
    /// The text to print for each line, if it is chosen. When keys are printed, lines without one are left out.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let (bytes, ends, _) = self.printed();
        let shows_keys = self.made.shown().is_some();
        let mut pieces = pieces(bytes, ends);
        let mut passed = self.made.passed().iter().peekable();
        (0..self.ends.len()).filter_map(move |line| {
            let passed = passed.next_if(|passed| passed.line == line);
            if passed.is_some() && shows_keys {
                return None;
            }
            Some(Row {
                line,
                bytes: pieces.next()?,
                has_key: passed.is_none(),
                is_printed: passed.is_none_or(|passed| passed.is_printed),
            })
        })
    }
}

impl Inputs {
    /// Reads the header, if a part begins with one; false when it does not end in the part, which is kept for later.
    pub(super) fn read_header(&mut self, part: &mut Part, bytes: &[u8]) -> Result<bool> {
        let (name, records) = &mut self.begun[part.input];
        let records = records.as_mut();
        let Some(records) = records.filter(|records| records.awaits_header()) else {
            return Ok(true);
        };
        let Some(found) = records.read_header(bytes) else {
            self.keep_for_later(part, bytes)?;
            return Ok(false);
        };
        let shown = shown_path(name);
        let wrong = |why| Failure::new(format!("cannot find a key in {shown}: {why}"));
        let header = bytes[..found.map_err(wrong).map_err(Why::Failed)?].trim_ascii_end();
        part.header = Some(self.header.get().is_none());
        let first = || (header.to_vec(), name.clone());
        let (expected, first) = self.header.get_or_init(first);
        if expected != header {
            let text = format!(
                "{shown} has another header than {}: their lines do not belong in one table",
                shown_path(first)
            );
            let hint = "give files with other columns in runs of their own";
            return Err(Why::Failed(Failure::new(text).hint(hint)));
        }
        Ok(true)
    }

    /// Keeps a record that has not ended until more of it is read.
    pub(super) fn keep_for_later(&mut self, part: &Part, record: &[u8]) -> Result<()> {
        if part.is_last {
            return Err(Why::Unclosed);
        }
        self.rest.splice(..0, record.iter().copied());
        match self.rest.len() > self.args.lines.longest() {
            true => Err(Why::Long),
            false => Ok(()),
        }
    }
}
