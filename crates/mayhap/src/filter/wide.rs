//! Work that is compiled for the instructions that the CPU has.
//!
//! The library is compiled for every x86-64, which counts ones in a dozen instructions and shifts through one register.
//! A [`Work`] is plain code that is compiled again in functions that may use more, and [`Width::run`] picks one of them.
#![allow(unsafe_code)]

use crate::hash::{Digester, Hash, Rapidhash};

/// Something to be done, once or for many keys.
pub(super) trait Work {
    /// What comes of it.
    type Output;

    /// Does it. Implementations are `#[inline(always)]`, and so is what they call, so that all of it is compiled inside
    /// the function that has the instructions. What they call exists once for each level: called from one place, it is
    /// inlined there.
    fn run(self, level: impl Level) -> Self::Output;
}

/// Work in which keys are hashed.
pub(super) trait HashedWork {
    /// Does it, as [`Work::run`], with the hash settled: a loop over keys need not ask which it is.
    fn run(self, level: impl Level, hash: impl Hash);
}

struct With<W, H>(W, H);

impl<W: HashedWork, H: Hash> Work for With<W, H> {
    type Output = ();

    #[inline(always)]
    fn run(self, level: impl Level) {
        self.0.run(level, self.1);
    }
}

/// A set of instructions. A value of an implementing type exists only where the CPU has them.
pub trait Level: Copy {
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

/// Those that every CPU of the architecture has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plain;

impl Level for Plain {}

/// AVX2, BMI2 and POPCNT: only [`Width::detect`] makes one.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Avx2(());

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Level for Avx2 {}

/// Those of [`Avx2`], AVX-512F and VPOPCNTDQ: only [`Width::detect`] makes one.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Avx512(());

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Level for Avx512 {
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

/// The widest instructions there are, found at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Width(Instructions);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    Plain(Plain),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx2(Avx2),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx512(Avx512),
}

impl Width {
    /// That of this CPU.
    pub(super) fn detect() -> Width {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("bmi2") && has!("popcnt") {
                let wider = has!("avx512f") && has!("avx512vpopcntdq");
                return Width(match wider {
                    true => Instructions::Avx512(Avx512(())),
                    false => Instructions::Avx2(Avx2(())),
                });
            }
        }
        Width(Instructions::Plain(Plain))
    }

    /// Every one that this CPU has, for tests.
    #[cfg(test)]
    pub(super) fn all() -> alloc::vec::Vec<Width> {
        let mut all = alloc::vec![Instructions::Plain(Plain)];
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        match Width::detect().0 {
            Instructions::Plain(_) => {}
            Instructions::Avx2(_) => all.push(Instructions::Avx2(Avx2(()))),
            Instructions::Avx512(_) => {
                all.extend([
                    Instructions::Avx2(Avx2(())),
                    Instructions::Avx512(Avx512(())),
                ]);
            }
        }
        all.into_iter().map(Width).collect()
    }

    /// Does the work with these instructions and this hash.
    pub(super) fn run_hashed(self, digester: &Digester, work: impl HashedWork) {
        match digester {
            Digester::Rapidhash { seed } => {
                self.run(With(work, Rapidhash::<false>::new(*seed)));
            }
            Digester::RapidhashProtected { seed } => {
                self.run(With(work, Rapidhash::<true>::new(*seed)));
            }
            Digester::SipHash { key } => self.run(With(work, key)),
        }
    }

    /// Does the work with these instructions.
    #[inline(always)]
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Instructions::Plain(plain) => work.run(plain),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            // SAFETY: `avx2` shows that the CPU has all that `with_avx2` needs.
            Instructions::Avx2(avx2) => unsafe { with_avx2(avx2, work) },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            // SAFETY: `avx512` shows that the CPU has all that `with_avx512` needs.
            Instructions::Avx512(avx512) => unsafe { with_avx512(avx512, work) },
        }
    }
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2,bmi2,popcnt")]
fn with_avx2<W: Work>(avx2: Avx2, work: W) -> W::Output {
    work.run(avx2)
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2,bmi2,popcnt,avx512f,avx512vpopcntdq")]
fn with_avx512<W: Work>(avx512: Avx512, work: W) -> W::Output {
    work.run(avx512)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct OddPairs([u64; 8]);

    impl Work for OddPairs {
        type Output = u32;

        #[inline(always)]
        fn run(self, level: impl Level) -> u32 {
            level.odd_pairs(self.0)
        }
    }

    #[test]
    fn every_width_finds_the_same_odd_pairs() {
        for round in 0..1000 {
            let words: [u64; 8] = core::array::from_fn(|place| {
                let digest = crate::hash::Digest::from_u64(round * 8 + place as u64);
                digest.remix(1).hi >> (round % 64)
            });
            let ones =
                |pair: usize| words[2 * pair].count_ones() + words[2 * pair + 1].count_ones();
            let odd = (0..4).filter(|&pair| ones(pair) % 2 == 1);
            let expected: u32 = odd.map(|pair| 1 << pair).sum();
            for width in Width::all() {
                assert_eq!(width.run(OddPairs(words)), expected, "{width:?} {words:x?}");
            }
        }
    }
}
