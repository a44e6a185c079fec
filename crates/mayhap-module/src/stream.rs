//! A chain as bytes: whole, for snapshots and `BF.LOAD`, or in pieces, for `BF.SCANDUMP` and `BF.LOADCHUNK`.
//!
//! Whole, it is a head and for every layer its numbers and a file of the native format, with the checksums that this has.
//! In pieces, the first holds the head with a description of every layer, and each of the others bits of one layer, at most
//! 16 MiB; each ends with a checksum. All numbers are little-endian. The pieces of RedisBloom are in `redisbloom.rs`.
//!
//! ```text
//! head    "MAYHAPBF" version:u32 layers:u32 capacity:u64 rate:f64 expansion:u32 (0: none) 0:u32
//! layer   capacity:u64 keys:u64
//! whole   head checksum:u64, then for each layer: layer checksum:u64 native file
//! first   head, then for each layer: layer kind:u16 scheme:u16 hashes:u32 seed:u64 bits:u64 detail:u32 0:u32
//!         promised keys:u64 promised rate:f64, then checksum:u64
//! other   bits checksum:u64
//! ```

use std::io::{Read, Write};

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _, Description, Hashing, Kind, Promise, bits::Bits as _};
use xxhash_rust::xxh3::xxh3_64;

use crate::chain::{Allows, Chain, Layer, Plan, is_layer};
use crate::redisbloom;

const MAGIC: &[u8; 8] = b"MAYHAPBF";
const VERSION: u32 = 1;
const HEAD: usize = 40;
const DESCRIBED: usize = 16 + 48;

/// The most bits in a piece, in bytes.
const PIECE: u64 = 16 << 20;

/// The most layers that are read: more than growth by a sixteenth needs for 2^64 keys.
const MOST_LAYERS: u32 = 1024;

/// Why bytes are not a filter.
pub(crate) type Failure = String;

/// Writes a chain.
pub(crate) fn write(chain: &Chain, output: &mut dyn Write) -> mayhap::Result<()> {
    output.write_all(&sealed(head(chain)))?;
    for layer in chain.layers() {
        output.write_all(&sealed(numbers(layer).concat()))?;
        native::write(&layer.filter, &Metadata::default(), &mut *output)?;
    }
    Ok(())
}

/// Reads a chain, and no byte more.
pub(crate) fn read(input: &mut dyn Read) -> Result<Chain, Failure> {
    let fields = unsealed(input, HEAD)?;
    let (plan, count) = parse_head(&mut Fields(&fields))?;
    let mut layers = Vec::new();
    for _ in 0..count {
        let numbers = unsealed(input, 16)?;
        let mut numbers = Fields(&numbers);
        let (capacity, keys) = (numbers.u64()?, numbers.u64()?);
        let (filter, _) = native::read(&mut *input, None).map_err(|error| error.to_string())?;
        layers.push(checked(Layer {
            filter,
            capacity,
            keys,
        })?);
    }
    Ok(Chain::of(plan, layers))
}

/// The piece that is asked for by `iterator`, and the iterator that belongs to it; `None` after the last.
pub(crate) fn piece(chain: &Chain, iterator: u64) -> Option<(u64, Vec<u8>)> {
    let Some(mut offset) = iterator.checked_sub(1) else {
        return match redisbloom::is_foreign(chain) {
            true => Some((1, redisbloom::header(chain))),
            false => Some((1, first(chain))),
        };
    };
    for layer in chain.layers() {
        let bytes = layer.bytes();
        if offset >= bytes {
            offset -= bytes;
            continue;
        }
        // A piece begins where one ended, at a word.
        let start = offset & !7;
        let end = (start + PIECE).min(bytes);
        let parts = layer.filter.parts();
        let bits = parts.first().copied()?;
        let mut piece = Vec::new();
        piece.try_reserve_exact((end - start) as usize + 8).ok()?;
        for word in start / 8..end / 8 {
            piece.extend_from_slice(&bits.word(word).to_le_bytes());
        }
        if !redisbloom::is_foreign(chain) {
            piece = sealed(piece);
        }
        return Some((iterator + end - offset, piece));
    }
    None
}

fn first(chain: &Chain) -> Vec<u8> {
    let mut bytes = head(chain);
    for layer in chain.layers() {
        let description = layer.filter.description();
        let (scheme, seed) = description.hashing.code();
        let promise = description
            .promise
            .unwrap_or(Promise { keys: 0, rate: 0.0 });
        bytes.extend(numbers(layer).concat());
        bytes.extend(description.kind.code().to_le_bytes());
        bytes.extend(scheme.to_le_bytes());
        bytes.extend(description.hashes.to_le_bytes());
        bytes.extend(seed.to_le_bytes());
        bytes.extend(description.bits.to_le_bytes());
        bytes.extend(description.detail.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(promise.keys.to_le_bytes());
        bytes.extend(promise.rate.to_le_bytes());
    }
    sealed(bytes)
}

/// The empty filter that the first piece describes, ours or RedisBloom's. Asks `allows` before any bits are taken.
pub(crate) fn begin(piece: &[u8], allows: Allows<'_>) -> Result<Chain, Failure> {
    if !is_ours(piece) {
        return redisbloom::begin(piece, allows);
    }
    let body = opened(piece)?;
    let (plan, count) = parse_head(&mut Fields(body))?;
    let described = &body[HEAD..];
    if described.len() != count as usize * DESCRIBED {
        return Err("it has not as many layers as it says".into());
    }
    let mut plans = Vec::new();
    for fields in described.chunks_exact(DESCRIBED) {
        let mut fields = Fields(fields);
        let (capacity, keys) = (fields.u64()?, fields.u64()?);
        plans.push((capacity, keys, description(&mut fields)?));
    }
    let bits = plans.iter().map(|(_, _, description)| description.bits);
    if !allows(0, bits.fold(0, u64::saturating_add) / 8) {
        return Err("it is larger than filters may be".into());
    }
    let mut layers = Vec::new();
    for (capacity, keys, description) in plans {
        let filter = AnyFilter::new(&description).map_err(|error| error.to_string())?;
        layers.push(checked(Layer {
            filter,
            capacity,
            keys,
        })?);
    }
    Ok(Chain::of(plan, layers))
}

fn description(fields: &mut Fields<'_>) -> Result<Description, Failure> {
    let code = fields.u16()?;
    let kind = Kind::from_code(code).ok_or_else(|| format!("its kind {code} is not known"))?;
    let scheme = fields.u16()?;
    let hashes = fields.u32()?;
    let hashing = Hashing::from_code(scheme, fields.u64()?, None);
    let bits = fields.u64()?;
    let detail = fields.u32()?;
    fields.u32()?;
    let (keys, rate) = (fields.u64()?, fields.f64()?);
    Ok(Description {
        kind,
        hashing: hashing.map_err(|error| error.to_string())?,
        bits,
        hashes,
        detail,
        promise: (keys > 0).then_some(Promise { keys, rate }),
    })
}

/// Where in a chain the bits of a piece that ends at `iterator` belong: the layer, and the byte in it.
#[derive(Debug, PartialEq)]
pub(crate) enum Place {
    At(usize, u64),
    /// No layer is there.
    Nowhere,
    /// A layer is there, but ends before the piece does.
    Crosses,
}

/// The bits of a piece, and where they belong.
pub(crate) fn locate<'p>(
    chain: &Chain,
    iterator: u64,
    piece: &'p [u8],
) -> Result<(Place, &'p [u8]), Failure> {
    let bits = match redisbloom::is_foreign(chain) {
        true => piece,
        false => opened(piece)?,
    };
    let start = iterator.checked_sub(1 + bits.len() as u64);
    let Some(mut start) = start.filter(|_| !bits.is_empty()) else {
        return Ok((Place::Nowhere, bits));
    };
    for (index, layer) in chain.layers().iter().enumerate() {
        let bytes = layer.bytes();
        if start >= bytes {
            start -= bytes;
            continue;
        }
        let place = match start + bits.len() as u64 {
            end if end <= bytes => Place::At(index, start),
            _ => Place::Crosses,
        };
        return Ok((place, bits));
    }
    Ok((Place::Nowhere, bits))
}

/// Whether these bytes begin as ours do.
pub(crate) fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

fn checked(layer: Layer) -> Result<Layer, Failure> {
    if !is_layer(&layer.filter) {
        return Err(format!("a layer is of the kind {}", layer.filter.kind()));
    }
    if layer.capacity == 0 || layer.keys > layer.capacity {
        let Layer { capacity, keys, .. } = layer;
        return Err(format!("a layer for {capacity} keys has {keys}"));
    }
    Ok(layer)
}

fn numbers(layer: &Layer) -> [[u8; 8]; 2] {
    [layer.capacity, layer.keys].map(u64::to_le_bytes)
}

fn head(chain: &Chain) -> Vec<u8> {
    let plan = chain.plan();
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((chain.layers().len() as u32).to_le_bytes());
    bytes.extend(plan.capacity.to_le_bytes());
    bytes.extend(plan.rate.to_le_bytes());
    bytes.extend(plan.expansion.unwrap_or(0).to_le_bytes());
    bytes.extend([0; 4]);
    bytes
}

fn parse_head(fields: &mut Fields<'_>) -> Result<(Plan, u32), Failure> {
    if fields.take(8)? != MAGIC {
        return Err("it does not begin as a filter does".into());
    }
    let version = fields.u32()?;
    if version != VERSION {
        return Err(format!("its version is {version}, and {VERSION} is read"));
    }
    let layers = fields.u32()?;
    let (capacity, rate) = (fields.u64()?, fields.f64()?);
    let expansion = Some(fields.u32()?).filter(|&times| times > 0);
    fields.u32()?;
    let plan = Plan {
        capacity,
        rate,
        expansion,
    };
    if !plan.is_valid() || layers == 0 || layers > MOST_LAYERS {
        return Err(format!("there is no filter {plan:?} of {layers} layers"));
    }
    Ok((plan, layers))
}

/// The bytes with their checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = xxh3_64(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// The bytes before a checksum that is right.
fn opened(bytes: &[u8]) -> Result<&[u8], Failure> {
    let body = bytes
        .len()
        .checked_sub(8)
        .map(|length| bytes.split_at(length));
    let Some((body, sum)) = body else {
        return Err("it is too short".into());
    };
    if xxh3_64(body).to_le_bytes() != sum {
        return Err("its checksum is wrong: it was damaged on its way".into());
    }
    Ok(body)
}

/// Reads bytes with their checksum.
fn unsealed(input: &mut dyn Read, length: usize) -> Result<Vec<u8>, Failure> {
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
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Failure> {
        let split = self.0.split_at_checked(length);
        let (taken, left) = split.ok_or("it is too short")?;
        self.0 = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many as were taken"))
    }

    fn u16(&mut self) -> Result<u16, Failure> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Failure> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Failure> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Failure> {
        self.array().map(f64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Allows<'static> = &|_, _| true;

    fn filled(capacity: u64, rate: f64, keys: u32) -> Chain {
        let plan = Plan {
            capacity,
            rate,
            expansion: Some(2),
        };
        let mut chain = Chain::new(plan, ANY).expect("made");
        let keys: Vec<[u8; 4]> = (0..keys).map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = vec![false; keys.len()];
        chain.insert_batch(&keys, &mut new, ANY).expect("room");
        chain
    }

    fn bytes(chain: &Chain) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(chain, &mut bytes).expect("written");
        bytes
    }

    #[test]
    fn a_chain_is_the_same_after_writing_and_reading() {
        for (capacity, rate) in [(100, 0.01), (5000, 1e-9)] {
            let chain = filled(capacity, rate, 3000);
            let written = bytes(&chain);
            let read = read(&mut &written[..]).expect("read");
            assert_eq!(bytes(&read), written);
            assert_eq!((read.keys(), read.plan()), (chain.keys(), chain.plan()));
        }
    }

    #[test]
    fn a_chain_is_the_same_after_its_pieces_were_loaded() {
        let chain = filled(1000, 0.001, 20_000);
        let (mut iterator, header) = piece(&chain, 0).expect("the first");
        let mut copy = begin(&header, ANY).expect("begun");
        while let Some((next, piece)) = piece(&chain, iterator) {
            let (place, bits) = locate(&copy, next, &piece).expect("whole");
            let Place::At(layer, start) = place else {
                panic!("{place:?}");
            };
            assert!(copy.load_bits(layer, start, bits));
            iterator = next;
        }
        assert_eq!(bytes(&copy), bytes(&chain));
    }

    #[test]
    fn damaged_and_cut_bytes_are_refused() {
        let chain = filled(100, 0.01, 500);
        let written = bytes(&chain);
        let (_, header) = piece(&chain, 0).expect("the first");
        for at in 0..written.len() {
            let mut damaged = written.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(read(&mut &damaged[..]).is_err(), "{at}");
            assert!(read(&mut &written[..at]).is_err(), "{at}");
        }
        for at in 0..header.len() {
            let mut damaged = header.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(begin(&damaged, ANY).is_err(), "{at}");
            assert!(begin(&header[..at], ANY).is_err(), "{at}");
        }
    }
}
