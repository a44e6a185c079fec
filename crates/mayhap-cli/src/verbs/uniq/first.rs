//! Prints the lines that are new, or those that are not, in one pass, and remembers them.
//!
//! A run of `--seen` that a signal stops ends as one that has read everything: what was chosen is printed and made
//! durable, and only then saved as seen. It is stopped between two blocks, so what the filter holds is what was printed.

use super::checkpoint::{Checkpoint, From, Start};
use super::losses::Loss;
use super::seen::Seen;
use super::{Args, Summary};
use crate::amounts::{show_bytes, show_count};
use crate::block::Block;
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result, note, warn};
use crate::filters::{Held, name_of};
use crate::input::Input;
use crate::output::{Keep, Output};
use crate::pipeline::{self, Sink};
use crate::signals::{Signal, Signals};

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
        lines: 0,
        distinct: 0,
        seen,
        checkpoint,
        // Until here there is nothing to keep, and without a filter there never is: a signal ends the run.
        signals: args.seen.as_ref().map(|_| Signals::watch()).transpose()?,
        args,
        global,
    };
    if let Some(text) = args.going_on(start.from, start.output)
        && !global.quiet
    {
        warn(text);
    }
    let mut shards = first.seen.lend_shards();
    let outcome = pipeline::run_sharded(start.blocks, global, &mut shards, &mut first);
    first.seen.take_shards(shards);
    match outcome {
        Ok(()) => first.end(None),
        Err(Failure::Stopped(signal)) => first.end(Some(signal)),
        Err(failure) => {
            // The lines chosen before stand, and on a server others count them as seen already. What went wrong
            // first is what is reported.
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
            return Err(failure);
        }
        self.lines += block.count() as u64;
        self.distinct += self.new.iter().filter(|new| **new).count() as u64;
        self.checkpoint.pass(block);
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
        let Args { promise, .. } = self.args;
        let may_save = |held: &Held| promise.check(&held.filter, held.path(), self.global);
        self.checkpoint
            .save_if_due(&mut self.seen, &mut self.output, may_save)?;
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
        self.seen.save(&self.args.promise, self.global)?;
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
            memory: self.seen.bytes(),
            store: self.seen.name(),
        };
        summary.print(self.global);
        Ok(stopped.map_or(Exit::Success, Exit::Stopped))
    }

    fn warn_of_doubt(&self) {
        if let Some(lines) = self.seen.doubtful()
            && !self.global.quiet
        {
            let lines = show_count(lines);
            warn(format!(
                "the server's answers about {lines} lines were lost: they are printed, and may be repeats"
            ));
        }
    }

    /// What a run reports that did not save its filter.
    fn unsaved(&self, failure: Failure, stopped: Option<Signal>) -> Failure {
        let Failure::ClosedPipe = failure else {
            return failure;
        };
        // Nobody has the lines that came last: they must not count as seen.
        if self.args.seen.is_some() && !self.global.quiet {
            warn(match self.seen {
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
            None => Output::standard_from(start.output, start.seed, self.key.terminator()),
        }
    }

    /// Where a run continues, and what that leaves out.
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
        if !global.quiet {
            warn(match &self.output {
                Some(path) => format!(
                    "the last run finished this input: {} is left as it is",
                    path.display()
                ),
                None => "the last run finished this input: nothing is printed again".into(),
            });
        }
        let summary = Summary {
            lines: 0,
            distinct: 0,
            lost: Loss::of_hashes(0),
            memory: seen.bytes(),
            store: seen.name(),
        };
        summary.print(global);
        Ok(Exit::Success)
    }
}
