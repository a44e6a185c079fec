//! Keys that are made from their lines, one by one, and the lines that have none.

use crate::csv::Records;
use crate::keys::{KeyArgs, Keyless};
use crate::lines::NoKey;

/// The keys made from the lines of a block, and the lines that have none.
#[derive(Debug, Default)]
pub(crate) struct Made {
    keys: Pieces,
    /// The text to print for each key, with the end of a line, if keys are printed.
    shown: Pieces,
    shows_keys: bool,
    passed: Vec<Passed>,
}

/// Pieces of bytes, one after another, and the end of each.
#[derive(Debug, Default)]
struct Pieces {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// A line without a key: its number in the block, from 0, and whether it is printed as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) line: usize,
    pub(crate) is_printed: bool,
}

/// The reason why the lines of a block end before its bytes do.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The next record does not end in this block.
    Unfinished,
    /// The next line has no key, or a wrong one.
    NoKey(NoKey),
}

impl Made {
    pub(crate) fn clear(&mut self) {
        for pieces in [&mut self.keys, &mut self.shown] {
            pieces.bytes.clear();
            pieces.ends.clear();
        }
        self.passed.clear();
        self.shows_keys = false;
    }

    /// Finds the end of each line in some bytes, and makes their keys. The first line may be a header: `header` is true when
    /// that is printed.
    pub(crate) fn make(
        &mut self,
        bytes: &[u8],
        ends: &mut Vec<usize>,
        args: &KeyArgs,
        mut records: Option<&mut Records>,
        header: Option<bool>,
    ) -> Option<Stop> {
        self.shows_keys = args.shows_keys();
        let mut start = 0;
        while start < bytes.len() {
            let rest = &bytes[start..];
            let length = match &mut records {
                Some(records) => records.read(rest),
                None => memchr::memchr(args.lines.terminator(), rest).map(|at| at + 1),
            };
            let Some(length) = length else {
                return Some(Stop::Unfinished);
            };
            let is_header = header.filter(|_| start == 0);
            let made = match is_header {
                Some(_) => Err(NoKey::Missing(String::new())),
                None => self.make_one(&rest[..length], args, records.as_deref()),
            };
            match (made, is_header, args.keyless()) {
                (Ok(()), ..) => {}
                (Err(NoKey::Missing(_)), Some(is_printed), _) => self.pass(ends.len(), is_printed),
                (Err(NoKey::Missing(_)), None, Keyless::Keep) => self.pass(ends.len(), true),
                (Err(NoKey::Missing(_)), None, Keyless::Skip) => self.pass(ends.len(), false),
                (Err(no_key), ..) => return Some(Stop::NoKey(no_key)),
            }
            start += length;
            ends.push(start);
        }
        None
    }

    /// Makes the key of a line, or leaves no trace of it.
    fn make_one(
        &mut self,
        line: &[u8],
        args: &KeyArgs,
        records: Option<&Records>,
    ) -> Result<(), NoKey> {
        let Made { keys, shown, .. } = self;
        let before = (keys.bytes.len(), shown.bytes.len());
        let made = args.append(line, records, &mut keys.bytes, &mut shown.bytes);
        match made {
            Ok(()) => {
                keys.ends.push(keys.bytes.len());
                shown.ends.push(shown.bytes.len());
            }
            Err(_) => {
                keys.bytes.truncate(before.0);
                shown.bytes.truncate(before.1);
            }
        }
        made
    }

    fn pass(&mut self, line: usize, is_printed: bool) {
        self.passed.push(Passed { line, is_printed });
    }

    /// The keys, and the end of each.
    pub(crate) fn keys(&self) -> (&[u8], &[usize]) {
        (&self.keys.bytes, &self.keys.ends)
    }

    /// The text to print for the keys, if keys are printed, and the end of each piece.
    pub(crate) fn shown(&self) -> Option<(&[u8], &[usize])> {
        let shown = (&self.shown.bytes[..], &self.shown.ends[..]);
        self.shows_keys.then_some(shown)
    }

    /// The lines without a key, in order.
    pub(crate) fn passed(&self) -> &[Passed] {
        &self.passed
    }

    /// The bytes of memory that keys or their text take, whichever is more.
    pub(crate) fn capacity(&self) -> usize {
        self.keys.bytes.capacity().max(self.shown.bytes.capacity())
    }
}
