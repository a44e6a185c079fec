//! Which line a key has, and which bits of it: one definition, in plain arithmetic.
//!
//! The line is the high half of the digest, reduced to the number of lines; the bits come from the low half:
//!
//! ```text
//! line:    lane 0   lane 1   …   lane 7          eight 64-bit words, one cache line
//! round 0: one bit in each of r lanes, from lane `start` on and around    (when k = r < 8)
//! round j: one bit in each of the eight lanes                            (k ≥ 8: all but the last)
//! ```
//!
//! In round `j` the bit of lane `l` is `(w_j >> 6 l) & 63`. `w_0` is the low half of the digest, and
//! `start` its top three bits, which no lane uses; each further word is a folded multiplication of
//! the one before. Every SIMD kernel computes exactly this, and is tested against it.

use super::shape::BlockedShape;
use crate::hash::{Digest, GOLDEN, WIDEN, reduce};

/// From a digest to a line, and a pattern in it: the same for all keys of a filter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Locator {
    lines: u64,
    spread: Spread,
}

impl Locator {
    pub(super) fn new(shape: BlockedShape) -> Locator {
        Locator {
            lines: shape.lines(),
            spread: Spread::new(shape.hashes()),
        }
    }

    /// How the bits of every key are spread.
    pub(super) fn spread(&self) -> Spread {
        self.spread
    }

    /// Whether patterns have a full round; most filters' have none.
    #[inline(always)]
    pub(super) fn has_rounds(&self) -> bool {
        self.spread.rounds > 0
    }

    /// This locator, which has no full round: then the compiler knows it too, and leaves the loop over them out.
    #[inline(always)]
    pub(super) fn without_rounds(mut self) -> Locator {
        self.spread.rounds = 0;
        self
    }

    /// The line of a digest, and the pattern there.
    #[inline(always)]
    pub(super) fn locate(&self, digest: Digest) -> (u64, Pattern) {
        (self.line(digest), self.pattern(digest.lo))
    }

    /// The line of a digest.
    #[inline(always)]
    pub(super) fn line(&self, digest: Digest) -> u64 {
        reduce(digest.hi, self.lines)
    }

    /// The pattern that starts with this word.
    #[inline(always)]
    pub(super) fn pattern(&self, word: u64) -> Pattern {
        Pattern {
            word,
            spread: self.spread,
        }
    }
}

/// The bits of one line that a key sets, before they are spelled out as a mask.
#[derive(Debug, Clone, Copy)]
pub(in crate::filter) struct Pattern {
    /// The first word of bit choices, `w_0`.
    pub(super) word: u64,
    pub(super) spread: Spread,
}

/// How a number of bits per key is spread over the lanes: the same for all keys of a filter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    /// Rounds over all eight lanes.
    pub(super) rounds: u32,
    /// The lanes of the last, partial round, by the lane it starts at.
    pub(super) windows: &'static Windows,
}

/// The lanes that a partial round uses, by the lane it starts at.
///
/// Looked up, because computed they take four instructions with AVX-512 and eight with AVX2. Those of a filter are 576
/// bytes, which stay in the nearest cache.
#[derive(Debug)]
pub(super) struct Windows {
    ones: [Window; 8],
    /// The same as bits of a byte: what AVX-512 takes for a choice of lanes.
    pub(super) lanes: [u8; 8],
}

/// A one in each lane that a round uses, and a zero in the others: what is shifted to the bits that the word chooses.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Window([u64; 8]);

/// By the number of lanes.
static WINDOWS: [Windows; 8] = {
    let mut windows = [const {
        Windows {
            ones: [Window([0; 8]); 8],
            lanes: [0; 8],
        }
    }; 8];
    let mut index = 0;
    while index < 8 * 8 * 8 {
        let (count, start, nth) = (index / 64, index / 8 % 8, index % 8);
        if nth < count {
            let lane = (start + nth) % 8;
            windows[count].ones[start].0[lane] = 1;
            windows[count].lanes[start] |= 1 << lane;
        }
        index += 1;
    }
    windows
};

impl Spread {
    pub(super) fn new(hashes: u32) -> Spread {
        Spread {
            rounds: hashes / 8,
            windows: &WINDOWS[(hashes % 8) as usize],
        }
    }
}

/// The word of bit choices after `word`.
#[inline]
pub(in crate::filter) fn next_word(word: u64) -> u64 {
    let product = u128::from(word ^ GOLDEN) * u128::from(WIDEN);
    (product as u64) ^ (product >> 64) as u64
}

/// The bit of a lane that a word chooses, where the window has the lane.
#[inline(always)]
pub(super) fn bit(window: &[u64; 8], word: u64, lane: usize) -> u64 {
    window[lane] << (word >> (6 * lane) & 63)
}

impl Pattern {
    /// A pattern whose number of full rounds the compiler knows.
    #[inline(always)]
    pub(super) fn with_rounds<const ROUNDS: u32>(word: u64, windows: &'static Windows) -> Pattern {
        let rounds = ROUNDS;
        let spread = Spread { rounds, windows };
        Pattern { word, spread }
    }

    /// A one in each lane of the last, partial round.
    #[inline(always)]
    pub(super) fn window(self) -> &'static [u64; 8] {
        &self.spread.windows.ones[self.start()].0
    }

    /// The lanes of the last, partial round, as bits of a byte.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline(always)]
    pub(super) fn lanes(self) -> u8 {
        self.spread.windows.lanes[self.start()]
    }

    /// The lane that the last, partial round starts at.
    #[inline(always)]
    pub(super) fn start(self) -> usize {
        (self.word >> 61) as usize
    }

    /// The bits, lane by lane.
    #[inline(always)]
    pub(super) fn mask(self) -> [u64; 8] {
        let mut mask = [0; 8];
        let mut word = self.word;
        for _ in 0..self.spread.rounds {
            for (lane, mask) in mask.iter_mut().enumerate() {
                *mask |= 1 << (word >> (6 * lane) & 63);
            }
            word = next_word(word);
        }
        let window = self.window();
        for (lane, mask) in mask.iter_mut().enumerate() {
            *mask |= bit(window, word, lane);
        }
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(word: u64, hashes: u32) -> Pattern {
        let spread = Spread::new(hashes);
        Pattern { word, spread }
    }

    #[test]
    fn a_key_sets_one_bit_in_each_lane_of_its_window() {
        for hashes in 1..=8_u32 {
            for start in 0..8_u64 {
                let mask = pattern(start << 61 | 0x1234_5678_9ABC, hashes).mask();
                for (lane, mask) in mask.iter().enumerate() {
                    let inside = hashes == 8 || (lane as u64 + 8 - start) % 8 < u64::from(hashes);
                    assert_eq!(
                        mask.count_ones(),
                        u32::from(inside),
                        "{hashes} {start} {lane}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_bit_of_a_lane_is_its_six_bits_of_the_word() {
        let word = 0o7_0102_0304_0506_0710;
        let mask = pattern(word, 8).mask();
        assert_eq!(
            mask.map(u64::trailing_zeros),
            [0o10, 0o07, 0o06, 0o05, 0o04, 0o03, 0o02, 0o01]
        );
    }

    #[test]
    fn further_rounds_use_further_words() {
        let word = 0x0123_4567_89AB_CDEF;
        let first = pattern(word, 8).mask();
        let second = pattern(next_word(word), 8).mask();
        let both = pattern(word, 16).mask();
        for lane in 0..8 {
            assert_eq!(both[lane], first[lane] | second[lane]);
        }
    }
}
