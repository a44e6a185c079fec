//! The hint that a value will soon be needed.
#![allow(unsafe_code)]

/// Asks the CPU to bring the first cache line of `value` near. Never changes what a program does.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no architectural effect for any address, and SSE, which it needs,
        // is part of every x86-64; the address of a reference is valid besides.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(value).cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` reads and writes no memory that a program can observe, keeps the flags and
    // uses no stack, as the options say.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) core::ptr::from_ref(value),
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = value;
}
