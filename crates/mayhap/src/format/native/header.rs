//! The first 64 bytes of a file: what the filter is, and where its parts are.

use xxhash_rust::xxh3::xxh3_64;

use super::{CHUNK_BYTES, FORMAT, Metadata, PROGRESS_BYTES};
use crate::filter::{AnyFilter, Assemble, Description, Hashing, Kind, Promise, removed};
use crate::hash::{DrawnKey, MessageDigest};
use crate::shape::check_request;
use crate::{Bitmap, Digester, Error, Result, Scheme, SecretKey};

/// The bytes of a header; the body begins after them.
pub(crate) const HEADER_BYTES: u64 = 64;

/// The beginning of a finished file. The first byte is not text and the last is a line feed, so that a
/// transfer that changes either is noticed at once.
const MAGIC: [u8; 8] = *b"\x8DMAYHAP\n";

/// The beginning of an unfinished build, which is otherwise a header like any other.
const UNFINISHED_MAGIC: [u8; 8] = *b"\x8DMAYHAP?";

const VERSION: u16 = 1;

/// The flag for metadata texts after the checksums.
const METADATA_FLAG: u16 = 1;

/// The flag for a progress record after them.
const PROGRESS_FLAG: u16 = 2;

/// The offset of the header's own checksum, and the end of the bytes it covers.
const CHECKSUM_AT: usize = 56;

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Complete.
    Finished,
    /// Begun, and perhaps still being written.
    Unfinished,
}

/// The purpose for which a filter is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access<'a> {
    /// To look up keys; a filter made with a secret needs that secret.
    Keys(Option<&'a SecretKey>),
    /// To look at it: a stand-in replaces the secret. No key must be looked up under it, and it must not
    /// leave the crate.
    Look,
}

impl<'a> From<Option<&'a SecretKey>> for Access<'a> {
    fn from(secret: Option<&'a SecretKey>) -> Access<'a> {
        Access::Keys(secret)
    }
}

/// The fields of the first 64 bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub(crate) state: State,
    pub(crate) description: Description,
    pub(crate) has_metadata: bool,
    pub(crate) has_progress: bool,
}

impl Header {
    /// The header of a finished file.
    pub(crate) fn new(description: Description, metadata: &Metadata) -> Header {
        Header {
            state: State::Finished,
            description,
            has_metadata: metadata.has_texts(),
            has_progress: metadata.progress.is_some(),
        }
    }

    /// The bytes of the body: whole words.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.description.bits.div_ceil(64) * 8
    }

    /// The offset of the trailer.
    pub(crate) fn trailer_at(&self) -> u64 {
        HEADER_BYTES + self.body_bytes()
    }

    /// The number of chunks, each with a checksum in the trailer.
    pub(crate) fn chunks(&self) -> u64 {
        self.body_bytes().div_ceil(CHUNK_BYTES)
    }

    /// The bytes of the file without the texts of metadata.
    pub(crate) fn least_bytes(&self) -> u64 {
        let progress = if self.has_progress { PROGRESS_BYTES } else { 0 };
        self.trailer_at() + 8 * self.chunks() + progress + 8
    }

    pub(crate) fn to_bytes(&self) -> [u8; 64] {
        let description = &self.description;
        let (scheme, seed) = scheme_code(&description.hashing);
        let (keys, rate) = match description.promise {
            Some(promise) => (promise.keys, promise.rate),
            None => (0, 0.0),
        };
        let magic = match self.state {
            State::Finished => MAGIC,
            State::Unfinished => UNFINISHED_MAGIC,
        };
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(&magic);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&description.kind.code().to_le_bytes());
        bytes[12..14].copy_from_slice(&scheme.to_le_bytes());
        let mut flags = 0;
        if self.has_metadata {
            flags |= METADATA_FLAG;
        }
        if self.has_progress {
            flags |= PROGRESS_FLAG;
        }
        bytes[14..16].copy_from_slice(&flags.to_le_bytes());
        bytes[16..24].copy_from_slice(&seed.to_le_bytes());
        bytes[24..32].copy_from_slice(&description.bits.to_le_bytes());
        bytes[32..36].copy_from_slice(&description.hashes.to_le_bytes());
        bytes[36..40].copy_from_slice(&description.detail.to_le_bytes());
        bytes[40..48].copy_from_slice(&keys.to_le_bytes());
        bytes[48..56].copy_from_slice(&rate.to_bits().to_le_bytes());
        let checksum = xxh3_64(&bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Parses a header, of a finished file or of a build. What it describes can exist.
    ///
    /// `got` is the number of bytes that were read; the others are ignored.
    pub(crate) fn parse(bytes: &[u8; 64], got: usize, access: Access<'_>) -> Result<Header> {
        let state = magic(bytes, got)?;
        if got < bytes.len() {
            return Err(Error::Truncated {
                format: FORMAT,
                expected: HEADER_BYTES,
                got: got as u64,
            });
        }
        // Checked before anything else is believed. Every version keeps its checksum here, so that a damaged
        // code is not mistaken for an unknown one.
        if number::<8>(bytes, CHECKSUM_AT) != xxh3_64(&bytes[..CHECKSUM_AT]) {
            return Err(Error::Damaged {
                format: FORMAT,
                part: "header",
                index: 0,
                offset: 0,
            });
        }
        let version = number::<2>(bytes, 8);
        if version != u64::from(VERSION) {
            return Err(unknown("version", version, "1"));
        }
        let code = number::<2>(bytes, 10);
        let kind = u16::try_from(code).ok().and_then(Kind::from_code);
        let kind = kind.ok_or_else(|| match removed(code) {
            Some(removed) => removed,
            None => unknown("kind", code, Kind::KNOWN),
        })?;
        let flags = number::<2>(bytes, 14) as u16;
        if flags & !(METADATA_FLAG | PROGRESS_FLAG) != 0 {
            let known = "0, 1 (metadata), 2 (progress), 3 (both)";
            return Err(unknown("flags", flags.into(), known));
        }
        let description = Description {
            kind,
            hashing: hashing(number::<2>(bytes, 12), number::<8>(bytes, 16), access)?,
            bits: number::<8>(bytes, 24),
            hashes: number::<4>(bytes, 32) as u32,
            detail: number::<4>(bytes, 36) as u32,
            promise: promise(number::<8>(bytes, 40), number::<8>(bytes, 48))?,
        };
        AnyFilter::<Bitmap>::check(&description)?;
        Ok(Header {
            state,
            description,
            has_metadata: flags & METADATA_FLAG != 0,
            has_progress: flags & PROGRESS_FLAG != 0,
        })
    }

    /// Returns the header if the file is finished.
    pub(crate) fn finished(self) -> Result<Header> {
        match self.state {
            State::Finished => Ok(self),
            State::Unfinished => Err(Error::Unfinished { format: FORMAT }),
        }
    }
}

/// Recognises the magic number that the first `got` bytes begin with.
fn magic(bytes: &[u8; 64], got: usize) -> Result<State> {
    let got = got.min(8);
    if bytes[..got] == MAGIC[..got] {
        return Ok(State::Finished);
    }
    if bytes[..got] == UNFINISHED_MAGIC[..got] {
        return Ok(State::Unfinished);
    }
    Err(Error::Unrecognised { known: "native" })
}

/// Reads the little-endian number of `N` bytes at an offset.
fn number<const N: usize>(bytes: &[u8; 64], at: usize) -> u64 {
    let mut word = [0; 8];
    word[..N].copy_from_slice(&bytes[at..at + N]);
    u64::from_le_bytes(word)
}

fn unknown(what: &'static str, code: u64, known: &'static str) -> Error {
    Error::Unknown {
        format: FORMAT,
        what,
        code,
        known,
    }
}

fn promise(keys: u64, rate_bits: u64) -> Result<Option<Promise>> {
    if keys == 0 && rate_bits == 0 {
        return Ok(None);
    }
    let rate = f64::from_bits(rate_bits);
    check_request(keys, rate)?;
    Ok(Some(Promise { keys, rate }))
}

impl Hashing {
    /// Returns the permanent code of this way to hash, as stored in files and servers, and its seed or drawn key. A
    /// secret is replaced by its check value.
    ///
    /// ```
    /// use mayhap::{Digester, Hashing, Scheme};
    ///
    /// assert_eq!(Hashing::from(Scheme::Guava64).code(), (2, 0));
    /// assert_eq!(Hashing::from(Digester::Rapidhash { seed: 7 }).code(), (0, 7));
    /// assert_eq!(Hashing::from(Digester::RapidhashProtected { seed: 7 }).code(), (13, 7));
    /// assert_eq!(Hashing::from_code(2, 0, None)?, Scheme::Guava64.into());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn code(&self) -> (u16, u64) {
        scheme_code(self)
    }

    /// Decodes the way to hash from a code and a seed; the inverse of [`code`](Hashing::code).
    ///
    /// # Errors
    ///
    /// When there is no such code, it has no such seed, or the secret it needs is missing or wrong.
    pub fn from_code(code: u16, seed: u64, secret: Option<&SecretKey>) -> Result<Hashing> {
        hashing(u64::from(code), seed, secret.into())
    }
}

/// Returns the permanent code of a way to hash, and its seed. A secret is not written, only its check value.
fn scheme_code(hashing: &Hashing) -> (u16, u64) {
    let scheme = match hashing {
        Hashing::Scheme(scheme) => scheme,
        Hashing::Xxh64 => return (12, 0),
    };
    match scheme {
        Scheme::Native(Digester::Rapidhash { seed }) => (0, *seed),
        Scheme::Native(Digester::SipHash { key }) => (1, key.check_value()),
        Scheme::Guava64 => (2, 0),
        Scheme::Guava32 => (3, 0),
        Scheme::Salted(MessageDigest::Md5) => (4, 0),
        Scheme::Salted(MessageDigest::Sha1) => (5, 0),
        Scheme::Salted(MessageDigest::Sha256) => (6, 0),
        Scheme::ThreeHash => (7, 0),
        Scheme::MurmurFloorMod => (8, 0),
        Scheme::Spark1 => (9, 0),
        // The four bytes of the seed, then four zeros.
        Scheme::Spark2 { seed } => (10, u64::from(*seed as u32)),
        Scheme::Dcso => (11, 0),
        Scheme::RedisBloom => (14, 0),
        Scheme::Native(Digester::RapidhashProtected { seed }) => (13, *seed),
        Scheme::Native(Digester::Universal { key }) => (15, key.bits()),
    }
}

/// Decodes the way to hash from a code and a seed; the inverse of [`scheme_code`].
fn hashing(code: u64, seed: u64, access: Access<'_>) -> Result<Hashing> {
    let scheme = match code {
        0 => return Ok(Digester::Rapidhash { seed }.into()),
        13 => return Ok(Digester::RapidhashProtected { seed }.into()),
        15 => {
            let key = DrawnKey::from_bits(seed);
            return Ok(Digester::Universal { key }.into());
        }
        1 => {
            let key = match access {
                Access::Keys(None) => return Err(Error::SecretNeeded),
                Access::Keys(Some(key)) if key.check_value() != seed => {
                    return Err(Error::SecretWrong);
                }
                Access::Keys(Some(key)) => key.clone(),
                Access::Look => SecretKey::from_bytes([0; 16]),
            };
            return Ok(Digester::SipHash { key }.into());
        }
        10 => {
            let narrow = u32::try_from(seed);
            let narrow = narrow.map_err(|_| seed_error(seed, "0 to 2^32 - 1"))?;
            let seed = narrow as i32;
            return Ok(Scheme::Spark2 { seed }.into());
        }
        2 => Scheme::Guava64.into(),
        3 => Scheme::Guava32.into(),
        4 => Scheme::Salted(MessageDigest::Md5).into(),
        5 => Scheme::Salted(MessageDigest::Sha1).into(),
        6 => Scheme::Salted(MessageDigest::Sha256).into(),
        7 => Scheme::ThreeHash.into(),
        8 => Scheme::MurmurFloorMod.into(),
        9 => Scheme::Spark1.into(),
        11 => Scheme::Dcso.into(),
        14 => Scheme::RedisBloom.into(),
        12 => Hashing::Xxh64,
        _ => return Err(unknown("scheme", code, "0 to 15")),
    };
    match seed {
        0 => Ok(scheme),
        _ => Err(seed_error(seed, "0: the scheme has none")),
    }
}

fn seed_error(seed: u64, expected: &'static str) -> Error {
    Error::Field {
        format: FORMAT,
        field: "seed",
        got: seed as i64,
        expected,
    }
}
