//! Which pairs of words have an odd number of ones.
#![allow(unsafe_code)]

use crate::filter::kernel::Plain;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use crate::filter::kernel::{Avx2, Avx512};

/// Counts ones by one kind of instructions.
pub trait Parity: Copy {
    /// Which pairs of words have an odd number of ones: a bit for each, the lowest for the first.
    #[inline(always)]
    fn odd_pairs(self, words: [u64; 8]) -> u32 {
        let mut odd = 0;
        for (place, pair) in words.as_chunks::<2>().0.iter().enumerate() {
            odd |= ((pair[0] ^ pair[1]).count_ones() & 1) << place;
        }
        odd
    }
}

impl Parity for Plain {}

// The same code, compiled where there is a POPCNT.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Parity for Avx2 {}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Parity for Avx512 {
    #[inline(always)]
    fn odd_pairs(self, words: [u64; 8]) -> u32 {
        // SAFETY: `self` shows that the CPU has AVX-512F and VPOPCNTDQ.
        let odd = unsafe { odd_words(words) };
        // Every other bit is then that of a pair, and these are moved together.
        let apart = (odd ^ odd >> 1) & 0x55;
        let pairs = (apart | apart >> 1) & 0x33;
        (pairs | pairs >> 2) & 0x0F
    }
}

/// Which of these words have an odd number of ones: a bit for each, the lowest for the first.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn odd_words(words: [u64; 8]) -> u32 {
    use core::arch::x86_64::*;
    // SAFETY: `words` is 64 readable bytes, and the load needs no alignment.
    let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
    let odd = _mm512_test_epi64_mask(_mm512_popcnt_epi64(words), _mm512_set1_epi64(1));
    u32::from(odd)
}

#[cfg(test)]
mod tests {
    use crate::filter::kernel::{Chosen, Simd, Task};

    struct OddPairs([u64; 8]);

    impl Task for OddPairs {
        type Output = u32;

        #[inline(always)]
        fn run(self, simd: impl Simd) -> u32 {
            simd.odd_pairs(self.0)
        }
    }

    #[test]
    fn every_kernel_finds_the_same_odd_pairs() {
        for round in 0..if cfg!(miri) { 10 } else { 1000 } {
            let words: [u64; 8] = core::array::from_fn(|place| {
                let digest = crate::hash::Digest::from_u64(round * 8 + place as u64);
                digest.remix(1).hi >> (round % 64)
            });
            let ones =
                |pair: usize| words[2 * pair].count_ones() + words[2 * pair + 1].count_ones();
            let odd = (0..4).filter(|&pair| ones(pair) % 2 == 1);
            let expected: u32 = odd.map(|pair| 1 << pair).sum();
            for kernel in Chosen::all() {
                assert_eq!(
                    kernel.run(OddPairs(words)),
                    expected,
                    "{kernel:?} {words:x?}"
                );
            }
        }
    }
}
