//! The dumps of RedisBloom's `BF.SCANDUMP`: its pieces, one after the other, in a file.
//!
//! The first piece is the header, the others are the bits of the layers, in order; a file does not show where the
//! server cut them into pieces.
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 8 | keys that were new when inserted |
//! | 8 | 4 | layers |
//! | 12 | 4 | options: 5, or 13 for a filter that does not grow |
//! | 16 | 4 | growth: capacity of the next layer divided by that of the last |
//! | 20 | 53 each | layers: bytes, bits, keys, rate, bits per key (8 bytes each), hashes (4), capacity (8), 0 (1) |
//! | then | | the bits of each layer, 64 in a word |
//!
//! Everything is little-endian and packed. There is no checksum. The original takes any number of hashes that agrees
//! with the bits per key; this reader also compares both with the rate, so that no header can ask for a million hashes.
//!
//! A filter that has grown is several standard filters, so only one of a single layer is an
//! [`AnyFilter`](crate::AnyFilter). Written from a description of the layout, and tested with dumps of an independent
//! program. The tests of the server module read snapshots and logs that RedisBloom itself wrote.

use std::io::{Read, Write};

use super::pieces;
use super::source::Source;
use crate::bits::{Bitmap, Bits};
use crate::filter::{Assemble as _, Bloom, Description, Kind, Promise};
use crate::sizing::REDISBLOOM_LN_2_SQUARED;
use crate::{Error, Key, Result, Scheme};

/// The name of the format in errors.
pub(super) const FORMAT: &str = "RedisBloom";

/// The options that every filter has: the number of bits is not a power of two, and hashes have 64 bits.
const OPTIONS: u32 = 1 | 4;

/// The option of a filter that does not grow.
const FIXED: u32 = 8;

/// The largest expansion that RedisBloom takes.
const MOST_EXPANSION: u32 = 32_768;

/// The most layers that are read: each has at least one more key, and lookups in more of them would be too slow.
const MOST_LAYERS: u32 = 1024;

/// The fields of a dump before its bits.
///
/// ```
/// use mayhap::format::redisbloom::{Header, Layer};
///
/// let first = Layer::new(1000, 0.005)?; // a filter that grows gives half its rate to the first layer
/// let header = Header { growth: 2, is_fixed: false, layers: vec![first] };
/// assert_eq!((header.rate(), header.expansion()), (0.01, Some(2)));
/// assert_eq!(Header::parse(&header.to_bytes())?, header);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The capacity of the next layer divided by that of the last.
    pub growth: u32,
    /// Set if the filter does not grow, whatever `growth` is.
    pub is_fixed: bool,
    /// The layers, oldest first; at least one.
    pub layers: Vec<Layer>,
}

/// The fields of a layer in the header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layer {
    /// The number of bits.
    pub bits: u64,
    /// The number of hashes per key.
    pub hashes: u32,
    /// The capacity and the rate.
    pub promise: Promise,
    /// The bits per key at that rate, as the original computed them: the last digit may differ from ours.
    pub bits_per_key: f64,
    /// The keys that were new when they were inserted.
    pub keys: u64,
}

impl Layer {
    /// Makes an empty layer for this many keys at this rate.
    ///
    /// # Errors
    ///
    /// When `capacity` is 0 or `rate` is not strictly between 0 and 1.
    pub fn new(capacity: u64, rate: f64) -> Result<Layer> {
        let plan = Bloom::plan(capacity, rate)?.hashed_by(Scheme::RedisBloom)?;
        Ok(Layer {
            bits: plan.bits,
            hashes: plan.hashes,
            promise: Promise {
                keys: capacity,
                rate,
            },
            bits_per_key: bits_per_key(libm::log(rate), plan.hashes),
            keys: 0,
        })
    }

    /// Describes the layer's filter.
    pub fn description(&self) -> Description {
        Description {
            kind: Kind::Bloom,
            hashing: Scheme::RedisBloom.into(),
            bits: self.bits,
            hashes: self.hashes,
            detail: 0,
            promise: Some(self.promise),
        }
    }
}

impl Header {
    /// Parses a header from all of the bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] and [`Error::Extra`] when its length is not the one it states, and [`Error::Field`] or
    /// [`Error::Rate`] for values that no filter has.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let mut source = Source::new(bytes, FORMAT, Some(bytes.len() as u64));
        let header = read_header(&mut source)?;
        source.end()?;
        Ok(header)
    }

    /// Encodes the header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.keys().to_le_bytes().to_vec();
        let fixed = if self.is_fixed { FIXED } else { 0 };
        let numbers = [self.layers.len() as u32, OPTIONS | fixed, self.growth];
        bytes.extend(numbers.map(u32::to_le_bytes).concat());
        for layer in &self.layers {
            let numbers = [
                layer.bits / 8,
                layer.bits,
                layer.keys,
                layer.promise.rate.to_bits(),
                layer.bits_per_key.to_bits(),
            ];
            bytes.extend(numbers.map(u64::to_le_bytes).concat());
            bytes.extend(layer.hashes.to_le_bytes());
            bytes.extend(layer.promise.keys.to_le_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// The keys that were new when they were inserted.
    pub fn keys(&self) -> u64 {
        let keys = self.layers.iter().map(|layer| layer.keys);
        keys.fold(0, u64::saturating_add)
    }

    /// The capacity of the next layer divided by that of the last; `None` for a filter that does not grow.
    pub fn expansion(&self) -> Option<u32> {
        (!self.is_fixed).then_some(self.growth)
    }

    /// The rate that was asked for: that of the first layer, or twice that for a filter that grows.
    pub fn rate(&self) -> f64 {
        let rate = self.layers.first().map_or(0.0, |layer| layer.promise.rate);
        match self.is_fixed {
            true => rate,
            false => rate * 2.0,
        }
    }
}

/// A filter of RedisBloom: its header, and a standard filter for each layer.
///
/// ```
/// use mayhap::format::redisbloom::{self, Dump, Header, Layer};
///
/// let layers = vec![Layer::new(100, 0.005)?, Layer::new(200, 0.0025)?];
/// let mut dump = Dump::new(Header { growth: 2, is_fixed: false, layers })?;
/// dump.filters[1].insert("key");
///
/// let mut file = Vec::new();
/// redisbloom::write(&dump, &mut file)?;
/// assert!(redisbloom::read(&file[..])?.contains("key"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dump {
    /// The fields of the dump before its bits.
    pub header: Header,
    /// The filter of each layer, oldest first.
    pub filters: Vec<Bloom>,
}

impl Dump {
    /// Makes the empty filter that a header describes.
    ///
    /// # Errors
    ///
    /// When there is no such filter, or no memory for it.
    pub fn new(header: Header) -> Result<Dump> {
        let filters = header.layers.iter().map(|layer| layer.description().make());
        let filters = filters.collect::<Result<_>>()?;
        Ok(Dump { header, filters })
    }

    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let mut newest_first = self.filters.iter().rev();
        newest_first.any(|filter| filter.contains(key))
    }
}

/// Reads a dump, to its end.
///
/// # Errors
///
/// Those of [`Header::parse`]; also [`Error::Memory`] and [`Error::Io`].
pub fn read(input: impl Read) -> Result<Dump> {
    let mut source = Source::new(input, FORMAT, None);
    let dump = read_from(&mut source)?;
    source.end()?;
    Ok(dump)
}

fn read_from(source: &mut Source<impl Read>) -> Result<Dump> {
    let header = read_header(source)?;
    let bytes = header.layers.iter().map(|layer| layer.bits / 8);
    source.need(bytes.fold(source.at(), u64::saturating_add))?;
    let mut filters = Vec::new();
    for layer in &header.layers {
        let bits: Bitmap = source.bits(layer.bits, u64::from_le_bytes)?;
        filters.push(Bloom::assemble(&layer.description(), vec![bits])?);
    }
    Ok(Dump { header, filters })
}

/// Reads the filter of a dump that has one layer.
pub(super) fn read_one(source: &mut Source<impl Read>) -> Result<Bloom> {
    let mut dump = read_from(source)?;
    match (dump.filters.len(), dump.filters.pop()) {
        (1, Some(filter)) => Ok(filter),
        (layers, _) => Err(source.field(
            "number of layers",
            layers as i64,
            "1: a filter that has grown is read by `format::redisbloom::read`, or by BF.LOADCHUNK of a server",
        )),
    }
}

pub(super) fn read_header(source: &mut Source<impl Read>) -> Result<Header> {
    let keys = u64::from_le_bytes(source.array()?);
    let count = u32::from_le_bytes(source.array()?);
    if !(1..=MOST_LAYERS).contains(&count) {
        return Err(source.field("number of layers", count.into(), "1 to 1024"));
    }
    let options = u32::from_le_bytes(source.array()?);
    if options & !FIXED != OPTIONS {
        return Err(source.field("options", options.into(), "5 or 13"));
    }
    let growth = u32::from_le_bytes(source.array()?);
    let is_fixed = options & FIXED != 0;
    if !is_fixed && !(1..=MOST_EXPANSION).contains(&growth) {
        return Err(source.field("expansion", growth.into(), "1 to 32768"));
    }
    let layers = (0..count).map(|_| read_layer(source));
    let layers = layers.collect::<Result<_>>()?;
    let header = Header {
        growth,
        is_fixed,
        layers,
    };
    if header.keys() != keys {
        let expected = "as many as the layers have together";
        return Err(source.field("number of keys", clamp(keys), expected));
    }
    // Twice the rate of the first layer was asked for; that must be a rate too.
    match header.rate() {
        rate if rate < 1.0 => Ok(header),
        got => Err(Error::Rate { got }),
    }
}

fn read_layer(source: &mut Source<impl Read>) -> Result<Layer> {
    let bytes = u64::from_le_bytes(source.array()?);
    let bits = u64::from_le_bytes(source.array()?);
    if bytes.checked_mul(8) != Some(bits) || bits == 0 || !bits.is_multiple_of(64) {
        let expected = "8 times the bytes, a multiple of 64";
        return Err(source.field("number of bits", clamp(bits), expected));
    }
    let keys = u64::from_le_bytes(source.array()?);
    let rate = f64::from_le_bytes(source.array()?);
    if !(rate > 0.0 && rate < 1.0) {
        return Err(Error::Rate { got: rate });
    }
    let per_key = f64::from_le_bytes(source.array()?);
    let hashes = u32::from_le_bytes(source.array()?);
    // Within one, because the original rounds differently. The rate is compared too: no number of hashes can be made to
    // fit it.
    let fits = |per_key: f64| {
        let expected = per_key * core::f64::consts::LN_2;
        (f64::from(hashes) - expected).abs() <= 1.0
    };
    if hashes == 0 || !fits(per_key) || !fits(-libm::log(rate) / REDISBLOOM_LN_2_SQUARED) {
        let expected = "as many as the rate and the bits per key need";
        return Err(source.field("number of hashes", hashes.into(), expected));
    }
    let capacity = u64::from_le_bytes(source.array()?);
    if capacity == 0 || keys > capacity {
        let expected = "at least 1, and as many as it has keys";
        return Err(source.field("capacity", clamp(capacity), expected));
    }
    let [log2] = source.array()?;
    if log2 != 0 {
        return Err(source.field("logarithm of the bits", log2.into(), "0"));
    }
    let layer = Layer {
        bits,
        hashes,
        promise: Promise {
            keys: capacity,
            rate,
        },
        bits_per_key: per_key,
        keys,
    };
    Bloom::<Bitmap>::check(&layer.description())?;
    Ok(layer)
}

/// Returns the bits per key for a header, from the natural logarithm of the rate. RedisBloom refuses a header whose
/// hashes are not the ones it computes from them, so a filter with other hashes states other bits per key.
///
/// Logarithms of different libraries differ in the last digit. With that of the C library, this is what RedisBloom
/// writes.
pub fn bits_per_key(logarithm: f64, hashes: u32) -> f64 {
    let per_key = -logarithm / REDISBLOOM_LN_2_SQUARED;
    match libm::ceil(core::f64::consts::LN_2 * per_key) as u32 == hashes {
        true => per_key,
        false => (f64::from(hashes) - 0.5) / core::f64::consts::LN_2,
    }
}

/// Converts a number for errors: past 2^63 it becomes 2^63 - 1.
fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Writes a dump as RedisBloom would.
///
/// # Errors
///
/// [`Error::Unfit`] when a filter is not the one that the header describes, [`Error::Io`] when writing fails.
pub fn write(dump: &Dump, mut output: impl Write) -> Result<()> {
    if dump.filters.len() != dump.header.layers.len() {
        let got = dump.filters.len().to_string();
        return Err(unfit("number of layers", got, "as many as the header has"));
    }
    for (filter, layer) in dump.filters.iter().zip(&dump.header.layers) {
        if filter.description() != layer.description() {
            let got = format!("{:?}", filter.description());
            return Err(unfit("layer", got, "the one that the header describes"));
        }
    }
    output.write_all(&dump.header.to_bytes())?;
    for filter in &dump.filters {
        pieces::write(filter.bits(), u64::to_le_bytes, &mut output)?;
    }
    Ok(())
}

fn unfit(what: &'static str, got: String, expected: &'static str) -> Error {
    Error::Unfit {
        format: FORMAT,
        what,
        got,
        expected,
    }
}

/// Writes a standard filter as one that does not grow.
pub(super) fn write_one<B: Bits>(filter: &Bloom<B>, mut output: impl Write) -> Result<()> {
    if *filter.scheme() != Scheme::RedisBloom {
        let got = filter.scheme().to_string();
        return Err(unfit("scheme", got, "redisbloom"));
    }
    let description = filter.description();
    let Some(promise) = description.promise else {
        let expected = "a capacity and a rate, which its header says (see `Bloom::promising`)";
        return Err(unfit("promise", "none".into(), expected));
    };
    let estimate = filter.stats().keys.map(|keys| libm::round(keys) as u64);
    let layer = Layer {
        bits: description.bits,
        hashes: description.hashes,
        promise,
        bits_per_key: bits_per_key(libm::log(promise.rate), description.hashes),
        // When every bit is a one there is no estimate, and the capacity was exceeded long ago.
        keys: estimate.map_or(promise.keys, |keys| keys.min(promise.keys)),
    };
    // The default growth, which has no effect.
    let header = Header {
        growth: 2,
        is_fixed: true,
        layers: vec![layer],
    };
    if Header::parse(&header.to_bytes()).is_err() {
        let got = format!("{} bits and {} hashes", layer.bits, layer.hashes);
        return Err(unfit(
            "shape",
            got,
            "that of its rate, bits a multiple of 64",
        ));
    }
    output.write_all(&header.to_bytes())?;
    pieces::write(filter.bits(), u64::to_le_bytes, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Vec<u8> {
        let mut first = Layer::new(100, 0.005).expect("valid");
        first.keys = 1;
        let header = Header {
            growth: 2,
            is_fixed: false,
            layers: vec![first],
        };
        header.to_bytes()
    }

    #[test]
    fn headers_that_no_filter_has_are_refused() {
        let header = header();
        let changed = |at: usize, bytes: &[u8]| {
            let mut changed = header.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            Header::parse(&changed).is_err()
        };
        assert!(!changed(0, &[]));
        for (at, bytes) in [
            (0, &9_u64.to_le_bytes()[..]),
            (8, &0_u32.to_le_bytes()),
            (8, &u32::MAX.to_le_bytes()),
            (12, &4_u32.to_le_bytes()),
            (12, &7_u32.to_le_bytes()),
            (16, &0_u32.to_le_bytes()),
            (20, &8_u64.to_le_bytes()),
            (28, &u64::MAX.to_le_bytes()),
            (36, &101_u64.to_le_bytes()),
            (44, &0_f64.to_le_bytes()),
            (44, &0.6_f64.to_le_bytes()),
            (44, &f64::NAN.to_le_bytes()),
            (52, &1e9_f64.to_le_bytes()),
            (60, &(1_u32 << 31).to_le_bytes()),
            (64, &0_u64.to_le_bytes()),
            (72, &[3]),
        ] {
            assert!(changed(at, bytes), "{at}");
        }
        for length in 0..header.len() {
            let cut = Header::parse(&header[..length]);
            assert!(matches!(cut, Err(Error::Truncated { .. })), "{length}");
        }
        let longer = Header::parse(&[&header[..], &[0]].concat());
        assert!(matches!(longer, Err(Error::Extra { .. })));
    }

    #[test]
    fn a_filter_that_has_grown_is_not_a_single_one() {
        let layers = [(100, 0.005), (200, 0.0025)];
        let layers = layers.map(|(keys, rate)| Layer::new(keys, rate).expect("valid"));
        let header = Header {
            growth: 2,
            is_fixed: false,
            layers: layers.to_vec(),
        };
        let mut file = Vec::new();
        write(&Dump::new(header).expect("small"), &mut file).expect("written");

        let refused = crate::format::open(&file, None).expect_err("two layers");

        assert!(
            refused.to_string().contains("a filter that has grown"),
            "{refused}"
        );
    }
}
