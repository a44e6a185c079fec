//! The keys of a white list, and the words that a file holds of them.
//!
//! ```text
//! word 0:     twice the number of keys, and 1 more when keys were inserted after the list was made
//! each key:   its length in bytes, then its bytes, padded with zeros to whole words
//! ```
//!
//! Keys ascend byte by byte and none is there twice, so equal lists are equal words; and a key is found by
//! halving, with 4 bytes for where each begins. Keys that come and go one by one are noted beside the words,
//! which are made again when the notes are an eighth of the list, or when they are asked for: changing many
//! keys takes time in proportion to them, not to the list.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Ordering;

use once_cell::race::OnceBox;

use crate::bits::{Bitmap, Bits};
use crate::{Error, Result};

/// The most words of a list: more than a list should ever have, and few enough for a description.
pub(super) const MOST_WORDS: u64 = u32::MAX as u64;

/// The notes that even a list without keys may have.
const FEW: usize = 64;

/// A set of keys, whole, and its words over bits of any storage.
#[derive(Debug, Clone)]
pub(super) struct WhiteList<B = Bitmap> {
    settled: Settled<B>,
    changes: Option<Changes<B>>,
}

impl<B: PartialEq> PartialEq for WhiteList<B> {
    fn eq(&self, other: &WhiteList<B>) -> bool {
        self.words() == other.words()
    }
}

/// Words, and where each key begins in them.
#[derive(Debug, Clone)]
struct Settled<B> {
    words: B,
    starts: Vec<u32>,
}

/// The changes since the words were made.
#[derive(Debug)]
struct Changes<B> {
    /// The keys that are on the list now and not in the words, with true, and the other way round.
    keys: BTreeMap<Vec<u8>, bool>,
    /// The keys on the list now, and the words that they take.
    listed: usize,
    word_count: u64,
    /// The words of the list as it is now, once they were asked for.
    words: OnceBox<B>,
    /// The way they are made: only bits that can be made are ever changed.
    make: fn(&WhiteList<B>) -> Result<B>,
}

impl<B> Clone for Changes<B> {
    fn clone(&self) -> Changes<B> {
        Changes {
            keys: self.keys.clone(),
            words: OnceBox::new(),
            ..*self
        }
    }
}

impl<B> WhiteList<B> {
    /// The words of the list, which are made if it has changed.
    ///
    /// # Panics
    ///
    /// When there is no memory for them, which [`make_words`](WhiteList::make_words) reports.
    pub(super) fn words(&self) -> &B {
        self.make_words().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Makes the words if the list has changed.
    ///
    /// # Errors
    ///
    /// When there is no memory for them.
    pub(super) fn make_words(&self) -> Result<&B> {
        let Some(changes) = &self.changes else {
            return Ok(&self.settled.words);
        };
        let make = || (changes.make)(self).map(Box::new);
        changes.words.get_or_try_init(make)
    }
}

impl<B: Bits> WhiteList<B> {
    /// The list that these words are.
    pub(super) fn from_words(words: B) -> Result<WhiteList<B>> {
        Ok(WhiteList {
            settled: Settled::parse(words)?,
            changes: None,
        })
    }

    pub(super) fn contains(&self, key: &[u8]) -> bool {
        let noted = self
            .changes
            .as_ref()
            .and_then(|changes| changes.keys.get(key));
        // Most lists are asked for keys that the filter took for its own: few, or none listed.
        noted.copied().unwrap_or_else(|| self.settled.contains(key))
    }

    /// The keys, ascending.
    pub(super) fn keys(&self) -> impl Iterator<Item = Vec<u8>> {
        let noted = || self.changes.iter().flat_map(|changes| &changes.keys);
        let was_noted = move |key: &Vec<u8>| {
            let changes = self.changes.as_ref();
            changes.is_some_and(|changes| changes.keys.contains_key(key))
        };
        let mut old = self
            .settled
            .keys()
            .filter(move |key| !was_noted(key))
            .peekable();
        let mut new = noted().filter(|(_, listed)| **listed).peekable();
        core::iter::from_fn(move || {
            let new_is_next = match (old.peek(), new.peek()) {
                (Some(old), Some((new, _))) => *new < old,
                (old, _) => old.is_none(),
            };
            match new_is_next {
                true => new.next().map(|(key, _)| key.clone()),
                false => old.next(),
            }
        })
    }

    pub(super) fn len(&self) -> usize {
        match &self.changes {
            Some(changes) => changes.listed,
            None => self.settled.starts.len(),
        }
    }

    pub(super) fn is_stale(&self) -> bool {
        self.settled.words.word(0) % 2 == 1
    }

    /// The number of words.
    pub(super) fn word_count(&self) -> u64 {
        match &self.changes {
            Some(changes) => changes.word_count,
            None => self.settled.words.size() / 64,
        }
    }
}

impl WhiteList {
    pub(super) fn new() -> Result<WhiteList> {
        WhiteList::from_words(Bitmap::new(64)?)
    }

    /// Takes a key off the list.
    pub(super) fn remove(&mut self, key: &[u8]) {
        if self.contains(key) {
            self.note(key.to_vec(), false);
        }
    }

    /// Puts keys on the list.
    ///
    /// # Errors
    ///
    /// When the words would be too many, or there is no memory for them; the list is then unchanged.
    pub(super) fn add(&mut self, keys: Vec<Vec<u8>>) -> Result<()> {
        if keys.len() > self.most_notes() {
            return self.change(|_| true, keys);
        }
        let more: u64 = keys.iter().map(|key| words_of(key)).sum();
        check_count(self.word_count().saturating_add(more))?;
        for key in keys {
            if !self.contains(&key) {
                self.note(key, true);
            }
        }
        Ok(())
    }

    /// Takes the keys off the list for which `keep` is false, and adds others.
    ///
    /// # Errors
    ///
    /// When the words would be too many, or there is no memory for them; the list is then unchanged.
    pub(super) fn change(
        &mut self,
        keep: impl Fn(&[u8]) -> bool,
        others: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<()> {
        let kept = self.keys().filter(|key| keep(key));
        let mut keys: Vec<Vec<u8>> = kept.chain(others).collect();
        keys.sort();
        keys.dedup();
        let word_count = 1 + keys.iter().map(|key| words_of(key)).sum::<u64>();
        let words = encode(word_count, self.is_stale(), keys.len(), keys)?;
        *self = WhiteList::from_words(words)?;
        Ok(())
    }

    /// Notes whether keys were inserted since the list was made.
    pub(super) fn set_stale(&mut self, is_stale: bool) {
        let words = &mut self.settled.words;
        words.set_word(0, words.word(0) & !1 | u64::from(is_stale));
        if let Some(changes) = &mut self.changes {
            changes.words = OnceBox::new();
        }
    }

    /// Notes that a key was added to the list, or left it.
    fn note(&mut self, key: Vec<u8>, listed: bool) {
        let (count, word_count) = (self.len(), self.word_count());
        let changes = self.changes.get_or_insert_with(|| Changes {
            keys: BTreeMap::new(),
            listed: count,
            word_count,
            words: OnceBox::new(),
            make: WhiteList::encoded,
        });
        changes.words = OnceBox::new();
        (changes.listed, changes.word_count) = match listed {
            true => (count + 1, word_count + words_of(&key)),
            false => (count - 1, word_count - words_of(&key)),
        };
        if self.settled.contains(&key) == listed {
            changes.keys.remove(&key);
        } else {
            changes.keys.insert(key, listed);
        }
        if changes.keys.len() > self.most_notes()
            // Without memory the notes grow on, and it is tried again with the next.
            && let Ok(list) = self.encoded().and_then(WhiteList::from_words)
        {
            *self = list;
        }
    }

    /// The most keys that are noted beside the words.
    fn most_notes(&self) -> usize {
        FEW + self.settled.starts.len() / 8
    }

    fn encoded(&self) -> Result<Bitmap> {
        encode(self.word_count(), self.is_stale(), self.len(), self.keys())
    }
}

impl<B: Bits> Settled<B> {
    /// The keys in words that must be what [`encode`] writes.
    fn parse(words: B) -> Result<Settled<B>> {
        let size = words.size() / 64;
        let count = words.word(0) / 2;
        // Compared with what is there before memory is taken: a key has a word at least.
        if size == 0 || count > size - 1 || size > MOST_WORDS {
            return Err(field("number of keys", count, "as many as are in the list"));
        }
        let mut list = Settled {
            words,
            starts: Vec::with_capacity(count as usize),
        };
        let mut at = 1;
        for _ in 0..count {
            let length = list.words.word(at);
            let words = length.div_ceil(8);
            if at >= size || words > size - at - 1 {
                return Err(field("key length", length, "a key within the list"));
            }
            let last = list.words.word(at + words);
            if !length.is_multiple_of(8) && last >> (length % 8 * 8) != 0 {
                return Err(field("padding", last, "zeros after a key"));
            }
            if let Some(&before) = list.starts.last()
                && list.compare(before, length, |index| list.words.word(at + 1 + index))
                    != Ordering::Less
            {
                return Err(field("key", at, "keys that ascend"));
            }
            // Below the size, which is at most 2^32 - 1.
            list.starts.push(at as u32);
            at += 1 + words;
        }
        if at != size {
            return Err(field("number of words", size, "as many as the keys take"));
        }
        Ok(list)
    }

    fn contains(&self, key: &[u8]) -> bool {
        let compare =
            |start: &u32| self.compare(*start, key.len() as u64, |index| word_of(key, index));
        self.starts.binary_search_by(compare).is_ok()
    }

    /// Returns how the key that begins at `start` compares with another of this length and these words.
    fn compare(&self, start: u32, length: u64, word: impl Fn(u64) -> u64) -> Ordering {
        let start = u64::from(start);
        let own_length = self.words.word(start);
        for index in 0..length.min(own_length).div_ceil(8) {
            // The first byte is the lowest of a word, and decides first.
            let own = self.words.word(start + 1 + index).swap_bytes();
            match own.cmp(&word(index).swap_bytes()) {
                Ordering::Equal => {}
                differs => return differs,
            }
        }
        // Padding is as the byte zero, so what is alike so far is alike, or begins with the other.
        own_length.cmp(&length)
    }

    /// The keys, ascending.
    fn keys(&self) -> impl Iterator<Item = Vec<u8>> {
        let ends = self.starts.iter().skip(1).map(|&start| u64::from(start));
        let ends = ends.chain([self.words.size() / 64]);
        self.starts.iter().zip(ends).map(|(&start, end)| {
            let start = u64::from(start);
            let words = start + 1..end;
            let mut key: Vec<u8> = words
                .flat_map(|index| self.words.word(index).to_le_bytes())
                .collect();
            key.truncate(usize::try_from(self.words.word(start)).unwrap_or(usize::MAX));
            key
        })
    }
}

/// The words that a key takes: its length and its bytes.
fn words_of(key: &[u8]) -> u64 {
    1 + key.len().div_ceil(8) as u64
}

/// The word at `index` of a key's bytes, padded with zeros.
fn word_of(key: &[u8], index: u64) -> u64 {
    let bytes = key.chunks(8).nth(index as usize).unwrap_or_default();
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn check_count(words: u64) -> Result<()> {
    if words <= MOST_WORDS {
        return Ok(());
    }
    Err(Error::Long {
        what: "white list",
        got: words.saturating_mul(8),
        most: MOST_WORDS * 8,
    })
}

/// The words of these keys, which ascend.
fn encode(
    word_count: u64,
    is_stale: bool,
    count: usize,
    keys: impl IntoIterator<Item = Vec<u8>>,
) -> Result<Bitmap> {
    check_count(word_count)?;
    let mut words = Bitmap::new(64 * word_count)?;
    words.set_word(0, 2 * count as u64 + u64::from(is_stale));
    let mut at = 1;
    for key in keys {
        words.set_word(at, key.len() as u64);
        for index in 0..words_of(&key) - 1 {
            words.set_word(at + 1 + index, word_of(&key, index));
        }
        at += words_of(&key);
    }
    Ok(words)
}

fn field(field: &'static str, got: u64, expected: &'static str) -> Error {
    Error::Field {
        format: "guarded",
        field,
        got: got as i64,
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_the_list_back() {
        let mut list = WhiteList::new().expect("small");
        let keys = ["", "a", "eight by", "nine byte", "nine bytf"];
        let others = keys.map(|key| key.as_bytes().to_vec());
        list.change(|_| true, others).expect("small");
        list.set_stale(true);

        let read = WhiteList::from_words(list.words().clone()).expect("just written");

        assert_eq!(read, list);
        assert!(read.is_stale() && read.len() == 5);
        assert!(keys.iter().all(|key| read.contains(key.as_bytes())));
        assert!(!read.contains(b"nine byt"));
    }

    #[test]
    fn a_list_that_changes_key_by_key_is_the_one_made_at_once() {
        // Keys that differ in their padding, in a byte of zero, and in length.
        let keys: Vec<Vec<u8>> = (0..3000_u32)
            .map(|i| i.wrapping_mul(0x9E37_79B9).to_be_bytes()[..(i % 5) as usize].to_vec())
            .chain((0..40).map(|zeros| alloc::vec![0; zeros]))
            .collect();
        let mut list = WhiteList::new().expect("small");
        let mut model = alloc::collections::BTreeSet::new();
        for (index, key) in keys.iter().chain(&keys).enumerate() {
            if index % 3 == 2 {
                list.remove(key);
                model.remove(key);
            } else {
                list.add(alloc::vec![key.clone()]).expect("small");
                model.insert(key.clone());
            }
            assert_eq!(
                (list.len(), list.contains(key)),
                (model.len(), index % 3 != 2)
            );
            if index % 97 == 0 {
                assert!(list.keys().eq(model.iter().cloned()), "{index}");
                let mut made = WhiteList::new().expect("small");
                made.change(|_| true, model.iter().cloned()).expect("small");
                assert_eq!(list, made, "{index}");
                assert_eq!(list.word_count() * 64, list.words().size());
                assert_eq!(
                    list.clone(),
                    WhiteList::from_words(list.words().clone()).expect("valid")
                );
            }
        }
    }

    #[test]
    fn words_that_no_list_has_are_refused() {
        for words in [
            &[2][..],          // a key that is not there
            &[0, 0],           // a word too many
            &[2, 9, 7],        // a key longer than the list
            &[2, u64::MAX, 7], // by far
            &[2, 1, 0x100],    // padding
            &[4, 1, 8, 1, 7],  // out of order
            &[4, 1, 7, 1, 7],  // twice
            &[u64::MAX],       // more keys than words
        ] {
            let words = Bitmap::from_words(words).expect("small");
            let error = WhiteList::from_words(words).expect_err("no list");
            assert!(matches!(error, Error::Field { .. }), "{error}");
        }
    }
}
