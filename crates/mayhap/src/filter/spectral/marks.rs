//! The set of keys that are counted twice: their digests, eight to a line.
//!
//! A Bloom filter in its place would be smaller and wrong: a key that passes for a marked one would be
//! looked up where it was never counted. So a mark is the half digest that names a key everywhere in
//! the filter, and a line that is full takes no more: what is not marked is counted as if there were
//! no marks at all.

use crate::bits::{Bits, BitsMut};
use crate::hash::{Digest, reduce};

/// The places of the marks in some bits. It holds none itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    first_line: u64,
    lines: u64,
}

/// The mark of one key: 0 is none, so the key whose digest that is goes without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    line: u64,
    digest: u64,
}

impl Mark {
    /// The digest of the key, as far as this filter knows it.
    pub(super) fn digest(self) -> Digest {
        Digest::from_u64(self.digest)
    }
}

impl Marks {
    pub(super) fn new(first_line: u64, lines: u64) -> Marks {
        Marks { first_line, lines }
    }

    /// The mark of a key by its digest, in the line that 64 other bits choose.
    #[inline]
    pub(super) fn mark(self, digest: u64, place: u64) -> Mark {
        let line = self.first_line + reduce(place, self.lines);
        Mark { line, digest }
    }

    /// Hints that the mark will soon be looked for.
    #[inline]
    pub(super) fn prefetch(self, bits: &impl Bits, mark: Mark) {
        bits.prefetch_line(mark.line);
    }

    /// Returns whether the key is marked.
    #[inline]
    pub(super) fn contains(self, bits: &impl Bits, mark: Mark) -> bool {
        mark.digest != 0 && bits.with_line(mark.line, |line| line.contains(&mark.digest))
    }

    /// Marks a key that is not marked yet; false when its line is full.
    pub(super) fn insert(self, bits: &mut impl BitsMut, mark: Mark) -> bool {
        let line = bits.line_mut(mark.line);
        match line.iter_mut().find(|slot| **slot == 0) {
            Some(slot) => *slot = mark.digest,
            None => return false,
        }
        mark.digest != 0
    }

    /// Takes the mark of a key away.
    pub(super) fn remove(self, bits: &mut impl BitsMut, mark: Mark) {
        let line = bits.line_mut(mark.line);
        for slot in line.iter_mut().filter(|slot| **slot == mark.digest) {
            *slot = 0;
        }
    }

    /// The eight marks in the line of this one.
    pub(super) fn neighbours(self, bits: &impl Bits, mark: Mark) -> [Mark; 8] {
        let Mark { line, .. } = mark;
        bits.line(line).map(|digest| Mark { line, digest })
    }

    /// Keeps the marks that are also in `other`.
    pub(super) fn intersect(self, bits: &mut impl BitsMut, other: &impl Bits) {
        for index in self.first_line..self.first_line + self.lines {
            let others = other.line(index);
            let line = bits.line_mut(index);
            for slot in line.iter_mut().filter(|slot| !others.contains(slot)) {
                *slot = 0;
            }
        }
    }

    /// The number of keys that are marked.
    pub(super) fn count(self, bits: &impl Bits) -> u64 {
        let lines = self.first_line..self.first_line + self.lines;
        let in_line = |index| bits.line(index).iter().filter(|slot| **slot != 0).count() as u64;
        lines.map(in_line).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bitmap;

    #[test]
    fn a_line_holds_eight_keys_and_refuses_the_ninth() {
        let marks = Marks::new(1, 1);
        let mut bits = Bitmap::new(1024).expect("small");
        let mark = |digest| marks.mark(digest, digest);
        for digest in 1..=8 {
            assert!(!marks.contains(&bits, mark(digest)));
            assert!(marks.insert(&mut bits, mark(digest)));
            assert!(marks.contains(&bits, mark(digest)));
        }

        assert!(!marks.insert(&mut bits, mark(9)) && !marks.contains(&bits, mark(9)));
        marks.remove(&mut bits, mark(5));
        assert!(!marks.contains(&bits, mark(5)));
        assert!(marks.insert(&mut bits, mark(9)) && marks.contains(&bits, mark(9)));

        assert_eq!((marks.count(&bits), bits.line(0)), (8, [0; 8]));
    }

    #[test]
    fn the_digest_that_is_no_mark_is_never_marked() {
        let marks = Marks::new(0, 1);
        let mut bits = Bitmap::new(512).expect("small");
        let zero = marks.mark(0, 7);
        assert!(!marks.insert(&mut bits, zero) && !marks.contains(&bits, zero));
        assert_eq!(marks.count(&bits), 0);
    }

    #[test]
    fn the_marks_of_both_are_kept() {
        let marks = Marks::new(0, 1);
        let made = |digests: [u64; 3]| {
            let mut bits = Bitmap::new(512).expect("small");
            for digest in digests {
                marks.insert(&mut bits, marks.mark(digest, 0));
            }
            bits
        };
        let mut bits = made([1, 2, 3]);
        marks.intersect(&mut bits, &made([3, 9, 1]));
        let kept = [1, 2, 3].map(|digest| marks.contains(&bits, marks.mark(digest, 0)));
        assert_eq!(kept, [true, false, true]);
    }
}
