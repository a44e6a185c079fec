//! Lines in two 256-bit registers.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::super::kernel::Avx2;
use super::kernel::Lanes;
use super::pattern::{Pattern, Windows};
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
    let low = _mm256_andnot_si256(line[0], mask[0]);
    let high = _mm256_andnot_si256(line[1], mask[1]);
    let missing = _mm256_or_si256(low, high);
    _mm256_testz_si256(missing, missing) == 0
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
    !any_missing(load(line), spread(pattern))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn merge(line: &mut [u64; 8], pattern: Pattern) -> bool {
    let (bits, mask) = (load(line), spread(pattern));
    store(line, or(bits, mask));
    any_missing(bits, mask)
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn covers_shared(line: &SharedLine, pattern: Pattern) -> bool {
    !any_missing(line.load_256(), spread(pattern))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn merge_shared(line: &LockedLine<'_>, pattern: Pattern) -> bool {
    let (bits, mask) = (line.line().load_256(), spread(pattern));
    let missing = any_missing(bits, mask);
    // A line that has all bits stays clean, and in the caches of other cores.
    if missing {
        line.store_256(or(bits, mask));
    }
    missing
}

/// `covers` as a call for one key.
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn covers_one<const ROUNDS: u32>(
    line: &[u64; 8],
    word: u64,
    windows: &'static Windows,
) -> bool {
    covers(line, Pattern::with_rounds::<ROUNDS>(word, windows))
}

/// `covers_shared` as a call for one key.
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn covers_shared_one<const ROUNDS: u32>(
    line: &SharedLine,
    word: u64,
    windows: &'static Windows,
) -> bool {
    covers_shared(line, Pattern::with_rounds::<ROUNDS>(word, windows))
}

/// `merge` as a call for one key.
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn merge_one<const ROUNDS: u32>(
    line: &mut [u64; 8],
    word: u64,
    windows: &'static Windows,
) -> bool {
    merge(line, Pattern::with_rounds::<ROUNDS>(word, windows))
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
}
