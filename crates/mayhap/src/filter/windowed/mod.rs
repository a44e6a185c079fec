//! A Bloom filter that forgets by age: was this key seen lately?
//!
//! A key goes into the current of four generations. A lookup asks all four at once: they lie side by
//! side in one cache line (`line.rs`), as narrow as that makes each. A generation ends by a number
//! going up: what is left of the one before the last three is passed over, and overwritten as its
//! lines are come by, so nothing ever waits for memory to be cleared.
//!
//! *Never a false negative in the window.* A key inserted in generation g is found while the current
//! one is g to g + 3. By keys, with a window of N = 3n, a generation ends at an insert that finds n
//! keys counted in it, hence after n inserts at least; when g + 4 begins, three generations have ended
//! after g, that is 3n inserts. By the caller, three of its ticks are the window. *The rate* is sized
//! for four generations of n keys: the worst moment. Costs 22.3 bits per key of the window at 1 %.

mod line;
mod shape;
mod tasks;

use alloc::vec;
use alloc::vec::Vec;

use super::description::check_size;
use super::kernel::{Chosen, Kernel};
use super::places::{Places, ones_of};
use super::{Assemble, Description, Filter, Insert, Kind, Merge, Promise, Stats};
use crate::bits::{Bitmap, Bits, BitsMut as _};
use crate::hash::{Digest, Digester, reduce};
use crate::{Error, Key, Result};
use line::{Mask, Slots};
use shape::{GENERATIONS, Shape, WORD_BITS};
use tasks::{InsertEach, InsertOne, LookUp, LookUpEach};

/// In how many turns all lines are scrubbed, a part of them at each end of a generation: well before
/// a stamp comes again, after 1024.
const TURNS: u64 = 256;

/// The bits of the first part, which has the generation and the keys in it: one line.
const STATE_BITS: u64 = 512;

/// The event that ends a generation of a [`Windowed`] filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// A third of the window's keys: the window is the last N keys.
    ByKeys,
    /// [`Windowed::rotate`] and [`Windowed::advance_to`] alone: the window is the time of three
    /// generations, and of what is past of the current one.
    ByCaller,
}

/// A Bloom filter of the keys that were inserted lately, over bits of any storage.
///
/// ```
/// use mayhap::{Filter, Insert, Windowed};
///
/// let mut lately = Windowed::with_capacity(1000, 0.01)?; // the last 1000 keys, at least
/// lately.insert_all(0..5000_u32);
/// assert!(lately.contains_all(4000..5000_u32), "none of the last 1000 is missed");
/// let remembered = (0..3000_u32).filter(|key| lately.contains(key)).count();
/// assert!(remembered < 60, "older ones are forgotten, but for false positives");
/// # Ok::<(), mayhap::Error>(())
/// ```
///
/// By time, which is the caller's: here a window of an hour, in generations of twenty minutes.
///
/// ```
/// use mayhap::{Rotation, Windowed};
///
/// let mut lately = Windowed::with_options(1_000_000, 0.01, Rotation::ByCaller)?;
/// let twenty_minutes = |seconds: u64| seconds / 1200;
/// lately.advance_to(twenty_minutes(7_000));
/// lately.insert("key");
/// lately.advance_to(twenty_minutes(7_000 + 3600));
/// assert!(lately.contains("key"));
/// lately.advance_to(twenty_minutes(7_000 + 3600 + 1200));
/// assert!(!lately.contains("key"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Windowed<B = Bitmap> {
    /// One line. Its first word is the current generation, its second the keys in it; the others
    /// are 0.
    state: B,
    bits: B,
    shape: Shape,
    digester: Digester,
    promise: Promise,
    rotation: Rotation,
    /// Those of the current generation, to have them at hand.
    stamps: [u64; GENERATIONS],
    /// The instructions that it looks at lines with.
    kernel: Chosen,
}

impl Windowed {
    /// A filter that remembers at least the last `keys` keys inserted, hashed without a secret. Its
    /// predicted rate is at most `rate` at any moment.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or is below 10^-6, or there is no
    /// memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Windowed> {
        Windowed::with_options(keys, rate, Rotation::ByKeys)
    }

    /// A filter for a window of `keys` keys, whose generations end by what is said.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Windowed::with_capacity).
    pub fn with_options(keys: u64, rate: f64, rotation: Rotation) -> Result<Windowed> {
        Windowed::new(keys, rate, rotation, Digester::default())
    }

    /// A filter as by [`with_options`](Windowed::with_options), hashed by this digester.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Windowed::with_capacity).
    pub fn new(keys: u64, rate: f64, rotation: Rotation, digester: Digester) -> Result<Windowed> {
        planned(keys, rate, rotation, digester)?.empty()
    }

    /// Describes the filter that [`with_capacity`](Windowed::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// As [`with_capacity`](Windowed::with_capacity), but for want of memory.
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        planned(keys, rate, Rotation::ByKeys, Digester::default())
    }

    /// Inserts the key; true when it was *definitely* not in the window.
    ///
    /// False means *mayhap*: it was there, or other keys had set all its bits. Either way the key is
    /// young again.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// Inserts a key by its digest; true when it was *definitely* not in the window.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.kernel.run(InsertOne {
            filter: self,
            digest,
        })
    }

    /// Inserts a key; true when it was *definitely* not in the window.
    #[inline(always)]
    fn insert_found(&mut self, slots: impl Slots, (index, mask): (u64, Mask)) -> bool {
        let found = slots.any_has(self.bits.line_mut(index), mask, &self.stamps);
        if self.rotation == Rotation::ByKeys && self.state.word(1) >= self.generation_keys() {
            self.rotate();
        }
        let slot = line::slot_of(self.generation());
        if mask.put(self.bits.line_mut(index), slot, self.stamps[slot]) {
            self.state.set_word(1, self.state.word(1).saturating_add(1));
        }
        !found
    }

    /// Ends the current generation: keys that were last inserted four generations ago are forgotten.
    ///
    /// Also clears a 256th of the lines of what was forgotten before: at most 0.07 ms in a filter of 261 MB,
    /// where clearing a generation of its own would take 1.7 (`bench/benches/windowed.rs`, November 2026).
    pub fn rotate(&mut self) {
        let generation = self.generation().saturating_add(1);
        self.state.set_word(0, generation);
        self.state.set_word(1, 0);
        self.stamps = line::stamps(generation);
        let border = |turn: u64| {
            let lines = u128::from(self.shape.lines) * u128::from(turn);
            (lines / u128::from(TURNS)) as u64
        };
        let turn = generation % TURNS;
        for index in border(turn)..border(turn + 1) {
            line::scrub(self.bits.line_mut(index), &self.stamps);
        }
    }

    /// Ends generations until this is the current one: for callers that count time by a number that
    /// grows, such as minutes. Does nothing when the current one is as high or higher.
    pub fn advance_to(&mut self, generation: u64) {
        let turns = generation.saturating_sub(self.generation());
        if turns < TURNS {
            (0..turns).for_each(|_| self.rotate());
            return;
        }
        // Every line would be scrubbed, and nothing is young enough to stay.
        self.bits.clear_all();
        self.state.set_word(0, generation);
        self.state.set_word(1, 0);
        self.stamps = line::stamps(generation);
    }

    /// Forgets every key; the generation stays the current one.
    pub fn clear(&mut self) {
        self.bits.clear_all();
        self.state.set_word(1, 0);
    }
}

impl<B: Bits> Windowed<B> {
    /// Returns whether the key may be in the window: false is certain, true is *mayhap*. Keys a little older
    /// than the window may still be found.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digester.digest(key.key_bytes().as_ref()))
    }

    /// Returns whether a key with this digest may be in the window.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.kernel.run(LookUp {
            filter: self,
            digest,
        })
    }

    /// Returns what the generations hold now, and the rate that gives. Reads every line. A key that is in
    /// two generations counts twice; the promise is what all four may hold together.
    pub fn stats(&self) -> Stats {
        let mut ones = [[0_u64; 2]; GENERATIONS];
        let mut rates = 0.0;
        let throws = self.shape.throws().map(f64::from);
        let bits = WORD_BITS.map(f64::from);
        for index in 0..self.shape.lines {
            let of_line = self
                .bits
                .with_line(index, |line| line::ones(line, &self.stamps));
            let mut misses = 1.0;
            for (sum, of_slot) in ones.iter_mut().zip(of_line) {
                let fill = |word: usize| f64::from(of_slot[word]) / bits[word];
                misses *= 1.0 - libm::pow(fill(0), throws[0]) * libm::pow(fill(1), throws[1]);
                sum[0] += u64::from(of_slot[0]);
                sum[1] += u64::from(of_slot[1]);
            }
            rates += 1.0 - misses;
        }
        let keys = ones.iter().map(|ones| self.shape.keys_at(ones[0]));
        let bits_of_line = GENERATIONS as u64 * u64::from(WORD_BITS[0] + WORD_BITS[1]);
        Stats {
            bits: self.shape.lines * bits_of_line,
            ones: ones.iter().flatten().sum(),
            keys: keys.sum(),
            rate: rates / self.shape.lines as f64,
            promise: Some(Promise {
                keys: self.generation_keys().saturating_mul(GENERATIONS as u64),
                rate: self.promise.rate,
            }),
        }
    }

    /// The number of the current generation.
    pub fn generation(&self) -> u64 {
        self.state.word(0)
    }

    /// The keys that a generation is made for: a third of the window's.
    pub fn generation_keys(&self) -> u64 {
        generation_keys(self.promise)
    }

    /// Returns what ends a generation.
    pub fn rotation(&self) -> Rotation {
        self.rotation
    }

    /// Returns the way keys are hashed.
    pub fn digester(&self) -> &Digester {
        &self.digester
    }

    /// Returns where the filter keeps a key with this digest, in each generation that is still in the window.
    pub(super) fn places(&self, digest: Digest) -> Vec<Places> {
        let mask = Mask::new(digest, self.shape).words();
        let index = reduce(digest.hi, self.shape.lines);
        let line = self.bits.line(index);
        let current = self.generation();
        let generations = current.saturating_sub(GENERATIONS as u64 - 1)..=current;
        let places = generations.map(|generation| {
            let slot = line::slot_of(generation);
            let positions = ones_of(512 * index + 128 * slot as u64, &mask);
            let mut places = Places::bits(1, &self.bits, positions).of("generation", generation);
            if !line::is_current(&line, slot, self.stamps[slot]) {
                // What is left of an older generation counts no more.
                places.places.iter_mut().for_each(|place| place.value = 0);
            }
            places
        });
        places.collect()
    }
}

impl<B: Bits> Filter for Windowed<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Windowed::stats(self)
    }

    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        let task = LookUpEach {
            filter: self,
            keys,
            answer,
        };
        self.kernel.run_hashed(&self.digester, task);
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl Insert for Windowed {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.insert(key)
    }

    fn insert_each<K: Key>(&mut self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        let (kernel, digester) = (self.kernel, self.digester.clone());
        let task = InsertEach {
            filter: self,
            keys,
            answer,
        };
        kernel.run_hashed(&digester, task);
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

fn generation_keys(window: Promise) -> u64 {
    window.keys.div_ceil(GENERATIONS as u64 - 1)
}

fn planned(keys: u64, rate: f64, rotation: Rotation, digester: Digester) -> Result<Description> {
    let promise = Promise::new(keys, rate)?;
    let shape = promise
        .size(|keys, rate| Shape::for_generations(generation_keys(Promise { keys, rate }), rate))?;
    Ok(describe(shape, digester, promise, rotation))
}

fn describe(shape: Shape, digester: Digester, promise: Promise, rotation: Rotation) -> Description {
    Description {
        kind: Kind::Windowed,
        hashing: digester.into(),
        bits: STATE_BITS + shape.lines * 512,
        hashes: shape.hashes,
        detail: match rotation {
            Rotation::ByKeys => 0,
            Rotation::ByCaller => 1,
        },
        promise: Some(promise),
    }
}

/// Returns what a description holds of the filter.
fn described(description: &Description) -> Result<(Shape, Promise, Rotation)> {
    let rotation = match description.detail {
        0 => Rotation::ByKeys,
        1 => Rotation::ByCaller,
        detail => {
            return Err(Error::Field {
                format: "windowed",
                field: "detail",
                got: i64::from(detail),
                expected: "0 (rotates by keys) or 1 (by its caller)",
            });
        }
    };
    let promise = description.needed_promise()?;
    let bits = description.bits.checked_sub(STATE_BITS);
    let Some(bits) = bits.filter(|bits| bits.is_multiple_of(512)) else {
        return Err(Error::Bits {
            got: description.bits,
            expected: "1024 to 2^62, in lines of 512",
        });
    };
    Ok((
        Shape::new(bits / 512, description.hashes)?,
        promise,
        rotation,
    ))
}

impl<B: Bits> Assemble for Windowed<B> {
    type Bits = B;

    fn description(&self) -> Description {
        describe(
            self.shape,
            self.digester.clone(),
            self.promise,
            self.rotation,
        )
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.state, &self.bits]
    }

    fn cache_lines(_description: &Description) -> u32 {
        1
    }

    /// For keys that are all new, inserted one after another into generations that end by keys.
    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        let (shape, promise, rotation) = described(description).ok()?;
        let full = generation_keys(promise);
        let ended = match rotation {
            Rotation::ByKeys => (keys.saturating_sub(1) / full).min(GENERATIONS as u64 - 1),
            Rotation::ByCaller => return None,
        };
        let current = keys - keys.saturating_sub(1) / full * full;
        let misses = libm::pow(1.0 - shape.rate_at(full), ended as f64);
        Some(1.0 - misses * (1.0 - shape.rate_at(current)))
    }

    fn check(description: &Description) -> Result<()> {
        description.digester()?;
        described(description).map(drop)
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        Self::check(description)?;
        Ok(vec![STATE_BITS, description.bits - STATE_BITS])
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Windowed<B>> {
        let digester = description.digester()?;
        let (shape, promise, rotation) = described(description)?;
        let (state, others) = description.state_and_others(parts, 1, 2, STATE_BITS)?;
        let bits = description.only_part(others)?;
        check_size(&bits, shape.lines * 512, "as many as described")?;
        Ok(Windowed {
            stamps: line::stamps(state.word(0)),
            state,
            bits,
            shape,
            digester,
            promise,
            rotation,
            kernel: Chosen::widest(Kernel::Avx512),
        })
    }
}

impl Merge for Windowed {
    /// Refuses: the generations of two filters end at different moments.
    fn union(&mut self, _: &Windowed) -> Result<()> {
        Err(Error::Unsupported {
            kind: "windowed",
            what: "be joined with another",
            instead: "its generations end at moments of their own; ask both",
        })
    }
}
