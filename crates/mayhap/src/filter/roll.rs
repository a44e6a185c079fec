//! Many keys at once: what each will touch is asked for well before it is touched.

use crate::Key;
use crate::hash::{Digest, Digester, Hash};

/// The number of keys in flight at a time: as many as the second-level cache has room to wait for, because that is
/// where [`prefetch`](crate::bits) brings them. Lookups of 100 M keys by a prototype of `Blocked`, ns each (November
/// 2026, AMD
/// EPYC): 16 in flight 9.1, 32 6.0, 64 4.5, 128 4.5, against a limit of 4.3; to the nearest cache 10.6, 11.1 and 11.3;
/// in cache 2.8 to 2.9.
const DEPTH: usize = 64;

/// The way a filter finds what a key will touch.
pub(super) trait Find<K> {
    /// The place that it will touch.
    type Found: Copy + Default;

    /// Hashes the key. Implementations are `#[inline(always)]`: a closure in this place is sometimes
    /// left a call, which costs 1 ns a key.
    fn find(&self, key: K) -> Self::Found;
}

/// Finds what each key will touch, in order, calls `prefetch` with it, and some turns later `visit`.
///
/// Both are given `state`, which holds what they share. One loop, and so one place where a key is
/// hashed: with two the compiler makes it a call. It runs over the slots, and not over a count of keys that is reduced to a
/// slot: five instructions less.
#[inline(always)]
pub(super) fn roll<K, F: Find<K>, S>(
    keys: impl IntoIterator<Item = K>,
    finder: &F,
    state: &mut S,
    prefetch: impl Fn(&S, F::Found),
    mut visit: impl FnMut(&mut S, F::Found),
) {
    let mut keys = keys.into_iter();
    let mut ahead = [F::Found::default(); DEPTH];
    let mut is_full = false;
    let (last, waiting) = 'ended: loop {
        for (slot, kept) in ahead.iter_mut().enumerate() {
            let Some(key) = keys.next() else {
                break 'ended (slot, if is_full { DEPTH } else { slot });
            };
            let next = finder.find(key);
            prefetch(state, next);
            let oldest = core::mem::replace(kept, next);
            if is_full {
                visit(state, oldest);
            }
        }
        is_full = true;
    };
    for turn in last + DEPTH - waiting..last + DEPTH {
        visit(state, ahead[turn % DEPTH]);
    }
}

/// The bits from which a filter of many lines per key prefetches: 8 MiB, more than most second-level
/// caches. Per insert into `Bloom` (`bench/benches/insert.rs`, November 2026): at 36 MB 61 ns instead of
/// 104, at 1.2 MB 21 instead of 13.
pub(super) const LARGE: u64 = 1 << 26;

/// Like [`roll`] for a filter of this many bits, but one by one where they are fewer than [`LARGE`].
#[inline(always)]
pub(super) fn roll_large<K, F: Find<K>, S>(
    bits: u64,
    keys: impl IntoIterator<Item = K>,
    finder: &F,
    state: &mut S,
    prefetch: impl Fn(&S, F::Found),
    mut visit: impl FnMut(&mut S, F::Found),
) {
    if bits >= LARGE {
        return roll(keys, finder, state, prefetch, visit);
    }
    for key in keys {
        visit(state, finder.find(key));
    }
}

impl<K: Key> Find<K> for Digester {
    type Found = Digest;

    #[inline(always)]
    fn find(&self, key: K) -> Digest {
        self.digest(key.key_bytes().as_ref())
    }
}

/// The most keys in flight at a time where the loop is large.
pub(super) const FEW: usize = 16;

/// Calls `prefetch` with what each key will touch, in order, and `depth` keys later `visit`; up to [`FEW`].
///
/// Does what [`roll`] does, with one place that calls `visit`: where it is too large to be inlined into two, it would be
/// compiled without the instructions of the kernel.
#[inline(always)]
pub(super) fn roll_once<K, F: Find<K>, S>(
    depth: usize,
    keys: impl IntoIterator<Item = K>,
    finder: &F,
    state: &mut S,
    prefetch: impl Fn(&S, F::Found),
    mut visit: impl FnMut(&mut S, F::Found),
) {
    let mut keys = keys.into_iter().fuse();
    let mut ahead = [F::Found::default(); FEW];
    let (mut begun, mut done) = (0, 0);
    loop {
        if let Some(key) = keys.next() {
            let found = finder.find(key);
            prefetch(state, found);
            ahead[begun % FEW] = found;
            begun += 1;
            if begun - done < depth {
                continue;
            }
        } else if begun == done {
            return;
        }
        visit(state, ahead[done % FEW]);
        done += 1;
    }
}

/// The lines in flight at a time: about as many as a core has room for.
const LINES: usize = 32;

/// Returns how many keys are in flight at a time where each touches this many lines.
pub(super) fn depth(lines: usize) -> usize {
    (LINES / lines.max(1)).clamp(2, FEW)
}

/// From a key to its digest, by a hash that is settled.
pub(super) struct Hashed<H>(pub(super) H);

impl<K: Key, H: Hash> Find<K> for Hashed<H> {
    type Found = Digest;

    #[inline(always)]
    fn find(&self, key: K) -> Digest {
        self.0.digest(key.key_bytes().as_ref())
    }
}

/// Writes answers into a slice, one after another.
#[inline]
pub(super) fn into_slice(answers: &mut [bool]) -> impl FnMut(bool) {
    let mut slots = answers.iter_mut();
    move |answer| {
        if let Some(slot) = slots.next() {
            *slot = answer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    struct TimesTen;

    impl Find<usize> for TimesTen {
        type Found = usize;

        fn find(&self, key: usize) -> usize {
            key * 10
        }
    }

    #[test]
    fn every_key_is_prefetched_first_and_visited_in_order() {
        for keys in [0, 1, DEPTH - 1, DEPTH, DEPTH + 1, 100] {
            let prefetched = core::cell::RefCell::new(Vec::new());
            let mut visited = Vec::new();
            roll(
                0..keys,
                &TimesTen,
                &mut visited,
                |_, place| prefetched.borrow_mut().push(place),
                |visited, place| {
                    assert!(prefetched.borrow().contains(&place));
                    visited.push(place);
                },
            );
            let expected: Vec<usize> = (0..keys).map(|key| key * 10).collect();
            assert_eq!(visited, expected);
            assert_eq!(prefetched.into_inner(), expected);
        }
    }

    #[test]
    fn every_key_is_prefetched_some_keys_before_it_is_visited() {
        for depth in [1, 2, 7, FEW] {
            for keys in [0, 1, FEW - 1, FEW, FEW + 1, 100] {
                let prefetched = core::cell::Cell::new(0);
                let mut visited = Vec::new();
                roll_once(
                    depth,
                    0..keys,
                    &TimesTen,
                    &mut visited,
                    |_, place| {
                        assert_eq!(place, prefetched.get() * 10);
                        prefetched.set(prefetched.get() + 1);
                    },
                    |visited, place| {
                        let ahead = (visited.len() + depth).min(keys);
                        assert_eq!(prefetched.get(), ahead);
                        visited.push(place);
                    },
                );
                assert!(visited.into_iter().eq((0..keys).map(|key| key * 10)));
            }
        }
    }
}
