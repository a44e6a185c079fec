//! Whether slots add up to a fingerprint.
//!
//! ```text
//! words:   two blocks one after another; a block has two words for each column, all columns in a row
//! counts:  of a column the words of both blocks, each under its mask, together have an even or an odd number of ones
//! ```
#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", feature = "std"))]
use core::arch::x86_64::*;

use crate::filter::kernel::Plain;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use crate::filter::kernel::{Avx2, Avx512};

/// Which slots of two blocks count for a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// The coefficients of 128 slots in a row.
    pub(super) words: [u64; 2],
    /// The first of those slots, counted from that of the first block: below 128.
    pub(super) shift: u64,
}

impl Row {
    /// What counts of the first block's columns and, in the second half, of the next block's.
    #[inline(always)]
    pub(super) fn masks(self) -> [u64; 4] {
        let ([low, high], shift) = (self.words, self.shift % 64);
        // Two shifts, the second by up to 63: what is shifted by 64 is gone.
        let over = |word: u64| word >> 1 >> (63 - shift);
        let shifted = [low << shift, high << shift | over(low), over(high)];
        match self.shift < 64 {
            true => [shifted[0], shifted[1], shifted[2], 0],
            false => [0, shifted[0], shifted[1], shifted[2]],
        }
    }
}

/// How many columns plain arithmetic adds up between two branches on the answer: fifteen of sixteen fingerprints that
/// differ at all do so in the first four bits, and which is the first cannot be predicted.
const TOGETHER: usize = 4;

/// Adds up by one kind of instructions.
pub(super) trait Parity: Copy {
    /// Whether the slots of two blocks that count add up, column by column, to the bits of the fingerprint, the lowest
    /// first. It has none past the last column.
    #[inline(always)]
    fn add_up(self, blocks: &[[u8; 8]], row: Row, fingerprint: u32) -> bool {
        let (masks, mut expected) = (row.masks(), fingerprint);
        let (here, next) = blocks.split_at(blocks.len() / 2);
        let here = here.as_chunks::<2>().0.chunks(TOGETHER);
        let next = next.as_chunks::<2>().0.chunks(TOGETHER);
        for (here, next) in here.zip(next) {
            let mut differ = 0;
            for (here, next) in here.iter().zip(next) {
                let [here, next] = [here, next].map(|words| words.map(u64::from_le_bytes));
                let low = here[0] & masks[0] ^ next[0] & masks[2];
                let high = here[1] & masks[1] ^ next[1] & masks[3];
                differ |= (low ^ high).count_ones() ^ expected;
                expected >>= 1;
            }
            if differ & 1 == 1 {
                return false;
            }
        }
        true
    }
}

impl Parity for Plain {}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Parity for Avx2 {
    #[inline(always)]
    fn add_up(self, blocks: &[[u8; 8]], row: Row, fingerprint: u32) -> bool {
        // SAFETY: `self` shows that the CPU has AVX2.
        unsafe { add_up_256(blocks, row, fingerprint) }
    }
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Parity for Avx512 {
    #[inline(always)]
    fn add_up(self, blocks: &[[u8; 8]], row: Row, fingerprint: u32) -> bool {
        // SAFETY: `self` shows that the CPU has AVX-512F and VPOPCNTDQ.
        unsafe { add_up_512(blocks, row, fingerprint) }
    }
}

/// Eight columns at a time, without a branch between them: two in each of four registers.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx2")]
fn add_up_256(blocks: &[[u8; 8]], row: Row, fingerprint: u32) -> bool {
    let masks = masks_256(row);
    // The two masks of a block, for each of two columns.
    let of_here = _mm256_permute4x64_epi64::<0b0100_0100>(masks);
    let of_next = _mm256_permute4x64_epi64::<0b1110_1110>(masks);
    let half = blocks.len() / 2;
    // Words of other columns than eight are zero, as are the bits of the fingerprint for them.
    let counted = |first: usize| {
        let left = half.saturating_sub(first).min(4) as i64;
        let there = _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_set_epi64x(3, 2, 1, 0));
        let load = |first: usize| {
            let start = blocks.as_ptr().wrapping_add(first);
            // SAFETY: `there` is set for `left` words, and `first + left` is at most `half`, or `half` more, hence inside
            // `blocks`; other words are not read. The load needs no alignment.
            unsafe { _mm256_maskload_epi64(start.cast(), there) }
        };
        let here = _mm256_and_si256(load(first), of_here);
        let next = _mm256_and_si256(load(half + first), of_next);
        _mm256_xor_si256(here, next)
    };
    // The two words of a column become one: columns 0, 2, 1 and 3 of four.
    let columns = |first: usize| {
        let (low, high) = (counted(first), counted(first + 4));
        let evens = _mm256_unpacklo_epi64(low, high);
        _mm256_xor_si256(evens, _mm256_unpackhi_epi64(low, high))
    };
    let add_up = |first: usize, fingerprint: u32| {
        let (low, high) = (columns(first), columns(first + 8));
        // The halves of a word become one: columns 0, 4, 2, 6, 1, 5, 3 and 7 in as many lanes.
        let low = _mm256_xor_si256(low, _mm256_srli_epi64::<32>(low));
        let high = _mm256_xor_si256(high, _mm256_slli_epi64::<32>(high));
        let mut sums = _mm256_blend_epi32::<0b1010_1010>(low, high);
        // What a lane adds up to is then its highest bit.
        sums = _mm256_xor_si256(sums, _mm256_slli_epi32::<16>(sums));
        sums = _mm256_xor_si256(sums, _mm256_slli_epi32::<8>(sums));
        sums = _mm256_xor_si256(sums, _mm256_slli_epi32::<4>(sums));
        sums = _mm256_xor_si256(sums, _mm256_slli_epi32::<2>(sums));
        sums = _mm256_xor_si256(sums, _mm256_slli_epi32::<1>(sums));
        let order = _mm256_set_epi32(24, 28, 26, 30, 25, 29, 27, 31);
        let expected = _mm256_sllv_epi32(_mm256_set1_epi32(fingerprint.cast_signed()), order);
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_xor_si256(sums, expected))) == 0
    };
    let groups = (16..half).step_by(16).zip(1..);
    add_up(0, fingerprint) && { groups }
        .all(|(first, group)| add_up(first, fingerprint >> (8 * group)))
}

/// Eight columns at a time, without a branch between them.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vpopcntdq")]
fn add_up_512(blocks: &[[u8; 8]], row: Row, fingerprint: u32) -> bool {
    let masks = masks_256(row);
    // The two masks of a block, for each of four columns.
    let of_here = _mm512_broadcast_i32x4(_mm256_castsi256_si128(masks));
    let of_next = _mm512_broadcast_i32x4(_mm256_extracti128_si256::<1>(masks));
    let half = blocks.len() / 2;
    // Words of other columns than eight are zero, as are the bits of the fingerprint for them.
    let counted = |first: usize| {
        let left = half.saturating_sub(first).min(8);
        let there = ((1_u32 << left) - 1) as __mmask8;
        let load = |first: usize| {
            let start = blocks.as_ptr().wrapping_add(first);
            // SAFETY: `there` has a bit for each of `left` words, and `first + left` is at most `half`, or `half` more,
            // hence inside `blocks`; other words are not read. The load needs no alignment.
            unsafe { _mm512_maskz_loadu_epi64(there, start.cast()) }
        };
        let (here, next) = (load(first), load(half + first));
        // `here` and the other two by exclusive or, in one instruction.
        _mm512_ternarylogic_epi64::<0x78>(_mm512_and_si512(here, of_here), next, of_next)
    };
    let add_up = |first: usize, fingerprint: u32| {
        let (low, high) = (counted(first), counted(first + 8));
        // The two words of a column become one: columns 0, 4, 1, 5, 2, 6, 3 and 7.
        let columns = _mm512_xor_si512(
            _mm512_unpacklo_epi64(low, high),
            _mm512_unpackhi_epi64(low, high),
        );
        let order = _mm512_set_epi64(1 << 7, 1 << 3, 1 << 6, 1 << 2, 1 << 5, 1 << 1, 1 << 4, 1);
        let expected = _mm512_test_epi64_mask(_mm512_set1_epi64(fingerprint.into()), order);
        let odd = _mm512_test_epi64_mask(_mm512_popcnt_epi64(columns), _mm512_set1_epi64(1));
        odd == expected
    };
    // The first by itself: which words are there is then the same for all keys, and worked out before a loop over them.
    let groups = (16..half).step_by(16).zip(1..);
    add_up(0, fingerprint) && { groups }
        .all(|(first, group)| add_up(first, fingerprint >> (8 * group)))
}

/// [`Row::masks`] in one register: each lane takes what shifts of both words bring there. A shift by 64 or more, or by a
/// negative number, brings nothing.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx2")]
fn masks_256(row: Row) -> __m256i {
    let [low, high] = row.words.map(|word| _mm256_set1_epi64x(word.cast_signed()));
    let shift = _mm256_set1_epi64x(row.shift.cast_signed());
    let of_low = _mm256_sub_epi64(shift, _mm256_set_epi64x(192, 128, 64, 0));
    let of_high = _mm256_sub_epi64(shift, _mm256_set_epi64x(128, 64, 0, -64));
    let brought = |word, left| {
        let right = _mm256_sub_epi64(_mm256_setzero_si256(), left);
        _mm256_or_si256(
            _mm256_sllv_epi64(word, left),
            _mm256_srlv_epi64(word, right),
        )
    };
    _mm256_or_si256(brought(low, of_low), brought(high, of_high))
}

#[cfg(test)]
mod tests {
    use super::{Parity, Row};
    use crate::filter::kernel::{Chosen, Task};
    use alloc::vec::Vec;

    struct AddUp<'a>(&'a [[u8; 8]], Row, u32);

    impl<S: Parity> Task<S> for AddUp<'_> {
        type Output = bool;

        #[inline(always)]
        fn run(self, simd: S) -> bool {
            let AddUp(blocks, row, fingerprint) = self;
            simd.add_up(blocks, row, fingerprint)
        }
    }

    #[test]
    fn masks_are_the_row_moved_by_its_shift() {
        let words = [0x8123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3211];
        let bit = |bit: u64| words[bit as usize / 64] >> (bit % 64) & 1;
        for shift in 0..128 {
            let masks = Row { words, shift }.masks();
            for place in 0..256 {
                let expected = match place >= shift && place - shift < 128 {
                    true => bit(place - shift),
                    false => 0,
                };
                let got = masks[place as usize / 64] >> (place % 64) & 1;
                assert_eq!(got, expected, "{place} of {shift}");
            }
        }
    }

    #[test]
    fn every_kernel_adds_up_as_defined_and_sees_every_bit_that_differs() {
        let word = |number: usize| crate::hash::Digest::from_u64(number as u64).remix(1).hi;
        for columns in 1..=32 {
            for round in 0..if cfg!(miri) { 1 } else { 20 } {
                let number = 1000 * columns + 200_000 * round;
                let blocks: Vec<u64> = (number..).take(4 * columns).map(word).collect();
                let row = Row {
                    words: [200, 201].map(|more| word(number + more)),
                    shift: word(number + 202) % 128,
                };
                let masks = row.masks();
                let sum = |column: usize| {
                    let pair = |block: usize| {
                        let first = 2 * (column + block * columns);
                        let counted = |half| blocks[first + half] & masks[2 * block + half];
                        counted(0).count_ones() + counted(1).count_ones()
                    };
                    (pair(0) + pair(1)) % 2
                };
                let fingerprint = (0..columns).fold(0, |all, column| all | sum(column) << column);
                let bytes: Vec<_> = blocks.iter().map(|word| word.to_le_bytes()).collect();
                for kernel in Chosen::all() {
                    let add_up = |fingerprint| kernel.run(AddUp(&bytes, row, fingerprint));
                    assert!(add_up(fingerprint), "{kernel:?}, {columns} columns");
                    for bit in 0..columns {
                        let other = add_up(fingerprint ^ 1 << bit);
                        assert!(!other, "{kernel:?}, bit {bit} of {columns}");
                    }
                }
            }
        }
    }
}
