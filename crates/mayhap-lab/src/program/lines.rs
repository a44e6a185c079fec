//! Files of keys: a key per line, read from the beginning as often as needed.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::vec::IntoIter;

use clap::{Args, ValueEnum};
use mayhap_program::amounts::show_bytes;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::input::{Input, Reader};
use mayhap_program::shown::shown_path;

/// The most bytes of a line: a longer one is probably a small file that unpacks to a huge one, or a file that is not
/// made of lines.
const LONGEST_LINE: u64 = 1 << 30;

/// The ends of lines, and the conversion of a line to a key.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct LineArgs {
    /// Lines end in a NUL byte instead of a newline
    #[arg(short = 'z', visible_short_alias = '0', long = "zero-terminated")]
    zero: bool,

    /// Leave a carriage return at the end of a line out of its key
    #[arg(long)]
    crlf: bool,

    /// Ignore ASCII case when comparing keys
    #[arg(short = 'i', long)]
    ignore_case: bool,

    /// The encoding of a key, for schemes of programs that insert numbers or UTF-16
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    key_type: KeyType,
}

/// The meaning of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum KeyType {
    /// The bytes of the line
    #[default]
    Bytes,
    /// A decimal number of 64 bits, little-endian, like Guava's longFunnel
    Long,
    /// A decimal number of 32 bits, little-endian, like Guava's integerFunnel
    Int,
    /// UTF-16, like Guava's unencodedCharsFunnel
    Utf16,
}

impl LineArgs {
    fn terminator(&self) -> u8 {
        if self.zero { 0 } else { b'\n' }
    }

    /// Replaces `key` by the bytes of a line; `None` if the line is not of the type.
    fn encode(&self, line: &[u8], key: &mut Vec<u8>) -> Option<()> {
        key.clear();
        let line = match self.crlf {
            true => line.strip_suffix(b"\r").unwrap_or(line),
            false => line,
        };
        let text = || str::from_utf8(line).ok();
        match self.key_type {
            KeyType::Bytes => {
                key.extend_from_slice(line);
                if self.ignore_case {
                    key.make_ascii_lowercase();
                }
            }
            KeyType::Long => key.extend(text()?.trim().parse::<i64>().ok()?.to_le_bytes()),
            KeyType::Int => key.extend(text()?.trim().parse::<i32>().ok()?.to_le_bytes()),
            KeyType::Utf16 => {
                let folded = self
                    .ignore_case
                    .then(|| text().map(str::to_ascii_lowercase));
                let units = match &folded {
                    Some(text) => text.as_deref()?.encode_utf16(),
                    None => text()?.encode_utf16(),
                };
                key.extend(units.flat_map(u16::to_le_bytes));
            }
        }
        Some(())
    }
}

/// The keys of files, one after another.
pub(crate) struct Lines {
    inputs: IntoIter<Input>,
    reading: Option<Reading>,
    args: LineArgs,
    line: Vec<u8>,
    key: Vec<u8>,
}

/// A file that is being read.
struct Reading {
    name: PathBuf,
    reader: BufReader<Reader>,
    /// The lines read so far.
    count: u64,
}

impl Lines {
    /// Reads the inputs from their beginnings.
    pub(crate) fn new(inputs: &[Input], args: &LineArgs) -> Result<Lines> {
        let inputs: Vec<Input> = inputs.iter().map(Input::again).collect::<Result<_>>()?;
        Ok(Lines {
            inputs: inputs.into_iter(),
            reading: None,
            args: args.clone(),
            line: Vec::new(),
            key: Vec::new(),
        })
    }

    /// Returns the key of the next line; `None` after the last of all files.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let Some(reading) = &mut self.reading else {
                let Some(input) = self.inputs.next() else {
                    return Ok(None);
                };
                self.reading = Some(Reading {
                    name: input.name().to_owned(),
                    reader: BufReader::with_capacity(1 << 18, input.reader(&Default::default())?),
                    count: 0,
                });
                continue;
            };
            self.line.clear();
            if !reading.read(self.args.terminator(), &mut self.line)? {
                self.reading = None;
                continue;
            }
            if self.args.encode(&self.line, &mut self.key).is_none() {
                return Err(reading.wrong("is not of the type that --key-type names"));
            }
            return Ok(Some(&self.key));
        }
    }
}

impl Reading {
    /// Reads the next line without its end; false after the last.
    fn read(&mut self, terminator: u8, line: &mut Vec<u8>) -> Result<bool> {
        let mut bytes = (&mut self.reader).take(LONGEST_LINE + 1);
        let read = bytes.read_until(terminator, line);
        if read.map_err(Failure::file("read", &self.name))? == 0 {
            return Ok(false);
        }
        self.count += 1;
        match line.pop_if(|last| *last == terminator) {
            None if line.len() as u64 > LONGEST_LINE => {
                Err(self.wrong(&format!("is longer than {}", show_bytes(LONGEST_LINE))))
            }
            _ => Ok(true),
        }
    }

    fn wrong(&self, what: &str) -> Failure {
        let (line, name) = (self.count, shown_path(&self.name));
        Failure::new(format!("line {line} of {name} {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn keys(args: &LineArgs, text: &str) -> Result<Vec<Vec<u8>>> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        fs::write(&path, text).expect("writable");
        let mut lines = Lines::new(&Input::open_all(&[path])?, args)?;
        let mut keys = Vec::new();
        while let Some(key) = lines.next()? {
            keys.push(key.to_vec());
        }
        Ok(keys)
    }

    #[test]
    fn a_line_is_a_key_even_if_empty_or_the_last_without_an_end() {
        let plain = LineArgs::default();
        assert_eq!(
            keys(&plain, "A\r\n\nb").expect("keys"),
            [&b"A\r"[..], b"", b"b"]
        );
        let args = LineArgs {
            crlf: true,
            ignore_case: true,
            ..plain
        };
        assert_eq!(
            keys(&args, "A\r\r\nb\n").expect("keys"),
            [&b"a\r"[..], b"b"]
        );
        let zero = LineArgs { zero: true, ..args };
        assert_eq!(keys(&zero, "A\n\0b\0").expect("keys"), [&b"a\n"[..], b"b"]);
    }

    #[test]
    fn keys_are_of_the_requested_type() {
        let of = |key_type| LineArgs {
            key_type,
            ignore_case: true,
            ..LineArgs::default()
        };
        let long = keys(&of(KeyType::Long), " -2\n").expect("a number");
        assert_eq!(long, [[254, 255, 255, 255, 255, 255, 255, 255]]);
        assert_eq!(
            keys(&of(KeyType::Int), "7\n").expect("a number"),
            [[7, 0, 0, 0]]
        );
        assert_eq!(
            keys(&of(KeyType::Utf16), "Aé\n").expect("text"),
            [[b'a', 0, 0xE9, 0]]
        );
        let wrong = keys(&of(KeyType::Int), "7\n2147483648\n").expect_err("too large");
        assert!(wrong.text().starts_with("line 2 of "), "{wrong:?}");
    }
}
