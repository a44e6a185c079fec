//! Bitmaps against an ordered set.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use mayhap::{
    Bitmap,
    bits::{AtomicBitmap, BitmapView, Bits, Seen, Tally},
    dedupe, sort,
};
use mayhap_fuzz::Bytes;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let mut pair = Pair::new(bytes.below(2100));
    for _ in 0..100 {
        if bytes.is_empty() {
            break;
        }
        pair.change(&mut bytes);
        pair.check_near(position(&mut bytes), bytes.below(300));
    }
    pair.check_whole(&mut bytes);
    for _ in 0..8 {
        pair.check_copies(position(&mut bytes));
    }
    values(&mut Bytes(data));
});

/// A bitmap, and the set of its ones.
struct Pair {
    bitmap: Bitmap,
    ones: BTreeSet<u64>,
}

impl Pair {
    fn new(size: u64) -> Pair {
        Pair {
            bitmap: Bitmap::new(size).expect("small"),
            ones: BTreeSet::new(),
        }
    }

    fn size(&self) -> u64 {
        self.bitmap.size()
    }

    /// Makes another bitmap, with some ones.
    fn other(bytes: &mut Bytes<'_>) -> Pair {
        let mut other = Pair::new(bytes.below(2100));
        for _ in 0..bytes.u8() % 32 {
            let position = bytes.below(2100);
            if position < other.size() {
                other.bitmap.set(position);
                other.ones.insert(position);
            }
        }
        other
    }

    fn change(&mut self, bytes: &mut Bytes<'_>) {
        let position = bytes.below(2200);
        let inside = position < self.size();
        match bytes.u8() % 14 {
            0 => match self.bitmap.try_set(position) {
                Ok(new) => assert_eq!(new, self.ones.insert(position)),
                Err(_) => assert!(!inside),
            },
            1 if inside => assert_eq!(self.bitmap.set(position), self.ones.insert(position)),
            2 => assert_eq!(self.bitmap.clear(position), self.ones.remove(&position)),
            3 if inside => {
                let is_one = self.bitmap.flip(position);
                assert_eq!(is_one, !self.ones.contains(&position));
                self.flip(position);
            }
            4..7 => self.change_range(position.min(self.size()), bytes),
            7 => {
                let size = bytes.below(3000);
                let before = self.size();
                self.bitmap.grow(size).expect("small");
                assert_eq!(self.size(), before.max(size));
            }
            8 => {
                self.bitmap.not();
                (0..self.size()).for_each(|position| self.flip(position));
            }
            9 => self.join(bytes),
            10 if inside => {
                let word = bytes.u64();
                let index = position / 64;
                self.bitmap.set_word(index, word);
                for bit in (0..64).filter(|bit| index * 64 + bit < self.bitmap.size()) {
                    match word >> bit & 1 {
                        1 => self.ones.insert(index * 64 + bit),
                        _ => self.ones.remove(&(index * 64 + bit)),
                    };
                }
            }
            11 => {
                let shared = AtomicBitmap::from(self.bitmap.clone());
                if inside {
                    assert_eq!(shared.set(position), self.ones.insert(position));
                }
                assert_eq!(shared.count_ones(), self.ones.len() as u64);
                self.bitmap = shared.into();
            }
            12 if bytes.u8() == 0 => {
                self.bitmap.clear_all();
                self.ones.clear();
            }
            _ => {}
        }
    }

    fn flip(&mut self, position: u64) {
        if !self.ones.remove(&position) {
            self.ones.insert(position);
        }
    }

    fn change_range(&mut self, start: u64, bytes: &mut Bytes<'_>) {
        let end = start + bytes.below(self.size() - start + 1);
        match bytes.u8() % 3 {
            0 => {
                self.bitmap.set_range(start..end);
                self.ones.extend(start..end);
            }
            1 => {
                self.bitmap.clear_range(start..end);
                self.ones.retain(|one| !(start..end).contains(one));
            }
            _ => {
                self.bitmap.flip_range(start..end);
                (start..end).for_each(|position| self.flip(position));
            }
        }
    }

    fn join(&mut self, bytes: &mut Bytes<'_>) {
        let other = Pair::other(bytes);
        let (left, right) = (&self.ones, &other.ones);
        assert_eq!(
            self.bitmap.intersects(&other.bitmap),
            !left.is_disjoint(right)
        );
        assert_eq!(self.bitmap.is_subset(&other.bitmap), left.is_subset(right));
        self.ones = match bytes.u8() % 4 {
            0 => {
                self.bitmap.and(&other.bitmap);
                left & right
            }
            1 => {
                self.bitmap.or(&other.bitmap).expect("small");
                left | right
            }
            2 => {
                self.bitmap.xor(&other.bitmap).expect("small");
                left ^ right
            }
            _ => {
                self.bitmap.and_not(&other.bitmap);
                left - right
            }
        };
    }

    /// Compares all queries at a position.
    fn check_near(&self, from: u64, length: u64) {
        let Pair { bitmap, ones } = self;
        assert_eq!(bitmap.get(from), ones.contains(&from));
        assert_eq!(bitmap.next_set(from), ones.range(from..).next().copied());
        let previous = ones.range(..=from).next_back().copied();
        assert_eq!(bitmap.previous_set(from), previous);
        let mut after = from..=u64::MAX;
        let clear = after.find(|zero| !ones.contains(zero));
        assert_eq!(Some(bitmap.next_clear(from)), clear);
        let mut before = (0..=from).rev();
        let clear = before.find(|zero| !ones.contains(zero));
        assert_eq!(bitmap.previous_clear(from), clear);

        let to = from.saturating_add(length);
        let part = bitmap.get_range(from..to).expect("small");
        assert_eq!(part.size(), to - from);
        assert!(part.ones().eq(ones.range(from..to).map(|one| one - from)));
    }

    fn check_whole(&self, bytes: &mut Bytes<'_>) {
        let Pair { bitmap, ones } = self;
        assert!(bitmap.ones().eq(ones.iter().copied()));
        assert_eq!(bitmap.count_ones(), ones.len() as u64);
        assert_eq!(bitmap.is_zero(), ones.is_empty());
        let from = position(bytes);
        assert_eq!(bitmap.rank(from), ones.range(..from).count() as u64);
        assert_eq!(bitmap.select(from), ones.iter().nth(from as usize).copied());
        let copy = Bitmap::from_bytes(&bitmap.to_bytes()).expect("small");
        assert!(copy.ones().eq(bitmap.ones()));
    }

    /// Compares the same bits, borrowed and shared.
    fn check_copies(&self, from: u64) {
        let bitmap = &self.bitmap;
        let wire = bitmap.to_bytes();
        let view = BitmapView::new(&wire[..], bitmap.size()).expect("enough");
        let shared = AtomicBitmap::from(bitmap.clone());
        assert_eq!(view.count_ones(), bitmap.count_ones());
        assert_eq!(view.get(from), bitmap.get(from));
        for index in [from, from / 64, from / 512] {
            assert_eq!(view.word(index), bitmap.word(index));
            assert_eq!(view.line(index), bitmap.line(index));
            assert_eq!(shared.line(index), bitmap.line(index));
        }
    }
}

/// Draws a position near the bits, or anywhere.
fn position(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.u8() % 4 {
        0 => bytes.u64(),
        _ => bytes.below(2300),
    }
}

/// Sorts, deduplicates and counts values.
fn values(bytes: &mut Bytes<'_>) {
    let base = bytes.u64();
    let values: Vec<u64> = bytes
        .take(200)
        .iter()
        .map(|&value| base.saturating_add(u64::from(value) * 5))
        .collect();
    let set: BTreeSet<u64> = values.iter().copied().collect();

    let mut sorted = values.clone();
    sort(&mut sorted).expect("a narrow range");
    assert!(sorted.iter().eq(&set));

    let mut seen = BTreeSet::new();
    let mut firsts = values.clone();
    firsts.retain(|value| seen.insert(*value));
    let mut distinct = values.clone();
    dedupe(&mut distinct).expect("a narrow range");
    assert_eq!(distinct, firsts);

    let mut tally = Tally::new(1280).expect("small");
    for value in &values {
        tally.count(value - base).expect("in range");
    }
    for value in &set {
        let expected = match values.iter().filter(|other| *other == value).count() {
            1 => Seen::Once,
            _ => Seen::Often,
        };
        assert_eq!(tally.get(value - base), expected);
    }
    assert_eq!(tally.distinct().count(), set.len());
    assert_eq!(tally.once().count() + tally.often().count(), set.len());
}
