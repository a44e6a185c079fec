//! Numbers about all filters of a family in this process, for `INFO`.
//!
//! Filters may be dropped by another thread, so the numbers are atomic; no other memory depends on their order.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The sums over all filters of a family.
#[derive(Debug)]
pub struct Census {
    filters: AtomicU64,
    layers: AtomicU64,
    keys: AtomicU64,
    capacity: AtomicU64,
    bytes: AtomicU64,
}

/// The filters of `BF.*`.
pub static BLOOM: Census = Census::new();

/// The filters of `CF.*`.
pub static CUCKOO: Census = Census::new();

/// The numbers of one filter.
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

    /// Returns the bytes, the filters, their layers, their keys and their capacity.
    pub fn numbers(&self) -> [u64; 5] {
        let numbers = [
            &self.bytes,
            &self.filters,
            &self.layers,
            &self.keys,
            &self.capacity,
        ];
        numbers.map(|number| number.load(Relaxed))
    }

    /// Counts a filter that was made.
    pub(crate) fn enter(&self, filter: Tally) {
        self.filters.fetch_add(1, Relaxed);
        self.layers.fetch_add(filter.layers, Relaxed);
        self.keys.fetch_add(filter.keys, Relaxed);
        self.capacity.fetch_add(filter.capacity, Relaxed);
        self.bytes.fetch_add(filter.bytes, Relaxed);
    }

    /// Takes out a filter that is dropped.
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

    /// Counts the difference that a change to a filter made.
    pub(crate) fn recount(&self, before: Tally, now: Tally) {
        for (number, before, now) in [
            (&self.layers, before.layers, now.layers),
            (&self.keys, before.keys, now.keys),
            (&self.capacity, before.capacity, now.capacity),
            (&self.bytes, before.bytes, now.bytes),
        ] {
            if now != before {
                number.fetch_add(now.wrapping_sub(before), Relaxed);
            }
        }
    }
}
