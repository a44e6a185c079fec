//! A filter of the `BF.*` commands: layers of fixed size, the newest of which takes keys.
//!
//! A `NONSCALING` filter has one layer, which keeps the rate asked for. One that scales gives its first layer
//! [`FIRST_SHARE`] of the rate, because most filters never grow past it. The rest is for the later ones: [`ALIKE`] equal
//! shares, then ones that fall with the cube of the layer, so that the sum stays below the rate asked for, however far
//! it grows, and no layer is ever too strict. Unlike [`mayhap::Scalable`] a chain grows by
//! any factor and counts its keys exactly, which is what the commands promise.
//!
//! What cannot be done whole is not begun: layers that a batch of keys needs are made before its first key goes in.

use std::collections::HashSet;

use mayhap::bits::Bitmap;
use mayhap::{
    AnyFilter, Assemble as _, Blocked, Bloom, Description, Filter as _, Kind, Result as Mayhap,
};

use crate::census::{BLOOM, Tally};
use crate::pieces::{self, Pieces};
use crate::{redisbloom, stream};

/// The share of the rate that the first layer of a filter that scales has: 0.4 bits a key more than all of it.
const FIRST_SHARE: f64 = 0.84;

/// How many layers after the first have the same rate. Filters that grow mostly do so a few times, and the newest layer is
/// the largest: it should not be the strictest too. Grown from 1/128 of its keys at 1 %, a filter takes 17.8 bits a key so,
/// and 18.8 where every rate is three quarters of the one before.
const ALIKE: usize = 6;

/// All shares of the later layers together, the first of them as 1: the equal ones, and for the sum over all `i` above
/// `ALIKE` of `(ALIKE / i)^3` the integral from `ALIKE` on, `ALIKE / 2`, which is more.
const ALL_SHARES: f64 = ALIKE as f64 * 1.5;

/// A layer takes at least this part of what the older ones took, so that a lookup asks a number of layers that grows
/// with the logarithm of the keys only, also where the expansion is 1.
const LEAST_PART: u64 = 16;

/// How much larger than the standard filter the first layer may be as a [`Blocked`] one, which costs one memory access
/// and not one per hash. At 10^-5 it is as much.
const MOST_FIRST: f64 = 1.25;

/// The same of later layers, which are stricter: memory is what filters that grow lack.
const MOST_LATER: f64 = 1.08;

/// What a filter was asked to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// The keys of the first layer.
    pub(crate) capacity: u64,
    /// The false-positive rate.
    pub(crate) rate: f64,
    /// How many times the keys of a layer the next takes; `None` for a filter that does not grow.
    pub(crate) expansion: Option<u32>,
}

impl Plan {
    /// Whether there can be such a filter.
    pub(crate) fn is_valid(&self) -> bool {
        let is_rate = self.rate > 0.0 && self.rate < 1.0;
        self.capacity > 0 && is_rate && self.expansion != Some(0)
    }

    /// The rate of layer `index`, from 0.
    pub(crate) fn rate_of(&self, index: usize) -> f64 {
        if self.expansion.is_none() {
            return self.rate;
        }
        let Some(later) = index.checked_sub(1) else {
            return self.rate * FIRST_SHARE;
        };
        let part = ALIKE as f64 / (later + 1).max(ALIKE) as f64;
        self.rate * (1.0 - FIRST_SHARE) / ALL_SHARES * part.powi(3)
    }

    /// The keys of layer `index`, when the older ones take `capacity` keys together.
    fn next(&self, index: usize, capacity: u64) -> Result<u64, Refusal> {
        let expansion = self.expansion.ok_or(Refusal::Full)?;
        let power = u32::try_from(index).unwrap_or(u32::MAX);
        let times = u64::from(expansion).checked_pow(power);
        let keys = times.and_then(|times| times.checked_mul(self.capacity));
        let keys = keys.ok_or(Refusal::Memory)?.max(capacity / LEAST_PART);
        // A little more, so that keys lost to rounding do not begin a layer early.
        Ok(keys.saturating_add(keys / 512))
    }

    /// The description of layer `index`, for this many keys, of the kind that suits its rate.
    fn describe(&self, index: usize, capacity: u64) -> Mayhap<Description> {
        let rate = self.rate_of(index);
        let most = if index == 0 { MOST_FIRST } else { MOST_LATER };
        let bloom = Bloom::plan(capacity, rate)?;
        match Blocked::plan(capacity, rate) {
            Ok(blocked) if blocked.bits as f64 <= bloom.bits as f64 * most => Ok(blocked),
            _ => Ok(bloom),
        }
    }
}

/// One filter of fixed size, and what is in it.
#[derive(Clone)]
pub(crate) struct Layer {
    pub(crate) filter: AnyFilter,
    /// The keys it takes.
    pub(crate) capacity: u64,
    /// The keys that were new when they went in.
    pub(crate) keys: u64,
}

impl Layer {
    /// The bytes of its bits.
    pub(crate) fn bytes(&self) -> u64 {
        self.filter.description().bits.div_ceil(64) * 8
    }

    /// The number of its bits.
    pub(crate) fn bits(&self) -> u64 {
        self.filter.description().bits
    }

    /// The bits that a key sets.
    pub(crate) fn hashes(&self) -> u32 {
        self.filter.description().hashes
    }

    fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.keys)
    }

    /// Inserts keys, for which there must be room.
    fn insert(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        let filter = self.filter.as_insert();
        let filter = filter.expect("layers are of kinds that take keys");
        filter.insert_bytes_batch(keys, new);
        self.keys += new.iter().map(|&new| u64::from(new)).sum::<u64>();
    }
}

/// Why keys or a filter were refused; nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It does not grow, and has no room for all of them.
    Full,
    /// It would take more memory than is allowed, or than there is.
    Memory,
    /// The rate of one more layer is too low to be had.
    Rate,
}

/// Says whether this many bytes more may be taken by a filter that has `now` bytes.
pub(crate) type Allows<'a> = &'a dyn Fn(u64, u64) -> bool;

/// A filter of the `BF.*` commands.
pub(crate) struct Chain {
    /// Oldest first; never none.
    layers: Vec<Layer>,
    plan: Plan,
}

impl Chain {
    /// An empty filter.
    pub(crate) fn new(plan: Plan, allows: Allows<'_>) -> Result<Chain, Refusal> {
        let layer = make(&plan, 0, plan.capacity, 0, allows)?;
        Ok(Chain::of(plan, vec![layer]))
    }

    /// A filter of layers that exist already; there is one at least.
    pub(crate) fn of(plan: Plan, layers: Vec<Layer>) -> Chain {
        let chain = Chain { layers, plan };
        BLOOM.enter(chain.tally());
        chain
    }

    /// What it was asked to be.
    pub(crate) fn plan(&self) -> Plan {
        self.plan
    }

    /// The layers, oldest first.
    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The layers, to be moved: not to be changed in number, keys or size.
    pub(crate) fn layers_mut(&mut self) -> &mut Vec<Layer> {
        &mut self.layers
    }

    /// The keys that were new when they went in.
    pub(crate) fn keys(&self) -> u64 {
        self.layers.iter().map(|layer| layer.keys).sum()
    }

    /// The keys that the layers there are take.
    pub(crate) fn capacity(&self) -> u64 {
        let layers = self.layers.iter().map(|layer| layer.capacity);
        layers.fold(0, u64::saturating_add)
    }

    /// What it adds to all filters.
    fn tally(&self) -> Tally {
        Tally {
            layers: self.layers.len() as u64,
            keys: self.keys(),
            capacity: self.capacity(),
            bytes: self.bytes(),
        }
    }

    /// The rate of the next layer, divided by that of the newest.
    pub(crate) fn tightening(&self) -> f64 {
        let next = self.layers.len();
        self.plan.rate_of(next) / self.plan.rate_of(next - 1)
    }

    /// The memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let layers = self.layers.iter().map(Layer::bytes).sum::<u64>();
        layers + (size_of::<Chain>() + self.layers.len() * size_of::<Layer>()) as u64
    }

    /// Whether the key may be in the filter.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let mut newest_first = self.layers.iter().rev();
        newest_first.any(|layer| layer.filter.contains_bytes(key))
    }

    /// Whether each key may be in the filter.
    pub(crate) fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        contained(&self.layers, keys, found);
    }

    /// Inserts each key; `new` says whether it was definitely new.
    pub(crate) fn insert_batch(
        &mut self,
        keys: &[&[u8]],
        new: &mut [bool],
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        let room = self.layers.last().map_or(0, Layer::room);
        let mut spare = Vec::new();
        if room < keys.len() as u64 {
            spare = self.spare_for(self.new_keys(keys), allows)?;
        }
        let before = self.keys();
        let mut spare = spare.into_iter();
        let (mut keys, mut new) = (keys, new);
        while !keys.is_empty() {
            let room = self.layers.last().map_or(0, Layer::room);
            let taken = usize::try_from(room).unwrap_or(usize::MAX).min(keys.len());
            let (first, later) = new.split_at_mut(taken);
            self.insert_within(&keys[..taken], first);
            (keys, new) = (&keys[taken..], later);
            if keys.is_empty() {
                break;
            }
            if self.layers.last().is_some_and(|layer| layer.room() > 0) {
                continue;
            }
            match spare.next() {
                Some(layer) => {
                    BLOOM.grow(layer.capacity, layer.bytes() + size_of::<Layer>() as u64);
                    self.layers.push(layer);
                }
                // The keys left over are in the filter already: `spare_for` has seen to that.
                None => {
                    new.fill(false);
                    break;
                }
            }
        }
        BLOOM.insert(self.keys() - before);
        Ok(())
    }

    /// Inserts keys for which the newest layer has room.
    fn insert_within(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        let Some((newest, older)) = self.layers.split_last_mut() else {
            return;
        };
        if older.is_empty() {
            return newest.insert(keys, new);
        }
        contained(older, keys, new);
        let absent: Vec<usize> = (0..keys.len()).filter(|&index| !new[index]).collect();
        let absent_keys: Vec<&[u8]> = absent.iter().map(|&index| keys[index]).collect();
        let mut absent_new = vec![false; absent.len()];
        newest.insert(&absent_keys, &mut absent_new);
        new.fill(false);
        for (index, is_new) in absent.into_iter().zip(absent_new) {
            new[index] = is_new;
        }
    }

    /// How many of the keys are not in the filter, each counted once.
    fn new_keys(&self, keys: &[&[u8]]) -> u64 {
        let mut found = vec![false; keys.len()];
        self.contains_batch(keys, &mut found);
        let absent = keys.iter().zip(found).filter(|(_, found)| !found);
        absent.map(|(key, _)| *key).collect::<HashSet<_>>().len() as u64
    }

    /// The layers that have to follow so that this many keys more have room.
    fn spare_for(&self, keys: u64, allows: Allows<'_>) -> Result<Vec<Layer>, Refusal> {
        let mut room = self.layers.last().map_or(0, Layer::room);
        let (mut spare, mut bytes, mut capacity) = (Vec::new(), self.bytes(), self.capacity());
        while room < keys {
            let index = self.layers.len() + spare.len();
            let more = self.plan.next(index, capacity)?;
            let layer = make(&self.plan, index, more, bytes, allows)?;
            bytes += layer.bytes();
            capacity = capacity.saturating_add(more);
            room = room.saturating_add(more);
            spare.push(layer);
        }
        Ok(spare)
    }

    /// Grows in thought until it has room for `keys` keys, or takes more than `limit` bytes, where 0 is no limit. Returns
    /// the keys it has room for then, and why there are no more.
    fn grown_to(&self, keys: u64, limit: u64) -> (u64, Result<(), Refusal>) {
        let (mut capacity, mut bytes) = (self.capacity(), self.bytes());
        for index in self.layers.len().. {
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

    /// The keys for which it has room at most, within this many bytes.
    pub(crate) fn most_capacity(&self, limit: u64) -> u64 {
        self.grown_to(u64::MAX, limit).0
    }

    /// Whether it can grow to this many keys within this many bytes.
    pub(crate) fn scales_to(&self, keys: u64, limit: u64) -> Result<(), Refusal> {
        self.grown_to(keys, limit).1
    }
}

impl Pieces for Chain {
    fn first(&self) -> Vec<u8> {
        match redisbloom::is_foreign(self) {
            true => redisbloom::header(self),
            false => stream::first(self),
        }
    }

    fn bits(&self) -> Vec<&Bitmap> {
        let layers = self.layers.iter();
        layers.flat_map(|layer| layer.filter.parts()).collect()
    }

    fn is_sealed(&self) -> bool {
        !redisbloom::is_foreign(self)
    }

    fn load_bits(&mut self, index: usize, start: u64, bytes: &[u8]) -> bool {
        let fits = |bits: &&Bitmap| pieces::fits(bits, start, bytes);
        if !self.bits().get(index).is_some_and(fits) {
            return false;
        }
        let layer = &mut self.layers[index];
        pieces::with_bits(&mut layer.filter, |bits| {
            pieces::replace(bits, start, bytes);
        })
    }
}

/// A layer of this chain's kinds; false where a stream holds anything else.
pub(crate) fn is_layer(filter: &AnyFilter) -> bool {
    matches!(filter.kind(), Kind::Blocked | Kind::Bloom)
}

fn contained(layers: &[Layer], keys: &[&[u8]], found: &mut [bool]) {
    let Some((newest, older)) = layers.split_last() else {
        return found.fill(false);
    };
    newest.filter.contains_bytes_batch(keys, found);
    for layer in older.iter().rev() {
        let absent: Vec<usize> = (0..keys.len()).filter(|&index| !found[index]).collect();
        if absent.is_empty() {
            return;
        }
        let absent_keys: Vec<&[u8]> = absent.iter().map(|&index| keys[index]).collect();
        let mut absent_found = vec![false; absent.len()];
        let filter = &layer.filter;
        filter.contains_bytes_batch(&absent_keys, &mut absent_found);
        for (index, is_found) in absent.into_iter().zip(absent_found) {
            found[index] = is_found;
        }
    }
}

/// Layer `index`, empty, in a filter that has `now` bytes.
fn make(
    plan: &Plan,
    index: usize,
    capacity: u64,
    now: u64,
    allows: Allows<'_>,
) -> Result<Layer, Refusal> {
    let description = plan.describe(index, capacity);
    let description = description.map_err(|_| Refusal::Rate)?;
    if !allows(now, description.bits / 8) {
        return Err(Refusal::Memory);
    }
    let filter = AnyFilter::new(&description).map_err(|_| Refusal::Memory)?;
    Ok(Layer {
        filter,
        capacity,
        keys: 0,
    })
}

impl Clone for Chain {
    fn clone(&self) -> Chain {
        Chain::of(self.plan, self.layers.clone())
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
        assert_eq!(chain.layers()[0].filter.kind(), Kind::Bloom);
        insert(&mut chain, 0..5000);
        assert_eq!((chain.keys(), rate(&chain, 0..5000)), (5000, 1.0));
    }
}
