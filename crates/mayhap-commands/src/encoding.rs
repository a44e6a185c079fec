//! Bytes of filters: checksums, descriptions, and fields one after the other. All numbers are little-endian.

use std::io::Read;

use mayhap::{Description, Hashing, Kind, Promise, SecretKey};
use xxhash_rust::xxh3::xxh3_64;

/// The bytes of a description.
pub(crate) const DESCRIPTION: usize = 48;

/// The reason why bytes are not a filter.
pub type Damage = String;

/// The text of an error of the library.
pub(crate) fn text(error: mayhap::Error) -> Damage {
    error.to_string()
}

/// A description as bytes: kind:u16 scheme:u16 hashes:u32 seed:u64 bits:u64 detail:u32 0:u32 promised keys:u64 promised
/// rate:f64.
pub(crate) fn description_bytes(description: &Description) -> [u8; DESCRIPTION] {
    let (scheme, seed) = description.hashing.code();
    let promise = description.promise;
    let promise = promise.unwrap_or(Promise { keys: 0, rate: 0.0 });
    let fields: [&[u8]; 9] = [
        &description.kind.code().to_le_bytes(),
        &scheme.to_le_bytes(),
        &description.hashes.to_le_bytes(),
        &seed.to_le_bytes(),
        &description.bits.to_le_bytes(),
        &description.detail.to_le_bytes(),
        &[0; 4],
        &promise.keys.to_le_bytes(),
        &promise.rate.to_le_bytes(),
    ];
    let mut bytes = [0; DESCRIPTION];
    bytes.copy_from_slice(&fields.concat());
    bytes
}

/// Reads the next description; a keyed one must be of this secret.
pub(crate) fn description(
    fields: &mut Fields<'_>,
    secret: Option<&SecretKey>,
) -> Result<Description, Damage> {
    let code = fields.u16()?;
    let kind = Kind::from_code(code).ok_or_else(|| format!("its kind {code} is not known"))?;
    let scheme = fields.u16()?;
    let hashes = fields.u32()?;
    let hashing = Hashing::from_code(scheme, fields.u64()?, secret);
    let bits = fields.u64()?;
    let detail = fields.u32()?;
    fields.u32()?;
    let (keys, rate) = (fields.u64()?, fields.f64()?);
    Ok(Description {
        kind,
        hashing: hashing.map_err(text)?,
        bits,
        hashes,
        detail,
        promise: (keys > 0).then_some(Promise { keys, rate }),
    })
}

/// Appends their checksum to bytes.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = xxh3_64(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// Returns the bytes before a checksum, which must be right.
pub(crate) fn opened(bytes: &[u8]) -> Result<&[u8], Damage> {
    let body = bytes
        .len()
        .checked_sub(8)
        .map(|length| bytes.split_at(length));
    let Some((body, sum)) = body else {
        return Err("it is too short".into());
    };
    if xxh3_64(body).to_le_bytes() != sum {
        return Err("its checksum is wrong: it was damaged".into());
    }
    Ok(body)
}

/// Reads this many bytes and their checksum.
pub(crate) fn unsealed(input: &mut dyn Read, length: usize) -> Result<Vec<u8>, Damage> {
    let mut bytes = vec![0; length + 8];
    let read = input.read_exact(&mut bytes);
    read.map_err(|error| error.to_string())?;
    opened(&bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Fields one after the other.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let split = self.0.split_at_checked(length);
        let (taken, left) = split.ok_or("it is too short")?;
        self.0 = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many as were taken"))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Damage> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Damage> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Damage> {
        self.array().map(f64::from_le_bytes)
    }
}
