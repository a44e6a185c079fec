//! A filter of the `CF.*` commands over the library's [`Cuckoo`].
//!
//! A filter is limited to the layers it has: where they have no room for a batch, one more is begun if the server allows it, and
//! the batch is tried again.
//!
//! ```text
//! whole   a native file, or what few.rs writes
//! first   description state: 64 bytes and the piles
//! ```

use std::io::{Read, Write};

use mayhap::bits::Bitmap;
use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _, Cuckoo, Filter as _, Kind, SecretKey};

use super::Plan;
use super::few::Few;
use super::nest::{Facts, Keys};
use crate::encoding::{Damage, Fields, description, description_bytes, text};
use crate::limits::{Allows, Refusal};
use crate::pieces;
use crate::value::Mover;

/// A filter of ours.
#[derive(Clone)]
pub(crate) struct Own {
    body: Body,
    iterations: u32,
}

#[derive(Clone)]
enum Body {
    /// Before there is a table.
    Few(Few),
    Whole(Box<Cuckoo>),
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
        if let Some(few) = Few::new(&described, plan.expansion > 0) {
            return Ok(Own::of_few(few, plan.iterations));
        }
        let filter = described.make().map_err(|_| Refusal::Memory)?;
        Ok(Own::of(filter, plan.iterations))
    }

    fn of_few(few: Few, iterations: u32) -> Own {
        let body = Body::Few(few);
        Own { body, iterations }
    }

    /// A filter over an existing table. It may not grow by itself.
    fn of(filter: Cuckoo, iterations: u32) -> Own {
        let bits = layer_bits(&filter);
        let body = Body::Whole(Box::new(filter.limited_to(bits)));
        Own { body, iterations }
    }

    /// Returns whether it has no table.
    pub(crate) fn is_small(&self) -> bool {
        matches!(self.body, Body::Few(_))
    }

    /// Makes its table, if it has none.
    pub(crate) fn widened(mut self) -> Own {
        self.widen();
        self
    }

    /// Makes its table, if it has none; `None` when there is no memory for it.
    fn widen(&mut self) -> Option<&mut Cuckoo> {
        if let Body::Few(few) = &self.body {
            *self = Own::of(few.table().ok()?, self.iterations);
        }
        match &mut self.body {
            Body::Whole(filter) => Some(filter),
            Body::Few(_) => None,
        }
    }

    /// The filter, which must have a table.
    pub(super) fn filter(&self) -> &Cuckoo {
        match &self.body {
            Body::Whole(filter) => filter,
            Body::Few(_) => unreachable!("it was asked for its table before it had one"),
        }
    }

    /// The number of keys in it, each counted as often as it is in.
    pub(crate) fn keys(&self) -> u64 {
        match &self.body {
            Body::Few(few) => few.keys(),
            Body::Whole(filter) => filter.keys(),
        }
    }

    /// The number of its layers, and the keys for which they have room.
    pub(crate) fn extent(&self) -> (u64, u64) {
        match &self.body {
            Body::Few(few) => (1, few.capacity()),
            Body::Whole(filter) => (filter.layers() as u64, filter.capacity()),
        }
    }

    /// The most fingerprints that an insert moves.
    pub(crate) fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Returns whether a key may be in the filter: false is certain.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        match &self.body {
            Body::Few(few) => few.count(key) > 0,
            Body::Whole(filter) => filter.contains(key),
        }
    }

    /// Looks up each key; false is certain.
    pub(crate) fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        match &self.body {
            Body::Few(few) => {
                for (key, found) in keys.iter().zip(found) {
                    *found = few.count(key) > 0;
                }
            }
            Body::Whole(filter) => filter.contains_batch(keys, found),
        }
    }

    /// Counts how often a key is in the filter: never less, and sometimes more.
    pub(crate) fn count(&self, key: &[u8]) -> u64 {
        match &self.body {
            Body::Few(few) => few.count(key),
            Body::Whole(filter) => filter.count(key),
        }
    }

    /// Removes a key once; false when it was certainly not there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        match &mut self.body {
            Body::Few(few) => few.remove(key),
            Body::Whole(filter) => filter.remove(key),
        }
    }

    /// Moves fingerprints into older layers and gives back those that are empty then.
    pub(crate) fn compact(&mut self) {
        if let Body::Whole(filter) = &mut self.body {
            filter.compact();
            self.stop();
        }
    }

    /// The memory of its bits, or of its few keys.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.body {
            Body::Few(few) => few.bytes(),
            Body::Whole(filter) => size_of::<Cuckoo>() as u64 + filter.stored_bits() / 8,
        }
    }

    /// Its fields for `CF.INFO`.
    pub(crate) fn facts(&self) -> Facts {
        if self.is_small() {
            return self.clone().widened().facts();
        }
        let filter = self.filter();
        let options = filter.options();
        let first = filter.shapes().next();
        Facts {
            buckets: first.map_or(0, |shape| shape.buckets()),
            layers: filter.layers() as u64,
            removed: filter.removed(),
            bucket: options.bucket.unwrap_or(0),
            expansion: options.growth,
            iterations: self.iterations,
        }
    }

    /// Inserts keys, all or none, into the existing layers; false when they find no room.
    pub(crate) fn try_insert(&mut self, which: Keys, keys: &[&[u8]], new: &mut [bool]) -> bool {
        if let Body::Few(few) = &mut self.body
            && few.insert(which, keys, new)
        {
            return true;
        }
        let Some(filter) = self.widen() else {
            return false;
        };
        let done = match which {
            Keys::All => filter.try_insert_batch(keys, new),
            Keys::New => filter.try_insert_new_batch(keys, new),
        };
        done.is_ok()
    }

    /// Inserts keys, all or none, with one more layer at a time as long as that is allowed.
    pub(crate) fn insert_growing(
        &mut self,
        which: Keys,
        keys: &[&[u8]],
        new: &mut [bool],
        most: usize,
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        self.widen().ok_or(Refusal::Memory)?;
        let (now, bits) = (self.bytes(), layer_bits(self.filter()));
        let mut grow = || {
            for layers in self.filter().layers() + 1.. {
                let grown = self.filter().bits_with(layers).map_err(|_| Refusal::Full)?;
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
        self.body = Body::Whole(Box::new(filter.limited_to(bits)));
    }

    /// Lets it grow no further.
    fn stop(&mut self) {
        self.limit(layer_bits(self.filter()));
    }

    /// Takes out the filter, which must have a table; the caller puts it back.
    fn take(&mut self) -> Cuckoo {
        let small = Cuckoo::with_capacity(1, 0.5).expect("a small filter");
        match std::mem::replace(&mut self.body, Body::Whole(Box::new(small))) {
            Body::Whole(filter) => *filter,
            Body::Few(_) => unreachable!("it was asked for its table before it had one"),
        }
    }

    /// Reallocates its blocks to the size they have.
    pub(crate) fn relocate(&mut self, mover: &impl Mover) {
        match &mut self.body {
            Body::Few(few) => few.relocate(mover),
            Body::Whole(_) => self.change(|parts| parts.iter_mut().for_each(Bitmap::reallocate)),
        }
    }

    /// Changes the parts of a filter with a table, of which the first, its state, must stay as it is.
    fn change(&mut self, change: impl FnOnce(&mut [Bitmap])) {
        let description = self.filter().description();
        let mut parts = self.take().into_parts();
        change(&mut parts);
        let filter = Cuckoo::assemble(&description, parts);
        let filter = filter.expect("it had this description and this state before");
        *self = Own::of(filter, self.iterations);
    }

    /// The bits of each layer of a filter with a table.
    pub(crate) fn bits(&self) -> Vec<&Bitmap> {
        self.filter().parts().split_off(1)
    }

    /// The description and state of a filter with a table.
    pub(crate) fn described(&self) -> Vec<u8> {
        let mut bytes = description_bytes(&self.filter().description()).to_vec();
        let state = self.filter().parts()[0];
        bytes.extend(state.words().flat_map(u64::to_le_bytes));
        bytes
    }

    /// The filter of a description and a state, without fingerprints. Asks `allows` before any bits are taken.
    pub(crate) fn begin(
        mut fields: Fields<'_>,
        iterations: u32,
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Own, Damage> {
        let description = description(&mut fields, secret)?;
        let state = fields.0;
        if description.kind != Kind::Cuckoo {
            return Err("it does not describe a cuckoo filter".into());
        }
        let layout = <Cuckoo>::layout(&description).map_err(text)?;
        if state.len() as u64 * 8 != layout[0] {
            return Err("it does not describe the state that it has".into());
        }
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
        match &self.body {
            Body::Few(few) => few.write(output),
            Body::Whole(filter) => native::write(&**filter, &Metadata::default(), output),
        }
    }

    /// Reads a filter that was written without a table.
    pub(crate) fn read_few(
        input: &mut dyn Read,
        iterations: u32,
        secret: Option<&SecretKey>,
    ) -> Result<Own, Damage> {
        Ok(Own::of_few(Few::read(input, secret)?, iterations))
    }

    /// Reads what was written, and no byte more.
    pub(crate) fn read(
        input: &mut dyn Read,
        iterations: u32,
        secret: Option<&SecretKey>,
    ) -> Result<Own, Damage> {
        let read = native::read(input, secret);
        match read.map_err(text)? {
            (AnyFilter::Cuckoo(filter), _) => Ok(Own::of(filter, iterations)),
            (other, _) => Err(format!("it is of the kind {}", other.kind())),
        }
    }

    /// Replaces bits of a layer from byte `start` on, which must be at a word; false when they do not fit.
    pub(crate) fn load(&mut self, layer: usize, start: u64, bytes: &[u8]) -> bool {
        let fits = |bits: &&Bitmap| pieces::fits(bits, start, bytes);
        if self.widen().is_none() || !self.bits().get(layer).is_some_and(fits) {
            return false;
        }
        self.change(|parts| pieces::replace(&mut parts[layer + 1], start, bytes));
        true
    }
}

/// The bits of the layers there are, which are limited: not those of piles.
fn layer_bits(filter: &Cuckoo) -> u64 {
    let bits = filter.bits_with(filter.layers());
    bits.expect("it has these layers")
}
