//! The `mayhap-lab` program, run as users run it, and the claims of its own statistics.

use std::process::Command;

/// The share of true predictions that are called as predicted.
mod coverage;

/// The measurements and reports of the experiments.
mod experiments;

/// The pages of the experiments in a browser.
mod pages;

/// The page of `explore` in a browser.
mod explore;

/// Help, manual pages, completions, and examples.
mod usage;

/// A browser, if there is one.
mod browser;

/// The program, ready for arguments.
fn lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mayhap-lab"))
}
