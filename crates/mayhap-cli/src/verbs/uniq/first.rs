//! Prints the lines that are new, or those that are not, in one pass, and remembers them.
//!
//! A run of `--seen` that a signal or a full filter stops ends like one that has read everything: the chosen lines are
//! printed and made durable, and only then saved as seen. A signal stops it between two blocks, a full filter after the
//! last line that it took: the filter holds what was printed.

use mayhap_program::amounts::{show_bytes, show_count};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result, advise, note};
use mayhap_program::global::Global;
use mayhap_program::input::Input;
use mayhap_program::signals::{Signal, Signals};

use super::args::Args;
use super::checkpoint::{Checkpoint, From, Start};
use super::seen::Seen;
use super::summary::Summary;
use crate::block::Block;
use crate::filters::name_of;
use crate::output::{Keep, Output};
use crate::pipeline::{self, Sink};

pub(super) fn run(
    args: &Args,
    mut seen: Seen,
    sources: Vec<Input>,
    global: &Global,
) -> Result<Exit> {
    seen.answer_doubt(args.prints_new());
    let (checkpoint, start) = Checkpoint::begin(&mut seen, args, sources)?;
    if start.from == From::Nowhere {
        return args.leave_as_it_is(&start, &mut seen, global);
    }
    let output = args.continue_output(&start)?;
    checkpoint.open(&mut seen, &output)?;
    let mut first = First {
        output: output.on_threads(global.threads())?,
        new: Vec::new(),
        is_full: false,
        lines: 0,
        distinct: 0,
        seen,
        checkpoint,
        // Until here there is nothing to keep, and without a filter there never is: a signal ends the run.
        signals: args.seen.as_ref().map(|_| Signals::watch()).transpose()?,
        args,
        global,
    };
    if let Some(text) = args.going_on(start.from, start.output) {
        advise(text);
    }
    let mut shards = first.seen.lend_shards();
    let outcome = pipeline::run_sharded(start.blocks, global.threads(), &mut shards, &mut first);
    first.seen.take_shards(shards);
    match outcome {
        Ok(()) => first.end(None),
        Err(Failure::Stopped(signal)) => first.end(Some(signal)),
        Err(failure) if first.is_full => Err(first.end_full(failure)),
        Err(failure) => {
            // The lines chosen before are printed: on a server others count them as seen already. The first failure is
            // the one that is reported.
            let _ = first.output.sync();
            first.warn_of_doubt();
            Err(first.unsaved(failure, None))
        }
    }
}

/// Prints the lines that are new, or those that are not.
struct First<'a> {
    seen: Seen,
    new: Vec<bool>,
    output: Output,
    checkpoint: Checkpoint,
    /// True when the run ended because the filter in its file takes no more.
    is_full: bool,
    lines: u64,
    distinct: u64,
    /// Watched where something is to be saved.
    signals: Option<Signals>,
    args: &'a Args,
    global: &'a Global,
}

impl Sink for First<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        let ended = self.seen.insert(block, &self.args.key, &mut self.new)?;
        let wanted = self.args.prints_new();
        let chosen = self.new.iter().map(|new| *new == wanted);
        self.output.write_lines(block, chosen)?;
        if let Some(failure) = ended {
            self.is_full = self.seen.held().is_some();
            self.checkpoint.pass(block.bytes_before(self.new.len()));
            return Err(failure);
        }
        self.lines += block.count() as u64;
        self.distinct += self.new.iter().filter(|new| **new).count() as u64;
        self.checkpoint.pass(block.bytes());
        self.save_or_stop()
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()?;
        self.save_or_stop()
    }

    fn is_watchful(&self) -> bool {
        self.signals.is_some()
    }
}

impl First<'_> {
    /// Saves the filter when it is time to, and stops when a signal asks for it.
    fn save_or_stop(&mut self) -> Result<()> {
        self.checkpoint
            .save_if_due(&mut self.seen, &mut self.output)?;
        let signal = self.signals.as_ref().and_then(Signals::caught);
        signal.map_or(Ok(()), |signal| Err(Failure::Stopped(signal)))
    }

    /// Ends a run that has read everything, or that a signal stopped.
    fn end(mut self, stopped: Option<Signal>) -> Result<Exit> {
        self.warn_of_doubt();
        // As at every checkpoint: no line is marked as seen that could still be lost.
        let written = match &self.args.seen {
            Some(_) => self.output.sync(),
            None => self.output.flush(),
        };
        written.map_err(|failure| self.unsaved(failure, stopped))?;
        let is_continued = self
            .checkpoint
            .end(&mut self.seen, &self.output, stopped.is_some());
        self.seen.save(self.args.promise)?;
        if let (Some(signal), Some(path)) = (stopped, &self.args.seen) {
            let (signal, lines, name) = (signal.name(), show_count(self.lines), name_of(path));
            let more = match is_continued {
                true => ", and the same command continues after them",
                false => "",
            };
            note(format_args!(
                "stopped by {signal} after {lines} lines; {name} holds them{more}"
            ));
        }
        let summary = Summary {
            lines: self.lines,
            distinct: self.distinct,
            lost: self.seen.expected_losses()?,
            is_public: self.seen.is_public(),
            memory: self.seen.bytes(),
            store: self.seen.name(),
        };
        summary.print(self.global);
        Ok(stopped.map_or(Exit::Success, Exit::Stopped))
    }

    /// Ends a run whose filter is full: what was printed counts as seen, as after a signal. Returns why it ended.
    fn end_full(mut self, failure: Failure) -> Failure {
        if let Err(failure) = self.output.sync() {
            return self.unsaved(failure, None);
        }
        self.checkpoint.end(&mut self.seen, &self.output, true);
        let saved = self.seen.held().map_or(Ok(()), |held| held.save());
        saved.err().unwrap_or(failure)
    }

    fn warn_of_doubt(&self) {
        if let Some(lines) = self.seen.doubtful() {
            let lines = show_count(lines);
            advise(format!(
                "the server's answers about {lines} lines were lost: they are printed, and may be repeats"
            ));
        }
    }

    /// The failure of a run that did not save its filter.
    fn unsaved(&self, failure: Failure, stopped: Option<Signal>) -> Failure {
        let Failure::ClosedPipe = failure else {
            return failure;
        };
        // Nobody has the last lines: they must not count as seen.
        if self.args.seen.is_some() {
            advise(match self.seen {
                Seen::Shared { .. } => {
                    "the output was closed early: lines that nobody has may count as seen"
                }
                _ => "the output was closed early: the filter is not saved",
            });
        }
        stopped.map_or(failure, Failure::Stopped)
    }
}

impl Args {
    /// The output of a run that may continue another.
    fn continue_output(&self, start: &Start) -> Result<Output> {
        match &self.output {
            _ if self.seen.is_none() => self.open_output(),
            Some(path) => Output::file_from(path, start.output, start.seed),
            None => Output::standard_from(start.output, start.seed, self.key.lines.terminator()),
        }
    }

    /// Describes where a run continues, and what that leaves out.
    fn going_on(&self, from: From, output: Keep) -> Option<String> {
        let (bytes, what) = match from {
            From::Beginning | From::Nowhere => return None,
            From::Interruption(bytes) => (bytes, "was interrupted"),
            From::End(bytes) => (bytes, "ended"),
        };
        let bytes = show_bytes(bytes);
        let printed = match output {
            Keep::All(extent) if self.output.is_none() && extent.start < extent.end => {
                "; what it printed is not printed again"
            }
            _ => "",
        };
        let text = format!("going on after {bytes} of input, where the last run {what}{printed}");
        Some(text)
    }

    /// Ends a run whose input the last one finished.
    fn leave_as_it_is(&self, start: &Start, seen: &mut Seen, global: &Global) -> Result<Exit> {
        if let Some(path) = &self.output {
            Output::check(path, start.output)?;
        }
        advise(match &self.output {
            Some(path) => format!(
                "the last run finished this input: {} is left as it is",
                path.display()
            ),
            None => "the last run finished this input: nothing is printed again".into(),
        });
        let store = seen.name();
        let nothing = Summary::of_hashes(0, 0, seen.bytes(), None);
        Summary { store, ..nothing }.print(global);
        Ok(Exit::Success)
    }
}
