//! The two versions of Spark's sketch filter: double hashing of a 32-bit murmur3 of its own.
//!
//! Both hash the key twice, the second time with the first hash for a seed. Version 1 adds in 32
//! bits, so its positions never reach 2^31 and its rate suffers long before; version 2, since Spark
//! 4.1, spreads the first hash over 64 bits and takes a seed.
//!
//! Spark's `long`, and every smaller integer type, which it widens, is the key `i64`; its strings
//! and byte arrays are their bytes. A `long` and its eight little-endian bytes are one key there
//! too.

use super::guava::Sums;
use super::murmur3::{finish32, mix_h};
use crate::Shape;

/// Spark's `hashUnsafeBytes`: murmur3 x86-32, except that each byte after the last whole word is
/// sign-extended and mixed as a word of its own. Of whole words it is murmur3, and so is `hashLong`.
fn hash(key: &[u8], seed: i32) -> i32 {
    let (words, tail) = key.as_chunks::<4>();
    let whole = words.iter().map(|word| u32::from_le_bytes(*word));
    let single = tail.iter().map(|&byte| byte as i8 as u32);
    let mixed = whole.chain(single).fold(seed as u32, mix_h);
    finish32(mixed, key.len()) as i32
}

fn pair(key: &[u8], seed: i32) -> (i32, i32) {
    let first = hash(key, seed);
    (first, hash(key, first))
}

/// The positions of version 1: `a + i·b` in wrapping 32 bits for i = 1..=k, complemented when
/// negative, modulo m: the sums of Guava's older strategy, from other hashes.
pub(super) fn positions1(key: &[u8], shape: Shape) -> Sums<32> {
    let (first, second) = pair(key, 0);
    Sums::new(first.into(), second.into(), shape)
}

/// The positions of version 2: `a·(2^31 - 1) + i·b` in 64 bits for i = 1..=k, complemented when
/// negative, modulo m.
pub(super) fn positions2(key: &[u8], seed: i32, shape: Shape) -> Sums<64> {
    let (first, second) = pair(key, seed);
    Sums::new(i64::from(first) * i64::from(i32::MAX), second.into(), shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::murmur3::hash32;

    #[test]
    fn whole_words_hash_as_murmur3_and_a_tail_does_not() {
        for seed in [0, 1, -7, i32::MAX] {
            assert_eq!(hash(b"", seed), hash32(b"", seed) as i32);
            assert_eq!(hash(b"four", seed), hash32(b"four", seed) as i32);
            assert_ne!(hash(b"a tail", seed), hash32(b"a tail", seed) as i32);
        }
    }
}
