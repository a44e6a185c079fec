//! The memory that filters take: by the allocator of this program, and by the system's count of its pages.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Allocations of loading and changing a filter.
mod allocations;
/// Opening a mapped file.
mod mapped;
/// Reading a filter from a stream.
mod stream;

/// Waits until no other test runs: the system counts the pages of the whole program.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
