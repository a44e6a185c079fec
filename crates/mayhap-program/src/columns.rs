//! Columns that line up.

/// Rows as lines: the first column to the left, the others to the right. A row of one column is a remark,
/// and takes no part in the widths.
///
/// ```
/// let rows = [vec!["kind".to_owned(), "bits".to_owned()], vec!["blocked".to_owned(), "9".to_owned()]];
///
/// assert_eq!(mayhap_program::columns::lines(&rows), "kind     bits\nblocked     9\n");
/// ```
pub fn lines(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| row.len() > 1);
        let widths = cells
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            match column {
                0 => line.push_str(&format!("{cell:<width$}")),
                _ => line.push_str(&format!("  {cell:>width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let row = |cells: &[&str]| cells.iter().map(|cell| cell.to_string()).collect();
        let rows = [
            row(&["kind", "bits"]),
            row(&["a long remark"]),
            row(&["b", "10000"]),
        ];
        assert_eq!(lines(&rows), "kind   bits\na long remark\nb     10000\n");
    }
}
