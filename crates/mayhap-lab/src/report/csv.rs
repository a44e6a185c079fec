//! Comma-separated values, as in RFC 4180 except for the line end, which is a newline.

use serde_json::Value;

use super::Table;

/// Writes a line of names, and a line for each row.
pub(super) fn lines(table: &Table) -> String {
    let mut text = String::new();
    let names = table.columns.iter().map(|column| column.name.to_owned());
    push(&mut text, names);
    for row in &table.rows {
        let cells = row.iter().map(|cell| match cell.value() {
            Value::String(text) => text,
            Value::Null => String::new(),
            number => number.to_string(),
        });
        push(&mut text, cells);
    }
    text
}

fn push(text: &mut String, cells: impl Iterator<Item = String>) {
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            text.push(',');
        }
        match cell.contains([',', '"', '\n', '\r']) {
            true => {
                text.push('"');
                text.push_str(&cell.replace('"', "\"\""));
                text.push('"');
            }
            false => text.push_str(&cell),
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Column};
    use super::*;

    #[test]
    fn every_digit_is_kept_and_separators_are_quoted() {
        let table = Table {
            caption: String::new(),
            columns: vec![Column::shown("a", "A"), Column::kept("b", "B")],
            rows: vec![
                vec![
                    Cell::text("x, \"y\""),
                    Cell::Rate(0.010_143_159_512_273_257),
                ],
                vec![Cell::Empty, Cell::Count(10_000_000)],
            ],
        };

        let expected = "a,b\n\"x, \"\"y\"\"\",0.010143159512273257\n,10000000\n";
        assert_eq!(lines(&table), expected);
    }
}
