//! Set algebra on bitmaps, and positions by rank.

use super::{Bitmap, Bits};
use crate::Result;

impl Bitmap {
    /// Keeps the bits that are also in `other`: intersection.
    ///
    /// ```
    /// use mayhap::Bitmap;
    ///
    /// let mut both = Bitmap::from_bytes(&[0b0110])?;
    /// both.and(&Bitmap::from_bytes(&[0b0011])?);
    /// assert_eq!(format!("{both:?}"), "{1}");
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn and(&mut self, other: &Bitmap) {
        self.each_word_with(other, |word, other| word & other);
    }

    /// Adds the bits of `other`, growing to its size: union.
    ///
    /// # Errors
    ///
    /// When there is no memory to grow; the bitmap is then unchanged.
    pub fn or(&mut self, other: &Bitmap) -> Result<()> {
        self.grow(other.size())?;
        self.each_word_with(other, |word, other| word | other);
        Ok(())
    }

    /// Keeps the bits that are in exactly one of the two, growing to the size of `other`.
    ///
    /// # Errors
    ///
    /// When there is no memory to grow; the bitmap is then unchanged.
    pub fn xor(&mut self, other: &Bitmap) -> Result<()> {
        self.grow(other.size())?;
        self.each_word_with(other, |word, other| word ^ other);
        Ok(())
    }

    /// Clears the bits that are in `other`: difference.
    pub fn and_not(&mut self, other: &Bitmap) {
        self.each_word_with(other, |word, other| word & !other);
    }

    /// Inverts every bit: complement within the bitmap's size.
    pub fn not(&mut self) {
        for line in self.lines.iter_mut() {
            line.0 = line.0.map(|word| !word);
        }
        self.clear_tail();
    }

    /// Returns whether any bit is in both.
    pub fn intersects(&self, other: &Bitmap) -> bool {
        self.words().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    /// Returns whether every bit of this bitmap is also in `other`.
    pub fn is_subset(&self, other: &Bitmap) -> bool {
        (0..self.size().div_ceil(64)).all(|index| self.word(index) & !other.word(index) == 0)
    }

    /// Returns whether no bit is one.
    pub fn is_zero(&self) -> bool {
        self.words().all(|word| word == 0)
    }

    /// The number of ones before `position`.
    ///
    /// ```
    /// use mayhap::Bitmap;
    ///
    /// let bitmap = Bitmap::from_bytes(&[0b1011_0100])?;
    /// assert_eq!(bitmap.rank(5), 2);
    /// assert_eq!(bitmap.select(2), Some(5));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn rank(&self, position: u64) -> u64 {
        let position = position.min(self.size());
        let whole = (0..position / 64).map(|index| u64::from(self.word(index).count_ones()));
        let below = self.word(position / 64) & !(u64::MAX << (position % 64));
        whole.sum::<u64>() + u64::from(below.count_ones())
    }

    /// The position of the one with `rank` ones before it.
    pub fn select(&self, rank: u64) -> Option<u64> {
        let mut left = rank;
        for (index, mut word) in self.words().enumerate() {
            let ones = u64::from(word.count_ones());
            if left >= ones {
                left -= ones;
                continue;
            }
            for _ in 0..left {
                word &= word - 1;
            }
            return Some(index as u64 * 64 + u64::from(word.trailing_zeros()));
        }
        None
    }

    /// Replaces every word by `join` of it and the same word of `other`, zero past its end.
    fn each_word_with(&mut self, other: &Bitmap, join: impl Fn(u64, u64) -> u64) {
        for (index, line) in self.lines.iter_mut().enumerate() {
            let other = other.lines.get(index).copied().unwrap_or_default();
            for (word, other) in line.0.iter_mut().zip(other.0) {
                *word = join(*word, other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn bitmap(set: &BTreeSet<u64>) -> Bitmap {
        let mut bitmap = Bitmap::new(set.last().map_or(0, |last| last + 1)).expect("small");
        for &position in set {
            bitmap.set(position);
        }
        bitmap
    }

    fn ones(bitmap: &Bitmap) -> Vec<u64> {
        bitmap.ones().collect()
    }

    fn sets() -> impl Strategy<Value = BTreeSet<u64>> {
        proptest::collection::btree_set(0..2000_u64, 0..200)
    }

    proptest! {
        #[test]
        fn algebra_is_that_of_sets(a in sets(), b in sets()) {
            let (left, right) = (bitmap(&a), bitmap(&b));
            let mut and = left.clone();
            and.and(&right);
            prop_assert_eq!(ones(&and), a.intersection(&b).copied().collect::<Vec<_>>());
            let mut or = left.clone();
            or.or(&right).expect("small");
            prop_assert_eq!(ones(&or), a.union(&b).copied().collect::<Vec<_>>());
            let mut xor = left.clone();
            xor.xor(&right).expect("small");
            prop_assert_eq!(ones(&xor), a.symmetric_difference(&b).copied().collect::<Vec<_>>());
            let mut and_not = left.clone();
            and_not.and_not(&right);
            prop_assert_eq!(ones(&and_not), a.difference(&b).copied().collect::<Vec<_>>());
            prop_assert_eq!(left.intersects(&right), !a.is_disjoint(&b));
            prop_assert_eq!(left.is_subset(&right), a.is_subset(&b));
            prop_assert_eq!(left.is_zero(), a.is_empty());
        }

        #[test]
        fn complement_twice_is_the_same_and_never_counts_past_the_end(a in sets()) {
            let original = bitmap(&a);
            let mut inverted = original.clone();
            inverted.not();
            prop_assert_eq!(inverted.count_ones(), original.size() - original.count_ones());
            inverted.not();
            prop_assert_eq!(inverted, original);
        }

        #[test]
        fn rank_and_select_are_inverse(a in sets()) {
            let bitmap = bitmap(&a);
            for (rank, &position) in a.iter().enumerate() {
                prop_assert_eq!(bitmap.rank(position), rank as u64);
                prop_assert_eq!(bitmap.select(rank as u64), Some(position));
            }
            prop_assert_eq!(bitmap.select(a.len() as u64), None);
            prop_assert_eq!(bitmap.rank(u64::MAX), a.len() as u64);
        }
    }
}
