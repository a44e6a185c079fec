//! Parts of a line by their number: fields and bytes.

/// First and last, counted from 1; the last may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    first: usize,
    last: usize,
}

impl Span {
    fn parse(text: &str, between: char, expected: &str) -> Result<Span, String> {
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

    /// The number of the first.
    pub(crate) fn first(self) -> usize {
        self.first
    }

    /// The span in words that stay the same: they are part of what is saved about a run.
    pub(crate) fn in_words(&self) -> String {
        format!("{}-{}", self.first, self.last)
    }

    /// Bytes from the first to the last, or to the end of the line; nothing when that lacks the first.
    pub(crate) fn bytes(self, line: &[u8]) -> Option<&[u8]> {
        let end = line.len().min(self.last);
        line.get(self.first - 1..end)
            .filter(|bytes| !bytes.is_empty())
    }

    /// Fields from the first to the last of the span, with the separators between them; nothing when the line lacks
    /// the first. An empty line has no fields.
    pub(crate) fn between(self, line: &[u8], separator: u8) -> Option<&[u8]> {
        let mut start = 0;
        let mut field = 1;
        for end in memchr::memchr_iter(separator, line) {
            if field == self.last {
                return Some(&line[start..end]);
            }
            field += 1;
            if field == self.first {
                start = end + 1;
            }
        }
        (field >= self.first && !line.is_empty()).then(|| &line[start..])
    }

    /// Fields between runs of blanks, as awk has them; nothing when the line lacks the first of the span.
    pub(crate) fn between_blanks(self, line: &[u8]) -> Option<&[u8]> {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let mut at = 0;
        let mut start = None;
        let mut end = 0;
        for field in 1.. {
            at += line[at..].iter().take_while(|byte| blank(byte)).count();
            if at == line.len() {
                break;
            }
            if field == self.first {
                start = Some(at);
            }
            at += line[at..].iter().take_while(|byte| !blank(byte)).count();
            end = at;
            if field == self.last {
                break;
            }
        }
        start.map(|start| &line[start..end])
    }
}

/// Reads a range of fields.
pub(crate) fn fields(text: &str) -> Result<Span, String> {
    Span::parse(text, ',', "a field N, a range N,M or N,")
}

/// Reads a range of bytes.
pub(crate) fn bytes(text: &str) -> Result<Span, String> {
    Span::parse(text, '-', "a byte N, a range N-M or N-")
}

/// Reads what separates fields.
pub(crate) fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        _ => Err(format!("`{text}` is not one byte, `\\t` or `\\0`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_as_asked() {
        for (fields, separator, line, expected) in [
            ("1", None, "a b c", Some("a")),
            ("2", None, "  a \t b c", Some("b")),
            ("2,3", None, "a  b  c  d", Some("b  c")),
            ("2,", None, "a b c  ", Some("b c")),
            ("3,9", None, "a b c", Some("c")),
            ("4", None, "a b c", None),
            ("1", None, "", None),
            ("1", None, " \t", None),
            ("1", Some(b','), ",b,c", Some("")),
            ("2", Some(b','), "a,b,c", Some("b")),
            ("2,3", Some(b','), "a,b,,d", Some("b,")),
            ("3,", Some(b','), "a,b,c,d", Some("c,d")),
            ("4", Some(b','), "a,b,c", None),
            ("3", Some(b','), "a,b,", Some("")),
            ("1", Some(b','), "", None),
        ] {
            let span = super::fields(fields).expect("valid");
            let found = match separator {
                Some(separator) => span.between(line.as_bytes(), separator),
                None => span.between_blanks(line.as_bytes()),
            };
            let expected = expected.map(str::as_bytes);
            assert_eq!(found, expected, "{fields} of {line:?}");
        }
    }

    #[test]
    fn byte_ranges_end_with_the_line() {
        for (range, line, expected) in [
            ("1-3", "abcdef", Some("abc")),
            ("3-", "abcdef", Some("cdef")),
            ("2", "abcdef", Some("b")),
            ("5-9", "abc", None),
            ("4-", "abc", None),
            ("3-9", "abc", Some("c")),
        ] {
            let span = super::bytes(range).expect("valid");
            assert_eq!(
                span.bytes(line.as_bytes()),
                expected.map(str::as_bytes),
                "{range} of {line:?}"
            );
        }
    }

    #[test]
    fn spans_that_are_none_are_refused() {
        for text in ["0", "", "x", "3,2", ",3", "1,2,3"] {
            assert!(fields(text).is_err(), "{text}");
        }
        assert!(separator("ab").is_err() && separator("").is_err());
    }
}
