//! The speed of light: one random cache line per key, and nothing else.
//!
//! Any filter larger than the caches must bring in at least one line per key, so these times bound
//! every filter of that size from below. Four ways to do it: a plain loop, whose loads overlap as
//! far as the core looks ahead; a rolling loop, which prefetches the line of a key some turns before it
//! reads it; the same, also writing; and a chain in which each line names the next, where nothing
//! overlaps. The memory is that of a filter's own bits, in huge pages where the system grants them, so address
//! translation is no part of the limit.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use mayhap::hash::{mix, reduce};
use mayhap::{Bitmap, Result, bits::BitsMut as _};

/// The ways to prefetch, each tried where it is used: the fastest depends on the CPU and on where the memory is.
///
/// The cache decides how many lines can be waited for: out of 124 MB on an AMD EPYC (November 2026), prefetched 64 turns
/// ahead, a line to the first cache took 8.1 ns and one to the second 4.3; 96 turns ahead to the second and from there 16
/// turns ahead to the first, 3.2 ns.
const WAYS: [Ahead; 11] = [
    Ahead::First(8),
    Ahead::First(16),
    Ahead::First(32),
    Ahead::First(64),
    Ahead::First(128),
    Ahead::Second(8),
    Ahead::Second(16),
    Ahead::Second(32),
    Ahead::Second(64),
    Ahead::Second(128),
    Ahead::Both { far: 96, near: 16 },
];

/// The caches that lines are brought to before they are needed, and the number of turns before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ahead {
    First(usize),
    Second(usize),
    Both { far: usize, near: usize },
}

/// Memory of the size of a filter, with nothing in it: what one random line per key costs.
///
/// ```
/// use mayhap_lab::Light;
///
/// let light = Light::new(1 << 20)?;
/// let keys = [1 << 63, 1 << 62, 1 << 61];
/// assert_eq!(light.read_ahead(&keys), light.read(&keys));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub struct Light {
    bits: Bitmap,
    lines: u64,
    ahead: Ahead,
}

impl Light {
    /// Allocates at least this many bits, touches each page of them, and finds the fastest way to prefetch them.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn new(bits: u64) -> Result<Light> {
        let lines = bits.div_ceil(512).max(1);
        let mut bits = Bitmap::new(lines * 512)?;
        (0..lines).for_each(|line| bits.line_mut(line)[0] = mix(line));
        let ahead = WAYS[0];
        let mut light = Light { bits, lines, ahead };
        light.ahead = light.fastest();
        Ok(light)
    }

    /// Returns the way whose best of a few short passes is fastest. Passes follow each other over all keys, so that the
    /// lines of one are not those that the last left in a cache.
    fn fastest(&mut self) -> Ahead {
        let keys: Vec<u64> = (0..1 << 21).map(mix).collect();
        let mut passes = keys.chunks(1 << 16).cycle();
        let mut best = (Duration::MAX, self.ahead);
        for _ in 0..6 {
            for ahead in WAYS {
                self.ahead = ahead;
                let pass = passes.next().unwrap_or_default();
                let start = Instant::now();
                black_box(self.read_ahead(pass));
                best = best.min((start.elapsed(), ahead));
            }
        }
        best.1
    }

    /// Reads a line per key, in a plain loop. Keys choose lines by their high bits, so they should be uniform.
    #[inline(never)]
    pub fn read(&self, keys: &[u64]) -> u64 {
        let words = self.bits.as_words();
        keys.iter().fold(0, |sum: u64, &key| {
            sum.wrapping_add(words[word_of(key, self.lines)])
        })
    }

    /// Reads a line per key, prefetched some turns ahead.
    #[inline(never)]
    pub fn read_ahead(&self, keys: &[u64]) -> u64 {
        let words = self.bits.as_words();
        let mut sum = 0_u64;
        self.ahead.roll(words.as_ptr(), self.lines, keys, |key| {
            sum = sum.wrapping_add(words[word_of(key, self.lines)]);
        });
        sum
    }

    /// Sets a bit in a line per key, prefetched some turns ahead.
    #[inline(never)]
    pub fn write_ahead(&mut self, keys: &[u64]) -> u64 {
        let (bits, lines) = (&mut self.bits, self.lines);
        let memory = bits.as_words().as_ptr();
        self.ahead.roll(memory, lines, keys, |key| {
            bits.line_mut(reduce(key, lines))[0] |= 1 << (key % 64);
        });
        self.bits.as_words()[0]
    }

    /// Reads a line per key, where the line just read decides the next.
    #[inline(never)]
    pub fn read_chain(&self, keys: &[u64]) -> u64 {
        let words = self.bits.as_words();
        keys.iter()
            .fold(0, |last, &key| words[word_of(key ^ last, self.lines)])
    }
}

impl Ahead {
    /// Visits the keys in order, after prefetching their lines of this memory.
    #[inline(always)]
    fn roll(self, memory: *const u64, lines: u64, keys: &[u64], visit: impl FnMut(u64)) {
        let first = |key| prefetch::<true>(memory.wrapping_add(word_of(key, lines)));
        let second = |key| prefetch::<false>(memory.wrapping_add(word_of(key, lines)));
        match self {
            Ahead::First(far) => roll(keys, (far, first), (0, |_| ()), visit),
            Ahead::Second(far) => roll(keys, (far, second), (0, |_| ()), visit),
            Ahead::Both { far, near } => roll(keys, (far, second), (near, first), visit),
        }
    }
}

/// Visits the keys in order, each after two steps that see it some turns before.
#[inline(always)]
fn roll(
    keys: &[u64],
    far: (usize, impl Fn(u64)),
    near: (usize, impl Fn(u64)),
    mut visit: impl FnMut(u64),
) {
    let ahead = |index: usize| keys.get(index).copied();
    for (index, &key) in keys.iter().enumerate() {
        ahead(index + far.0).into_iter().for_each(&far.1);
        ahead(index + near.0).into_iter().for_each(&near.1);
        visit(key);
    }
}

/// The first word of a key's line. Keys are uniform, so a reduction is all the hash there need be.
#[inline(always)]
fn word_of(key: u64, lines: u64) -> usize {
    8 * reduce(key, lines) as usize
}

/// Prefetches a line to the first cache or to the second. Does nothing on CPUs whose intrinsic is not stable.
#[inline(always)]
fn prefetch<const FIRST: bool>(address: *const u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        if FIRST {
            // SAFETY: the instruction is part of SSE, which every x86-64 CPU has; it reads nothing into the program and
            // never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
        } else {
            // SAFETY: as above.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_reads_what_the_plain_loop_reads() {
        let mut light = Light::new(1_000_000).expect("small");
        for (ahead, count) in WAYS.into_iter().flat_map(|ahead| {
            let counts = [0, 1, 15, 16, 17, 95, 96, 97, 1000];
            counts.map(|count| (ahead, count))
        }) {
            light.ahead = ahead;
            let keys: Vec<u64> = (0..count).map(mix).collect();
            assert_eq!(light.read_ahead(&keys), light.read(&keys), "{ahead:?}");
        }
    }

    #[test]
    fn keys_spread_over_all_lines_and_writing_sets_a_bit_in_each() {
        let mut hits = [0; 100];
        (0..100_000).for_each(|i| hits[word_of(mix(i), 100) / 8] += 1);
        // 1000 expected per line, standard deviation 31.5; six of them.
        assert!(hits.iter().all(|hits| (811..1189).contains(hits)));

        let mut light = Light::new(512 * 100).expect("small");
        light.bits.clear_all();
        light.write_ahead(&(0..3200).map(mix).collect::<Vec<u64>>());
        let (lines, _) = light.bits.as_words().as_chunks::<8>();
        // A line is missed with a probability of (99/100)^3200, 1e-14.
        assert!(lines.iter().all(|line| line[0] != 0));
    }

    #[test]
    fn a_chain_depends_on_the_line_before() {
        let light = Light::new(1 << 20).expect("small");
        assert_ne!(light.read_chain(&[3, 0]), light.read_chain(&[1 << 63, 0]));
    }
}
