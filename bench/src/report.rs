//! Tables: for people on the screen and in Markdown, for programs in JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Result;
use crate::machine::Machine;
use crate::measure::Measurement;

/// All that one bench has to say.
pub struct Report {
    name: &'static str,
    unit: &'static str,
    machine: Machine,
    tables: Vec<Table>,
}

/// One table: a row per contender, two columns per group, of which the second is the ratio to the
/// baseline; without a baseline, which is then an empty name, one column per group.
struct Table {
    title: String,
    baseline: String,
    measurements: Vec<Measurement>,
}

impl Report {
    /// A report without tables; `name` names its files, `unit` explains its numbers.
    pub fn new(name: &'static str, unit: &'static str) -> Report {
        Report {
            name,
            unit,
            machine: Machine::current(),
            tables: Vec::new(),
        }
    }

    /// Adds a table and prints it.
    pub fn add(&mut self, title: String, baseline: &str, measurements: Vec<Measurement>) {
        let table = Table {
            title,
            baseline: baseline.into(),
            measurements,
        };
        println!("{}", table.markdown());
        self.tables.push(table);
    }

    /// Prints the machine, and with `record` writes `DATE-NAME.md` and `.json` to `bench/results`.
    ///
    /// # Errors
    ///
    /// When the files cannot be written.
    pub fn close(self, record: bool) -> Result<()> {
        println!("{}: {}. {}", self.name, self.unit, self.machine.line());
        if record {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
            self.write(&directory)?;
        }
        Ok(())
    }

    fn write(&self, directory: &Path) -> Result<()> {
        fs::create_dir_all(directory)?;
        let stem = format!("{}-{}", self.machine.date, self.name);
        fs::write(directory.join(format!("{stem}.md")), self.markdown())?;
        let json = serde_json::to_string_pretty(&self.json())?;
        fs::write(directory.join(format!("{stem}.json")), json + "\n")?;
        Ok(())
    }

    fn markdown(&self) -> String {
        let mut text = format!("# {}: {}\n\n", self.name, self.unit);
        text += &self.machine.line();
        text += "\n\n";
        for table in &self.tables {
            text += &table.markdown();
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "unit": self.unit,
            "machine": self.machine.json(),
            "tables": self.tables.iter().map(Table::json).collect::<Vec<_>>(),
        })
    }
}

impl Table {
    fn markdown(&self) -> String {
        let groups = in_order(self.measurements.iter().map(|one| one.group.as_str()));
        let names = in_order(self.measurements.iter().map(|one| one.name.as_str()));
        let mut text = format!("## {}\n\n| |", self.title);
        let (ratio, align) = match self.baseline.is_empty() {
            true => ("", "--:|"),
            false => (" ÷ |", "--:|--:|"),
        };
        for group in &groups {
            // Writing to a string cannot fail.
            let _ = write!(text, " {group} |{ratio}");
        }
        text += "\n|---|";
        text += &align.repeat(groups.len());
        text.push('\n');
        for name in names {
            let mark = if name == self.baseline { "**" } else { "" };
            let _ = write!(text, "| {mark}{name}{mark} |");
            for group in &groups {
                text += &self.cells(name, group);
            }
            text.push('\n');
        }
        text
    }

    /// The number with its spread, and its ratio to the baseline.
    fn cells(&self, name: &str, group: &str) -> String {
        let has_ratio = !self.baseline.is_empty();
        let Some(one) = self.find(name, group) else {
            return if has_ratio { " – | – |" } else { " – |" }.into();
        };
        let mut text = format!(" {}", rounded(one.median));
        if one.least < one.greatest {
            text += &format!(" ({}–{})", rounded(one.least), rounded(one.greatest));
        }
        match self.ratio(one) {
            Some(ratio) => text + &format!(" | {ratio:.2} |"),
            None if has_ratio => text + " | – |",
            None => text + " |",
        }
    }

    fn find(&self, name: &str, group: &str) -> Option<&Measurement> {
        let mut all = self.measurements.iter();
        all.find(|one| one.name == name && one.group == group)
    }

    /// How many times the baseline's number this one is, where there is a baseline and it is not 0.
    fn ratio(&self, one: &Measurement) -> Option<f64> {
        let baseline = self.find(&self.baseline, &one.group)?;
        Some(one.median / baseline.median).filter(|ratio| ratio.is_finite())
    }

    fn json(&self) -> Value {
        let row = |one: &Measurement| {
            json!({
                "name": one.name,
                "group": one.group,
                "median": one.median,
                "least": one.least,
                "greatest": one.greatest,
                "ratio": self.ratio(one),
            })
        };
        json!({
            "title": self.title,
            "baseline": self.baseline,
            "rows": self.measurements.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// The distinct names, each where it came first.
fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// Three significant digits, which is more than any of the timings has.
fn rounded(number: f64) -> String {
    match number.abs() {
        size if size >= 99.95 => format!("{number:.0}"),
        size if size >= 9.995 => format!("{number:.1}"),
        size if size >= 0.9995 || size == 0.0 => format!("{number:.2}"),
        size if size >= 0.09995 => format!("{number:.3}"),
        _ => format!("{number:.4}"),
    }
}

/// A number of keys as people say it: `1 M`, `250 k`, `17`.
pub fn count(keys: u64) -> String {
    match keys {
        _ if keys > 0 && keys.is_multiple_of(1_000_000) => format!("{} M", keys / 1_000_000),
        _ if keys > 0 && keys.is_multiple_of(1000) => format!("{} k", keys / 1000),
        _ => keys.to_string(),
    }
}

/// A rate in percent, without trailing zeros.
pub fn percent(rate: f64) -> String {
    let text = format!("{:.6}", rate * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let timed = Measurement {
            least: 9.0,
            greatest: 30.0,
            ..Measurement::exact("ours", "hit", 10.0)
        };
        Table {
            title: "1 M keys".into(),
            baseline: "theirs".into(),
            measurements: vec![
                timed,
                Measurement::exact("theirs", "hit", 20.0),
                Measurement::exact("theirs", "miss", 0.5),
            ],
        }
    }

    #[test]
    fn a_row_has_its_spread_and_its_ratio_to_the_baseline() {
        let expected = "## 1 M keys\n\n\
            | | hit | ÷ | miss | ÷ |\n\
            |---|--:|--:|--:|--:|\n\
            | ours | 10.0 (9.00–30.0) | 0.50 | – | – |\n\
            | **theirs** | 20.0 | 1.00 | 0.500 | 1.00 |\n";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn without_a_baseline_there_are_no_ratios() {
        let table = Table {
            baseline: String::new(),
            ..table()
        };
        let expected = "## 1 M keys\n\n\
            | | hit | miss |\n\
            |---|--:|--:|\n\
            | ours | 10.0 (9.00–30.0) | – |\n\
            | theirs | 20.0 | 0.500 |\n";
        assert_eq!(table.markdown(), expected);
    }

    #[test]
    fn json_carries_the_same_numbers() {
        let json = table().json();
        assert_eq!(json["rows"][0]["ratio"], 0.5);
        assert_eq!(json["rows"][2]["median"], 0.5);
    }

    #[test]
    fn counts_and_rates_read_as_people_say_them() {
        assert_eq!([count(100_000_000), count(1500)], ["100 M", "1500"]);
        assert_eq!([count(250_000), count(0)], ["250 k", "0"]);
        assert_eq!([percent(0.01), percent(0.001)], ["1 %", "0.1 %"]);
    }
}
