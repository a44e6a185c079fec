//! Exit codes, which are those of grep.

use std::process::ExitCode;

use crate::failure::{Failure, Result};
use crate::signals::Signal;

/// The outcome of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
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
    /// The exit of a run, after its failure was reported if there was one.
    pub fn of(outcome: Result<Exit>) -> Exit {
        outcome.unwrap_or_else(|failure| {
            failure.report();
            match failure {
                Failure::ClosedPipe => Exit::Success,
                Failure::Stopped(signal) => Exit::Stopped(signal),
                Failure::Wrong { .. } => Exit::Failure,
            }
        })
    }

    /// Success when something was found.
    pub fn found(found: bool) -> Exit {
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
