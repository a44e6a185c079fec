//! What a filter holds now, against what was asked of it.

/// The capacity and rate a filter was made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// The number of keys it was made for.
    pub keys: u64,
    /// The false-positive rate asked for at that many keys.
    pub rate: f64,
}

/// What a filter holds now, and the rate that gives.
///
/// ```
/// use mayhap::Bloom;
///
/// let mut filter = Bloom::with_capacity(1000, 0.01)?;
/// filter.insert_all(0..1000_u32);
/// assert!(!filter.stats().is_over_capacity());
/// filter.insert_all(1000..2000_u32);
/// let stats = filter.stats();
/// assert!(stats.is_over_capacity());
/// assert!(stats.rate > 0.1, "the rate now, not the rate asked for");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// The number of bits.
    pub bits: u64,
    /// The number of ones; of a filter of counters, all bits of those that are not zero.
    pub ones: u64,
    /// The estimated number of distinct keys; `None` when the filter is saturated and cannot tell.
    pub keys: Option<f64>,
    /// The false-positive rate now, from the ones.
    pub rate: f64,
    /// What the filter was made for, when it was made by capacity and rate.
    pub promise: Option<Promise>,
}

impl Stats {
    /// The share of ones, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.ones as f64 / self.bits as f64
    }

    /// Bits per estimated key; `None` when the filter is empty or saturated.
    pub fn bits_per_key(&self) -> Option<f64> {
        let keys = self.keys.filter(|&keys| keys > 0.0)?;
        Some(self.bits as f64 / keys)
    }

    /// Whether more keys are in than the filter was made for: false when that is not known.
    ///
    /// Judged by the estimated number of keys, allowing it four standard deviations of its own
    /// error (taken as the square root of the capacity, which is on the safe side), so that a
    /// filter filled exactly to its capacity is not called over it.
    pub fn is_over_capacity(&self) -> bool {
        let Some(promise) = self.promise else {
            return false;
        };
        let capacity = promise.keys as f64;
        match self.keys {
            Some(keys) => keys > capacity + 4.0 * libm::sqrt(capacity),
            None => true,
        }
    }
}
