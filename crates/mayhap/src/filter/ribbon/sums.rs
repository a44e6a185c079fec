//! Which slots are a key's, and what they add up to.
//!
//! A key is an equation: of the slots from its first on, those that its row has a one for add up, without
//! carries, to its fingerprint. All three come from its hash, mixed for the attempt that solved its shard.

use super::parity::{Parity, Row};
use super::shape::{RibbonShape, WIDTH};
use crate::bits::Bits;
use crate::filter::{Needed, Place, Places};
use crate::hash::{Digest, reduce};

/// What a key asks of the slots of its shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Equation {
    /// The first of its 128 slots, counted from the start of the shard.
    pub(super) slot: u64,
    /// Which of them count, the lowest bit for the first, which always does.
    pub(super) row: u128,
    pub(super) fingerprint: u32,
}

/// Some of the keys, by their hashes, and the slots that are solved for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shard {
    pub(super) first: u64,
    pub(super) slots: u64,
    pub(super) attempt: u32,
}

/// Where a word of the table has the attempt: after the shard's first slot.
const ATTEMPT_SHIFT: u32 = 48;

impl Shard {
    /// What the table says of the shard.
    pub(super) fn word(self) -> u64 {
        self.first | u64::from(self.attempt) << ATTEMPT_SHIFT
    }

    /// The equation of a key with this hash; `None` in a shard without keys, which has fewer slots than a key
    /// needs.
    #[inline(always)]
    pub(super) fn equation(self, hash: u64, fingerprint_bits: u32) -> Option<Equation> {
        let firsts = self.firsts()?;
        let (row, other) = mixed(hash, self.attempt);
        Some(Equation {
            slot: reduce(other, firsts),
            row: u128::from(row[1]) << 64 | u128::from(row[0]),
            fingerprint: fingerprint(other, fingerprint_bits),
        })
    }

    /// The slots that can be the first of a key; `None` where there are too few for one.
    #[inline(always)]
    fn firsts(self) -> Option<u64> {
        self.slots.checked_sub(WIDTH - 1)
    }
}

/// The row of a key with this hash, in its two words, and the bits that choose the rest. Of those the first slot takes the
/// top ones, as many as a shard's slots have, and the fingerprint the lowest.
#[inline(always)]
fn mixed(hash: u64, attempt: u32) -> ([u64; 2], u64) {
    let (digest, stream) = (Digest::from_u64(hash), 2 * u64::from(attempt));
    let row = digest.remix(stream);
    ([row.lo | 1, row.hi], digest.remix(stream + 1).hi)
}

/// The fingerprint that these bits choose.
#[inline(always)]
fn fingerprint(other: u64, fingerprint_bits: u32) -> u32 {
    other as u32 & (u32::MAX >> (32 - fingerprint_bits))
}

/// Where a key's fingerprint is kept: as sums over two neighbouring blocks of slots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// The first word of the first block.
    word: u64,
    row: Row,
    fingerprint: u32,
}

/// How many keys are found together: as many as two registers of 512 bits have lanes.
pub(super) const GROUP: usize = 16;

/// The hashes of some keys, and the shards they are in.
#[derive(Debug, Default)]
pub(super) struct Group {
    hashes: [u64; GROUP],
    firsts: [u64; GROUP],
    slots: [u64; GROUP],
    attempts: [u32; GROUP],
}

impl Group {
    /// Enters a key, whose place is below [`GROUP`].
    #[inline(always)]
    pub(super) fn enter(&mut self, place: usize, hash: u64, sums: &Sums, table: &impl Bits) {
        let shard = sums.shard(table, hash);
        self.hashes[place] = hash;
        self.firsts[place] = shard.first;
        self.slots[place] = shard.slots;
        self.attempts[place] = shard.attempt;
    }
}

/// How a hash becomes a sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sums {
    shape: RibbonShape,
    /// That of the only shard; 0 where there are several.
    attempt: u32,
}

impl Sums {
    pub(super) fn new(shape: RibbonShape, attempt: u32) -> Sums {
        Sums { shape, attempt }
    }

    #[inline]
    pub(super) fn shape(&self) -> RibbonShape {
        self.shape
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The number of a key's shard. Of two hashes the greater is in the same shard or a later one.
    #[inline]
    pub(super) fn shard_of(&self, hash: u64) -> u64 {
        reduce(hash, self.shape.shards())
    }

    /// The shard of a key with this hash. A table that no build made has shards without slots or with
    /// those of others; there are no slots past the end that could be read.
    #[inline(always)]
    fn shard(&self, table: &impl Bits, hash: u64) -> Shard {
        let shards = self.shape.shards();
        if shards == 1 {
            return Shard {
                first: 0,
                slots: self.shape.slots(),
                attempt: self.attempt,
            };
        }
        let first_of = |word: u64| word & (u64::MAX >> (64 - ATTEMPT_SHIFT));
        let index = self.shard_of(hash);
        let word = table.word(index);
        let end = match index + 1 < shards {
            true => first_of(table.word(index + 1)),
            false => self.shape.slots(),
        };
        Shard {
            first: first_of(word),
            slots: end.saturating_sub(first_of(word)),
            attempt: (word >> ATTEMPT_SHIFT) as u32,
        }
    }

    /// Where a key with this hash is kept.
    #[inline(always)]
    pub(super) fn find(&self, table: &impl Bits, hash: u64) -> Sum {
        let shard = self.shard(table, hash);
        let (row, other) = mixed(hash, shard.attempt);
        self.sum(shard, row, other)
    }

    /// As [`find`](Sums::find) for many keys: their hashes are mixed in the lanes of registers. Calls `found` with each.
    #[inline(always)]
    pub(super) fn find_group(&self, keys: &Group, sums: &mut [Sum; GROUP], found: impl Fn(Sum)) {
        // Arrays of words, so that the compiler sees lanes.
        let (mut lows, mut highs, mut others) = ([0; GROUP], [0; GROUP], [0; GROUP]);
        for key in 0..GROUP {
            ([lows[key], highs[key]], others[key]) = mixed(keys.hashes[key], keys.attempts[key]);
        }
        for key in 0..GROUP {
            let shard = Shard {
                first: keys.firsts[key],
                slots: keys.slots[key],
                attempt: keys.attempts[key],
            };
            sums[key] = self.sum(shard, [lows[key], highs[key]], others[key]);
            found(sums[key]);
        }
    }

    /// Where a key of this shard, row and other bits is kept.
    #[inline(always)]
    fn sum(&self, shard: Shard, row: [u64; 2], other: u64) -> Sum {
        let Some(firsts) = shard.firsts() else {
            // Nothing adds up to a one.
            return Sum {
                fingerprint: 1,
                ..Sum::default()
            };
        };
        let slot = shard.first + reduce(other, firsts);
        Sum {
            word: slot / WIDTH * self.block_words(),
            row: Row {
                words: row,
                shift: slot % WIDTH,
            },
            fingerprint: fingerprint(other, self.shape.fingerprint_bits()),
        }
    }

    /// The slots that count for a key with this hash, what is in them, and its fingerprint.
    pub(super) fn places(&self, table: &impl Bits, solution: &impl Bits, hash: u64) -> Places {
        let sum = self.find(table, hash);
        let columns = self.shape.fingerprint_bits();
        let first_slot = sum.word / self.block_words() * WIDTH;
        let masks = sum.row.masks();
        let counted = (0..2 * WIDTH).filter(|slot| {
            let word = masks[(slot / 64) as usize];
            word >> (slot % 64) & 1 == 1
        });
        let place = |slot: u64| {
            let first_bit = 64 * (sum.word + slot / WIDTH * self.block_words()) + slot % WIDTH;
            let bit = |column: u32| solution.get(first_bit + WIDTH * u64::from(column));
            Place {
                number: first_slot + slot,
                first_bit,
                value: (0..columns)
                    .fold(0, |value, column| value | u64::from(bit(column)) << column),
            }
        };
        Places {
            part: 1,
            layer: None,
            unit: "slot",
            width: columns,
            stride: WIDTH,
            places: counted.map(place).collect(),
            needed: Needed::Sum(u64::from(sum.fingerprint)),
        }
    }

    /// The words of a block: two for each column.
    #[inline]
    fn block_words(&self) -> u64 {
        2 * u64::from(self.shape.fingerprint_bits())
    }

    /// Whether the slots of a sum add up to its fingerprint.
    #[inline(always)]
    pub(super) fn holds(self, parity: impl Parity, solution: &impl Bits, sum: Sum) -> bool {
        let words = 2 * self.block_words() as usize;
        solution.with_words(sum.word, words, |blocks| {
            parity.add_up(blocks, sum.row, sum.fingerprint)
        })
    }

    /// Asks for the lines of a sum.
    #[inline(always)]
    pub(super) fn prefetch(&self, solution: &impl Bits, sum: Sum) {
        solution.prefetch_words(sum.word, 2 * self.block_words());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::kernel::{Chosen, Plain, Task};
    use crate::{Bitmap, Digester};
    use alloc::vec::Vec;

    fn hash(number: u64) -> u64 {
        Digester::default().digest(&number.to_le_bytes()).hi
    }

    /// The equations of 200 000 keys in one shard.
    fn equations(slots: u64, attempt: u32) -> impl Iterator<Item = Equation> {
        let shard = Shard {
            first: 0,
            slots,
            attempt,
        };
        (0..200_000).map(move |number| shard.equation(hash(number), 32).expect("slots"))
    }

    /// The lowest five bits of each.
    fn pair(one: u64, other: u64) -> u64 {
        one % 32 * 32 + other % 32
    }

    /// First slots, ten bits of a row and of a fingerprint, and five of each of any two together, are even:
    /// chi-squared over 1024 cells has mean 1023 and standard deviation 45; six of them. 60 tests, the same
    /// every time.
    #[test]
    fn slots_rows_and_fingerprints_are_even_and_independent() {
        const CELLS: u64 = 1024;
        // As many first slots as cells, times eight.
        let slots = 8 * CELLS + WIDTH - 1;
        type Cell = fn(&Equation) -> u64;
        let cells: [(&str, Cell); 12] = [
            ("slot", |e| e.slot / 8),
            ("slot, lowest", |e| e.slot % CELLS),
            ("row, low", |e| (e.row >> 1) as u64 % CELLS),
            ("row, middle", |e| (e.row >> 59) as u64 % CELLS),
            ("row, high", |e| (e.row >> 118) as u64),
            ("fingerprint, low", |e| u64::from(e.fingerprint) % CELLS),
            ("fingerprint, high", |e| u64::from(e.fingerprint >> 22)),
            ("slot and fingerprint", |e| {
                pair(e.slot, e.fingerprint.into())
            }),
            ("high slot and fingerprint", |e| {
                pair(e.slot / 256, u64::from(e.fingerprint >> 27))
            }),
            ("slot and row", |e| pair(e.slot, (e.row >> 1) as u64)),
            ("row and fingerprint", |e| {
                pair((e.row >> 123) as u64, e.fingerprint.into())
            }),
            ("row and row", |e| {
                pair((e.row >> 1) as u64, (e.row >> 64) as u64)
            }),
        ];
        for attempt in [0, 1, 2, 17, 31] {
            let mut counts = [[0_u32; CELLS as usize]; 12];
            for equation in equations(slots, attempt) {
                for (counts, (_, cell)) in counts.iter_mut().zip(cells) {
                    counts[cell(&equation) as usize] += 1;
                }
            }
            for (counts, (name, _)) in counts.iter().zip(cells) {
                let expected = 200_000.0 / CELLS as f64;
                let off = |&count: &u32| (f64::from(count) - expected).powi(2) / expected;
                let chi: f64 = counts.iter().map(off).sum();
                assert!((753.0..=1293.0).contains(&chi), "{name}, {attempt}: {chi}");
            }
        }
    }

    /// Every bit of a row, of the fingerprint and the lowest of the slot agrees with every other one for
    /// half of the keys: 200 000 fair coins have a standard deviation of 224; six of them, for 12 561 pairs.
    #[test]
    fn no_two_bits_of_an_equation_are_correlated() {
        let bits_of = |e: Equation| {
            let others = u64::from(e.fingerprint) | (e.slot % 2) << 32;
            ((e.row >> 1), others)
        };
        let (mut rows, mut others) = ([[0_u32; 160]; 160], [0_u64; 160]);
        let all: Vec<_> = equations(1 << 14, 0).map(bits_of).collect();
        // Transposed, so that 64 keys are compared at a time.
        for keys in all.chunks_exact(64) {
            others.fill(0);
            for (place, &(row, rest)) in keys.iter().enumerate() {
                for (bit, word) in others.iter_mut().enumerate() {
                    let value = match bit {
                        ..127 => (row >> bit) as u64,
                        _ => rest >> (bit - 127),
                    };
                    *word |= (value & 1) << place;
                }
            }
            for (one, counts) in rows.iter_mut().enumerate() {
                for (other, count) in counts.iter_mut().enumerate().take(one) {
                    *count += (others[one] ^ others[other]).count_ones();
                }
            }
        }
        for (one, counts) in rows.iter().enumerate() {
            for (other, &count) in counts.iter().enumerate().take(one) {
                assert!(count.abs_diff(100_000) < 1342, "{one}, {other}: {count}");
            }
        }
    }

    #[test]
    fn another_attempt_is_another_equation() {
        let same = equations(8000, 0)
            .zip(equations(8000, 1))
            .filter(|(one, other)| one.slot == other.slot || one.row == other.row);
        // One in 7873 has the same slot.
        assert!(same.count() < 60);
    }

    /// The definition, slot by slot.
    fn holds_naive(solution: &Bitmap, shard: Shard, columns: u32, hash: u64) -> bool {
        let Some(equation) = shard.equation(hash, columns) else {
            return false;
        };
        (0..columns).all(|column| {
            let counted = (0..128).filter(|&bit| equation.row >> bit & 1 == 1);
            let ones = counted.filter(|bit| {
                let slot = shard.first + equation.slot + bit;
                let block = slot / 128 * u64::from(columns) + u64::from(column);
                solution.get(block * 128 + slot % 128)
            });
            ones.count() as u32 % 2 == equation.fingerprint >> column & 1
        })
    }

    struct Holds<'a>(Sums, &'a Bitmap, Sum);

    impl<S: Parity> Task<S> for Holds<'_> {
        type Output = bool;

        #[inline(always)]
        fn run(self, simd: S) -> bool {
            let Holds(sums, solution, sum) = self;
            sums.holds(simd, solution, sum)
        }
    }

    #[test]
    fn slots_add_up_as_defined_slot_by_slot() {
        for columns in 1..=32 {
            let shape = RibbonShape::for_keys(20_000, columns).expect("small");
            let sums = Sums::new(shape, 0);
            let mut table = Bitmap::new(shape.table_bits()).expect("small");
            let starts = [0, 7000, 14_123, shape.slots()];
            let shards = [0, 1, 2].map(|index| Shard {
                first: starts[index],
                slots: starts[index + 1] - starts[index],
                attempt: index as u32,
            });
            for (index, shard) in (0..).zip(shards) {
                crate::bits::BitsMut::set_word(&mut table, index, shard.word());
            }
            let mut solution = Bitmap::new(shape.solution_bits()).expect("small");
            for word in 0..shape.solution_bits() / 64 {
                // Half of the blocks are empty, so that some long fingerprints are right.
                let filled = word / sums.block_words() % 4 < 2;
                crate::bits::BitsMut::set_word(&mut solution, word, hash(word) * u64::from(filled));
            }
            for hash in (0..2000).map(hash) {
                let shard = shards[sums.shard_of(hash) as usize];
                assert_eq!(sums.shard(&table, hash), shard);
                let sum = sums.find(&table, hash);
                let expected = holds_naive(&solution, shard, columns, hash);
                for kernel in Chosen::all() {
                    let got = kernel.run(Holds(sums, &solution, sum));
                    assert_eq!(got, expected, "{columns} columns, {kernel:?}");
                }
            }
        }
    }

    #[test]
    fn a_table_that_no_build_made_finds_nothing_where_there_are_no_slots() {
        let shape = RibbonShape::for_keys(100_000, 8).expect("small");
        let sums = Sums::new(shape, 0);
        let solution = Bitmap::new(shape.solution_bits()).expect("small");
        let words = shape.table_bits() / 64;
        for word in [0, u64::MAX, 1 << 47, u64::MAX >> 16] {
            let mut table = Bitmap::new(shape.table_bits()).expect("small");
            for index in 0..words {
                crate::bits::BitsMut::set_word(&mut table, index, word);
            }
            let found = (0..1000).map(hash).filter(|&hash| {
                let sum = sums.find(&table, hash);
                sums.prefetch(&solution, sum);
                sums.holds(Plain, &solution, sum)
            });
            // Only the last shard has slots, where the first word leaves it any; one in 256 is found.
            assert!(found.count() < 10, "{word:x}");
        }
    }
}
