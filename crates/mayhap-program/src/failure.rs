//! Failures, which end a run early, with hints what to do about them.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};

use crate::shown::{shown, shown_path};
use crate::signals::Signal;

/// The reason why a run ended early.
#[derive(Debug)]
pub enum Failure {
    /// Nobody reads the output any more. That is success: `mayhap … | head -1` has what it wanted.
    ClosedPipe,
    /// A signal asked for it.
    Stopped(Signal),
    /// Something is wrong.
    Wrong {
        /// The description of what is wrong.
        text: String,
        /// A hint for the user.
        hint: Option<String>,
    },
}

/// The result of a step of a run, or why the run ends there.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Makes a failure without a hint.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure::Wrong {
            text: text.into(),
            hint: None,
        }
    }

    /// Adds a hint for the user.
    pub fn hint(self, hint: impl Into<String>) -> Failure {
        match self {
            Failure::Wrong { text, .. } => Failure::Wrong {
                text,
                hint: Some(hint.into()),
            },
            failure => failure,
        }
    }

    /// Makes a failure of something that could not be done with a file.
    pub fn file(action: &str, path: &Path) -> impl Fn(io::Error) -> Failure {
        move |error| {
            Failure::new(format!(
                "cannot {action} {}: {}",
                shown_path(path),
                reason(&error)
            ))
        }
    }

    /// Makes a failure of output that could not be written.
    pub fn output(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::new(format!("cannot write the output: {}", reason(&error))),
        }
    }

    /// Describes what is wrong.
    pub fn text(&self) -> &str {
        match self {
            Failure::ClosedPipe => "nobody reads the output any more",
            Failure::Stopped(signal) => signal.name(),
            Failure::Wrong { text, .. } => text,
        }
    }

    /// Reports what is wrong, and what to do, on standard error.
    pub fn report(&self) {
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

/// True when only errors are reported.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, gives no advice.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Returns whether only errors are reported.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Warns of something that the user should mend, unless only errors are reported.
pub fn advise(text: impl Display) {
    if !is_quiet() {
        warn(text);
    }
}

/// Advises like [`advise`], but gives the same text only once: some verbs read inputs twice.
pub fn advise_once(text: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(text.clone()) {
        advise(text);
    }
}

/// Reports the progress or result of a run, unless only errors are reported.
pub fn note(text: impl Display) {
    if !is_quiet() {
        say(text);
    }
}

/// Warns of something that did not end the run.
pub fn warn(text: impl Display) {
    let yellow = bold(AnsiColor::Yellow);
    let text = text.to_string();
    write(format_args!("{yellow}warning{yellow:#}: {}", shown(&text)));
}

/// Writes a text to standard error, on one line.
pub fn say(text: impl Display) {
    write(shown(&text.to_string()));
}

/// Writes a line to standard error. Where that takes nothing more, the run continues: its result is worth more than
/// the words about it.
fn write(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// The system's own words for an error, without its number.
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
            Error::Incompatible { left, right, .. }
                if left == "universal" && right.starts_with(left) =>
            {
                Some(
                    "each drew a key of its own: fill one that `mayhap new OTHER --like FILTER` made, which has the \
                     key of FILTER",
                )
            }
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
