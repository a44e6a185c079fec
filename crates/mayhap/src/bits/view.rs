//! Bits in bytes that belong to someone else: a mapped file, a buffer, a static.

use super::line::{LINE_BITS, place};
use super::prefetch::prefetch;
use super::{Bits, borrow_words};
use crate::{Error, Result};

/// Bits over borrowed or shared bytes, lowest byte first, least significant bit first.
///
/// The bytes need no alignment: a word is loaded from any eight of them in one instruction.
///
/// ```
/// use mayhap::bits::{BitmapView, Bits};
///
/// let bytes = [0b1011_1100, 0b0000_0001];
/// let view = BitmapView::new(&bytes[..], 9)?;
/// assert!(view.get(2) && view.get(8) && !view.get(0));
/// # Ok::<(), mayhap::Error>(())
/// ```
///
/// A filter of any kind can have its bits in a view. You can look up keys in it, but it has no `insert`:
///
/// ```
/// use mayhap::{Assemble, Blocked, bits::BitmapView};
///
/// let mut filter = Blocked::with_capacity(1000, 0.01)?;
/// filter.insert("key");
/// let (about, bytes) = (filter.description(), filter.bits().to_bytes());
///
/// let bits = BitmapView::new(&bytes[..], about.bits)?;
/// let view: Blocked<BitmapView<&[u8]>> = Blocked::assemble(&about, vec![bits])?;
/// assert!(view.contains("key") && !view.contains("other"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct BitmapView<D> {
    bytes: D,
    size: u64,
}

impl<D: AsRef<[u8]>> BitmapView<D> {
    /// Views the first `size` bits of `bytes`.
    ///
    /// # Errors
    ///
    /// When there are fewer than `size` bits in `bytes`.
    pub fn new(bytes: D, size: u64) -> Result<BitmapView<D>> {
        let (got, expected) = (bytes.as_ref().len() as u64, size.div_ceil(8));
        if got < expected {
            return Err(Error::Bytes { got, expected });
        }
        Ok(BitmapView { bytes, size })
    }

    /// The bytes that the bits are read from.
    pub fn source(&self) -> &D {
        &self.bytes
    }

    /// The last, partial word: fewer than eight bytes are left, or some bits are past the end.
    #[cold]
    fn last_word(&self, index: u64) -> u64 {
        let bytes = self.bytes.as_ref();
        let first = place(index * 8);
        let mut word = [0; 8];
        let count = (bytes.len() - first).min(8);
        word[..count].copy_from_slice(&bytes[first..first + count]);
        u64::from_le_bytes(word) & (u64::MAX >> (63 - (self.size - 1) % 64))
    }
}

impl<D: AsRef<[u8]>> Bits for BitmapView<D> {
    #[inline]
    fn size(&self) -> u64 {
        self.size
    }

    #[inline]
    fn word(&self, index: u64) -> u64 {
        if index < self.size / 64 {
            let first = place(index * 8);
            let bytes = &self.bytes.as_ref()[first..];
            if let Some(word) = bytes.first_chunk() {
                return u64::from_le_bytes(*word);
            }
        }
        if index >= self.size.div_ceil(64) {
            return 0;
        }
        self.last_word(index)
    }

    #[inline]
    fn line(&self, index: u64) -> [u64; 8] {
        if index < self.size / LINE_BITS
            && let Some(line) = self.bytes.as_ref()[place(index * 64)..].first_chunk::<64>()
        {
            let (words, _) = line.as_chunks::<8>();
            return core::array::from_fn(|lane| u64::from_le_bytes(words[lane]));
        }
        let first = index.saturating_mul(8);
        core::array::from_fn(|lane| self.word(first.saturating_add(lane as u64)))
    }

    #[inline(always)]
    fn with_words<R>(&self, index: u64, count: usize, read: impl FnOnce(&[[u8; 8]]) -> R) -> R {
        // Bits past the end, which the bytes of the last word may hold, must read as zero.
        let inside = place(self.size / 64);
        let (words, _) = self.bytes.as_ref().as_chunks();
        let words = words.get(..inside.min(words.len())).unwrap_or_default();
        borrow_words(self, words, (index, count), read)
    }

    #[inline]
    fn prefetch_line(&self, index: u64) {
        prefetch(
            self.bytes
                .as_ref()
                .as_ptr()
                .wrapping_add(place(index.saturating_mul(64))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bitmap;
    use alloc::vec::Vec;

    #[test]
    fn a_view_reads_what_a_bitmap_of_the_same_bytes_holds() {
        let bytes: Vec<u8> = (0..=255).collect();
        let bitmap = Bitmap::from_bytes(&bytes).expect("small");
        for offset in 0..9 {
            let view = BitmapView::new(&bytes[offset..], (256 - offset as u64) * 8).expect("fits");
            for position in 0..view.size() + 100 {
                let in_bitmap = position + offset as u64 * 8;
                assert_eq!(view.get(position), bitmap.get(in_bitmap));
                assert_eq!(view.window(position), bitmap.window(in_bitmap));
            }
        }
    }

    #[test]
    fn bits_past_the_end_read_as_zero_whatever_the_bytes_hold() {
        for size in 0..200 {
            let view = BitmapView::new([0xFF; 32], size).expect("fits");
            assert_eq!(view.count_ones(), size);
            assert!(!view.get(size) && !view.get(u64::MAX));
        }
    }

    #[test]
    fn lines_past_every_position_read_as_zero() {
        // Eight times 2^61 wraps around to word 0.
        let view = BitmapView::new([0xFF; 128], 1024).expect("fits");
        for index in [2, 1 << 26, 1 << 32, 1 << 58, 1 << 61, u64::MAX] {
            assert_eq!(view.line(index), [0; 8], "line {index}");
            assert_eq!(view.word(index.saturating_mul(8)), 0, "line {index}");
            // Multiplied by 64 it overflowed, which is a panic where overflow is checked.
            view.prefetch_line(index);
        }
    }

    #[test]
    fn too_few_bytes_are_refused() {
        assert!(matches!(
            BitmapView::new([0; 3], 25),
            Err(Error::Bytes {
                got: 3,
                expected: 4
            })
        ));
    }
}
