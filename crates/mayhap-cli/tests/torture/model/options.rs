//! Random options of `uniq` that belong together, and words that spoil them.

use mayhap_testing::random::Random;

use super::plan::Plan;

/// Which lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    First,
    Repeats,
    Counts,
    Seconds,
    Singles,
}

impl What {
    /// Returns whether the number of times that a key occurs decides: then hashes are kept, and nothing else can be asked for.
    pub(super) fn counts(self) -> bool {
        matches!(self, What::Counts | What::Seconds | What::Singles)
    }
}

/// The store of the keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Store {
    Hashes,
    Exact,
    Memory(u64),
    Filter(Plan),
    /// A filter in a file, in two runs.
    Seen(Plan),
}

/// A span of fields or bytes, counted from 1; the last may be open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) last: Option<usize>,
}

impl Span {
    fn draw(random: &mut Random, most: u64) -> Span {
        let first = 1 + random.below(most);
        let last = first + random.below(3);
        Span {
            first: first as usize,
            last: (!random.once_in(4)).then_some(last as usize),
        }
    }

    fn word(self, between: char) -> String {
        let Span { first, last } = self;
        match last {
            Some(last) if last == first => first.to_string(),
            Some(last) => format!("{first}{between}{last}"),
            None => format!("{first}{between}"),
        }
    }
}

/// The names of the columns of every table.
pub(super) const COLUMNS: [&str; 4] = ["id", "name", "the city", "note"];

/// The paths of the values in every JSON line.
pub(super) const PATHS: [&str; 4] = ["id", "user.name", "tags.1", r"a\.b"];

/// Patterns, and what they find in lines that are made for them.
pub(super) const PATTERNS: [&str; 2] = [r"user=(\w+)", "[0-9]+"];

/// The part of a line that is its key.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    Whole,
    Bytes(Span),
    Fields(Vec<Span>),
    /// Columns, counted from 0, and whether they are given by name.
    Csv(Vec<(usize, bool)>),
    /// Which of [`PATHS`].
    Json(Vec<usize>),
    /// Which of [`PATTERNS`].
    Regex(usize),
}

/// The bytes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyType {
    Bytes,
    Long,
    Int,
    Utf16,
}

/// The treatment of lines without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyless {
    Error,
    Keep,
    Skip,
}

/// All that is asked for.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) what: What,
    pub(super) store: Store,
    pub(super) choice: Choice,
    pub(super) separator: Option<u8>,
    pub(super) has_header: bool,
    pub(super) zero: bool,
    pub(super) crlf: bool,
    pub(super) ignores_case: bool,
    pub(super) key_type: KeyType,
    pub(super) keyless: Keyless,
    pub(super) prints_keys: bool,
    max_line: Option<u64>,
    output: bool,
    checkpoint: bool,
    threads: u64,
}

impl Options {
    /// Options that belong together, for an input of about this many distinct keys.
    pub(super) fn draw(random: &mut Random, distinct: u64) -> Options {
        let what = match random.below(10) {
            0 => What::Counts,
            1 => What::Seconds,
            2 => What::Singles,
            3 | 4 => What::Repeats,
            _ => What::First,
        };
        let store = match random.below(10) {
            _ if what.counts() => Store::Hashes,
            0 => Store::Exact,
            1 => Store::Hashes,
            2 => Store::Memory(random.number(&[300, 1000, 4000, 20_000, 64 << 20])),
            3..5 => Store::Filter(Plan::draw(random, distinct, false)),
            _ => Store::Seen(Plan::draw(random, distinct, true)),
        };
        let key_type = match random.below(16) {
            0 => KeyType::Long,
            1 => KeyType::Int,
            2 => KeyType::Utf16,
            _ => KeyType::Bytes,
        };
        let choice = choice(random, key_type);
        let separated = matches!(choice, Choice::Fields(_) | Choice::Csv(_));
        let by_name =
            matches!(&choice, Choice::Csv(columns) if columns.iter().any(|column| column.1));
        let is_csv = matches!(choice, Choice::Csv(_));
        let lacking = !matches!(choice, Choice::Whole);
        let is_number = matches!(key_type, KeyType::Long | KeyType::Int);
        Options {
            what,
            separator: match random.below(3) {
                _ if is_number && separated => Some(b','),
                0 if separated => {
                    Some(random.number(&[b';'.into(), b'\t'.into(), b'|'.into()]) as u8)
                }
                _ => None,
            },
            has_header: is_csv && (by_name || random.once_in(3)),
            zero: random.once_in(5),
            crlf: random.once_in(5),
            ignores_case: !is_number && random.once_in(4),
            keyless: match random.below(3) {
                0 if lacking => Keyless::Keep,
                1 if lacking => Keyless::Skip,
                _ => Keyless::Error,
            },
            prints_keys: random.once_in(4),
            max_line: random.once_in(12).then(|| 262_144 + random.below(3000)),
            output: !matches!(store, Store::Seen(_)) && random.once_in(8),
            checkpoint: matches!(store, Store::Seen(_)) && random.once_in(4),
            threads: 1 + random.below(12),
            choice,
            key_type,
            store,
        }
    }

    pub(super) fn terminator(&self) -> u8 {
        if self.zero { 0 } else { b'\n' }
    }

    /// The bytes of the longest line that is read.
    pub(super) fn longest(&self) -> usize {
        let longest = match (self.max_line, &self.store) {
            (Some(longest), _) => longest,
            (None, Store::Memory(memory)) => (memory / 16).max(262_144),
            (None, _) => 1 << 30,
        };
        longest as usize
    }

    /// Returns whether an answer may be wrong, because a filter holds the keys or will.
    pub(super) fn may_lose(&self) -> bool {
        match self.store {
            Store::Hashes | Store::Exact => false,
            Store::Memory(memory) => memory < 1 << 20,
            Store::Filter(_) | Store::Seen(_) => true,
        }
    }

    /// The file that is written, if one is.
    pub(super) fn output(&self) -> Option<&'static str> {
        self.output.then_some("out")
    }

    /// The words on the command line, without the inputs.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = ["uniq", "--json", "--quiet", "--threads"]
            .map(str::to_owned)
            .to_vec();
        words.push(self.threads.to_string());
        words.extend(self.store_words());
        words.extend(self.key_words());
        let mut flag = |given: bool, word: &str| {
            if given {
                words.push(word.to_owned());
            }
        };
        flag(self.what == What::Counts, "-c");
        flag(self.what == What::Seconds, "-d");
        flag(self.what == What::Singles, "-u");
        flag(self.what == What::Repeats, "-v");
        flag(self.prints_keys, "--print=key");
        flag(self.output, "-oout");
        flag(self.checkpoint, "--checkpoint=8K");
        words
    }

    fn store_words(&self) -> Vec<String> {
        match &self.store {
            Store::Hashes => Vec::new(),
            Store::Exact => vec!["--exact".into()],
            Store::Memory(memory) => vec![format!("--memory={memory}")],
            Store::Filter(plan) => plan.words(),
            Store::Seen(plan) => {
                let seen = ["--seen".to_owned(), "seen".to_owned()];
                seen.into_iter().chain(plan.words()).collect()
            }
        }
    }

    fn key_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        match &self.choice {
            Choice::Whole => {}
            Choice::Bytes(span) => words.push(format!("-b{}", span.word('-'))),
            Choice::Fields(spans) => {
                words.extend(spans.iter().map(|span| format!("-k{}", span.word(','))))
            }
            Choice::Csv(columns) => {
                words.extend(columns.iter().map(|(column, by_name)| match by_name {
                    true => format!("--csv-key={}", COLUMNS[*column]),
                    false => format!("--csv-key={}", column + 1),
                }))
            }
            Choice::Json(paths) => words.extend(
                paths
                    .iter()
                    .map(|path| format!("--json-key={}", PATHS[*path])),
            ),
            Choice::Regex(pattern) => words.push(format!("--regex={}", PATTERNS[*pattern])),
        }
        let by_number =
            matches!(&self.choice, Choice::Csv(columns) if columns.iter().all(|column| !column.1));
        let mut flag = |given: bool, word: &str| {
            if given {
                words.push(word.to_owned());
            }
        };
        flag(self.has_header && by_number, "--csv-header");
        flag(self.zero, "-z");
        flag(self.crlf, "--crlf");
        flag(self.ignores_case, "-i");
        flag(self.key_type == KeyType::Long, "--key-type=long");
        flag(self.key_type == KeyType::Int, "--key-type=int");
        flag(self.key_type == KeyType::Utf16, "--key-type=utf16");
        flag(self.keyless == Keyless::Keep, "--keyless=keep");
        flag(self.keyless == Keyless::Skip, "--keyless=skip");
        if let Some(separator) = self.separator {
            let shown = match separator {
                b'\t' => "\\t".to_owned(),
                byte => char::from(byte).to_string(),
            };
            words.push(format!("-t{shown}"));
        }
        if let Some(longest) = self.max_line {
            words.push(format!("--max-line={longest}"));
        }
        words
    }

    /// Words that make the command refuse everything: an option that would change nothing, or two that exclude each
    /// other, or a value that is not one.
    pub(super) fn spoilers(&self) -> Vec<&'static str> {
        let mut words = vec![
            "-k0",
            "-k3,2",
            "-b0",
            "-tab",
            "--max-line=1K",
            "--regex=(",
            "--json-key=a..b",
            "--csv-key=",
            "--rate=2",
            "--rate=0",
            "-n1,5M",
            "--memory=lots",
            "--print=all",
            "--threads=0",
            "--kind=bloom",
            "--scheme=rapidhash",
            "--bits=1000 --hashes=3",
            "no-such-file",
        ];
        if !matches!(self.choice, Choice::Whole) {
            words.push("-b1-");
        }
        if !matches!(self.choice, Choice::Fields(_) | Choice::Csv(_)) {
            words.push("-t,");
        }
        if matches!(self.choice, Choice::Whole) {
            words.extend(["--keyless=skip", "--keyless=keep"]);
        }
        if !matches!(self.choice, Choice::Csv(_)) {
            words.push("--csv-header");
        }
        if self.key_type == KeyType::Bytes {
            words.extend(["--key-type=long -i", "--key-type=int -i"]);
        }
        if self.what.counts() || self.what == What::Repeats {
            words.extend(match self.what {
                What::Counts => ["-d", "-u", "-v"],
                What::Seconds => ["-c", "-u", "-v"],
                What::Singles => ["-c", "-d", "-v"],
                _ => ["-c", "-d", "-u"],
            });
        }
        match &self.store {
            Store::Seen(_) => words.extend(["--exact", "--memory=1M", "-c", "-d", "-u"]),
            Store::Filter(_) => words.extend([
                "--exact",
                "--memory=1M",
                "-c",
                "-d",
                "-u",
                "--grow",
                "--wait",
                "--new-run",
                "--checkpoint",
            ]),
            store => {
                words.extend([
                    "-n10",
                    "--secret-file=secret",
                    "--accept-rate",
                    "--grow",
                    "--wait",
                    "--new-run",
                    "--checkpoint",
                    "--checkpoint=1M",
                ]);
                if *store != Store::Hashes || self.what.counts() {
                    words.extend(["--rate=1%", "-n10 -p1%", "--seen=seen"]);
                }
                match store {
                    Store::Exact => words.extend(["--memory=1M", "-c", "-d", "-u"]),
                    Store::Memory(_) => words.extend(["--exact", "-d"]),
                    _ => {}
                }
            }
        }
        words
    }
}

fn choice(random: &mut Random, key_type: KeyType) -> Choice {
    let number = Span {
        first: 2,
        last: Some(2),
    };
    match random.below(10) {
        0 if matches!(key_type, KeyType::Long | KeyType::Int) => Choice::Fields(vec![number]),
        _ if matches!(key_type, KeyType::Long | KeyType::Int) => Choice::Whole,
        0 => Choice::Bytes(Span::draw(random, 6)),
        1..3 => Choice::Fields(
            (0..1 + random.below(3))
                .map(|_| Span::draw(random, 4))
                .collect(),
        ),
        3..5 => {
            let by_name = random.once_in(2);
            let columns = 0..1 + random.below(2);
            let column = |_| (random.below(4) as usize, by_name || random.once_in(6));
            Choice::Csv(columns.map(column).collect())
        }
        5 => Choice::Json(
            (0..1 + random.below(2))
                .map(|_| random.below(4) as usize)
                .collect(),
        ),
        6 => Choice::Regex(random.below(2) as usize),
        _ => Choice::Whole,
    }
}
