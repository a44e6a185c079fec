//! From hashes to slots: elimination along a band.
//!
//! A key's equation has coefficients for 128 slots in a row, so Gauss's elimination never leaves a band:
//! an equation goes to its first slot, or, if one is there already, what is left of both moves to the next
//! slot that it has. The slots are then solved from the last to the first, all columns together. Where
//! nothing is left of an equation but a wrong fingerprint, which is one time in ten, the shard is begun
//! again with hashes mixed for the next attempt.

use alloc::vec::Vec;

use super::super::hashes::zeros;
use super::shape::{RibbonShape, WIDTH};
use super::sums::{Equation, Shard, Sums};
use crate::bits::{Bitmap, Bits as _};
use crate::{Error, Result};

/// How often a shard is tried: nine of ten attempts succeed.
pub(super) const ATTEMPTS: u32 = 32;

/// The table and the solution of a filter of these hashes, which ascend and are distinct.
///
/// # Errors
///
/// When there is no memory for it, or no attempt succeeds: for keys that are not chosen to that end the
/// chance is below 10^-25.
pub(super) fn build(hashes: &[u64], shape: RibbonShape) -> Result<(Bitmap, Bitmap, Sums)> {
    let mut table = Bitmap::new(shape.table_bits())?;
    let mut solution = Bitmap::new(shape.solution_bits())?;
    let mut sums = Sums::new(shape, 0);
    let mut band = Band::default();
    let (mut before, mut rest) = (0, hashes);
    for index in 0..shape.shards() {
        let keys;
        (keys, rest) = rest.split_at(rest.partition_point(|&hash| sums.shard_of(hash) <= index));
        let first = share(shape.slots(), before, hashes);
        before += keys.len();
        let slots = share(shape.slots(), before, hashes) - first;
        let shard =
            band.solve_shard(keys, first, slots, &mut solution, shape.fingerprint_bits())?;
        match shape.shards() {
            1 => sums = Sums::new(shape, shard.attempt),
            _ => table.set_word(index, shard.word()),
        }
    }
    Ok((table, solution, sums))
}

/// The slots of the first `keys` keys: each has as many.
fn share(slots: u64, keys: usize, hashes: &[u64]) -> u64 {
    let product = u128::from(slots) * keys as u128;
    let share = product.checked_div(hashes.len() as u128);
    share.unwrap_or(0) as u64
}

/// The equations of one shard, each at the first slot that it has: 20 bytes per slot.
#[derive(Default)]
struct Band {
    /// The coefficients from this slot on; 0 where there is no equation.
    rows: Vec<u128>,
    fingerprints: Vec<u32>,
}

impl Band {
    /// Solves for the keys of a shard, in the first attempt that succeeds.
    fn solve_shard(
        &mut self,
        keys: &[u64],
        first: u64,
        slots: u64,
        solution: &mut Bitmap,
        fingerprint_bits: u32,
    ) -> Result<Shard> {
        for attempt in 0..ATTEMPTS {
            let shard = Shard {
                first,
                slots,
                attempt,
            };
            if self.eliminate(keys, shard, fingerprint_bits)? {
                self.solve(first, solution, fingerprint_bits);
                return Ok(shard);
            }
        }
        Err(Error::Unbuilt { attempts: ATTEMPTS })
    }

    /// Gives every key's equation a slot; false when some cannot be fulfilled together.
    fn eliminate(&mut self, keys: &[u64], shard: Shard, fingerprint_bits: u32) -> Result<bool> {
        self.clear(shard.slots)?;
        for &hash in keys {
            let equation = shard.equation(hash, fingerprint_bits);
            if !equation.is_some_and(|equation| self.take(equation)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// An equation for none of the slots of a shard.
    fn clear(&mut self, slots: u64) -> Result<()> {
        let no_memory = || Error::Memory {
            bits: slots.saturating_mul(20 * 8),
        };
        let count = u32::try_from(slots).map_err(|_| no_memory())?;
        if self.rows.capacity() < count as usize {
            // A little above, for the shards to come.
            let more = count.saturating_add(count / 8);
            self.rows = zeros(more).ok_or_else(no_memory)?;
            self.fingerprints = zeros(more).ok_or_else(no_memory)?;
        }
        self.rows.clear();
        self.rows.resize(count as usize, 0);
        self.fingerprints.clear();
        self.fingerprints.resize(count as usize, 0);
        Ok(())
    }

    /// Adds an equation; false when it contradicts those that are there.
    #[inline]
    fn take(&mut self, equation: Equation) -> bool {
        let Equation {
            slot,
            mut row,
            mut fingerprint,
        } = equation;
        let mut slot = slot as usize;
        while self.rows[slot] != 0 {
            row ^= self.rows[slot];
            fingerprint ^= self.fingerprints[slot];
            if row == 0 {
                // It says what the others say, or nothing can.
                return fingerprint == 0;
            }
            let skipped = row.trailing_zeros();
            row >>= skipped;
            slot += skipped as usize;
        }
        self.rows[slot] = row;
        self.fingerprints[slot] = fingerprint;
        true
    }

    /// Solves the equations from the last slot to the first, which is `first` among all shards; slots
    /// without one are 0.
    fn solve(&self, first: u64, solution: &mut Bitmap, fingerprint_bits: u32) {
        // Of each column, the 128 slots from here on. Past the shard they are 0, and belong to others.
        let mut columns = [0_u128; RibbonShape::MAX_FINGERPRINT as usize];
        let columns = &mut columns[..fingerprint_bits as usize];
        let equations = self.rows.iter().zip(&self.fingerprints);
        for (index, (row, fingerprint)) in equations.enumerate().rev() {
            let slot = first + index as u64;
            let later = row >> 1;
            for (bit, column) in columns.iter_mut().enumerate() {
                let sum = (*column & later).count_ones() ^ fingerprint >> bit;
                *column = *column << 1 | u128::from(sum & 1);
            }
            if slot == first || slot.is_multiple_of(WIDTH) {
                store(columns, slot, solution);
            }
        }
    }
}

/// Adds what belongs to the block of this slot.
fn store(columns: &[u128], slot: u64, solution: &mut Bitmap) {
    let block = slot / WIDTH * columns.len() as u64;
    for (index, column) in (block..).zip(columns) {
        let column = column << (slot % WIDTH);
        for (word, bits) in [
            (2 * index, column as u64),
            (2 * index + 1, (column >> 64) as u64),
        ] {
            solution.set_word(word, solution.word(word) | bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digester;
    use crate::filter::kernel::Plain;

    /// The hashes of one of many sets of keys.
    fn hashes(set: u64, count: usize) -> Vec<u64> {
        let hash = |number: u64| {
            let digester = Digester::Rapidhash { seed: set };
            digester.digest(&number.to_le_bytes()).hi
        };
        let mut hashes: Vec<u64> = (0..count as u64).map(hash).collect();
        hashes.sort_unstable();
        hashes
    }

    /// The share of sets of keys in one shard, with this many slots for each, that the first attempt solves.
    /// There is no fingerprint, so every equation that depends on others is a contradiction.
    fn solved(keys: usize, slots_per_key: f64, sets: u64) -> f64 {
        let shard = Shard {
            first: 0,
            slots: (keys as f64 * slots_per_key) as u64,
            attempt: 0,
        };
        let mut band = Band::default();
        let solved = (0..sets).filter(|&set| {
            band.clear(shard.slots).expect("small");
            hashes(set, keys).into_iter().all(|hash| {
                let mut equation = shard.equation(hash, 1).expect("slots");
                // Distinct, as far as one set goes: they add up to 0 with a chance of 2^-32.
                equation.fingerprint = (hash >> 32) as u32;
                band.take(equation)
            })
        });
        solved.count() as f64 / sets as f64
    }

    /// The shares of sets that a single shard of rows of 128 solves, by keys and slots above them: those of
    /// 4000 simulated sets of random numbers (600 of 100 000 keys), within 4 standard deviations of both.
    #[test]
    fn as_many_sets_are_solved_as_of_random_rows() {
        for (keys, above, expected, sets) in [
            (1000, 0.02, 0.924, 4000),
            (1000, 0.03, 0.990, 4000),
            (1000, 0.05, 1.0, 4000),
            (10_000, 0.02, 0.890, 400),
            (10_000, 0.03, 0.982, 400),
            (10_000, 0.05, 0.999, 400),
            (100_000, 0.02, 0.467, 60),
            (100_000, 0.03, 0.860, 60),
            (100_000, 0.05, 0.998, 60),
        ] {
            let measured = solved(keys, 1.0 + above, sets);
            std::println!(
                "{keys} keys, {above}: {measured:.3} of {sets} sets, expected {expected}"
            );
            let variance = (expected * (1.0_f64 - expected)).max(0.01);
            let tolerance = 4.4 * (variance / sets as f64).sqrt();
            assert!(
                (measured - expected).abs() <= tolerance,
                "{keys} {above}: {measured}"
            );
        }
    }

    #[test]
    fn nine_of_ten_shards_are_solved_at_first() {
        let (mut shards, mut first) = (0, 0);
        for (keys, sets) in [
            (200, 300),
            (1000, 300),
            (3000, 100),
            (8192, 100),
            (20_000, 30),
            (100_000, 5),
        ] {
            let shape = RibbonShape::for_keys(keys, 8).expect("small");
            let (mut of_size, mut at_first) = (0, 0);
            for set in 0..sets {
                let (table, _, sums) = build(&hashes(set, keys as usize), shape).expect("built");
                of_size += shape.shards();
                at_first += match shape.shards() {
                    1 => u64::from(sums.attempt() == 0),
                    shards => (0..shards)
                        .filter(|&index| table.word(index) >> 48 == 0)
                        .count() as u64,
                };
            }
            std::println!("{keys} keys: {at_first} of {of_size} shards at first");
            shards += of_size;
            first += at_first;
        }
        // A standard deviation is 0.01.
        assert!(first as f64 / shards as f64 > 0.87, "{first} of {shards}");
    }

    #[test]
    fn shards_lie_side_by_side_and_hold_their_keys() {
        // Shards of 2^13 keys, and one of a few more.
        for (keys, columns) in [(8193, 7), (40_000, 1), (40_000, 13), (70_000, 32)] {
            let shape = RibbonShape::for_keys(keys, columns).expect("small");
            let hashes = hashes(1, keys as usize);

            let (table, solution, sums) = build(&hashes, shape).expect("built");

            for &hash in &hashes {
                assert!(sums.holds(Plain, &solution, sums.find(&table, hash)));
            }
            let starts = (0..shape.shards()).map(|index| table.word(index) << 16 >> 16);
            assert!(starts.is_sorted_by(|one, next| one < next));
        }
    }

    #[test]
    fn later_attempts_solve_shards_too() {
        let shape = RibbonShape::for_keys(900, 8).expect("small");
        let hashes = hashes(3, 900);
        let mut band = Band::default();
        let built = (0..ATTEMPTS).filter(|&attempt| {
            let shard = Shard {
                first: 0,
                slots: 918,
                attempt,
            };
            let mut solution = Bitmap::new(shape.solution_bits()).expect("small");
            let solved = band.eliminate(&hashes, shard, 8).expect("memory");
            band.solve(0, &mut solution, 8);
            let fulfilled = |&hash: &u64| {
                let equation = shard.equation(hash, 8).expect("slots");
                (0..8).all(|column| {
                    let slots = (0..128).filter(|&bit| equation.row >> bit & 1 == 1);
                    let ones = slots.filter(|bit| {
                        let slot = equation.slot + bit;
                        solution.get((slot / 128 * 8 + column) * 128 + slot % 128)
                    });
                    ones.count() as u32 % 2 == equation.fingerprint >> column & 1
                })
            };
            assert!(!solved || hashes.iter().all(fulfilled));
            solved
        });
        // 30 are expected, with a standard deviation of 1.5.
        assert!(built.count() > 20);
    }

    #[test]
    fn keys_that_no_attempt_solves_are_an_error() {
        // More than there are slots for.
        let shape = RibbonShape::for_keys(100, 8).expect("small");
        let refused = build(&hashes(0, 300), shape);
        assert!(matches!(
            refused,
            Err(Error::Unbuilt { attempts: ATTEMPTS })
        ));

        // A shard of a single key, with a slot of its own instead of 128.
        let shape = RibbonShape::for_keys(9000, 8).expect("small");
        let mut crowd: Vec<u64> = hashes(0, 9000).iter().map(|hash| hash / 2).collect();
        crowd.push(u64::MAX);
        assert!(matches!(build(&crowd, shape), Err(Error::Unbuilt { .. })));
    }

    #[test]
    fn hashes_that_come_twice_are_no_contradiction() {
        let shape = RibbonShape::for_keys(2, 8).expect("small");
        let (table, solution, sums) = build(&[5, 5], shape).expect("built");
        assert!(sums.holds(Plain, &solution, sums.find(&table, 5)));
    }
}
