//! Many keys at once: the line of each is asked for well before it is needed.

use super::pattern::Pattern;
use super::shape::BlockedShape;
use crate::hash::{Digest, reduce};

/// How many lines are on their way at a time. `bench/benches/batch.rs` compares depths: 8 leaves
/// memory idle, 32 and 64 gain nothing over 16 and cost more in cache.
const DEPTH: usize = 16;

/// Where one key's bits are: its line, and what it sets there.
#[inline(always)]
pub(super) fn place(digest: Digest, shape: BlockedShape) -> (u64, Pattern) {
    let pattern = Pattern {
        word: digest.lo,
        hashes: shape.hashes(),
    };
    (reduce(digest.hi, shape.lines()), pattern)
}

/// Calls `visit` with the place of each digest, in order, and `prefetch` with its line some turns
/// earlier. Both are given `state`, which holds what they share.
#[inline(always)]
pub(super) fn roll<S>(
    shape: BlockedShape,
    digests: impl IntoIterator<Item = Digest>,
    state: &mut S,
    prefetch: impl Fn(&S, u64),
    mut visit: impl FnMut(&mut S, u64, Pattern),
) {
    let mut digests = digests.into_iter();
    let nowhere = Pattern { word: 0, hashes: 0 };
    let mut ahead = [(0, nowhere); DEPTH];
    let mut waiting = 0;
    for slot in &mut ahead {
        let Some(digest) = digests.next() else { break };
        *slot = place(digest, shape);
        prefetch(state, slot.0);
        waiting += 1;
    }

    let mut oldest = 0;
    for digest in digests {
        let next = place(digest, shape);
        prefetch(state, next.0);
        let (line, pattern) = core::mem::replace(&mut ahead[oldest], next);
        oldest = (oldest + 1) % DEPTH;
        visit(state, line, pattern);
    }
    // When there were fewer keys than slots, `oldest` is still 0.
    for turn in 0..waiting {
        let (line, pattern) = ahead[(oldest + turn) % DEPTH];
        visit(state, line, pattern);
    }
}
