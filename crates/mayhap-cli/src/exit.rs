//! How a run reports its result to a script: as grep does.

use std::process::ExitCode;

use crate::signals::Signal;

/// The outcome of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Something was found, or all went well.
    Success,
    /// Nothing was found.
    Nothing,
    /// The run failed; standard error says why.
    Failure,
    /// A signal ended the run, and what it had done is kept.
    Stopped(Signal),
}

impl Exit {
    /// Success when something was found.
    pub(crate) fn found(found: bool) -> Exit {
        if found { Exit::Success } else { Exit::Nothing }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::Nothing => 1,
            Exit::Failure => 2,
            Exit::Stopped(signal) => signal.exit_code(),
        })
    }
}
