//! The speed of light: one random cache line per key, and nothing else.
//!
//! Any filter larger than the caches must bring in at least one line per key, so these times bound
//! every filter of that size from below. Four ways to do it: a plain loop, whose loads overlap as
//! far as the core looks ahead; a rolling loop, which asks for the line of a key some turns before it
//! reads it; the same, also writing; and a chain in which each line names the next, where nothing
//! overlaps. The memory lies in huge pages where the system grants them, so address translation is
//! no part of the limit.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mayhap::hash::reduce;
use memmap2::{Advice, MmapMut};

use crate::Result;
use crate::data::members;

/// How many turns a line is asked for ahead. Which is best depends on the CPU and on where the memory is, so each is
/// tried where it is used.
const DEPTHS: [usize; 5] = [8, 16, 32, 64, 128];

/// Where to, which decides how many lines can be waited for: out of 124 MB on an AMD EPYC (November 2026), asked for 64
/// turns ahead, a line to the first cache took 8.1 ns and one to the second 4.3.
const CACHES: [Cache; 2] = [Cache::First, Cache::Second];

/// How lines are asked for before they are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ahead {
    depth: usize,
    into: Cache,
}

/// The cache that lines are brought to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cache {
    First,
    Second,
}

/// Memory of the size of a filter, and nothing in it.
pub struct Light {
    memory: MmapMut,
    ahead: Ahead,
}

impl Light {
    /// At least `bits` bits, each page of them touched, and read as far ahead as is fastest here.
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
        let ahead = Ahead {
            depth: DEPTHS[0],
            into: Cache::First,
        };
        let mut light = Light { memory, ahead };
        light.ahead = light.fastest();
        Ok(light)
    }

    /// The way whose best of a few short passes is fastest. Passes follow each other over all keys, so that the lines of
    /// one are not those that the last left in a cache.
    fn fastest(&mut self) -> Ahead {
        let keys: Vec<u64> = members(0..1 << 21).collect();
        let mut passes = keys.chunks(1 << 16).cycle();
        let mut best = (Duration::MAX, self.ahead);
        for _ in 0..8 {
            for (depth, into) in DEPTHS
                .iter()
                .flat_map(|depth| CACHES.map(|into| (*depth, into)))
            {
                self.ahead = Ahead { depth, into };
                let pass = passes.next().unwrap_or_default();
                let start = Instant::now();
                black_box(self.read_ahead(pass));
                best = best.min((start.elapsed(), self.ahead));
            }
        }
        best.1
    }

    /// Reads a line per key, in a plain loop.
    #[inline(never)]
    pub fn read(&self, keys: &[u64]) -> u64 {
        let lines = self.lines();
        keys.iter().fold(0, |sum: u64, &key| {
            sum.wrapping_add(first_word(&lines[line_of(key, lines)]))
        })
    }

    /// Reads a line per key, asked for some turns ahead.
    pub fn read_ahead(&self, keys: &[u64]) -> u64 {
        match self.ahead.into {
            Cache::First => self.read_after(prefetch::<true>, keys),
            Cache::Second => self.read_after(prefetch::<false>, keys),
        }
    }

    #[inline(never)]
    fn read_after(&self, prefetch: impl Fn(&[u8; 64]), keys: &[u64]) -> u64 {
        let lines = self.lines();
        let ahead = &keys[self.ahead.depth.min(keys.len())..];
        let (early, last) = keys.split_at(ahead.len());
        let mut sum = 0_u64;
        let mut read = |key| sum = sum.wrapping_add(first_word(&lines[line_of(key, lines)]));
        for (&key, &later) in early.iter().zip(ahead) {
            prefetch(&lines[line_of(later, lines)]);
            read(key);
        }
        last.iter().for_each(|&key| read(key));
        sum
    }

    /// Sets a bit in a line per key, asked for some turns ahead.
    pub fn write_ahead(&mut self, keys: &[u64]) -> u64 {
        match self.ahead.into {
            Cache::First => self.write_after(prefetch::<true>, keys),
            Cache::Second => self.write_after(prefetch::<false>, keys),
        }
    }

    #[inline(never)]
    fn write_after(&mut self, prefetch: impl Fn(&[u8; 64]), keys: &[u64]) -> u64 {
        let (lines, _) = self.memory.as_chunks_mut::<64>();
        let ahead = &keys[self.ahead.depth.min(keys.len())..];
        let (early, last) = keys.split_at(ahead.len());
        for (&key, &later) in early.iter().zip(ahead) {
            prefetch(&lines[line_of(later, lines)]);
            set_bit(key, lines);
        }
        last.iter().for_each(|&key| set_bit(key, lines));
        first_word(&lines[0])
    }

    /// Reads a line per key, where the line just read decides the next.
    #[inline(never)]
    pub fn read_chain(&self, keys: &[u64]) -> u64 {
        let lines = self.lines();
        keys.iter().fold(0, |last, &key| {
            // The words of the memory have few bits that vary, and `line_of` takes the high ones.
            first_word(&lines[line_of(key ^ last.rotate_right(8), lines)])
        })
    }

    fn lines(&self) -> &[[u8; 64]] {
        self.memory.as_chunks().0
    }
}

/// The line of a key. The keys are uniform, so a reduction is all the hash there need be.
#[inline(always)]
fn line_of(key: u64, lines: &[[u8; 64]]) -> usize {
    reduce(key, lines.len() as u64) as usize
}

#[inline(always)]
fn set_bit(key: u64, lines: &mut [[u8; 64]]) {
    let line = &mut lines[line_of(key, lines)];
    let word = first_word(line) | 1 << (key % 64);
    line[..8].copy_from_slice(&word.to_le_bytes());
}

#[inline]
fn first_word(line: &[u8; 64]) -> u64 {
    u64::from_le_bytes(*line.first_chunk().expect("a line has 64 bytes"))
}

/// Asks for a line before it is needed, in the first cache or in the second. Does nothing on CPUs whose intrinsic is not
/// stable.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
fn prefetch<const FIRST: bool>(line: &[u8; 64]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let address = line.as_ptr().cast();
        if FIRST {
            // SAFETY: the instruction is part of SSE, which every x86-64 CPU has; it reads nothing into the
            // program and never faults, and the address is a live reference besides.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
        } else {
            // SAFETY: as above.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(address) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::members;

    #[test]
    fn reading_ahead_reads_what_the_plain_loop_reads() {
        let light = Light::new(1_000_000).expect("small");
        for count in [0, 1, light.ahead.depth as u64, 1000] {
            let keys: Vec<u64> = members(0..count).collect();
            assert_eq!(light.read_ahead(&keys), light.read(&keys));
        }
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

        let after = light.write_ahead(&[3; 100]);

        assert_eq!(after, first_word(&before) | 1 << 3);
    }
}
