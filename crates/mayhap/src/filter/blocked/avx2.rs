//! Lines in two 256-bit registers.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::super::avx2::{self, load, or, store};
use super::super::kernel::Avx2;
use super::kernel::Lines;
use super::pattern::Pattern;
use crate::bits::{LockedLine, SharedLine};

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

/// The pattern's bits.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn spread(pattern: Pattern) -> Halves {
    let last_round = |word| bits_of(word, load(pattern.window()));
    if pattern.spread.rounds == 0 {
        return last_round(pattern.word);
    }
    let mut word = pattern.word;
    let mut mask = [_mm256_setzero_si256(); 2];
    for _ in 0..pattern.spread.rounds {
        mask = or(mask, bits_of(word, [_mm256_set1_epi64x(1); 2]));
        word = super::pattern::next_word(word);
    }
    or(mask, last_round(word))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn mask(pattern: Pattern) -> [u64; 8] {
    let mut mask = [0; 8];
    store(&mut mask, spread(pattern));
    mask
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn covers(line: &[u64; 8], pattern: Pattern) -> bool {
    avx2::covers(load(line), spread(pattern))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn merge(line: &mut [u64; 8], pattern: Pattern) -> bool {
    avx2::merge(line, spread(pattern))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn covers_shared(line: &SharedLine, pattern: Pattern) -> bool {
    avx2::covers(line.load_256(), spread(pattern))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn merge_shared(line: &LockedLine<'_>, pattern: Pattern) -> bool {
    let (bits, mask) = (line.line().load_256(), spread(pattern));
    // A line that has all bits stays clean, and in the caches of other cores.
    let covered = avx2::covers(bits, mask);
    if !covered {
        line.store_256(or(bits, mask));
    }
    !covered
}

impl Lines for Avx2 {
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
}
