//! Tables of numbers that were not timed: the figures of a paper, as our filters give them.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::machine::Machine;

/// Tables in Markdown, printed as they are made and written at the end.
pub struct Figures {
    name: &'static str,
    text: String,
}

impl Figures {
    /// Figures without tables yet; `name` names the file, `about` says what they are.
    pub fn new(name: &'static str, about: &str) -> Figures {
        let text = format!("# {name}: {about}\n");
        println!("{text}");
        Figures { name, text }
    }

    /// Adds a table: what it shows, the heads of its columns, and its rows.
    pub fn add<const N: usize>(&mut self, title: &str, heads: [&str; N], rows: &[[String; N]]) {
        let mut table = format!("\n## {title}\n\n| {} |\n|", heads.join(" | "));
        table += &"--:|".repeat(N);
        table.push('\n');
        for row in rows {
            table += &format!("| {} |\n", row.join(" | "));
        }
        println!("{}", table.trim_start());
        self.text += &table;
    }

    /// With `record`, writes `DATE-NAME.md` to `bench/results`.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn close(self, record: bool) -> Result<()> {
        if !record {
            return Ok(());
        }
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
        fs::create_dir_all(&directory)?;
        let file = format!("{}-{}.md", Machine::current().date, self.name);
        fs::write(directory.join(file), self.text)?;
        Ok(())
    }
}

/// Six significant digits, or as many as an exponent leaves room for.
pub fn digits(number: f64) -> String {
    match number.abs() {
        0.0 => "0".into(),
        size if size < 1e-3 => format!("{number:.4e}"),
        _ => format!("{number:.6}"),
    }
}
