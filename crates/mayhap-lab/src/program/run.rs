//! A run that takes minutes: it shows its progress, and can be interrupted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result, advise, is_quiet, note};
use mayhap_program::signals::Signals;

/// The seconds between two lines of progress, if no bar is shown.
const SECONDS_BETWEEN: u64 = 10;

/// A run that shows its progress, and can be interrupted.
pub(crate) struct Run {
    bar: ProgressBar,
    signals: Signals,
    started: Instant,
    /// The second at which the next line of progress is due, if no bar is shown.
    next_line: AtomicU64,
}

impl Run {
    /// Starts a run.
    pub(crate) fn start() -> Result<Run> {
        let signals = Signals::watch()?;
        let bar = ProgressBar::no_length();
        bar.set_draw_target(match is_quiet() {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(8),
        });
        let style = ProgressStyle::with_template("{bar:30} {percent} %, {eta} left  {msg}");
        bar.set_style(style.expect("a valid template"));
        Ok(Run {
            bar,
            signals,
            started: Instant::now(),
            next_line: AtomicU64::new(SECONDS_BETWEEN),
        })
    }

    /// Sets the length of the run in keys, or other steps of about equal length, once that is known.
    pub(crate) fn expect(&self, total: u64) {
        self.bar.set_length(total);
        self.bar.reset_eta();
    }

    /// Shows the current task.
    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// Advances by some keys, unless the user has interrupted the run.
    pub(crate) fn advance(&self, keys: u64) -> Result<()> {
        self.bar.inc(keys);
        let seconds = self.started.elapsed().as_secs();
        if self.bar.is_hidden() && seconds >= self.next_line.load(Ordering::Relaxed) {
            let next = seconds + SECONDS_BETWEEN;
            self.next_line.store(next, Ordering::Relaxed);
            self.show_line(seconds);
        }
        self.check()
    }

    /// Prints a line of progress, for a log or a pipe.
    fn show_line(&self, seconds: u64) {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        if done > 0 && done <= all {
            let (percent, left) = (done * 100 / all, seconds * (all - done) / done);
            let what = self.bar.message();
            note(format_args!(
                "{percent} % done, about {left} s left: {what}"
            ));
        }
    }

    /// Fails when the user has interrupted the run.
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_interrupted() {
            true => Err(Failure::new("interrupted before anything was measured")),
            false => Ok(()),
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.signals.caught().is_some()
    }

    /// Ends the bar; reports when the run was cut short, which is a failure to scripts.
    pub(crate) fn end(&self) -> Exit {
        self.bar.finish_and_clear();
        if !self.is_interrupted() {
            return Exit::Success;
        }
        advise("interrupted: what was measured until then is reported");
        Exit::Failure
    }
}
