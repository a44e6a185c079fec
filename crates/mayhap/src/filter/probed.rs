//! Lookups of many keys in kinds whose keys have `k` cells each, anywhere in the filter.
//!
//! [`Bloom`](crate::Bloom), [`Counting`](crate::Counting), [`Spectral`](crate::kinds::Spectral) and
//! [`Spatial`](crate::kinds::Spatial) find a key where none of its cells is zero, and each cell is a cache line.
//! Seven of eight absent keys already fail at the first three, so only those are fetched at first:
//!
//! ```text
//! key t        hashed, its first lines prefetched
//! key t - 8    looked at there; if all are in use, its other lines are prefetched
//! key t - 16   looked at in those, and answered
//! ```

use super::roll::{Find, LARGE};
use crate::hash::{Digest, Digester, Probe};
use crate::{Key, Shape};

/// The keys from a prefetch to the answer.
const FAR: usize = 16;

/// The keys from a prefetch to the first look.
const NEAR: usize = 8;

/// The cells of the first look: as many as [`Probe::every`] looks at together.
const FIRST: usize = 3;

/// The cells of a filter: where they are, and which are in use.
pub(super) trait Cells {
    /// The number of cells, and of those that each key has.
    fn shape(&self) -> Shape;

    /// Hints that the cell at `position` will soon be read or written.
    fn prefetch(&self, position: u64);

    /// Returns whether the cell at `position` is not zero.
    fn is_used(&self, position: u64) -> bool;
}

/// Calls `answer` with whether all cells of each key are in use, in order. Where the filter's `bits` are fewer than
/// [`LARGE`] the keys are looked up one by one.
#[inline(always)]
pub(super) fn contains_each<K: Key>(
    cells: &impl Cells,
    bits: u64,
    digester: &Digester,
    keys: impl IntoIterator<Item = K>,
    mut answer: impl FnMut(bool),
) {
    let is_used = |position| cells.is_used(position);
    if bits < LARGE {
        for key in keys {
            answer(digester.find(key).probe(cells.shape()).every(is_used));
        }
        return;
    }
    let shape = cells.shape();
    let prefetch = |position| cells.prefetch(position);
    let first = FIRST.min(shape.hashes() as usize);
    let mut ahead = [(Digest::default().probe(shape), false); FAR];
    let mut keys = keys.into_iter().fuse();
    let (mut begun, mut looked, mut done) = (0_usize, 0_usize, 0_usize);
    loop {
        let mut is_last = false;
        match keys.next() {
            Some(key) => {
                let probe: Probe = digester.find(key).probe(shape);
                probe.take(first).for_each(prefetch);
                ahead[begun % FAR] = (probe, false);
                begun += 1;
                if begun - looked < NEAR {
                    continue;
                }
            }
            None if done == begun => return,
            None => is_last = true,
        }
        if looked < begun {
            let (probe, held) = &mut ahead[looked % FAR];
            // Counted, not left early: where an absent key fails cannot be predicted.
            let used: usize = probe
                .by_ref()
                .take(first)
                .map(|position| usize::from(is_used(position)))
                .sum();
            *held = used == first;
            if *held {
                // A copy: the positions are looked at later.
                let others = *probe;
                others.for_each(prefetch);
            }
            looked += 1;
        }
        if is_last || begun - done == FAR {
            let (mut probe, held) = ahead[done % FAR];
            answer(held && probe.all(is_used));
            done += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Bits as _;
    use crate::kinds::{Spatial, SpatialShape, Spectral, SpectralOptions, SpectralPolicy};
    use crate::{Bitmap, Bloom, Counting, CountingOptions, Insert, Scheme, Windowed};
    use alloc::vec::Vec;
    use core::cell::RefCell;

    /// Notes what is prefetched, and asserts that nothing else is read.
    struct Noting {
        shape: Shape,
        bits: Bitmap,
        prefetched: RefCell<Vec<u64>>,
    }

    impl Cells for Noting {
        fn shape(&self) -> Shape {
            self.shape
        }

        fn prefetch(&self, position: u64) {
            self.prefetched.borrow_mut().push(position);
        }

        fn is_used(&self, position: u64) -> bool {
            assert!(self.prefetched.borrow().contains(&position));
            self.bits.get(position)
        }
    }

    #[test]
    fn what_is_read_was_prefetched_and_answers_are_in_order() {
        let digester = Digester::default();
        for hashes in [1, 2, 3, 4, 7] {
            let mut noting = Noting {
                shape: Shape::new(1000, hashes).expect("valid"),
                bits: Bitmap::new(1000).expect("small"),
                prefetched: RefCell::default(),
            };
            for position in (0..1000).filter(|position| position % 3 > 0) {
                noting.bits.set(position);
            }
            for keys in [0, 1, NEAR, NEAR + 1, FAR, FAR + 1, 300] {
                let keys = 0..keys as u64;
                let mut got = Vec::new();
                contains_each(&noting, LARGE, &digester, keys.clone(), |found| {
                    got.push(found);
                });
                let holds = |key| {
                    let mut positions = digester.find(key).probe(noting.shape);
                    positions.all(|position| noting.bits.get(position))
                };
                let expected: Vec<bool> = keys.map(holds).collect();
                assert_eq!(got, expected, "{hashes} hashes");
            }
        }
    }

    /// Filters of 8 MiB and more, for which keys are prefetched.
    #[test]
    fn large_filters_do_with_many_keys_what_they_do_with_each() {
        fn check<F: Insert + PartialEq + core::fmt::Debug + Clone>(empty: F) {
            let key = |key: u32| key.to_le_bytes();
            let keys = || (0..700).chain(650..1000).map(key);
            let (mut one_by_one, mut batch) = (empty.clone(), empty);
            let expected: Vec<bool> = keys().map(|key| one_by_one.insert_bytes(&key)).collect();
            let mut new = Vec::new();
            batch.insert_each(keys(), |is_new| new.push(is_new));
            assert_eq!(new, expected);
            assert!(batch == one_by_one, "{batch:?}");

            let asked = || (500..3000).map(key);
            let expected: Vec<bool> = asked().map(|key| batch.contains_bytes(&key)).collect();
            let mut found = Vec::new();
            batch.contains_each(asked(), |is_found| found.push(is_found));
            assert_eq!(found, expected);
            assert!(found[..500].iter().all(|&is_found| is_found));
        }
        let cells = |width| Shape::new(LARGE / width, 7).expect("valid");
        check(Bloom::new(cells(1), Scheme::default()).expect("memory"));
        check(Counting::new(cells(4), CountingOptions::default()).expect("memory"));
        for policy in SpectralPolicy::ALL {
            let options = SpectralOptions {
                policy,
                ..SpectralOptions::default()
            };
            check(Spectral::new(cells(16), options).expect("memory"));
        }
        let shape = SpatialShape::new(cells(8), 255).expect("valid");
        check(Spatial::new(shape, Digester::default()).expect("memory"));
        check(Windowed::with_capacity(3_500_000, 0.01).expect("memory"));
    }
}
