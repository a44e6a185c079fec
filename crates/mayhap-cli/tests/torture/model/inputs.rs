//! The files of a run: lines of which many repeat, in one file or several, plain or compressed.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::env::{Run, TestEnv};
use mayhap_testing::random::Random;

use super::lines::{Found, Line, Maker};
use super::options::{Choice, Options};

/// The lines of all files, and the files.
pub(super) struct Input {
    /// In the order they are read, headers included.
    pub(super) lines: Vec<Line>,
    files: Vec<File>,
}

struct File {
    /// `-` is standard input.
    name: String,
    bytes: Vec<u8>,
}

/// The approximate number of keys, and the number of lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amount {
    pub(super) distinct: u64,
    pub(super) lines: u64,
}

impl Amount {
    pub(super) fn draw(random: &mut Random) -> Amount {
        let distinct = match random.below(20) {
            0 => random.below(3),
            1 => 3000 + random.below(6000),
            _ => 20 + random.below(1500),
        };
        Amount {
            distinct,
            lines: distinct + distinct * random.below(30) / 10,
        }
    }
}

impl Input {
    /// Draws lines and files. The numbers of lines begin at `first`, so that two inputs may share some.
    pub(super) fn draw(
        random: &mut Random,
        options: &Options,
        amount: Amount,
        first: u64,
        name: &str,
    ) -> Input {
        let maker = Maker::draw(random, options);
        let mut lines: Vec<Line> = numbers(random, amount)
            .into_iter()
            .map(|id| maker.line(random, first + id))
            .collect();
        if matches!(options.choice, Choice::Whole) && random.once_in(10) {
            let length = 262_140 + random.below(3010) as usize;
            let bytes = vec![b'x'; length];
            let key = maker.standing(&bytes).map(Found::Parts);
            let at = random.below(lines.len() as u64 + 1) as usize;
            let key = key.unwrap_or(Found::Stop);
            lines.insert(at, Line { bytes, key });
        }
        for line in &mut lines {
            if line.bytes.len() > options.longest() {
                line.key = Found::Stop;
            }
        }

        let count = match random.below(3) {
            0 => 1 + random.below(5),
            _ => 1,
        };
        let mut input = Input {
            lines: Vec::new(),
            files: Vec::new(),
        };
        let standard = random.below(2 * count);
        let mut rest = lines.into_iter();
        for file in 0..count {
            let length = match file + 1 == count {
                true => rest.len(),
                false => random.below(rest.len() as u64 + 1) as usize,
            };
            let lines: Vec<Line> = maker
                .header()
                .into_iter()
                .chain(rest.by_ref().take(length))
                .collect();
            let bytes = joined(random, &lines, options.terminator());
            input.files.push(File {
                name: match file == standard {
                    true => "-".into(),
                    false => format!("{name}{file}"),
                },
                bytes: packed(random, &bytes),
            });
            input.lines.extend(lines);
        }
        input
    }

    /// Writes the files, and names them on the command line.
    pub(super) fn give(&self, env: &TestEnv, mut run: Run) -> Run {
        for File { name, bytes } in &self.files {
            match name.as_str() {
                "-" => run = run.input(bytes),
                name => env.write(name, bytes),
            }
        }
        let names = self.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match names[..] {
            // Nothing is standard input, too.
            ["-"] if self.lines.len().is_multiple_of(2) => run,
            _ => run.args(&names),
        }
    }

    /// Returns whether all lines of another input are the first of this one.
    pub(super) fn begins_as(&self, other: &Input) -> bool {
        let mut pairs = self.lines.iter().zip(&other.lines);
        self.lines.len() >= other.lines.len() && pairs.all(|(own, other)| own.bytes == other.bytes)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    /// Writes also what came from standard input, for whoever repeats the run.
    pub(super) fn keep(&self, env: &TestEnv) {
        for file in &self.files {
            let name = if file.name == "-" {
                "standard-input"
            } else {
                &file.name
            };
            env.write(name, &file.bytes);
        }
    }
}

/// Which line each is: every number once, in turn, and between them some that were there, the first more often.
fn numbers(random: &mut Random, amount: Amount) -> Vec<u64> {
    let mut next = 0;
    let mut numbers = Vec::new();
    while (numbers.len() as u64) < amount.lines {
        let left = amount.lines - numbers.len() as u64;
        if next == 0 || random.below(left) < amount.distinct - next {
            numbers.push(next);
            next += 1;
        } else {
            let end = 1 + random.below(next);
            let end = 1 + random.below(end);
            numbers.push(random.below(end));
        }
    }
    numbers
}

/// The lines with their ends, of which the last may be missing.
fn joined(random: &mut Random, lines: &[Line], terminator: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend_from_slice(&line.bytes);
        bytes.push(terminator);
    }
    if lines.last().is_some_and(|line| !line.bytes.is_empty()) && random.once_in(3) {
        bytes.pop();
    }
    bytes
}

/// The bytes as they lie in the file.
fn packed(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let (first, second) = bytes.split_at(random.below(bytes.len() as u64 + 1) as usize);
    match random.below(12) {
        0 => gzip(bytes),
        1 => [
            gzip(first),
            gzip(second),
            vec![0; random.below(600) as usize],
        ]
        .concat(),
        2 => zstd(bytes),
        3 => [zstd(first), zstd(second)].concat(),
        _ => bytes.to_vec(),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}
