//! What came of an experiment, and the formats it can be shown in.
//!
//! A [`Report`] is sentences, tables and figures. The table of all that was measured is also CSV and JSON;
//! the rest is for people: lines on a terminal, or a page with pictures.

mod axis;
mod bits;
mod chart;
mod csv;
mod html;
mod table;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::NamedTempFile;

pub(super) use axis::{Axis, Spacing, Unit};
pub(super) use bits::BitsPicture;
pub(super) use chart::{Chart, Mark, Series};
pub(super) use table::{Cell, Column, Table};

use crate::cli::Global;
use crate::failure::{Failure, Result};
use crate::output::{print, print_json};

/// What came of an experiment.
pub(super) struct Report {
    pub(super) title: String,
    /// What was found, a sentence each, the most important first.
    pub(super) findings: Vec<String>,
    /// What else a terminal says; on a page it stands in the tables.
    pub(super) notes: Vec<String>,
    /// What was asked for, and where it was measured.
    pub(super) parameters: Vec<(&'static str, String)>,
    pub(super) sections: Vec<Section>,
    /// All that was measured.
    pub(super) records: Table,
    /// Whether the run came to its end.
    pub(super) is_whole: bool,
}

/// A part of a page.
pub(super) struct Section {
    pub(super) heading: &'static str,
    pub(super) text: String,
    pub(super) figures: Vec<Figure>,
    pub(super) tables: Vec<Table>,
}

/// A picture.
pub(super) enum Figure {
    Chart(Chart),
    Bits(BitsPicture),
}

/// Where a report goes.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Report")]
pub(super) struct ReportArgs {
    /// Write a page with tables and pictures: one file, for any browser, that needs no network
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Print all that was measured as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Where a report goes, checked before hours are spent on it.
pub(super) struct Destination {
    page: Option<(NamedTempFile, PathBuf)>,
    csv: bool,
}

impl ReportArgs {
    pub(super) fn open(&self) -> Result<Destination> {
        let page = match &self.report {
            Some(path) => {
                let folder = path
                    .parent()
                    .filter(|folder| !folder.as_os_str().is_empty());
                let file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
                Some((file.map_err(Failure::file("write", path))?, path.clone()))
            }
            None => None,
        };
        Ok(Destination {
            page,
            csv: self.csv,
        })
    }
}

impl Destination {
    /// Writes the page, whole or not at all, and prints the report.
    pub(super) fn publish(self, report: &Report, global: &Global) -> Result<()> {
        if let Some((mut file, path)) = self.page {
            let failed = Failure::file("write", &path);
            let page = html::page(report);
            file.write_all(page.as_bytes()).map_err(&failed)?;
            // A temporary file is its owner's alone; a page is for others too.
            let kept = file.persist(&path).map_err(|error| failed(error.error))?;
            let mut access = kept.metadata().map_err(&failed)?.permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut access, 0o644);
            fs::set_permissions(&path, access).map_err(&failed)?;
        }
        if global.json {
            return report.print_json();
        }
        if self.csv {
            return print(&csv::lines(&report.records));
        }
        print(&report.text())
    }
}

impl Report {
    /// One object with what was asked and found, then one for each row.
    fn print_json(&self) -> Result<()> {
        let parameters = self.parameters.iter();
        let parameters: serde_json::Map<_, _> = parameters
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        print_json(&json!({
            "title": self.title,
            "whole": self.is_whole,
            "parameters": parameters,
            "findings": self.findings,
        }))?;
        self.records.objects().try_for_each(|row| print_json(&row))
    }

    fn text(&self) -> String {
        let mut text = self.records.text();
        text.push('\n');
        for finding in self.notes.iter().chain(&self.findings) {
            text.push_str(finding);
            text.push('\n');
        }
        text
    }
}
