//! `mayhap eval` and `mayhap explore`, which the program `mayhap-lab` does.

use std::ffi::OsString;

use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};

/// Anything that such a verb once took.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Args {
    /// Refuses, and says what to run instead.
    pub(crate) fn refuse(self, verb: &str, instead: &str) -> Result<Exit> {
        let text = format!("`mayhap {verb}` is a program of its own: {instead}");
        Err(Failure::new(text).hint("install it: cargo install mayhap-lab"))
    }
}
