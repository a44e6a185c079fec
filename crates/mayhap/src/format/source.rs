//! Bytes as they arrive: every decoder reads through here, so that none trusts a length it was told.
//!
//! Memory is taken as bytes come, twice what came at most, unless the true length of the input is
//! known: then what the input claims is held against it first, and the memory taken at once.

use std::io::{ErrorKind, Read};

use crate::bits::{Bitmap, Bits as _};
use crate::{Error, Result};

/// Words read at a time: 64 KiB.
const BUFFER_WORDS: u64 = 8192;

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
        let words = size.div_ceil(64);
        let mut buffer = vec![0; 8 * BUFFER_WORDS.min(words) as usize];
        let mut bits = Bitmap::new(if self.length.is_some() { size } else { 0 })?;
        let mut done = 0;
        while done < words {
            let count = BUFFER_WORDS.min(words - done);
            let bytes = &mut buffer[..8 * count as usize];
            self.fill(bytes)?;
            see(bytes);
            if (done + count) * 64 > bits.size() {
                bits.grow(((done + count) * 128).min(size))?;
            }
            for (index, bytes) in (done..).zip(bytes.as_chunks().0) {
                bits.set_word(index, word(*bytes));
            }
            done += count;
        }
        Ok(bits)
    }

    fn truncated(&self, got: u64) -> Error {
        Error::Truncated {
            format: self.format,
            expected: self.needed,
            got,
        }
    }
}
