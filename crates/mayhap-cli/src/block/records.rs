//! Records that have a header or take several lines, and lines that have no key.

use serde_json::Value;

use crate::amounts::show_count;
use crate::failure::{Failure, Result, advise_once};
use crate::keys::{Keyless, NoKey};
use crate::made::Stop;
use crate::output::json_text;
use crate::shown::shown_path;

use super::{Block, Blocks, Part, Unread, pieces};

/// What is printed of a line, with its terminator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    /// The number of the line in its block, from 0.
    pub(crate) line: usize,
    pub(crate) bytes: &'a [u8],
    pub(crate) has_key: bool,
    /// Whether a line without a key is printed. One with a key is printed if it is chosen.
    pub(crate) is_printed: bool,
}

impl Row<'_> {
    /// Adds the line to a JSON object, and that it has no key, if so.
    pub(crate) fn json(&self, mut object: Value) -> Value {
        object["line"] = json_text(&self.bytes[..self.bytes.len() - 1]);
        if !self.has_key {
            object["keyless"] = true.into();
        }
        object
    }
}

impl Block {
    /// What is printed of each line, or would be if it were chosen. Where keys are printed, lines without one are
    /// left out.
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

impl Blocks {
    /// Reads the header, if a part begins with one; false when it does not end in the part, which is kept for later.
    pub(super) fn read_header(&mut self, part: &mut Part, bytes: &[u8]) -> Result<bool> {
        let input = &mut self.inputs[part.input];
        let records = input.records.as_mut();
        let Some(records) = records.filter(|records| records.awaits_header()) else {
            return Ok(true);
        };
        let Some(found) = records.read_header(bytes) else {
            self.keep_for_later(part, bytes)?;
            return Ok(false);
        };
        let name = shown_path(&input.name);
        let wrong = |why| Failure::new(format!("cannot find a key in {name}: {why}"));
        let header = bytes[..found.map_err(wrong)?].trim_ascii_end();
        part.header = Some(self.header.get().is_none());
        let first = || (header.to_vec(), input.name.clone());
        let (expected, first) = self.header.get_or_init(first);
        if expected != header {
            return Err(Failure::new(format!(
                "{name} has another header than {}: their lines do not belong in one table",
                shown_path(first)
            ))
            .hint("give files with other columns in runs of their own"));
        }
        Ok(true)
    }

    /// Takes the lines of a block to account, which are of this part.
    pub(super) fn account_for(&mut self, block: &Block, part: &Part) {
        let input = &mut self.inputs[part.input];
        if input.lines == 0 && self.args.keeps_returns(block.lines()) {
            advise_once(format!(
                "lines of {} end in a carriage return, which is part of their keys: --crlf leaves it out",
                shown_path(&input.name)
            ));
        }
        let passed = block.ends.len() - block.count();
        let headers = usize::from(part.header.is_some()).min(passed);
        self.keyless += (passed - headers) as u64;
        self.bytes += block.bytes().len() as u64;
        self.lines += block.ends.len() as u64;
        input.lines += match input.records {
            Some(_) => memchr::memchr_iter(self.args.terminator(), block.bytes()).count() as u64,
            None => block.ends.len() as u64,
        };
    }

    /// Keeps the rest of a part for later, or returns why there is no later.
    pub(super) fn stop(&mut self, stop: Stop, part: &Part, rest: &[u8]) -> Result<()> {
        let no_key = match stop {
            Stop::Unfinished => return self.keep_for_later(part, rest),
            Stop::NoKey(no_key) => no_key,
        };
        let input = &self.inputs[part.input];
        let (line, name) = (show_count(input.lines + 1), shown_path(&input.name));
        Err(match no_key {
            NoKey::Missing(why) => Failure::new(format!("line {line} of {name} has no key: {why}"))
                .hint(
                    "--keyless keep prints such lines as they are, --keyless skip leaves them out",
                ),
            NoKey::Wrong(why) => Failure::new(format!("line {line} of {name}: {why}")),
        })
    }

    /// Keeps a record that has not ended until more of it is read.
    fn keep_for_later(&mut self, part: &Part, record: &[u8]) -> Result<()> {
        if part.is_last {
            let input = &self.inputs[part.input];
            return Err(Failure::new(format!(
                "line {} of {} begins a record with a quote that is never closed",
                show_count(input.lines + 1),
                shown_path(&input.name)
            ))
            .hint("in CSV a quote inside a quoted value is doubled"));
        }
        self.rest.splice(..0, record.iter().copied());
        match self.rest.len() > self.args.lines.longest() {
            true => Err(self.failure(part.input, Unread::Long)),
            false => Ok(()),
        }
    }

    /// Says how many lines had no key, and what became of them.
    pub(super) fn advise_of_keyless(&self) {
        let lines = show_count(self.keyless);
        match self.args.keyless() {
            _ if self.keyless == 0 => {}
            Keyless::Keep => advise_once(format!("{lines} lines have no key, and are kept")),
            _ => advise_once(format!("{lines} lines have no key, and are left out")),
        }
    }
}
