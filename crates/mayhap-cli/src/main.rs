//! The `mayhap` command: *which of these lines have I seen?*
//!
//! [`cli`] declares what can be typed, one file in [`verbs`] does each thing, and what they share reads
//! as a sentence: [`input`] gives bytes, [`block`] makes lines of them and [`keys`] keys, [`pipeline`]
//! brings them on two cores to a filter ([`filters`]), and [`output`] writes what comes of it.
#![forbid(unsafe_code)]

mod amounts;
mod batch;
mod block;
mod cli;
mod exit;
mod failure;
mod filters;
mod given;
mod input;
mod keys;
mod output;
mod pipeline;
mod server;
mod table;
mod verbs;

use std::process::ExitCode;

use clap::Parser as _;

use cli::Cli;
use exit::Exit;
use failure::Failure;

fn main() -> ExitCode {
    let outcome = Cli::parse().run();
    let exit = outcome.unwrap_or_else(|failure| {
        failure.report();
        match failure {
            Failure::ClosedPipe => Exit::Success,
            Failure::Wrong { .. } => Exit::Failure,
        }
    });
    exit.into()
}
