//! Which bytes of a line are its key.

use clap::Args;

use crate::amounts::{self, show_bytes};
use crate::block::BLOCK_BYTES;
use crate::failure::{Failure, Result};

/// The longest line unless another is given: longer ones are rather a small file that unpacks to a huge one, or
/// a file that is not made of lines.
const LONGEST_LINE: u64 = 1 << 30;

/// Of a memory budget, what one line may take.
const SHARE_OF_A_LINE: u64 = 16;

/// How lines end, and how long they may be.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct LineArgs {
    /// Lines end in NUL, not in newline, on input and output
    #[arg(short = 'z', visible_short_alias = '0', long = "zero-terminated")]
    zero: bool,

    /// The longest line that is read; one that is longer is an error. 1 GiB unless given, at least 256 KiB
    #[arg(long, value_name = "SIZE", value_parser = longest_line)]
    max_line: Option<u64>,
}

fn longest_line(text: &str) -> std::result::Result<u64, String> {
    let size = amounts::bytes(text)?;
    match size >= BLOCK_BYTES as u64 {
        true => Ok(size),
        false => Err(format!(
            "`{text}` is less than the {} that are read at a time",
            show_bytes(BLOCK_BYTES as u64)
        )),
    }
}

impl LineArgs {
    /// The byte that ends a line.
    pub(crate) fn terminator(&self) -> u8 {
        if self.zero { 0 } else { b'\n' }
    }

    /// The bytes of the longest line, without its end.
    pub(crate) fn longest(&self) -> usize {
        let longest = self.max_line.unwrap_or(LONGEST_LINE);
        // Room for the end of it must be an address too.
        usize::try_from(longest)
            .unwrap_or(usize::MAX)
            .min(usize::MAX - 1)
    }

    /// Keeps lines to a share of a memory budget, unless their length was given. Returns what is left of it.
    pub(crate) fn keep_to(&mut self, memory: u64) -> u64 {
        let share = memory / SHARE_OF_A_LINE;
        self.max_line.get_or_insert(share.max(BLOCK_BYTES as u64));
        // A key that is not in the line as it stands takes as much again.
        memory - 2 * share
    }
}

/// How lines end, and what of a line is its key.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct KeyArgs {
    #[command(flatten)]
    pub(crate) lines: LineArgs,

    /// A carriage return before the newline is no part of the key
    #[arg(long)]
    crlf: bool,

    /// The key is field N, or fields N to M, counted from 1; `N,` is field N to the end of the line
    #[arg(short = 'k', long = "key", value_name = "N[,M]", value_parser = fields)]
    fields: Option<Span>,

    /// What separates fields: one byte, or `\t`; runs of blanks unless given
    #[arg(short = 't', long, value_name = "BYTE", value_parser = separator)]
    separator: Option<u8>,

    /// The key is bytes N to M of the line, counted from 1; `N-` to its end
    #[arg(short = 'b', long, value_name = "N-M", value_parser = bytes, conflicts_with = "fields")]
    bytes: Option<Span>,

    /// Keys are the same that differ only in the case of ASCII letters
    #[arg(short = 'i', long)]
    ignore_case: bool,

    /// What the bytes of a key are: for filters of programs that insert numbers
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    key_type: KeyType,
}

/// What the line of a key stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum KeyType {
    /// The bytes of the line
    #[default]
    Bytes,
    /// A decimal number of 64 bits, little-endian, as Guava's longFunnel
    Long,
    /// A decimal number of 32 bits, little-endian, as Guava's integerFunnel
    Int,
    /// The UTF-16 of the line, as Guava's unencodedCharsFunnel
    Utf16,
}

/// First and last, counted from 1; the last may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: usize,
    last: usize,
}

impl Span {
    fn parse(text: &str, between: char, expected: &str) -> std::result::Result<Span, String> {
        let wrong = || format!("`{text}` is not {expected}, counted from 1");
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let (first, last) = match text.split_once(between) {
            None => (number(text)?, number(text)?),
            Some((first, "")) => (number(first)?, usize::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
        };
        if first == 0 || last < first {
            return Err(wrong());
        }
        Ok(Span { first, last })
    }
}

fn fields(text: &str) -> std::result::Result<Span, String> {
    Span::parse(text, ',', "a field N, a range N,M or N,")
}

fn bytes(text: &str) -> std::result::Result<Span, String> {
    Span::parse(text, '-', "a byte N, a range N-M or N-")
}

fn separator(text: &str) -> std::result::Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        _ => Err(format!("`{text}` is not one byte, `\\t` or `\\0`")),
    }
}

impl KeyArgs {
    /// Whole lines as keys.
    pub(crate) fn whole(lines: LineArgs) -> KeyArgs {
        KeyArgs {
            lines,
            ..KeyArgs::default()
        }
    }

    /// Which keys these are, in words that stay the same: they are part of what is saved about a run.
    pub(crate) fn in_words(&self) -> String {
        let span = |span: Option<Span>| match span {
            Some(Span { first, last }) => format!("{first}-{last}"),
            None => "all".into(),
        };
        let key_type = match self.key_type {
            KeyType::Bytes => "bytes",
            KeyType::Long => "long",
            KeyType::Int => "int",
            KeyType::Utf16 => "utf16",
        };
        format!(
            "zero {}, crlf {}, fields {}, separator {:?}, bytes {}, ignore case {}, {key_type}",
            self.lines.zero,
            self.crlf,
            span(self.fields),
            self.separator,
            span(self.bytes),
            self.ignore_case,
        )
    }

    /// The byte that ends a line.
    pub(crate) fn terminator(&self) -> u8 {
        self.lines.terminator()
    }

    /// Whether keys are bytes of the line as they stand there.
    pub(crate) fn as_they_stand(&self) -> bool {
        !self.ignore_case && self.key_type == KeyType::Bytes
    }

    /// The key in a line that ends in the terminator.
    #[inline]
    pub(crate) fn of<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let mut line = &line[..line.len() - 1];
        if self.crlf {
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        if let Some(span) = self.fields {
            return match self.separator {
                Some(separator) => between(line, span, separator),
                None => between_blanks(line, span),
            };
        }
        if let Some(span) = self.bytes {
            let end = line.len().min(span.last);
            return line.get(span.first - 1..end).unwrap_or_default();
        }
        line
    }

    /// Appends the bytes that the key of a line stands for.
    pub(crate) fn append(&self, line: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
        let key = self.of(line);
        let text = || {
            let text = str::from_utf8(key).ok().map(str::trim);
            text.ok_or_else(|| self.wrong(key))
        };
        match self.key_type {
            KeyType::Bytes => {
                let start = bytes.len();
                bytes.extend_from_slice(key);
                if self.ignore_case {
                    bytes[start..].make_ascii_lowercase();
                }
            }
            KeyType::Long => {
                let number: i64 = text()?.parse().map_err(|_| self.wrong(key))?;
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            KeyType::Int => {
                let number: i32 = text()?.parse().map_err(|_| self.wrong(key))?;
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            KeyType::Utf16 => {
                let text = str::from_utf8(key).map_err(|_| self.wrong(key))?;
                let folded = self.ignore_case.then(|| text.to_ascii_lowercase());
                let units = folded.as_deref().unwrap_or(text).encode_utf16();
                bytes.extend(units.flat_map(u16::to_le_bytes));
            }
        }
        Ok(())
    }

    fn wrong(&self, key: &[u8]) -> Failure {
        let expected = match self.key_type {
            KeyType::Long => "a decimal number of 64 bits, as --key-type long needs",
            KeyType::Int => "a decimal number of 32 bits, as --key-type int needs",
            _ => "UTF-8, as --key-type utf16 needs",
        };
        let shown = String::from_utf8_lossy(&key[..key.len().min(60)]);
        Failure::new(format!("the key `{shown}` is not {expected}"))
    }
}

/// Fields from the first to the last of the span, with the separators between them.
fn between(line: &[u8], span: Span, separator: u8) -> &[u8] {
    let mut start = 0;
    let mut field = 1;
    for end in memchr::memchr_iter(separator, line) {
        if field == span.last {
            return &line[start..end];
        }
        field += 1;
        if field == span.first {
            start = end + 1;
        }
    }
    if field < span.first {
        &[]
    } else {
        &line[start..]
    }
}

/// Fields between runs of blanks, as awk has them.
fn between_blanks(line: &[u8], span: Span) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut at = 0;
    let mut start = None;
    let mut end = 0;
    for field in 1.. {
        at += line[at..].iter().take_while(|byte| blank(byte)).count();
        if at == line.len() {
            break;
        }
        if field == span.first {
            start = Some(at);
        }
        at += line[at..].iter().take_while(|byte| !blank(byte)).count();
        end = at;
        if field == span.last {
            break;
        }
    }
    start.map_or(&[], |start| &line[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(args: &KeyArgs, line: &str) -> String {
        let key = args.of(line.as_bytes());
        String::from_utf8(key.to_vec()).expect("of a string")
    }

    #[test]
    fn fields_are_cut_as_asked() {
        for (fields, separator, line, expected) in [
            ("1", None, "a b c\n", "a"),
            ("2", None, "  a \t b c\n", "b"),
            ("2,3", None, "a  b  c  d\n", "b  c"),
            ("2,", None, "a b c  \n", "b c"),
            ("4", None, "a b c\n", ""),
            ("1", Some(b','), ",b,c\n", ""),
            ("2", Some(b','), "a,b,c\n", "b"),
            ("2,3", Some(b','), "a,b,,d\n", "b,"),
            ("3,", Some(b','), "a,b,c,d\n", "c,d"),
            ("4", Some(b','), "a,b,c\n", ""),
            ("3", Some(b','), "a,b,\n", ""),
        ] {
            let args = KeyArgs {
                fields: Some(super::fields(fields).expect("valid")),
                separator,
                ..KeyArgs::default()
            };
            assert_eq!(key(&args, line), expected, "{fields} of {line:?}");
        }
    }

    #[test]
    fn byte_ranges_end_with_the_line() {
        for (range, line, expected) in [
            ("1-3", "abcdef\n", "abc"),
            ("3-", "abcdef\n", "cdef"),
            ("2", "abcdef\n", "b"),
            ("5-9", "abc\n", ""),
            ("3-9", "abc\n", "c"),
        ] {
            let args = KeyArgs {
                bytes: Some(super::bytes(range).expect("valid")),
                ..KeyArgs::default()
            };
            assert_eq!(key(&args, line), expected, "{range} of {line:?}");
        }
    }

    #[test]
    fn spans_that_are_none_are_refused() {
        for text in ["0", "", "x", "3,2", ",3", "1,2,3"] {
            assert!(fields(text).is_err(), "{text}");
        }
        assert!(separator("ab").is_err() && separator("").is_err());
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
