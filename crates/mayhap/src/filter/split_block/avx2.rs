//! Blocks in one 256-bit register. AVX-512 has nothing to add to that.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::super::kernel::{Avx2, Avx512};
use super::SALT;
use super::kernel::Words;

/// The bits of a key with this hash.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn spread(hash: u64) -> __m256i {
    let [a, b, c, d, e, f, g, h] = SALT.map(u32::cast_signed);
    let salt = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
    let low = _mm256_set1_epi32((hash as u32).cast_signed());
    let bits = _mm256_srli_epi32::<27>(_mm256_mullo_epi32(low, salt));
    _mm256_sllv_epi32(_mm256_set1_epi32(1), bits)
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn load(block: &[u64; 4]) -> __m256i {
    // SAFETY: `block` is 32 readable bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn covers(block: &[u64; 4], hash: u64) -> bool {
    // `testc` is 1 when the complement of its first operand has no bit of the second.
    _mm256_testc_si256(load(block), spread(hash)) == 1
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn merge(block: &mut [u64; 4], hash: u64) -> bool {
    let (bits, mask) = (load(block), spread(hash));
    let both = _mm256_or_si256(bits, mask);
    // SAFETY: `block` is 32 writable bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), both) };
    _mm256_testc_si256(bits, mask) == 0
}

impl Words for Avx2 {
    #[inline(always)]
    fn covers(self, block: &[u64; 4], hash: u64) -> bool {
        // SAFETY: `self` shows that the CPU has AVX2 and BMI2.
        unsafe { covers(block, hash) }
    }

    #[inline(always)]
    fn merge(self, block: &mut [u64; 4], hash: u64) -> bool {
        // SAFETY: `self` shows that the CPU has AVX2 and BMI2.
        unsafe { merge(block, hash) }
    }
}

impl Words for Avx512 {
    #[inline(always)]
    fn covers(self, block: &[u64; 4], hash: u64) -> bool {
        self.narrower().covers(block, hash)
    }

    #[inline(always)]
    fn merge(self, block: &mut [u64; 4], hash: u64) -> bool {
        self.narrower().merge(block, hash)
    }
}
