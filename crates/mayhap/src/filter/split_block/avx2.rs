//! Blocks in one 256-bit register. AVX-512 has nothing to add to that.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::super::avx2::{self, load};
use super::super::kernel::{Avx2, Avx512};
use super::SALT;
use super::kernel::Words;

/// The bits of a key with this hash.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn spread(hash: u64) -> [__m256i; 1] {
    let [a, b, c, d, e, f, g, h] = SALT.map(u32::cast_signed);
    let salt = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
    let low = _mm256_set1_epi32((hash as u32).cast_signed());
    let bits = _mm256_srli_epi32::<27>(_mm256_mullo_epi32(low, salt));
    [_mm256_sllv_epi32(_mm256_set1_epi32(1), bits)]
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn covers(block: &[u64; 4], hash: u64) -> bool {
    avx2::covers(load(block), spread(hash))
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn merge(block: &mut [u64; 4], hash: u64) -> bool {
    avx2::merge(block, spread(hash))
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
