//! Copies of a key beyond the slots of its buckets.
//!
//! Where all slots of a key's two buckets have its fingerprint, further copies are counted in a pile. Keys that share
//! fingerprint and buckets in the first layer share a pile, so that piles are, as it were, the oldest table, in which a
//! removal looks last (see `changes.rs`). One key without end takes no more room than one word; where many keys are
//! in that often, the filter grows instead.
//!
//! Piles are words behind the first line of the state: 40 bits of a hash, the tag, above 24 bits of a count; 0 is no pile. A
//! pile is within [`WINDOW`] words of the one that its tag leads to; one that is at the top of its count has another.

use super::Cuckoo;
use super::changes::PILED;
use crate::bits::{Bitmap, Bits, LINE_BITS};
use crate::filter::Kind;
use crate::filter::layered::Layer as _;
use crate::hash::{Digest, reduce};
use crate::{Error, Result};
use alloc::vec::Vec;

/// The words of the state before the piles.
const FIRST: u64 = 8;

/// The bits of a count, and the highest one.
const TOP: u64 = (1 << 24) - 1;

/// The words in which a pile may be.
const WINDOW: u64 = 16;

/// The lines of piles that any filter may have; others have a quarter of the bits of their newest layer.
const FEW_LINES: u64 = 8;

/// The buckets that a batch which may grow the filter looks into in vain, or for keys beyond the capacity: two searches of
/// the longest, half a millisecond where every bucket is a miss of the caches and of the page tables.
const SEARCHED: usize = 2048;

/// The state before a batch whose changes may be taken back.
#[derive(Debug, Clone)]
pub(super) struct Before {
    numbers: [u64; FIRST as usize],
    /// The words of piles that were changed and what they were before, in order, until the piles moved.
    changes: Vec<(u64, u64)>,
    /// The state that they moved out of.
    state: Option<Bitmap>,
    /// The buckets that may still be looked into in vain, or for keys beyond the capacity; `None` for any number.
    pub(super) left: Option<usize>,
}

/// The words in which a pile with this tag may be, among `words` of them.
fn window(tag: u64, words: u64) -> impl Iterator<Item = u64> {
    let start = reduce(tag, words);
    (0..words.min(WINDOW)).map(move |step| FIRST + (start + step) % words)
}

/// A word of the window in which one more copy can be counted.
fn free(state: &Bitmap, tag: u64) -> Option<u64> {
    let words = || window(tag, words(state));
    let is_pile = |&word: &u64| (tag + 1..tag + TOP).contains(&state.word(word));
    let mut empty = words().filter(|&word| state.word(word) == 0);
    words().find(is_pile).or_else(|| empty.next())
}

/// The number of words for piles.
fn words(state: &impl Bits) -> u64 {
    state.size() / 64 - FIRST
}

/// Refuses piles that do not add up to the number of copies in them.
pub(super) fn check(state: &impl Bits) -> Result<()> {
    let piles = (0..words(state)).map(|word| state.word(FIRST + word) & TOP);
    let sum = piles.fold(0, u64::saturating_add);
    match state.word(PILED) {
        copies if copies != sum => Err(Error::Field {
            format: Kind::Cuckoo.name(),
            field: "number of copies in piles",
            got: copies as i64,
            expected: "their sum",
        }),
        _ => Ok(()),
    }
}

impl<B: Bits> Cuckoo<B> {
    /// What keys that share a pile have in common.
    fn tag(&self, digest: Digest) -> u64 {
        let home = self.body.layers[0].home(digest);
        let [one, other] = home.buckets;
        let pair = Digest {
            lo: home.fingerprint,
            hi: one.min(other),
        };
        pair.remix(0).hi & !TOP
    }

    /// The copies of a key in its pile; those of other keys too that share it.
    pub(super) fn piled(&self, digest: Digest) -> u64 {
        let state = &self.body.state;
        if state.word(PILED) == 0 {
            return 0;
        }
        let tag = self.tag(digest);
        let found = window(tag, words(state)).map(|word| state.word(word));
        let found = found.filter(|pile| pile & !TOP == tag);
        found.map(|pile| pile & TOP).sum()
    }
}

impl Cuckoo {
    /// Counts one more copy of a key in its pile; false, and nothing has changed, where piles take too much room.
    pub(super) fn pile(&mut self, digest: Digest) -> bool {
        let tag = self.tag(digest);
        loop {
            if let Some(word) = free(&self.body.state, tag) {
                let count = self.body.state.word(word) & TOP;
                self.set_pile(word, tag | (count + 1));
                self.body.count(PILED, 1);
                return true;
            }
            if !self.enlarge() {
                return false;
            }
        }
    }

    /// Takes one copy of a key from its pile, if there is one.
    pub(super) fn unpile(&mut self, digest: Digest) -> bool {
        let copies = self.body.state.word(PILED);
        if copies == 0 {
            return false;
        }
        let (tag, state) = (self.tag(digest), &self.body.state);
        let is_pile = |&word: &u64| (tag + 1..=tag + TOP).contains(&state.word(word));
        let Some(word) = window(tag, words(state)).find(is_pile) else {
            return false;
        };
        match state.word(word) - 1 {
            empty if empty & TOP == 0 => self.set_pile(word, 0),
            pile => self.set_pile(word, pile),
        }
        self.body.state.set_word(PILED, copies - 1);
        if copies == 1 {
            self.drop_piles();
        }
        true
    }

    /// Gives back the memory of piles, of which none is left.
    pub(super) fn drop_piles(&mut self) {
        // Without memory for one line, the state stays as large as it is.
        if let Some(state) = self.moved(0) {
            self.set_state(state);
        }
    }

    /// Makes room for more piles.
    fn enlarge(&mut self) -> bool {
        let newest = self.body.newest().stored().size() / LINE_BITS;
        let most = (newest / 4).max(FEW_LINES);
        let now = words(&self.body.state) / FIRST;
        let mut sizes = core::iter::successors(Some((2 * now).max(1)), |lines| Some(2 * lines));
        let state = sizes
            .by_ref()
            .take_while(|&lines| lines <= most)
            .find_map(|lines| self.moved(lines));
        let is_larger = state.is_some();
        if let Some(state) = state {
            self.set_state(state);
        }
        is_larger
    }

    /// The state with this many lines for the piles; `None` where one of them finds no word.
    fn moved(&self, lines: u64) -> Option<Bitmap> {
        let old = &self.body.state;
        let mut state = Bitmap::new((1 + lines) * LINE_BITS).ok()?;
        for word in 0..FIRST {
            state.set_word(word, old.word(word));
        }
        let piles = (0..words(old)).map(|word| old.word(FIRST + word));
        for pile in piles.filter(|&pile| pile != 0) {
            let tag = pile & !TOP;
            let mut window = window(tag, words(&state));
            let word = window.find(|&word| state.word(word) == 0)?;
            state.set_word(word, pile);
        }
        Some(state)
    }

    fn set_pile(&mut self, word: u64, pile: u64) {
        if let Some(before) = &mut self.before
            && before.state.is_none()
        {
            before.changes.push((word, self.body.state.word(word)));
        }
        self.body.state.set_word(word, pile);
    }

    fn set_state(&mut self, state: Bitmap) {
        let old = core::mem::replace(&mut self.body.state, state);
        if let Some(before) = &mut self.before {
            before.state.get_or_insert(old);
        }
    }

    /// From now on changes of the state can be taken back.
    pub(super) fn record_state(&mut self) {
        self.before = Some(Before {
            numbers: core::array::from_fn(|word| self.body.state.word(word as u64)),
            changes: Vec::new(),
            state: None,
            left: self.body.growth.numbers.growth.map(|_| SEARCHED),
        });
    }

    /// Takes back the changes since [`record_state`](Cuckoo::record_state).
    pub(super) fn take_back_state(&mut self) {
        let Some(before) = self.before.take() else {
            return;
        };
        let state = &mut self.body.state;
        if let Some(old) = before.state {
            *state = old;
        }
        for (word, pile) in before.changes.into_iter().rev() {
            state.set_word(word, pile);
        }
        for (word, number) in (0..).zip(before.numbers) {
            state.set_word(word, number);
        }
    }
}
