//! Zeros by the page: the operating system forgets pages, and has new ones when they are next touched.
//!
//! To forget a page that was used takes about as long as to write it, and only those count: fresh memory of any size is
//! zero at once. `alloc.rs` asks for another block where too many pages of one were used.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A multiple of the page size of every system that servers run on.
const PAGE: usize = 64 << 10;

/// The bytes from which pages are forgotten; fewer are written.
const LARGE: usize = 1 << 20;

/// The most bytes of used pages that are forgotten at once: 0.5 ms, at 0.13 ms a MiB.
const QUICK: usize = 4 << 20;

/// The pages of a block that are looked at.
const SAMPLES: usize = 64;

/// The bytes of a block to [`learn`] with.
pub(crate) const PROBE: usize = 2 * LARGE;

/// True if pages that were forgotten are zero.
static FORGETS: AtomicBool = AtomicBool::new(false);

/// The bytes before the first page that lies in a block as a whole, and those of all such pages.
fn whole(start: *mut u8, bytes: usize) -> (usize, usize) {
    let before = start.addr().next_multiple_of(PAGE) - start.addr();
    let pages = bytes.saturating_sub(before) / PAGE * PAGE;
    (before.min(bytes), pages)
}

/// Returns whether a block is zeroed in less than a millisecond.
///
/// # Safety
///
/// The block must have this many bytes.
pub(crate) unsafe fn is_quick(start: *mut u8, bytes: usize) -> bool {
    let (before, pages) = whole(start, bytes);
    // SAFETY: the pages lie in the block.
    pages < LARGE || unsafe { used(start.wrapping_add(before), pages) } <= QUICK
}

/// Fills a block with zeros.
///
/// # Safety
///
/// The block must have this many bytes, which nothing else uses.
pub(crate) unsafe fn zero(start: *mut u8, bytes: usize) {
    let (before, pages) = whole(start, bytes);
    let first = start.wrapping_add(before);
    // SAFETY: the pages lie in the block, and all of it may be written.
    if pages < LARGE || !FORGETS.load(Relaxed) || !unsafe { forget(first, pages) } {
        // SAFETY: the block has this many bytes.
        return unsafe { start.write_bytes(0, bytes) };
    }
    // SAFETY: these bytes of the block are before the pages.
    unsafe { start.write_bytes(0, before) };
    // SAFETY: these are after them.
    unsafe {
        first
            .wrapping_add(pages)
            .write_bytes(0, bytes - before - pages)
    };
}

/// Learns by trial whether pages of this allocator are zero once they were forgotten.
///
/// # Safety
///
/// The block must have this many bytes, [`PROBE`], which nothing else uses.
pub(crate) unsafe fn learn(start: *mut u8, bytes: usize) {
    let (before, pages) = whole(start, bytes);
    let first = start.wrapping_add(before);
    // SAFETY: the pages lie in the block, which may be written.
    unsafe { first.write_bytes(0xFF, pages) };
    // SAFETY: as above.
    let is_done = unsafe { forget(first, pages) };
    // SAFETY: they were written just now; what they hold since is for the system to say, hence volatile.
    let is_zero = |at: usize| unsafe { first.wrapping_add(at).read_volatile() } == 0;
    FORGETS.store(is_done && (0..pages).all(is_zero), Relaxed);
}

/// Has the system forget pages. False where it does not.
///
/// # Safety
///
/// `first` must be the begin of a page, and the bytes whole pages of memory that nothing else uses.
#[cfg(target_os = "linux")]
unsafe fn forget(first: *mut u8, bytes: usize) -> bool {
    // SAFETY: as the caller promises; nothing but these bytes changes.
    unsafe { libc::madvise(first.cast(), bytes, libc::MADV_DONTNEED) == 0 }
}

/// Estimates the bytes of pages in memory, by some of them.
///
/// # Safety
///
/// `first` must be the begin of a page, and the bytes whole pages.
#[cfg(target_os = "linux")]
unsafe fn used(first: *mut u8, bytes: usize) -> usize {
    let count = SAMPLES.min(bytes / PAGE);
    let is_used = |sample: &usize| {
        let page = first.wrapping_add(bytes / PAGE * sample / count * PAGE);
        let mut state = 0_u8;
        // SAFETY: it is the begin of one of the pages, and the answer for one page is one byte.
        let answer = unsafe { libc::mincore(page.cast(), 1, &raw mut state) };
        answer == 0 && state & 1 == 1
    };
    bytes / count * (0..count).filter(is_used).count()
}

/// Other systems forget pages later, or keep what was in them.
#[cfg(not(target_os = "linux"))]
unsafe fn forget(_: *mut u8, _: usize) -> bool {
    false
}

/// There is nothing to be quicker than writing.
#[cfg(not(target_os = "linux"))]
unsafe fn used(_: *mut u8, _: usize) -> usize {
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zeroed_to_their_ends_and_no_further_and_large_ones_hold_no_pages() {
        for forgets in [false, true] {
            for (from, to) in [
                (0, 0),
                (1, 100),
                (7, PAGE),
                (100, LARGE),
                (PAGE - 1, LARGE + 3 * PAGE + 1),
                (5, 2 * LARGE - 5),
                (LARGE, 8 * LARGE),
            ] {
                let mut memory = vec![0xFF_u8; 9 * LARGE];
                let first: *mut u8 = memory.as_mut_ptr();
                FORGETS.store(false, Relaxed);
                if forgets {
                    // SAFETY: the memory has these bytes, and is borrowed by nothing.
                    unsafe { learn(first, PROBE) };
                    assert!(FORGETS.load(Relaxed));
                    memory.fill(0xFF);
                }
                let start = memory[from..].as_mut_ptr();

                // SAFETY: as above.
                unsafe { zero(start, to - from) };

                let (before, pages) = whole(start, to - from);
                if pages >= LARGE {
                    // SAFETY: the pages lie in the memory.
                    let held = unsafe { used(start.wrapping_add(before), pages) };
                    assert_eq!(held == 0, forgets, "{from}..{to}");
                }
                let is_inside = |at: usize| (from..to).contains(&at);
                for (at, &byte) in memory.iter().enumerate() {
                    assert_eq!(
                        byte,
                        if is_inside(at) { 0 } else { 0xFF },
                        "{at} of {from}..{to}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_block_whose_pages_were_used_is_not_quick() {
        let mut memory = vec![0_u8; 4 * QUICK];
        let start = memory.as_mut_ptr();
        // SAFETY: the memory has these bytes.
        assert!(unsafe { is_quick(start, 4 * QUICK) });
        memory.fill(1);
        // SAFETY: as above.
        assert!(!unsafe { is_quick(start, 4 * QUICK) });
        // SAFETY: as above.
        assert!(unsafe { is_quick(start, LARGE) });
    }
}
