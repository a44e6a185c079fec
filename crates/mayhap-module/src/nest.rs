//! A filter of the `CF.*` commands: one of ours (`own.rs`), or one from a dump of RedisBloom, in its layout (`foreign.rs`).
//!
//! Batches go in whole or not at all.
//!
//! As bytes, with little-endian numbers:
//!
//! ```text
//! head    "MAYHAPCF" version:u32 iterations:u32; the version is 1 for ours, 2 for the other
//! whole   head checksum:u64, then a native file, or what foreign.rs writes
//! first   head description state:64 bytes checksum:u64, or RedisBloom's header; the other pieces are bits of layers
//! ```

use std::io::{Read, Write};

use mayhap::bits::Bitmap;
use mayhap::{Filter as _, SecretKey};

use crate::census::{CUCKOO, Tally};
use crate::chain::Allows;
use crate::foreign::{self, Foreign};
use crate::own::{Own, Plan};
use crate::pieces::{Failure, Fields, Pieces, opened, sealed, unsealed};

const MAGIC: &[u8; 8] = b"MAYHAPCF";
/// The version of ours.
const OWN: u32 = 1;
/// The version of those in RedisBloom's layout.
const FOREIGN: u32 = 2;
const HEAD: usize = 16;

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

/// What `CF.INFO` reports about a filter, besides its keys and bytes.
pub(crate) struct Facts {
    /// The buckets of the first layer.
    pub(crate) buckets: u64,
    pub(crate) layers: u64,
    /// The keys for which the layers there are have room.
    pub(crate) capacity: u64,
    pub(crate) removed: u64,
    /// The slots of a bucket.
    pub(crate) bucket: u32,
    pub(crate) expansion: u32,
    pub(crate) iterations: u32,
}

/// A filter of the `CF.*` commands.
pub(crate) enum Nest {
    Own(Own),
    /// In RedisBloom's layout.
    Foreign(Foreign),
}

impl Nest {
    /// An empty filter, whose keys are hashed under the secret if there is one.
    pub(crate) fn new(
        plan: Plan,
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Nest, Refusal> {
        Ok(Nest::Own(Own::new(plan, secret, allows)?).counted())
    }

    /// Itself, counted among all filters.
    fn counted(self) -> Nest {
        CUCKOO.enter(self.tally());
        self
    }

    /// What is known about it.
    pub(crate) fn facts(&self) -> Facts {
        match self {
            Nest::Own(own) => own.facts(),
            Nest::Foreign(foreign) => foreign.facts(),
        }
    }

    /// How many keys are in it, each as often as it is.
    pub(crate) fn keys(&self) -> u64 {
        match self {
            Nest::Own(own) => own.filter().keys(),
            Nest::Foreign(foreign) => foreign.keys(),
        }
    }

    /// The memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match self {
            Nest::Own(own) => own.bytes(),
            Nest::Foreign(foreign) => foreign.bytes(),
        };
        size_of::<Nest>() as u64 + bytes
    }

    fn tally(&self) -> Tally {
        let facts = self.facts();
        Tally {
            layers: facts.layers,
            keys: self.keys(),
            capacity: facts.capacity,
            bytes: self.bytes(),
        }
    }

    /// Whether a key may be in the filter.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        match self {
            Nest::Own(own) => own.filter().contains(key),
            Nest::Foreign(foreign) => foreign.contains(key),
        }
    }

    /// Whether each key may be in the filter.
    pub(crate) fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        match self {
            Nest::Own(own) => own.filter().contains_batch(keys, found),
            Nest::Foreign(foreign) => {
                for (key, found) in keys.iter().zip(found) {
                    *found = foreign.contains(key);
                }
            }
        }
    }

    /// How often a key is in the filter at most.
    pub(crate) fn count(&self, key: &[u8]) -> u64 {
        match self {
            Nest::Own(own) => own.filter().count(key),
            Nest::Foreign(foreign) => foreign.count(key),
        }
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
        let before = self.keys();
        let is_done = match self {
            Nest::Own(own) => own.try_insert(which, keys, new),
            Nest::Foreign(foreign) => {
                let most = foreign.layers().len();
                foreign.insert(which, keys, new, most, allows).is_ok()
            }
        };
        if is_done {
            CUCKOO.insert(self.keys() - before);
            return Ok(());
        }
        self.recounted(|nest| match nest {
            Nest::Own(own) => own.insert_growing(which, keys, new, most, allows),
            Nest::Foreign(foreign) => foreign.insert(which, keys, new, most, allows),
        })
    }

    /// Changes it in more than its keys.
    fn recounted<R>(&mut self, change: impl FnOnce(&mut Nest) -> R) -> R {
        CUCKOO.leave(self.tally());
        let done = change(self);
        CUCKOO.enter(self.tally());
        done
    }

    /// Removes a key once; false when it certainly was not there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let before = self.keys();
        let is_removed = match self {
            Nest::Own(own) => own.remove(key),
            Nest::Foreign(foreign) => foreign.remove(key),
        };
        CUCKOO.remove(before - self.keys());
        is_removed
    }

    /// Moves fingerprints into older layers and gives back those that are empty then.
    pub(crate) fn compact(&mut self) {
        self.recounted(|nest| match nest {
            Nest::Own(own) => own.compact(),
            Nest::Foreign(foreign) => foreign.compact(),
        });
    }

    /// Writes it.
    pub(crate) fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        output.write_all(&sealed(self.head()))?;
        match self {
            Nest::Own(own) => own.write(output),
            Nest::Foreign(foreign) => foreign.write(output),
        }
    }

    fn head(&self) -> Vec<u8> {
        let version = match self {
            Nest::Own(_) => OWN,
            Nest::Foreign(_) => FOREIGN,
        };
        let numbers = [version, self.facts().iterations].map(u32::to_le_bytes);
        [&MAGIC[..], &numbers.concat()].concat()
    }

    /// Reads what was written, and no byte more.
    pub(crate) fn read(input: &mut dyn Read, secret: Option<&SecretKey>) -> Result<Nest, Failure> {
        let head = unsealed(input, HEAD)?;
        let (version, iterations) = parse_head(&mut Fields(&head))?;
        let nest = match version {
            FOREIGN => Nest::Foreign(Foreign::read(input)?),
            _ => Nest::Own(Own::read(input, iterations, secret)?),
        };
        Ok(nest.counted())
    }

    /// The filter that a first piece describes, ours or RedisBloom's, without fingerprints. Asks `allows` before any bits are
    /// taken.
    pub(crate) fn begin(
        piece: &[u8],
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Nest, Failure> {
        if piece.len() == foreign::HEADER {
            return Ok(Nest::Foreign(Foreign::begin(piece, allows)?).counted());
        }
        let mut fields = Fields(opened(piece)?);
        match parse_head(&mut fields)? {
            (OWN, iterations) => {
                let own = Own::begin(fields, iterations, secret, allows)?;
                Ok(Nest::Own(own).counted())
            }
            (other, _) => Err(format!("a first piece has no version {other}")),
        }
    }
}

/// The version and the iterations of a head.
fn parse_head(fields: &mut Fields<'_>) -> Result<(u32, u32), Failure> {
    if fields.take(8)? != MAGIC {
        return Err("it does not begin as a cuckoo filter does".into());
    }
    let version = fields.u32()?;
    if ![OWN, FOREIGN].contains(&version) {
        return Err(format!(
            "its version is {version}, and {OWN} and {FOREIGN} are read"
        ));
    }
    match fields.u32()? {
        iterations @ 1..=0xFFFF => Ok((version, iterations)),
        other => Err(format!("{other} iterations are not 1 to 65535")),
    }
}

impl Pieces for Nest {
    fn first(&self) -> Vec<u8> {
        match self {
            Nest::Own(own) => sealed([self.head(), own.described()].concat()),
            Nest::Foreign(foreign) => foreign.header(),
        }
    }

    fn bits(&self) -> Vec<&Bitmap> {
        match self {
            Nest::Own(own) => own.bits(),
            Nest::Foreign(foreign) => foreign.layers().iter().collect(),
        }
    }

    fn is_sealed(&self) -> bool {
        matches!(self, Nest::Own(_))
    }

    fn load_bits(&mut self, layer: usize, start: u64, bytes: &[u8]) -> bool {
        self.recounted(|nest| match nest {
            Nest::Own(own) => own.load(layer, start, bytes),
            Nest::Foreign(foreign) => foreign.load(layer, start, bytes),
        })
    }
}

impl Clone for Nest {
    fn clone(&self) -> Nest {
        let copy = match self {
            Nest::Own(own) => Nest::Own(own.clone()),
            Nest::Foreign(foreign) => Nest::Foreign(foreign.clone()),
        };
        copy.counted()
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
                assert_eq!(copy.keys(), keys.into());
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
                nest.keys() as usize - 300
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
