//! An exact set, for scale: what no false positives cost.

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::{Contender, SEED};
use crate::Result;

/// A hash set of the keys themselves.
pub struct ExactSet(HashSet<u64, FixedState>);

impl Contender<u64> for ExactSet {
    const NAME: &'static str = "hashbrown HashSet (exact)";

    fn with_capacity(keys: u64, _rate: f64) -> Result<Self> {
        let hasher = FixedState::with_seed(SEED);
        let keys = usize::try_from(keys)?;
        Ok(ExactSet(HashSet::with_capacity_and_hasher(keys, hasher)))
    }

    #[inline(always)]
    fn insert(&mut self, key: &u64) {
        self.0.insert(*key);
    }

    #[inline(always)]
    fn contains(&self, key: &u64) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        self.0.allocation_size() as u64 * 8
    }
}
