//! Short locks for parts of a range: threads meet at one only when they change the same part.

use alloc::boxed::Box;

#[cfg(not(loom))]
use core::sync::atomic::{AtomicBool, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering};

use super::prefetch::prefetch_write;

/// The most stripes of a range: few enough that many keys of a batch share one, and enough that 16 threads seldom want
/// the same one.
pub(crate) const STRIPES: usize = if cfg!(loom) { 2 } else { 256 };

/// Spin locks for the equal parts, called stripes, of a range of places.
#[derive(Debug)]
pub(super) struct Stripes {
    locks: Box<[Padded]>,
    /// Places that differ only in this many of their lowest bits share a lock.
    shift: u32,
}

/// A lock in cache lines of its own: two, because CPUs fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Padded(AtomicBool);

impl Stripes {
    /// Makes locks for the places from 0 to `last`.
    pub(super) fn new(last: u64) -> Stripes {
        let mut shift = 0;
        while last >> shift >= STRIPES as u64 {
            shift += 1;
        }
        let free = |_| Padded(AtomicBool::new(false));
        Stripes {
            locks: (0..=last >> shift).map(free).collect(),
            shift,
        }
    }

    /// The stripe of a place in the range, which is below [`STRIPES`].
    #[inline(always)]
    pub(super) fn of(&self, place: u64) -> usize {
        (place >> self.shift) as usize
    }

    /// Hints that the lock of a stripe, if there is one, will soon be taken.
    #[inline(always)]
    pub(super) fn prefetch(&self, stripe: usize) {
        prefetch_write(self.locks.as_ptr().wrapping_add(stripe));
    }

    /// Waits until no other thread holds the lock of the stripe, and holds it.
    ///
    /// The caller must release it soon, take no second lock of these, and not end the thread.
    ///
    /// # Panics
    ///
    /// When there is no such stripe.
    #[inline(always)]
    pub(super) fn lock(&self, stripe: usize) -> Held<'_> {
        let Padded(lock) = &self.locks[stripe];
        if !take(lock) {
            wait(lock);
        }
        Held(lock)
    }
}

/// A lock that this thread holds until the value is dropped.
pub(crate) struct Held<'a>(&'a AtomicBool);

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Takes the lock, if it is free.
#[inline(always)]
fn take(lock: &AtomicBool) -> bool {
    lock.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// The number of times a waiting thread looks before it yields: longer than a running thread holds a lock.
#[cfg(all(not(loom), feature = "std"))]
const LOOKS: u32 = 100;

/// Takes a lock that another thread holds.
#[cold]
fn wait(lock: &AtomicBool) {
    let mut looks = 0;
    loop {
        pause(looks);
        looks += 1;
        // Reading first leaves the cache line to the thread that will write it. Under loom it could read the old value
        // for ever.
        let is_held = !cfg!(loom) && lock.load(Ordering::Relaxed);
        if !is_held && take(lock) {
            return;
        }
    }
}

/// Lets the thread that holds the lock continue: it may not be running at the moment.
fn pause(looks: u32) {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(all(not(loom), feature = "std"))]
    if looks > LOOKS {
        return std::thread::yield_now();
    }
    #[cfg(not(loom))]
    core::hint::spin_loop();
    let _ = looks;
}
