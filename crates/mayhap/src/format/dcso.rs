//! The files of DCSO's `bloom` tools, version 1.
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 8 | flags: the version, 1, in the lowest byte; the others 0 |
//! | 8 | 8 | capacity in keys |
//! | 16 | 8 | rate at that capacity, a double |
//! | 24 | 8 | hashes |
//! | 32 | 8 | bits |
//! | 40 | 8 | keys that were new when inserted |
//! | 48 | 8 each | words: bits / 64, rounded up |
//! | then | any | data of the user's, up to the end |
//!
//! Everything is little-endian. There is no checksum. A file written with `--gzip` is all this,
//! compressed: decompress it first. The original allocates what the header claims before reading and
//! divides by the bits without checking them; this reader takes memory only as bytes arrive, and refuses
//! what cannot be a filter.

use std::io::{Read, Write};

use super::pieces;
use super::source::Source;
use crate::bits::Bits;
use crate::filter::{Bloom, Promise};
use crate::{Error, Key, Result, Scheme, Shape, Sizing};

/// The name of the format in errors.
pub(super) const FORMAT: &str = "DCSO";

/// A filter, and the other fields of its file.
///
/// ```
/// use mayhap::format::dcso::{self, Envelope};
///
/// let mut envelope = Envelope::with_capacity(1000, 0.001)?;
/// envelope.insert("192.0.2.7");
/// envelope.data = b"seen in March".to_vec();
///
/// let mut file = Vec::new();
/// dcso::write(&envelope, &mut file)?; // `bloom check FILE` takes this
/// let read = dcso::read(&file[..])?;
/// assert!(read.filter.contains("192.0.2.7"));
/// assert_eq!((read.keys, read.promise.keys), (1, 1000));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The filter, in [`Scheme::Dcso`].
    pub filter: Bloom,
    /// The capacity and rate the filter was made for.
    pub promise: Promise,
    /// The number of keys that were new when they were inserted, as far as the filter could see.
    pub keys: u64,
    /// The user's data: bytes without a meaning here.
    pub data: Vec<u8>,
}

impl Envelope {
    /// Makes an empty filter as `bloom create` does.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Envelope> {
        let filter = Bloom::new(Sizing::Dcso.shape(keys, rate)?, Scheme::Dcso)?;
        let promise = Promise { keys, rate };
        Ok(Envelope {
            filter: filter.promising(promise.keys, promise.rate)?,
            promise,
            keys: 0,
            data: Vec::new(),
        })
    }

    /// Inserts the key and counts it if it was new; true when it was *definitely* not in the filter
    /// before.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let new = self.filter.insert(key);
        self.keys += u64::from(new);
        new
    }
}

/// Reads one file, to its end.
///
/// # Errors
///
/// [`Error::Truncated`] when the input ends early, [`Error::Field`] for another version, for a
/// capacity, number of hashes or number of bits that no filter has and for ones past the last bit,
/// [`Error::Rate`] for an invalid rate; also [`Error::Memory`] and [`Error::Io`].
pub fn read(input: impl Read) -> Result<Envelope> {
    read_from(Source::new(input, FORMAT, None))
}

pub(super) fn read_from(mut source: Source<impl Read>) -> Result<Envelope> {
    let (promise, shape, keys) = read_header(&mut source)?;
    let bits = source.bits(shape.bits(), u64::from_le_bytes)?;
    let filter = Bloom::from_bits(bits, shape, Scheme::Dcso)?;
    Ok(Envelope {
        filter: filter.promising(promise.keys, promise.rate)?,
        promise,
        keys,
        data: source.rest()?,
    })
}

/// Reads the capacity and rate, the shape, and the number of keys.
pub(super) fn read_header(source: &mut Source<impl Read>) -> Result<(Promise, Shape, u64)> {
    let flags = u64::from_le_bytes(source.array()?);
    if flags != 1 {
        let expected = "1, the only version; a gzip file must be decompressed first";
        return Err(source.field("flags", clamp(flags), expected));
    }
    let capacity = u64::from_le_bytes(source.array()?);
    let rate = f64::from_le_bytes(source.array()?);
    let hashes = u64::from_le_bytes(source.array()?);
    let bits = u64::from_le_bytes(source.array()?);
    let keys = u64::from_le_bytes(source.array()?);
    if capacity == 0 {
        return Err(source.field("capacity", 0, "at least 1"));
    }
    if !(rate > 0.0 && rate < 1.0) {
        return Err(Error::Rate { got: rate });
    }
    if bits == 0 || bits > 1 << 53 {
        return Err(source.field("number of bits", clamp(bits), "1 to 2^53"));
    }
    let Some(hashes) = u32::try_from(hashes)
        .ok()
        .filter(|hashes| (1..=Shape::MAX_HASHES).contains(hashes))
    else {
        return Err(source.field("number of hashes", clamp(hashes), "1 to 4096"));
    };
    let promise = Promise {
        keys: capacity,
        rate,
    };
    Ok((promise, Shape::new(bits, hashes)?, keys))
}

/// Converts a number for errors: past 2^63 it becomes 2^63 - 1.
fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Writes the file as `bloom` would, uncompressed.
///
/// # Errors
///
/// [`Error::Unfit`] when the filter's scheme is not [`Scheme::Dcso`], [`Error::Io`] when writing
/// fails.
pub fn write(envelope: &Envelope, mut output: impl Write) -> Result<()> {
    write_filter(
        &envelope.filter,
        envelope.promise,
        envelope.keys,
        &mut output,
    )?;
    output.write_all(&envelope.data)?;
    Ok(())
}

/// Refuses a filter in another scheme.
pub(super) fn check<B: Bits>(filter: &Bloom<B>) -> Result<()> {
    match filter.scheme() {
        Scheme::Dcso => Ok(()),
        other => Err(Error::Unfit {
            format: FORMAT,
            what: "scheme",
            got: other.to_string(),
            expected: "dcso",
        }),
    }
}

/// Writes all but the user's data.
pub(super) fn write_filter<B: Bits>(
    filter: &Bloom<B>,
    promise: Promise,
    keys: u64,
    mut output: impl Write,
) -> Result<()> {
    check(filter)?;
    let fields = [
        1,
        promise.keys,
        promise.rate.to_bits(),
        u64::from(filter.shape().hashes()),
        filter.shape().bits(),
        keys,
    ];
    for field in fields {
        output.write_all(&field.to_le_bytes())?;
    }
    pieces::write(filter.bits(), u64::to_le_bytes, output)
}
