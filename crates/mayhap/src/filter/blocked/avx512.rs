//! Lines in one 512-bit register.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::super::kernel::Avx512;
use super::kernel::Lines;
use super::pattern::Pattern;
use crate::bits::{LockedLine, SharedLine};

/// What a word chooses in each lane. A rotation takes its count modulo 64, so the six bits need no masking.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn counts(word: u64) -> __m512i {
    let shifts = _mm512_set_epi64(42, 36, 30, 24, 18, 12, 6, 0);
    _mm512_srlv_epi64(_mm512_set1_epi64(word.cast_signed()), shifts)
}

/// The pattern's bits.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn spread(pattern: Pattern) -> __m512i {
    let one = _mm512_set1_epi64(1);
    let last_round = |word| _mm512_maskz_rolv_epi64(pattern.lanes(), one, counts(word));
    if pattern.spread.rounds == 0 {
        return last_round(pattern.word);
    }
    let mut word = pattern.word;
    let mut mask = _mm512_setzero_si512();
    for _ in 0..pattern.spread.rounds {
        mask = _mm512_or_si512(mask, _mm512_rolv_epi64(one, counts(word)));
        word = super::pattern::next_word(word);
    }
    _mm512_or_si512(mask, last_round(word))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn load(line: &[u64; 8]) -> __m512i {
    // SAFETY: `line` is 64 readable bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn store(line: &mut [u64; 8], bits: __m512i) {
    // SAFETY: `line` is 64 writable bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), bits) }
}

/// Returns whether a line has every bit of the mask.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn has_all(line: __m512i, mask: __m512i) -> bool {
    _mm512_cmpneq_epi64_mask(_mm512_and_si512(line, mask), mask) == 0
}

/// Returns whether a line has every bit of the pattern.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn holds(line: __m512i, pattern: Pattern) -> bool {
    if pattern.spread.rounds > 0 {
        return has_all(line, spread(pattern));
    }
    // The bits asked for become the lowest of their lanes, so no mask needs to be made: 3 % of a lookup in cache.
    let asked = _mm512_rorv_epi64(line, counts(pattern.word));
    _mm512_mask_testn_epi64_mask(pattern.lanes(), asked, _mm512_set1_epi64(1)) == 0
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn mask(pattern: Pattern) -> [u64; 8] {
    let mut mask = [0; 8];
    store(&mut mask, spread(pattern));
    mask
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn covers(line: &[u64; 8], pattern: Pattern) -> bool {
    holds(load(line), pattern)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn merge(line: &mut [u64; 8], pattern: Pattern) -> bool {
    let (bits, mask) = (load(line), spread(pattern));
    store(line, _mm512_or_si512(bits, mask));
    !has_all(bits, mask)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn covers_shared(line: &SharedLine, pattern: Pattern) -> bool {
    holds(line.load_512(), pattern)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi2")]
fn merge_shared(line: &LockedLine<'_>, pattern: Pattern) -> bool {
    let (bits, mask) = (line.line().load_512(), spread(pattern));
    // A line that has all bits stays clean, and in the caches of other cores.
    let covered = has_all(bits, mask);
    if !covered {
        line.store_512(_mm512_or_si512(bits, mask));
    }
    !covered
}

/// What the code for one key loads: by how much the word is shifted for each lane, and a one.
static CONSTANTS: [u64; 9] = [0, 6, 12, 18, 24, 30, 36, 42, 1];

/// `covers` for one key of a filter without full rounds, in the caller's own code: a function that has the instructions
/// enabled would be a call, around which a loop puts away what it holds in registers.
#[inline(always)]
pub(super) fn covers_here(has: Avx512, line: &[u64; 8], pattern: Pattern) -> bool {
    // SAFETY: the reference is to 64 readable bytes.
    unsafe { covers_at(has, line.as_ptr(), pattern) }
}

/// As [`covers_here`], of a line that other threads may be changing.
#[inline(always)]
pub(super) fn covers_shared_here(has: Avx512, line: &SharedLine, pattern: Pattern) -> bool {
    #[cfg(not(any(loom, miri)))]
    {
        // SAFETY: the line is 64 readable bytes. That others may store to it meanwhile is no data race: `load_512` says why.
        let covered = unsafe { covers_at(has, line.0.as_ptr().cast(), pattern) };
        core::sync::atomic::fence(core::sync::atomic::Ordering::Acquire);
        covered
    }
    #[cfg(any(loom, miri))]
    covers_here(has, &line.load(), pattern)
}

/// `holds` for the line at this address.
///
/// # Safety
///
/// 64 bytes must be readable at the address.
#[inline(always)]
unsafe fn covers_at(_: Avx512, line: *const u64, pattern: Pattern) -> bool {
    let missing: u32;
    // SAFETY: `Avx512` shows that the CPU has the instructions. The line and the constants are readable, and need not be
    // aligned; `start` is below 8, so the byte of lanes is one of eight. Only registers that are named are changed; of the
    // wide ones, no others than 16 and up, whose use slows no SSE instruction down.
    unsafe {
        core::arch::asm!(
            "kmovb k2, byte ptr [{lanes} + {start}]",
            "vpbroadcastq zmm16, {word}",
            "vpsrlvq zmm16, zmm16, [{constants}]",
            "vmovdqu64 zmm17, [{line}]",
            "vprorvq zmm16, zmm17, zmm16",
            "vptestnmq k1 {{k2}}, zmm16, qword ptr [{constants} + 64]{{1to8}}",
            "kmovb {missing:e}, k1",
            lanes = in(reg) pattern.spread.windows.lanes.as_ptr(),
            start = in(reg) pattern.start(),
            word = in(reg) pattern.word,
            constants = in(reg) &raw const CONSTANTS,
            line = in(reg) line,
            missing = lateout(reg) missing,
            out("xmm16") _, out("xmm17") _, out("k1") _, out("k2") _,
            options(readonly, nostack, preserves_flags),
        );
    }
    missing == 0
}

/// `merge` for one key of a filter without full rounds, in the caller's own code.
#[inline(always)]
pub(super) fn merge_here(_: Avx512, line: &mut [u64; 8], pattern: Pattern) -> bool {
    let missing: u32;
    // SAFETY: as in `covers_at`; the line is 64 bytes that nobody else may read or write.
    unsafe {
        core::arch::asm!(
            "kmovb k2, byte ptr [{lanes} + {start}]",
            "vpbroadcastq zmm16, {word}",
            "vpsrlvq zmm16, zmm16, [{constants}]",
            "vpbroadcastq zmm17, qword ptr [{constants} + 64]",
            "vprolvq zmm16 {{k2}} {{z}}, zmm17, zmm16",
            "vmovdqu64 zmm17, [{line}]",
            "vporq zmm16, zmm16, zmm17",
            "vmovdqu64 [{line}], zmm16",
            "vpcmpneqq k1, zmm16, zmm17",
            "kmovb {missing:e}, k1",
            lanes = in(reg) pattern.spread.windows.lanes.as_ptr(),
            start = in(reg) pattern.start(),
            word = in(reg) pattern.word,
            constants = in(reg) &raw const CONSTANTS,
            line = in(reg) line.as_mut_ptr(),
            missing = lateout(reg) missing,
            out("xmm16") _, out("xmm17") _, out("k1") _, out("k2") _,
            options(nostack, preserves_flags),
        );
    }
    missing != 0
}

impl Lines for Avx512 {
    #[inline(always)]
    fn mask(self, pattern: Pattern) -> [u64; 8] {
        // SAFETY: `self` shows that the CPU has AVX-512F, AVX-512DQ and BMI2.
        unsafe { mask(pattern) }
    }

    #[inline(always)]
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F, AVX-512DQ and BMI2.
        unsafe { covers(line, pattern) }
    }

    #[inline(always)]
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F, AVX-512DQ and BMI2.
        unsafe { merge(line, pattern) }
    }

    #[inline(always)]
    fn covers_shared(self, line: &SharedLine, pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F, AVX-512DQ and BMI2.
        unsafe { covers_shared(line, pattern) }
    }

    #[inline(always)]
    fn merge_shared(self, line: &LockedLine<'_>, pattern: Pattern) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F, AVX-512DQ and BMI2.
        unsafe { merge_shared(line, pattern) }
    }
}
