//! Words in 256-bit registers, four in each: what the kinds whose keys have a line or a block share.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

/// Loads words into as many registers as they fill.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn load<const WORDS: usize, const N: usize>(words: &[u64; WORDS]) -> [__m256i; N] {
    const { assert!(WORDS == 4 * N) }
    let mut loaded = [_mm256_setzero_si256(); N];
    for (register, words) in loaded.iter_mut().zip(words.as_chunks::<4>().0) {
        // SAFETY: the words are 32 readable bytes, and the load needs no alignment.
        *register = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
    }
    loaded
}

/// Stores registers into as many words as they hold.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn store<const WORDS: usize, const N: usize>(
    words: &mut [u64; WORDS],
    bits: [__m256i; N],
) {
    const { assert!(WORDS == 4 * N) }
    for (words, bits) in words.as_chunks_mut::<4>().0.iter_mut().zip(bits) {
        // SAFETY: the words are 32 writable bytes, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), bits) }
    }
}

/// The bits of both.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn or<const N: usize>(mut left: [__m256i; N], right: [__m256i; N]) -> [__m256i; N] {
    for (left, right) in left.iter_mut().zip(right) {
        *left = _mm256_or_si256(*left, right);
    }
    left
}

/// Returns whether the bits have all that the mask has.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn covers<const N: usize>(bits: [__m256i; N], mask: [__m256i; N]) -> bool {
    let mut missing = _mm256_setzero_si256();
    for (bits, mask) in bits.iter().zip(mask) {
        missing = _mm256_or_si256(missing, _mm256_andnot_si256(*bits, mask));
    }
    _mm256_testz_si256(missing, missing) == 1
}

/// Adds the bits of the mask to the words; true when any was missing.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn merge<const WORDS: usize, const N: usize>(
    words: &mut [u64; WORDS],
    mask: [__m256i; N],
) -> bool {
    let bits = load(words);
    store(words, or(bits, mask));
    !covers(bits, mask)
}
