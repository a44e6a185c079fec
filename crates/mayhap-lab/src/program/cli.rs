//! The arguments of the program.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;

use crate::page::print;
use crate::{explore, posts, rate, speed};

/// Measures filters: their rates, their speed, and what other programs print; and shows them at work.
///
/// Each experiment prints a table; --report FILE also writes a page with pictures, for a browser. Ctrl-C ends a run
/// early, and what was measured by then is reported.
///
/// Exit codes: 0 when it was measured or written, 2 on an error.
#[derive(Debug, Parser)]
#[command(
    name = "mayhap-lab",
    version,
    max_term_width = 100,
    propagate_version = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    global: Global,
}

// The help of a verb is the comment of its arguments.
#[derive(Debug, Subcommand)]
enum Verb {
    Rate(Box<rate::Args>),
    Speed(Box<speed::Args>),
    Posts(posts::Args),
    Explore(explore::Args),
    /// Prints a script that completes this program's words in a shell
    #[command(hide = true)]
    Completions {
        shell: Shell,
    },
    /// Writes the manual pages into a folder, one for each verb
    #[command(hide = true)]
    Man {
        folder: PathBuf,
    },
}

impl Cli {
    /// Runs the verb.
    pub(crate) fn run(self) -> Result<Exit> {
        let global = &self.global;
        global.apply();
        match self.verb {
            Verb::Rate(args) => args.run(global),
            Verb::Speed(args) => args.run(global),
            Verb::Posts(args) => args.run(global),
            Verb::Explore(args) => args.run(),
            Verb::Completions { shell } => complete(shell),
            Verb::Man { folder } => write_manual(&folder),
        }
    }
}

fn complete(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mayhap-lab", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

fn write_manual(folder: &Path) -> Result<Exit> {
    let failed = Failure::file("write pages to", folder);
    fs::create_dir_all(folder).map_err(&failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
