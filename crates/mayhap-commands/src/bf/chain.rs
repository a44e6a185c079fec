//! A filter of the `BF.*` commands: layers of fixed size, the newest of which takes keys.
//!
//! It counts its keys exactly, which is what the commands promise. What cannot be done whole is not begun: layers that a batch
//! of keys needs are made before its first key goes in.
//!
//! Most filters are small, one for each user. They are kept as the words of their bits alone (`small.rs`) until they grow.

use std::borrow::Cow;
use std::collections::HashSet;

use mayhap::bits::Bitmap;
use mayhap::{Assemble as _, Filter as _};

use super::layer::{self, Layer};
use super::small::Small;
use super::{Plan, redisbloom, stream};
use crate::census::{BLOOM, Tally};
use crate::limits::{Allows, Refusal};
use crate::pieces::{self, Pieces};
use crate::value::{self, Mover};

/// A filter of the `BF.*` commands.
pub struct Chain {
    body: Body,
    plan: Plan,
}

#[derive(Clone)]
enum Body {
    /// The first layer.
    Small(Small),
    /// Oldest first; never none.
    Layers(Vec<Layer>),
}

impl Chain {
    /// An empty filter.
    ///
    /// # Errors
    ///
    /// When it is not allowed, or there is no memory for it.
    pub fn new(plan: Plan, allows: Allows<'_>) -> Result<Chain, Refusal> {
        let description = plan.describe(0, plan.capacity);
        let description = description.map_err(|_| Refusal::Rate)?;
        if Small::holds(&description) && allows(0, description.bits / 8) {
            let small = Small::new(&description).ok_or(Refusal::Memory)?;
            return Ok(Chain::counted(plan, Body::Small(small)));
        }
        let layer = Layer::new(&plan, 0, plan.capacity, 0, allows)?;
        Ok(Chain::counted(plan, Body::Layers(vec![layer])))
    }

    /// A filter of existing layers; there is one at least.
    pub(crate) fn of(plan: Plan, layers: Vec<Layer>) -> Chain {
        let small = match &layers[..] {
            [first] => Small::of(&plan, first),
            _ => None,
        };
        Chain::counted(plan, small.map_or(Body::Layers(layers), Body::Small))
    }

    /// Makes a filter and counts it in the census.
    fn counted(plan: Plan, body: Body) -> Chain {
        let chain = Chain { body, plan };
        BLOOM.enter(chain.tally());
        chain
    }

    /// The layers, to change them, but not the number of keys that each reports; `None` where there is no memory for a small
    /// filter as a layer.
    fn widened(&mut self) -> Option<&mut Vec<Layer>> {
        if let Body::Small(small) = &self.body {
            let layer = small.layer(&self.plan)?;
            let before = self.tally();
            self.body = Body::Layers(vec![layer]);
            BLOOM.recount(before, self.tally());
        }
        match &mut self.body {
            Body::Layers(layers) => Some(layers),
            Body::Small(_) => None,
        }
    }

    /// The capacity, rate and growth that it was made with.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// The layers, oldest first; a small filter has none.
    pub(crate) fn layers(&self) -> &[Layer] {
        match &self.body {
            Body::Layers(layers) => layers,
            Body::Small(_) => &[],
        }
    }

    /// The number of layers.
    pub(crate) fn count(&self) -> usize {
        self.layers().len().max(1)
    }

    /// The keys that were new when they went in.
    pub fn keys(&self) -> u64 {
        match &self.body {
            Body::Layers(layers) => layers.iter().map(|layer| layer.keys).sum(),
            Body::Small(small) => small.keys,
        }
    }

    /// The keys that its layers have room for.
    pub fn capacity(&self) -> u64 {
        match &self.body {
            Body::Layers(layers) => {
                let layers = layers.iter().map(|layer| layer.capacity);
                layers.fold(0, u64::saturating_add)
            }
            Body::Small(_) => self.plan.capacity,
        }
    }

    /// Reallocates its blocks to the size they have.
    pub(super) fn relocate(&mut self, mover: &impl Mover) {
        match &mut self.body {
            Body::Layers(layers) => {
                let filters = layers.iter_mut().map(|layer| &mut layer.filter);
                filters.for_each(value::reallocate);
                mover.relocate(layers);
            }
            Body::Small(small) => small.relocate(mover),
        }
    }

    /// Its numbers for the census.
    fn tally(&self) -> Tally {
        Tally {
            layers: self.count() as u64,
            keys: self.keys(),
            capacity: self.capacity(),
            bytes: self.bytes(),
        }
    }

    /// The rate of the next layer, divided by that of the newest.
    pub(crate) fn tightening(&self) -> f64 {
        let next = self.count();
        self.plan.rate_of(next) / self.plan.rate_of(next - 1)
    }

    /// The memory it takes.
    pub fn bytes(&self) -> u64 {
        let bytes = match &self.body {
            Body::Layers(layers) => {
                let bits = layers.iter().map(Layer::bytes).sum::<u64>();
                bits + (layers.len() * size_of::<Layer>()) as u64
            }
            Body::Small(small) => small.bytes(),
        };
        size_of::<Chain>() as u64 + bytes
    }

    /// Returns whether the key may be in the filter: false is certain.
    pub fn contains(&self, key: &[u8]) -> bool {
        match &self.body {
            Body::Small(small) => small.contains(key),
            Body::Layers(layers) => {
                let mut newest_first = layers.iter().rev();
                newest_first.any(|layer| layer.filter.contains_bytes(key))
            }
        }
    }

    /// Looks up each key; false is certain.
    pub fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        match &self.body {
            Body::Small(small) => {
                for (key, found) in keys.iter().zip(found) {
                    *found = small.contains(key);
                }
            }
            Body::Layers(layers) => layer::contains(layers, keys, found),
        }
    }

    /// Inserts every key, or none; `new` reports which were definitely not in the filter before.
    ///
    /// # Errors
    ///
    /// When there is no room for all of them, and the filter may not grow. Nothing has changed then.
    pub fn insert_batch(
        &mut self,
        keys: &[&[u8]],
        new: &mut [bool],
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        let before = self.keys();
        if let Body::Small(small) = &mut self.body
            && before.saturating_add(keys.len() as u64) <= self.plan.capacity
        {
            for (key, new) in keys.iter().zip(new) {
                *new = small.insert(key);
            }
            BLOOM.insert(small.keys - before);
            return Ok(());
        }
        let mut spare = Vec::new();
        if self.room() < keys.len() as u64 {
            spare = self.spare_for(self.new_keys(keys), allows)?;
        }
        let layers = self.widened().ok_or(Refusal::Memory)?;
        let mut spare = spare.into_iter();
        let (mut keys, mut new) = (keys, new);
        while !keys.is_empty() {
            let room = layers.last().map_or(0, Layer::room);
            let taken = usize::try_from(room).unwrap_or(usize::MAX).min(keys.len());
            let (first, later) = new.split_at_mut(taken);
            layer::insert(layers, &keys[..taken], first);
            (keys, new) = (&keys[taken..], later);
            if keys.is_empty() {
                break;
            }
            if layers.last().is_some_and(|layer| layer.room() > 0) {
                continue;
            }
            match spare.next() {
                Some(layer) => {
                    BLOOM.grow(layer.capacity, layer.bytes() + size_of::<Layer>() as u64);
                    layers.push(layer);
                }
                // `spare_for` has made room for all new keys, so those left over are in the filter already.
                None => {
                    new.fill(false);
                    break;
                }
            }
        }
        BLOOM.insert(self.keys() - before);
        Ok(())
    }

    /// Inserts a batch that another server has accepted and that is refused as a whole: key by key.
    ///
    /// A filter in RedisBloom's layout that does not grow takes the keys that it took there, and stops where it stopped there. In
    /// any other, nothing shows which keys the other server refused, so all go in, past the capacity if need be: no key is lost.
    pub(crate) fn obey_batch(&mut self, keys: &[&[u8]], new: &mut [bool], allows: Allows<'_>) {
        let is_exact = self.plan.expansion.is_none() && redisbloom::is_foreign(self);
        new.fill(false);
        for (key, new) in keys.chunks(1).zip(new.chunks_mut(1)) {
            match self.insert_batch(key, new, allows) {
                Ok(()) => {}
                Err(_) if is_exact => return,
                Err(_) => {
                    if let Some(layers) = self.widened() {
                        layer::insert(layers, key, new);
                    }
                }
            }
        }
    }

    /// The keys that the newest layer still has room for.
    fn room(&self) -> u64 {
        match &self.body {
            Body::Layers(layers) => layers.last().map_or(0, Layer::room),
            Body::Small(small) => self.plan.capacity.saturating_sub(small.keys),
        }
    }

    /// Counts the distinct keys that are not in the filter.
    fn new_keys(&self, keys: &[&[u8]]) -> u64 {
        let mut found = vec![false; keys.len()];
        self.contains_batch(keys, &mut found);
        let absent = keys.iter().zip(found).filter(|(_, found)| !found);
        absent.map(|(key, _)| *key).collect::<HashSet<_>>().len() as u64
    }

    /// Makes the layers that this many more keys need.
    fn spare_for(&self, keys: u64, allows: Allows<'_>) -> Result<Vec<Layer>, Refusal> {
        let mut room = self.room();
        let (mut spare, mut bytes, mut capacity) = (Vec::new(), self.bytes(), self.capacity());
        while room < keys {
            let index = self.count() + spare.len();
            let more = self.plan.next(index, capacity)?;
            let layer = Layer::new(&self.plan, index, more, bytes, allows)?;
            bytes += layer.bytes();
            capacity = capacity.saturating_add(more);
            room = room.saturating_add(more);
            spare.push(layer);
        }
        Ok(spare)
    }

    /// Simulates growth until there is room for `keys` keys, or the filter takes more than `limit` bytes, where 0 is no limit.
    /// Returns the capacity it reaches, and why it cannot grow further.
    fn grown_to(&self, keys: u64, limit: u64) -> (u64, Result<(), Refusal>) {
        let (mut capacity, mut bytes) = (self.capacity(), self.bytes());
        for index in self.count().. {
            if capacity >= keys {
                break;
            }
            let next = self.plan.next(index, capacity).and_then(|more| {
                let layer = self.plan.describe(index, more);
                let layer = layer.map_err(|_| Refusal::Rate)?;
                Ok((more, layer.bits / 8))
            });
            let (more, taken) = match next {
                Ok(next) => next,
                Err(refusal) => return (capacity, Err(refusal)),
            };
            bytes = bytes.saturating_add(taken);
            if limit > 0 && bytes > limit {
                return (capacity, Err(Refusal::Memory));
            }
            capacity = capacity.saturating_add(more);
        }
        (capacity, Ok(()))
    }

    /// The largest capacity that it can reach within this many bytes.
    pub(crate) fn most_capacity(&self, limit: u64) -> u64 {
        self.grown_to(u64::MAX, limit).0
    }

    /// Checks that it can grow to this many keys within this many bytes.
    pub(crate) fn scales_to(&self, keys: u64, limit: u64) -> Result<(), Refusal> {
        self.grown_to(keys, limit).1
    }
}

impl Pieces for Chain {
    fn whole(&self) -> Cow<'_, Chain> {
        let Body::Small(small) = &self.body else {
            return Cow::Borrowed(self);
        };
        let layer = small.layer(&self.plan);
        let layer = layer.expect("there is memory for a small filter");
        Cow::Owned(Chain::counted(self.plan, Body::Layers(vec![layer])))
    }

    fn first(&self) -> Vec<u8> {
        match redisbloom::is_foreign(self) {
            true => redisbloom::header(self),
            false => stream::first(self),
        }
    }

    fn bits(&self) -> Vec<&Bitmap> {
        let layers = self.layers().iter();
        layers.flat_map(|layer| layer.filter.parts()).collect()
    }

    fn is_sealed(&self) -> bool {
        !redisbloom::is_foreign(self)
    }

    fn load_bits(&mut self, index: usize, start: u64, bytes: &[u8]) -> bool {
        let fits = |bits: &&Bitmap| pieces::fits(bits, start, bytes);
        let Some(layers) = self.widened() else {
            return false;
        };
        let Some(layer) = layers.get_mut(index) else {
            return false;
        };
        if !layer.filter.parts().first().is_some_and(fits) {
            return false;
        }
        pieces::with_bits(&mut layer.filter, |bits| {
            pieces::replace(bits, start, bytes);
        })
    }
}

impl Clone for Chain {
    fn clone(&self) -> Chain {
        Chain::counted(self.plan, self.body.clone())
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        BLOOM.leave(self.tally());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Kind;

    const ANY: Allows<'static> = &|_, _| true;

    fn plan(capacity: u64, rate: f64, expansion: Option<u32>) -> Plan {
        Plan {
            capacity,
            rate,
            expansion,
        }
    }

    fn insert(chain: &mut Chain, keys: std::ops::Range<u32>) -> u64 {
        let keys: Vec<[u8; 4]> = keys.map(u32::to_le_bytes).collect();
        let mut count = 0;
        for keys in keys.chunks(1000) {
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let mut new = vec![false; keys.len()];
            chain.insert_batch(&keys, &mut new, ANY).expect("room");
            count += new.iter().filter(|&&new| new).count() as u64;
        }
        count
    }

    fn rate(chain: &Chain, keys: std::ops::Range<u32>) -> f64 {
        let all = keys.len() as f64;
        let found = keys.filter(|key| chain.contains(&key.to_le_bytes()));
        found.count() as f64 / all
    }

    #[test]
    fn a_filter_keeps_its_rate_fixed_and_grown() {
        // 2^20 keys at 1 %; 400 000 absent ones, so that a standard deviation is 0.016 %.
        let keys = 1 << 20;
        for (capacity, expansion, most_bits) in [
            (keys, None, 10.0),
            (keys, Some(2), 10.4),
            (keys / 128, Some(2), 18.2),
        ] {
            let mut chain = Chain::new(plan(capacity, 0.01, expansion), ANY).expect("made");
            let new = insert(&mut chain, 0..keys as u32);
            assert_eq!(new, chain.keys());
            assert_eq!(rate(&chain, 0..keys as u32), 1.0);
            let wrong = rate(&chain, 1 << 30..(1 << 30) + 400_000);
            let bits = (chain.bytes() * 8) as f64 / keys as f64;
            eprintln!(
                "{capacity} {expansion:?}: {} layers, {bits:.2} bits a key, rate {wrong:.5}",
                chain.layers().len()
            );
            assert!(wrong <= 0.01 + 0.0005, "{wrong}");
            assert!(bits <= most_bits, "{bits}");
        }
    }

    #[test]
    fn what_a_filter_cannot_take_whole_changes_nothing() {
        let mut chain = Chain::new(plan(100, 0.01, None), ANY).expect("made");
        insert(&mut chain, 0..90);
        let before = chain.keys();
        let keys: Vec<[u8; 4]> = (1000..1011_u32).map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = vec![false; keys.len()];
        let room = (100 - before) as usize;
        assert!(room < keys.len() || before < 90);

        let many: Vec<&[u8]> = keys.iter().copied().cycle().take(200).collect();
        let mut many_new = vec![false; many.len()];
        let refused = chain.insert_batch(&keys, &mut new, ANY);
        assert_eq!(refused, Err(Refusal::Full));
        assert_eq!(chain.keys(), before);
        assert!(rate(&chain, 1000..1011) < 0.5);

        // The same ten keys again and again have room.
        let ten: Vec<&[u8]> = many
            .iter()
            .map(|key| if *key == keys[10] { keys[0] } else { *key })
            .collect();
        chain
            .insert_batch(&ten, &mut many_new, ANY)
            .expect("ten keys");
        assert_eq!(
            chain.keys(),
            before + many_new.iter().filter(|&&new| new).count() as u64
        );
        assert_eq!(rate(&chain, 1000..1010), 1.0);
    }

    #[test]
    fn keys_of_one_batch_may_fill_several_layers() {
        for expansion in [1, 2, 7] {
            let mut one = Chain::new(plan(3, 0.001, Some(expansion)), ANY).expect("made");
            let mut many = one.clone();
            for key in 0..5000 {
                insert(&mut one, key..key + 1);
            }
            insert(&mut many, 0..5000);
            assert_eq!(one.keys(), many.keys());
            assert_eq!(one.layers().len(), many.layers().len());
            assert!(one.layers().len() < 150, "{}", one.layers().len());
            assert_eq!(rate(&many, 0..5000), 1.0);
            assert!(rate(&many, 1 << 20..(1 << 20) + 20_000) < 0.0015);
        }
    }

    #[test]
    fn memory_that_is_not_allowed_is_not_taken() {
        let small: Allows<'_> = &|now, more| now + more <= 4096;
        let refused = Chain::new(plan(1 << 20, 0.01, Some(2)), small);
        assert_eq!(refused.err(), Some(Refusal::Memory));

        let mut chain = Chain::new(plan(1000, 0.01, Some(2)), small).expect("small");
        let keys: Vec<[u8; 4]> = (0..10_000_u32).map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = vec![false; keys.len()];
        assert_eq!(
            chain.insert_batch(&keys, &mut new, small),
            Err(Refusal::Memory)
        );
        assert_eq!((chain.keys(), chain.layers().len()), (0, 1));
    }

    #[test]
    fn rates_below_those_of_cache_lines_are_had_too() {
        let mut chain = Chain::new(plan(1000, 1e-12, Some(2)), ANY).expect("made");
        assert_eq!(chain.whole().layers()[0].filter.kind(), Kind::Bloom);
        insert(&mut chain, 0..5000);
        assert_eq!((chain.keys(), rate(&chain, 0..5000)), (5000, 1.0));
    }
}
