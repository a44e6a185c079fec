//! A line that threads read while one of them changes it.
//!
//! Readers take no lock; a writer holds the lock of the line, and stores every bit that was there. So a reader
//! sees, bit by bit, the line before a change or after it, and no change is lost.
//! Whole lines are read and written by single instructions where the kernel has them; elsewhere word by word.
#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", feature = "std"))]
use core::arch::x86_64::{__m256i, __m512i};

#[cfg(not(loom))]
use core::sync::atomic::Ordering;
#[cfg(loom)]
use loom::sync::atomic::Ordering;

use super::line::{AtomicU64, Line};

/// A line of words that other threads may be changing.
pub(crate) type SharedLine = Line<AtomicU64>;

impl SharedLine {
    /// Loads the words, each as it is at some moment of the call.
    #[inline(always)]
    pub(crate) fn load(&self) -> [u64; 8] {
        core::array::from_fn(|lane| self.0[lane].load(Ordering::Acquire))
    }

    /// Loads the words into one register, each as it is at some moment of the call.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn load_512(&self) -> __m512i {
        #[cfg(not(any(loom, miri)))]
        {
            let bits;
            // SAFETY: the operand is a line: 64 readable bytes, aligned to 64, as the instruction needs. Other threads
            // may store to it meanwhile, which is not a data race: to the language, assembly is foreign code that does
            // what eight relaxed loads could have done. The CPU reads each aligned word of 64 bits in one piece; and a
            // torn word would be one between two that were there, since words only gain bits. The instruction uses no
            // stack, changes no flags, and writes nothing.
            unsafe {
                core::arch::asm!(
                    "vmovdqa64 {bits}, [{line}]",
                    bits = out(zmm_reg) bits,
                    line = in(reg) self.0.as_ptr(),
                    options(nostack, preserves_flags, readonly)
                );
            }
            core::sync::atomic::fence(Ordering::Acquire);
            bits
        }
        #[cfg(any(loom, miri))]
        // SAFETY: the array is 64 bytes, and so is the register; every pattern of bits is a valid value of both.
        unsafe {
            core::mem::transmute::<[u64; 8], __m512i>(self.load())
        }
    }

    /// Loads the words into two registers, each as it is at some moment of the call.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn load_256(&self) -> [__m256i; 2] {
        #[cfg(not(any(loom, miri)))]
        {
            let (low, high);
            // SAFETY: as for `load_512`, in two halves that are aligned to 32.
            unsafe {
                core::arch::asm!(
                    "vmovdqa {low}, [{line}]",
                    "vmovdqa {high}, [{line} + 32]",
                    low = out(ymm_reg) low,
                    high = out(ymm_reg) high,
                    line = in(reg) self.0.as_ptr(),
                    options(nostack, preserves_flags, readonly)
                );
            }
            core::sync::atomic::fence(Ordering::Acquire);
            [low, high]
        }
        #[cfg(any(loom, miri))]
        // SAFETY: the array is 64 bytes, and so are the registers; every pattern of bits is a valid value of both.
        unsafe {
            core::mem::transmute::<[u64; 8], [__m256i; 2]>(self.load())
        }
    }
}

/// A line that no other thread changes while this lives, though others read it.
///
/// Only [`Locked::line`](super::lines::Locked::line) makes one, from a lock that is held: so no store can drop a bit
/// that another thread has set since the load.
pub(crate) struct LockedLine<'a>(&'a SharedLine);

impl<'a> LockedLine<'a> {
    /// Wraps a line whose lock must be held for `'a`.
    #[inline(always)]
    pub(super) fn new(line: &'a SharedLine) -> LockedLine<'a> {
        LockedLine(line)
    }

    /// Adds the bits of the mask to the words from `first` on; true when any was missing.
    #[inline(always)]
    pub(crate) fn merge(&self, first: usize, mask: &[u64]) -> bool {
        let mut any = false;
        for (word, mask) in self.0.0[first..].iter().zip(mask) {
            // No other thread stores here, so this is the last value.
            let bits = word.load(Ordering::Relaxed);
            if mask & !bits != 0 {
                word.store(bits | mask, Ordering::Release);
                any = true;
            }
        }
        any
    }

    /// The line, for reading.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline(always)]
    pub(crate) fn line(&self) -> &SharedLine {
        self.0
    }

    /// Replaces the words by bits that include all that were there.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn store_512(&self, bits: __m512i) {
        #[cfg(not(any(loom, miri)))]
        {
            core::sync::atomic::fence(Ordering::Release);
            // SAFETY: as for `load_512`; the bytes are those of atomics, so they may be written through a shared
            // reference, as relaxed stores of the eight words would.
            unsafe {
                core::arch::asm!(
                    "vmovdqa64 [{line}], {bits}",
                    bits = in(zmm_reg) bits,
                    line = in(reg) self.0.0.as_ptr(),
                    options(nostack, preserves_flags)
                );
            }
        }
        #[cfg(any(loom, miri))]
        // SAFETY: the register is 64 bytes, and so is the array; every pattern of bits is a valid value of both.
        self.merge(0, &unsafe {
            core::mem::transmute::<__m512i, [u64; 8]>(bits)
        });
    }

    /// Replaces the words by bits that include all that were there.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn store_256(&self, [low, high]: [__m256i; 2]) {
        #[cfg(not(any(loom, miri)))]
        {
            core::sync::atomic::fence(Ordering::Release);
            // SAFETY: as for `store_512`, in two halves that are aligned to 32.
            unsafe {
                core::arch::asm!(
                    "vmovdqa [{line}], {low}",
                    "vmovdqa [{line} + 32], {high}",
                    low = in(ymm_reg) low,
                    high = in(ymm_reg) high,
                    line = in(reg) self.0.0.as_ptr(),
                    options(nostack, preserves_flags)
                );
            }
        }
        #[cfg(any(loom, miri))]
        // SAFETY: the registers are 64 bytes, and so is the array; every pattern of bits is a valid value of both.
        self.merge(0, &unsafe {
            core::mem::transmute::<[__m256i; 2], [u64; 8]>([low, high])
        });
    }
}
