//! The body of kinds that grow by layers.
//!
//! [`Scalable`](crate::Scalable) and [`Cuckoo`](crate::Cuckoo) begin a larger, stricter layer when those they have are
//! full. What they share is here: the layers and the state beside them, lookups, what they hold together, and how a
//! filter is described and put together from a file. A kind says how large its layers are by its [`Growth`], and what
//! they are by its [`Layer`].

use alloc::vec;
use alloc::vec::Vec;

use super::{Assemble, Description, Kind, Promise, Stats};
use crate::bits::{Bitmap, Bits};
use crate::hash::{Digest, Digester};
use crate::{Error, Result};

/// The bits of the first part, the state: one line at least.
pub(super) const STATE_BITS: u64 = 512;

/// In how many steps a layer is taken to be filled, where its rate is predicted: with twice as many, predictions
/// differ by less than a thousandth.
const STEPS: u32 = 8;

/// The layers: their number, sizes and rates, as a description holds them in whole numbers.
pub trait Growth: Copy {
    /// The size of a layer.
    type Shape: Copy;

    /// The kind.
    const KIND: Kind;

    /// The cache lines that a lookup reads in a layer; `None` for one per hash.
    const CACHE_LINES: Option<u32> = None;

    /// The number of words of the state that are in use.
    const STATE_WORDS: u64;

    /// The growth of a description, and the number of its layers.
    ///
    /// # Errors
    ///
    /// Names the first property that the kind cannot have.
    fn described(description: &Description) -> Result<(Self, u32)>;

    /// Returns what a description holds as the kind's own parameter, and the hashes of the first layer.
    fn detail(self, layers: u32) -> (u32, u32);

    /// The keys of the first layer, and the rate of all together.
    fn promise(self) -> Promise;

    /// The shape of layer `index`, from 0.
    ///
    /// # Errors
    ///
    /// When there can be no such layer: it would be too large, too strict or one too many.
    fn layer(self, index: u32) -> Result<Self::Shape>;

    /// The keys that layer `index` takes before the next one is made; one at least.
    fn capacity(self, index: u32) -> u64;

    /// The bits that a layer takes.
    fn stored_bits(shape: Self::Shape) -> u64;

    /// Predicts the rate of a layer that holds this many keys.
    fn rate_with(shape: Self::Shape, keys: f64) -> f64;

    /// Predicts the rate of all layers after `keys` distinct keys, of which those that were found already are not
    /// inserted.
    fn predicted_rate(self, keys: u64) -> Option<f64> {
        let mut left = keys as f64;
        let mut misses = 1.0;
        for index in 0.. {
            let shape = self.layer(index).ok()?;
            let is_last = self.layer(index + 1).is_err();
            let mut held = 0.0;
            for step in 0..STEPS {
                let room = self.capacity(index) as f64 / f64::from(STEPS);
                let new = misses * (1.0 - Self::rate_with(shape, held + room / 2.0));
                let inserted = match is_last && step + 1 == STEPS {
                    true => left * new,
                    false => room.min(left * new),
                };
                held += inserted;
                left -= inserted / new;
            }
            misses *= 1.0 - Self::rate_with(shape, held);
            // What rounding leaves is no key.
            if is_last || left < 1e-6 {
                break;
            }
        }
        Some(1.0 - misses)
    }

    /// Refuses a state that no filter of this many layers has, where a wrong one would do harm.
    ///
    /// # Errors
    ///
    /// Names the number that cannot be.
    fn check_state(self, _state: &impl Bits, _layers: u32) -> Result<()> {
        Ok(())
    }

    /// The bits of this many layers and the state.
    fn bits(self, layers: u32) -> u64 {
        let layer = |index| self.layer(index).map_or(u64::MAX, Self::stored_bits);
        (0..layers).map(layer).fold(STATE_BITS, u64::saturating_add)
    }
}

/// A filter of fixed size that is part of one that grows.
pub trait Layer<G: Growth>: Sized {
    /// The storage of the bits.
    type Bits: Bits;

    /// The layer over bits that exist already.
    ///
    /// # Errors
    ///
    /// When they are not as many as the shape has.
    fn over(bits: Self::Bits, shape: G::Shape, digester: &Digester) -> Result<Self>;

    /// Returns whether a key with this digest may be in the layer.
    fn holds(&self, digest: Digest) -> bool;

    /// Returns what the layer holds now.
    fn statistics(&self) -> Stats;

    /// The bits, as they are stored.
    fn stored(&self) -> &Self::Bits;
}

/// A filter without the meaning of its layers.
#[derive(Clone)]
pub struct Layered<B, L, G> {
    /// Numbers about the layers: one line, and what else the kind has.
    pub(super) state: B,
    /// Oldest first; never none.
    pub(super) layers: Vec<L>,
    pub(super) growth: G,
    pub(super) digester: Digester,
    /// The keys that the newest layer takes.
    pub(super) capacity: u64,
    /// The most bits that the filter may have.
    pub(super) most_bits: u64,
}

impl<L: Layer<G, Bits = Bitmap>, G: Growth> Layered<Bitmap, L, G> {
    /// An empty filter of one layer.
    pub(super) fn new(growth: G, digester: Digester) -> Result<Self> {
        let shape = growth.layer(0)?;
        let first = L::over(Bitmap::new(G::stored_bits(shape))?, shape, &digester)?;
        let state = Bitmap::new(STATE_BITS)?;
        Ok(Layered::of(state, vec![first], growth, digester))
    }

    /// Gives back all layers but the first, and forgets the state; the first layer is the caller's to clear.
    pub(super) fn shrink_to_first(&mut self) -> &mut L {
        self.layers.truncate(1);
        self.state.clear_all();
        self.capacity = self.growth.capacity(0);
        self.newest()
    }

    /// The layer that keys go into.
    pub(super) fn newest(&mut self) -> &mut L {
        self.layers.last_mut().expect("there is always a layer")
    }

    /// Adds to a word of the state.
    pub(super) fn count(&mut self, word: u64, more: u64) {
        let count = self.state.word(word).saturating_add(more);
        self.state.set_word(word, count);
    }

    /// Begins a new layer, whose part of the state is the caller's to write. False, and nothing has changed, when there can
    /// be no such layer or there is no memory for it.
    pub(super) fn grow(&mut self) -> bool {
        let index = self.layers.len() as u32;
        let Ok(shape) = self.growth.layer(index) else {
            return false;
        };
        if self.growth.bits(index + 1) > self.most_bits {
            return false;
        }
        let bits = Bitmap::new(G::stored_bits(shape));
        let Ok(layer) = bits.and_then(|bits| L::over(bits, shape, &self.digester)) else {
            return false;
        };
        self.layers.push(layer);
        self.capacity = self.growth.capacity(index);
        true
    }
}

impl<B: Bits, L: Layer<G, Bits = B>, G: Growth> Layered<B, L, G> {
    /// A filter of layers that exist already; there is one at least.
    pub(super) fn of(state: B, layers: Vec<L>, growth: G, digester: Digester) -> Self {
        Layered {
            state,
            capacity: growth.capacity(layers.len() as u32 - 1),
            layers,
            growth,
            digester,
            most_bits: u64::MAX,
        }
    }

    /// Returns whether any layer may have a key with this digest; asks the newest first.
    #[inline]
    pub(super) fn contains_digest(&self, digest: Digest) -> bool {
        let mut newest_first = self.layers.iter().rev();
        newest_first.any(|layer| layer.holds(digest))
    }

    /// Returns what all layers hold together. Where the keys of the newest are counted, `newest` is their number.
    pub(super) fn stats(&self, newest: Option<u64>) -> Stats {
        let mut stats = Stats {
            bits: 0,
            ones: 0,
            keys: Some(0.0),
            rate: 0.0,
            promise: Some(Promise {
                keys: self.capacity(),
                rate: self.growth.promise().rate,
            }),
        };
        for (left, layer) in (0..self.layers.len()).rev().zip(&self.layers) {
            let layer = layer.statistics();
            let counted = newest.filter(|_| left == 0).map(|keys| keys as f64);
            stats.bits += layer.bits;
            stats.ones += layer.ones;
            stats.keys = stats
                .keys
                .zip(counted.or(layer.keys))
                .map(|(sum, keys)| sum + keys);
            stats.rate += layer.rate - stats.rate * layer.rate;
        }
        stats
    }

    /// The keys that the layers there are take.
    pub(super) fn capacity(&self) -> u64 {
        let older = self.layers.len() as u32 - 1;
        let older = (0..older).map(|index| self.growth.capacity(index));
        older.fold(self.capacity, u64::saturating_add)
    }
}

/// The description of a filter of this many layers.
pub(super) fn describe<G: Growth>(growth: G, layers: u32, digester: Digester) -> Description {
    let (detail, hashes) = growth.detail(layers);
    Description {
        kind: G::KIND,
        hashing: digester.into(),
        bits: growth.bits(layers),
        hashes,
        detail,
        promise: Some(growth.promise()),
    }
}

/// The bits of the state of a filter that the growth has found possible: what the layers leave.
fn state_bits<G: Growth>(description: &Description, growth: G, layers: u32) -> u64 {
    description.bits - growth.bits(layers) + STATE_BITS
}

impl<B: Bits, L: Layer<G, Bits = B>, G: Growth> Assemble for Layered<B, L, G> {
    type Bits = B;

    fn description(&self) -> Description {
        let described = describe(self.growth, self.layers.len() as u32, self.digester.clone());
        let bits = described
            .bits
            .saturating_add(self.state.size() - STATE_BITS);
        Description { bits, ..described }
    }

    fn parts(&self) -> Vec<&B> {
        let layers = self.layers.iter().map(L::stored);
        [&self.state].into_iter().chain(layers).collect()
    }

    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        let (growth, _) = G::described(description).ok()?;
        growth.predicted_rate(keys)
    }

    fn cache_lines(description: &Description) -> u32 {
        G::CACHE_LINES.unwrap_or(description.hashes)
    }

    fn check(description: &Description) -> Result<()> {
        description.digester()?;
        G::described(description).map(drop)
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        Self::check(description)?;
        let (growth, layers) = G::described(description)?;
        let state = state_bits(description, growth, layers);
        let bits = |index| growth.layer(index).map(G::stored_bits);
        let layers = (0..layers).map(bits);
        [Ok(state)].into_iter().chain(layers).collect()
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Self> {
        let digester = description.digester()?;
        let (growth, layers) = G::described(description)?;
        let (words, bits) = (G::STATE_WORDS, state_bits(description, growth, layers));
        let (state, parts) = description.state_and_others(parts, layers as usize, words, bits)?;
        growth.check_state(&state, layers)?;
        let layers = (0..).zip(parts).map(|(index, bits)| {
            let shape = growth.layer(index)?;
            L::over(bits, shape, &digester)
        });
        let layers = layers.collect::<Result<_>>()?;
        Ok(Layered::of(state, layers, growth, digester))
    }
}

/// Refuses a union: layers of one may be where the other's have other sizes, and no layer may take more keys than its
/// capacity.
pub(super) fn refuse_union(kind: Kind) -> Result<()> {
    Err(Error::Unsupported {
        kind: kind.name(),
        what: "be joined with another",
        instead: "insert the keys of one into the other, or ask both",
    })
}
