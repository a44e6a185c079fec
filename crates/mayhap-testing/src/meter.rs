//! A meter of the largest allocation: a decoder must not take memory that an input only claims.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that a decoder may allocate at once beyond the size of its input.
const SLACK: usize = 1 << 20;

/// The system's allocator, which records the largest request.
///
/// A program that measures makes it its `#[global_allocator]`.
pub struct Meter;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

fn note(bytes: usize) {
    LARGEST.fetch_max(bytes, Ordering::Relaxed);
}

// SAFETY: every call is passed to `System` unchanged, whose guarantees are therefore these.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller keeps the contract of `realloc`, and `block` came from `System`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `block` came from `System`.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs `decode` over an input of this many bytes; panics when it allocated far more at once, or when [`Meter`] is not
/// the program's allocator.
pub fn metered<T>(input_bytes: usize, decode: impl FnOnce() -> T) -> T {
    LARGEST.store(0, Ordering::Relaxed);
    drop(std::hint::black_box(Box::new(0_u8)));
    assert!(LARGEST.load(Ordering::Relaxed) > 0, "nothing is measured");
    let decoded = decode();
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(
        largest <= input_bytes + SLACK,
        "an allocation of {largest} bytes for an input of {input_bytes}"
    );
    decoded
}
