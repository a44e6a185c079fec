//! A filter of the `CF.*` commands over the library's [`Cuckoo`].
//!
//! A first layer has fingerprints of 8 bits, as RedisBloom's have, and so the rate that its bucket size gives. Later ones
//! have longer fingerprints, so that the rate holds, however far a filter grows; see [`Plan::rate`].
//!
//! A filter is limited to the layers it has: where they have no room for a batch, one more is allowed if the server says so, and
//! the batch is tried again.
//!
//! ```text
//! whole   a native file
//! first   description state:64 bytes
//! ```

use std::io::{Read, Write};

use mayhap::bits::{Bitmap, Bits as _};
use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _, Cuckoo, CuckooOptions, Digester, Kind, SecretKey};

use crate::chain::Allows;
use crate::nest::{Facts, Keys, Refusal};
use crate::pieces::{self, Failure, Fields, description, description_bytes};

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

/// A filter of ours.
#[derive(Clone)]
pub(crate) struct Own {
    filter: Cuckoo,
    iterations: u32,
}

impl Own {
    /// An empty filter, whose keys are hashed under the secret if there is one.
    pub(crate) fn new(
        plan: Plan,
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Own, Refusal> {
        let described = Cuckoo::plan_with(plan.capacity, plan.rate(), plan.options(secret));
        let described = described.map_err(|_| Refusal::Memory)?;
        if !allows(0, described.bits / 8) {
            return Err(Refusal::Memory);
        }
        let filter = described.make().map_err(|_| Refusal::Memory)?;
        Ok(Own::of(filter, plan.iterations))
    }

    /// A filter that exists already: it may not grow.
    fn of(filter: Cuckoo, iterations: u32) -> Own {
        let bits = filter.description().bits;
        let filter = filter.limited_to(bits);
        Own { filter, iterations }
    }

    /// The filter, to be looked at.
    pub(crate) fn filter(&self) -> &Cuckoo {
        &self.filter
    }

    /// Removes a key once; false when it certainly was not there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        self.filter.remove(key)
    }

    /// Moves fingerprints into older layers and gives back those that are empty then.
    pub(crate) fn compact(&mut self) {
        self.filter.compact();
        self.stop();
    }

    /// The memory of its bits.
    pub(crate) fn bytes(&self) -> u64 {
        self.filter.description().bits / 8
    }

    /// What is known about it.
    pub(crate) fn facts(&self) -> Facts {
        let options = self.filter.options();
        let first = self.filter.shapes().next();
        Facts {
            buckets: first.map_or(0, |shape| shape.buckets()),
            layers: self.filter.layers() as u64,
            capacity: self.filter.capacity(),
            removed: self.filter.removed(),
            bucket: options.bucket.unwrap_or(0),
            expansion: options.growth,
            iterations: self.iterations,
        }
    }

    /// Inserts keys, all or none, into the layers there are; false when they find no room.
    pub(crate) fn try_insert(&mut self, which: Keys, keys: &[&[u8]], new: &mut [bool]) -> bool {
        let done = match which {
            Keys::All => self.filter.try_insert_batch(keys, new),
            Keys::New => self.filter.try_insert_new_batch(keys, new),
        };
        done.is_ok()
    }

    /// The same with one layer more, and one more, as long as that is allowed.
    pub(crate) fn insert_growing(
        &mut self,
        which: Keys,
        keys: &[&[u8]],
        new: &mut [bool],
        most: usize,
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        let (now, bits) = (self.bytes(), self.filter.description().bits);
        let mut grow = || {
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
        };
        let done = grow();
        self.stop();
        done
    }

    fn limit(&mut self, bits: u64) {
        let filter = self.take();
        self.filter = filter.limited_to(bits);
    }

    /// Lets it grow no further.
    fn stop(&mut self) {
        self.limit(self.filter.description().bits);
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

    /// The bits of each layer.
    pub(crate) fn bits(&self) -> Vec<&Bitmap> {
        self.filter.parts().split_off(1)
    }

    /// Its description and state.
    pub(crate) fn described(&self) -> Vec<u8> {
        let mut bytes = description_bytes(&self.filter.description()).to_vec();
        let state = self.filter.parts()[0];
        bytes.extend((0..STATE as u64 / 8).flat_map(|word| state.word(word).to_le_bytes()));
        bytes
    }

    /// The filter of a description and a state, without fingerprints. Asks `allows` before any bits are taken.
    pub(crate) fn begin(
        mut fields: Fields<'_>,
        iterations: u32,
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Own, Failure> {
        let description = description(&mut fields, secret)?;
        let state = fields.0;
        if state.len() != STATE || description.kind != Kind::Cuckoo {
            return Err("it does not describe a cuckoo filter".into());
        }
        let text = |error: mayhap::Error| error.to_string();
        let layout = <Cuckoo>::layout(&description).map_err(text)?;
        if !allows(0, description.bits / 8) {
            return Err("it is larger than filters may be".into());
        }
        let parts = layout.into_iter().map(Bitmap::new);
        let mut parts = parts.collect::<mayhap::Result<Vec<_>>>().map_err(text)?;
        pieces::replace(&mut parts[0], 0, state);
        let filter = Cuckoo::assemble(&description, parts).map_err(text)?;
        Ok(Own::of(filter, iterations))
    }

    /// Writes it.
    pub(crate) fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        native::write(&self.filter, &Metadata::default(), output)
    }

    /// Reads what was written, and no byte more.
    pub(crate) fn read(
        input: &mut dyn Read,
        iterations: u32,
        secret: Option<&SecretKey>,
    ) -> Result<Own, Failure> {
        let read = native::read(input, secret);
        match read.map_err(|error| error.to_string())? {
            (AnyFilter::Cuckoo(filter), _) => Ok(Own::of(filter, iterations)),
            (other, _) => Err(format!("it is of the kind {}", other.kind())),
        }
    }

    /// Replaces bits of a layer from byte `start` on, which must be at a word; false when they do not fit.
    pub(crate) fn load(&mut self, layer: usize, start: u64, bytes: &[u8]) -> bool {
        let fits = |bits: &&Bitmap| pieces::fits(bits, start, bytes);
        if !self.bits().get(layer).is_some_and(fits) {
            return false;
        }
        self.change(|parts| pieces::replace(&mut parts[layer + 1], start, bytes));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(bucket: u32, expansion: u32) -> Plan {
        Plan {
            capacity: 600,
            bucket,
            iterations: 20,
            expansion,
        }
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
                let own = Own::new(plan(bucket, expansion), None, &|_, _| true).expect("made");
                let first = own.filter.shapes().next().expect("a layer");
                assert!(first.fingerprint() == expected || expansion == 0 && bucket > 50);
                assert_eq!(first.bucket(), bucket);
            }
        }
        let options = plan(2, 3).options(None);
        assert_eq!((options.growth, options.search), (4, 1024));
    }
}
