//! Filters with removal, compared with a multiset: a tape of operations is applied to both.

use std::collections::HashMap;
use std::fmt::Debug;

use mayhap::{
    AnyFilter, Assemble, Bitmap, Counting, Cuckoo, Insert, Merge, Remove,
    kinds::{Estimate, Spectral, SpectralPolicy},
};

use crate::Bytes;
use crate::model::{insert_batch, looped, round_trip, view};

/// A kind that holds keys as often as they were inserted, with the operations that the library has no trait for.
pub trait Multiset:
    Insert + Remove + Merge + Assemble<Bits = Bitmap> + Clone + PartialEq + Debug + Into<AnyFilter>
{
    fn clear(&mut self);

    /// Returns whether, according to the filter, the key may have been inserted this often.
    fn allows(&self, key: &[u8], count: u64) -> bool;

    /// Returns whether keys can be removed.
    fn removes(&self) -> bool;

    /// Returns whether two filters built alike can be joined.
    fn joins(&self) -> bool {
        true
    }

    /// Returns whether a union is the filter of both.
    fn adds_exactly(&self) -> bool;
}

impl Multiset for Counting {
    fn clear(&mut self) {
        Counting::<Bitmap>::clear(self);
    }

    fn allows(&self, key: &[u8], count: u64) -> bool {
        count == 0 || self.contains(key)
    }

    fn removes(&self) -> bool {
        true
    }

    fn adds_exactly(&self) -> bool {
        true
    }
}

impl Multiset for Spectral {
    fn clear(&mut self) {
        Spectral::<Bitmap>::clear(self);
    }

    fn allows(&self, key: &[u8], count: u64) -> bool {
        match self.estimate(key) {
            Estimate::AtMost(most) => count <= most,
            Estimate::Stuck(_) => true,
        }
    }

    fn removes(&self) -> bool {
        self.policy() != SpectralPolicy::MinimalIncrease
    }

    fn adds_exactly(&self) -> bool {
        self.policy() == SpectralPolicy::MinimumSelection
    }
}

impl Multiset for Cuckoo {
    fn clear(&mut self) {
        Cuckoo::<Bitmap>::clear(self);
    }

    fn allows(&self, key: &[u8], count: u64) -> bool {
        count == 0 || self.contains(key) && self.count(key) >= count
    }

    fn removes(&self) -> bool {
        true
    }

    fn joins(&self) -> bool {
        false
    }

    fn adds_exactly(&self) -> bool {
        false
    }
}

type Counts = HashMap<Vec<u8>, u64>;

/// Applies the operations of the tape to an empty filter and to a multiset, and compares them.
pub fn operate_counts<F: Multiset>(empty: F, bytes: &mut Bytes<'_>) {
    let mut filter = empty;
    let mut counts = Counts::new();
    // Each step costs microseconds; an endless tape would only be slow.
    for _ in 0..200 {
        if bytes.is_empty() {
            break;
        }
        match bytes.u8() % 12 {
            0..3 => insert(&mut filter, &mut counts, bytes.key()),
            3..6 => remove(&mut filter, &mut counts, bytes.key()),
            6 => {
                let keys = bytes.keys();
                insert_batch(&mut filter, &keys);
                count(&mut counts, &keys);
            }
            7 => unite(&mut filter, &mut counts, &bytes.keys()),
            8 => intersect(&mut filter, &mut counts, &bytes.keys()),
            9 => {
                filter.clear();
                counts.clear();
                assert_eq!((filter.stats().ones, filter.stats().rate), (0, 0.0));
            }
            10 => round_trip(&filter, bytes),
            _ => view(&filter, bytes.0, &[]),
        }
    }
    for (key, &count) in &counts {
        assert!(filter.allows(key, count), "{key:?} came {count} times");
    }
    round_trip(&filter, &mut Bytes(&[]));
}

fn insert<F: Multiset>(filter: &mut F, counts: &mut Counts, key: Vec<u8>) {
    let found = filter.contains_bytes(&key);
    let count = counts.entry(key.clone()).or_default();
    assert!(filter.allows(&key, *count), "{key:?} came {count} times");
    assert_eq!(filter.insert_bytes(&key), !found, "{key:?}");
    *count += 1;
    assert!(filter.allows(&key, *count), "{key:?} is missed at once");
}

/// Removes a member, or tries to remove an absent key: a refusal changes nothing, and an absent key that
/// passes for a member is put back, because a user must not remove it.
fn remove<F: Multiset>(filter: &mut F, counts: &mut Counts, key: Vec<u8>) {
    let before = filter.clone();
    let removed = filter.remove_bytes(&key);
    assert_eq!(removed.is_ok(), filter.removes());
    let removed = removed.unwrap_or(false);
    if !removed {
        assert_eq!(*filter, before, "refused, and changed");
    }
    match counts.get_mut(&key).filter(|count| **count > 0) {
        Some(count) if filter.removes() => {
            assert!(removed, "{key:?} came {count} times");
            *count -= 1;
        }
        _ => *filter = before,
    }
}

fn count(counts: &mut Counts, keys: &[Vec<u8>]) {
    for key in keys {
        *counts.entry(key.clone()).or_default() += 1;
    }
}

/// Builds a filter like this one, of other keys.
fn other<F: Multiset>(filter: &F, keys: &[Vec<u8>]) -> F {
    let mut empty = filter.clone();
    empty.clear();
    looped(&empty, keys).0
}

/// Checks that a kind which cannot be joined refuses it and stays as it is.
fn refuse<F: Multiset>(filter: &mut F, other: &F) {
    let before = filter.clone();
    assert!(filter.union(other).is_err() && filter.intersect(other).is_err());
    assert_eq!(*filter, before, "refused, and changed");
}

fn unite<F: Multiset>(filter: &mut F, counts: &mut Counts, keys: &[Vec<u8>]) {
    let (expected, _) = looped(filter, keys);
    let other = other(filter, keys);
    if !filter.joins() {
        return refuse(filter, &other);
    }
    filter.union(&other).expect("built alike");
    if filter.adds_exactly() {
        assert_eq!(*filter, expected);
    }
    count(counts, keys);
}

fn intersect<F: Multiset>(filter: &mut F, counts: &mut Counts, keys: &[Vec<u8>]) {
    let other = other(filter, keys);
    if !filter.joins() {
        return refuse(filter, &other);
    }
    filter.intersect(&other).expect("built alike");
    let mut others = Counts::new();
    count(&mut others, keys);
    for (key, count) in counts.iter_mut() {
        *count = (*count).min(others.get(key).copied().unwrap_or(0));
        assert!(
            filter.allows(key, *count),
            "{key:?} came {count} times to both"
        );
    }
}
