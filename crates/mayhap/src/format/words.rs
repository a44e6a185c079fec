//! What the bodies of all formats are: words of eight bytes, in one order or the other.

use std::io::{Read, Write};

use crate::bits::{Bitmap, Bits as _};
use crate::{Error, Result};

/// Bytes read or written at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// An input that knows its format and how far it was read, so that it can say where it ended.
pub(super) struct Source<R> {
    input: R,
    format: &'static str,
    read: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R, format: &'static str) -> Source<R> {
        Source {
            input,
            format,
            read: 0,
        }
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, N as u64)?;
        Ok(bytes)
    }

    /// A bitmap of `size` bits from whole words, each turned into a number by `decode`. Memory grows
    /// only as the bytes to fill it come, at most doubling.
    pub(super) fn bits(&mut self, size: u64, decode: fn([u8; 8]) -> u64) -> Result<Bitmap> {
        let words = size.div_ceil(64);
        let mut buffer = vec![0; BUFFER_BYTES.min(words.saturating_mul(8) as usize)];
        let mut bits = Bitmap::new(0)?;
        let mut done = 0;
        while done < words {
            let count = (buffer.len() as u64 / 8).min(words - done);
            let part = &mut buffer[..8 * count as usize];
            self.fill(part, 8 * (words - done))?;
            done += count;
            let needed = (64 * done).min(size);
            if needed > bits.size() {
                bits.grow(needed.saturating_mul(2).min(size))?;
            }
            for (index, word) in (done - count..).zip(part.as_chunks().0) {
                self.set_word(&mut bits, index, decode(*word), size)?;
            }
        }
        Ok(bits)
    }

    /// Sets a word, unless it has ones that the bitmap has no place for.
    fn set_word(&self, bits: &mut Bitmap, index: u64, word: u64, size: u64) -> Result<()> {
        let past = 64 * (index + 1) - size.min(64 * (index + 1));
        if past > 0 && word >> (64 - past) != 0 {
            let ones = (word >> (64 - past)).count_ones();
            return Err(self.field("number of ones past the end", ones.into(), "0"));
        }
        bits.set_word(index, word);
        Ok(())
    }

    /// All that is left.
    pub(super) fn rest(mut self) -> Result<Vec<u8>> {
        let mut rest = Vec::new();
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

    /// Fills `buffer`, or says how much is missing of the `needed` bytes that it is a part of.
    fn fill(&mut self, buffer: &mut [u8], needed: u64) -> Result<()> {
        let before = self.read;
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => {
                    return Err(Error::Truncated {
                        format: self.format,
                        expected: before.saturating_add(needed),
                        got: before + filled as u64,
                    });
                }
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.read += filled as u64;
        Ok(())
    }
}

/// Writes every word of the bitmap, each turned into bytes by `encode`.
pub(super) fn write(
    bits: &Bitmap,
    mut output: impl Write,
    encode: fn(u64) -> [u8; 8],
) -> Result<()> {
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    for word in bits.words() {
        buffer.extend_from_slice(&encode(word));
        if buffer.len() == BUFFER_BYTES {
            output.write_all(&buffer)?;
            buffer.clear();
        }
    }
    output.write_all(&buffer)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_were_written() {
        for size in [1, 63, 64, 65, 512, 8192 * 64, 8193 * 64 + 7, 40_000 * 64] {
            let mut bits = Bitmap::new(size).expect("small");
            for position in (0..size).step_by(3) {
                bits.set(position);
            }
            let mut bytes = Vec::new();
            write(&bits, &mut bytes, u64::to_be_bytes).expect("memory");
            bytes.push(1);

            let mut source = Source::new(&bytes[..], "test");
            let read = source.bits(size, u64::from_be_bytes).expect("whole");

            assert_eq!(read, bits, "{size} bits");
            assert_eq!(source.rest().expect("memory"), [1], "{size} bits");
        }
    }

    #[test]
    fn ones_past_the_end_are_refused() {
        for size in 1..130_u64 {
            let mut words = vec![u64::MAX; size.div_ceil(64) as usize];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let read = Source::new(&bytes[..], "test").bits(size, u64::from_le_bytes);
            assert_eq!(read.is_ok(), size.is_multiple_of(64), "{size} bits");

            if let Some(last) = words.last_mut() {
                *last >>= (64 - size % 64) % 64;
            }
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let read = Source::new(&bytes[..], "test").bits(size, u64::from_le_bytes);
            assert_eq!(read.expect("none past the end").size(), size);
        }
    }

    #[test]
    fn a_claimed_size_takes_no_memory_that_was_not_sent() {
        let mut source = Source::new(&[0; 99][..], "test");
        let error = source
            .bits(1 << 60, u64::from_le_bytes)
            .expect_err("too few");
        let expected = 1 << 57;
        assert!(
            matches!(error, Error::Truncated { expected: e, got: 99, .. } if e == expected),
            "{error}"
        );
    }
}
