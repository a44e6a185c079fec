//! `mayhap completions`: what a shell needs to know to complete our words.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::print;

/// Prints a script that completes this command's words in a shell.
///
/// Verbs, options and the names of kinds, schemes and formats are completed.
///
/// Exit codes: 0, or 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "Examples:
  mayhap completions bash > mayhap.bash        then: source mayhap.bash
  mayhap completions zsh > _mayhap             in a folder of $fpath
  mayhap completions fish > mayhap.fish        in ~/.config/fish/completions";

impl Args {
    pub(crate) fn run(self) -> Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "mayhap", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Success)
    }
}
