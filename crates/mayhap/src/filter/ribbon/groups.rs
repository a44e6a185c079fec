//! Lookups of many keys, a group at a time: each step is done for all keys of a group before the next.
//!
//! ```text
//! hash:  the keys of a group
//! find:  where their fingerprints are kept, several keys in a register; prefetch that where the filter is large
//! test:  the group before, whose lines have arrived
//! ```
//!
//! A key takes about a hundred instructions that wait for each other, so a CPU that runs one key after another has hardly
//! two of them in flight.

use super::super::kernel::HashedTask;
use super::RibbonSlots;
use super::parity::Parity;
use super::sums::{GROUP, Group, Sum};
use crate::Key;
use crate::bits::Bits;
use crate::hash::Hash;

/// Looks each of many keys up; answers in their order.
pub(super) struct LookUp<'a, B, I, A> {
    pub(super) slots: &'a RibbonSlots<B>,
    pub(super) is_large: bool,
    pub(super) keys: I,
    pub(super) answer: A,
}

impl<S, B, I, A> HashedTask<S> for LookUp<'_, B, I, A>
where
    S: Parity,
    B: Bits,
    I: IntoIterator<Item: Key>,
    A: FnMut(bool),
{
    #[inline(always)]
    fn run(mut self, simd: S, hash: impl Hash) {
        // By value: what is behind a reference would be read again for every key.
        let (slots, finder) = (self.slots, self.slots.sums);
        let mut keys = self.keys.into_iter();
        let mut group = Group::default();
        let mut sums = [[Sum::default(); GROUP]; 2];
        let (mut turn, mut waiting) = (0, 0);
        loop {
            let mut count = 0;
            for (place, key) in (0..GROUP).zip(&mut keys) {
                let hash = hash.digest(key.key_bytes().as_ref()).hi;
                group.enter(place, hash, &finder, &slots.table);
                count += 1;
            }
            finder.find_group(&group, &mut sums[turn % 2], |sum| {
                if self.is_large {
                    finder.prefetch(&slots.solution, sum);
                }
            });
            turn += 1;
            for sum in &sums[turn % 2][..waiting] {
                (self.answer)(finder.holds(simd, &slots.solution, *sum));
            }
            if count == 0 {
                return;
            }
            waiting = count;
        }
    }
}
