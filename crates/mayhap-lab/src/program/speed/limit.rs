//! The limit that no filter of a size can beat: one random cache line per key, and nothing else.
//!
//! Any filter larger than the caches has to load a line per key. The memory is that of a filter's own
//! bits, on huge pages where the system grants them, and lines are prefetched.

use mayhap::hash::mix;
use mayhap::{
    Bitmap,
    bits::{Bits as _, BitsMut as _},
};
use mayhap_program::failure::Result;

/// The number of lines being fetched at a time.
const AHEAD: usize = 64;

/// Memory of the size of a filter, with nothing in it.
pub(super) struct Limit {
    bits: Bitmap,
    lines: u64,
}

impl Limit {
    /// Allocates this many bits, and touches every page of them.
    pub(super) fn new(bits: u64) -> Result<Limit> {
        let lines = bits.div_ceil(512).max(1);
        let mut bits = Bitmap::new(lines * 512)?;
        (0..lines).for_each(|line| bits.line_mut(line)[0] = line);
        Ok(Limit { bits, lines })
    }

    /// Reads one line per key.
    pub(super) fn read(&self, keys: u64, seed: u64) -> u64 {
        let mut sum = 0_u64;
        self.batches(keys, seed, |places| {
            for line in places {
                sum = sum.wrapping_add(self.bits.with_line(*line, |line| line[0]));
            }
        });
        sum
    }

    /// Changes a line for each of this many keys.
    pub(super) fn write(&mut self, keys: u64, seed: u64) -> u64 {
        let mut places = [0; AHEAD];
        for first in (0..keys).step_by(AHEAD) {
            self.find(first, seed, &mut places);
            for line in places {
                self.bits.line_mut(line)[1] |= 1 << (line % 64);
            }
        }
        self.bits.word(0)
    }

    fn batches(&self, keys: u64, seed: u64, mut take: impl FnMut(&[u64; AHEAD])) {
        let mut places = [0; AHEAD];
        for first in (0..keys).step_by(AHEAD) {
            self.find(first, seed, &mut places);
            take(&places);
        }
    }

    /// Prefetches the lines of the next keys: a hash, a reduction, a hint.
    #[inline]
    fn find(&self, first: u64, seed: u64, places: &mut [u64; AHEAD]) {
        for (key, place) in (first..).zip(places) {
            let hash = mix(key.wrapping_add(seed));
            *place = ((u128::from(hash) * u128::from(self.lines)) >> 64) as u64;
            self.bits.prefetch_line(*place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_written_everywhere() {
        let mut limit = Limit::new(512 * 100).expect("small");
        assert_ne!(limit.read(3200, 1), limit.read(3200, 2));
        limit.write(3200, 1);
        let touched = (0..100).filter(|line| limit.bits.line(*line)[1] != 0);
        // A line is missed with a probability of (99/100)^3200, 1e-14.
        assert_eq!(touched.count(), 100);
    }
}
