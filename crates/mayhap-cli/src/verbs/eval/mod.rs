//! `mayhap eval`: experiments with filters, and a report of them.
//!
//! [`data`] gives keys, [`survey`] the truth about them, [`fill`] asks a filter; [`rate`], [`speed`] and [`posts`] are one
//! experiment each and give a [`report`], whose tables and pictures any of the formats can show.

mod contenders;
mod data;
mod fill;
mod machine;
mod posts;
mod rate;
mod report;
mod speed;
mod survey;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Subcommand;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result, note, warn};
use crate::signals::Signals;

/// Measures filters: their rates, their speed, and what other programs print.
///
/// Each experiment prints a table; --report FILE also writes a page with pictures, for a browser. Ctrl-C ends a run early, and
/// what was measured by then is reported.
///
/// Exit codes: 0 when it was measured, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    experiment: Experiment,
}

const EXAMPLES: &str = "Examples:
  mayhap eval rate --help      the options of an experiment
  mayhap eval rate             measured rates against predicted ones
  mayhap eval speed            lookups and inserts per second";

#[derive(Debug, Subcommand)]
enum Experiment {
    /// Measure the false-positive rate against the one predicted, at many loads
    Rate(Box<rate::Args>),
    /// Measure inserts and lookups, single and batched, on one thread and many
    Speed(Box<speed::Args>),
    /// Repeat the experiments of the posts: what they printed, and what comes out here
    Posts(posts::Args),
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        match self.experiment {
            Experiment::Rate(args) => args.run(global),
            Experiment::Speed(args) => args.run(global),
            Experiment::Posts(args) => args.run(global),
        }
    }
}

/// The seconds between two lines about how far a run is, where no bar is shown.
const SECONDS_BETWEEN: u64 = 10;

/// A run that shows how far it is, and that can be interrupted.
pub(super) struct Run {
    bar: ProgressBar,
    signals: Signals,
    started: Instant,
    /// The seconds after which a line shows how far it is next, where no bar does.
    next_line: AtomicU64,
}

impl Run {
    /// Begins a run of this many keys, or other steps of about equal length.
    pub(super) fn start(global: &Global) -> Result<Run> {
        let signals = Signals::watch()?;
        let bar = ProgressBar::no_length();
        bar.set_draw_target(match global.quiet {
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

    /// Says how long the run is, once that is known.
    pub(super) fn expect(&self, total: u64) {
        self.bar.set_length(total);
        self.bar.reset_eta();
    }

    /// Says what is being done.
    pub(super) fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// Goes on by some keys, unless the user does not want to.
    pub(super) fn advance(&self, keys: u64) -> Result<()> {
        self.bar.inc(keys);
        let seconds = self.started.elapsed().as_secs();
        if self.bar.is_hidden() && seconds >= self.next_line.load(Ordering::Relaxed) {
            let next = seconds + SECONDS_BETWEEN;
            self.next_line.store(next, Ordering::Relaxed);
            self.show_line(seconds);
        }
        self.check()
    }

    /// Shows how far the run is, for a log or a pipe.
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
    pub(super) fn check(&self) -> Result<()> {
        match self.is_interrupted() {
            true => Err(Failure::new("interrupted before anything was measured")),
            false => Ok(()),
        }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.signals.caught().is_some()
    }

    /// Ends the bar; says when the run was cut short. Failure, then, to scripts.
    pub(super) fn end(&self, global: &Global) -> Exit {
        self.bar.finish_and_clear();
        if !self.is_interrupted() {
            return Exit::Success;
        }
        if !global.quiet {
            warn("interrupted: what was measured until then is reported");
        }
        Exit::Failure
    }
}
