//! The keys of a white list, and the words that a file holds of them.
//!
//! ```text
//! word 0:     twice the number of keys, and 1 more when keys came after the list was made
//! each key:   its length in bytes, then its bytes, padded with zeros to whole words
//! ```
//!
//! Keys ascend byte by byte and none is there twice, so equal lists are equal words.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use crate::bits::{Bitmap, Bits};
use crate::{Error, Result};

/// The most words of a list: more than a list should ever have, and few enough for a description.
pub(super) const MOST_WORDS: u64 = u32::MAX as u64;

/// A set of keys, whole, and its words over bits of any storage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WhiteList<B = Bitmap> {
    keys: BTreeSet<Vec<u8>>,
    is_stale: bool,
    words: B,
}

impl<B: Bits> WhiteList<B> {
    /// The list that these words are.
    pub(super) fn from_words(words: B) -> Result<WhiteList<B>> {
        let (is_stale, keys) = parse(&words)?;
        Ok(WhiteList {
            keys,
            is_stale,
            words,
        })
    }

    pub(super) fn contains(&self, key: &[u8]) -> bool {
        // Most lists are asked for keys that the filter took for its own: few, or none listed.
        !self.keys.is_empty() && self.keys.contains(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(Vec::as_slice)
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn is_stale(&self) -> bool {
        self.is_stale
    }

    pub(super) fn words(&self) -> &B {
        &self.words
    }
}

impl WhiteList {
    pub(super) fn new() -> Result<WhiteList> {
        WhiteList::from_words(Bitmap::new(64)?)
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
        let kept = self.keys.iter().filter(|key| keep(key)).cloned();
        let keys = kept.chain(others).collect();
        self.words = encode(&keys, self.is_stale)?;
        self.keys = keys;
        Ok(())
    }

    /// Notes whether keys came to the filter since the list was made.
    pub(super) fn set_stale(&mut self, is_stale: bool) {
        self.is_stale = is_stale;
        self.words.set_word(0, first_word(&self.keys, is_stale));
    }
}

fn first_word(keys: &BTreeSet<Vec<u8>>, is_stale: bool) -> u64 {
    2 * keys.len() as u64 + u64::from(is_stale)
}

fn encode(keys: &BTreeSet<Vec<u8>>, is_stale: bool) -> Result<Bitmap> {
    let mut words = vec![first_word(keys, is_stale)];
    for key in keys {
        words.push(key.len() as u64);
        words.extend(key.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }));
    }
    let got = words.len() as u64;
    if got > MOST_WORDS {
        return Err(Error::Long {
            what: "white list",
            got: got.saturating_mul(8),
            most: MOST_WORDS * 8,
        });
    }
    Bitmap::from_words(&words)
}

/// Whether the list is stale, and its keys, from words that must be what [`encode`] writes.
fn parse(bits: &impl Bits) -> Result<(bool, BTreeSet<Vec<u8>>)> {
    let size = bits.size() / 64;
    let first = bits.word(0);
    let mut keys = BTreeSet::new();
    let mut at = 1;
    for _ in 0..first / 2 {
        let length = bits.word(at);
        let words = length.div_ceil(8);
        // Compared with what is there before memory is taken.
        if at >= size || words > size - at - 1 {
            return Err(field("key length", length, "a key within the list"));
        }
        let mut key: Vec<u8> = (at + 1..at + 1 + words)
            .flat_map(|index| bits.word(index).to_le_bytes())
            .collect();
        let padding = key.split_off(length as usize);
        if padding.iter().any(|&byte| byte != 0) {
            return Err(field("padding", 1, "zeros after a key"));
        }
        if keys.last().is_some_and(|last| *last >= key) {
            return Err(field("key", at, "keys that ascend"));
        }
        keys.insert(key);
        at += 1 + words;
    }
    if at != size {
        return Err(field("number of words", size, "as many as the keys take"));
    }
    Ok((first % 2 == 1, keys))
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
