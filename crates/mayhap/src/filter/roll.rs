//! Many keys at once: what each will touch is asked for well before it is touched.

use crate::Key;
use crate::hash::{Digest, Digester};

/// How many keys are on their way at a time. Lookups of 100 M keys by a prototype of `Blocked`, ns each,
/// against a limit of 13.1 (November 2026, AMD EPYC): 8 on their way 20.2, 16 14.7, 32 14.3, 64 16.2; in cache
/// all alike.
const DEPTH: usize = 16;

/// How a filter finds what a key will touch.
pub(super) trait Find<K> {
    /// What it will touch.
    type Found: Copy + Default;

    /// Hashes the key. Implementations are `#[inline(always)]`: a closure in this place is sometimes
    /// left a call, which costs 1 ns a key.
    fn find(&self, key: K) -> Self::Found;
}

/// Finds what each key will touch, in order, calls `prefetch` with it, and some turns later `visit`.
///
/// Both are given `state`, which holds what they share. One loop, and so one place where a key is
/// hashed: with two the compiler makes it a call.
#[inline(always)]
pub(super) fn roll<K, F: Find<K>, S>(
    keys: impl IntoIterator<Item = K>,
    finder: &F,
    state: &mut S,
    prefetch: impl Fn(&S, F::Found),
    mut visit: impl FnMut(&mut S, F::Found),
) {
    let mut ahead = [F::Found::default(); DEPTH];
    let mut count = 0;
    for key in keys {
        let next = finder.find(key);
        prefetch(state, next);
        let oldest = core::mem::replace(&mut ahead[count % DEPTH], next);
        count += 1;
        if count > DEPTH {
            visit(state, oldest);
        }
    }
    for turn in count.saturating_sub(DEPTH)..count {
        visit(state, ahead[turn % DEPTH]);
    }
}

/// The bits from which a filter of many lines per key prefetches: 8 MiB, more than most second-level
/// caches. Per insert into `Bloom` (`bench/benches/insert.rs`, November 2026): at 36 MB 61 ns instead of
/// 104, at 1.2 MB 21 instead of 13.
pub(super) const LARGE: u64 = 1 << 26;

/// As [`roll`] for a filter of this many bits, but one by one where they are fewer than [`LARGE`].
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
}
