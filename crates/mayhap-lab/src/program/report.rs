//! The destination of a report: a page in a file, and standard output.

use std::path::{Path, PathBuf};

use mayhap_lab::report::Report;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;

use crate::page::{Page, print};

/// The destination of a report.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ReportArgs {
    /// Write a page with tables and pictures: one file, for any browser, that needs no network; `-` is standard output,
    /// which then has the page alone
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Print all that was measured as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// The destination of a report, checked before hours are spent on it.
pub(crate) struct Destination {
    page: Option<Page>,
    csv: bool,
}

impl ReportArgs {
    pub(crate) fn open(&self, global: &Global) -> Result<Destination> {
        let page = match &self.report {
            Some(path) if path == Path::new("-") && (self.csv || global.json) => {
                let text = "--report - and --csv or --json would both write to standard output";
                return Err(Failure::new(text).hint("name a file for the page"));
            }
            Some(path) => Some(Page::open(path)?),
            None => None,
        };
        Ok(Destination {
            page,
            csv: self.csv,
        })
    }
}

impl Destination {
    /// Writes the page, a file whole or not at all, and prints the report.
    pub(crate) fn publish(self, report: &Report, global: &Global) -> Result<()> {
        if let Some(page) = &self.page {
            page.write(&report.page())?;
        }
        match self.page {
            // Standard output has the page alone.
            Some(Page::Standard) => Ok(()),
            _ if global.json => report
                .objects()
                .try_for_each(|object| print(&format!("{object}\n"))),
            _ if self.csv => print(&report.csv()),
            _ => print(&report.text()),
        }
    }
}
