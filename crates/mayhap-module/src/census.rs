//! How many filters of the `BF.*` commands there are on the server, and what is in them: for `INFO`.
//!
//! Filters may be dropped by another thread, so the numbers are atomic; none of them orders anything.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::chain::{Chain, Layer};

/// What all filters have together.
pub(crate) struct Census {
    pub(crate) filters: AtomicU64,
    pub(crate) layers: AtomicU64,
    pub(crate) keys: AtomicU64,
    pub(crate) capacity: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// The one of this process.
pub(crate) static CENSUS: Census = Census {
    filters: AtomicU64::new(0),
    layers: AtomicU64::new(0),
    keys: AtomicU64::new(0),
    capacity: AtomicU64::new(0),
    bytes: AtomicU64::new(0),
};

impl Census {
    /// Counts a filter that has been made.
    pub(crate) fn enter(&self, chain: &Chain) {
        self.filters.fetch_add(1, Relaxed);
        self.layers.fetch_add(chain.layers().len() as u64, Relaxed);
        self.keys.fetch_add(chain.keys(), Relaxed);
        self.capacity.fetch_add(chain.capacity(), Relaxed);
        self.bytes.fetch_add(chain.bytes(), Relaxed);
    }

    /// Counts it no longer.
    pub(crate) fn leave(&self, chain: &Chain) {
        self.filters.fetch_sub(1, Relaxed);
        self.layers.fetch_sub(chain.layers().len() as u64, Relaxed);
        self.keys.fetch_sub(chain.keys(), Relaxed);
        self.capacity.fetch_sub(chain.capacity(), Relaxed);
        self.bytes.fetch_sub(chain.bytes(), Relaxed);
    }

    /// Counts a layer that is about to be added.
    pub(crate) fn grow(&self, layer: &Layer) {
        self.layers.fetch_add(1, Relaxed);
        self.capacity.fetch_add(layer.capacity, Relaxed);
        self.bytes
            .fetch_add(layer.bytes() + size_of::<Layer>() as u64, Relaxed);
    }

    /// Counts keys that were inserted.
    pub(crate) fn insert(&self, keys: u64) {
        self.keys.fetch_add(keys, Relaxed);
    }
}
