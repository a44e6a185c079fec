//! A filter of the `CF.*` commands: the library's [`Cuckoo`], and what the commands ask of it besides.
//!
//! A first layer has fingerprints of 8 bits, as RedisBloom's have, and so the rate that its bucket size gives. Later ones
//! have longer fingerprints, so that the rate holds, however far a filter grows; see [`Plan::rate`].
//!
//! Batches go in whole or not at all. A filter is limited to the layers it has: where they have no room for a batch, one more
//! is allowed if the server says so, and the batch is tried again.
//!
//! As bytes, with little-endian numbers:
//!
//! ```text
//! head    "MAYHAPCF" version:u32 iterations:u32
//! whole   head checksum:u64, then a native file
//! first   head description state:64 bytes checksum:u64; the other pieces are bits of layers
//! ```

use std::io::{Read, Write};

use mayhap::bits::{Bitmap, Bits as _};
use mayhap::format::native::{self, Metadata};
use mayhap::{
    AnyFilter, Assemble as _, Cuckoo, CuckooOptions, Digester, Filter as _, Kind, SecretKey,
};

use crate::census::{CUCKOO, Tally};
use crate::chain::Allows;
use crate::pieces::{
    self, DESCRIPTION, Failure, Fields, Pieces, description, description_bytes, opened, sealed,
    unsealed,
};

const MAGIC: &[u8; 8] = b"MAYHAPCF";
const VERSION: u32 = 1;
const HEAD: usize = 16;

/// The bytes of the state of a filter: one line.
const STATE: usize = 64;

/// The share of the rate that the first layer of a filter that grows has in the library.
const FIRST_SHARE: f64 = 0.8;

/// The rate of any filter at most, however large its buckets are.
const MOST_RATE: f64 = 0.5;

/// What a filter was asked to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// The keys of the first layer.
    pub(crate) capacity: u64,
    /// The slots of a bucket, 1 to 255.
    pub(crate) bucket: u32,
    /// The most fingerprints that an insert moves, 1 to 65535.
    pub(crate) iterations: u32,
    /// How many times the buckets of a layer the next has, up to 32768; 0 for a filter that does not grow.
    pub(crate) expansion: u32,
}

impl Plan {
    /// The rate that fingerprints of 8 bits have in full buckets; where it grows, the first layer has that, and the others
    /// a quarter of it together. Buckets above 51 slots have longer fingerprints.
    fn rate(&self) -> f64 {
        let slots = 2.0 * f64::from(self.bucket);
        let rate = slots * (256.0 + 2.0) / (256.0 * 256.0);
        let share = if self.expansion > 0 { FIRST_SHARE } else { 1.0 };
        // A little more, so that no rounding asks for a ninth bit.
        (rate / share * 1.000_001).min(MOST_RATE)
    }

    fn options(&self, secret: Option<&SecretKey>) -> CuckooOptions {
        // Buckets are looked into breadth first: with two slots or more, 2^n of them are at most n moves away.
        let search = match self.bucket {
            1 => self.iterations.next_power_of_two().clamp(2, 1024),
            _ => 1 << self.iterations.clamp(1, 10),
        };
        CuckooOptions {
            fingerprint: None,
            bucket: Some(self.bucket),
            growth: match self.expansion {
                0 => 0,
                times => times.next_power_of_two(),
            },
            search,
            digester: secret.map_or_else(Digester::default, |key| Digester::SipHash {
                key: key.clone(),
            }),
        }
    }
}

/// Why keys or a filter were refused; nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It does not grow, and has no room for all of them.
    Full,
    /// It has expanded as often as it may.
    Expansions,
    /// It would take more memory than is allowed, or than there is.
    Memory,
}

/// Which keys of a batch are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// All.
    All,
    /// Those that the filter does not seem to hold.
    New,
}

/// A filter of the `CF.*` commands.
pub(crate) struct Nest {
    filter: Cuckoo,
    iterations: u32,
}

impl Nest {
    /// An empty filter, whose keys are hashed under the secret if there is one.
    pub(crate) fn new(
        plan: Plan,
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Nest, Refusal> {
        let described = Cuckoo::plan_with(plan.capacity, plan.rate(), plan.options(secret));
        let described = described.map_err(|_| Refusal::Memory)?;
        if !allows(0, described.bits / 8) {
            return Err(Refusal::Memory);
        }
        let filter = described.make().map_err(|_| Refusal::Memory)?;
        Ok(Nest::of(filter, plan.iterations))
    }

    /// A filter that exists already.
    fn of(filter: Cuckoo, iterations: u32) -> Nest {
        let bits = filter.description().bits;
        let filter = filter.limited_to(bits);
        let nest = Nest { filter, iterations };
        CUCKOO.enter(nest.tally());
        nest
    }

    /// The filter, to be looked at.
    pub(crate) fn filter(&self) -> &Cuckoo {
        &self.filter
    }

    /// The most fingerprints that an insert moves, as was asked for.
    pub(crate) fn iterations(&self) -> u32 {
        self.iterations
    }

    /// The memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        size_of::<Nest>() as u64 + self.filter.description().bits / 8
    }

    fn tally(&self) -> Tally {
        Tally {
            layers: self.filter.layers() as u64,
            keys: self.filter.keys(),
            capacity: self.filter.capacity(),
            bytes: self.bytes(),
        }
    }

    /// Whether each key may be in the filter.
    pub(crate) fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.filter.contains_batch(keys, found);
    }

    /// Inserts keys, all or none, into at most `most` layers; `new` says which were definitely not in the filter before.
    pub(crate) fn insert(
        &mut self,
        which: Keys,
        keys: &[&[u8]],
        new: &mut [bool],
        most: usize,
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        let before = self.filter.keys();
        if self.try_insert(which, keys, new) {
            CUCKOO.insert(self.filter.keys() - before);
            return Ok(());
        }
        CUCKOO.leave(self.tally());
        let done = self.insert_growing(which, keys, new, most, allows);
        self.limit(self.filter.description().bits);
        CUCKOO.enter(self.tally());
        done
    }

    fn try_insert(&mut self, which: Keys, keys: &[&[u8]], new: &mut [bool]) -> bool {
        let done = match which {
            Keys::All => self.filter.try_insert_batch(keys, new),
            Keys::New => self.filter.try_insert_new_batch(keys, new),
        };
        done.is_ok()
    }

    /// Tries with one layer more, and one more, as long as that is allowed.
    fn insert_growing(
        &mut self,
        which: Keys,
        keys: &[&[u8]],
        new: &mut [bool],
        most: usize,
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        let (now, bits) = (self.bytes(), self.filter.description().bits);
        for layers in self.filter.layers() + 1.. {
            let grown = self.filter.bits_with(layers).map_err(|_| Refusal::Full)?;
            if layers > most {
                return Err(Refusal::Expansions);
            }
            if !allows(now, (grown - bits) / 8) {
                return Err(Refusal::Memory);
            }
            self.limit(grown);
            if self.try_insert(which, keys, new) {
                break;
            }
        }
        Ok(())
    }

    fn limit(&mut self, bits: u64) {
        let filter = self.take();
        self.filter = filter.limited_to(bits);
    }

    /// The filter; the caller puts it back.
    fn take(&mut self) -> Cuckoo {
        let small = Cuckoo::with_capacity(1, 0.5).expect("a small filter");
        std::mem::replace(&mut self.filter, small)
    }

    /// Changes the parts of the filter, of which the first, its state, must stay as it is.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut [Bitmap])) {
        let description = self.filter.description();
        let mut parts = self.take().into_parts();
        change(&mut parts);
        let filter = Cuckoo::assemble(&description, parts);
        let filter = filter.expect("it had this description and this state before");
        self.filter = filter.limited_to(description.bits);
    }

    /// Removes a key once; false when it certainly was not there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let before = self.filter.keys();
        let is_removed = self.filter.remove(key);
        CUCKOO.remove(before - self.filter.keys());
        is_removed
    }

    /// Moves fingerprints into older layers and gives back those that are empty then.
    pub(crate) fn compact(&mut self) {
        CUCKOO.leave(self.tally());
        self.filter.compact();
        self.limit(self.filter.description().bits);
        CUCKOO.enter(self.tally());
    }

    fn head(&self) -> Vec<u8> {
        let numbers = [VERSION, self.iterations].map(u32::to_le_bytes);
        [&MAGIC[..], &numbers.concat()].concat()
    }

    /// Writes it.
    pub(crate) fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        output.write_all(&sealed(self.head()))?;
        native::write(&self.filter, &Metadata::default(), &mut *output)
    }

    /// Reads what was written, and no byte more.
    pub(crate) fn read(input: &mut dyn Read, secret: Option<&SecretKey>) -> Result<Nest, Failure> {
        let head = unsealed(input, HEAD)?;
        let iterations = parse_head(&mut Fields(&head))?;
        let read = native::read(&mut *input, secret);
        match read.map_err(|error| error.to_string())? {
            (AnyFilter::Cuckoo(filter), _) => Ok(Nest::of(filter, iterations)),
            (other, _) => Err(format!("it is of the kind {}", other.kind())),
        }
    }

    /// The filter that a first piece describes, without fingerprints. Asks `allows` before any bits are taken.
    pub(crate) fn begin(
        piece: &[u8],
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Nest, Failure> {
        let body = opened(piece)?;
        let mut fields = Fields(body);
        let iterations = parse_head(&mut fields)?;
        let description = description(&mut fields, secret)?;
        if body.len() != HEAD + DESCRIPTION + STATE || description.kind != Kind::Cuckoo {
            return Err("it does not describe a cuckoo filter".into());
        }
        let text = |error: mayhap::Error| error.to_string();
        let layout = <Cuckoo>::layout(&description).map_err(text)?;
        if !allows(0, description.bits / 8) {
            return Err("it is larger than filters may be".into());
        }
        let parts = layout.into_iter().map(Bitmap::new);
        let mut parts = parts.collect::<mayhap::Result<Vec<_>>>().map_err(text)?;
        pieces::replace(&mut parts[0], 0, fields.take(STATE)?);
        let filter = Cuckoo::assemble(&description, parts).map_err(text)?;
        Ok(Nest::of(filter, iterations))
    }
}

fn parse_head(fields: &mut Fields<'_>) -> Result<u32, Failure> {
    if fields.take(8)? != MAGIC {
        return Err("it does not begin as a cuckoo filter does".into());
    }
    let version = fields.u32()?;
    if version != VERSION {
        return Err(format!("its version is {version}, and {VERSION} is read"));
    }
    match fields.u32()? {
        iterations @ 1..=0xFFFF => Ok(iterations),
        other => Err(format!("{other} iterations are not 1 to 65535")),
    }
}

impl Pieces for Nest {
    fn first(&self) -> Vec<u8> {
        let mut bytes = self.head();
        bytes.extend(description_bytes(&self.filter.description()));
        let state = self.filter.parts()[0];
        bytes.extend((0..STATE as u64 / 8).flat_map(|word| state.word(word).to_le_bytes()));
        sealed(bytes)
    }

    fn bits(&self) -> Vec<&Bitmap> {
        self.filter.parts().split_off(1)
    }

    fn is_sealed(&self) -> bool {
        true
    }

    fn load_bits(&mut self, layer: usize, start: u64, bytes: &[u8]) -> bool {
        let fits = |bits: &&Bitmap| pieces::fits(bits, start, bytes);
        if !self.bits().get(layer).is_some_and(fits) {
            return false;
        }
        self.change(|parts| pieces::replace(&mut parts[layer + 1], start, bytes));
        true
    }
}

impl Clone for Nest {
    fn clone(&self) -> Nest {
        Nest::of(self.filter.clone(), self.iterations)
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        CUCKOO.leave(self.tally());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::{Place, locate, piece};

    const ANY: Allows<'static> = &|_, _| true;

    fn plan(bucket: u32, expansion: u32) -> Plan {
        Plan {
            capacity: 600,
            bucket,
            iterations: 20,
            expansion,
        }
    }

    fn filled(plan: Plan, secret: Option<&SecretKey>, keys: u32) -> Nest {
        let mut nest = Nest::new(plan, secret, ANY).expect("made");
        let keys: Vec<[u8; 4]> = (0..keys).map(u32::to_le_bytes).collect();
        for keys in keys.chunks(100) {
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let mut new = vec![false; keys.len()];
            nest.insert(Keys::All, &keys, &mut new, 33, ANY)
                .expect("room");
        }
        nest
    }

    fn bytes(nest: &Nest) -> Vec<u8> {
        let mut bytes = Vec::new();
        nest.write(&mut bytes).expect("written");
        bytes
    }

    #[test]
    fn first_layers_have_fingerprints_of_8_bits_where_buckets_are_small() {
        for expansion in [0, 1, 2, 3] {
            for (bucket, expected) in [
                (1, 8),
                (2, 8),
                (4, 8),
                (8, 8),
                (50, 8),
                (127, 10),
                (255, 11),
            ] {
                let nest = Nest::new(plan(bucket, expansion), None, ANY).expect("made");
                let first = nest.filter.shapes().next().expect("a layer");
                assert!(first.fingerprint() == expected || expansion == 0 && bucket > 50);
                assert_eq!(first.bucket(), bucket);
            }
        }
        let options = plan(2, 3).options(None);
        assert_eq!((options.growth, options.search), (4, 1024));
    }

    #[test]
    fn a_filter_is_the_same_after_writing_and_reading_and_in_pieces() {
        let secret = SecretKey::from_bytes([7; 16]);
        for secret in [None, Some(&secret)] {
            for (bucket, expansion, keys) in [(2, 1, 2000), (4, 2, 5000), (2, 0, 500), (2, 1, 0)] {
                let nest = filled(plan(bucket, expansion), secret, keys);
                let written = bytes(&nest);
                let read = Nest::read(&mut &written[..], secret).expect("read");
                assert!(bytes(&read) == written);

                let (mut iterator, first) = piece(&nest, 0).expect("the first");
                let mut copy = Nest::begin(&first, secret, ANY).expect("begun");
                assert_eq!(copy.filter.keys(), keys.into());
                while let Some((next, piece)) = piece(&nest, iterator) {
                    let (place, bits) = locate(&copy, next, &piece).expect("whole");
                    let Place::At(layer, start) = place else {
                        panic!("{place:?}");
                    };
                    assert!(copy.load_bits(layer, start, bits));
                    iterator = next;
                }
                assert!(bytes(&copy) == written);
                if secret.is_some() {
                    assert!(Nest::read(&mut &written[..], None).is_err());
                    assert!(Nest::begin(&first, None, ANY).is_err());
                }
            }
        }
    }

    #[test]
    fn what_is_not_allowed_is_refused_and_changes_nothing() {
        let keys: Vec<[u8; 4]> = (0..5000_u32).map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = vec![false; keys.len()];
        for (expansion, most, limit, expected) in [
            (0, 33, u64::MAX, Refusal::Full),
            (1, 3, u64::MAX, Refusal::Expansions),
            (2, 33, 3000, Refusal::Memory),
        ] {
            let mut nest = filled(plan(2, expansion), None, 300);
            let before = bytes(&nest);
            let allows = |now, more| now + more <= limit;
            let done = nest.insert(Keys::All, &keys, &mut new, most, &allows);
            assert_eq!(done, Err(expected));
            assert!(bytes(&nest) == before);
            let done = nest.insert(Keys::New, &keys[..320], &mut new[..320], most, &allows);
            assert_eq!(done, Ok(()));
            assert_eq!(
                new[..320].iter().filter(|&&new| new).count(),
                nest.filter.keys() as usize - 300
            );
        }
    }

    #[test]
    fn damaged_and_cut_bytes_are_refused() {
        let nest = filled(plan(2, 1), None, 1500);
        let written = bytes(&nest);
        let (_, first) = piece(&nest, 0).expect("the first");
        for at in 0..written.len() {
            let mut damaged = written.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Nest::read(&mut &damaged[..], None).is_err(), "{at}");
            assert!(Nest::read(&mut &written[..at], None).is_err(), "{at}");
        }
        for at in 0..first.len() {
            let mut damaged = first.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Nest::begin(&damaged, None, ANY).is_err(), "{at}");
            assert!(Nest::begin(&first[..at], None, ANY).is_err(), "{at}");
        }
        assert!(Nest::begin(&first, None, &|_, _| false).is_err());
    }
}
