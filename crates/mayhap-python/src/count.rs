//! The number of keys that were new to a filter: for the warning that there are too many, and for `bool()`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mayhap::{Description, Inserts, Kind};

/// Counts the keys that were new to a filter.
pub(crate) struct Count {
    new: AtomicU64,
    /// The highest count without a warning; `u64::MAX` where there is no limit, or the warning was issued.
    limit: AtomicU64,
    /// Set if keys are in the filter that were not counted, or if some left it.
    is_rough: AtomicBool,
}

impl Count {
    /// Begins with this many keys; `None` where they were not counted.
    pub(crate) fn new(description: Option<&Description>, keys: Option<u64>) -> Count {
        Count {
            new: AtomicU64::new(keys.unwrap_or_default()),
            limit: AtomicU64::new(description.and_then(limit).unwrap_or(u64::MAX)),
            is_rough: AtomicBool::new(keys.is_none()),
        }
    }

    /// Counts one new key, and returns whether a warning is due.
    #[inline(always)]
    pub(crate) fn one(&self) -> bool {
        // Python's lock is held where it has one, so that a load and a store are enough; they are what a single key
        // can pay for.
        let new = match cfg!(Py_GIL_DISABLED) {
            true => self.new.fetch_add(1, Ordering::Relaxed) + 1,
            false => {
                let new = self.new.load(Ordering::Relaxed) + 1;
                self.new.store(new, Ordering::Relaxed);
                new
            }
        };
        new > self.limit.load(Ordering::Relaxed)
    }

    /// Counts new keys.
    pub(crate) fn many(&self, new: u64) {
        self.new.fetch_add(new, Ordering::Relaxed);
    }

    /// Returns whether a warning is due.
    pub(crate) fn is_over(&self) -> bool {
        self.new.load(Ordering::Relaxed) > self.limit.load(Ordering::Relaxed)
    }

    /// Returns the count for the one warning of a filter; `None` where another thread has it.
    pub(crate) fn take_warning(&self) -> Option<u64> {
        let limit = self.limit.swap(u64::MAX, Ordering::Relaxed);
        (limit != u64::MAX).then(|| self.new.load(Ordering::Relaxed))
    }

    /// Notes that a key was removed.
    pub(crate) fn removed(&self) {
        let one_less = |new: u64| new.checked_sub(1);
        let _ = self
            .new
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        self.roughen();
    }

    /// Notes that the filter was changed in another way than by inserting keys.
    pub(crate) fn roughen(&self) {
        self.is_rough.store(true, Ordering::Relaxed);
    }

    /// Begins again with none.
    pub(crate) fn clear(&self, description: &Description) {
        self.new.store(0, Ordering::Relaxed);
        let limit = limit(description).unwrap_or(u64::MAX);
        self.limit.store(limit, Ordering::Relaxed);
        self.is_rough.store(false, Ordering::Relaxed);
    }

    /// Returns whether any key is in the filter; `None` where the bits have to be looked at.
    pub(crate) fn is_any(&self) -> Option<bool> {
        let is_rough = self.is_rough.load(Ordering::Relaxed);
        (!is_rough).then(|| self.new.load(Ordering::Relaxed) > 0)
    }
}

/// Returns the number of keys above which a filter has a higher rate than was asked for. Kinds that grow or forget have
/// none.
fn limit(description: &Description) -> Option<u64> {
    let is_bounded = match description.kind.inserts() {
        Inserts::BySettingBits | Inserts::InMemory => description.kind != Kind::Windowed,
        Inserts::Growing | Inserts::Never => false,
    };
    description
        .promise
        .filter(|_| is_bounded)
        .map(|promise| promise.keys)
}
