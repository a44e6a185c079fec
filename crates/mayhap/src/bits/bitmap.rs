//! An exact set of small integers: one bit per possible value.
//!
//! Bit `i` is bit `i % 64` of word `i / 64`, least significant first, as in `java.util.BitSet`;
//! positions are 64-bit, so a bitmap is as large as memory. Words lie in 64-byte-aligned lines.
//! Bits past the end are always zero, so counting, comparing and complementing need no special
//! case. `N` possible values cost `N/8` bytes, whatever the number of values present.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

#[cfg(target_endian = "little")]
use super::borrow_words;
use super::line::{LINE_BITS, Line, Lines, place};
use super::prefetch::prefetch;
use super::{Bits, BitsMut};
use crate::{Error, Result};

/// Bits in owned memory: a set of integers below [`size`](Bits::size).
///
/// ```
/// use mayhap::{Bitmap, bits::Bits};
///
/// let mut seen = Bitmap::new(10_000_000)?; // 1.25 MB
/// assert!(seen.set(4), "4 is new");
/// assert!(!seen.set(4), "4 is there already");
/// seen.set_range(7..9);
/// assert!(seen.get(7) && !seen.get(9));
/// assert_eq!(seen.ones().collect::<Vec<_>>(), [4, 7, 8]);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Bitmap {
    pub(super) lines: Lines,
    size: u64,
}

impl Bitmap {
    /// Makes a bitmap of `size` zeros.
    ///
    /// # Errors
    ///
    /// When there is no memory for that many bits.
    pub fn new(size: u64) -> Result<Bitmap> {
        Ok(Bitmap {
            lines: Lines::zeroed(size)?,
            size,
        })
    }

    /// Makes a bitmap from whole words, the lowest first.
    ///
    /// # Errors
    ///
    /// When there is no memory for that many bits.
    pub fn from_words(words: &[u64]) -> Result<Bitmap> {
        let mut bitmap = Bitmap::new(words.len() as u64 * 64)?;
        for (line, words) in bitmap.lines.iter_mut().zip(words.chunks(8)) {
            line.0[..words.len()].copy_from_slice(words);
        }
        Ok(bitmap)
    }

    /// Makes a bitmap from bytes, lowest first, each least significant bit first.
    ///
    /// # Errors
    ///
    /// When there is no memory for that many bits.
    pub fn from_bytes(bytes: &[u8]) -> Result<Bitmap> {
        let mut bitmap = Bitmap::new(bytes.len() as u64 * 8)?;
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            *bitmap.word_mut(index as u64) = u64::from_le_bytes(word);
        }
        Ok(bitmap)
    }

    pub(super) fn into_lines(self) -> (Lines, u64) {
        (self.lines, self.size)
    }

    pub(super) fn from_lines(lines: Lines, size: u64) -> Bitmap {
        Bitmap { lines, size }
    }

    /// The `size` bits that begin at byte `offset` of a map: setting them changes the map. Bits past
    /// the end, up to the end of the last line, are cleared.
    ///
    /// # Panics
    ///
    /// When the map has no such lines, or the offset is not at one.
    #[cfg(all(feature = "std", not(loom)))]
    pub(crate) fn over_map(map: memmap2::MmapMut, offset: usize, size: u64) -> Bitmap {
        let lines = Lines::over(map, offset, place(size.div_ceil(LINE_BITS)));
        let mut bitmap = Bitmap { lines, size };
        bitmap.clear_tail();
        bitmap
    }

    /// Writes changed bits to the file they are a map of; does nothing for other bitmaps.
    #[cfg(all(feature = "std", not(loom)))]
    pub(crate) fn flush(&self) -> std::io::Result<()> {
        self.lines.flush()
    }

    /// Replaces the word at `index`; bits of it past the end stay zero.
    ///
    /// # Panics
    ///
    /// When the whole word is past the end.
    #[inline]
    pub fn set_word(&mut self, index: u64, word: u64) {
        // Saturating: a word past every position must not wrap around to the first ones.
        self.check(index.saturating_mul(64));
        *self.word_mut(index) = word;
        if index == self.size / 64 {
            self.clear_tail();
        }
    }

    /// The words, lowest first: `size / 64` rounded up.
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.size.div_ceil(64)).map(|index| self.word(index))
    }

    /// The words as they are in memory, lowest first: those of [`words`](Bitmap::words), without a copy.
    ///
    /// ```
    /// use mayhap::Bitmap;
    ///
    /// let mut bits = Bitmap::new(100)?;
    /// bits.set(65);
    /// assert_eq!(bits.as_words(), [0, 2]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn as_words(&self) -> &[u64] {
        &self.lines.words()[..place(self.size.div_ceil(64))]
    }

    /// Reallocates the bits with the global allocator, by `realloc` to the size they have.
    ///
    /// This is for programs whose allocator then moves blocks out of nearly empty pages, such as a plug-in of a server
    /// that defragments its memory. Bits that come straight from the operating system stay where they are.
    ///
    /// ```
    /// use mayhap::Bitmap;
    ///
    /// let mut bits = Bitmap::from_words(&[5])?;
    /// bits.reallocate();
    /// assert_eq!(bits.as_words(), [5]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    #[cfg(not(loom))]
    pub fn reallocate(&mut self) {
        self.lines.reallocate();
    }

    /// The bytes, lowest first, each least significant bit first: `size / 8` rounded up.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words().flat_map(u64::to_le_bytes).collect();
        bytes.truncate(place(self.size.div_ceil(8)));
        bytes
    }

    /// Appends zeros until there are `size` bits; does nothing when there are that many already.
    ///
    /// # Errors
    ///
    /// When there is no memory for that many bits; the bitmap is then unchanged.
    pub fn grow(&mut self, size: u64) -> Result<()> {
        if size <= self.size {
            return Ok(());
        }
        if size.div_ceil(LINE_BITS) > self.lines.len() as u64 {
            let mut lines = Lines::zeroed(size)?;
            lines[..self.lines.len()].copy_from_slice(&self.lines);
            self.lines = lines;
        }
        self.size = size;
        Ok(())
    }

    /// Sets the bit at `position`; true when it was zero before.
    ///
    /// # Panics
    ///
    /// When `position` is past the end, as indexing a slice does; see [`Bitmap::try_set`].
    #[inline]
    pub fn set(&mut self, position: u64) -> bool {
        self.check(position);
        let word = self.word_mut(position / 64);
        let before = *word;
        *word = before | 1 << (position % 64);
        before >> (position % 64) & 1 == 0
    }

    /// Sets the bit at `position`; true when it was zero before.
    ///
    /// # Errors
    ///
    /// When `position` is past the end.
    pub fn try_set(&mut self, position: u64) -> Result<bool> {
        if position >= self.size {
            return Err(Error::Position {
                got: position,
                len: self.size,
            });
        }
        Ok(self.set(position))
    }

    /// Clears the bit at `position`; true when it was one before. Past the end nothing happens.
    pub fn clear(&mut self, position: u64) -> bool {
        let was_one = self.get(position);
        if was_one {
            *self.word_mut(position / 64) &= !(1 << (position % 64));
        }
        was_one
    }

    /// Inverts the bit at `position` and returns its new value.
    ///
    /// # Panics
    ///
    /// When `position` is past the end.
    pub fn flip(&mut self, position: u64) -> bool {
        self.check(position);
        *self.word_mut(position / 64) ^= 1 << (position % 64);
        self.get(position)
    }

    /// Sets every bit in the range.
    ///
    /// # Panics
    ///
    /// When the range runs backwards or past the end.
    pub fn set_range(&mut self, range: Range<u64>) {
        self.each_word_in(range, |word, mask| *word |= mask);
    }

    /// Clears every bit in the range.
    ///
    /// # Panics
    ///
    /// When the range runs backwards or past the end.
    pub fn clear_range(&mut self, range: Range<u64>) {
        self.each_word_in(range, |word, mask| *word &= !mask);
    }

    /// Inverts every bit in the range.
    ///
    /// # Panics
    ///
    /// When the range runs backwards or past the end.
    pub fn flip_range(&mut self, range: Range<u64>) {
        self.each_word_in(range, |word, mask| *word ^= mask);
    }

    /// Clears every bit.
    pub fn clear_all(&mut self) {
        self.lines.fill(Line::default());
    }

    /// The bits in the range as a bitmap of their own, starting at 0. Bits past the end are zeros.
    ///
    /// # Errors
    ///
    /// When there is no memory for the copy.
    ///
    /// # Panics
    ///
    /// When the range runs backwards.
    pub fn get_range(&self, range: Range<u64>) -> Result<Bitmap> {
        assert!(range.start <= range.end, "range {range:?} runs backwards");
        let mut part = Bitmap::new(range.end - range.start)?;
        for index in 0..part.size.div_ceil(64) {
            let low = range.start + index * 64;
            let mut word = self.word(low / 64) >> (low % 64);
            if !low.is_multiple_of(64) {
                word |= self.word(low / 64 + 1) << (64 - low % 64);
            }
            *part.word_mut(index) = word;
        }
        part.clear_tail();
        Ok(part)
    }

    #[inline]
    #[track_caller]
    fn check(&self, position: u64) {
        if position >= self.size {
            past_end(position, self.size);
        }
    }

    /// The word at `index`, which must exist.
    #[inline]
    pub(super) fn word_mut(&mut self, index: u64) -> &mut u64 {
        &mut self.lines.words_mut()[place(index)]
    }

    /// Zeroes the bits past the end, after an operation on whole words.
    pub(super) fn clear_tail(&mut self) {
        let used = self.size % 64;
        if used > 0 {
            *self.word_mut(self.size / 64) &= u64::MAX >> (64 - used);
        }
        let first_unused = self.size.div_ceil(64);
        for index in first_unused..self.lines.len() as u64 * 8 {
            *self.word_mut(index) = 0;
        }
    }

    /// Calls `change` with every word that the range touches and the mask of its bits inside.
    #[track_caller]
    fn each_word_in(&mut self, range: Range<u64>, change: impl Fn(&mut u64, u64)) {
        assert!(range.start <= range.end, "range {range:?} runs backwards");
        if range.start == range.end {
            return;
        }
        let last_position = range.end - 1;
        self.check(last_position);
        let (first, last) = (range.start / 64, last_position / 64);
        for index in first..=last {
            let mut mask = u64::MAX;
            if index == first {
                mask &= u64::MAX << (range.start % 64);
            }
            if index == last {
                mask &= u64::MAX >> (63 - last_position % 64);
            }
            change(self.word_mut(index), mask);
        }
    }
}

/// Panics. Out of line, so that a checked position stays in its register.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn past_end(position: u64, size: u64) -> ! {
    panic!("position {position} is past the end of {size} bits");
}

impl Bits for Bitmap {
    #[inline]
    fn size(&self) -> u64 {
        self.size
    }

    #[inline]
    fn word(&self, index: u64) -> u64 {
        match self.lines.words().get(place(index)) {
            Some(word) => *word,
            None => 0,
        }
    }

    #[cfg(target_endian = "little")]
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn number_at<const BYTES: u64>(&self, index: u64) -> u64 {
        debug_assert!(index * BYTES * 8 < self.size);
        let start = self.lines.words().as_ptr().cast::<u8>();
        let start = start.wrapping_add(place(index * BYTES));
        let mut bytes = [0; 8];
        // SAFETY: the number begins before `size` and does not straddle words, so it lies in an existing
        // word: `new` and `grow` make one for every position below `size`.
        unsafe { core::ptr::copy_nonoverlapping(start, bytes.as_mut_ptr(), BYTES as usize) };
        u64::from_le_bytes(bytes)
    }

    #[inline(always)]
    fn window(&self, position: u64) -> u64 {
        let (index, shift) = (place(position / 64), position % 64);
        // One check for both words. The last one has no next.
        match self.lines.words().get(index..index.saturating_add(2)) {
            Some(words) => words[0] >> shift | (words[1] << 1) << (63 - shift),
            None => self.word(position / 64) >> shift,
        }
    }

    #[cfg(target_endian = "little")]
    #[inline(always)]
    fn with_words<R>(&self, index: u64, count: usize, read: impl FnOnce(&[[u8; 8]]) -> R) -> R {
        borrow_words(self, self.lines.word_bytes(), (index, count), read)
    }

    #[inline]
    fn line(&self, index: u64) -> [u64; 8] {
        match self.lines.get(place(index)) {
            Some(line) => line.0,
            None => [0; 8],
        }
    }

    #[inline(always)]
    fn with_line<R>(&self, index: u64, read: impl FnOnce(&[u64; 8]) -> R) -> R {
        match self.lines.get(place(index)) {
            Some(line) => read(&line.0),
            None => read(&[0; 8]),
        }
    }

    #[inline(always)]
    fn with_line_inside<R>(&self, index: u64, read: impl FnOnce(&[u64; 8]) -> R) -> R {
        read(&self.lines[place(index)].0)
    }

    #[inline(always)]
    fn with_block_inside<R>(&self, index: u64, read: impl FnOnce(&[u64; 4]) -> R) -> R {
        read(&self.lines.words().as_chunks().0[place(index)])
    }

    #[inline(always)]
    fn prefetch_line(&self, index: u64) {
        prefetch(self.lines.as_ptr().wrapping_add(place(index)));
    }

    #[inline(always)]
    fn prefetch_words(&self, index: u64, count: u64) {
        let first = self.lines.words().as_ptr().wrapping_add(place(index));
        prefetch(first.wrapping_add(place(count - 1)));
        for line in 0..count.div_ceil(8) {
            prefetch(first.wrapping_add(place(8 * line)));
        }
    }

    fn count_ones(&self) -> u64 {
        let in_line = |line: &Line| line.0.iter().map(|word| word.count_ones()).sum::<u32>();
        self.lines.iter().map(|line| u64::from(in_line(line))).sum()
    }
}

impl BitsMut for Bitmap {
    #[inline]
    fn set(&mut self, position: u64) -> bool {
        Bitmap::set(self, position)
    }

    #[inline]
    fn line_mut(&mut self, index: u64) -> &mut [u64; 8] {
        assert!(
            index < self.size / LINE_BITS,
            "line {index} is not wholly there"
        );
        &mut self.lines[place(index)].0
    }

    #[inline]
    fn block_mut(&mut self, index: u64) -> &mut [u64; 4] {
        assert!(index < self.size / 256, "block {index} is not wholly there");
        let (blocks, _) = self.lines.words_mut().as_chunks_mut();
        &mut blocks[place(index)]
    }

    #[inline]
    fn set_word(&mut self, index: u64, word: u64) {
        Bitmap::set_word(self, index, word);
    }

    // One check, where `word` and `set_word` make four.
    #[inline(always)]
    fn change_word(&mut self, index: u64, change: impl FnOnce(u64) -> u64) {
        let word = self.word_mut(index);
        *word = change(*word);
    }
}

impl fmt::Debug for Bitmap {
    /// Prints the positions of the ones: `{2, 3, 5}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.ones()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitmapView, MOST_WORDS};

    fn bitmap(size: u64, ones: &[u64]) -> Bitmap {
        let mut bitmap = Bitmap::new(size).expect("small");
        for &position in ones {
            bitmap.set(position);
        }
        bitmap
    }

    #[test]
    fn the_worked_examples_hold() {
        let small = bitmap(8, &[4, 7, 2, 5, 3]);
        assert_eq!(small.to_bytes(), [0xBC]);
        assert_eq!(small.ones().collect::<Vec<_>>(), [2, 3, 4, 5, 7]);

        assert_eq!(bitmap(64, &[1]).word(0), 2);
        assert_eq!(bitmap(64, &[31]).word(0), 1 << 31);
        assert_eq!(bitmap(64, &[32]).word(0), 1 << 32);
        assert_eq!(bitmap(128, &[106]).word(1), 1 << 42);
        assert_eq!(bitmap(10_000_000, &[]).to_bytes().len(), 1_250_000);
    }

    #[test]
    fn words_in_a_row_are_those_read_one_by_one() {
        let bitmap = bitmap(1100, &[0, 63, 64, 700, 1030, 1099]);
        let bytes = bitmap.to_bytes();
        let view = BitmapView::new(&bytes[..], 1100).expect("all bytes");
        for index in [0, 1, 8, 10, 15, 16, 17, 23, 24, 100, u64::MAX] {
            for count in [0, 1, 2, 8, MOST_WORDS] {
                let word = |place: usize| bitmap.word(index.saturating_add(place as u64));
                let expected: Vec<u64> = (0..count).map(word).collect();
                let read =
                    |words: &[[u8; 8]]| words.iter().copied().map(u64::from_le_bytes).collect();
                let in_bitmap: Vec<u64> = bitmap.with_words(index, count, read);
                let in_view: Vec<u64> = view.with_words(index, count, read);
                assert_eq!((&in_bitmap, &in_view), (&expected, &expected), "{index}");
            }
        }
    }

    #[test]
    fn positions_past_32_bits_are_kept_apart() {
        let size = (1 << 32) + 1000;
        let bitmap = bitmap(size, &[5, (1 << 32) + 5]);
        assert_eq!(bitmap.count_ones(), 2);
        assert!(bitmap.get(5) && bitmap.get((1 << 32) + 5));
        assert_eq!(bitmap.next_set(6), Some((1 << 32) + 5));
    }

    #[test]
    fn words_and_lines_past_every_address_read_as_zero() {
        // Truncated to addresses of 32 bits, 2^32 and its multiples were index 0.
        let ones = Bitmap::from_bytes(&[0xFF; 128]).expect("small");
        let atomic = crate::bits::AtomicBitmap::from(ones.clone());
        for index in [16, 1 << 32, 1 << 58, 3 << 61, u64::MAX] {
            assert_eq!((ones.word(index), atomic.word(index)), (0, 0), "{index}");
            assert_eq!(ones.line(index), [0; 8], "{index}");
            assert_eq!(atomic.line(index), [0; 8], "{index}");
            assert!(ones.with_line(index, |line| *line == [0; 8]), "{index}");
            let position = index.saturating_mul(64);
            assert_eq!(ones.window(position.min(1 << 63)), 0, "{index}");
            assert!(!ones.get(position) && !atomic.get(position), "{index}");
            ones.prefetch_line(index);
            atomic.prefetch_line(index);
        }
    }

    #[test]
    #[should_panic(expected = "past the end")]
    fn setting_a_word_past_every_position_panics() {
        // Multiplied by 64 it was word 0.
        bitmap(64, &[]).set_word(1 << 58, 1);
    }

    #[test]
    fn a_window_is_the_bits_one_by_one() {
        let bytes: Vec<u8> = (0..=255_u8).map(|i| i.wrapping_mul(151)).collect();
        let bitmap = Bitmap::from_bytes(&bytes).expect("small");
        for position in (0..bitmap.size() + 700).chain([1 << 62]) {
            let bits = (0..64).map(|bit| u64::from(bitmap.get(position + bit)) << bit);
            assert_eq!(bitmap.window(position), bits.sum::<u64>(), "{position}");
        }
    }

    #[test]
    fn setting_past_the_end_is_an_error_not_a_wrap() {
        let mut bitmap = bitmap(70, &[]);
        assert!(matches!(
            bitmap.try_set(70),
            Err(Error::Position { got: 70, len: 70 })
        ));
        assert!(bitmap.try_set(69).expect("inside"));
        assert!(!bitmap.get(70) && !bitmap.get(u64::MAX));
        assert!(!bitmap.clear(1 << 40));
    }

    #[test]
    #[should_panic(expected = "position 64 is past the end of 64 bits")]
    fn setting_past_the_end_unchecked_panics() {
        bitmap(64, &[]).set(64);
    }

    #[test]
    fn more_bits_than_memory_are_refused() {
        for size in [u64::MAX, 1 << 62, 1 << 55] {
            assert!(matches!(Bitmap::new(size), Err(Error::Memory { bits }) if bits == size));
        }
    }

    #[test]
    fn growing_keeps_every_bit_and_adds_zeros() {
        let mut bitmap = bitmap(10, &[0, 9]);
        bitmap.grow(5000).expect("small");
        assert_eq!(bitmap.size(), 5000);
        assert_eq!(format!("{bitmap:?}"), "{0, 9}");
        assert!(bitmap.set(4999));
        bitmap.grow(20).expect("small");
        assert_eq!(bitmap.size(), 5000, "never shrinks");
    }

    #[test]
    fn words_and_bytes_read_back_as_they_were() {
        let words = [1, 0, u64::MAX, 0x8000_0000_0000_0000, 5, 6, 7, 8, 9];
        let from_words = Bitmap::from_words(&words).expect("small");
        assert_eq!(from_words.words().collect::<Vec<_>>(), words);
        assert_eq!(
            Bitmap::from_bytes(&from_words.to_bytes()).expect("small"),
            from_words
        );
        let odd = Bitmap::from_bytes(&[1, 2, 3]).expect("small");
        assert_eq!((odd.size(), odd.to_bytes()), (24, Vec::from([1, 2, 3])));
    }

    #[test]
    #[allow(unsafe_code)]
    fn numbers_are_those_of_the_bytes() {
        fn check<const BYTES: u64>(bits: &impl Bits, bytes: &[u8]) {
            for (index, number) in (0..).zip(bytes.chunks(BYTES as usize)) {
                let mut expected = [0; 8];
                expected[..number.len()].copy_from_slice(number);
                // SAFETY: the number begins with an existing byte.
                let number = unsafe { bits.number_at::<BYTES>(index) };
                assert_eq!(number, u64::from_le_bytes(expected));
            }
        }
        let bytes: Vec<u8> = (1..150).collect();
        let bitmap = Bitmap::from_bytes(&bytes).expect("small");
        let view = crate::bits::BitmapView::new(&bytes[..], bitmap.size()).expect("as many");
        for check in [check::<1>, check::<2>, check::<4>, check::<8>] {
            check(&bitmap, &bytes);
        }
        for check in [check::<1>, check::<2>, check::<4>, check::<8>] {
            check(&view, &bytes);
        }
    }
}
