//! `mayhap sort`: integers through a bitmap, one bit per possible value.
//!
//! The bitmap is dense while values are small for their number, or up to `--max`; past that it is
//! compressed (a roaring bitmap), up to 64 bits.

use std::path::PathBuf;

use mayhap::{Bitmap, bits::Bits as _};
use mayhap_program::amounts::{self, show_bytes, show_count};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result, note};
use mayhap_program::global::Global;
use mayhap_program::input::Input;
use roaring::RoaringTreemap;
use serde_json::json;

use crate::block::Block;
use crate::blocks::Blocks;
use crate::keys::KeyArgs;
use crate::lines::LineArgs;
use crate::output::{Output, print, print_json};
use crate::pipeline::{self, Sink};

/// The bits that a dense bitmap may always have: 16 MiB.
const DENSE_BITS: u64 = 1 << 27;

/// The bits per integer up to which a dense bitmap may have more: what a plain list of them takes.
const DENSE_BITS_EACH: u64 = 64;

/// Sorts and deduplicates non-negative integers through a bitmap.
///
/// Reads one decimal number of up to 64 bits per line, and prints the distinct ones in order.
///
/// Exit codes: 0 when all was printed, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files of integers; `-` or nothing is standard input
    files: Vec<PathBuf>,

    /// Print how many distinct integers there are
    #[arg(short, long)]
    count: bool,

    /// The largest integer: one bit is kept for each up to it
    #[arg(long, value_name = "N", value_parser = amounts::count)]
    max: Option<u64>,

    /// Keep the integers that are in every file
    #[arg(long, group = "algebra")]
    and: bool,

    /// Keep the integers that are in any file; this is the default
    #[arg(long, group = "algebra")]
    or: bool,

    /// Keep the integers of the first file that are in no other
    #[arg(long, group = "algebra")]
    minus: bool,

    /// Keep the integers that are in an odd number of files
    #[arg(long, group = "algebra")]
    xor: bool,

    /// Keep the integers that occur once in all files together
    #[arg(long, group = "algebra")]
    once: bool,

    /// Keep the integers that occur twice or more
    #[arg(long, group = "algebra")]
    twice: bool,

    #[command(flatten)]
    lines: LineArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap sort numbers.txt                     the distinct numbers in order
  mayhap sort --count numbers.txt             how many there are
  mayhap sort --minus numbers.txt others.txt  those that others.txt has not";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let keys = KeyArgs::whole(self.lines.clone());
        let sources = Input::open_all(&self.files)?;
        let (set, read) = match self.once || self.twice {
            true => self.tally(sources, &keys, global.threads())?,
            false => self.join(sources, &keys, global.threads())?,
        };
        let distinct = set.count();
        if !self.count {
            match global.json {
                true => set.print(b"{\"integer\":", b"}\n")?,
                false => set.print(b"", &[keys.lines.terminator()])?,
            }
        }
        if global.json {
            print_json(
                &json!({ "read": read, "distinct": distinct, "bytes": set.bytes(), "store": set.name() }),
            )?;
        } else if self.count {
            print(&format!("{distinct}\n"))?;
        }
        if !global.json {
            let (read, distinct) = (show_count(read), show_count(distinct));
            let (bytes, name) = (show_bytes(set.bytes()), set.name());
            note(format_args!(
                "{read} integers, {distinct} distinct; {bytes} of {name} bitmap"
            ));
        }
        Ok(Exit::Success)
    }

    /// Reads each file into a set, and joins the sets as asked; also how many integers there were.
    fn join(&self, sources: Vec<Input>, keys: &KeyArgs, threads: usize) -> Result<(Set, u64)> {
        let mut read = 0;
        let mut all: Option<Set> = None;
        for source in sources {
            let mut reader = Integers::new(self.max, keys)?;
            reader.read(source, keys, threads)?;
            read += reader.count;
            all = Some(match all {
                None => reader.set,
                Some(set) if self.and => set.and(reader.set),
                Some(set) if self.minus => set.minus(reader.set),
                Some(set) if self.xor => set.xor(reader.set)?,
                Some(set) => set.or(reader.set)?,
            });
        }
        Ok((all.expect("there is at least one input"), read))
    }

    /// Reads all files into two sets, as [`mayhap::bits::Tally`] does: the integers that occur, and those that occur
    /// again.
    fn tally(&self, sources: Vec<Input>, keys: &KeyArgs, threads: usize) -> Result<(Set, u64)> {
        let mut reader = Integers::new(self.max, keys)?;
        reader.again = Some(Set::new(self.max)?);
        for source in sources {
            reader.read(source, keys, threads)?;
        }
        let again = reader.again.expect("set above");
        let set = match self.once {
            true => reader.set.minus(again),
            false => again,
        };
        Ok((set, reader.count))
    }
}

/// A set of integers.
enum Set {
    Dense(Bitmap),
    Compressed(RoaringTreemap),
}

impl Set {
    fn new(max: Option<u64>) -> Result<Set> {
        let bits = match max {
            Some(max) => max.checked_add(1).ok_or_else(|| {
                Failure::new("--max is at most 18446744073709551614")
                    .hint("leave it out: larger ones are compressed")
            })?,
            None => 0,
        };
        Ok(Set::Dense(Bitmap::new(bits)?))
    }

    /// Inserts a value, the `count`-th one; true when it was not in the set.
    #[inline]
    fn insert(&mut self, value: u64, count: u64) -> Result<bool> {
        match self {
            Set::Dense(bitmap) if value < bitmap.size() => Ok(bitmap.set(value)),
            Set::Dense(bitmap) => {
                if value < DENSE_BITS.max(count.saturating_mul(DENSE_BITS_EACH)) {
                    bitmap.grow((value + 1).next_power_of_two())?;
                    bitmap.set(value);
                } else {
                    let mut compressed = compress(bitmap);
                    compressed.insert(value);
                    *self = Set::Compressed(compressed);
                }
                Ok(true)
            }
            Set::Compressed(set) => Ok(set.insert(value)),
        }
    }

    fn compressed(self) -> RoaringTreemap {
        match self {
            Set::Dense(bitmap) => compress(&bitmap),
            Set::Compressed(set) => set,
        }
    }

    fn and(self, other: Set) -> Set {
        match (self, other) {
            (Set::Dense(mut left), Set::Dense(right)) => {
                left.and(&right);
                Set::Dense(left)
            }
            (left, right) => Set::Compressed(left.compressed() & right.compressed()),
        }
    }

    fn or(self, other: Set) -> Result<Set> {
        Ok(match (self, other) {
            (Set::Dense(mut left), Set::Dense(right)) => {
                left.or(&right)?;
                Set::Dense(left)
            }
            (left, right) => Set::Compressed(left.compressed() | right.compressed()),
        })
    }

    fn xor(self, other: Set) -> Result<Set> {
        Ok(match (self, other) {
            (Set::Dense(mut left), Set::Dense(right)) => {
                left.xor(&right)?;
                Set::Dense(left)
            }
            (left, right) => Set::Compressed(left.compressed() ^ right.compressed()),
        })
    }

    fn minus(self, other: Set) -> Set {
        match (self, other) {
            (Set::Dense(mut left), Set::Dense(right)) => {
                left.and_not(&right);
                Set::Dense(left)
            }
            (left, right) => Set::Compressed(left.compressed() - right.compressed()),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Set::Dense(bitmap) => bitmap.count_ones(),
            Set::Compressed(set) => set.len(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Set::Dense(bitmap) => bitmap.size().div_ceil(8),
            Set::Compressed(set) => set.serialized_size() as u64,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Set::Dense(_) => "dense",
            Set::Compressed(_) => "compressed",
        }
    }

    /// Prints the integers in order, each between these bytes.
    fn print(&self, before: &[u8], after: &[u8]) -> Result<()> {
        let mut output = Output::standard()?;
        match self {
            Set::Dense(bitmap) => write_all(bitmap.ones(), before, after, &mut output)?,
            Set::Compressed(set) => write_all(set.iter(), before, after, &mut output)?,
        }
        output.flush()
    }
}

fn compress(bitmap: &Bitmap) -> RoaringTreemap {
    let values = bitmap.ones();
    RoaringTreemap::from_sorted_iter(values).expect("the ones of a bitmap ascend")
}

/// Writes numbers in decimal, each between these few bytes.
fn write_all(
    values: impl Iterator<Item = u64>,
    before: &[u8],
    after: &[u8],
    output: &mut Output,
) -> Result<()> {
    // Room for twenty digits and what is around them, filled from the last byte on.
    let mut line = [0; 64];
    let end = line.len() - after.len();
    line[end..].copy_from_slice(after);
    for mut value in values {
        let mut start = end;
        loop {
            start -= 1;
            line[start] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        let digits = start;
        start -= before.len();
        line[start..digits].copy_from_slice(before);
        output.write(&line[start..])?;
    }
    Ok(())
}

struct Integers {
    set: Set,
    /// Those that occur again, where that is asked for.
    again: Option<Set>,
    count: u64,
    max: Option<u64>,
    terminator: u8,
}

impl Integers {
    fn new(max: Option<u64>, keys: &KeyArgs) -> Result<Integers> {
        Ok(Integers {
            set: Set::new(max)?,
            again: None,
            count: 0,
            max,
            terminator: keys.lines.terminator(),
        })
    }

    /// Reads all integers of a file, whose name goes before what is wrong with it.
    fn read(&mut self, source: Input, keys: &KeyArgs, threads: usize) -> Result<()> {
        let name = source.name().to_owned();
        let blocks = Blocks::new(vec![source], keys, None);
        pipeline::run(blocks, threads, self).map_err(|failure| match failure {
            Failure::Wrong { text, hint } => Failure::Wrong {
                text: format!("{}: {text}", name.display()),
                hint,
            },
            other => other,
        })
    }
}

impl Sink for Integers {
    fn take(&mut self, block: &Block) -> Result<()> {
        for (i, line) in block.lines().enumerate() {
            let number = block.first_line + i as u64 + 1;
            let digits = line.strip_suffix(&[self.terminator]).unwrap_or(line);
            let value = parse(digits).ok_or_else(|| {
                Failure::new(format!(
                    "line {number} is not a non-negative integer of 64 bits"
                ))
            })?;
            if self.max.is_some_and(|max| value > max) {
                return Err(Failure::new(format!(
                    "line {number} is {value}, which is above --max"
                )));
            }
            self.count += 1;
            if !self.set.insert(value, self.count)?
                && let Some(again) = &mut self.again
            {
                again.insert(value, self.count)?;
            }
        }
        Ok(())
    }
}

/// The number that decimal digits are, blanks around them aside.
fn parse(text: &[u8]) -> Option<u64> {
    let digits = text.trim_ascii();
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for digit in digits {
        let digit = u64::from(digit.wrapping_sub(b'0'));
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_non_negative_integers_are_numbers() {
        assert_eq!(parse(b" 42 \r"), Some(42));
        assert_eq!(parse(b"18446744073709551615"), Some(u64::MAX));
        for text in [
            "",
            " ",
            "-1",
            "+1",
            "1.5",
            "0x10",
            "18446744073709551616",
            "1 2",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_set_is_dense_until_that_costs_more_than_a_list() {
        let mut set = Set::new(None).expect("small");
        set.insert(DENSE_BITS - 1, 1).expect("memory");
        assert_eq!(set.name(), "dense");
        set.insert(u64::MAX, 2).expect("memory");
        assert_eq!((set.name(), set.count()), ("compressed", 2));
    }
}
