//! What the numbers were measured on, and when.

use std::fs::{self, read_to_string};
use std::path::Path;
use std::process::Command;

use crate::Result;

/// The facts that a number means nothing without. What cannot be found out says "unknown".
#[derive(Debug, Clone)]
pub struct Machine {
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
    /// The CPU's name.
    pub model: String,
    /// The number of CPUs this process may use.
    pub cores: usize,
    /// The caches of the first CPU, as `L1d 32K, L2 1024K, L3 32768K`.
    pub caches: String,
    /// Installed memory.
    pub memory: String,
    /// The compiler.
    pub compiler: String,
}

impl Machine {
    /// This machine, today.
    pub fn current() -> Machine {
        Machine {
            date: output_of("date", "+%F"),
            model: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            caches: caches(),
            memory: field("/proc/meminfo", "MemTotal"),
            compiler: output_of("rustc", "-V"),
        }
    }

    /// Whose CPU it is, in a word for the names of files: `amd`, `intel`, or `other`.
    pub fn cpu(&self) -> &'static str {
        let model = self.model.to_lowercase();
        let makers = [("amd", "amd"), ("intel", "intel"), ("xeon", "intel")];
        let found = makers.iter().find(|(part, _)| model.contains(part));
        found.map_or("other", |(_, maker)| maker)
    }

    /// One line for the head of a report.
    pub fn line(&self) -> String {
        format!(
            "{}; {}, {} cores, {}, {} memory; {}",
            self.date, self.model, self.cores, self.caches, self.memory, self.compiler
        )
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

fn unknown() -> String {
    "unknown".into()
}

fn output_of(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    let text = output.ok().map(|output| output.stdout);
    let text = text.and_then(|text| String::from_utf8(text).ok());
    text.map_or_else(unknown, |text| text.trim().into())
}

/// The value of the first `name : value` line of a file.
fn field(path: &str, name: &str) -> String {
    let text = read_to_string(path).unwrap_or_default();
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(key, _)| key.trim() == name);
    found.map_or_else(unknown, |(_, value)| value.trim().into())
}

fn caches() -> String {
    let mut found = Vec::new();
    for index in 0..8 {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            read_to_string(path).map(|text| text.trim().to_owned())
        };
        let (Ok(level), Ok(kind), Ok(size)) = (read("level"), read("type"), read("size")) else {
            break;
        };
        match kind.as_str() {
            "Instruction" => {}
            "Data" => found.push(format!("L{level}d {size}")),
            _ => found.push(format!("L{level} {size}")),
        }
    }
    if found.is_empty() {
        return "caches unknown".into();
    }
    found.join(", ")
}
