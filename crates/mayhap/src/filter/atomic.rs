//! Filters that many threads insert into at once, made by capacity.

use super::{AtomicBlocked, AtomicBloom, AtomicSplitBlock, Blocked, Bloom, SplitBlock};
use crate::Result;

/// A filter that many threads insert into at once, and the plain filter that it is made from and turned back into.
///
/// The atomic forms are the same types as the plain ones, over another storage. A trait has their `with_capacity`,
/// because a bare `Blocked::with_capacity` would not say which storage is meant.
///
/// ```
/// use mayhap::{Atomic, AtomicBlocked};
///
/// let seen = AtomicBlocked::with_capacity(1000, 0.01)?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| seen.insert("left"));
///     scope.spawn(|| seen.insert("right"));
/// });
/// let plain = seen.into_plain();
/// assert!(plain.contains("left") && plain.contains("right"));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub trait Atomic: From<Self::Plain> {
    /// The filter that one thread at a time changes.
    type Plain: From<Self>;

    /// A filter whose predicted rate with `keys` keys is at most `rate`, as `with_capacity` of the plain kind makes it.
    ///
    /// # Errors
    ///
    /// Those of the plain kind.
    fn with_capacity(keys: u64, rate: f64) -> Result<Self>;

    /// The plain filter with the same bits, which are not copied.
    fn into_plain(self) -> Self::Plain {
        self.into()
    }
}

impl Atomic for AtomicBloom {
    type Plain = Bloom;

    fn with_capacity(keys: u64, rate: f64) -> Result<AtomicBloom> {
        Bloom::with_capacity(keys, rate).map(AtomicBloom::from)
    }
}

impl Atomic for AtomicBlocked {
    type Plain = Blocked;

    fn with_capacity(keys: u64, rate: f64) -> Result<AtomicBlocked> {
        Blocked::with_capacity(keys, rate).map(AtomicBlocked::from)
    }
}

impl Atomic for AtomicSplitBlock {
    type Plain = SplitBlock;

    fn with_capacity(keys: u64, rate: f64) -> Result<AtomicSplitBlock> {
        SplitBlock::with_capacity(keys, rate).map(AtomicSplitBlock::from)
    }
}
