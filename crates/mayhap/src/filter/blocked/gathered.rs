//! Inserts of many keys into shared memory, those of one lock together.
//!
//! ```text
//! gather:  hash up to 2048 keys, and count those of each stripe
//! sort:    by stripe; the keys of one stripe keep their order
//! insert:  stripe by stripe, each under its lock, prefetching lines ahead
//! answer:  in the order of the keys
//! ```
//!
//! A lock costs as much as the rest of an insert, and several times that when another core held it last; sorting costs a
//! third of an insert. Equal keys are in one stripe, and so are inserted in their order. Where most keys before were there
//! already, keys are looked up in their order, without a lock, and only new ones take one.

use alloc::vec;

use super::super::each::Action as _;
use super::super::kernel::HashedTask;
use super::kernel::{Lines, Share, ToDigest};
use super::pattern::Locator;
use crate::bits::{AtomicLines, Bits as _, STRIPES};
use crate::hash::Hash;

/// How many keys are taken together: eight for each lock. With what is kept of them 40 kB.
const MOST: usize = 8 * STRIPES;

/// Fewer keys than this are not worth sorting.
const FEW: usize = STRIPES;

/// How many keys before it is needed a line is prefetched.
const AHEAD: usize = 64;

/// Inserts each of many keys; answers in their order.
pub(super) struct Gathered<'a, I, R> {
    pub(super) bits: &'a AtomicLines,
    pub(super) locator: Locator,
    pub(super) keys: I,
    pub(super) answer: R,
}

impl<S, I, R> HashedTask<S> for Gathered<'_, I, R>
where
    S: Lines,
    I: IntoIterator<Item: ToDigest>,
    R: FnMut(bool),
{
    #[inline(always)]
    fn run(mut self, lanes: S, hash: impl Hash) {
        let (bits, locator) = (self.bits, self.locator);
        let mut keys = self.keys.into_iter();
        let most = keys.size_hint().1.unwrap_or(MOST).clamp(1, MOST);
        let mut found = vec![Found::default(); most];
        let mut order = vec![0; most + AHEAD];
        let mut new = vec![false; most];
        let mut rarely_new = false;
        loop {
            let (mut counts, mut count) = ([0; STRIPES], 0);
            for (found, key) in found.iter_mut().zip(&mut keys) {
                let digest = key.digest(hash);
                found.line = locator.line(digest);
                found.word = digest.lo;
                counts[bits.stripe(found.line) % STRIPES] += 1;
                count += 1;
            }
            if count == 0 {
                return;
            }
            let (found, new) = (&found[..count], &mut new[..count]);
            if count < FEW || rarely_new {
                let prefetch = |found: &Found| bits.prefetch_line(found.line);
                found.iter().take(AHEAD).for_each(prefetch);
                for (index, new) in new.iter_mut().enumerate() {
                    found.get(index + AHEAD).into_iter().for_each(prefetch);
                    let Found { line, word } = found[index];
                    *new = Share(bits).act(lanes, line, locator.pattern(word));
                }
            } else {
                let mut order = &mut order[..count + AHEAD];
                let first = sort(bits, found, counts, order);
                for turn in 0..STRIPES {
                    let stripe = (first + turn) % STRIPES;
                    let count = usize::from(counts[stripe]);
                    if count == 0 {
                        continue;
                    }
                    let mut locked = bits.lock(stripe);
                    bits.prefetch_lock((stripe + 1) % STRIPES);
                    for window in order[..count + AHEAD].windows(AHEAD + 1) {
                        bits.prefetch_line(found[usize::from(window[AHEAD])].line);
                        let index = usize::from(window[0]);
                        let Found { line, word } = found[index];
                        new[index] = lanes.merge_shared(&locked.line(line), locator.pattern(word));
                    }
                    order = &mut order[count..];
                }
            }
            rarely_new = new.iter().filter(|new| **new).count() < count / 4;
            new.iter().copied().for_each(&mut self.answer);
        }
    }
}

/// What is kept of a key: its line, and the first word of its pattern.
#[derive(Clone, Copy, Default)]
struct Found {
    line: u64,
    word: u64,
}

/// Fills `order` with the indices of what was found, by stripe, and prefetches the first lines.
///
/// Returns the stripe that comes first, from which they go up and around: that of the first key, so that threads do not
/// follow one another from lock to lock.
#[inline(always)]
fn sort(bits: &AtomicLines, found: &[Found], counts: [u16; STRIPES], order: &mut [u16]) -> usize {
    let first = bits.stripe(found[0].line);
    let mut slots = [0; STRIPES];
    let mut sum = 0;
    for turn in 0..STRIPES {
        let stripe = (first + turn) % STRIPES;
        slots[stripe] = sum;
        sum += counts[stripe];
    }
    for (index, found) in (0..).zip(found) {
        let slot = &mut slots[bits.stripe(found.line) % STRIPES];
        order[usize::from(*slot)] = index;
        *slot += 1;
    }
    // What comes after the last: any index will do.
    order[found.len()..].fill(0);
    for index in &order[..AHEAD] {
        bits.prefetch_line(found[usize::from(*index)].line);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter as _;
    use crate::hash::Digester;
    use crate::kinds::{AtomicBlocked, Blocked, BlockedShape};
    use alloc::vec;

    /// Each key comes twice, so the second must be found where the first was inserted in the same batch.
    #[test]
    fn batches_of_every_length_answer_as_inserts_one_by_one() {
        let lengths = [0, 1, AHEAD, FEW - 1, FEW, FEW + 1, MOST - 1, MOST];
        let lengths = lengths
            .into_iter()
            .chain([MOST + 1, MOST + FEW, 3 * MOST + 77]);
        for (length, lines) in lengths.zip([1, 2, 300, 255, 256, 257, 1000].into_iter().cycle()) {
            let shape = BlockedShape::new(lines, 7).expect("valid");
            let mut alone = Blocked::new(shape, Digester::default()).expect("small");
            let shared = AtomicBlocked::from(alone.clone());
            let keys = (0..length).map(|key| (key * 3 % length.div_ceil(2)) as u64);
            let keys: Vec<u64> = keys.collect();
            let expected: Vec<bool> = keys.iter().map(|key| alone.insert(key)).collect();

            let mut new = vec![true; length];
            shared.insert_batch(&keys, &mut new);

            assert_eq!(new, expected, "{length} keys in {lines} lines");
            shared.insert_batch(&keys, &mut new);
            assert!(new.iter().all(|new| !new), "{length} keys are there");
            assert!(shared.contains_all(&keys));
            assert!(
                Blocked::from(shared) == alone,
                "{length} keys in {lines} lines"
            );
        }
    }

    #[test]
    fn keys_of_unknown_number_are_all_inserted() {
        let shape = BlockedShape::new(5000, 7).expect("valid");
        let shared = AtomicBlocked::from(Blocked::new(shape, Digester::default()).expect("small"));
        let mut answers = 0;
        shared.insert_each((0..10_000_u32).filter(|key| key % 3 > 0), |_| answers += 1);
        assert_eq!(answers, 6666);
        assert!(shared.contains_all((0..10_000_u32).filter(|key| key % 3 > 0)));
    }
}
