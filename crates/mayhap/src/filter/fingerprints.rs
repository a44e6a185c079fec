//! A set of 64-bit hashes that grows: the exact answer, but for hashes that collide.
//!
//! Eight hashes lie in one cache line; the top bits of a hash choose its line, and a full line runs over
//! into the next. The set is cut into sixteen segments, and each doubles by itself when seven eighths of it
//! are taken: growing never needs more than the set and a sixteenth of it twice over at a time.
//!
//! Costs 9 to 18 bytes per key, and one cache miss. Of n distinct keys n²/2^65 are expected to be taken for
//! another: 0.0003 of a hundred million.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::roll::{Find, roll};
use crate::bits::{LINE_BITS, Line, Lines, prefetch};
use crate::hash::reduce;
use crate::{Error, Result};

/// The number of segments: a power of two.
const SEGMENTS: usize = 1 << SEGMENT_BITS;
const SEGMENT_BITS: u32 = 4;

/// The hashes in a line.
const SLOTS: usize = 8;

/// The lines that a segment begins with.
const FIRST_LINES: u64 = 8;

/// The hashes of a line, on average, from which on a segment grows: seven eighths.
const MOST_TAKEN: usize = SLOTS / 8 * 7;

/// A growing set of hashes, one per key.
///
/// Bring good 64-bit hashes of the keys. Equal hashes are equal keys here, so nobody should be able to choose keys
/// with equal hashes: those of a [`UniversalHash`](crate::hash::UniversalHash) collide as rarely as stated above, whoever chose
/// the keys.
///
/// ```
/// use mayhap::{sets::Fingerprints, hash::UniversalHash};
///
/// let (mut seen, hash) = (Fingerprints::new(), UniversalHash::random()?);
/// let mut first = |key: &str| seen.insert(hash.hash(key.as_bytes()));
/// assert!(first("/a")? && first("/b")?);
/// assert!(!first("/a")?);
/// assert_eq!(seen.count(), 2);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub struct Fingerprints {
    /// The number of segments that the first bits of its hashes tell apart: a power of two.
    segments: Box<[Segment]>,
    /// The most lines that a segment may have.
    most: u64,
}

/// A table of its own, for the hashes that begin alike.
struct Segment {
    lines: Lines,
    taken: usize,
}

impl Default for Fingerprints {
    fn default() -> Fingerprints {
        Fingerprints::new()
    }
}

impl Fingerprints {
    /// An empty set. It takes no memory for hashes until the first comes.
    pub fn new() -> Fingerprints {
        let segments = (0..SEGMENTS).map(|_| Segment::empty());
        Fingerprints {
            segments: segments.collect(),
            most: u64::MAX,
        }
    }

    /// An empty set that never takes more than this many bytes for hashes, growing included. It holds a hash per 10 bytes
    /// of them, and inserting more fails.
    ///
    /// ```
    /// let mut set = mayhap::sets::Fingerprints::within(1 << 20);
    /// let hashes = (0_u64..).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    /// assert!(set.insert_each(hashes.take(1 << 20), |_| ()).is_err());
    /// assert!(set.bytes() < 1 << 20 && set.count() > (1 << 20) / 10);
    /// ```
    pub fn within(bytes: u64) -> Fingerprints {
        // A segment is there twice while it grows.
        let most = bytes / (LINE_BITS / 8) / (SEGMENTS as u64 + 1);
        Fingerprints {
            most,
            ..Fingerprints::new()
        }
    }

    /// Empty sets that are one together, for several threads: each is for the hashes of which
    /// [`shard_of`](Fingerprints::shard_of) returns its place. All of them take the memory of one.
    ///
    /// ```
    /// use mayhap::sets::Fingerprints;
    ///
    /// let mut shards = Fingerprints::shards(4);
    /// let mut first = |hash: u64| shards[Fingerprints::shard_of(hash, 4)].insert(hash);
    /// assert!(first(7)? && first(7 << 60)?);
    /// assert!(!first(7)? && !first(7 << 60)?);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When their number is not 1, 2, 4, 8 or 16.
    pub fn shards(count: usize) -> Vec<Fingerprints> {
        assert!(
            count.is_power_of_two() && count <= SEGMENTS,
            "a set is cut into 1, 2, 4, 8 or 16 shards, not {count}"
        );
        let segments = || (0..SEGMENTS / count).map(|_| Segment::empty()).collect();
        let shard = |_| Fingerprints {
            segments: segments(),
            most: u64::MAX,
        };
        (0..count).map(shard).collect()
    }

    /// Returns the shard that a hash is for, of this many [shards](Fingerprints::shards).
    #[inline]
    pub fn shard_of(hash: u64, count: usize) -> usize {
        (hash >> (64 - SEGMENT_BITS)) as usize * count / SEGMENTS
    }

    /// Inserts the hash; true when it was not there.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) when the set cannot grow, or may not; it is then unchanged.
    #[inline]
    pub fn insert(&mut self, hash: u64) -> Result<bool> {
        let place = self.finder().find(hash);
        self.segments[place.segment].insert(place, self.most)
    }

    /// Inserts each hash, in order, and calls `answer` with whether it was not there. Many cache lines
    /// are in flight at once.
    ///
    /// # Errors
    ///
    /// As [`insert`](Fingerprints::insert); the hashes answered so far are in, and there may be fewer
    /// answers than hashes.
    pub fn insert_each(
        &mut self,
        hashes: impl IntoIterator<Item = u64>,
        mut answer: impl FnMut(bool),
    ) -> Result<()> {
        let (mut outcome, most) = (Ok(()), self.most);
        roll(
            hashes,
            &self.finder(),
            &mut self.segments,
            |segments, place| segments[place.segment].prefetch(place),
            |segments, place| {
                if outcome.is_ok() {
                    match segments[place.segment].insert(place, most) {
                        Ok(new) => answer(new),
                        Err(error) => outcome = Err(error),
                    }
                }
            },
        );
        outcome
    }

    /// Returns whether the hash is there.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        let place = self.finder().find(hash);
        self.segments[place.segment].contains(place)
    }

    /// Calls `answer` with whether each hash is there, in order.
    pub fn contains_each(
        &self,
        hashes: impl IntoIterator<Item = u64>,
        mut answer: impl FnMut(bool),
    ) {
        roll(
            hashes,
            &self.finder(),
            &mut &*self.segments,
            |segments, place| segments[place.segment].prefetch(place),
            |segments, place| answer(segments[place.segment].contains(place)),
        );
    }

    /// Calls `answer` with the place of each hash, in order: a number below [`places`](Fingerprints::places) that no other
    /// hash has, or none for a hash that is not there. Places hold until a hash is inserted, so what belongs to each hash
    /// can be kept in a `Vec` beside the set.
    ///
    /// ```
    /// let mut set = mayhap::sets::Fingerprints::new();
    /// set.insert_each([7, 8 << 60], |_| ())?;
    /// let mut places = Vec::new();
    /// set.find_each([7, 9, 8 << 60], |place| places.push(place));
    /// assert!(places[0].is_some_and(|place| place < set.places()));
    /// assert!(places[1].is_none() && places[2] != places[0]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn find_each(
        &self,
        hashes: impl IntoIterator<Item = u64>,
        mut answer: impl FnMut(Option<usize>),
    ) {
        // Where the places of each segment begin.
        let mut starts = [0; SEGMENTS];
        let mut start = 0;
        for (place, segment) in starts.iter_mut().zip(&self.segments) {
            *place = start;
            start += segment.lines.len() * SLOTS;
        }
        roll(
            hashes,
            &self.finder(),
            &mut &*self.segments,
            |segments, place| segments[place.segment].prefetch(place),
            |segments, place| {
                let found = segments[place.segment].find(place);
                answer(found.map(|found| starts[place.segment] + found));
            },
        );
    }

    /// The number of places: those of [`find_each`](Fingerprints::find_each) are below it.
    pub fn places(&self) -> usize {
        let places = |segment: &Segment| segment.lines.len() * SLOTS;
        self.segments.iter().map(places).sum()
    }

    fn finder(&self) -> Finder {
        Finder {
            last: self.segments.len() - 1,
        }
    }

    /// The number of hashes.
    pub fn count(&self) -> u64 {
        self.segments.iter().map(|part| part.taken as u64).sum()
    }

    /// The bytes taken for hashes.
    pub fn bytes(&self) -> u64 {
        let lines = |segment: &Segment| segment.lines.len() as u64;
        self.segments.iter().map(lines).sum::<u64>() * LINE_BITS / 8
    }

    /// Calls `visit` with every hash, in no useful order, and gives the memory back as it goes.
    pub fn drain(self, mut visit: impl FnMut(u64)) {
        for segment in self.segments {
            segment.each(&mut visit);
        }
    }
}

/// Returns how many of `keys` distinct keys are expected to be taken for another because their 64-bit hashes are
/// equal: n(n-1)/2^65.
///
/// ```
/// assert!(mayhap::sets::expected_collisions(100_000_000) < 0.001);
/// ```
pub fn expected_collisions(keys: u64) -> f64 {
    let keys = keys as f64;
    keys * (keys - 1.0).max(0.0) / libm::exp2(65.0)
}

impl fmt::Debug for Fingerprints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprints")
            .field("count", &self.count())
            .field("bytes", &self.bytes())
            .finish()
    }
}

/// The place of a hash. Zero marks an empty slot, so the hash zero is taken for one.
#[derive(Clone, Copy, Default)]
struct Place {
    segment: usize,
    hash: u64,
}

/// Finds the segment of a hash.
struct Finder {
    /// The number of the last segment: all ones.
    last: usize,
}

impl Find<u64> for Finder {
    type Found = Place;

    #[inline(always)]
    fn find(&self, hash: u64) -> Place {
        Place {
            // A shard has the segments of hashes that begin alike: it goes by the bits after that.
            segment: (hash >> (64 - SEGMENT_BITS)) as usize & self.last,
            hash: hash.max(1),
        }
    }
}

impl Segment {
    fn empty() -> Segment {
        Segment {
            lines: Lines::zeroed(0).expect("takes no memory"),
            taken: 0,
        }
    }

    /// The line that a hash is looked for from.
    #[inline(always)]
    fn line_of(&self, hash: u64) -> usize {
        reduce(hash << SEGMENT_BITS, self.lines.len() as u64) as usize
    }

    #[inline(always)]
    fn prefetch(&self, place: Place) {
        prefetch(self.lines.as_ptr().wrapping_add(self.line_of(place.hash)));
    }

    #[inline(always)]
    fn contains(&self, place: Place) -> bool {
        self.find(place).is_some()
    }

    /// The number of the slot that a hash is in.
    #[inline(always)]
    fn find(&self, place: Place) -> Option<usize> {
        if self.lines.is_empty() {
            return None;
        }
        let mut at = self.line_of(place.hash);
        loop {
            match search(&self.lines[at], place.hash) {
                Search::Found(slot) => return Some(at * SLOTS + slot),
                Search::Room(_) => return None,
                Search::Full => at = (at + 1) % self.lines.len(),
            }
        }
    }

    #[inline(always)]
    fn insert(&mut self, place: Place, most: u64) -> Result<bool> {
        if self.taken >= self.lines.len() * MOST_TAKEN {
            // A key that is there already needs no room, and must not fail for want of it.
            if self.contains(place) {
                return Ok(false);
            }
            self.grow(most)?;
        }
        let mut at = self.line_of(place.hash);
        loop {
            let line = &mut self.lines[at];
            match search(line, place.hash) {
                Search::Found(_) => return Ok(false),
                Search::Room(slot) => {
                    line.0[slot] = place.hash;
                    self.taken += 1;
                    return Ok(true);
                }
                // There is room somewhere: an eighth of all slots are empty.
                Search::Full => at = (at + 1) % self.lines.len(),
            }
        }
    }

    /// Doubles, or takes the most lines that there may be, if that gives room.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, most: u64) -> Result<()> {
        let before = self.lines.len() as u64;
        let twice = before.saturating_mul(2).max(FIRST_LINES);
        let lines = twice.min(most);
        if lines <= before {
            let bits = twice.saturating_mul(LINE_BITS);
            return Err(Error::Memory { bits });
        }
        let mut larger = Segment {
            lines: Lines::zeroed(lines.saturating_mul(LINE_BITS))?,
            taken: 0,
        };
        let lines = larger.lines.len();
        self.each(|hash| {
            // It is not there, so where the first empty slot is says all.
            let mut at = larger.line_of(hash);
            loop {
                let line = &mut larger.lines[at];
                if let Some(slot) = line.first_equal(0) {
                    line.0[slot] = hash;
                    break;
                }
                at = (at + 1) % lines;
            }
        });
        larger.taken = self.taken;
        *self = larger;
        Ok(())
    }

    fn each(&self, mut visit: impl FnMut(u64)) {
        for line in self.lines.iter() {
            for hash in line.0.into_iter().take_while(|hash| *hash != 0) {
                visit(hash);
            }
        }
    }
}

/// The answer of a line about a hash.
enum Search {
    /// It is there, in this slot.
    Found(usize),
    /// It is not, and this is the first empty slot.
    Room(usize),
    /// It is not, and may be in the next line.
    Full,
}

/// Slots are taken from the first on, so the first empty one ends the search.
#[inline(always)]
fn search(line: &Line, hash: u64) -> Search {
    if let Some(slot) = line.first_equal(hash) {
        return Search::Found(slot);
    }
    match line.first_equal(0) {
        Some(slot) => Search::Room(slot),
        None => Search::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A sequence of well-mixed numbers (SplitMix64).
    fn mixed(count: u64) -> impl Iterator<Item = u64> {
        (1..=count).map(|i| crate::hash::Digest::from_u64(i).remix(i).hi)
    }

    #[test]
    fn it_answers_as_a_hash_set_does() {
        let mut set = Fingerprints::new();
        let mut model = HashSet::new();
        // Few values among many, so that a third are repeats; zero and one are one.
        for hash in mixed(300_000).map(|hash| hash >> 46 << 46 | 5) {
            assert_eq!(set.contains(hash), model.contains(&hash));
            assert_eq!(set.insert(hash).expect("memory"), model.insert(hash));
        }
        assert_eq!(set.count(), model.len() as u64);
        assert!(model.iter().all(|hash| set.contains(*hash)));

        let mut drained = HashSet::new();
        set.drain(|hash| assert!(drained.insert(hash)));
        assert_eq!(drained, model);
    }

    #[test]
    fn batches_answer_as_single_hashes_do() {
        let hashes: Vec<u64> = mixed(50_000).chain(mixed(70_000)).collect();
        let mut single = Fingerprints::new();
        let expected: Vec<bool> = hashes
            .iter()
            .map(|hash| single.insert(*hash).expect("memory"))
            .collect();

        let mut batched = Fingerprints::new();
        let mut new = Vec::new();
        batched
            .insert_each(hashes.iter().copied(), |answer| new.push(answer))
            .expect("memory");
        assert_eq!(new, expected);

        let mut found = 0;
        batched.contains_each(mixed(80_000), |answer| found += u64::from(answer));
        assert_eq!(found, 70_000);
    }

    #[test]
    fn every_hash_has_a_place_of_its_own() {
        let mut shards = Fingerprints::shards(2);
        for hash in mixed(50_000).chain(mixed(60_000)) {
            let shard = &mut shards[Fingerprints::shard_of(hash, 2)];
            shard.insert(hash).expect("memory");
        }
        for (number, shard) in shards.iter().enumerate() {
            let mut taken = vec![false; shard.places()];
            let hashes = mixed(70_000).filter(|hash| Fingerprints::shard_of(*hash, 2) == number);
            shard.find_each(hashes, |place| {
                if let Some(place) = place {
                    assert!(!core::mem::replace(&mut taken[place], true));
                }
            });
            let count = taken.iter().filter(|taken| **taken).count() as u64;
            assert_eq!(count, shard.count());
        }
    }

    #[test]
    fn shards_are_one_set_together() {
        for count in [1, 2, 4, 8, 16] {
            let (mut whole, mut shards) = (Fingerprints::new(), Fingerprints::shards(count));
            for hash in mixed(40_000).chain(mixed(60_000)) {
                let shard = &mut shards[Fingerprints::shard_of(hash, count)];
                assert_eq!(shard.contains(hash), whole.contains(hash));
                assert_eq!(
                    shard.insert(hash).expect("memory"),
                    whole.insert(hash).expect("memory")
                );
            }
            let bytes: u64 = shards.iter().map(Fingerprints::bytes).sum();
            let keys: u64 = shards.iter().map(Fingerprints::count).sum();
            assert_eq!((bytes, keys), (whole.bytes(), whole.count()));
        }
    }

    #[test]
    fn hashes_that_begin_alike_run_over_into_other_lines() {
        let mut set = Fingerprints::new();
        // All in the last line of the last segment: they wrap around to its first.
        for low in 0..1000 {
            assert!(set.insert(u64::MAX - low).expect("memory"));
        }
        assert!((0..1000).all(|low| set.contains(u64::MAX - low)));
        assert!(!set.contains(u64::MAX - 1000));
    }

    #[test]
    fn the_hash_zero_is_taken_for_one() {
        let mut set = Fingerprints::new();
        assert!(!set.contains(0));
        assert!(set.insert(0).expect("memory"));
        assert!(!set.insert(1).expect("memory"));
    }

    #[test]
    fn from_nine_to_eighteen_bytes_are_taken_per_key() {
        let mut set = Fingerprints::new();
        for chunk in 0..20 {
            for hash in mixed((chunk + 1) * 10_000).skip(chunk as usize * 10_000) {
                set.insert(hash).expect("memory");
            }
            // From the smallest load, 7/16, to the largest, 7/8, but for the spread of segments.
            let per_key = set.bytes() as f64 / set.count() as f64;
            assert!((9.0..19.0).contains(&per_key), "{per_key} bytes per key");
        }
    }

    #[test]
    fn a_budget_is_used_and_never_exceeded() {
        // Doubling alone would use half of some budgets.
        for kibibytes in [0, 1, 17, 100, 700, 1000, 1023, 1500] {
            let budget = kibibytes << 10;
            let mut set = Fingerprints::within(budget);
            let mut hashes = mixed(1 << 20);
            let full = hashes.find(|hash| set.insert(*hash).is_err());
            let full = full.expect("a million do not fit");

            assert!(set.bytes() <= budget, "{} of {budget}", set.bytes());
            if kibibytes >= 100 {
                let bytes = budget as f64 / set.count() as f64;
                assert!(bytes < 11.0, "{bytes} bytes of {budget} per hash");
            }
            assert!(!set.contains(full));
            assert!(mixed(set.count()).all(|hash| set.insert(hash).is_ok_and(|new| !new)));
        }
    }
}
