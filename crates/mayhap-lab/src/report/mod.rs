//! The result of an experiment, and the formats to show it in.
//!
//! A [`Report`] is sentences, tables and figures. The table of all measurements is also CSV and JSON;
//! the rest is for people: lines on a terminal, or a page with pictures.

mod axis;
mod bits;
mod card;
mod chart;
mod csv;
mod html;
mod table;

use serde_json::{Value, json};

pub use axis::{Axis, Spacing, Unit};
pub use bits::{BitsPicture, Cells};
pub use card::Card;
pub use chart::{COLOURS, Chart, Mark, Panels, Series};
pub use table::{Cell, Column, Table, Tone};

/// The result of an experiment.
///
/// ```
/// use mayhap_lab::report::{Cell, Column, Report, Table};
///
/// let report = Report {
///     title: "Rates".into(),
///     findings: vec!["The rate is as predicted.".into()],
///     notes: Vec::new(),
///     parameters: vec![("seed", "1".into())],
///     verdicts: None,
///     sections: Vec::new(),
///     records: Table {
///         caption: "All rates".into(),
///         columns: vec![Column::shown("kind", "Kind"), Column::shown("rate", "Rate")],
///         rows: vec![vec![Cell::text("blocked"), Cell::Rate(0.0101)]],
///     },
///     is_whole: true,
/// };
/// assert_eq!(report.csv(), "kind,rate\nblocked,0.0101\n");
/// assert_eq!(report.text(), "Kind       Rate\nblocked  1.01 %\n\nThe rate is as predicted.\n");
/// assert!(report.page().starts_with("<!DOCTYPE html>"));
/// ```
pub struct Report {
    /// The title.
    pub title: String,
    /// The findings, a sentence each, the most important first.
    pub findings: Vec<String>,
    /// Further sentences for a terminal; on a page they are in the tables.
    pub notes: Vec<String>,
    /// The options, and the machine.
    pub parameters: Vec<(&'static str, String)>,
    /// The verdicts, a row for each subject: above everything else.
    pub verdicts: Option<Table>,
    /// The parts of its page.
    pub sections: Vec<Section>,
    /// All measurements.
    pub records: Table,
    /// Set if the run was not interrupted.
    pub is_whole: bool,
}

/// A part of a page.
pub struct Section {
    /// Its heading.
    pub heading: &'static str,
    /// Paragraphs, a line each.
    pub text: String,
    /// Pictures, which are first.
    pub figures: Vec<Figure>,
    /// Cards, which are next.
    pub cards: Vec<Card>,
    /// Tables, which are last.
    pub tables: Vec<Table>,
}

impl Section {
    /// Makes a part with a heading and a text, to which figures, cards or tables are added.
    pub fn new(heading: &'static str, text: impl Into<String>) -> Section {
        Section {
            heading,
            text: text.into(),
            figures: Vec::new(),
            cards: Vec::new(),
            tables: Vec::new(),
        }
    }
}

/// A picture.
pub enum Figure {
    /// Lines and measured points.
    Chart(Chart),
    /// The same for each of many, side by side.
    Panels(Panels),
    /// The bits of a filter.
    Bits(BitsPicture),
}

impl Figure {
    /// Returns whether it has neither a line nor a point.
    fn is_empty(&self) -> bool {
        match self {
            Figure::Chart(chart) => chart.is_empty(),
            Figure::Panels(panels) => panels.charts.iter().all(Chart::is_empty),
            Figure::Bits(_) => false,
        }
    }
}

impl Report {
    /// Formats one page for a browser, which needs no other file.
    pub fn page(&self) -> String {
        html::page(self)
    }

    /// Formats all measurements as CSV, with every digit.
    pub fn csv(&self) -> String {
        csv::lines(&self.records)
    }

    /// Returns one object with options and findings, then one for each row.
    pub fn objects(&self) -> impl Iterator<Item = Value> {
        let parameters = self.parameters.iter();
        let parameters: serde_json::Map<_, _> = parameters
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let head = json!({
            "title": self.title,
            "whole": self.is_whole,
            "parameters": parameters,
            "findings": self.findings,
        });
        std::iter::once(head).chain(self.records.objects())
    }

    /// Formats lines for a terminal.
    pub fn text(&self) -> String {
        let mut text = self.records.text();
        text.push('\n');
        if let Some(verdicts) = &self.verdicts {
            text.push_str(&verdicts.text());
            text.push('\n');
        }
        for finding in self.notes.iter().chain(&self.findings) {
            text.push_str(finding);
            text.push('\n');
        }
        text
    }
}
