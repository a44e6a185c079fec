//! Signals that ask a run to end: the first is noted, for a run that has something to keep; a second ends it at once.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, Result};

/// A signal that asks a run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    const ALL: [Signal; 3] = [Signal::Hangup, Signal::Interrupt, Signal::Terminate];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Hangup => "SIGHUP",
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
        }
    }

    /// The exit code of a run that it ended, as shells count it.
    pub fn exit_code(self) -> u8 {
        128 + self.number() as u8
    }

    fn number(self) -> i32 {
        match self {
            Signal::Hangup => SIGHUP,
            Signal::Interrupt => SIGINT,
            Signal::Terminate => SIGTERM,
        }
    }
}

/// Notes the first signal that asks the process to end.
pub struct Signals {
    /// Its number; zero until it arrives.
    first: Arc<AtomicUsize>,
}

impl Signals {
    /// From now on a signal is noted, and only a second one ends the process. Those that are ignored stay so: `nohup`
    /// asks for it, and shells do for what they run in the background.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn watch() -> Result<Signals> {
        let (first, again) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let ignored = ignored();
        for signal in Signal::ALL {
            let number = signal.number();
            if ignored >> (number - 1) & 1 == 1 {
                continue;
            }
            // They are done in this order, so the first signal finds that it is the first.
            let code = i32::from(signal.exit_code());
            flag::register_conditional_shutdown(number, code, Arc::clone(&again))
                .and_then(|_| flag::register(number, Arc::clone(&again)))
                .and_then(|_| flag::register_usize(number, Arc::clone(&first), number as usize))
                .map_err(|error| {
                    Failure::new(format!("cannot watch for {}: {error}", signal.name()))
                })?;
        }
        Ok(Signals { first })
    }

    /// The signal that has arrived, if any.
    pub fn caught(&self) -> Option<Signal> {
        let number = self.first.load(Ordering::Relaxed);
        let mut all = Signal::ALL.into_iter();
        all.find(|signal| signal.number() as usize == number)
    }
}

/// The signals that are ignored, a bit each from the first on. None where the system does not list them.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
