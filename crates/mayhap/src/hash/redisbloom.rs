//! The filters of RedisBloom: MurmurHash64A twice, then double hashing.
//!
//! The second hash has the first as its seed. All arithmetic is of 64 bits and wraps; a position is the sum modulo m.

use crate::Shape;

/// The multiplier of MurmurHash64A, which is also the first seed.
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;

/// MurmurHash64A, by Austin Appleby: the hash of RedisBloom's filters, of its cuckoo filters with seed 0.
///
/// ```
/// assert_eq!(mayhap::hash::murmur64a(b"hello", 0), 0x1e68_d17c_457b_f117);
/// ```
pub fn murmur64a(key: &[u8], seed: u64) -> u64 {
    let mix = |word: u64| word ^ (word >> 47);
    let mut hash = seed ^ (key.len() as u64).wrapping_mul(MULTIPLIER);
    let mut words = key.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        let word = mix(word.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    let left = words.remainder();
    if !left.is_empty() {
        let mut word = [0; 8];
        word[..left.len()].copy_from_slice(left);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    }
    mix(mix(hash).wrapping_mul(MULTIPLIER))
}

/// The positions of RedisBloom: `a + i*b` modulo m.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    sum: u64,
    step: u64,
    bits: u64,
    left: u32,
}

impl Sums {
    pub(super) fn new(key: &[u8], shape: Shape) -> Sums {
        let sum = murmur64a(key, MULTIPLIER);
        Sums {
            sum,
            step: murmur64a(key, sum),
            bits: shape.bits(),
            left: shape.hashes(),
        }
    }
}

impl Iterator for Sums {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let position = self.sum % self.bits;
        self.sum = self.sum.wrapping_add(self.step);
        Some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn both_hashes_and_the_positions_are_those_of_another_murmur() {
        // By libstdc++, whose `std::_Hash_bytes` is MurmurHash64A where words have 64 bits.
        let shape = Shape::new(9600, 7).expect("valid");
        for (key, first, second, positions) in [
            (
                &b""[..],
                0x1ab1_1ea5_a7b2_c56e,
                0xbbdd_cb5a_b56d_d547,
                [4590, 5685, 764, 5443, 522, 1617, 6296],
            ),
            (
                b"a",
                0x4292_cee2_27b9_150a,
                0x7e9b_5270_31f5_0c11,
                [4874, 7067, 3244, 5437, 1614, 3807, 9584],
            ),
            (
                b"hello",
                0x5ba5_b8a5_9803_e699,
                0xa7d4_51d5_88a0_c2a4,
                [5913, 5949, 2401, 2437, 8489, 8525, 8561],
            ),
            (
                b"eight888",
                0xa9bf_f3f6_4af8_5bba,
                0x7b39_dbd0_5302_e774,
                [6458, 4526, 8610, 6678, 1162, 8830, 3314],
            ),
            (
                b"a key longer than eight bytes",
                0x1389_39ac_8141_64df,
                0x19d4_06e7_1168_daeb,
                [8927, 6090, 3253, 416, 7179, 4342, 1505],
            ),
        ] {
            assert_eq!(murmur64a(key, MULTIPLIER), first);
            assert_eq!(murmur64a(key, first), second);
            assert_eq!(Sums::new(key, shape).collect::<Vec<_>>(), positions);
        }
    }
}
