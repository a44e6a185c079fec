//! Bytes as they arrive: every decoder reads through here, so that none trusts a length it was told.
//!
//! When the true length of an input is known, what it claims is held against that first, and memory
//! taken at once. Otherwise memory is taken in pieces as bytes come, at most as much again as came
//! and at most 2 MiB more; the pieces are joined one by one, so a filter is never in memory twice.

use std::io::{ErrorKind, Read};

use crate::bits::{Bitmap, Bits as _};
use crate::{Error, Result};

/// Words read at a time: 64 KiB.
const BUFFER_WORDS: u64 = 8192;

/// Words in the largest piece: 2 MiB, from where on a bitmap gives its memory straight back to the
/// system.
const PIECE_WORDS: u64 = 1 << 18;

/// An input, and how far it has been read.
pub(crate) struct Source<R> {
    input: R,
    format: &'static str,
    /// The bytes read so far.
    at: u64,
    /// The bytes the structure has, as far as is known by now: for errors.
    needed: u64,
    /// The bytes the input has, where that can be known before reading them.
    length: Option<u64>,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(input: R, format: &'static str, length: Option<u64>) -> Source<R> {
        Source {
            input,
            format,
            at: 0,
            needed: 0,
            length,
        }
    }

    /// The same input, of which `at` bytes were read elsewhere.
    pub(crate) fn starting_at(self, at: u64) -> Source<R> {
        Source { at, ..self }
    }

    /// The number of bytes read so far.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Notes that the structure has this many bytes in all; an error when the input has fewer.
    pub(crate) fn need(&mut self, needed: u64) -> Result<()> {
        self.needed = needed;
        match self.length {
            Some(got) if got < needed => Err(self.truncated(got)),
            _ => Ok(()),
        }
    }

    /// Fills `buffer`, or says how far the input went.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<()> {
        let filled = self.fill_up_to(buffer)?;
        if filled < buffer.len() {
            return Err(self.truncated(self.at));
        }
        Ok(())
    }

    /// Fills `buffer` as far as the input goes and returns how far that was.
    pub(crate) fn fill_up_to(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.at += filled as u64;
        Ok(filled)
    }

    /// Refuses an input that goes on.
    pub(crate) fn end(&mut self) -> Result<()> {
        let expected = self.at;
        match self.fill_up_to(&mut [0])? {
            0 => Ok(()),
            _ => Err(Error::Extra {
                format: self.format,
                expected,
            }),
        }
    }

    /// Reads the words of `size` bits, in the byte order of `word`; `see` is given their bytes.
    /// Bits of the last word past the size are dropped.
    pub(crate) fn words(
        &mut self,
        size: u64,
        word: fn([u8; 8]) -> u64,
        mut see: impl FnMut(&[u8]),
    ) -> Result<Bitmap> {
        if self.length.is_some() {
            let mut bits = Bitmap::new(size)?;
            self.fill_words(&mut bits, word, &mut see)?;
            return Ok(bits);
        }
        let words = size.div_ceil(64);
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < words {
            let count = done.clamp(BUFFER_WORDS, PIECE_WORDS).min(words - done);
            let mut piece = Bitmap::new(count * 64)?;
            self.fill_words(&mut piece, word, &mut see)?;
            pieces.push(piece);
            done += count;
        }
        let mut bits = Bitmap::new(size)?;
        let mut index = 0;
        // A piece is given back as soon as it is copied, and the copy takes memory as it is filled.
        for piece in pieces {
            for word in piece.words() {
                bits.set_word(index, word);
                index += 1;
            }
        }
        Ok(bits)
    }

    /// Reads as many words as `bits` has.
    fn fill_words(
        &mut self,
        bits: &mut Bitmap,
        word: fn([u8; 8]) -> u64,
        mut see: impl FnMut(&[u8]),
    ) -> Result<()> {
        let words = bits.size().div_ceil(64);
        let mut buffer = vec![0; 8 * BUFFER_WORDS.min(words) as usize];
        for first in (0..words).step_by(BUFFER_WORDS as usize) {
            let count = BUFFER_WORDS.min(words - first);
            let bytes = &mut buffer[..8 * count as usize];
            self.fill(bytes)?;
            see(bytes);
            for (index, bytes) in (first..).zip(bytes.as_chunks().0) {
                bits.set_word(index, word(*bytes));
            }
        }
        Ok(())
    }

    fn truncated(&self, got: u64) -> Error {
        Error::Truncated {
            format: self.format,
            expected: self.needed,
            got,
        }
    }
}
