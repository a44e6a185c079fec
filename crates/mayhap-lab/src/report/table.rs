//! Rows of numbers that know what they are.

use serde_json::{Value, json};

use crate::show::{show_count, show_rate};

/// Rows, each with a cell per column.
pub struct Table {
    /// What the rows are.
    pub caption: String,
    /// What stands above them.
    pub columns: Vec<Column>,
    /// The rows, in order.
    pub rows: Vec<Vec<Cell>>,
}

/// The name of a column to programs, and to people.
#[derive(Clone, Copy)]
pub struct Column {
    /// The name in CSV and JSON.
    pub name: &'static str,
    /// What people read.
    pub title: &'static str,
    /// Whether a terminal has room for it.
    is_shown: bool,
}

impl Column {
    /// A column that is always there.
    pub const fn shown(name: &'static str, title: &'static str) -> Column {
        Column {
            name,
            title,
            is_shown: true,
        }
    }

    /// A column that is left out where room is short.
    pub const fn kept(name: &'static str, title: &'static str) -> Column {
        Column {
            name,
            title,
            is_shown: false,
        }
    }
}

/// What stands in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number of things.
    Count(u64),
    /// A share, 0 to 1.
    Rate(f64),
    /// Any other number, and how many digits after the point people see.
    Number(f64, usize),
    /// Yes or no.
    Truth(bool),
    /// A judgement, in words.
    Judged(Tone, String),
    /// Nothing was measured, or nothing is known.
    Empty,
}

/// What a judgement comes to. Words say it too, so that nothing is said by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Neither was shown.
    Open,
}

impl Tone {
    /// What the page calls it.
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Open => "open",
        }
    }
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// A share, where there is one.
    pub fn rate(rate: Option<f64>) -> Cell {
        rate.map_or(Cell::Empty, Cell::Rate)
    }

    /// A number, where there is one, and how many digits after the point people see.
    pub fn number(number: Option<f64>, digits: usize) -> Cell {
        number.map_or(Cell::Empty, |number| Cell::Number(number, digits))
    }

    /// As people read it.
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

    /// As programs read it: every digit, and nothing where there is nothing.
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

    /// What it comes to, if it is a judgement.
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
    /// An object for each row.
    pub(super) fn objects(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().map(|row| {
            let named = self.columns.iter().zip(row);
            named
                .map(|(column, cell)| (column.name.to_owned(), cell.value()))
                .collect()
        })
    }

    /// Lines for a terminal.
    pub(super) fn text(&self) -> String {
        let shown = || self.columns.iter().map(|column| column.is_shown);
        let titles = self.columns.iter().map(|column| column.title.to_owned());
        let mut rows = vec![chosen(titles, shown())];
        for row in &self.rows {
            rows.push(chosen(row.iter().map(Cell::show), shown()));
        }
        crate::columns::lines(&rows)
    }
}

fn chosen(cells: impl Iterator<Item = String>, shown: impl Iterator<Item = bool>) -> Vec<String> {
    let cells = cells.zip(shown);
    cells
        .filter_map(|(cell, shown)| shown.then_some(cell))
        .collect()
}
