//! Lines in two 256-bit registers.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::kernel::{Lanes, Task};
use super::pattern::Pattern;
use crate::bits::{LockedLine, SharedLine};
use crate::hash::Hash;

/// Shows that the CPU has AVX2 and BMI2 (for the multiplications of hashing): only [`Avx2::detect`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        let found = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi2");
        found.then_some(Avx2(()))
    }
}

#[target_feature(enable = "avx2,bmi2")]
fn enabled<T: Task>(lanes: Avx2, task: T, hash: impl Hash) -> T::Output {
    task.run(lanes, hash)
}

/// The low and the high four lanes of a line.
type Halves = [__m256i; 2];

/// One bit per lane, chosen by six bits of the word each: `ones` shifted left.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn bits_of(word: u64, ones: Halves) -> Halves {
    let word = _mm256_set1_epi64x(word.cast_signed());
    let six_bits = _mm256_set1_epi64x(63);
    let low = _mm256_srlv_epi64(word, _mm256_set_epi64x(18, 12, 6, 0));
    let high = _mm256_srlv_epi64(word, _mm256_set_epi64x(42, 36, 30, 24));
    [
        _mm256_sllv_epi64(ones[0], _mm256_and_si256(low, six_bits)),
        _mm256_sllv_epi64(ones[1], _mm256_and_si256(high, six_bits)),
    ]
}

/// A one in each lane of the window, zero in the others.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn ones_of(window: u8) -> Halves {
    let window = _mm256_set1_epi64x(i64::from(window));
    let one = _mm256_set1_epi64x(1);
    let lane = |shifts| _mm256_and_si256(_mm256_srlv_epi64(window, shifts), one);
    [
        lane(_mm256_set_epi64x(3, 2, 1, 0)),
        lane(_mm256_set_epi64x(7, 6, 5, 4)),
    ]
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn or(left: Halves, right: Halves) -> Halves {
    [
        _mm256_or_si256(left[0], right[0]),
        _mm256_or_si256(left[1], right[1]),
    ]
}

/// The pattern's bits.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn spread(pattern: Pattern) -> Halves {
    let last_round = |word| bits_of(word, ones_of(pattern.window()));
    if pattern.spread.rounds() == 0 {
        return last_round(pattern.word);
    }
    let mut word = pattern.word;
    let mut mask = [_mm256_setzero_si256(); 2];
    for _ in 0..pattern.spread.rounds() {
        mask = or(mask, bits_of(word, [_mm256_set1_epi64x(1); 2]));
        word = super::pattern::next_word(word);
    }
    or(mask, last_round(word))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn load(line: &[u64; 8]) -> Halves {
    let (halves, _) = line.as_chunks::<4>();
    // SAFETY: each half is 32 readable bytes, and the load needs no alignment.
    let half = |half: &[u64; 4]| unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
    [half(&halves[0]), half(&halves[1])]
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn store(line: &mut [u64; 8], bits: Halves) {
    let (halves, _) = line.as_chunks_mut::<4>();
    for (half, bits) in halves.iter_mut().zip(bits) {
        // SAFETY: each half is 32 writable bytes, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), bits) }
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn any_missing(line: Halves, mask: Halves) -> bool {
    // `testc` is 1 when the complement of its first operand has no bit of the second.
    _mm256_testc_si256(line[0], mask[0]) & _mm256_testc_si256(line[1], mask[1]) == 0
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn mask(pattern: Pattern) -> [u64; 8] {
    let mut mask = [0; 8];
    store(&mut mask, spread(pattern));
    mask
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn covers(line: &[u64; 8], pattern: Pattern) -> bool {
    !any_missing(load(line), spread(pattern))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn merge(line: &mut [u64; 8], pattern: Pattern) -> bool {
    let (bits, mask) = (load(line), spread(pattern));
    store(line, or(bits, mask));
    any_missing(bits, mask)
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn covers_shared(line: &SharedLine, pattern: Pattern) -> bool {
    !any_missing(line.load_256(), spread(pattern))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn merge_shared(line: &LockedLine<'_>, pattern: Pattern) -> bool {
    let (bits, mask) = (line.line().load_256(), spread(pattern));
    let missing = any_missing(bits, mask);
    // A line that has all bits stays clean, and in the caches of other cores.
    if missing {
        line.store_256(or(bits, mask));
    }
    missing
}

impl Lanes for Avx2 {
    #[inline(always)]
    fn mask(self, pattern: Pattern) -> [u64; 8] {
        // SAFETY: `self` shows that the CPU has AVX2 and BMI2.
        unsafe { mask(pattern) }
    }

    #[inline(always)]
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX2 and BMI2.
        unsafe { covers(line, pattern) }
    }

    #[inline(always)]
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX2 and BMI2.
        unsafe { merge(line, pattern) }
    }

    #[inline(always)]
    fn covers_shared(self, line: &SharedLine, pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX2 and BMI2.
        unsafe { covers_shared(line, pattern) }
    }

    #[inline(always)]
    fn merge_shared(self, line: &LockedLine<'_>, pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX2 and BMI2.
        unsafe { merge_shared(line, pattern) }
    }

    #[inline]
    fn enable<T: Task>(self, task: T, hash: impl Hash) -> T::Output {
        // SAFETY: `self` shows that the CPU has AVX2 and BMI2, all that `enabled` needs.
        unsafe { enabled(self, task, hash) }
    }
}
