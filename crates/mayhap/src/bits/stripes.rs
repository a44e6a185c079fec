//! Short locks by key, for the one question that bits alone cannot answer: who was first?

use alloc::boxed::Box;

#[cfg(not(loom))]
use core::sync::atomic::{AtomicBool, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering};

/// A fixed number of spin locks. Equal hashes share a lock, so threads that hold one for the same
/// key take turns; different keys rarely meet.
#[derive(Debug)]
pub(super) struct Stripes(Box<[AtomicBool]>);

/// Enough that two of a hundred threads seldom want the same one, and small enough for any cache.
#[cfg(not(loom))]
const STRIPES: usize = 4096;
#[cfg(loom)]
const STRIPES: usize = 2;

impl Stripes {
    pub(super) fn new() -> Stripes {
        Stripes((0..STRIPES).map(|_| AtomicBool::new(false)).collect())
    }

    /// Runs `action` while no other action of an equal hash runs. It must be short and not panic.
    #[inline]
    pub(super) fn exclusive<R>(&self, hash: u64, action: impl FnOnce() -> R) -> R {
        let lock = &self.0[(hash % STRIPES as u64) as usize];
        while lock
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            wait();
        }
        let result = action();
        lock.store(false, Ordering::Release);
        result
    }
}

/// Lets whoever holds the lock go on: it may be a thread that is not running at the moment.
#[cold]
fn wait() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(all(not(loom), feature = "std"))]
    std::thread::yield_now();
    #[cfg(all(not(loom), not(feature = "std")))]
    core::hint::spin_loop();
}
