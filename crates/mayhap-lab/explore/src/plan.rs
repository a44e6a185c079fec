//! Sizes and rates without a filter.

use mayhap::shape::{BLOOM_OVERHEAD, minimum_bits};
use mayhap::{Kind, Shape};

/// The sizes for a capacity and a rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The bits and hashes of the standard filter.
    pub bloom: (u64, u32),
    /// The number of hashes, not rounded, that is best for those bits.
    pub best: f64,
    /// The bits that any filter needs.
    pub bound: f64,
    /// The size of a standard filter divided by that, at best.
    pub overhead: f64,
    /// The bits of each kind that has such a filter.
    pub kinds: Vec<(&'static str, u64)>,
}

/// Plans for a capacity and a rate.
///
/// ```
/// let plan = mayhap_explore::plan::plan(1_000_000, 0.01)?;
/// assert_eq!(plan.bloom.1, 7);
/// assert!((plan.best - 6.64).abs() < 0.02 && (plan.overhead - 1.4427).abs() < 1e-4);
/// assert!(plan.bound < 6_643_857.0 && plan.kinds.len() > 15);
/// # Ok::<(), mayhap::Error>(())
/// ```
///
/// # Errors
///
/// When such a filter cannot exist.
pub fn plan(capacity: u64, rate: f64) -> mayhap::Result<Plan> {
    let shape = Shape::for_capacity(capacity, rate)?;
    let kinds = Kind::ALL.iter();
    let kinds = kinds.filter_map(|kind| Some((kind.name(), kind.plan(capacity, rate).ok()?.bits)));
    Ok(Plan {
        bloom: (shape.bits(), shape.hashes()),
        best: shape.optimal_hashes(capacity),
        bound: minimum_bits(capacity, rate)?,
        overhead: BLOOM_OVERHEAD,
        kinds: kinds.collect(),
    })
}

/// The rate of a standard filter of this many bits and hashes with this many keys; not a number if there is no such
/// filter.
///
/// ```
/// use mayhap_explore::plan::rate;
///
/// assert!((rate(9586, 7, 1000) - 0.01).abs() < 1e-4);
/// assert!(rate(0, 7, 1000).is_nan());
/// ```
pub fn rate(bits: u64, hashes: u32, keys: u64) -> f64 {
    Shape::new(bits, hashes).map_or(f64::NAN, |shape| shape.rate_at(keys))
}
