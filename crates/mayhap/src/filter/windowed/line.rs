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
#![allow(unsafe_code)]

use super::super::blocked::next_word;
use super::super::kernel::Plain;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::super::kernel::{Avx2, Avx512};
use super::shape::{GENERATIONS, Shape, WORD_BITS};
use crate::hash::{Digest, reduce};

/// The place of the stamp of a slot in its second word.
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
#[derive(Debug, Clone, Copy, Default)]
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

    /// Returns whether a slot has every bit, under the stamp of its generation.
    #[inline(always)]
    fn is_in(self, slot: &[u64], stamp: u64) -> bool {
        let Mask([first, second]) = self;
        (slot[0] & first == first) & ((slot[1] ^ stamp) & (second | STAMP) == second)
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

/// Looks at all slots of a line by one kind of instructions.
pub(super) trait Slots: Copy {
    /// Returns whether any slot has every bit of the mask, under the stamp of its generation.
    #[inline(always)]
    fn any_has(self, line: &[u64; 8], mask: Mask, stamps: &[u64; GENERATIONS]) -> bool {
        // Counted, not left early: where a key is found cannot be predicted.
        let slots = line.chunks_exact(2).zip(stamps);
        let found = slots.map(|(slot, &stamp)| u32::from(mask.is_in(slot, stamp)));
        found.sum::<u32>() > 0
    }
}

impl Slots for Plain {}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Slots for Avx2 {}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Slots for Avx512 {
    #[inline(always)]
    fn any_has(self, line: &[u64; 8], mask: Mask, stamps: &[u64; GENERATIONS]) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F.
        unsafe { any_has_512(line, mask, stamps) }
    }
}

/// [`Slots::any_has`] in one register.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx512f")]
fn any_has_512(line: &[u64; 8], mask: Mask, stamps: &[u64; GENERATIONS]) -> bool {
    use core::arch::x86_64::*;
    let Mask([first, second]) = mask;
    let pair = |first: u64, second: u64| {
        let pair = _mm_set_epi64x(second.cast_signed(), first.cast_signed());
        _mm512_broadcast_i32x4(pair)
    };
    // SAFETY: `line` is 64 readable bytes, and the load needs no alignment.
    let line = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    // SAFETY: `stamps` is 32 readable bytes, and the load needs no alignment.
    let stamps = unsafe { _mm256_loadu_si256(stamps.as_ptr().cast()) };
    // Each in the second word of its slot, zeros in the first.
    let places = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
    let stamps = _mm512_maskz_permutexvar_epi64(0xAA, places, _mm512_castsi256_si512(stamps));
    // (line ^ stamps) & counted, in one instruction.
    let counted = pair(first, second | STAMP);
    let bits = _mm512_ternarylogic_epi64::<0x28>(line, stamps, counted);
    let words = _mm512_cmpeq_epi64_mask(bits, pair(first, second));
    words & words >> 1 & 0x55 != 0
}

/// Returns whether a slot holds the generation with this stamp, and not an older one.
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
    use crate::filter::kernel::{Chosen, Task};

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

    struct AnyHas<'a>(&'a [u64; 8], Mask, [u64; GENERATIONS]);

    impl<S: Slots> Task<S> for AnyHas<'_> {
        type Output = bool;

        #[inline(always)]
        fn run(self, simd: S) -> bool {
            simd.any_has(self.0, self.1, &self.2)
        }
    }

    /// The answer that all kernels agree on.
    fn is_in_line(line: &[u64; 8], mask: Mask, stamps: [u64; GENERATIONS]) -> bool {
        let expected = Plain.any_has(line, mask, &stamps);
        for kernel in Chosen::all() {
            let got = kernel.run(AnyHas(line, mask, stamps));
            assert_eq!(got, expected, "{kernel:?} {line:x?}");
        }
        expected
    }

    #[test]
    fn a_key_is_in_its_slot_for_four_generations() {
        let shape = Shape::new(1, 7).expect("valid");
        for first in [0, 1, 2, 3, 1022, 1023, 1024, 5000] {
            let mut line = [0; 8];
            let mask = Mask::new(Digest::from_u64(first + 1), shape);
            assert!(!is_in_line(&line, mask, stamps(first)));

            assert!(mask.put(&mut line, slot_of(first), stamps(first)[slot_of(first)]));

            for generation in first..first + 1024 {
                let is_in = is_in_line(&line, mask, stamps(generation));
                assert_eq!(is_in, generation < first + 4, "{generation}");
            }
            scrub(&mut line, &stamps(first + 3));
            assert!(is_in_line(&line, mask, stamps(first + 3)));
            scrub(&mut line, &stamps(first + 4));
            assert_eq!(line, [0; 8]);
        }
    }

    /// Each bit that is missing of one slot, and each bit of its stamp, is seen by every kernel.
    #[test]
    fn a_slot_without_one_bit_does_not_have_the_mask() {
        let shape = Shape::new(1, 9).expect("valid");
        let mask = Mask::new(Digest::from_u64(12345), shape);
        let stamps = stamps(1029);
        for slot in 0..GENERATIONS {
            let mut line = [0; 8];
            assert!(mask.put(&mut line, slot, stamps[slot]));
            assert!(is_in_line(&line, mask, stamps));
            for word in [2 * slot, 2 * slot + 1] {
                for bit in 0..64 {
                    let counts =
                        mask.words()[word % 2] >> bit & 1 == 1 || word % 2 == 1 && bit >= 56;
                    let mut other = line;
                    other[word] ^= 1 << bit;
                    assert_eq!(is_in_line(&other, mask, stamps), !counts, "{word} {bit}");
                }
            }
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
