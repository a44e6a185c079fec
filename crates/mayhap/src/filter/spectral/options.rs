//! Options of a spectral filter, besides its size.

use core::fmt;

use crate::bits::CounterWidth;
use crate::hash::Digester;

/// Options of a [`Spectral`](crate::kinds::Spectral) filter, besides its size.
///
/// ```
/// use mayhap::kinds::{Spectral, SpectralOptions, SpectralPolicy};
///
/// let policy = SpectralPolicy::MinimalIncrease;
/// let options = SpectralOptions { policy, ..SpectralOptions::default() };
/// let mut words = Spectral::with_options(1000, 0.01, options)?;
/// words.insert("be");
/// words.insert("be");
/// assert_eq!(words.count("be"), 2);
/// assert!(words.remove("be").is_err(), "not under this policy");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpectralOptions {
    /// The bits of a counter: counts above its top are not distinguished.
    pub width: CounterWidth,
    /// The policy: which counters rise.
    pub policy: SpectralPolicy,
    /// The way keys are hashed.
    pub digester: Digester,
}

impl fmt::Display for SpectralPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SpectralPolicy::MinimumSelection => "minimum-selection",
            SpectralPolicy::MinimalIncrease => "minimal-increase",
            SpectralPolicy::RecurringMinimum => "recurring-minimum",
        })
    }
}

impl Default for SpectralOptions {
    /// Sixteen bits and minimum selection, under which every operation is sound; hashed without a secret.
    fn default() -> SpectralOptions {
        SpectralOptions {
            width: CounterWidth::Sixteen,
            policy: SpectralPolicy::MinimumSelection,
            digester: Digester::default(),
        }
    }
}

/// The way the counters of a [`Spectral`](crate::kinds::Spectral) filter follow a key.
///
/// Under each of them an estimate is never below the true count, as long as no counter is stuck and
/// only keys that are there are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpectralPolicy {
    /// Every counter of a key rises with it. Keys can be removed, and a union is the filter of both.
    /// An estimate is wrong as often as a filter of this size is about a key that is not there.
    MinimumSelection,
    /// Only the lowest counters of a key rise with it. No estimate is above that of minimum selection:
    /// half to three quarters as many are wrong, and by far less. But nothing can be removed, because no
    /// counter is known to be due to a key; and a union, by adding counters, is no better than minimum
    /// selection.
    MinimalIncrease,
    /// Keys with a counter lower than all their others, which are those likely to be wrong, are counted
    /// in a second, smaller set of counters as well, and marked. Takes 1.5 times the counters, and the
    /// marks. For the same memory more counts are wrong than by minimum selection, but by less; minimal
    /// increase does better, but here keys can be removed.
    RecurringMinimum,
}

impl SpectralPolicy {
    /// Every policy, by ascending code.
    pub(in crate::filter) const ALL: [SpectralPolicy; 3] = [
        SpectralPolicy::MinimumSelection,
        SpectralPolicy::MinimalIncrease,
        SpectralPolicy::RecurringMinimum,
    ];

    /// The number that files hold: permanent.
    pub(super) fn code(self) -> u32 {
        match self {
            SpectralPolicy::MinimumSelection => 0,
            SpectralPolicy::MinimalIncrease => 1,
            SpectralPolicy::RecurringMinimum => 2,
        }
    }
}
