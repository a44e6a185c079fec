//! The key of a line: which of its bytes, and what becomes of them.

use clap::Args;
use mayhap_program::failure::Failure;
use regex::bytes::Regex;

use crate::csv::{self, Column, Records};
use crate::fields::{self, Span};
use crate::json::{self, JsonPath};
use crate::lines::{LineArgs, NoKey};

/// The ends of lines, and the part of a line that is its key.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct KeyArgs {
    #[command(flatten)]
    pub(crate) lines: LineArgs,

    /// Leave a carriage return out of the key
    #[arg(long)]
    crlf: bool,

    /// Use field N, or fields N to M, as the key
    #[arg(short = 'k', long = "key", value_name = "N[,M]", value_parser = fields::fields, groups = ["choice", "separated", "lacking"])]
    fields: Vec<Span>,

    /// The byte between fields or columns, such as , or \t
    #[arg(short = 't', long, value_name = "BYTE", value_parser = fields::separator, requires = "separated")]
    separator: Option<u8>,

    /// Use bytes N to M of the line as the key
    #[arg(short = 'b', long, value_name = "N-M", value_parser = fields::bytes, groups = ["choice", "lacking"])]
    bytes: Option<Span>,

    /// Use a column of CSV as the key, by name or number
    #[arg(long, value_name = "COLUMN", value_parser = csv::column, groups = ["choice", "separated", "lacking", "columns"])]
    csv_key: Vec<Column>,

    /// Take the first line of each file for a header even if all columns are given by number
    #[arg(long, hide = true, requires = "columns")]
    csv_header: bool,

    /// Use a value in JSON as the key, such as user.name
    #[arg(long, value_name = "PATH", value_parser = json::path, groups = ["choice", "lacking"])]
    json_key: Vec<JsonPath>,

    /// Use what a regular expression matches as the key
    #[arg(long, value_name = "RE", value_parser = regex, groups = ["choice", "lacking"])]
    regex: Option<Regex>,

    /// Stop at lines without a key, or keep or skip them
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        hide_short_help = true,
        requires = "lacking"
    )]
    keyless: Option<Keyless>,

    /// Ignore ASCII case when comparing keys
    #[arg(short = 'i', long)]
    ignore_case: bool,

    /// Turn the text of keys into bytes of this type
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "TYPE",
        hide_short_help = true,
        hide_default_value = true
    )]
    key_type: KeyType,

    /// True when keys are printed instead of lines. Verbs that can do so set it.
    #[arg(skip)]
    shows_keys: bool,
}

/// The treatment of lines without a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Keyless {
    // Stop there, with exit code 2.
    #[default]
    Error,
    // Print it as it is, without looking it up or inserting it.
    Keep,
    // Leave it out.
    Skip,
}

/// The part of a chosen line that is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Print {
    // The whole line.
    #[default]
    Line,
    // Only its key, without quotes or escapes.
    Key,
}

/// The type of keys: the bytes that their text stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum KeyType {
    // The bytes of the text.
    #[default]
    Bytes,
    // A decimal number of 64 bits, little-endian, as Guava's longFunnel.
    Long,
    // A decimal number of 32 bits, little-endian, as Guava's integerFunnel.
    Int,
    // UTF-16, as Guava's unencodedCharsFunnel.
    Utf16,
}

/// Reads a pattern with at most one group: with more, the key would be a guess.
fn regex(text: &str) -> Result<Regex, String> {
    let regex = Regex::new(text).map_err(|error| error.to_string())?;
    match regex.captures_len() - 1 {
        0 | 1 => Ok(regex),
        groups => Err(format!(
            "`{text}` has {groups} groups, and the key is one: write `(?:…)` for the others"
        )),
    }
}

impl KeyArgs {
    /// Whole lines, for a verb that reads numbers: a carriage return after one is no reason to warn.
    pub(crate) fn whole(lines: LineArgs) -> KeyArgs {
        KeyArgs {
            lines,
            crlf: true,
            ..KeyArgs::default()
        }
    }

    /// Refuses an option that would change nothing.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let is_number = matches!(self.key_type, KeyType::Long | KeyType::Int);
        if self.ignore_case && is_number {
            let text = "--ignore-case is not for keys that are numbers, as --key-type makes them";
            return Err(Failure::new(text).hint("leave out one of the two"));
        }
        Ok(())
    }

    /// Returns whether no option is given.
    pub(crate) fn is_default(&self) -> bool {
        self.in_words() == KeyArgs::default().in_words() && self.lines.has_default_length()
    }

    /// Describes the keys in words that never change: they are part of what is saved about a run.
    pub(crate) fn in_words(&self) -> String {
        let spans = |spans: &[Span]| match spans {
            [] => "all".into(),
            spans => spans
                .iter()
                .map(Span::in_words)
                .collect::<Vec<_>>()
                .join("+"),
        };
        let key_type = match self.key_type {
            KeyType::Bytes => "bytes",
            KeyType::Long => "long",
            KeyType::Int => "int",
            KeyType::Utf16 => "utf16",
        };
        let mut words = format!(
            "zero {}, crlf {}, fields {}, separator {:?}, bytes {}, ignore case {}, {key_type}",
            self.lines.zero,
            self.crlf,
            spans(&self.fields),
            self.separator,
            spans(self.bytes.as_slice()),
            self.ignore_case,
        );
        for column in &self.csv_key {
            words += &match column {
                Column::Number(number) => format!(", column {number}"),
                Column::Name(name) => format!(", column {name:?}"),
            };
        }
        for path in &self.json_key {
            words += &format!(", json {:?}", path.text());
        }
        if let Some(regex) = &self.regex {
            words += &format!(", regex {:?}", regex.as_str());
        }
        let others = [
            (self.csv_header, ", header"),
            (self.keyless() == Keyless::Keep, ", keep keyless"),
            (self.keyless() == Keyless::Skip, ", skip keyless"),
            (self.shows_keys, ", print keys"),
        ];
        words.extend(
            others
                .iter()
                .filter(|(is_so, _)| *is_so)
                .map(|(_, word)| *word),
        );
        words
    }

    /// The same keys, printed as asked.
    pub(crate) fn printing(self, print: Print) -> KeyArgs {
        let shows_keys = print == Print::Key;
        KeyArgs { shows_keys, ..self }
    }

    /// The byte that ends a line; none when lines are records, which may span several.
    pub(crate) fn line_end(&self) -> Option<u8> {
        self.csv_key.is_empty().then(|| self.lines.terminator())
    }

    /// Returns whether keys are printed instead of lines.
    pub(crate) fn shows_keys(&self) -> bool {
        self.shows_keys
    }

    /// The treatment of lines without a key.
    pub(crate) fn keyless(&self) -> Keyless {
        self.keyless.unwrap_or_default()
    }

    /// The records of an input, if lines are records.
    pub(crate) fn records(&self) -> Option<Records> {
        let separator = self.separator.unwrap_or(b',');
        let records = || {
            Records::new(
                &self.csv_key,
                self.csv_header,
                separator,
                self.lines.terminator(),
            )
        };
        (!self.csv_key.is_empty()).then(records)
    }

    /// Returns whether keys are unchanged parts of their lines, and lines are printed.
    pub(crate) fn as_they_stand(&self) -> bool {
        let is_sought =
            self.regex.is_some() || !self.csv_key.is_empty() || !self.json_key.is_empty();
        let is_changed = self.ignore_case || self.key_type != KeyType::Bytes;
        !is_sought && !is_changed && self.fields.len() <= 1 && !self.shows_keys
    }

    /// Returns whether keys are whole lines, so that every line has one.
    pub(crate) fn are_lines(&self) -> bool {
        self.as_they_stand() && self.fields.is_empty() && self.bytes.is_none()
    }

    /// The key of a line that ends in the terminator, if it has one.
    #[inline]
    pub(crate) fn of<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let line = self.content(line);
        if let Some(span) = self.fields.first() {
            return self.field(line, *span);
        }
        if let Some(span) = self.bytes {
            return span.bytes(line);
        }
        Some(line)
    }

    /// The line without its end.
    #[inline]
    fn content<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let line = &line[..line.len() - 1];
        match self.crlf {
            true => line.strip_suffix(b"\r").unwrap_or(line),
            false => line,
        }
    }

    #[inline]
    fn field<'a>(&self, line: &'a [u8], span: Span) -> Option<&'a [u8]> {
        match self.separator {
            Some(separator) => span.between(line, separator),
            None => span.between_blanks(line),
        }
    }

    /// Calls `take` with each part of the key of a line, in the order they were asked for.
    fn parts(
        &self,
        line: &[u8],
        records: Option<&Records>,
        mut take: impl FnMut(&[u8]) -> Result<(), NoKey>,
    ) -> Result<(), NoKey> {
        if let Some(records) = records {
            return records.key()?.iter().try_for_each(|value| take(value));
        }
        let content = self.content(line);
        if let Some(regex) = &self.regex {
            return take(matched(regex, content)?);
        }
        if !self.json_key.is_empty() {
            let mut paths = self.json_key.iter();
            return paths.try_for_each(|path| take(path.find(content)?.as_bytes()));
        }
        if let Some(span) = self.bytes {
            let lacks = || lacks(content, "byte", span);
            return take(span.bytes(content).ok_or_else(lacks)?);
        }
        if self.fields.is_empty() {
            return take(content);
        }
        self.fields.iter().try_for_each(|span| {
            let lacks = || lacks(content, "field", *span);
            take(self.field(content, *span).ok_or_else(lacks)?)
        })
    }

    /// Appends the bytes that the key of a line stands for, and the text to print. Each of several parts follows its
    /// length in 64 bits, little-endian, as in keys of the library that are tuples.
    pub(crate) fn append(
        &self,
        line: &[u8],
        records: Option<&Records>,
        bytes: &mut Vec<u8>,
        shown: &mut Vec<u8>,
    ) -> Result<(), NoKey> {
        let is_tuple = self
            .fields
            .len()
            .max(self.csv_key.len())
            .max(self.json_key.len())
            > 1;
        let mut is_first = true;
        self.parts(line, records, |part| {
            let start = bytes.len();
            if is_tuple {
                bytes.extend_from_slice(&[0; 8]);
            }
            self.encode(part, bytes)?;
            if is_tuple {
                let length = (bytes.len() - start - 8) as u64;
                bytes[start..start + 8].copy_from_slice(&length.to_le_bytes());
            }
            if self.shows_keys {
                if !is_first {
                    shown.push(self.joint());
                }
                self.show(part, is_tuple, shown)?;
            }
            is_first = false;
            Ok(())
        })?;
        if self.shows_keys {
            shown.push(self.lines.terminator());
        }
        Ok(())
    }

    /// Appends the bytes that a part of a key stands for.
    fn encode(&self, part: &[u8], bytes: &mut Vec<u8>) -> Result<(), NoKey> {
        let text = || {
            let text = str::from_utf8(part).ok().map(str::trim);
            text.ok_or_else(|| self.wrong())
        };
        match self.key_type {
            KeyType::Bytes => {
                let start = bytes.len();
                bytes.extend_from_slice(part);
                if self.ignore_case {
                    bytes[start..].make_ascii_lowercase();
                }
            }
            KeyType::Long => {
                let number: i64 = text()?.parse().map_err(|_| self.wrong())?;
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            KeyType::Int => {
                let number: i32 = text()?.parse().map_err(|_| self.wrong())?;
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            KeyType::Utf16 => {
                let text = str::from_utf8(part).map_err(|_| self.wrong())?;
                let folded = self.ignore_case.then(|| text.to_ascii_lowercase());
                let units = folded.as_deref().unwrap_or(text).encode_utf16();
                bytes.extend(units.flat_map(u16::to_le_bytes));
            }
        }
        Ok(())
    }

    /// The refusal of a key that is not of the type. It does not quote the key: the file may be the wrong one, with a secret.
    fn wrong(&self) -> NoKey {
        let expected = match self.key_type {
            KeyType::Long => "a decimal number of 64 bits, as --key-type long needs",
            KeyType::Int => "a decimal number of 32 bits, as --key-type int needs",
            _ => "UTF-8, as --key-type utf16 needs",
        };
        NoKey::Wrong(format!("its key is not {expected}"))
    }

    /// The byte that is printed between the parts of a key.
    fn joint(&self) -> u8 {
        let unless_given = match (&self.csv_key[..], &self.fields[..]) {
            ([], []) => b'\t',
            ([], _) => b' ',
            _ => b',',
        };
        self.separator.unwrap_or(unless_given)
    }

    /// Appends the text to print for a part of a key: with quotes only among several columns.
    fn show(&self, part: &[u8], is_tuple: bool, shown: &mut Vec<u8>) -> Result<(), NoKey> {
        if memchr::memchr(self.lines.terminator(), part).is_some() {
            let why = "the key has a line end in it, and --print key prints one on each line";
            return Err(NoKey::Wrong(why.into()));
        }
        let is_special = |byte: &u8| matches!(*byte, b'"' | b'\r') || *byte == self.joint();
        if !is_tuple || self.csv_key.is_empty() || !part.iter().any(is_special) {
            shown.extend_from_slice(part);
            return Ok(());
        }
        shown.push(b'"');
        for byte in part {
            if *byte == b'"' {
                shown.push(b'"');
            }
            shown.push(*byte);
        }
        shown.push(b'"');
        Ok(())
    }

    /// Returns whether all of these lines, the first of an input, end in a carriage return that is part of their keys.
    pub(crate) fn keeps_returns<'a>(&self, lines: impl Iterator<Item = &'a [u8]>) -> bool {
        let is_number = matches!(self.key_type, KeyType::Long | KeyType::Int);
        let is_free =
            self.crlf || is_number || !self.csv_key.is_empty() || !self.json_key.is_empty();
        if is_free || self.lines.terminator() != b'\n' {
            return false;
        }
        let mut kept = 0;
        let mut all = lines.take(FIRST_LINES).map(|line| {
            let mut keeps = false;
            let parts = self.parts(line, None, |part| {
                keeps |= part.ends_with(b"\r");
                Ok(())
            });
            kept += usize::from(keeps);
            line.ends_with(b"\r\n") && (keeps || parts.is_err())
        });
        all.all(|keeps| keeps) && kept > 0
    }
}

/// The lines that are looked at to see how the lines of a file end.
const FIRST_LINES: usize = 100;

/// Why a line has no key in a span of its bytes or fields.
fn lacks(line: &[u8], what: &str, span: Span) -> NoKey {
    NoKey::Missing(match line.is_empty() {
        true => "it is empty".into(),
        false => format!("it has no {what} {}", span.first()),
    })
}

/// The match of the group in a regular expression, or of all of it when it has no group. An empty match is not a key: `\d*`
/// matches nothing at the beginning of every line.
fn matched<'a>(regex: &Regex, line: &'a [u8]) -> Result<&'a [u8], NoKey> {
    let found = match regex.captures_len() {
        1 => regex.find(line),
        _ => regex.captures(line).and_then(|captures| captures.get(1)),
    };
    match found {
        Some(found) if !found.is_empty() => Ok(found.as_bytes()),
        Some(_) => Err(NoKey::Missing(format!("`{regex}` matches nothing of it"))),
        None => Err(NoKey::Missing(format!("`{regex}` does not match"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(args: &KeyArgs, line: &str) -> String {
        let key = args.of(line.as_bytes()).expect("a whole line");
        String::from_utf8(key.to_vec()).expect("of a string")
    }

    #[test]
    fn only_one_carriage_return_is_dropped_and_only_when_asked() {
        let crlf = KeyArgs {
            crlf: true,
            ..KeyArgs::default()
        };
        assert_eq!(key(&crlf, "a\r\r\n"), "a\r");
        assert_eq!(key(&KeyArgs::default(), "a\r\n"), "a\r");
    }
}
