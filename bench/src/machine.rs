//! The machine that the numbers were measured on, and the day.

use std::fs;
use std::path::Path;
use std::process::Command;

use mayhap_lab::machine::class;

use crate::Result;

/// The facts that a number means nothing without. What cannot be found out says "unknown".
#[derive(Debug, Clone)]
pub struct Machine {
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
    /// The processor, cores, caches and memory.
    pub class: String,
    /// The compiler.
    pub compiler: String,
}

impl Machine {
    /// This machine, today.
    pub fn current() -> Machine {
        Machine {
            date: output_of("date", "+%F"),
            class: class(),
            compiler: output_of("rustc", "-V"),
        }
    }

    /// Whose CPU it is, in a word for the names of files: `amd`, `intel`, or `other`.
    pub fn cpu(&self) -> &'static str {
        let class = self.class.to_lowercase();
        let makers = [("amd", "amd"), ("intel", "intel"), ("xeon", "intel")];
        let found = makers.iter().find(|(part, _)| class.contains(part));
        found.map_or("other", |(_, maker)| maker)
    }

    /// One line for the head of a report.
    pub fn line(&self) -> String {
        format!("{}; {}; {}", self.date, self.class, self.compiler)
    }

    /// Writes a report to `bench/results/DATE-NAME-CPU.md`.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn record(&self, name: &str, report: &str) -> Result<()> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
        fs::create_dir_all(&directory)?;
        let file = format!("{}-{name}-{}.md", self.date, self.cpu());
        Ok(fs::write(directory.join(file), report)?)
    }
}

fn output_of(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    let text = output.ok().map(|output| output.stdout);
    let text = text.and_then(|text| String::from_utf8(text).ok());
    text.map_or("unknown".into(), |text| text.trim().into())
}
