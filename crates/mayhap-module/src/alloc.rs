//! Memory from the server, so that it is counted, limited and reported as the server's own.
//!
//! Everything is asked for by the calls that may fail: where there is no memory for a filter, the library returns an
//! error instead of ending the server. The server aligns to 8 bytes at least; for more, a block is made larger and the
//! distance from its begin is kept before the address that is given out.
//!
//! Large blocks of zeros are not written: the operating system is told to forget their pages (`pages.rs`), and has zeros
//! there when they are next touched. So a filter of any size is made at once, and takes memory as keys come in.
//!
//! While the server defragments its memory, [`gather`] has blocks that are reallocated to the size they have moved to where the
//! server wants them.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mayhap_commands::Mover;

use crate::{pages, raw};

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: ServerAlloc = ServerAlloc;

/// The alignment of the allocator of every server: jemalloc gives the smallest blocks no more, and a server that keeps
/// the size of a block before it gives none more.
const ALIGNED: usize = 8;

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
        // SAFETY: `base` came from the server's allocator, and is given back once.
        unsafe { free(base.cast()) };
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let context = GATHERS.get();
        if size == layout.size() && !context.is_null() {
            // SAFETY: `start` was given out for this layout, by the contract of `realloc`, and the server has given the context
            // for as long as it is kept.
            return unsafe { move_block(context, start, layout) };
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the contract of `realloc` has a size that is not zero.
        let other = unsafe { self.alloc(wanted) };
        if !other.is_null() {
            let copied = size.min(layout.size());
            // SAFETY: both blocks have this many bytes, and one was just made, so they do not overlap.
            unsafe { other.copy_from_nonoverlapping(start, copied) };
            // SAFETY: it is given back once, by its own layout.
            unsafe { self.dealloc(start, layout) };
        }
        other
    }
}

thread_local! {
    /// The server's defragmenter, in the thread that defragments; else null.
    static GATHERS: Cell<*mut raw::RedisModuleDefragCtx> = const { Cell::new(std::ptr::null_mut()) };
}

/// The blocks that the server has moved.
pub(crate) static MOVED: AtomicU64 = AtomicU64::new(0);

/// The blocks that it was asked to move and left where they are.
pub(crate) static LEFT: AtomicU64 = AtomicU64::new(0);

/// Runs `work`, in which blocks that are reallocated to the size they have are moved to where the server wants them.
///
/// # Safety
///
/// The server must have given the context, for a call that lasts as long as this.
pub(crate) unsafe fn gather(context: *mut raw::RedisModuleDefragCtx, work: impl FnOnce()) {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            GATHERS.set(std::ptr::null_mut());
        }
    }
    GATHERS.set(context);
    // Also when `work` panics.
    let _end = End;
    work();
}

/// Reallocates what a box holds to the size it has.
pub(crate) fn reallocate_box<T>(value: Box<T>) -> Box<T> {
    let start = Box::into_raw(value);
    if size_of::<T>() == 0 {
        // SAFETY: it was a box just now; without bytes it has no block.
        return unsafe { Box::from_raw(start) };
    }
    // SAFETY: a box of a type that has bytes is a block of the global allocator with the layout of the type.
    let moved = unsafe { std::alloc::realloc(start.cast(), Layout::new::<T>(), size_of::<T>()) };
    let start = if moved.is_null() { start } else { moved.cast() };
    // SAFETY: `realloc` keeps the bytes, and the layout is the same; refused, it leaves the block as it is.
    unsafe { Box::from_raw(start) }
}

/// The server's own moving of memory, for the lists of values.
pub(crate) struct Gathers;

impl Mover for Gathers {
    fn relocate<T>(&self, list: &mut Vec<T>) {
        reallocate_list(list);
    }
}

/// Reallocates the memory of a list to the size it has.
fn reallocate_list<T>(list: &mut Vec<T>) {
    let layout = Layout::array::<T>(list.capacity());
    let Some(layout) = layout.ok().filter(|layout| layout.size() > 0) else {
        return;
    };
    let mut old = std::mem::ManuallyDrop::new(std::mem::take(list));
    let (start, length, capacity) = (old.as_mut_ptr(), old.len(), old.capacity());
    // SAFETY: a list of values that have bytes is a block of the global allocator with this layout.
    let moved = unsafe { std::alloc::realloc(start.cast(), layout, layout.size()) };
    let start = if moved.is_null() { start } else { moved.cast() };
    // SAFETY: `realloc` keeps the bytes, and size and layout are the same; refused, it leaves the block as it is. The old list
    // is never used or dropped.
    *list = unsafe { Vec::from_raw_parts(start, length, capacity) };
}

/// Moves a block where the server says so, and returns where it is then.
///
/// # Safety
///
/// `start` must have been given out by `with_room` for this layout, and the context be the server's, for this call.
unsafe fn move_block(
    context: *mut raw::RedisModuleDefragCtx,
    start: *mut u8,
    layout: Layout,
) -> *mut u8 {
    // SAFETY: only reads the address of a function. Every server from Redis 6.2 on has it.
    let Some(function) = (unsafe { raw::RedisModule_DefragAlloc }) else {
        return start;
    };
    // SAFETY: as the caller promises.
    let base = unsafe { base_of(start, layout) };
    // SAFETY: the context is the server's, and `base` a block of its allocator; moved, the old block is gone.
    let moved: *mut u8 = unsafe { function(context, base.cast()) }.cast();
    if moved.is_null() {
        LEFT.fetch_add(1, Relaxed);
        return start;
    }
    MOVED.fetch_add(1, Relaxed);
    // SAFETY: the server has copied the whole block, which `with_room` has made for this layout.
    unsafe { realigned(moved, start.addr() - base.addr(), layout) }
}

/// Aligns the bytes that are `distance` after the begin of a block again, and returns where they are then.
///
/// # Safety
///
/// The block must be as large as `with_room` makes it for the layout, and hold the bytes there.
unsafe fn realigned(base: *mut u8, distance: usize, layout: Layout) -> *mut u8 {
    if layout.align() <= ALIGNED {
        return base;
    }
    let wanted = layout.align() - base.addr() % layout.align();
    if wanted != distance {
        let (to, from) = (base.wrapping_add(wanted), base.wrapping_add(distance));
        // SAFETY: both distances are at most the alignment, and the block has this many bytes more than the layout. What is
        // before the aligned bytes is written after they were moved.
        unsafe { to.copy_from(from, layout.size()) };
    }
    over_aligned(base, layout.align())
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
    // At least 8 and at most `align`, as `base` is a multiple of 8 and `align` one of 16.
    let distance = align - base.addr() % align;
    let start = base.wrapping_add(distance);
    // SAFETY: the word before `start` is in the block, as `distance` is 8 at least, and aligned, as `start` is.
    unsafe { start.cast::<usize>().wrapping_sub(1).write(distance) };
    start
}

/// Returns where the block of an address begins.
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

/// Gives a block back to the server.
///
/// # Safety
///
/// It must have come from `try_alloc`, and be given back once.
unsafe fn free(base: *mut c_void) {
    // SAFETY: only reads the address of a function, written once before anything is allocated.
    let function = unsafe { raw::RedisModule_Free };
    if let Some(function) = function {
        // SAFETY: as the caller promises.
        unsafe { function(base) };
    }
}

/// The number of blocks that are passed over because their pages were used before.
const TRIES: usize = 3;

fn try_zeroed(bytes: usize) -> *mut c_void {
    let mut start = try_alloc(bytes);
    let mut passed = [std::ptr::null_mut(); TRIES];
    for passed in &mut passed {
        // SAFETY: the block has this many bytes.
        if start.is_null() || unsafe { pages::is_quick(start.cast(), bytes) } {
            break;
        }
        *passed = std::mem::replace(&mut start, try_alloc(bytes));
        if start.is_null() {
            std::mem::swap(passed, &mut start);
            break;
        }
    }
    for passed in passed.into_iter().filter(|passed| !passed.is_null()) {
        // SAFETY: it came from `try_alloc`, and is used no more.
        unsafe { free(passed) };
    }
    if !start.is_null() {
        // SAFETY: the block has this many bytes, which nothing else uses.
        unsafe { pages::zero(start.cast(), bytes) };
    }
    start
}

/// Learns whether the pages of the server's allocator are zero once the system was told to forget them: not where it
/// has them from a file or shares them. Until then every byte is written.
pub(crate) fn learn_pages() {
    let start: *mut u8 = try_alloc(pages::PROBE).cast();
    if !start.is_null() {
        // SAFETY: the block has this many bytes, which nothing else uses.
        unsafe { pages::learn(start, pages::PROBE) };
        // SAFETY: it came from `try_alloc`, and is used no more.
        unsafe { free(start.cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_moved_hold_the_same_bytes_aligned_again() {
        let layout = Layout::from_size_align(128, 64).expect("a layout");
        let content: Vec<u8> = (0..128).collect();
        for old in [8, 16, 40, 64] {
            for new in [0, 8, 16, 56] {
                let mut memory = vec![0_u128; 64];
                let first: *mut u8 = memory.as_mut_ptr().cast();
                let base = first.wrapping_add(64 - first.addr() % 64 + new);
                // SAFETY: the block, from `base` on, has 192 bytes of the 1024.
                unsafe { base.wrapping_add(old).copy_from(content.as_ptr(), 128) };
                // SAFETY: as above.
                let start = unsafe { realigned(base, old, layout) };
                assert_eq!(start.addr() % 64, 0);
                // SAFETY: as above.
                let moved = unsafe { std::slice::from_raw_parts(start, 128) };
                assert_eq!(moved, content, "{old} {new}");
                // SAFETY: it was made for this alignment just now.
                assert_eq!(unsafe { base_of(start, layout) }, base);
            }
        }
    }

    #[test]
    fn boxes_and_lists_are_the_same_after_they_were_reallocated() {
        let mut list = vec!["a".to_string(), "b".to_string()];
        list.reserve(3);
        reallocate_list(&mut list);
        assert_eq!(list, ["a", "b"]);
        reallocate_list(&mut Vec::<String>::new());
        assert_eq!(*reallocate_box(Box::new("c".to_string())), "c");
        reallocate_box(Box::new(()));
    }

    #[test]
    fn over_aligned_blocks_are_aligned_and_find_their_begin() {
        let mut memory = vec![0_u128; 64];
        let base: *mut u8 = memory.as_mut_ptr().cast();
        for align in [16, 32, 64, 128] {
            for offset in [0, 8, 16, 48] {
                let base = base.wrapping_add(offset);
                let start = over_aligned(base, align);
                assert_eq!(start.addr() % align, 0);
                assert!((8..=align).contains(&(start.addr() - base.addr())));
                let layout = Layout::from_size_align(64, align).expect("a layout");
                // SAFETY: it was made for this alignment just now.
                assert_eq!(unsafe { base_of(start, layout) }, base);
            }
        }
    }
}
