//! What ends a run early, and what to do about it.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};

use crate::shown::{shown, shown_path};
use crate::signals::Signal;

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody reads the output any more. That is success: `mayhap … | head -1` has what it wanted.
    ClosedPipe,
    /// A signal asked for it.
    Stopped(Signal),
    /// Something is wrong, and this is what.
    Wrong {
        text: String,
        /// What the user can do.
        hint: Option<String>,
    },
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Failure {
        Failure::Wrong {
            text: text.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Failure {
        match self {
            Failure::Wrong { text, .. } => Failure::Wrong {
                text,
                hint: Some(hint.into()),
            },
            failure => failure,
        }
    }

    /// Something could not be done with a file.
    pub(crate) fn file(action: &str, path: &Path) -> impl Fn(io::Error) -> Failure {
        move |error| {
            Failure::new(format!(
                "cannot {action} {}: {}",
                shown_path(path),
                reason(&error)
            ))
        }
    }

    /// The output could not be written.
    pub(crate) fn output(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::new(format!("cannot write the output: {}", reason(&error))),
        }
    }

    /// What is wrong.
    pub(crate) fn text(&self) -> &str {
        match self {
            Failure::ClosedPipe => "nobody reads the output any more",
            Failure::Stopped(signal) => signal.name(),
            Failure::Wrong { text, .. } => text,
        }
    }

    /// Says what is wrong, and what to do, on standard error.
    pub(crate) fn report(&self) {
        let Failure::Wrong { text, hint } = self else {
            return;
        };
        let (red, cyan) = (bold(AnsiColor::Red), bold(AnsiColor::Cyan));
        write(format_args!("{red}error{red:#}: {}", shown(text)));
        if let Some(hint) = hint {
            write(format_args!("{cyan}hint{cyan:#}: {}", shown(hint)));
        }
    }
}

fn bold(colour: AnsiColor) -> Style {
    colour.on_default().bold()
}

/// Whether only errors are reported.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, gives no advice.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Says something that the user should mend some time, unless only errors are reported.
pub(crate) fn advise(text: impl Display) {
    if !QUIET.load(Ordering::Relaxed) {
        warn(text);
    }
}

/// As [`advise`], but the same text only once: inputs are read twice by some verbs.
pub(crate) fn advise_once(text: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(text.clone()) {
        advise(text);
    }
}

/// Says how a run goes, unless only errors are reported.
pub(crate) fn note(text: impl Display) {
    if !QUIET.load(Ordering::Relaxed) {
        say(text);
    }
}

/// Says something that did not end the run, but should be known.
pub(crate) fn warn(text: impl Display) {
    let yellow = bold(AnsiColor::Yellow);
    let text = text.to_string();
    write(format_args!("{yellow}warning{yellow:#}: {}", shown(&text)));
}

/// Says something on standard error, on one line.
pub(crate) fn say(text: impl Display) {
    write(shown(&text.to_string()));
}

/// Writes a line to standard error. Where that takes nothing more, the run continues: its result is worth more than
/// the words about it.
fn write(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// The system's own words, without the number it has for them.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

impl From<mayhap::Error> for Failure {
    fn from(error: mayhap::Error) -> Failure {
        use mayhap::Error;
        let hint = match &error {
            Error::SecretNeeded | Error::SecretWrong => {
                Some("give its secret by --secret-file FILE or in MAYHAP_SECRET (32 hex digits)")
            }
            Error::Damaged { .. } | Error::Truncated { .. } => {
                Some("restore the file from a copy: its answers cannot be trusted")
            }
            Error::Locked { .. } => {
                Some("another program is writing this file: wait for it, as --wait does")
            }
            Error::Memory { .. } => Some("`mayhap size` shows what fits in how much memory"),
            Error::Unfinished { .. } => Some("run the command that began it again, to the end"),
            _ => None,
        };
        let failure = match error {
            Error::File {
                action,
                path,
                error,
            } => Failure::file(action, &path)(error),
            error => Failure::new(error.to_string()),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
