//! Lines of an input that cannot be read twice, kept until its end shows which of them to print.
//!
//! They are records one after another, in the order of the input: the hash of the key, the length, the bytes. Past a
//! budget, or where there is no memory, all records so far go to a temporary file, which is read once, from its beginning,
//! before those that are still in memory. Pieces never move, so that none is there twice.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek as _, Write as _};

use mayhap_program::amounts::show_bytes;
use mayhap_program::failure::{Failure, Result, note};

use crate::block::Block;

/// The bytes of the first pieces; later ones are an eighth of what is there.
const PIECE_BYTES: usize = 256 << 10;

/// The bytes of a record before its line.
const HEAD_BYTES: usize = 16;

/// The bit of a length that a line without a key has.
const KEYLESS: u64 = 1 << 63;

/// Lines in order, each with the hash of its key if it has one.
pub(super) struct Kept {
    pieces: Vec<Vec<u8>>,
    /// The bytes of memory that the pieces take.
    bytes: u64,
    file: Option<File>,
    /// The bytes of memory that they may take.
    budget: u64,
}

impl Kept {
    /// No lines yet, in memory up to a budget. A piece they always have.
    pub(super) fn within(budget: u64) -> Kept {
        Kept {
            pieces: Vec::new(),
            bytes: 0,
            file: None,
            budget,
        }
    }

    /// The bytes of memory that they take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps one more line.
    pub(super) fn push(&mut self, hash: Option<u64>, line: &[u8]) -> Result<()> {
        let room = |piece: &Vec<u8>| piece.capacity() - piece.len();
        let length = HEAD_BYTES + line.len();
        if self.pieces.last().map_or(0, room) < length {
            self.make_room(length)?;
        }
        let piece = self.pieces.last_mut().expect("there is room in one");
        let mark = if hash.is_some() { 0 } else { KEYLESS };
        piece.extend_from_slice(&hash.unwrap_or(0).to_le_bytes());
        piece.extend_from_slice(&(line.len() as u64 | mark).to_le_bytes());
        piece.extend_from_slice(line);
        Ok(())
    }

    /// Keeps the lines of a block whose keys are to be kept, and those without a key that are printed.
    pub(super) fn push_lines(
        &mut self,
        block: &Block,
        mut is_kept: impl Iterator<Item = bool>,
    ) -> Result<()> {
        let mut hashes = block.hashes();
        for row in block.rows() {
            match row.has_key {
                false if row.is_printed => self.push(None, row.bytes)?,
                false => {}
                true => {
                    let hash = hashes.next();
                    if is_kept.next() == Some(true) {
                        self.push(hash, row.bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Lets the lines take this much memory from now on.
    pub(super) fn keep_to(&mut self, budget: u64) -> Result<()> {
        self.budget = budget;
        match self.bytes > budget.max(PIECE_BYTES as u64) {
            true => self.write_out(),
            false => Ok(()),
        }
    }

    #[cold]
    fn make_room(&mut self, length: usize) -> Result<()> {
        let wanted = PIECE_BYTES.max(length).max(self.bytes as usize / 8);
        let most = self.budget.saturating_sub(self.bytes);
        let fits = self.pieces.is_empty() || wanted as u64 <= most;
        if fits && self.add_piece(wanted) {
            return Ok(());
        }
        self.write_out()?;
        match self.add_piece(PIECE_BYTES.max(length)) {
            true => Ok(()),
            false => Err(Failure::new(format!(
                "no memory for a line of {}",
                show_bytes(length as u64)
            ))
            .hint("--max-line SIZE sets the longest line that is read")),
        }
    }

    /// Adds an empty piece; false where there is no memory for it.
    fn add_piece(&mut self, capacity: usize) -> bool {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(capacity).is_err() || self.pieces.try_reserve(1).is_err() {
            return false;
        }
        self.bytes += piece.capacity() as u64;
        self.pieces.push(piece);
        true
    }

    /// Writes all records to the temporary file, and gives their memory back.
    fn write_out(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = tempfile::tempfile().map_err(unkept)?;
                note("distinct lines that memory does not hold are kept in a temporary file");
                self.file.insert(file)
            }
        };
        for piece in self.pieces.drain(..) {
            file.write_all(&piece).map_err(unkept)?;
        }
        self.bytes = 0;
        Ok(())
    }

    /// Hands back every line, in order, with the hash of its key if it has one.
    pub(super) fn each(
        self,
        mut visit: impl FnMut(Option<u64>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if let Some(mut file) = self.file {
            file.rewind().map_err(unkept)?;
            let file = BufReader::with_capacity(PIECE_BYTES, file);
            read(file, &mut visit)?;
        }
        for piece in self.pieces {
            read(&piece[..], &mut visit)?;
        }
        Ok(())
    }
}

/// Reads records to their end.
fn read(
    mut records: impl BufRead,
    visit: &mut impl FnMut(Option<u64>, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut line = Vec::new();
    while !records.fill_buf().map_err(unkept)?.is_empty() {
        let mut number = || {
            let mut bytes = [0; HEAD_BYTES / 2];
            let read = records.read_exact(&mut bytes);
            read.map(|()| u64::from_le_bytes(bytes)).map_err(unkept)
        };
        let (hash, mark) = (number()?, number()?);
        let length = mark & !KEYLESS;
        line.clear();
        let room = line.try_reserve(length as usize);
        room.map_err(|_| unkept(io::ErrorKind::OutOfMemory.into()))?;
        line.resize(length as usize, 0);
        records.read_exact(&mut line).map_err(unkept)?;
        visit(Some(hash).filter(|_| mark & KEYLESS == 0), &line)?;
    }
    Ok(())
}

fn unkept(error: io::Error) -> Failure {
    Failure::new(format!("cannot keep lines in a temporary file: {error}"))
        .hint("set TMPDIR to a roomier folder, or give a file, whose lines need not be kept")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_in_order_from_memory_and_from_disk() {
        let line = |number: usize| vec![number as u8; number * 7919 % 5000];
        let hash = |number: usize| (!number.is_multiple_of(5)).then_some(number as u64 * 3);
        for budget in [0, 600 << 10, u64::MAX] {
            let mut kept = Kept::within(budget);
            for number in 0..2000 {
                kept.push(hash(number), &line(number)).expect("room");
                assert!(kept.bytes() <= budget.max(PIECE_BYTES as u64));
                if number == 1000 {
                    kept.keep_to(budget / 2).expect("room");
                }
            }
            assert_eq!(kept.file.is_some(), budget < u64::MAX);

            let mut next = 0;
            let visit = |found: Option<u64>, bytes: &[u8]| {
                assert_eq!((found, bytes), (hash(next), &line(next)[..]));
                next += 1;
                Ok(())
            };
            kept.each(visit).expect("readable");
            assert_eq!(next, 2000);
        }
    }
}
