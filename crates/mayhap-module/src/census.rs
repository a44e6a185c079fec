//! How many filters of each family there are on the server, and what is in them: for `INFO`.
//!
//! Filters may be dropped by another thread, so the numbers are atomic; none of them orders anything.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What all filters of a family have together.
pub(crate) struct Census {
    pub(crate) filters: AtomicU64,
    pub(crate) layers: AtomicU64,
    pub(crate) keys: AtomicU64,
    pub(crate) capacity: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// Those of `BF.*` in this process.
pub(crate) static BLOOM: Census = Census::new();

/// Those of `CF.*`.
pub(crate) static CUCKOO: Census = Census::new();

/// What one filter has.
pub(crate) struct Tally {
    pub(crate) layers: u64,
    pub(crate) keys: u64,
    pub(crate) capacity: u64,
    pub(crate) bytes: u64,
}

impl Census {
    const fn new() -> Census {
        Census {
            filters: AtomicU64::new(0),
            layers: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            capacity: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Counts a filter that has been made.
    pub(crate) fn enter(&self, filter: Tally) {
        self.filters.fetch_add(1, Relaxed);
        self.layers.fetch_add(filter.layers, Relaxed);
        self.keys.fetch_add(filter.keys, Relaxed);
        self.capacity.fetch_add(filter.capacity, Relaxed);
        self.bytes.fetch_add(filter.bytes, Relaxed);
    }

    /// Counts it no longer.
    pub(crate) fn leave(&self, filter: Tally) {
        self.filters.fetch_sub(1, Relaxed);
        self.layers.fetch_sub(filter.layers, Relaxed);
        self.keys.fetch_sub(filter.keys, Relaxed);
        self.capacity.fetch_sub(filter.capacity, Relaxed);
        self.bytes.fetch_sub(filter.bytes, Relaxed);
    }

    /// Counts a layer that is about to be added.
    pub(crate) fn grow(&self, capacity: u64, bytes: u64) {
        self.layers.fetch_add(1, Relaxed);
        self.capacity.fetch_add(capacity, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts keys that were inserted.
    pub(crate) fn insert(&self, keys: u64) {
        self.keys.fetch_add(keys, Relaxed);
    }

    /// Counts keys that were removed no longer.
    pub(crate) fn remove(&self, keys: u64) {
        self.keys.fetch_sub(keys, Relaxed);
    }
}
