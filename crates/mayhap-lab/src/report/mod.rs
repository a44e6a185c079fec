//! What came of an experiment, and the formats it can be shown in.
//!
//! A [`Report`] is sentences, tables and figures. The table of all that was measured is also CSV and JSON;
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
pub use bits::{BitsPicture, Cells, fills};
pub use card::Card;
pub use chart::{COLOURS, Chart, Mark, Panels, Series};
pub use table::{Cell, Column, Table, Tone};

/// What came of an experiment.
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
    /// What it is about.
    pub title: String,
    /// What was found, a sentence each, the most important first.
    pub findings: Vec<String>,
    /// What else a terminal says; on a page it stands in the tables.
    pub notes: Vec<String>,
    /// What was asked for, and where it was measured.
    pub parameters: Vec<(&'static str, String)>,
    /// What is to be thought of each subject, a row each: above everything else.
    pub verdicts: Option<Table>,
    /// The parts of its page.
    pub sections: Vec<Section>,
    /// All that was measured.
    pub records: Table,
    /// Whether the run came to its end.
    pub is_whole: bool,
}

/// A part of a page.
pub struct Section {
    /// Its heading.
    pub heading: &'static str,
    /// Paragraphs, a line each.
    pub text: String,
    /// Pictures, which come first.
    pub figures: Vec<Figure>,
    /// Cards, which come next.
    pub cards: Vec<Card>,
    /// Tables, which come last.
    pub tables: Vec<Table>,
}

impl Section {
    /// A part with a heading and a text, to which figures, cards or tables are added.
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
    /// Whether there is nothing in it: neither a line nor a point.
    fn is_empty(&self) -> bool {
        match self {
            Figure::Chart(chart) => chart.is_empty(),
            Figure::Panels(panels) => panels.charts.iter().all(Chart::is_empty),
            Figure::Bits(_) => false,
        }
    }
}

impl Report {
    /// One page for a browser, which needs nothing else.
    pub fn page(&self) -> String {
        html::page(self)
    }

    /// All that was measured, with every digit.
    pub fn csv(&self) -> String {
        csv::lines(&self.records)
    }

    /// One object with what was asked and found, then one for each row.
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

    /// Lines for a terminal.
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
