//! Keys in CSV: the values of columns, without their quotes.
//!
//! Records are as RFC 4180 and `csv_core` have them: a quoted value may hold separators, line ends and doubled quotes, so
//! a record may take several lines. Other than there, a quote that is never closed is not taken for a value.

use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};

use crate::lines::NoKey;

/// The bytes of a value that are unpacked at a time.
const PIECE_BYTES: usize = 1 << 10;

/// A column that keys are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Column {
    /// By its number, counted from 1.
    Number(usize),
    /// By its name in the header.
    Name(String),
}

/// Reads a column: digits are its number.
pub(crate) fn column(text: &str) -> Result<Column, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text {
            "" => Err("a column has a number, counted from 1, or a name".into()),
            name => Ok(Column::Name(name.into())),
        };
    }
    match text.parse() {
        Ok(number @ 1..) => Ok(Column::Number(number)),
        _ => Err(format!("`{text}` is not a column, counted from 1")),
    }
}

/// The records of one input.
pub(crate) struct Records {
    reader: Reader,
    terminator: u8,
    /// The places of the wanted columns, counted from 0, in the order they are wanted.
    wanted: Vec<usize>,
    /// The values of these columns in the last record, and how many columns that has.
    values: Vec<Vec<u8>>,
    width: usize,
    /// The columns to be found by a header that was not read yet.
    unread: Option<Vec<Column>>,
}

impl Records {
    /// The records of an input. The first is a header if `has_header`, or if a column is given by its name.
    pub(crate) fn new(
        columns: &[Column],
        has_header: bool,
        separator: u8,
        terminator: u8,
    ) -> Records {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(separator);
        // A carriage return alone ends no line here.
        builder.terminator(Terminator::Any(terminator));
        let by_name = columns
            .iter()
            .any(|column| matches!(column, Column::Name(_)));
        let wanted = columns.iter().map(|column| match column {
            Column::Number(number) => number - 1,
            Column::Name(_) => usize::MAX,
        });
        Records {
            reader: builder.build(),
            terminator,
            wanted: wanted.collect(),
            values: vec![Vec::new(); columns.len()],
            width: 0,
            unread: (has_header || by_name).then(|| columns.to_vec()),
        }
    }

    /// Reads the first record of these bytes. Returns its length with its end, or nothing when it does not end here.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        let Records { wanted, values, .. } = self;
        let wanted = std::mem::take(wanted);
        let mut values = std::mem::take(values);
        for value in &mut values {
            value.clear();
        }
        let length = self.read_each(bytes, |column, piece| {
            for (wanted, value) in wanted.iter().zip(&mut values) {
                if *wanted == column {
                    value.extend_from_slice(piece);
                }
            }
        });
        // The carriage return before a newline is not part of the last value.
        let ends_in_return = match length {
            Some(length) => self.terminator == b'\n' && bytes[..length].ends_with(b"\r\n"),
            None => false,
        };
        for (wanted, value) in wanted.iter().zip(&mut values) {
            if ends_in_return && *wanted + 1 == self.width && value.last() == Some(&b'\r') {
                value.pop();
            }
        }
        self.wanted = wanted;
        self.values = values;
        length
    }

    /// Calls `take` with each piece of each value and the number of its column, and counts the columns.
    fn read_each(&mut self, bytes: &[u8], mut take: impl FnMut(usize, &[u8])) -> Option<usize> {
        self.width = 0;
        // The reader passes over empty lines; here they are lines.
        match bytes {
            [first, ..] if *first == self.terminator => return Some(1),
            [b'\r', b'\n', ..] if self.terminator == b'\n' => return Some(2),
            _ => {}
        }
        let mut output = [0; PIECE_BYTES];
        let mut at = 0;
        while at < bytes.len() {
            let (result, read, written) = self.reader.read_field(&bytes[at..], &mut output);
            at += read;
            take(self.width, &output[..written]);
            match result {
                ReadFieldResult::Field { record_end } => {
                    self.width += 1;
                    if record_end {
                        return Some(at);
                    }
                }
                ReadFieldResult::OutputFull => {}
                ReadFieldResult::InputEmpty | ReadFieldResult::End => break,
            }
        }
        self.reader.reset();
        None
    }

    /// The values that make the key of the last record.
    pub(crate) fn key(&self) -> Result<&[Vec<u8>], NoKey> {
        match (
            self.width,
            self.wanted.iter().find(|wanted| **wanted >= self.width),
        ) {
            (_, None) => Ok(&self.values),
            (0, _) => Err(NoKey::Missing("it is empty".into())),
            (width, Some(wanted)) => Err(NoKey::Missing(format!(
                "it has {width} columns, and the key is in column {}",
                wanted + 1
            ))),
        }
    }

    /// Returns whether the next record is the header.
    pub(crate) fn awaits_header(&self) -> bool {
        self.unread.is_some()
    }

    /// Reads the header, and finds the columns that have a name. Returns its length, nothing when it does not end
    /// here, and what is wrong with it.
    pub(crate) fn read_header(&mut self, bytes: &[u8]) -> Option<Result<usize, String>> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let length = self.read_each(bytes, |column, piece| {
            names.resize_with(column + 1, Vec::new);
            names[column].extend_from_slice(piece);
        })?;
        if self.terminator == b'\n'
            && bytes[..length].ends_with(b"\r\n")
            && let Some(last) = names.last_mut()
        {
            last.pop_if(|byte| *byte == b'\r');
        }
        let columns = self.unread.take().unwrap_or_default();
        for (wanted, column) in self.wanted.iter_mut().zip(&columns) {
            match place_of(column, &names) {
                Ok(place) => *wanted = place,
                Err(why) => return Some(Err(why)),
            }
        }
        Some(Ok(length))
    }
}

/// The place of a column in the header, counted from 0.
fn place_of(column: &Column, names: &[Vec<u8>]) -> Result<usize, String> {
    let name = match column {
        Column::Number(number) => return Ok(number - 1),
        Column::Name(name) => name,
    };
    let mut places = (0..names.len()).filter(|place| names[*place] == name.as_bytes());
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(first), Some(second)) => Err(format!(
            "columns {} and {} are both named `{name}`: give the number, and --csv-header",
            first + 1,
            second + 1
        )),
        // Whose names are not quoted: the file may be another than was meant, with a secret in it.
        (None, _) => Err(format!(
            "there is no column `{name}` among the {} of the header",
            names.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(columns: &[usize], bytes: &[u8]) -> Vec<Option<Vec<String>>> {
        let columns: Vec<_> = columns
            .iter()
            .map(|number| Column::Number(*number))
            .collect();
        let mut records = Records::new(&columns, false, b',', b'\n');
        let mut all = Vec::new();
        let mut at = 0;
        while let Some(length) = records.read(&bytes[at..]) {
            at += length;
            let text = |value: &Vec<u8>| String::from_utf8(value.clone()).expect("UTF-8");
            all.push(records.key().ok().map(|key| key.iter().map(text).collect()));
        }
        assert_eq!(at, bytes.len(), "all of it is records");
        all
    }

    #[test]
    fn values_are_those_between_the_quotes() {
        for (line, second) in [
            ("a,b,c\n", "b"),
            ("a,b\n", "b"),
            ("a,b\r\n", "b"),
            ("a,\n", ""),
            ("a,\r\n", ""),
            ("a,\"b\"\r\n", "b"),
            ("a,\"b\r\"\r\n", "b\r"),
            ("a,\"b\r\"\n", "b\r"),
            ("a,\"x,y\",c\n", "x,y"),
            ("\"a,\"\"\",\"he said \"\"no\"\"\"\n", "he said \"no\""),
            ("\"a\nb\",\"c\r\nd\"\n", "c\r\nd"),
            ("a,5\" pipe\n", "5\" pipe"),
            ("a, \"b\"\n", " \"b\""),
            ("\u{feff}a,b\n", "b"),
        ] {
            assert_eq!(
                values(&[2], line.as_bytes()),
                [Some(vec![second.into()])],
                "{line:?}"
            );
        }
        let long = format!("a,\"{}\"\n", "x\"\"\n".repeat(5000));
        let expected = "x\"\n".repeat(5000);
        assert_eq!(values(&[2], long.as_bytes()), [Some(vec![expected])]);
    }

    #[test]
    fn columns_come_in_the_order_they_are_wanted() {
        let found = values(&[3, 1, 3], b"a,b,c\r\nx,y\n\nd,e,f\n");
        let key = |key: [&str; 3]| Some(key.map(String::from).to_vec());
        assert_eq!(
            found,
            [key(["c", "a", "c"]), None, None, key(["f", "d", "f"])]
        );
    }

    #[test]
    fn a_record_that_does_not_end_is_none_until_it_does() {
        let mut records = Records::new(&[Column::Number(2)], false, b',', b'\n');
        let bytes = b"a,\"b\nc\nd\"\ne,f\n";

        for end in [5, 7, 9] {
            assert_eq!(records.read(&bytes[..end]), None);
        }

        assert_eq!(records.read(bytes), Some(10));
        assert_eq!(records.key().expect("a key"), [b"b\nc\nd".to_vec()]);
        assert_eq!(records.read(&bytes[10..]), Some(4));
        assert_eq!(records.key().expect("a key"), [b"f".to_vec()]);
    }

    #[test]
    fn names_are_found_in_the_header() {
        let named = |name: &str, header: &str| {
            let mut records = Records::new(&[Column::Name(name.into())], false, b';', b'\n');
            assert!(records.awaits_header());
            let length = records.read_header(header.as_bytes());
            length.map(|length| length.map(|_| records.wanted[0]))
        };
        assert_eq!(named("b", "a;b;c\r\n"), Some(Ok(1)));
        assert_eq!(named("c", "a;b;c\r\n"), Some(Ok(2)));
        assert_eq!(named("a", "\u{feff}\"a\";b;c\n"), Some(Ok(0)));
        assert_eq!(named("x\ny", "a;\"x\ny\"\n"), Some(Ok(1)));
        assert_eq!(named("x\ny", "a;\"x\n"), None);
        for (name, header, why) in [
            ("A", "a;b\n", "no column `A` among the 2"),
            ("a", "a;b;a\n", "columns 1 and 3"),
            ("a", "\n", "among the 0"),
        ] {
            let said = named(name, header)
                .expect("it ends")
                .expect_err("no column");
            assert!(said.contains(why), "{said}");
        }
        assert!(column("").is_err() && column("0").is_err());
        assert_eq!(column("12"), Ok(Column::Number(12)));
        assert_eq!(column("2nd"), Ok(Column::Name("2nd".into())));
    }
}
