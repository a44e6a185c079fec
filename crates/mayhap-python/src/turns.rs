//! A value that threads use in turn: under Python's own lock where that is enough.
//!
//! A lock takes two atomic instructions per key, and no later read begins before they are done. Python's lock already
//! keeps other threads out while a call holds it. So a call for one key takes no lock of its own, unless a thread works
//! without Python's lock: such a thread announces itself first, while it still holds it. A Python without that lock
//! takes a lock here in every call.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use pyo3::Python;

/// A value that threads use in turn.
pub(crate) struct Turns<T> {
    value: UnsafeCell<T>,
    /// Taken by threads that do not hold Python's lock, and by all others while there are such threads.
    lock: RwLock<()>,
    /// The number of threads that use the value without Python's lock, or are about to. Grows only under Python's lock.
    detached: AtomicUsize,
}

// SAFETY: A reference to the value exists only under `lock` or, while no thread is detached, under Python's lock.
// Either gives `&mut` to one thread at a time, and `&` to many only while there is no `&mut`.
unsafe impl<T: Send + Sync> Sync for Turns<T> {}

/// Ignores that a thread panicked under the lock: it left bits, some of them set, which are still a filter.
fn whatever<T>(poisoned: PoisonError<T>) -> T {
    poisoned.into_inner()
}

impl<T: Send + Sync> Turns<T> {
    pub(crate) fn new(value: T) -> Turns<T> {
        Turns {
            value: UnsafeCell::new(value),
            lock: RwLock::new(()),
            detached: AtomicUsize::new(0),
        }
    }

    /// Returns whether Python's lock alone keeps others out. True stays true until the caller releases that lock.
    #[inline(always)]
    pub(crate) fn is_free(&self, _: Python<'_>) -> bool {
        cfg!(not(Py_GIL_DISABLED)) && self.detached.load(Ordering::Acquire) == 0
    }

    /// Looks at the value for a moment.
    ///
    /// `look` must run no Python code and must not release Python's lock. It is `Send`, so it cannot borrow what it
    /// would need.
    #[inline(always)]
    pub(crate) fn read<R>(&self, py: Python<'_>, look: impl FnOnce(&T) -> R + Send) -> R {
        if self.is_free(py) {
            // SAFETY: This thread holds Python's lock until `look` returns. No thread works without that lock now, and
            // to begin so it would need it.
            return look(unsafe { &*self.value.get() });
        }
        look(&self.wait_to_read(py))
    }

    /// Changes the value for a moment, on the same conditions as [`read`](Turns::read).
    #[inline(always)]
    pub(crate) fn write<R>(&self, py: Python<'_>, change: impl FnOnce(&mut T) -> R + Send) -> R {
        if self.is_free(py) {
            // SAFETY: As in `read`; and `change` runs no Python code, so it cannot call this again.
            return change(unsafe { &mut *self.value.get() });
        }
        change(&mut self.wait_to_write(py))
    }

    /// Looks at the value as [`read`](Turns::read) does, if that needs no waiting; returns `None` otherwise.
    #[inline(always)]
    pub(crate) fn read_now<R>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&T) -> R + Send,
    ) -> Option<R> {
        if self.is_free(py) {
            // SAFETY: As in `read`.
            return Some(look(unsafe { &*self.value.get() }));
        }
        // Rare where Python has a lock: leaving it to `read` keeps the usual path short.
        if cfg!(not(Py_GIL_DISABLED)) {
            return None;
        }
        let reading = self.try_to_read()?;
        Some(look(&reading))
    }

    /// Changes the value as [`write`](Turns::write) does, if that needs no waiting; returns `None` otherwise.
    #[inline(always)]
    pub(crate) fn write_now<R>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut T) -> R + Send,
    ) -> Option<R> {
        if self.is_free(py) {
            // SAFETY: As in `write`.
            return Some(change(unsafe { &mut *self.value.get() }));
        }
        // Rare where Python has a lock: leaving it to `write` keeps the usual path short.
        if cfg!(not(Py_GIL_DISABLED)) {
            return None;
        }
        let mut writing = self.try_to_write()?;
        Some(change(&mut writing))
    }

    fn try_to_read(&self) -> Option<Reading<'_, T>> {
        match self.lock.try_read() {
            Ok(lock) => Some(self.reading(lock)),
            Err(TryLockError::Poisoned(poisoned)) => Some(self.reading(whatever(poisoned))),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn try_to_write(&self) -> Option<Writing<'_, T>> {
        match self.lock.try_write() {
            Ok(lock) => Some(self.writing(lock)),
            Err(TryLockError::Poisoned(poisoned)) => Some(self.writing(whatever(poisoned))),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Waits for the lock while other Python threads run, because the one that has it may need them. A guard cannot be
    /// returned from `detach`, so the lock is tried again.
    #[cold]
    fn wait_to_read(&self, py: Python<'_>) -> Reading<'_, T> {
        loop {
            match self.try_to_read() {
                Some(reading) => return reading,
                None => py.detach(|| drop(self.lock.read())),
            }
        }
    }

    #[cold]
    fn wait_to_write(&self, py: Python<'_>) -> Writing<'_, T> {
        loop {
            match self.try_to_write() {
                Some(writing) => return writing,
                None => py.detach(|| drop(self.lock.write())),
            }
        }
    }

    fn reading<'a>(&'a self, lock: RwLockReadGuard<'a, ()>) -> Reading<'a, T> {
        Reading {
            // SAFETY: The lock is held for reading. A thread that changes the value holds it for writing, or holds
            // Python's lock while no thread is detached: but the caller is detached, or holds that lock itself.
            value: unsafe { &*self.value.get() },
            _lock: lock,
        }
    }

    fn writing<'a>(&'a self, lock: RwLockWriteGuard<'a, ()>) -> Writing<'a, T> {
        Writing {
            // SAFETY: The lock is held for writing, so no other thread has it; threads without it as in `reading`.
            value: unsafe { &mut *self.value.get() },
            _lock: lock,
        }
    }

    /// Announces that this thread will use the value without Python's lock.
    pub(crate) fn detached(&self, _: Python<'_>) -> Detached<'_, T> {
        self.detached.fetch_add(1, Ordering::Relaxed);
        Detached(self)
    }
}

/// The right to use a value without Python's lock.
pub(crate) struct Detached<'a, T>(&'a Turns<T>);

impl<T: Send + Sync> Detached<'_, T> {
    /// Waits until nobody changes the value.
    pub(crate) fn read(&self) -> Reading<'_, T> {
        self.0.reading(self.0.lock.read().unwrap_or_else(whatever))
    }

    /// Waits until nobody uses the value.
    pub(crate) fn write(&self) -> Writing<'_, T> {
        self.0.writing(self.0.lock.write().unwrap_or_else(whatever))
    }

    /// Returns whether it is first in the order in which all threads take two locks, so that they never deadlock.
    pub(crate) fn is_before(&self, other: &Detached<'_, T>) -> bool {
        std::ptr::from_ref(self.0) < std::ptr::from_ref(other.0)
    }
}

impl<T> Drop for Detached<'_, T> {
    fn drop(&mut self) {
        // A thread that sees the lower number also sees what was done.
        self.0.detached.fetch_sub(1, Ordering::Release);
    }
}

/// A value that no thread changes meanwhile.
pub(crate) struct Reading<'a, T> {
    value: &'a T,
    _lock: RwLockReadGuard<'a, ()>,
}

/// A value that no other thread uses meanwhile.
pub(crate) struct Writing<'a, T> {
    value: &'a mut T,
    _lock: RwLockWriteGuard<'a, ()>,
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}
