//! Keys that are the same on every run and need not be stored.
//!
//! Key `i` is the SplitMix64 finaliser of the `i`-th step of a Weyl sequence. Both are bijections
//! of 64 bits, so members (the keys a filter holds) and absent keys (the keys it does not) are
//! distinct and disjoint without a check: absent keys are the steps from 2^63 on.
//!
//! A pass runs over a stored [`Block`] of keys, so that making keys costs the timed loop nothing.

use std::io::Write as _;
use std::ops::Range;

use mayhap::hash::{mix, reduce};

/// The keys in one stored block of numbers: 16 MB, too many for a branch predictor to learn.
pub const NUMBERS_PER_BLOCK: u64 = 1 << 21;

/// The keys in one stored block of URLs: about 13 MB.
pub const URLS_PER_BLOCK: u64 = 1 << 18;

/// 2^64 divided by the golden ratio, made odd: the step of the Weyl sequence.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Moves our sequence away from the zero that every SplitMix64 would start at.
const SEED: u64 = 0x6D61_7968_6170_0001;

const FIRST_ABSENT: u64 = 1 << 63;

/// The members with these indices.
pub fn members(indices: Range<u64>) -> impl Iterator<Item = u64> + Clone {
    indices.map(word)
}

/// The absent keys with these indices.
pub fn absent(indices: Range<u64>) -> impl Iterator<Item = u64> + Clone {
    members(FIRST_ABSENT + indices.start..FIRST_ABSENT + indices.end)
}

/// Draws `count` of the first `population` members, in random order and with repeats.
pub fn member_sample(population: u64, count: u64) -> impl Iterator<Item = u64> {
    // The quarter from 2^62 on belongs to neither members nor absent keys.
    let draws = members(1 << 62..(1 << 62) + count);
    draws.map(move |draw| word(reduce(draw, population)))
}

/// All indices below `count`, once each, in an order that looks random.
pub fn permuted(count: u64) -> impl Iterator<Item = u64> {
    let mask = count.next_power_of_two().max(4) - 1;
    let half = mask.count_ones().div_ceil(2);
    (0..=mask)
        .map(move |mut index| {
            // Each step is a bijection of this many bits.
            for odd in [GOLDEN, 0xD134_2543_DE82_EF95, 0xBF58_476D_1CE4_E5B9] {
                index = index.wrapping_mul(odd).wrapping_add(SEED) & mask;
                index ^= index >> half;
            }
            index
        })
        .filter(move |index| *index < count)
}

fn word(index: u64) -> u64 {
    mix(SEED.wrapping_add(index.wrapping_mul(GOLDEN)))
}

/// A type of key, and how many of them are stored.
pub trait Sample: 'static {
    /// Stored keys of this type.
    type Block: Block<Self> + Clone + 'static;

    /// The most keys a pass of lookups runs over.
    const PER_BLOCK: u64;
}

impl Sample for u64 {
    type Block = Vec<u64>;
    const PER_BLOCK: u64 = NUMBERS_PER_BLOCK;
}

impl Sample for [u8] {
    type Block = Urls;
    const PER_BLOCK: u64 = URLS_PER_BLOCK;
}

/// Stored keys, made from words of 64 random bits.
pub trait Block<K: ?Sized + 'static>: Default {
    /// Replaces the keys by one per word.
    fn refill(&mut self, words: impl Iterator<Item = u64>);

    /// The keys, in order.
    fn iter(&self) -> impl Iterator<Item = &K>;

    /// The number of keys.
    fn count(&self) -> u64;

    /// A block of one key per word.
    fn of(words: impl Iterator<Item = u64>) -> Self {
        let mut block = Self::default();
        block.refill(words);
        block
    }
}

impl Block<u64> for Vec<u64> {
    fn refill(&mut self, words: impl Iterator<Item = u64>) {
        self.clear();
        self.extend(words);
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = &u64> {
        self.as_slice().iter()
    }

    fn count(&self) -> u64 {
        self.len() as u64
    }
}

/// URL-like keys of 29 to 70 bytes, 50 on average, one after the other in one buffer.
#[derive(Debug, Clone, Default)]
pub struct Urls {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Urls {
    /// Appends the URL of a word. All 64 bits are in its text, so distinct words give distinct
    /// URLs; its length, too, depends on the word.
    fn push(&mut self, word: u64) {
        const HOSTS: [&str; 4] = ["a.io", "shop.net", "example.org", "www.weekly.com"];
        const PATHS: [&str; 4] = ["", "item/", "news/2026/", "library/shelf/12/"];
        let host = HOSTS[(word >> 62) as usize];
        let path = PATHS[(word >> 60 & 3) as usize];
        let tail = &"?from=homepage"[..reduce(word << 4, 15) as usize];
        // Writing to a vector cannot fail.
        let _ = write!(self.text, "https://{host}/{path}{word:016x}{tail}");
        self.ends.push(self.text.len());
    }
}

impl Block<[u8]> for Urls {
    fn refill(&mut self, words: impl Iterator<Item = u64>) {
        self.text.clear();
        self.ends.clear();
        words.for_each(|word| self.push(word));
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let url = &self.text[start..end];
            start = end;
            url
        })
    }

    fn count(&self) -> u64 {
        self.ends.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn members_and_absent_keys_are_distinct_and_disjoint() {
        let keys: HashSet<u64> = members(0..10_000).chain(absent(0..10_000)).collect();
        assert_eq!(keys.len(), 20_000);
    }

    #[test]
    fn a_permutation_has_every_index_once() {
        for count in [1, 5, 64, 1000] {
            let mut indices: Vec<u64> = permuted(count).collect();
            indices.sort();
            assert!(indices.into_iter().eq(0..count));
        }
    }

    #[test]
    fn a_sample_of_members_has_only_members() {
        let all: HashSet<u64> = members(0..1000).collect();
        assert!(member_sample(1000, 5000).all(|key| all.contains(&key)));
    }

    #[test]
    fn urls_are_distinct_and_about_fifty_bytes() {
        let urls = Urls::of(members(0..10_000));

        let distinct: HashSet<&[u8]> = urls.iter().collect();
        let average = urls.text.len() as f64 / 10_000.0;

        assert_eq!(distinct.len(), 10_000);
        assert!((48.0..52.0).contains(&average), "{average}");
    }
}
