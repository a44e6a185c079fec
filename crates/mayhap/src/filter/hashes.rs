//! The keys of a static filter, as it is built of them: their hashes, sorted.
//!
//! Memory is asked for, never taken for granted: a set may be as large as the machine.

use alloc::vec::Vec;

use super::Promise;
use crate::hash::{Digest, Digester};
use crate::shape::hash_rate;
use crate::{Error, Key, Result};

/// The digests of the keys, in order.
pub(super) fn digests<K: Key>(
    digester: &Digester,
    keys: impl IntoIterator<Item = K>,
) -> impl Iterator<Item = Digest> {
    let digest = move |key: K| digester.digest(key.key_bytes().as_ref());
    keys.into_iter().map(digest)
}

/// The distinct high halves of the digests, ascending. Two keys that share theirs are one key to a
/// filter, so nothing is lost.
pub(super) fn distinct_hashes(digests: impl IntoIterator<Item = Digest>) -> Result<Vec<u64>> {
    let digests = digests.into_iter();
    let mut hashes = Vec::new();
    let reserve = |hashes: &mut Vec<u64>, more: usize| {
        let bits = (hashes.len().saturating_add(more) as u64).saturating_mul(64);
        let reserved = hashes.try_reserve_exact(more);
        reserved.map_err(|_| Error::Memory { bits })
    };
    reserve(&mut hashes, digests.size_hint().0)?;
    for digest in digests {
        if hashes.len() == hashes.capacity() {
            let more = hashes.len() / 2 + 64;
            reserve(&mut hashes, more)?;
        }
        hashes.push(digest.hi);
    }
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

/// Allocates this many zeros, if there is memory for them.
pub(super) fn zeros<T: Clone + Default>(count: u32) -> Option<Vec<T>> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(count as usize).ok()?;
    numbers.resize(count as usize, T::default());
    Some(numbers)
}

/// The rate of a filter of this many keys by fingerprints of this many bits: the chance that one is right by
/// accident, and that another key has all 64 bits of the hash.
pub(super) fn fingerprint_rate(fingerprint_bits: u32, keys: u64) -> f64 {
    if keys == 0 {
        return 0.0;
    }
    let fingerprint = 1.0 / (1_u64 << fingerprint_bits) as f64;
    (fingerprint + hash_rate(keys)).min(1.0)
}

/// The first of these lengths, each longer than the one before, of a fingerprint that keeps a promise.
pub(super) fn shortest(
    promise: Promise,
    lengths: impl IntoIterator<Item = u32, IntoIter: Clone>,
) -> Result<u32> {
    let lengths = lengths.into_iter();
    let alone = |bits: u32| 1.0 / (1_u64 << bits) as f64;
    promise.size(|_, rate| {
        let kept = lengths.clone().find(|&bits| alone(bits) <= rate);
        kept.ok_or_else(|| Error::LowRate {
            got: rate,
            least: lengths.last().map_or(1.0, alone),
        })
    })
}
