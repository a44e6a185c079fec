//! Writing bodies: words as bytes, in one byte order or the other.

use std::io::Write;

use crate::Result;
use crate::bits::Bits;

/// Words written at a time: 64 KiB.
const PIECE_WORDS: u64 = 8192;

/// Calls `visit` with the bytes of the words, in the order that `encode` gives, 64 KiB at a time.
pub(crate) fn each_piece<E>(
    bits: &impl Bits,
    encode: fn(u64) -> [u8; 8],
    mut visit: impl FnMut(&[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let words = bits.size().div_ceil(64);
    let mut piece = Vec::with_capacity(8 * PIECE_WORDS.min(words) as usize);
    for first in (0..words).step_by(PIECE_WORDS as usize) {
        piece.clear();
        for index in first..words.min(first + PIECE_WORDS) {
            piece.extend_from_slice(&encode(bits.word(index)));
        }
        visit(&piece)?;
    }
    Ok(())
}

/// Writes every word.
pub(super) fn write(
    bits: &impl Bits,
    encode: fn(u64) -> [u8; 8],
    mut output: impl Write,
) -> Result<()> {
    each_piece(bits, encode, |bytes| output.write_all(bytes))?;
    Ok(())
}
