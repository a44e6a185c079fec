//! The speed of light: one random cache line per key, and nothing else.
//!
//! Any filter larger than the caches must bring in at least one line per key, so these times bound
//! every filter of that size from below. Four ways to do it: a plain loop, whose loads overlap as
//! far as the core looks ahead; batches that prefetch their lines first; the same, also writing;
//! and a chain in which each line names the next, where nothing overlaps. The memory lies in huge
//! pages where the system grants them, so address translation is no part of the limit.

use memmap2::{Advice, MmapMut};

use crate::Result;
use crate::data::below;

/// How many lines are prefetched before the first of them is used.
pub const BATCH: usize = 32;

/// An odd multiplier with no pattern: that of Knuth's MMIX generator.
const MULTIPLIER: u64 = 0x5851_F42D_4C95_7F2D;

/// Memory of the size of a filter, and nothing in it.
pub struct Light {
    memory: MmapMut,
}

impl Light {
    /// At least `bits` bits, each page of them touched.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn new(bits: u64) -> Result<Light> {
        let bytes = usize::try_from(bits.div_ceil(512).max(1) * 64)?;
        let mut memory = MmapMut::map_anon(bytes)?;
        // Refused where there are no huge pages; small ones do.
        let _ = memory.advise(Advice::HugePage);
        for (index, byte) in memory.iter_mut().enumerate() {
            *byte = index as u8;
        }
        Ok(Light { memory })
    }

    /// Reads a line per key, in a plain loop.
    #[inline(never)]
    pub fn read(&self, keys: &[u64]) -> u64 {
        let lines = self.lines();
        keys.iter().fold(0, |sum: u64, &key| {
            sum.wrapping_add(first_word(&lines[line_of(key, lines)]))
        })
    }

    /// Reads a line per key, in batches whose lines are prefetched.
    #[inline(never)]
    pub fn read_batch(&self, keys: &[u64]) -> u64 {
        let lines = self.lines();
        let mut sum = 0_u64;
        for batch in keys.as_chunks::<BATCH>().0 {
            // Loops, because `batch.map` is left a call of its own and takes twice as long.
            let mut near = [&lines[0]; BATCH];
            for (line, &key) in near.iter_mut().zip(batch) {
                *line = &lines[line_of(key, lines)];
                prefetch(line);
            }
            for line in near {
                sum = sum.wrapping_add(first_word(line));
            }
        }
        sum
    }

    /// Sets a bit in a line per key, in batches whose lines are prefetched.
    #[inline(never)]
    pub fn write_batch(&mut self, keys: &[u64]) -> u64 {
        let (lines, _) = self.memory.as_chunks_mut::<64>();
        for batch in keys.as_chunks::<BATCH>().0 {
            let mut places = [0; BATCH];
            for (place, &key) in places.iter_mut().zip(batch) {
                *place = line_of(key, lines);
                prefetch(&lines[*place]);
            }
            for (place, key) in places.into_iter().zip(batch) {
                let word = first_word(&lines[place]) | 1 << (key % 64);
                lines[place][..8].copy_from_slice(&word.to_le_bytes());
            }
        }
        first_word(&lines[0])
    }

    /// Reads a line per key, where the line just read decides the next.
    #[inline(never)]
    pub fn read_chain(&self, keys: &[u64]) -> u64 {
        let lines = self.lines();
        keys.iter().fold(0, |last, &key| {
            first_word(&lines[line_of(key ^ last, lines)])
        })
    }

    fn lines(&self) -> &[[u8; 64]] {
        self.memory.as_chunks().0
    }
}

/// The least hash that does: one multiplication, one shift, and a reduction.
#[inline]
fn line_of(key: u64, lines: &[[u8; 64]]) -> usize {
    let product = key.wrapping_mul(MULTIPLIER);
    below(product ^ (product >> 32), lines.len() as u64) as usize
}

#[inline]
fn first_word(line: &[u8; 64]) -> u64 {
    u64::from_le_bytes(*line.first_chunk().expect("a line has 64 bytes"))
}

/// Asks for a line before it is needed. Does nothing on CPUs whose intrinsic is not stable.
#[inline]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
fn prefetch(line: &[u8; 64]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of SSE, which every x86-64 CPU has; it reads nothing into the
    // program and never faults, and the address is a live reference besides.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::members;

    #[test]
    fn batches_read_what_the_plain_loop_reads() {
        let light = Light::new(1_000_000).expect("small");
        let keys: Vec<u64> = members(0..10 * BATCH as u64).collect();
        assert_eq!(light.read_batch(&keys), light.read(&keys));
    }

    #[test]
    fn keys_spread_over_all_lines() {
        let lines = [[0; 64]; 100];
        let mut hits = [0; 100];
        members(0..100_000).for_each(|key| hits[line_of(key, &lines)] += 1);
        // 1000 expected per line, standard deviation 31.5; six of them.
        assert!(hits.iter().all(|hits| (811..1189).contains(hits)));
    }

    #[test]
    fn writing_sets_bits() {
        let mut light = Light::new(512).expect("small");
        let before = light.lines()[0];

        let after = light.write_batch(&[3; BATCH]);

        assert_eq!(after, first_word(&before) | 1 << 3);
    }
}
