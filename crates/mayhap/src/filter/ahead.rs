//! Many keys at once, in code that is compiled for the instructions of the CPU.

use super::roll::Find;
use crate::Key;
use crate::hash::{Digest, Hash};

/// The most keys on their way at a time.
pub(super) const DEPTH: usize = 16;

/// Calls `prefetch` with what each key will touch, in order, and `depth` keys later `visit`; up to [`DEPTH`].
///
/// Does what `roll` does, with one place that calls `visit`: it is too large here to be inlined into
/// two, and would be compiled without those instructions.
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
    let mut ahead = [F::Found::default(); DEPTH];
    let (mut begun, mut done) = (0, 0);
    loop {
        if let Some(key) = keys.next() {
            let found = finder.find(key);
            prefetch(state, found);
            ahead[begun % DEPTH] = found;
            begun += 1;
            if begun - done < depth {
                continue;
            }
        } else if begun == done {
            return;
        }
        visit(state, ahead[done % DEPTH]);
        done += 1;
    }
}

/// The lines on their way at a time: about as many as a core has room for. With 100 M keys in eight layers
/// lookups took 4.4 times as long as in one `Blocked` (`bench/benches/scalable.rs`, November 2026), and with
/// 16 to 64 no less.
const LINES: usize = 32;

/// How many keys are on their way at a time where each touches this many lines.
pub(super) fn depth(lines: usize) -> usize {
    (LINES / lines.max(1)).clamp(2, DEPTH)
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
    fn every_key_is_prefetched_some_keys_before_it_is_visited() {
        for depth in [1, 2, 7, DEPTH] {
            for keys in [0, 1, DEPTH - 1, DEPTH, DEPTH + 1, 100] {
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
