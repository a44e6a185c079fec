//! Tables in Markdown, on the screen and in files.

use std::fmt::Write as _;

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

/// One table: a row per contender; per group a column for the number, and one for its ratio to each reference.
struct Table {
    title: String,
    references: Vec<Reference>,
    measurements: Vec<Measurement>,
}

/// The divisor of numbers: that of a row, or the least of several.
pub struct Reference {
    head: &'static str,
    rows: Vec<String>,
}

impl Reference {
    /// A column under this head, of ratios to the row with the least number of these.
    pub fn least_of<'a>(head: &'static str, rows: impl IntoIterator<Item = &'a str>) -> Reference {
        let rows = rows.into_iter().map(str::to_owned).collect();
        Reference { head, rows }
    }
}

impl Report {
    /// A report without tables, whose heading is printed; `name` names its files, `unit` explains its numbers.
    pub fn new(name: &'static str, unit: &'static str) -> Report {
        let report = Report {
            name,
            unit,
            machine: Machine::current(),
            tables: Vec::new(),
        };
        println!("{}", report.heading());
        report
    }

    /// Adds a table and prints it: what is printed is what is recorded. The ratios are those to the row `baseline`,
    /// and there are none where that is empty.
    pub fn add(&mut self, title: String, baseline: &str, measurements: Vec<Measurement>) {
        let references = match baseline {
            "" => vec![],
            baseline => vec![Reference::least_of("÷", [baseline])],
        };
        self.add_beside(title, references, measurements);
    }

    /// Like [`add`](Report::add), with ratios to each of these references.
    pub fn add_beside(
        &mut self,
        title: String,
        references: Vec<Reference>,
        measurements: Vec<Measurement>,
    ) {
        let table = Table {
            title,
            references,
            measurements,
        };
        println!("{}", table.markdown());
        self.tables.push(table);
    }

    /// With `record` writes `DATE-NAME-CPU.md` to `bench/results`.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn close(self, record: bool) -> Result<()> {
        match record {
            true => self.machine.record(self.name, &self.markdown()),
            false => Ok(()),
        }
    }

    fn heading(&self) -> String {
        format!(
            "# {}: {}\n\n{}\n",
            self.name,
            self.unit,
            self.machine.line()
        )
    }

    fn markdown(&self) -> String {
        let mut text = self.heading() + "\n";
        for table in &self.tables {
            text += &table.markdown();
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

impl Table {
    fn markdown(&self) -> String {
        let groups = in_order(self.measurements.iter().map(|one| one.group.as_str()));
        let names = in_order(self.measurements.iter().map(|one| one.name.as_str()));
        let mut text = format!("## {}\n\n| |", self.title);
        for group in &groups {
            // Writing to a string cannot fail.
            let _ = write!(text, " {group} |");
            for reference in &self.references {
                let _ = write!(text, " {} |", reference.head);
            }
        }
        text += "\n|---|";
        text += &"--:|".repeat(groups.len() * (1 + self.references.len()));
        text.push('\n');
        for name in names {
            let mark = if self.is_divisor(name) { "**" } else { "" };
            let _ = write!(text, "| {mark}{name}{mark} |");
            for group in &groups {
                text += &self.cells(name, group);
            }
            text.push('\n');
        }
        text
    }

    /// The number with its spread, and its ratios.
    fn cells(&self, name: &str, group: &str) -> String {
        let Some(one) = self.find(name, group) else {
            return " – |".repeat(1 + self.references.len());
        };
        let mut text = format!(" {}", rounded(one.median));
        if one.least < one.greatest {
            text += &format!(" ({}–{})", rounded(one.least), rounded(one.greatest));
        }
        text += " |";
        for reference in &self.references {
            match self.ratio(one, reference) {
                Some(ratio) => text += &format!(" {ratio:.2} |"),
                None => text += " – |",
            }
        }
        text
    }

    fn find(&self, name: &str, group: &str) -> Option<&Measurement> {
        let mut all = self.measurements.iter();
        all.find(|one| one.name == name && one.group == group)
    }

    /// Returns the divisor of the numbers of a group.
    fn divisor(&self, reference: &Reference, group: &str) -> Option<&Measurement> {
        let rows = reference.rows.iter();
        let found = rows.filter_map(|name| self.find(name, group));
        found.min_by(|one, other| one.median.total_cmp(&other.median))
    }

    /// Returns whether the numbers of any group are divided by this row's.
    fn is_divisor(&self, name: &str) -> bool {
        self.measurements.iter().any(|one| {
            let mut divisors = self.references.iter();
            divisors.any(|reference| {
                let divisor = self.divisor(reference, &one.group);
                divisor.is_some_and(|divisor| divisor.name == name)
            })
        })
    }

    /// Divides this number by the reference's, if there is one and it is not 0.
    fn ratio(&self, one: &Measurement, reference: &Reference) -> Option<f64> {
        let divisor = self.divisor(reference, &one.group)?;
        Some(one.median / divisor.median).filter(|ratio| ratio.is_finite())
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
            references: vec![Reference::least_of("÷", ["theirs"])],
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
    fn a_row_is_divided_by_the_least_of_a_reference_in_its_own_group() {
        let table = Table {
            references: vec![
                Reference::least_of("÷ light", ["light"]),
                Reference::least_of("÷ best peer", ["theirs", "others"]),
            ],
            measurements: vec![
                Measurement::exact("light", "hit", 4.0),
                Measurement::exact("ours", "hit", 5.0),
                Measurement::exact("theirs", "hit", 20.0),
                Measurement::exact("others", "hit", 10.0),
            ],
            ..table()
        };
        let expected = "## 1 M keys\n\n\
            | | hit | ÷ light | ÷ best peer |\n\
            |---|--:|--:|--:|\n\
            | **light** | 4.00 | 1.00 | 0.40 |\n\
            | ours | 5.00 | 1.25 | 0.50 |\n\
            | theirs | 20.0 | 5.00 | 2.00 |\n\
            | **others** | 10.0 | 2.50 | 1.00 |\n";
        assert_eq!(table.markdown(), expected);
    }

    #[test]
    fn without_a_baseline_there_are_no_ratios() {
        let table = Table {
            references: vec![],
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
    fn counts_and_rates_read_as_people_say_them() {
        assert_eq!([count(100_000_000), count(1500)], ["100 M", "1500"]);
        assert_eq!([count(250_000), count(0)], ["250 k", "0"]);
        assert_eq!([percent(0.01), percent(0.001)], ["1 %", "0.1 %"]);
    }
}
