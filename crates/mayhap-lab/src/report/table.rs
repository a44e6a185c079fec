//! Tables, whose cells have types.

use serde_json::{Value, json};

use mayhap_program::amounts::{show_count, show_rate};

/// Rows, each with a cell per column.
pub struct Table {
    /// The caption.
    pub caption: String,
    /// The headers.
    pub columns: Vec<Column>,
    /// The rows, in order.
    pub rows: Vec<Vec<Cell>>,
}

/// The name of a column to programs, and to people.
#[derive(Clone, Copy)]
pub struct Column {
    /// The name in CSV and JSON.
    pub name: &'static str,
    /// The header for people.
    pub title: &'static str,
    /// Set if a terminal has room for it.
    is_shown: bool,
}

impl Column {
    /// Makes a column that is always shown.
    pub const fn shown(name: &'static str, title: &'static str) -> Column {
        Column {
            name,
            title,
            is_shown: true,
        }
    }

    /// Makes a column that a terminal leaves out.
    pub const fn kept(name: &'static str, title: &'static str) -> Column {
        Column {
            name,
            title,
            is_shown: false,
        }
    }
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number of things.
    Count(u64),
    /// A share, 0 to 1.
    Rate(f64),
    /// Any other number, and the digits after the point that people see.
    Number(f64, usize),
    /// Yes or no.
    Truth(bool),
    /// A judgement, in words.
    Judged(Tone, String),
    /// Nothing was measured, or nothing is known.
    Empty,
}

/// The outcome of a judgement. Words express it too, so that nothing depends on colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// The desired outcome.
    Good,
    /// The undesired one.
    Bad,
    /// Neither could be shown.
    Open,
}

impl Tone {
    /// The name of its class on the page.
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Open => "open",
        }
    }
}

impl Cell {
    /// Makes a cell of words.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// Makes a cell of a share; empty for `None`.
    pub fn rate(rate: Option<f64>) -> Cell {
        rate.map_or(Cell::Empty, Cell::Rate)
    }

    /// Makes a cell of a number, and the digits after the point that people see; empty for `None`.
    pub fn number(number: Option<f64>, digits: usize) -> Cell {
        number.map_or(Cell::Empty, |number| Cell::Number(number, digits))
    }

    /// Formats it for people.
    pub(super) fn show(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => show_count(*count),
            Cell::Rate(rate) => show_rate(*rate),
            Cell::Number(number, digits) => format!("{number:.digits$}"),
            Cell::Truth(true) => "yes".into(),
            Cell::Truth(false) => "no".into(),
            Cell::Judged(_, words) => words.clone(),
            Cell::Empty => "–".into(),
        }
    }

    /// Converts it for programs: every digit, and null if it is empty.
    pub(super) fn value(&self) -> Value {
        match self {
            Cell::Text(text) | Cell::Judged(_, text) => json!(text),
            Cell::Count(count) => json!(count),
            Cell::Rate(number) | Cell::Number(number, _) => json!(number),
            Cell::Truth(truth) => json!(truth),
            Cell::Empty => Value::Null,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Cell::Text(_) | Cell::Judged(..))
    }

    /// The outcome, if it is a judgement.
    pub(super) fn tone(&self) -> Option<Tone> {
        match self {
            Cell::Judged(tone, _) => Some(*tone),
            Cell::Truth(true) => Some(Tone::Good),
            Cell::Truth(false) => Some(Tone::Bad),
            _ => None,
        }
    }
}

impl Table {
    /// Returns an object for each row.
    pub(super) fn objects(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().map(|row| {
            let named = self.columns.iter().zip(row);
            named
                .map(|(column, cell)| (column.name.to_owned(), cell.value()))
                .collect()
        })
    }

    /// Formats lines for a terminal.
    pub(super) fn text(&self) -> String {
        let shown = || self.columns.iter().map(|column| column.is_shown);
        let titles = self.columns.iter().map(|column| column.title.to_owned());
        let mut rows = vec![chosen(titles, shown())];
        for row in &self.rows {
            rows.push(chosen(row.iter().map(Cell::show), shown()));
        }
        mayhap_program::columns::lines(&rows)
    }
}

fn chosen(cells: impl Iterator<Item = String>, shown: impl Iterator<Item = bool>) -> Vec<String> {
    let cells = cells.zip(shown);
    cells
        .filter_map(|(cell, shown)| shown.then_some(cell))
        .collect()
}
