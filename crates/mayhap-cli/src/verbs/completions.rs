//! `mayhap completions`: what a shell needs to know to complete our words.

use clap::Command;
use clap_complete::Shell;
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;

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
    pub(crate) fn run(self, mut command: Command) -> Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "mayhap", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Success)
    }
}
