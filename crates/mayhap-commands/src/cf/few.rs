//! A filter of `CF.*` with few keys: their digests, before there is a table.
//!
//! The table of the default size takes 1.2 KB, and most filters, one for each user, have few keys. Digests of 128 bits give no
//! false positives. The table is made of them when there is one key too many, or when the filter is dumped.
//!
//! ```text
//! few     description removals:u64 keys:u64 checksum:u64, then the digests, the low half of each first, and a checksum:u64
//! ```

use std::io::{Read, Write};

use mayhap::hash::Digest;
use mayhap::{Assemble as _, Cuckoo, Description, Digester, Hashing, Kind, Scheme, SecretKey};

use super::nest::Keys;
use crate::encoding::{self, DESCRIPTION, Damage, Fields, description_bytes, sealed, unsealed};
use crate::value::Mover;

/// The most keys.
const MOST: usize = 32;

/// The sizes in bytes of tables that are made later: smaller ones take no more than the digests, larger ones are reserved at once.
const TABLES: std::ops::RangeInclusive<u64> = 1 << 10..=16 << 10;

/// The word of a filter's state that counts removals: see `docs/formats.md`.
const REMOVED: u64 = 2;

/// The keys of a filter that has no table.
#[derive(Clone)]
pub(crate) struct Few {
    /// The filter with an empty table.
    description: Description,
    /// The digests; one for each time that a key is in.
    keys: Vec<Digest>,
    removed: u64,
}

impl Few {
    /// The empty filter of this description; `None` where a table is better at once. One that does not grow could have no room
    /// in its table for a key that it has taken.
    pub(crate) fn new(description: &Description, grows: bool) -> Option<Few> {
        let is_put_off = grows && TABLES.contains(&(description.bits / 8));
        is_put_off.then(|| Few {
            description: description.clone(),
            keys: Vec::new(),
            removed: 0,
        })
    }

    /// The filter with its table.
    pub(crate) fn table(&self) -> mayhap::Result<Cuckoo> {
        let mut filter: Cuckoo = self.description.make()?;
        for &digest in &self.keys {
            filter.insert_digest(digest);
        }
        let description = filter.description();
        let mut parts = filter.into_parts();
        parts[0].set_word(REMOVED, self.removed);
        Cuckoo::assemble(&description, parts)
    }

    fn digest(&self, key: &[u8]) -> Digest {
        match &self.description.hashing {
            Hashing::Scheme(Scheme::Native(digester)) => digester.digest(key),
            // No cuckoo filter has another.
            _ => Digester::default().digest(key),
        }
    }

    /// The number of keys in it, each counted as often as it is in.
    pub(crate) fn keys(&self) -> u64 {
        self.keys.len() as u64
    }

    /// The keys for which the table will have room.
    pub(crate) fn capacity(&self) -> u64 {
        self.description.promise.map_or(0, |promise| promise.keys)
    }

    /// The memory of its keys.
    pub(crate) fn bytes(&self) -> u64 {
        (self.keys.capacity() * size_of::<Digest>()) as u64
    }

    /// Counts how often a key is in the filter.
    pub(crate) fn count(&self, key: &[u8]) -> u64 {
        let digest = self.digest(key);
        self.keys.iter().filter(|&&other| other == digest).count() as u64
    }

    /// Inserts keys, all or none; false when these are too many, or there is no memory for them.
    pub(crate) fn insert(&mut self, which: Keys, keys: &[&[u8]], new: &mut [bool]) -> bool {
        let is_much = self.keys.len() + keys.len() > MOST;
        if is_much || self.keys.try_reserve(keys.len()).is_err() {
            return false;
        }
        for (key, new) in keys.iter().zip(new) {
            let digest = self.digest(key);
            *new = !self.keys.contains(&digest);
            if *new || which == Keys::All {
                self.keys.push(digest);
            }
        }
        true
    }

    /// Removes a key once; false when it was not there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let digest = self.digest(key);
        let Some(index) = self.keys.iter().position(|&other| other == digest) else {
            return false;
        };
        self.keys.remove(index);
        self.removed = self.removed.saturating_add(1);
        true
    }

    /// Reallocates its keys to the size they have.
    pub(crate) fn relocate(&mut self, mover: &impl Mover) {
        mover.relocate(&mut self.keys);
    }

    /// Writes it.
    pub(crate) fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        let mut bytes = description_bytes(&self.description).to_vec();
        bytes.extend([self.removed, self.keys()].map(u64::to_le_bytes).concat());
        output.write_all(&sealed(bytes))?;
        let halves = self.keys.iter().flat_map(|digest| [digest.lo, digest.hi]);
        output.write_all(&sealed(halves.flat_map(u64::to_le_bytes).collect()))?;
        Ok(())
    }

    /// Reads what was written.
    pub(crate) fn read(input: &mut dyn Read, secret: Option<&SecretKey>) -> Result<Few, Damage> {
        let bytes = unsealed(input, DESCRIPTION + 16)?;
        let mut fields = Fields(&bytes);
        let description = encoding::description(&mut fields, secret)?;
        let (removed, count) = (fields.u64()?, fields.u64()?);
        let is_filter = description.kind == Kind::Cuckoo && <Cuckoo>::check(&description).is_ok();
        let few = Few::new(&description, is_filter).filter(|_| count <= MOST as u64);
        let mut few = few.ok_or("it does not describe a cuckoo filter of few keys")?;
        let bytes = unsealed(input, count as usize * size_of::<Digest>())?;
        let mut fields = Fields(&bytes);
        for _ in 0..count {
            let (lo, hi) = (fields.u64()?, fields.u64()?);
            few.keys.push(Digest { lo, hi });
        }
        few.removed = removed;
        Ok(few)
    }
}
