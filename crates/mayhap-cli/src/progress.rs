//! A bar that shows the progress of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mayhap_program::failure::is_quiet;

/// True when results go to a terminal.
static RESULTS_ON_TERMINAL: AtomicBool = AtomicBool::new(false);

/// From now on shows no progress: results go to a terminal, and would be written into the bar.
pub(crate) fn results_on_terminal() {
    RESULTS_ON_TERMINAL.store(true, Ordering::Relaxed);
}

/// A bar on standard error, where that is a terminal and standard output has no results for one.
pub(crate) struct Progress {
    bar: ProgressBar,
    seen: Arc<AtomicU64>,
}

impl Progress {
    pub(crate) fn new(total: Option<u64>, seen: Arc<AtomicU64>) -> Progress {
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        // Indicatif shows nothing unless standard error is a terminal.
        let is_hidden = is_quiet() || RESULTS_ON_TERMINAL.load(Ordering::Relaxed);
        bar.set_draw_target(match is_hidden {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(8),
        });
        let template = match total {
            Some(_) => "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}, {elapsed}",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
        Progress { bar, seen }
    }

    pub(crate) fn show(&self) {
        if !self.bar.is_hidden() {
            self.bar.set_position(self.seen.load(Ordering::Relaxed));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
