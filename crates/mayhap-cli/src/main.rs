//! The `mayhap` command: *which of these lines have I seen?*
//!
//! [`cli`] declares what can be typed, one file in [`verbs`] does each thing, and what they share reads
//! as a sentence: [`input`] gives bytes, [`block`] makes lines of them and [`keys`] keys, [`pipeline`]
//! brings them on all cores to a filter ([`filters`]), and [`output`] writes what comes of it.
#![forbid(unsafe_code)]

mod amounts;
mod batch;
mod block;
mod cli;
mod csv;
mod exit;
mod failure;
mod fields;
mod filters;
mod given;
mod input;
mod json;
mod keys;
mod lines;
mod made;
mod output;
mod page;
mod pipeline;
mod plan;
mod progress;
mod server;
mod shown;
mod signals;
mod unpack;
mod values;
mod verbs;
mod writer;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use cli::Cli;
use exit::Exit;
use failure::{Failure, say};
use shown::shown_path;

/// Says what is wrong with the words that were typed, or the help that they ask for, and ends.
fn refuse(error: clap::Error) -> Cli {
    let is_plain =
        |word: OsString| shown_path(Path::new(&word)).to_string() == word.to_string_lossy();
    if !error.use_stderr() || std::env::args_os().all(is_plain) {
        error.exit();
    }
    // A shell may have made words of the names of files, which anyone may have chosen.
    for line in error.render().to_string().lines() {
        say(line);
    }
    std::process::exit(error.exit_code())
}

/// What is said when a filter that is read where it lies is cut short.
const CUT_SHORT: &str = "error: a filter was cut short while it was read\n\
    hint: what was printed may be wrong: ask again, and replace filters by renaming, as mayhap does\n";

fn main() -> ExitCode {
    mayhap::file::exit_on_bus_error(CUT_SHORT, 2);
    let outcome = Cli::typed().unwrap_or_else(refuse).run();
    let exit = outcome.unwrap_or_else(|failure| {
        failure.report();
        match failure {
            Failure::ClosedPipe => Exit::Success,
            Failure::Stopped(signal) => Exit::Stopped(signal),
            Failure::Wrong { .. } => Exit::Failure,
        }
    });
    exit.into()
}
