//! Layers of a filter of `BF.*`: keys go into the newest, lookups ask all.

use mayhap::{AnyFilter, Assemble as _, Filter as _, Kind};

use super::Plan;
use crate::limits::{Allows, Refusal};

/// A filter of fixed size, and the number of its keys.
#[derive(Clone)]
pub(crate) struct Layer {
    pub(crate) filter: AnyFilter,
    /// The keys that it has room for.
    pub(crate) capacity: u64,
    /// The keys that were new when they went in.
    pub(crate) keys: u64,
}

impl Layer {
    /// Makes layer `index`, empty, of a filter that has `now` bytes.
    pub(super) fn new(
        plan: &Plan,
        index: usize,
        capacity: u64,
        now: u64,
        allows: Allows<'_>,
    ) -> Result<Layer, Refusal> {
        let description = plan.describe(index, capacity);
        let description = description.map_err(|_| Refusal::Rate)?;
        if !allows(now, description.bits / 8) {
            return Err(Refusal::Memory);
        }
        let filter = AnyFilter::new(&description).map_err(|_| Refusal::Memory)?;
        Ok(Layer {
            filter,
            capacity,
            keys: 0,
        })
    }

    /// The bytes of its bits.
    pub(crate) fn bytes(&self) -> u64 {
        self.filter.description().bits.div_ceil(64) * 8
    }

    /// The number of its bits.
    pub(crate) fn bits(&self) -> u64 {
        self.filter.description().bits
    }

    /// The bits that a key sets.
    pub(crate) fn hashes(&self) -> u32 {
        self.filter.description().hashes
    }

    /// The keys that it still has room for.
    pub(super) fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.keys)
    }

    /// Inserts keys, for which there should be room.
    fn insert(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        let filter = self.filter.as_insert();
        let filter = filter.expect("layers are of kinds that take keys");
        filter.insert_bytes_batch(keys, new);
        let more = new.iter().map(|&new| u64::from(new)).sum::<u64>();
        // There are more only where another server has taken them, which had false positives of its own.
        self.keys = (self.keys + more).min(self.capacity);
    }
}

/// Returns whether a filter is of a kind that layers have.
pub(crate) fn is_layer(filter: &AnyFilter) -> bool {
    matches!(filter.kind(), Kind::Blocked | Kind::Bloom)
}

/// Inserts keys into the newest layer, which has room for them.
pub(super) fn insert(layers: &mut [Layer], keys: &[&[u8]], new: &mut [bool]) {
    let Some((newest, older)) = layers.split_last_mut() else {
        return;
    };
    if older.is_empty() {
        return newest.insert(keys, new);
    }
    contains(older, keys, new);
    let absent: Vec<usize> = (0..keys.len()).filter(|&index| !new[index]).collect();
    let absent_keys: Vec<&[u8]> = absent.iter().map(|&index| keys[index]).collect();
    let mut absent_new = vec![false; absent.len()];
    newest.insert(&absent_keys, &mut absent_new);
    new.fill(false);
    for (index, is_new) in absent.into_iter().zip(absent_new) {
        new[index] = is_new;
    }
}

/// Looks up each key in all layers, the newest first.
pub(super) fn contains(layers: &[Layer], keys: &[&[u8]], found: &mut [bool]) {
    let Some((newest, older)) = layers.split_last() else {
        return found.fill(false);
    };
    newest.filter.contains_bytes_batch(keys, found);
    for layer in older.iter().rev() {
        let absent: Vec<usize> = (0..keys.len()).filter(|&index| !found[index]).collect();
        if absent.is_empty() {
            return;
        }
        let absent_keys: Vec<&[u8]> = absent.iter().map(|&index| keys[index]).collect();
        let mut absent_found = vec![false; absent.len()];
        let filter = &layer.filter;
        filter.contains_bytes_batch(&absent_keys, &mut absent_found);
        for (index, is_found) in absent.into_iter().zip(absent_found) {
            found[index] = is_found;
        }
    }
}
