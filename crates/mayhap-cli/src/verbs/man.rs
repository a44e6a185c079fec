//! `mayhap man`: the manual pages, one per verb.

use std::fs;
use std::path::PathBuf;

use clap::Command;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};

use crate::output::print;

/// Writes the manual pages, one for each verb.
///
/// They have the same text as `mayhap VERB --help`.
///
/// Exit codes: 0 when they were written, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder to write all pages to; without it the main page is printed
    folder: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  mayhap man man1                              all pages, in the folder man1
  mayhap man > mayhap.1                        the main page only
  mayhap man man1 && gzip -f man1/*.1          all pages, compressed as packages have them";

impl Args {
    pub(crate) fn run(self, command: Command) -> Result<Exit> {
        match self.folder {
            Some(folder) => {
                let failed = Failure::file("write pages to", &folder);
                fs::create_dir_all(&folder).map_err(&failed)?;
                clap_mangen::generate_to(command, &folder).map_err(failed)?;
            }
            None => {
                let mut page = Vec::new();
                let written = clap_mangen::Man::new(command).render(&mut page);
                written.map_err(Failure::output)?;
                print(&String::from_utf8_lossy(&page))?;
            }
        }
        Ok(Exit::Success)
    }
}
