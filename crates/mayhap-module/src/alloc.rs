//! Memory from the server, so that it is counted, limited and reported as the server's own.
//!
//! Everything is asked for by the calls that may fail: where there is no memory for a filter, the library returns an
//! error instead of ending the server. The server aligns to 16 bytes; for more, a block is made larger and the
//! distance from its begin is kept before the address that is given out.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;

use crate::raw;

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: ServerAlloc = ServerAlloc;

/// What the server's allocator aligns to.
const ALIGNED: usize = 16;

/// The allocator of the server.
pub(crate) struct ServerAlloc;

// SAFETY: blocks come from the server's allocator, which follows the rules of `malloc`; `over_aligned` and `base_of`
// keep what is said in the module's comment. Nothing here panics.
unsafe impl GlobalAlloc for ServerAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        with_room(layout, try_alloc)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        with_room(layout, try_zeroed)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: `start` was given out for this layout, by the contract of `dealloc`.
        let base = unsafe { base_of(start, layout) };
        // SAFETY: only reads the address of a function, written once before anything is allocated.
        let free = unsafe { raw::RedisModule_Free };
        if let Some(free) = free {
            // SAFETY: `base` came from the server's allocator, and is given back once.
            unsafe { free(base.cast()) };
        }
    }
}

/// A block of the layout, from `take` bytes more where the server would align too little.
fn with_room(layout: Layout, take: fn(usize) -> *mut c_void) -> *mut u8 {
    if layout.align() <= ALIGNED {
        return take(layout.size()).cast();
    }
    let Some(size) = layout.size().checked_add(layout.align()) else {
        return std::ptr::null_mut();
    };
    let base: *mut u8 = take(size).cast();
    if base.is_null() {
        return base;
    }
    over_aligned(base, layout.align())
}

/// The first aligned address after `base`, with its distance written before it.
fn over_aligned(base: *mut u8, align: usize) -> *mut u8 {
    // At least 16 and at most `align`, as `base` is a multiple of 16 and `align` one of 32.
    let distance = align - base.addr() % align;
    let start = base.wrapping_add(distance);
    // SAFETY: the word before `start` is in the block, as `distance` is 16 at least, and aligned, as `start` is.
    unsafe { start.cast::<usize>().wrapping_sub(1).write(distance) };
    start
}

/// Where the block of an address begins.
///
/// # Safety
///
/// `start` must have been given out by `with_room` for this layout.
unsafe fn base_of(start: *mut u8, layout: Layout) -> *mut u8 {
    if layout.align() <= ALIGNED {
        return start;
    }
    // SAFETY: `over_aligned` has written the distance there.
    let distance = unsafe { start.cast::<usize>().wrapping_sub(1).read() };
    start.wrapping_sub(distance)
}

fn try_alloc(bytes: usize) -> *mut c_void {
    // SAFETY: only reads the address of a function.
    let function = unsafe { raw::RedisModule_TryAlloc };
    match function {
        // SAFETY: any size may be asked for.
        Some(function) => unsafe { function(bytes) },
        None => std::ptr::null_mut(),
    }
}

fn try_zeroed(bytes: usize) -> *mut c_void {
    // SAFETY: only reads the address of a function. Servers before Redis 7.4 have none.
    let function = unsafe { raw::RedisModule_TryCalloc };
    if let Some(function) = function {
        // SAFETY: any size may be asked for.
        return unsafe { function(1, bytes) };
    }
    let start = try_alloc(bytes);
    if !start.is_null() {
        // SAFETY: the block has this many bytes.
        unsafe { start.cast::<u8>().write_bytes(0, bytes) };
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_aligned_blocks_are_aligned_and_find_their_begin() {
        let mut memory = vec![0_u128; 64];
        let base: *mut u8 = memory.as_mut_ptr().cast();
        for align in [32, 64, 128] {
            for offset in [0, 16, 48] {
                let base = base.wrapping_add(offset);
                let start = over_aligned(base, align);
                assert_eq!(start.addr() % align, 0);
                assert!((16..=align).contains(&(start.addr() - base.addr())));
                let layout = Layout::from_size_align(64, align).expect("a layout");
                // SAFETY: it was made for this alignment just now.
                assert_eq!(unsafe { base_of(start, layout) }, base);
            }
        }
    }
}
