//! A cuckoo filter in RedisBloom's layout: it answers as it did there, and its dump can be loaded there again.
//!
//! A layer is an array of bytes, one bucket after the other; a byte is a fingerprint, 0 an empty slot. With `h`, the
//! MurmurHash64A of a key with seed 0, the fingerprint is `h mod 255 + 1`. It is in bucket `h` or in bucket
//! `h xor fingerprint * 0x5bd1e995` of a layer, both modulo the buckets of the layer. These are a power of two, so either
//! bucket leads to the other.
//!
//! A layer has at least as many buckets as every older one. So fingerprints that are alike in one, in the same two buckets,
//! are alike in every older one; [`Foreign::remove`] looks into the newest first, and what it leaves in an older layer serves
//! the key whose fingerprint it took. For the same reason a fingerprint can move into an older layer.
//!
//! ```text
//! header  keys:u64 buckets of the first layer:u64 removals:u64 layers:u64 slots of a bucket:u16 iterations:u16 expansion:u16
//! whole   header checksum:u64, then the bytes of each layer in blocks of at most 64 KiB, each with a checksum:u64
//! ```

use std::io::{self, Read, Write};

use mayhap::bits::{Bitmap, Bits as _};
use mayhap::hash::murmur64a;

use crate::chain::Allows;
use crate::nest::{Facts, Keys, Refusal};
use crate::pieces::{Failure, Fields, copied, sealed, unsealed};

/// The bytes of a header.
pub(crate) const HEADER: usize = 38;

/// The most layers: a lookup asks them all. RedisBloom makes at most 33, unless its `cf-max-expansions` was raised.
const MOST_LAYERS: u64 = 64;

/// The most fingerprints that an insert moves, however many iterations are asked for: more of them hardly ever help.
const MOST_MOVES: u16 = 512;

/// The largest expansion, which is a power of two.
const MOST_EXPANSION: u16 = 1 << 15;

/// The most slots of a bucket.
const MOST_SLOTS: u16 = 255;

/// The bytes of a layer that are saved with one checksum.
const BLOCK: u64 = 64 << 10;

/// A slot without a fingerprint.
const EMPTY: u8 = 0;

/// What is left of a key.
#[derive(Clone, Copy)]
struct Print {
    /// The hash, or a bucket that the fingerprint is in: enough for layers that have no more buckets.
    hash: u64,
    fingerprint: u8,
}

impl Print {
    fn of(key: &[u8]) -> Print {
        let hash = murmur64a(key, 0);
        Print {
            hash,
            fingerprint: (hash % 255 + 1) as u8,
        }
    }

    /// Its two buckets among this many, a power of two.
    fn buckets(self, count: u64) -> [u64; 2] {
        let other = self.hash ^ (u64::from(self.fingerprint) * 0x5bd1_e995);
        [self.hash, other].map(|hash| hash & (count - 1))
    }
}

/// Where a fingerprint is: a layer, and a slot in it.
type Place = (usize, u64);

/// The slots that an insert has changed, and what was in them.
type Log = Vec<(Place, u8)>;

/// A filter of RedisBloom's.
#[derive(Clone)]
pub(crate) struct Foreign {
    /// The buckets of the first layer, a power of two.
    buckets: u64,
    /// The slots of a bucket, 1 to 255.
    slots: u16,
    /// The most fingerprints that an insert moves, at least 1.
    iterations: u16,
    /// How many times the buckets of a layer the next has, a power of two; 0 for a filter that does not grow.
    expansion: u16,
    /// The slots that are not empty.
    keys: u64,
    removed: u64,
    /// Oldest first; never none.
    layers: Vec<Bitmap>,
}

impl Foreign {
    /// The filter that a header describes, without fingerprints. Asks `allows` before any memory is taken.
    pub(crate) fn begin(header: &[u8], allows: Allows<'_>) -> Result<Foreign, Failure> {
        let (mut filter, lengths) = parse(header)?;
        let taken = lengths.iter().map(|&length| taken(length));
        if !allows(0, taken.fold(0, u64::saturating_add)) {
            return Err("it is larger than filters may be".into());
        }
        let layers = lengths.iter().map(|length| Bitmap::new(8 * length));
        filter.layers = layers.collect::<Result<_, _>>().map_err(text)?;
        Ok(filter)
    }

    /// Writes it.
    pub(crate) fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        output.write_all(&sealed(self.header()))?;
        for layer in &self.layers {
            let length = layer.size() / 8;
            for start in (0..length).step_by(BLOCK as usize) {
                let block = copied(layer, start, length.min(start + BLOCK));
                let block = block.ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
                output.write_all(&sealed(block))?;
            }
        }
        Ok(())
    }

    /// Reads what was written. Takes memory only for bytes that were there.
    pub(crate) fn read(input: &mut dyn Read) -> Result<Foreign, Failure> {
        let (mut filter, lengths) = parse(&unsealed(input, HEADER)?)?;
        for length in lengths {
            let mut bytes = Vec::new();
            while (bytes.len() as u64) < length {
                let block = unsealed(input, (length - bytes.len() as u64).min(BLOCK) as usize)?;
                let room = bytes.try_reserve(block.len());
                room.map_err(|error| error.to_string())?;
                bytes.extend(block);
            }
            filter.keys += bytes.iter().filter(|&&byte| byte != EMPTY).count() as u64;
            filter
                .layers
                .push(Bitmap::from_bytes(&bytes).map_err(text)?);
        }
        Ok(filter)
    }

    /// The header.
    pub(crate) fn header(&self) -> Vec<u8> {
        let layers = self.layers.len() as u64;
        let mut bytes = Vec::with_capacity(HEADER);
        for number in [self.keys, self.buckets, self.removed, layers] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.slots, self.iterations, self.expansion] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    /// The bytes of each layer, oldest first.
    pub(crate) fn layers(&self) -> &[Bitmap] {
        &self.layers
    }

    /// The layers, to be moved: not to be changed in number, size or content.
    pub(crate) fn layers_mut(&mut self) -> &mut Vec<Bitmap> {
        &mut self.layers
    }

    /// The fingerprints in it.
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }

    /// The memory of its layers.
    pub(crate) fn bytes(&self) -> u64 {
        let layers = self.layers.iter();
        layers.map(|layer| taken(layer.size() / 8)).sum()
    }

    /// What is known about it.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            buckets: self.buckets,
            layers: self.layers.len() as u64,
            capacity: self.layers.iter().map(|layer| layer.size() / 8).sum(),
            removed: self.removed,
            bucket: self.slots.into(),
            expansion: self.expansion.into(),
            iterations: self.iterations.into(),
        }
    }

    /// The bytes of layer `index`; `None` if there cannot be one.
    fn bytes_in(&self, index: u64) -> Option<u64> {
        let index = u32::try_from(index).ok().filter(|_| index < MOST_LAYERS)?;
        let times = u64::from(self.expansion).checked_pow(index)?;
        let bytes = self
            .buckets
            .checked_mul(times)?
            .checked_mul(self.slots.into())?;
        // As bits, too, they have a number.
        Some(bytes).filter(|&bytes| bytes > 0 && bytes <= u64::MAX / 8)
    }

    /// The slots of a fingerprint in a layer.
    fn slots_of(&self, layer: usize, print: Print) -> impl Iterator<Item = u64> + use<> {
        let slots = u64::from(self.slots);
        let [first, second] = print.buckets(self.layers[layer].size() / 8 / slots);
        let second = Some(second).filter(|&second| second != first);
        let buckets = std::iter::once(first).chain(second);
        buckets.flat_map(move |bucket| bucket * slots..(bucket + 1) * slots)
    }

    fn get(&self, (layer, slot): Place) -> u8 {
        (self.layers[layer].word(slot / 8) >> (slot % 8 * 8)) as u8
    }

    fn set(&mut self, (layer, slot): Place, byte: u8) {
        let (index, shift) = (slot / 8, slot % 8 * 8);
        let layer = &mut self.layers[layer];
        let word = layer.word(index) & !(0xFF << shift);
        layer.set_word(index, word | u64::from(byte) << shift);
    }

    /// A slot of a fingerprint in a layer in which this byte is.
    fn find_in(&self, layer: usize, print: Print, byte: u8) -> Option<Place> {
        let mut places = self.slots_of(layer, print).map(|slot| (layer, slot));
        places.find(|&place| self.get(place) == byte)
    }

    /// The same in any layer, newest first.
    fn find(&self, print: Print, byte: u8) -> Option<Place> {
        let mut newest_first = (0..self.layers.len()).rev();
        newest_first.find_map(|layer| self.find_in(layer, print, byte))
    }

    /// Whether a key may be in the filter.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let print = Print::of(key);
        self.find(print, print.fingerprint).is_some()
    }

    /// How often a key is in the filter at most.
    pub(crate) fn count(&self, key: &[u8]) -> u64 {
        let print = Print::of(key);
        let slots = (0..self.layers.len())
            .flat_map(|layer| self.slots_of(layer, print).map(move |slot| (layer, slot)));
        let found = slots.filter(|&place| self.get(place) == print.fingerprint);
        found.count() as u64
    }

    /// Removes a key once; false when it certainly was not there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let print = Print::of(key);
        let Some(place) = self.find(print, print.fingerprint) else {
            return false;
        };
        self.set(place, EMPTY);
        self.keys -= 1;
        self.removed = self.removed.saturating_add(1);
        true
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
        let (before, layers) = (self.keys, self.layers.len());
        let mut log = Log::new();
        for (key, new) in keys.iter().zip(new) {
            let print = Print::of(key);
            *new = self.find(print, print.fingerprint).is_none();
            if which == Keys::New && !*new {
                continue;
            }
            if let Err(refusal) = self.insert_one(print, &mut log, most, allows) {
                self.undo(&mut log, 0);
                self.layers.truncate(layers);
                self.keys = before;
                return Err(refusal);
            }
        }
        Ok(())
    }

    fn insert_one(
        &mut self,
        print: Print,
        log: &mut Log,
        most: usize,
        allows: Allows<'_>,
    ) -> Result<(), Refusal> {
        while !self.fill(print, log) && !self.make_room(print, log) {
            self.grow(most, allows)?;
        }
        self.keys += 1;
        Ok(())
    }

    /// Puts a fingerprint into an empty slot of its own, if there is one.
    fn fill(&mut self, print: Print, log: &mut Log) -> bool {
        let place = self.find(print, EMPTY);
        if let Some(place) = place {
            self.replace(place, print.fingerprint, log);
        }
        place.is_some()
    }

    /// Puts a fingerprint into a full bucket of the newest layer: the one it replaces moves to its other bucket, and where that
    /// is full the same again. Without success everything is as before.
    fn make_room(&mut self, print: Print, log: &mut Log) -> bool {
        let mark = log.len();
        let newest = self.layers.len() - 1;
        let slots = u64::from(self.slots);
        let count = self.layers[newest].size() / 8 / slots;
        let [mut bucket, _] = print.buckets(count);
        let mut fingerprint = print.fingerprint;
        for step in 0..u64::from(self.iterations.min(MOST_MOVES)) {
            let place = (newest, bucket * slots + step % slots);
            fingerprint = self.replace(place, fingerprint, log);
            let moved = Print {
                hash: bucket,
                fingerprint,
            };
            if let Some(empty) = self.find_in(newest, moved, EMPTY) {
                self.replace(empty, fingerprint, log);
                return true;
            }
            [_, bucket] = moved.buckets(count);
        }
        self.undo(log, mark);
        false
    }

    /// Puts a byte into a slot, and returns the one that was there.
    fn replace(&mut self, place: Place, byte: u8, log: &mut Log) -> u8 {
        let before = self.get(place);
        log.push((place, before));
        self.set(place, byte);
        before
    }

    /// Takes back the changes since the log had this length.
    fn undo(&mut self, log: &mut Log, mark: usize) {
        for (place, before) in log.drain(mark..).rev() {
            self.set(place, before);
        }
    }

    /// Begins one more layer.
    fn grow(&mut self, most: usize, allows: Allows<'_>) -> Result<(), Refusal> {
        let layers = self.layers.len();
        let bytes = self.bytes_in(layers as u64).ok_or(Refusal::Full)?;
        if layers >= most {
            return Err(Refusal::Expansions);
        }
        if !allows(self.bytes(), taken(bytes)) {
            return Err(Refusal::Memory);
        }
        let layer = Bitmap::new(8 * bytes).map_err(|_| Refusal::Memory)?;
        self.layers.push(layer);
        Ok(())
    }

    /// Moves fingerprints into older layers and gives back the newest ones that are empty then.
    pub(crate) fn compact(&mut self) {
        for layer in (1..self.layers.len()).rev() {
            for slot in 0..self.layers[layer].size() / 8 {
                let fingerprint = self.get((layer, slot));
                if fingerprint == EMPTY {
                    continue;
                }
                let print = Print {
                    hash: slot / u64::from(self.slots),
                    fingerprint,
                };
                let older = (0..layer).find_map(|older| self.find_in(older, print, EMPTY));
                if let Some(older) = older {
                    self.set(older, fingerprint);
                    self.set((layer, slot), EMPTY);
                }
            }
        }
        let is_used = |layer: &Bitmap| layer.count_ones() > 0;
        let used = self.layers.iter().rposition(is_used);
        self.layers.truncate(used.unwrap_or(0) + 1);
    }

    /// Replaces bytes of a layer from `start` on; false when they do not fit.
    pub(crate) fn load(&mut self, layer: usize, start: u64, bytes: &[u8]) -> bool {
        let length = self.layers.get(layer).map_or(0, |layer| layer.size() / 8);
        let end = start.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > length) {
            return false;
        }
        for (slot, &byte) in (start..).zip(bytes) {
            let was_used = self.get((layer, slot)) != EMPTY;
            self.set((layer, slot), byte);
            self.keys = self.keys - u64::from(was_used) + u64::from(byte != EMPTY);
        }
        true
    }
}

/// The memory of a layer of this many bytes, which is in whole cache lines.
fn taken(bytes: u64) -> u64 {
    bytes.div_ceil(64).saturating_mul(64) + size_of::<Bitmap>() as u64
}

fn text(error: mayhap::Error) -> Failure {
    error.to_string()
}

/// The filter that a header describes, without layers, and the bytes that each of them has.
fn parse(header: &[u8]) -> Result<(Foreign, Vec<u64>), Failure> {
    let mut fields = Fields(header);
    let (keys, buckets) = (fields.u64()?, fields.u64()?);
    let (removed, layers) = (fields.u64()?, fields.u64()?);
    let [slots, iterations, expansion] = [fields.u16()?, fields.u16()?, fields.u16()?];
    let filter = Foreign {
        buckets,
        slots,
        iterations,
        expansion,
        keys: 0,
        removed,
        layers: Vec::new(),
    };
    let is_expansion = expansion == 0 || expansion.is_power_of_two() && expansion <= MOST_EXPANSION;
    let is_shape = buckets.is_power_of_two() && (1..=MOST_SLOTS).contains(&slots);
    if !is_shape || !is_expansion || iterations == 0 || !fields.0.is_empty() {
        return Err(format!(
            "{buckets} buckets of {slots} slots, {iterations} iterations, expansion {expansion}; expected a power of two, \
             1 to {MOST_SLOTS}, at least 1, and 0 or a power of two up to {MOST_EXPANSION}"
        ));
    }
    let lengths = (0..layers.min(MOST_LAYERS + 1)).map(|index| filter.bytes_in(index));
    let lengths: Option<Vec<u64>> = lengths.collect();
    let lengths = lengths.filter(|lengths| !lengths.is_empty());
    let lengths = lengths.ok_or_else(|| format!("it cannot have {layers} layers"))?;
    let room = lengths
        .iter()
        .fold(0, |room: u64, &bytes| room.saturating_add(bytes));
    if keys > room {
        return Err(format!("{keys} keys are in {room} slots"));
    }
    Ok((filter, lengths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nest::Nest;
    use crate::pieces::{Pieces as _, Place as At, locate, piece};

    const ANY: Allows<'static> = &|_, _| true;

    /// The header of an empty filter.
    fn header(buckets: u64, layers: u64, numbers: [u16; 3]) -> Vec<u8> {
        let mut bytes = [0, buckets, 0, layers].map(u64::to_le_bytes).concat();
        bytes.extend(numbers.map(u16::to_le_bytes).concat());
        bytes
    }

    fn empty(buckets: u64, slots: u16, expansion: u16) -> Foreign {
        let header = header(buckets, 1, [slots, 20, expansion]);
        Foreign::begin(&header, ANY).expect("a filter")
    }

    fn keys(range: std::ops::Range<u32>) -> Vec<[u8; 4]> {
        range.map(u32::to_le_bytes).collect()
    }

    fn insert(filter: &mut Foreign, range: std::ops::Range<u32>) -> Result<(), Refusal> {
        let keys = keys(range);
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = vec![false; keys.len()];
        filter.insert(Keys::All, &keys, &mut new, 33, ANY)
    }

    fn bytes(filter: &Foreign) -> Vec<u8> {
        let mut bytes = Vec::new();
        filter.write(&mut bytes).expect("written");
        bytes
    }

    #[test]
    fn fingerprints_and_buckets_are_those_of_another_program() {
        // In Python, with a MurmurHash64A that was checked against the vectors of `Scheme::RedisBloom`:
        // h = murmur(key, 0); f = h % 255 + 1; [(h % n, (h ^ f * 0x5bd1e995) % n) for n in (8, 1024, 2**20)]
        for (key, fingerprint, small, middle, large) in [
            (&b""[..], 1, [0, 5], [0, 405], [0, 125_333]),
            (b"a", 196, [1, 5], [785, 261], [748_305, 900_357]),
            (b"hello", 159, [7, 4], [279, 668], [782_615, 778_908]),
            (b"eight888", 161, [3, 6], [523, 190], [272_907, 511_166]),
            (
                b"a key longer than eight bytes",
                162,
                [3, 1],
                [779, 833],
                [833_291, 616_257],
            ),
        ] {
            let print = Print::of(key);
            assert_eq!(print.fingerprint, fingerprint);
            for (count, expected) in [(8, small), (1024, middle), (1 << 20, large)] {
                assert_eq!(print.buckets(count), expected, "{key:?}");
                let [first, second] = expected;
                let back = Print {
                    hash: second,
                    fingerprint,
                };
                assert_eq!(back.buckets(count), [second, first]);
            }
        }
    }

    /// By another program, from the layout: 2, 4 and 8 buckets of 3 slots; in the layers `hello a`, `b c a` and `d e f a`.
    const HEADER_BYTES: &str =
        "0900000000000000020000000000000004000000000000000300000000000000030014000200";
    const LAYERS: [&str; 3] = [
        "0000009fc400",
        "000000cbc400000000100000",
        "00000006bcc4a90000000000000000000000000000000000",
    ];

    fn unhex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        let bytes = digits.map(|pair| std::str::from_utf8(pair).expect("digits"));
        bytes
            .map(|pair| u8::from_str_radix(pair, 16).expect("a byte"))
            .collect()
    }

    #[test]
    fn a_dump_is_loaded_answers_and_is_dumped_again() {
        let header = unhex(HEADER_BYTES);
        // Whole layers, and other pieces than the ones dumped here.
        for length in [5, usize::MAX] {
            let mut nest = Nest::begin(&header, None, ANY).expect("begun");
            let mut end = 1;
            for (index, layer) in LAYERS.into_iter().map(unhex).enumerate() {
                let mut start = 0;
                for bytes in layer.chunks(length.min(layer.len())) {
                    end += bytes.len() as u64;
                    let located = locate(&nest, end, bytes).expect("whole");
                    assert_eq!(located, (At::At(index, start), bytes));
                    assert!(nest.load_bits(index, start, bytes));
                    start += bytes.len() as u64;
                }
            }
            assert_eq!(nest.keys(), 9);
            for key in ["hello", "a", "b", "c", "d", "e", "f"] {
                assert!(nest.contains(key.as_bytes()), "{key}");
            }
            assert_eq!((nest.count(b"a"), nest.count(b"b")), (3, 1));
            assert!(!nest.contains(b"absent") && !nest.remove(b"absent"));

            assert_eq!(piece(&nest, 0), Some((1, header.clone())));
            let mut iterator = 1;
            for layer in LAYERS.map(unhex) {
                let next = iterator + layer.len() as u64;
                assert_eq!(piece(&nest, iterator), Some((next, layer)));
                iterator = next;
            }
            assert_eq!(piece(&nest, iterator), None);
            assert!(!nest.load_bits(2, 20, &[0; 5]) && !nest.load_bits(3, 0, &[0]));

            // Once for each layer it is in.
            assert!(nest.remove(b"a") && nest.remove(b"a") && nest.remove(b"a"));
            assert!(!nest.remove(b"a") && !nest.contains(b"a"));
            assert_eq!((nest.keys(), nest.facts().removed), (6, 7));
        }
    }

    #[test]
    fn no_key_is_missed_while_a_filter_grows_shrinks_and_is_compacted() {
        for (buckets, slots, expansion) in [(64, 2, 1), (1, 1, 2), (16, 4, 4), (2, 255, 2)] {
            let mut filter = empty(buckets, slots, expansion);
            for range in [0..1, 1..400, 400..1500] {
                insert(&mut filter, range).expect("room");
            }
            let used = |filter: &Foreign| -> u64 {
                let bytes = filter.layers.iter().flat_map(Bitmap::to_bytes);
                bytes.filter(|&byte| byte != EMPTY).count() as u64
            };
            assert_eq!((filter.keys(), used(&filter)), (1500, 1500));
            assert!(keys(0..1500).iter().all(|key| filter.contains(key)));
            let absent = keys(1 << 20..(1 << 20) + 1000);
            let wrong = absent.iter().filter(|key| filter.contains(&key[..]));
            let wrong = wrong.count();
            let shared = filter.layers.len() * 2 * usize::from(slots) * 1000 / 255;
            assert!(wrong <= shared + 20, "{wrong}");

            // Of those that look alike, any may be removed: what is left serves the others.
            for key in keys(0..1500).iter().filter(|key| key[0] % 4 != 0) {
                assert!(filter.remove(key), "{key:?}");
            }
            let left = keys(0..1500);
            let left: Vec<_> = left.iter().filter(|key| key[0] % 4 == 0).collect();
            let layers = filter.layers.len();
            for _ in 0..2 {
                assert!(left.iter().all(|key| filter.contains(&key[..])));
                assert_eq!((filter.keys(), used(&filter)), (375, 375));
                filter.compact();
            }
            assert!(layers == 1 || filter.layers.len() < layers);
            assert!(left.iter().all(|key| filter.remove(&key[..])));
            assert_eq!(used(&filter), 0);
            filter.compact();
            assert_eq!((filter.layers.len(), filter.removed), (1, 1500));
        }
    }

    #[test]
    fn a_batch_that_is_refused_changes_nothing() {
        for (expansion, most, limit, expected) in [
            (0, 33, u64::MAX, Refusal::Full),
            (1, 3, u64::MAX, Refusal::Expansions),
            (2, 33, 2000, Refusal::Memory),
        ] {
            let mut filter = empty(64, 2, expansion);
            insert(&mut filter, 0..60).expect("room");
            let before = bytes(&filter);
            let keys = keys(30..5000);
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let mut new = vec![false; keys.len()];
            let allows = |now, more| now + more <= limit;

            let done = filter.insert(Keys::All, &keys, &mut new, most, &allows);

            assert_eq!(done, Err(expected));
            assert!(bytes(&filter) == before);
            let new = &mut new[..40];
            let done = filter.insert(Keys::New, &keys[..40], new, most, &allows);
            assert_eq!(done, Ok(()));
            let inserted = new.iter().filter(|&&new| new).count() as u64;
            assert!(inserted <= 10 && !new[..30].contains(&true));
            assert_eq!(filter.keys(), 60 + inserted);
        }
    }

    #[test]
    fn a_key_is_in_as_often_as_it_was_inserted() {
        let mut filter = empty(8, 2, 1);
        let mut new = [false; 50];
        let keys = [&b"again"[..]; 50];
        filter
            .insert(Keys::All, &keys, &mut new, 33, ANY)
            .expect("room");
        assert_eq!((filter.count(b"again"), filter.keys()), (50, 50));
        assert!(new[0] && !new[1..].contains(&true));
        assert!((0..50).all(|_| filter.remove(b"again")));
        assert!(!filter.remove(b"again"));
    }

    #[test]
    fn what_is_saved_has_the_bytes_it_always_had() {
        // By another program, with the checksums of another XXH3.
        let sums = [
            "196b17e04770902c",
            "0bf36269dd9da662",
            "927e02df6168cdb3",
            "b2249523a207a0b4",
            "5d7238eb1cdc6406",
        ];
        let head = "4d415948415043460200000014000000";
        let parts = [head, HEADER_BYTES].into_iter().chain(LAYERS);
        let saved: Vec<&str> = parts.zip(sums).flat_map(<[&str; 2]>::from).collect();
        let saved = unhex(&saved.concat());

        let nest = Nest::read(&mut &saved[..], None).expect("read");

        assert_eq!(piece(&nest, 0), Some((1, unhex(HEADER_BYTES))));
        assert_eq!((nest.keys(), nest.count(b"a")), (9, 3));
        let mut again = Vec::new();
        nest.write(&mut again).expect("written");
        assert!(again == saved);
    }

    #[test]
    fn a_filter_is_the_same_after_writing_and_reading() {
        // Of one block, of several, and of an odd length.
        for (buckets, slots, expansion, keys) in
            [(64, 2, 2, 500), (1 << 16, 3, 1, 20), (1, 1, 1, 3)]
        {
            let mut filter = empty(buckets, slots, expansion);
            insert(&mut filter, 0..keys).expect("room");
            filter.remove(&0_u32.to_le_bytes());
            let written = bytes(&filter);

            let read = Foreign::read(&mut &written[..]).expect("read");

            assert!(bytes(&read) == written && read.layers == filter.layers);
            assert_eq!((read.keys(), read.removed), (u64::from(keys) - 1, 1));
        }
    }

    #[test]
    fn damaged_and_cut_bytes_are_refused() {
        let mut filter = empty(64, 2, 2);
        insert(&mut filter, 0..500).expect("room");
        let written = bytes(&filter);
        for at in 0..written.len() {
            let mut damaged = written.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Foreign::read(&mut &damaged[..]).is_err(), "{at}");
            assert!(Foreign::read(&mut &written[..at]).is_err(), "{at}");
        }
    }

    #[test]
    fn headers_that_cannot_be_are_refused_before_memory_is_asked_for() {
        let never: Allows<'static> = &|_, _| panic!("asked for memory");
        for (buckets, layers, numbers) in [
            (0, 1, [2, 20, 1]),
            (3, 1, [2, 20, 1]),
            (u64::MAX, 1, [2, 20, 1]),
            (64, 0, [2, 20, 1]),
            (64, 65, [2, 20, 1]),
            (64, u64::MAX, [2, 20, 1]),
            (64, 2, [2, 20, 0]),
            (64, 60, [2, 20, 2]),
            (1 << 63, 1, [2, 20, 1]),
            (1 << 62, 1, [1, 20, 1]),
            (64, 1, [0, 20, 1]),
            (64, 1, [256, 20, 1]),
            (64, 1, [2, 0, 1]),
            (64, 1, [2, 20, 3]),
            (64, 1, [2, 20, 0xFFFF]),
        ] {
            let header = header(buckets, layers, numbers);
            let refused = Foreign::begin(&header, never);
            assert!(refused.is_err(), "{buckets} {layers} {numbers:?}");
        }
        let mut crowded = header(64, 1, [2, 20, 1]);
        crowded[0] = 129;
        assert!(Foreign::begin(&crowded, never).is_err());
        crowded[0] = 128;
        assert!(Foreign::begin(&crowded, ANY).is_ok());
        assert!(Foreign::begin(&crowded[1..], never).is_err());
        // What is asked for is what is taken.
        let large = header(1 << 40, 1, [255, 20, 1]);
        let asked = |now: u64, more: u64| {
            assert_eq!((now, more >> 40), (0, 255));
            false
        };
        assert!(Foreign::begin(&large, &asked).is_err());
    }
}
