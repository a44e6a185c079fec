//! Lines that are made together with what their key must be: the model reads no CSV and no JSON.

use mayhap_testing::random::Random;

use super::options::{COLUMNS, Choice, KeyType, Options, PATHS, Span};

/// A line without its end.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) bytes: Vec<u8>,
    pub(super) key: Found,
}

/// The key of a line, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Each part in turn, or that it is missing.
    Parts(Vec<Option<Vec<u8>>>),
    /// The line is the header of a table.
    Header,
    /// The line ends the run, whatever is done with lines that have no key.
    Stop,
}

/// Which bytes words are made of.
#[derive(Debug, Clone, Copy)]
enum Style {
    Letters,
    Umlauts,
    Bytes,
    Long,
    Messy,
}

/// Makes the lines of an input.
pub(super) struct Maker<'a> {
    options: &'a Options,
    style: Style,
    /// The frequency of carriage returns at the ends of lines: 0 never, 1 always, else now and then.
    returns: u64,
    /// True when the same word is written in another case now and then.
    cases: bool,
}

impl Maker<'_> {
    pub(super) fn draw<'a>(random: &mut Random, options: &'a Options) -> Maker<'a> {
        let needs_text =
            options.key_type == KeyType::Utf16 || matches!(options.choice, Choice::Json(_));
        let style = match random.below(8) {
            0 => Style::Umlauts,
            1 if needs_text => Style::Umlauts,
            1 => Style::Bytes,
            2 => Style::Long,
            3 | 4 => Style::Messy,
            _ => Style::Letters,
        };
        let is_csv_of_nul = options.zero && matches!(options.choice, Choice::Csv(_));
        Maker {
            options,
            style,
            returns: match random.below(6) {
                _ if is_csv_of_nul => 0,
                0 => 1,
                1 => 2,
                _ => 0,
            },
            cases: random.once_in(3),
        }
    }

    /// The header of each file, where files have one.
    pub(super) fn header(&self) -> Option<Line> {
        let separator = char::from(self.csv_separator()).to_string();
        let names = COLUMNS.map(|name| if name == "note" { "\"note\"" } else { name });
        self.options.has_header.then(|| Line {
            bytes: names.join(&separator).into_bytes(),
            key: Found::Header,
        })
    }

    /// The line of a number: lines of one number have the same key, but for case.
    pub(super) fn line(&self, random: &mut Random, id: u64) -> Line {
        let mut line = match &self.options.choice {
            Choice::Csv(columns) => self.record(random, id, columns),
            Choice::Json(paths) => self.object(random, id, paths),
            Choice::Regex(pattern) => self.matching(random, id, *pattern),
            _ => Line {
                bytes: match self.options.key_type {
                    KeyType::Long | KeyType::Int => self.decimal(random, id),
                    _ => self.fields(random, id),
                },
                key: Found::Stop,
            },
        };
        if self.returns == 1 || self.returns == 2 && random.once_in(2) {
            line.bytes.push(b'\r');
        }
        if let Some(key) = self.standing(&line.bytes) {
            line.key = Found::Parts(key);
        }
        line
    }

    /// The key of a line that is some of its bytes, if it is: its parts, of which it may lack some.
    pub(super) fn standing(&self, line: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
        let content = match line.strip_suffix(b"\r") {
            Some(content) if self.options.crlf => content,
            _ => line,
        };
        match &self.options.choice {
            Choice::Whole => Some(vec![Some(content.to_vec())]),
            Choice::Bytes(span) => {
                let bytes: Vec<_> = content.iter().map(std::slice::from_ref).collect();
                Some(vec![cut(&bytes, *span).map(|bytes| bytes.concat())])
            }
            Choice::Fields(spans) => {
                let fields = spans.iter().map(|span| match self.options.separator {
                    Some(separator) => {
                        let fields = content.split(|byte| *byte == separator);
                        let fields: Vec<&[u8]> = fields.filter(|_| !content.is_empty()).collect();
                        cut(&fields, *span).map(|fields| fields.join(&separator))
                    }
                    None => between_blanks(content, *span),
                });
                Some(fields.collect())
            }
            Choice::Csv(_) | Choice::Json(_) | Choice::Regex(_) => None,
        }
    }

    fn csv_separator(&self) -> u8 {
        self.options.separator.unwrap_or(b',')
    }

    /// The word of a number.
    fn word(&self, random: &mut Random, id: u64) -> Vec<u8> {
        let mut word = match (self.style, id) {
            (_, 0) => Vec::new(),
            (Style::Letters, _) => format!("Word{id}").into_bytes(),
            (Style::Umlauts, _) => format!("Grüße{id}€").into_bytes(),
            (Style::Bytes, _) => [&[0xE4, 0x80, 0xFF][..], id.to_string().as_bytes()].concat(),
            (Style::Long, _) => format!("{}{id}", "long".repeat(id as usize % 90)).into_bytes(),
            (Style::Messy, _) => {
                let odd = [
                    " ", ",", ";", "\"", "\\", "\t", "|", "\"\"", "'", "x", "  ", ", ",
                ];
                let at = |shift: u32| odd[(id >> shift) as usize % odd.len()];
                format!("{}{id}{}m{}", at(0), at(3), at(5)).into_bytes()
            }
        };
        if self.cases && random.once_in(3) {
            word.make_ascii_uppercase();
        }
        word
    }

    /// A few words, of which the first are the number's.
    fn fields(&self, random: &mut Random, id: u64) -> Vec<u8> {
        let separator = match (&self.options.choice, self.options.separator) {
            (Choice::Fields(_), Some(separator)) => separator,
            (Choice::Fields(_), None) => b"  \t"[random.below(3) as usize],
            _ => return self.word(random, id),
        };
        let mut line = self.word(random, id);
        for field in 1..random.below(6) {
            line.push(separator);
            let id = if field < 3 {
                id / (1 + field)
            } else {
                random.below(3)
            };
            line.extend(self.word(random, id));
        }
        line
    }

    /// A decimal number as somebody may write it.
    fn decimal(&self, random: &mut Random, id: u64) -> Vec<u8> {
        let number = match random.below(6) {
            0 => format!("+{id}"),
            1 => format!("00{id}"),
            2 => format!(" {id} "),
            _ => id.to_string(),
        };
        let number = match id % 5 {
            0 if id > 0 => format!("-{id}"),
            _ => number,
        };
        let number = match random.below(40_000) {
            0 => "99999999999999999999".to_owned(),
            1 => "1x".to_owned(),
            _ => number,
        };
        match &self.options.choice {
            Choice::Fields(_) => format!("x,{number},y"),
            _ => number,
        }
        .into_bytes()
    }

    /// A record of CSV, which may lack columns.
    fn record(&self, random: &mut Random, id: u64, columns: &[(usize, bool)]) -> Line {
        let width = match random.below(50) {
            0 => random.below(4) as usize,
            _ => COLUMNS.len(),
        };
        let values: Vec<Vec<u8>> = (0..width as u64)
            .map(|column| {
                let mut value = self.word(random, id / (1 + column));
                if column == 3 && random.once_in(20) {
                    value.push(b'\n');
                }
                value
            })
            .collect();
        let mut bytes = Vec::new();
        for (column, value) in values.iter().enumerate() {
            if column > 0 {
                bytes.push(self.csv_separator());
            }
            bytes.extend(self.quoted(random, value));
        }
        // A line of nothing has no column at all.
        let width = if bytes.is_empty() { 0 } else { width };
        let parts = match columns.iter().all(|(column, _)| *column < width) {
            true => columns
                .iter()
                .map(|(column, _)| Some(values[*column].clone()))
                .collect(),
            false => vec![None],
        };
        Line {
            bytes,
            key: Found::Parts(parts),
        }
    }

    /// A value of CSV, in quotes where it needs them, and sometimes where it does not.
    fn quoted(&self, random: &mut Random, value: &[u8]) -> Vec<u8> {
        let special = [
            self.csv_separator(),
            b'"',
            b'\n',
            b'\r',
            self.options.terminator(),
        ];
        let has = |special: &[u8]| value.iter().any(|byte| special.contains(byte));
        let is_inner_quote = has(b"\"") && value[0] != b'"' && !has(&[special[0], b'\n', b'\r', 0]);
        if is_inner_quote && random.once_in(2) || !has(&special) && !random.once_in(3) {
            return value.to_vec();
        }
        let mut quoted = vec![b'"'];
        for byte in value {
            quoted.extend(std::iter::repeat_n(
                *byte,
                if *byte == b'"' { 2 } else { 1 },
            ));
        }
        quoted.push(b'"');
        quoted
    }

    /// An object of JSON, or what is not one.
    fn object(&self, random: &mut Random, id: u64, paths: &[usize]) -> Line {
        let values: Vec<(String, Option<Vec<u8>>)> = (0..PATHS.len() as u64)
            .map(|path| self.value(random, id / (1 + path)))
            .collect();
        let blank = if self.options.zero {
            "\n "
        } else {
            random.pick(&["", " ", "\t"])
        };
        let mut fields = [
            format!("\"id\"{blank}:{}", values[0].0),
            format!("\"user\":{{\"n\":[{{}}],\"name\":{blank}{}}}", values[1].0),
            format!("\"tags\":[{blank}\"x\",{}{blank}]", values[2].0),
            format!("\"a.b\":{}", values[3].0),
            "\"noise\":[1,{\"id\":2}]".to_owned(),
        ];
        for end in (1..fields.len()).rev() {
            fields.swap(end, random.below(end as u64 + 1) as usize);
        }
        let text = format!("{blank}{{{}}}{blank}", fields.join(","));
        match random.below(100) {
            0 => Line {
                bytes: random
                    .pick(&["", "null", "[1", "{\"id\":}", "{\"id\":1}}", "no"])
                    .as_bytes()
                    .to_vec(),
                key: Found::Parts(vec![None]),
            },
            _ => Line {
                bytes: text.into_bytes(),
                key: Found::Parts(paths.iter().map(|path| values[*path].1.clone()).collect()),
            },
        }
    }

    /// A JSON value, and the key that it is, if it is one.
    fn value(&self, random: &mut Random, id: u64) -> (String, Option<Vec<u8>>) {
        let plain = |text: String| (text.clone(), Some(text.into_bytes()));
        match random.below(100) {
            0 => {
                return (
                    random.pick(&["null", "{}", "[]", "{\"id\":1}"]).to_owned(),
                    None,
                );
            }
            1 => return plain(random.pick(&["true", "false"]).to_owned()),
            _ => {}
        }
        match id % 7 {
            3 => plain(id.to_string()),
            4 => plain(format!("-{id}.50e+3")),
            _ => {
                let word = String::from_utf8(self.word(random, id)).expect("a style of text");
                let word = if id % 7 == 5 {
                    format!("{word}\n🦀")
                } else {
                    word
                };
                (json_text(random, &word), Some(word.into_bytes()))
            }
        }
    }

    /// A line that a pattern finds its key in, or not.
    fn matching(&self, random: &mut Random, id: u64, pattern: usize) -> Line {
        let noise = random.pick(&["", "abc ", "\u{e4} - ", "use r= "]);
        let rest = random.pick(&["", " rest", ";a=b", " \u{20ac}"]);
        let (before, key) = match pattern {
            0 => ("user=", format!("W{id}")),
            _ => ("n", id.to_string()),
        };
        let key = match self.cases && random.once_in(3) {
            true => key.to_lowercase(),
            false => key,
        };
        let is_missing = random.once_in(40);
        let found = if is_missing {
            String::new()
        } else {
            format!("{before}{key}")
        };
        let mut bytes = format!("{noise}{found}{rest}").into_bytes();
        if self.options.key_type == KeyType::Bytes && random.once_in(5) {
            bytes.extend(b" \xFF\xFE");
        }
        Line {
            bytes,
            key: Found::Parts(vec![(!is_missing).then(|| key.into_bytes())]),
        }
    }
}

/// The pieces of a span, if there is a first.
fn cut<'a, 'b>(pieces: &'a [&'b [u8]], span: Span) -> Option<&'a [&'b [u8]]> {
    let end = span.last.unwrap_or(usize::MAX).min(pieces.len());
    (span.first <= pieces.len()).then(|| &pieces[span.first - 1..end])
}

/// The fields of a span between runs of blanks, with the blanks that are between them, if there is a first.
fn between_blanks(content: &[u8], span: Span) -> Option<Vec<u8>> {
    let is_blank = |at: usize| matches!(content.get(at), None | Some(b' ' | b'\t'));
    let starts: Vec<usize> = (0..content.len())
        .filter(|at| !is_blank(*at) && (*at == 0 || is_blank(at - 1)))
        .collect();
    let ends: Vec<usize> = (1..=content.len())
        .filter(|at| is_blank(*at) && !is_blank(at - 1))
        .collect();
    let last = span.last.unwrap_or(usize::MAX).min(ends.len());
    let start = starts.get(span.first - 1)?;
    Some(content[*start..ends[last - 1]].to_vec())
}

/// A string of JSON, with more escapes than it needs.
fn json_text(random: &mut Random, text: &str) -> String {
    let mut json = String::from('"');
    for letter in text.chars() {
        let must = matches!(letter, '"' | '\\' | '\0'..='\u{1f}');
        match letter {
            '\n' if random.once_in(2) => json.push_str("\\n"),
            '"' | '\\' if random.once_in(2) => json.extend(['\\', letter]),
            _ if must || random.once_in(30) => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    json.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => json.push(letter),
        }
    }
    json.push('"');
    json
}
