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
//! divides by the bits without a look; this reader takes memory only as bytes arrive, and refuses
//! what cannot be a filter.

use std::io::{Read, Write};

use super::words::{self, Source};
use crate::filter::{Bloom, Promise};
use crate::{Error, Key, Result, Scheme, Shape, Sizing};

const FORMAT: &str = "DCSO";

/// A filter and what its file says about it besides.
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
    /// How many keys were new when they were inserted, as far as the filter could tell.
    pub keys: u64,
    /// What the user attached: bytes without a meaning here.
    pub data: Vec<u8>,
}

impl Envelope {
    /// An empty filter as `bloom create` makes it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or there is no memory for it.
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Envelope> {
        let filter = Bloom::new(Sizing::Dcso.shape(keys, rate)?, Scheme::Dcso)?;
        let promise = Promise { keys, rate };
        Ok(Envelope {
            filter: filter.promising(promise),
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
/// [`Error::Rate`] for a rate that is none, [`Error::Memory`] and [`Error::Io`] as they come.
pub fn read(input: impl Read) -> Result<Envelope> {
    let mut source = Source::new(input, FORMAT);
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

    let shape = Shape::new(bits, hashes)?;
    let bits = source.bits(bits, u64::from_le_bytes)?;
    let filter = Bloom::from_bits(bits, shape, Scheme::Dcso)?;
    let promise = Promise {
        keys: capacity,
        rate,
    };
    Ok(Envelope {
        filter: filter.promising(promise),
        promise,
        keys,
        data: source.rest()?,
    })
}

/// A number as an error tells it: past 2^63 as 2^63 - 1.
fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Writes the file as `bloom` would, uncompressed.
///
/// # Errors
///
/// [`Error::Incompatible`] when the filter's scheme is not [`Scheme::Dcso`], [`Error::Io`] when
/// writing fails.
pub fn write(envelope: &Envelope, mut output: impl Write) -> Result<()> {
    let filter = &envelope.filter;
    if filter.scheme() != Scheme::Dcso {
        return Err(Error::Incompatible {
            what: "scheme",
            left: format!("{:?}", filter.scheme()),
            right: "Dcso, all that this format holds".into(),
        });
    }
    let fields = [
        1,
        envelope.promise.keys,
        envelope.promise.rate.to_bits(),
        u64::from(filter.shape().hashes()),
        filter.shape().bits(),
        envelope.keys,
    ];
    for field in fields {
        output.write_all(&field.to_le_bytes())?;
    }
    words::write(filter.bits(), &mut output, u64::to_le_bytes)?;
    output.write_all(&envelope.data)?;
    Ok(())
}
