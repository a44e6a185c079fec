//! A small filter of `BF.*`: the words of its bits and little else.
//!
//! It has the answers and bits of the [`Bloom`](mayhap::Bloom) filter that it becomes when it grows or is dumped or saved. That one
//! takes 0.4 KB beside the bits, three times a filter of the default size.

use mayhap::{
    AnyFilter, Assemble as _, Description, Digester, Kind, Result as Mayhap, Scheme, Shape,
};

use super::Plan;
use super::layer::Layer;
use crate::pieces;
use crate::value::Mover;

/// The most bits of a small filter: they stay in the caches, so that lookups need no prefetching.
const MOST: u64 = 8 * (8 << 10);

/// A first layer of the kind [`Bloom`](mayhap::Bloom), hashed without a secret.
#[derive(Clone)]
pub(crate) struct Small {
    words: Box<[u64]>,
    shape: Shape,
    /// The keys that were new when they went in.
    pub(crate) keys: u64,
}

impl Small {
    /// Returns whether the filter of this description is small.
    pub(crate) fn holds(description: &Description) -> bool {
        let usual = Scheme::Native(Digester::default()).into();
        description.kind == Kind::Bloom && description.hashing == usual && description.bits <= MOST
    }

    /// An empty filter; `None` when there is no memory for it.
    pub(crate) fn new(description: &Description) -> Option<Small> {
        let shape = Shape::new(description.bits, description.hashes).ok()?;
        let count = description.bits.div_ceil(64) as usize;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize(count, 0);
        Some(Small {
            words: words.into_boxed_slice(),
            shape,
            keys: 0,
        })
    }

    /// Makes a small filter of a layer, if it is the first of this plan and small enough.
    pub(crate) fn of(plan: &Plan, layer: &Layer) -> Option<Small> {
        let description = plan.describe(0, plan.capacity).ok()?;
        let is_first = layer.capacity == plan.capacity && layer.filter.description() == description;
        if !is_first || !Small::holds(&description) {
            return None;
        }
        let mut small = Small::new(&description)?;
        let bits = layer.filter.parts().into_iter().next()?;
        small
            .words
            .iter_mut()
            .zip(bits.words())
            .for_each(|(word, bits)| *word = bits);
        small.keys = layer.keys;
        Some(small)
    }

    /// Makes a layer of it; `None` when there is no memory for one.
    pub(crate) fn layer(&self, plan: &Plan) -> Option<Layer> {
        let described: Mayhap<Description> = plan.describe(0, plan.capacity);
        let mut filter = AnyFilter::new(&described.ok()?).ok()?;
        pieces::with_bits(&mut filter, |bits| {
            for (index, &word) in (0..).zip(&self.words) {
                bits.set_word(index, word);
            }
        });
        Some(Layer {
            filter,
            capacity: plan.capacity,
            keys: self.keys,
        })
    }

    /// The memory of its bits.
    pub(crate) fn bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    /// The positions of a key: words, and the bit in each.
    fn positions(&self, key: &[u8]) -> impl Iterator<Item = (usize, u64)> + use<> {
        let probe = Digester::default().digest(key).probe(self.shape);
        probe.map(|position| ((position / 64) as usize, 1 << (position % 64)))
    }

    /// Returns whether a key may be in the filter: false is certain.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let mut positions = self.positions(key);
        positions.all(|(word, one)| self.words[word] & one != 0)
    }

    /// Inserts a key; true when it was definitely new.
    pub(crate) fn insert(&mut self, key: &[u8]) -> bool {
        let mut is_new = false;
        for (word, one) in self.positions(key) {
            is_new |= self.words[word] & one == 0;
            self.words[word] |= one;
        }
        self.keys += u64::from(is_new);
        is_new
    }

    /// Reallocates its block to the size it has.
    pub(crate) fn relocate(&mut self, mover: &impl Mover) {
        let mut words = std::mem::take(&mut self.words).into_vec();
        mover.relocate(&mut words);
        self.words = words.into_boxed_slice();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_filter_has_the_bits_and_answers_of_the_layer_it_becomes() {
        for (capacity, rate) in [(1, 0.5), (100, 0.01), (100, 0.001), (1000, 1e-9)] {
            let plan = Plan {
                capacity,
                rate,
                expansion: Some(2),
            };
            let description = plan.describe(0, capacity).expect("valid");
            if !Small::holds(&description) {
                assert!(capacity > 100 || description.kind != Kind::Bloom);
                continue;
            }
            let mut small = Small::new(&description).expect("small");
            let mut filter = AnyFilter::new(&description).expect("small");
            for key in (0..capacity).chain(0..2) {
                let key = key.to_le_bytes();
                let is_new = filter.insert(&key[..]).expect("it takes keys");
                assert_eq!(small.insert(&key), is_new);
            }
            let layer = small.layer(&plan).expect("small");
            assert!(layer.filter == filter && layer.keys <= capacity);
            for key in 0..10_000_u64 {
                let key = key.to_le_bytes();
                assert_eq!(small.contains(&key), filter.contains(&key[..]));
            }
            let same = Small::of(&plan, &layer).expect("it is one");
            assert!(same.words == small.words && same.keys == small.keys);
        }
    }
}
