//! Lines in one 512-bit register.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::kernel::{Lanes, Task};
use super::pattern::Pattern;
use crate::bits::{LockedLine, SharedLine};
use crate::hash::Hash;

/// Shows that the CPU has AVX-512F and BMI2 (for the multiplications of hashing): only [`Avx512::detect`] makes one.
///
/// Without `ROUNDS` it is for patterns that have no full round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Avx512<const ROUNDS: bool>(());

impl<const ROUNDS: bool> Avx512<ROUNDS> {
    pub(super) fn detect() -> Option<Avx512<ROUNDS>> {
        let found = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("bmi2");
        found.then_some(Avx512(()))
    }
}

#[target_feature(enable = "avx512f,bmi2")]
fn enabled<const ROUNDS: bool, T: Task>(
    lanes: Avx512<ROUNDS>,
    task: T,
    hash: impl Hash,
) -> T::Output {
    task.run(lanes, hash)
}

/// The pattern's bits; without `ROUNDS` those of its last round, when there is no other.
///
/// A rotation of 1 takes its count modulo 64, so the six bits of each lane need no masking, and a masked one leaves the
/// lanes outside the window zero.
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn spread<const ROUNDS: bool>(pattern: Pattern) -> __m512i {
    let shifts = _mm512_set_epi64(42, 36, 30, 24, 18, 12, 6, 0);
    let one = _mm512_set1_epi64(1);
    let counts = |word: u64| _mm512_srlv_epi64(_mm512_set1_epi64(word.cast_signed()), shifts);
    let last_round = |word| _mm512_maskz_rolv_epi64(pattern.window(), one, counts(word));
    if !ROUNDS {
        return last_round(pattern.word);
    }
    let mut word = pattern.word;
    let mut mask = _mm512_setzero_si512();
    for _ in 0..pattern.spread.rounds() {
        mask = _mm512_or_si512(mask, _mm512_rolv_epi64(one, counts(word)));
        word = super::pattern::next_word(word);
    }
    _mm512_or_si512(mask, last_round(word))
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn load(line: &[u64; 8]) -> __m512i {
    // SAFETY: `line` is 64 readable bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn store(line: &mut [u64; 8], bits: __m512i) {
    // SAFETY: `line` is 64 writable bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), bits) }
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn any_missing(line: __m512i, mask: __m512i) -> bool {
    _mm512_cmpneq_epi64_mask(_mm512_and_si512(line, mask), mask) != 0
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn mask<const ROUNDS: bool>(pattern: Pattern) -> [u64; 8] {
    let mut mask = [0; 8];
    store(&mut mask, spread::<ROUNDS>(pattern));
    mask
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn covers<const ROUNDS: bool>(line: &[u64; 8], pattern: Pattern) -> bool {
    !any_missing(load(line), spread::<ROUNDS>(pattern))
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn merge<const ROUNDS: bool>(line: &mut [u64; 8], pattern: Pattern) -> bool {
    let (bits, mask) = (load(line), spread::<ROUNDS>(pattern));
    store(line, _mm512_or_si512(bits, mask));
    any_missing(bits, mask)
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn covers_shared<const ROUNDS: bool>(line: &SharedLine, pattern: Pattern) -> bool {
    !any_missing(line.load_512(), spread::<ROUNDS>(pattern))
}

#[inline]
#[target_feature(enable = "avx512f,bmi2")]
pub(super) fn merge_shared<const ROUNDS: bool>(line: &LockedLine<'_>, pattern: Pattern) -> bool {
    let (bits, mask) = (line.line().load_512(), spread::<ROUNDS>(pattern));
    let missing = any_missing(bits, mask);
    // A line that has all bits stays clean, and in the caches of other cores.
    if missing {
        line.store_512(_mm512_or_si512(bits, mask));
    }
    missing
}

impl<const ROUNDS: bool> Lanes for Avx512<ROUNDS> {
    #[inline(always)]
    fn mask(self, pattern: Pattern) -> [u64; 8] {
        // SAFETY: `self` shows that the CPU has AVX-512F and BMI2.
        unsafe { mask::<ROUNDS>(pattern) }
    }

    #[inline(always)]
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F and BMI2.
        unsafe { covers::<ROUNDS>(line, pattern) }
    }

    #[inline(always)]
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F and BMI2.
        unsafe { merge::<ROUNDS>(line, pattern) }
    }

    #[inline(always)]
    fn covers_shared(self, line: &SharedLine, pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F and BMI2.
        unsafe { covers_shared::<ROUNDS>(line, pattern) }
    }

    #[inline(always)]
    fn merge_shared(self, line: &LockedLine<'_>, pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F and BMI2.
        unsafe { merge_shared::<ROUNDS>(line, pattern) }
    }

    #[inline]
    fn enable<T: Task>(self, task: T, hash: impl Hash) -> T::Output {
        // SAFETY: `self` shows that the CPU has AVX-512F and BMI2, all that `enabled` needs.
        unsafe { enabled(self, task, hash) }
    }
}
