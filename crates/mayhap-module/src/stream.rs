//! A chain as bytes: whole, for snapshots and `BF.LOAD`, and the first of its pieces.
//!
//! Whole, it is a head and for every layer its numbers and a file of the native format, with the checksums that this has.
//! The first piece holds the head with a description of every layer. The first piece of RedisBloom is in `redisbloom.rs`, the
//! others are in `pieces.rs`.
//!
//! ```text
//! head    "MAYHAPBF" version:u32 layers:u32 capacity:u64 rate:f64 expansion:u32 (0: none) 0:u32
//! layer   capacity:u64 keys:u64
//! whole   head checksum:u64, then for each layer: layer checksum:u64 native file
//! first   head, then for each layer: layer description, then checksum:u64
//! ```

use std::io::{Read, Write};

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _};

use crate::chain::{Allows, Chain, Layer, Plan, is_layer};
use crate::pieces::{
    DESCRIPTION, Failure, Fields, description, description_bytes, opened, sealed, unsealed,
};
use crate::redisbloom;

const MAGIC: &[u8; 8] = b"MAYHAPBF";
const VERSION: u32 = 1;
const HEAD: usize = 40;
const DESCRIBED: usize = 16 + DESCRIPTION;

/// The most layers that are read: more than growth by a sixteenth needs for 2^64 keys.
const MOST_LAYERS: u32 = 1024;

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

/// The first of the pieces.
pub(crate) fn first(chain: &Chain) -> Vec<u8> {
    let mut bytes = head(chain);
    for layer in chain.layers() {
        bytes.extend(numbers(layer).concat());
        bytes.extend(description_bytes(&layer.filter.description()));
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
        plans.push((capacity, keys, description(&mut fields, None)?));
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
        return Err(format!(
            "{layers} layers of {plan:?}; expected 1 to {MOST_LAYERS} layers of a valid plan"
        ));
    }
    Ok((plan, layers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::{Pieces as _, Place, locate, piece};

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
