//! Numbers lines in the order of the input, and reports why they end.

use std::path::PathBuf;

use mayhap_program::amounts::{show_bytes, show_count};
use mayhap_program::failure::{Failure, advise_once};
use mayhap_program::shown::shown_path;

use crate::keys::{KeyArgs, Keyless};
use crate::lines::NoKey;

use super::Block;
use super::ending::{Ending, Why};

/// Counts the lines that were taken so far.
pub(crate) struct Ledger {
    /// The name of each input, and the number of its lines that were given or left out.
    inputs: Vec<(PathBuf, u64)>,
    lines: u64,
    /// The lines so far that have no key.
    keyless: u64,
    args: KeyArgs,
}

impl Ledger {
    pub(crate) fn new(names: Vec<PathBuf>, args: &KeyArgs) -> Ledger {
        Ledger {
            inputs: names.into_iter().map(|name| (name, 0)).collect(),
            lines: 0,
            keyless: 0,
            args: args.clone(),
        }
    }

    /// Leaves out lines of an input.
    pub(crate) fn leave_out(&mut self, input: usize, lines: u64) {
        self.inputs[input].1 += lines;
        self.lines += lines;
    }

    /// Numbers the lines of the next block. Returns why there are none after them, if so.
    pub(crate) fn pass(&mut self, block: &mut Block) -> Option<Failure> {
        let part = block.part;
        let (name, lines) = &mut self.inputs[part.input];
        if *lines == 0 && self.args.keeps_returns(block.lines()) {
            advise_once(format!(
                "lines of {} end in a carriage return, which is part of their keys: --crlf leaves it out",
                shown_path(name)
            ));
        }
        let passed = block.ends.len() - block.count();
        let headers = usize::from(part.header.is_some()).min(passed);
        self.keyless += (passed - headers) as u64;
        block.first_line = self.lines;
        self.lines += block.ends.len() as u64;
        *lines += match self.args.line_end() {
            None => memchr::memchr_iter(self.args.lines.terminator(), block.bytes()).count() as u64,
            Some(_) => block.ends.len() as u64,
        };
        let (why, input) = (block.stop.take()?, part.input);
        Some(self.failure(Ending { input, why }))
    }

    /// The failure to read the next line of an input.
    pub(crate) fn failure(&self, ending: Ending) -> Failure {
        let Ending { input, why } = ending;
        let (name, lines) = &self.inputs[input];
        let longest = show_bytes(self.args.lines.longest() as u64);
        let (line, shown) = (show_count(lines + 1), shown_path(name));
        match why {
            Why::Failed(failure) => failure,
            Why::Unread(error) => Failure::file("read", name)(error),
            Why::Long => Failure::new(format!(
                "cannot read {shown}: line {line} is longer than {longest}, the most that a line may have here"
            ))
            .hint("--max-line SIZE reads longer lines, and takes as much memory"),
            Why::NoMemory => Failure::new(format!("no memory for line {line} of {shown}"))
                .hint("--max-line SIZE sets the longest line that is read"),
            Why::Unclosed => Failure::new(format!(
                "line {line} of {shown} begins a record with a quote that is never closed"
            ))
            .hint("in CSV a quote inside a quoted value is doubled"),
            Why::NoKey(NoKey::Missing(why)) => {
                Failure::new(format!("line {line} of {shown} has no key: {why}")).hint(
                    "--keyless keep prints such lines as they are, --keyless skip leaves them out",
                )
            }
            Why::NoKey(NoKey::Wrong(why)) => Failure::new(format!("line {line} of {shown}: {why}")),
        }
    }

    /// Reports at the end how many lines had no key, and what became of them.
    pub(crate) fn end(&self) {
        let lines = show_count(self.keyless);
        match self.args.keyless() {
            _ if self.keyless == 0 => {}
            Keyless::Keep => advise_once(format!("{lines} lines have no key, and are kept")),
            _ => advise_once(format!("{lines} lines have no key, and are left out")),
        }
    }
}
