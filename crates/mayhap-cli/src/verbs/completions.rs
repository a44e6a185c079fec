//! `mayhap completions`: what a shell needs to know to complete our words.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::print;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self) -> Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "mayhap", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Success)
    }
}
