//! `mayhap man` and `mayhap completions`: the same text as the help, for a manual and for shells.

use std::fs;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};

use crate::output::print;

/// Writes the manual pages to a folder, one for each verb, or prints the main page.
pub(crate) fn man(folder: Option<&Path>, command: Command) -> Result<Exit> {
    if let Some(folder) = folder {
        let failed = Failure::file("write pages to", folder);
        fs::create_dir_all(folder).map_err(&failed)?;
        clap_mangen::generate_to(command, folder).map_err(failed)?;
        return Ok(Exit::Success);
    }
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(command).render(&mut page);
    written.map_err(Failure::output)?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}

/// Prints a script that completes verbs, options and values in a shell.
pub(crate) fn completions(shell: Shell, mut command: Command) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "mayhap", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
