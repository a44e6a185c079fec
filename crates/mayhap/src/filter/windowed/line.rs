//! One line of four generations.
//!
//! ```text
//! line:        slot 0        slot 1        slot 2        slot 3      one cache line
//! slot:        word of 64 bits, word of 56 bits, stamp of 8
//! generation:  g is in slot g mod 4, under the stamp g / 4 mod 256
//! ```
//!
//! A slot whose stamp is not that of the generation that should be there holds an older one: it is
//! passed over by lookups and emptied by the next insert. So a generation ends without a line being
//! touched. A key sets the same bits in any slot.

use super::super::blocked::next_word;
use super::GENERATIONS;
use super::shape::{Shape, WORD_BITS};
use crate::hash::{Digest, reduce};

/// Where the stamp of a slot is in its second word.
const STAMP: u64 = 0xFF << 56;

/// The stamps that the slots have while a generation is the current one.
pub(super) fn stamps(generation: u64) -> [u64; GENERATIONS] {
    core::array::from_fn(|slot| {
        let age = generation.wrapping_sub(slot as u64) % GENERATIONS as u64;
        // Wraps only in the first generations, for slots that hold nothing yet.
        let written = generation.wrapping_sub(age);
        (written / GENERATIONS as u64 % 256) << 56
    })
}

/// The slot of a generation.
pub(super) fn slot_of(generation: u64) -> usize {
    (generation % GENERATIONS as u64) as usize
}

/// The bits that a key sets in the two words of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mask([u64; 2]);

impl Mask {
    /// Each word of choices, from the low half of the digest on, gives a bit of the first word by its
    /// lowest six bits, and one of the second by its product with 56.
    #[inline(always)]
    pub(super) fn new(digest: Digest, shape: Shape) -> Mask {
        let [first, second] = shape.throws();
        let mut word = digest.lo;
        let mut mask = [0, 0];
        for _ in 0..second {
            mask[0] |= 1 << (word & 63);
            mask[1] |= 1 << reduce(word, u64::from(WORD_BITS[1]));
            word = next_word(word);
        }
        if first > second {
            mask[0] |= 1 << (word & 63);
        }
        Mask(mask)
    }

    /// The words of the mask.
    pub(super) fn words(self) -> [u64; 2] {
        self.0
    }

    /// Whether a slot has every bit, under the stamp of its generation.
    #[inline(always)]
    fn is_in(self, slot: &[u64], stamp: u64) -> bool {
        let Mask([first, second]) = self;
        (slot[0] & first == first) & ((slot[1] ^ stamp) & (second | STAMP) == second)
    }

    /// Whether any slot has every bit, under the stamp of its generation.
    #[inline(always)]
    pub(super) fn is_in_line(self, line: &[u64; 8], stamps: &[u64; GENERATIONS]) -> bool {
        // Counted, not left early: where a key is found cannot be predicted.
        let slots = line.chunks_exact(2).zip(stamps);
        let found = slots.map(|(slot, &stamp)| u32::from(self.is_in(slot, stamp)));
        found.sum::<u32>() > 0
    }

    /// Sets every bit in a slot, which is emptied first if it holds an older generation; true when
    /// any was missing.
    #[inline(always)]
    pub(super) fn put(self, line: &mut [u64; 8], slot: usize, stamp: u64) -> bool {
        let Mask([first, second]) = self;
        let words = &mut line[2 * slot..2 * slot + 2];
        if words[1] & STAMP != stamp {
            words.copy_from_slice(&[0, stamp]);
        }
        let missing = first & !words[0] | second & !words[1];
        words[0] |= first;
        words[1] |= second;
        missing != 0
    }
}

/// Whether a slot holds the generation with this stamp, and not an older one.
pub(super) fn is_current(line: &[u64; 8], slot: usize, stamp: u64) -> bool {
    line[2 * slot + 1] & STAMP == stamp
}

/// Empties the slots that hold older generations.
pub(super) fn scrub(line: &mut [u64; 8], stamps: &[u64; GENERATIONS]) {
    for (slot, &stamp) in line.chunks_exact_mut(2).zip(stamps) {
        if slot[1] & STAMP != stamp {
            slot.fill(0);
        }
    }
}

/// The ones of the two words of each slot; none where it holds an older generation.
pub(super) fn ones(line: &[u64; 8], stamps: &[u64; GENERATIONS]) -> [[u32; 2]; GENERATIONS] {
    core::array::from_fn(|slot| {
        let words = [line[2 * slot], line[2 * slot + 1]];
        match words[1] & STAMP == stamps[slot] {
            true => [words[0], words[1] & !STAMP].map(u64::count_ones),
            false => [0, 0],
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_changes_its_stamp_when_it_gets_a_new_generation_and_only_then() {
        for generation in 0..3000 {
            let (now, next) = (stamps(generation), stamps(generation + 1));
            for slot in 0..GENERATIONS {
                let changes = slot == slot_of(generation + 1);
                assert_eq!(now[slot] != next[slot], changes, "{generation} {slot}");
            }
        }
    }

    #[test]
    fn a_key_is_in_its_slot_for_four_generations() {
        let shape = Shape::new(1, 7).expect("valid");
        for first in [0, 1, 2, 3, 1022, 1023, 1024, 5000] {
            let mut line = [0; 8];
            let mask = Mask::new(Digest::from_u64(first + 1), shape);
            assert!(!mask.is_in_line(&line, &stamps(first)));

            assert!(mask.put(&mut line, slot_of(first), stamps(first)[slot_of(first)]));

            for generation in first..first + 1024 {
                let is_in = mask.is_in_line(&line, &stamps(generation));
                assert_eq!(is_in, generation < first + 4, "{generation}");
            }
            scrub(&mut line, &stamps(first + 3));
            assert!(mask.is_in_line(&line, &stamps(first + 3)));
            scrub(&mut line, &stamps(first + 4));
            assert_eq!(line, [0; 8]);
        }
    }

    #[test]
    fn bits_stay_out_of_the_stamp() {
        let shape = Shape::new(1, 16).expect("valid");
        for key in 0..10_000_u64 {
            let Mask([first, second]) = Mask::new(Digest::from_u64(key << 50 | key), shape);
            assert_eq!(second & STAMP, 0);
            assert!((1..=8).contains(&first.count_ones()) && second.count_ones() <= 8);
        }
    }
}
