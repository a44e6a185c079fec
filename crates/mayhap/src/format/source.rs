//! An input that is read as bytes arrive: every decoder uses it, so that none trusts a length that is only claimed.
//!
//! When the true length of an input is known, claims are compared with it first, and memory
//! is taken at once. Otherwise memory is taken in pieces as bytes arrive, at most as much again as arrived
//! and at most 2 MiB more; the pieces are joined one by one, so a filter is never in memory twice.

use std::io::{ErrorKind, Read};

use crate::bits::{Bitmap, Bits};
use crate::{Error, Result};

/// Words read at a time: 64 KiB.
const BUFFER_WORDS: u64 = 8192;

/// Words in the largest piece: 2 MiB, the size from which a bitmap returns its memory straight to the
/// system.
const PIECE_WORDS: u64 = 1 << 18;

/// An input, and the number of bytes read from it.
pub(crate) struct Source<R> {
    input: R,
    format: &'static str,
    /// The bytes read so far.
    at: u64,
    /// The bytes of the structure, as far as is known by now: for errors.
    needed: u64,
    /// The bytes of the input, if that is known before reading them.
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

    /// Records that the structure has this many bytes in all; an error when the input has fewer.
    pub(crate) fn need(&mut self, needed: u64) -> Result<()> {
        self.needed = needed;
        match self.length {
            Some(got) if got < needed => Err(self.truncated(got)),
            _ => Ok(()),
        }
    }

    /// Fills `buffer`; an error when the input ends before.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<()> {
        let filled = self.fill_up_to(buffer)?;
        if filled < buffer.len() {
            return Err(self.truncated(self.at));
        }
        Ok(())
    }

    /// Fills `buffer` as far as the input goes and returns how many bytes that were.
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

    /// Refuses an input that has more bytes.
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

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.need(self.at + N as u64)?;
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// All remaining bytes.
    pub(super) fn rest(mut self) -> Result<Vec<u8>> {
        let known = self
            .length
            .map_or(0, |length| length.saturating_sub(self.at));
        let mut rest = Vec::with_capacity(usize::try_from(known).unwrap_or(0));
        self.input.read_to_end(&mut rest)?;
        Ok(rest)
    }

    /// An error about a field of this format.
    pub(super) fn field(&self, field: &'static str, got: i64, expected: &'static str) -> Error {
        Error::Field {
            format: self.format,
            field,
            got,
            expected,
        }
    }

    /// Reads the words of `size` bits, in the byte order of `word`, and refuses ones past the last
    /// bit.
    pub(super) fn bits(&mut self, size: u64, word: fn([u8; 8]) -> u64) -> Result<Bitmap> {
        self.need(self.at + size.div_ceil(64) * 8)?;
        let (bits, last) = self.words(size, word, |_| ())?;
        check_last_word(self.format, last, &bits)?;
        Ok(bits)
    }

    /// Reads the words of `size` bits, in the byte order of `word`; `see` is given their bytes.
    /// Bits of the last word past the size are dropped: that word is returned as it was stored.
    pub(crate) fn words(
        &mut self,
        size: u64,
        word: fn([u8; 8]) -> u64,
        mut see: impl FnMut(&[u8]),
    ) -> Result<(Bitmap, u64)> {
        if self.length.is_some() {
            let mut bits = Bitmap::new(size)?;
            let last = self.fill_words(&mut bits, word, &mut see)?;
            return Ok((bits, last));
        }
        let words = size.div_ceil(64);
        let (mut pieces, mut done, mut last) = (Vec::new(), 0, 0);
        while done < words {
            let count = done.clamp(BUFFER_WORDS, PIECE_WORDS).min(words - done);
            let mut piece = Bitmap::new(count * 64)?;
            last = self.fill_words(&mut piece, word, &mut see)?;
            pieces.push(piece);
            done += count;
        }
        let mut bits = Bitmap::new(size)?;
        let mut index = 0;
        // A piece is freed as soon as it is copied, and the copy takes memory as it is filled.
        for piece in pieces {
            for word in piece.words() {
                bits.set_word(index, word);
                index += 1;
            }
        }
        Ok((bits, last))
    }

    /// Reads the words of `bits`, and returns the last as it was stored.
    fn fill_words(
        &mut self,
        bits: &mut Bitmap,
        word: fn([u8; 8]) -> u64,
        mut see: impl FnMut(&[u8]),
    ) -> Result<u64> {
        let mut last = 0;
        let words = bits.size().div_ceil(64);
        let mut buffer = vec![0; 8 * BUFFER_WORDS.min(words) as usize];
        for first in (0..words).step_by(BUFFER_WORDS as usize) {
            let count = BUFFER_WORDS.min(words - first);
            let bytes = &mut buffer[..8 * count as usize];
            self.fill(bytes)?;
            see(bytes);
            for (index, bytes) in (first..).zip(bytes.as_chunks().0) {
                last = word(*bytes);
                bits.set_word(index, last);
            }
        }
        Ok(last)
    }

    fn truncated(&self, got: u64) -> Error {
        Error::Truncated {
            format: self.format,
            expected: self.needed,
            got,
        }
    }
}

/// Refuses ones past the last bit in the last word as it was stored.
pub(crate) fn check_last_word(format: &'static str, stored: u64, bits: &impl Bits) -> Result<()> {
    let last = bits.size().div_ceil(64).saturating_sub(1);
    if stored == bits.word(last) {
        return Ok(());
    }
    Err(Error::Field {
        format,
        field: "last word",
        got: stored as i64,
        expected: "zeros past the last bit",
    })
}

#[cfg(test)]
mod tests {
    use super::super::pieces;
    use super::*;

    /// The lengths that are claimed for an input: none, and the true one.
    fn lengths(bytes: &[u8]) -> [Option<u64>; 2] {
        [None, Some(bytes.len() as u64)]
    }

    #[test]
    fn words_are_read_back_as_they_were_written() {
        for size in [1, 63, 64, 65, 512, 8192 * 64, 8193 * 64 + 7, 40_000 * 64] {
            let mut bits = Bitmap::new(size).expect("small");
            for position in (0..size).step_by(3) {
                bits.set(position);
            }
            let mut bytes = Vec::new();
            pieces::write(&bits, u64::to_be_bytes, &mut bytes).expect("memory");
            bytes.push(1);

            for length in lengths(&bytes) {
                let mut source = Source::new(&bytes[..], "test", length);
                let read = source.bits(size, u64::from_be_bytes).expect("whole");

                assert_eq!(read, bits, "{size} bits");
                assert_eq!(source.rest().expect("memory"), [1], "{size} bits");
            }
        }
    }

    #[test]
    fn ones_past_the_end_are_refused() {
        let encoded = |words: &[u64]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        for size in 1..130_u64 {
            let mut words = vec![u64::MAX; size.div_ceil(64) as usize];
            let full = encoded(&words);
            if let Some(last) = words.last_mut() {
                *last >>= (64 - size % 64) % 64;
            }
            let cut = encoded(&words);

            for length in lengths(&full) {
                let read = |bytes: &[u8]| {
                    Source::new(bytes, "test", length).bits(size, u64::from_le_bytes)
                };
                assert_eq!(read(&full).is_ok(), size.is_multiple_of(64), "{size} bits");
                assert_eq!(read(&cut).expect("none past the end").size(), size);
            }
        }
    }

    #[test]
    fn a_claimed_size_takes_no_memory_that_was_not_sent() {
        let bytes = [0; 99];
        for length in lengths(&bytes) {
            let mut source = Source::new(&bytes[..], "test", length);
            let error = source
                .bits(1 << 60, u64::from_le_bytes)
                .expect_err("too few");
            assert!(
                matches!(error, Error::Truncated { expected, got: 99, .. } if expected == 1 << 57),
                "{error}"
            );
        }
    }
}
