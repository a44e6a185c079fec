//! `mayhap man`: the manual pages, one per verb.

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory as _;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::print;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write all pages to; the main page goes to standard output unless given
    folder: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.folder {
            Some(folder) => {
                let failed = Failure::file("write pages to", &folder);
                fs::create_dir_all(&folder).map_err(&failed)?;
                clap_mangen::generate_to(Cli::command(), &folder).map_err(failed)?;
            }
            None => {
                let mut page = Vec::new();
                let written = clap_mangen::Man::new(Cli::command()).render(&mut page);
                written.map_err(Failure::output)?;
                print(&String::from_utf8_lossy(&page))?;
            }
        }
        Ok(Exit::Success)
    }
}
