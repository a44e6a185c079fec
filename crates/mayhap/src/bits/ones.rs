//! Searching the ones and zeros of a bitmap.

use super::{Bitmap, Bits as _};

impl Bitmap {
    /// The first one at or after `from`.
    pub fn next_set(&self, from: u64) -> Option<u64> {
        let mut index = from / 64;
        let mut word = self.word(index) & (u64::MAX << (from % 64));
        let words = self.size().div_ceil(64);
        while word == 0 {
            index += 1;
            if index >= words {
                return None;
            }
            word = self.word(index);
        }
        Some(index * 64 + u64::from(word.trailing_zeros()))
    }

    /// The first zero at or after `from`. Every position past the end is a zero.
    pub fn next_clear(&self, from: u64) -> u64 {
        let mut index = from / 64;
        let mut word = !self.word(index) & (u64::MAX << (from % 64));
        while word == 0 {
            index += 1;
            word = !self.word(index);
        }
        index * 64 + u64::from(word.trailing_zeros())
    }

    /// The last one at or before `from`.
    pub fn previous_set(&self, from: u64) -> Option<u64> {
        let from = from.min(self.size().checked_sub(1)?);
        let mut index = from / 64;
        let mut word = self.word(index) & (u64::MAX >> (63 - from % 64));
        while word == 0 {
            index = index.checked_sub(1)?;
            word = self.word(index);
        }
        Some(index * 64 + 63 - u64::from(word.leading_zeros()))
    }

    /// The last zero at or before `from`. Every position past the end is a zero.
    pub fn previous_clear(&self, from: u64) -> Option<u64> {
        let mut index = from / 64;
        let mut word = !self.word(index) & (u64::MAX >> (63 - from % 64));
        while word == 0 {
            index = index.checked_sub(1)?;
            word = !self.word(index);
        }
        Some(index * 64 + 63 - u64::from(word.leading_zeros()))
    }

    /// The positions of the ones, ascending.
    pub fn ones(&self) -> Ones<'_> {
        Ones {
            bitmap: self,
            index: 0,
            word: self.word(0),
        }
    }
}

/// The positions of the ones of a [`Bitmap`], ascending.
#[derive(Debug, Clone)]
pub struct Ones<'a> {
    bitmap: &'a Bitmap,
    index: u64,
    word: u64,
}

impl Iterator for Ones<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        while self.word == 0 {
            self.index += 1;
            if self.index >= self.bitmap.size().div_ceil(64) {
                return None;
            }
            self.word = self.bitmap.word(self.index);
        }
        let position = self.index * 64 + u64::from(self.word.trailing_zeros());
        self.word &= self.word - 1;
        Some(position)
    }
}
