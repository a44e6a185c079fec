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

use std::ffi::CStr;
use std::io::{Read, Write};

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _};

use super::layer::{Layer, is_layer};
use super::{Chain, Plan, redisbloom};
use crate::encoding::{
    DESCRIPTION, Damage, Fields, description, description_bytes, opened, sealed, text, unsealed,
};
use crate::limits::Allows;
use crate::pieces::Pieces as _;
use crate::value::sealed::Sealed;
use crate::value::{Log, Mover, Snapshot, Type, Value, check_version, rewrite_in_pieces};

const MAGIC: &[u8; 8] = b"MAYHAPBF";
const VERSION: u32 = 1;
const HEAD: usize = 40;
const DESCRIBED: usize = 16 + DESCRIPTION;

/// The most layers that are read: more than growth by a sixteenth needs for 2^64 keys.
const MOST_LAYERS: u32 = 1024;

/// Writes a chain.
///
/// # Errors
///
/// When the output fails.
pub fn write(chain: &Chain, output: &mut dyn Write) -> mayhap::Result<()> {
    let chain = chain.whole();
    let chain = chain.as_ref();
    output.write_all(&sealed(head(chain)))?;
    for layer in chain.layers() {
        output.write_all(&sealed(numbers(layer).concat()))?;
        native::write(&layer.filter, &Metadata::default(), &mut *output)?;
    }
    Ok(())
}

/// Reads a chain, and no byte more.
///
/// # Errors
///
/// The reason why the bytes are not a chain.
pub fn read(input: &mut dyn Read) -> Result<Chain, Damage> {
    let fields = unsealed(input, HEAD)?;
    let (plan, count) = parse_head(&mut Fields(&fields))?;
    let mut layers = Vec::new();
    for _ in 0..count {
        let numbers = unsealed(input, 16)?;
        let mut numbers = Fields(&numbers);
        let (capacity, keys) = (numbers.u64()?, numbers.u64()?);
        let (filter, _) = native::read(&mut *input, None).map_err(text)?;
        layers.push(checked(filter, capacity, keys)?);
    }
    Ok(Chain::of(plan, layers))
}

/// The most bytes that are rewritten as one command.
const WHOLE: u64 = 32 << 20;

impl Sealed for Chain {}

impl Value for Chain {
    const TYPE: Type = Type::Bloom;

    /// RedisBloom's: what clients see as the `TYPE` of a key. Its own versions are up to 4, of which the last three are read too.
    const NAME: &CStr = c"MBbloom--";
    const VERSION: i32 = 100;
    const COPIED_BY: &str = "BF.SCANDUMP and BF.LOADCHUNK";

    fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        write(self, output)
    }

    fn read(version: i32, mut input: &mut dyn Snapshot) -> Result<Chain, Damage> {
        if redisbloom::SAVED.contains(&version) {
            return redisbloom::read(version, input);
        }
        check_version::<Chain>(version)?;
        read(&mut input)
    }

    fn rewrite(&self, log: &mut dyn Log) -> mayhap::Result<()> {
        if self.bytes() <= WHOLE {
            let mut bytes = Vec::new();
            write(self, &mut bytes)?;
            log.whole(c"BF.LOAD", &bytes);
            return Ok(());
        }
        rewrite_in_pieces(self, log, c"BF.LOADCHUNK");
        Ok(())
    }

    fn bytes(&self) -> u64 {
        Chain::bytes(self)
    }

    fn reallocate(&mut self, mover: &impl Mover) {
        self.relocate(mover);
    }
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

/// Makes the empty filter that a first piece describes, ours or RedisBloom's. Asks `allows` before any bits are taken.
///
/// # Errors
///
/// The reason why the piece describes no filter, or none that is allowed.
pub fn begin(piece: &[u8], allows: Allows<'_>) -> Result<Chain, Damage> {
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
        let filter = AnyFilter::new(&description).map_err(text)?;
        layers.push(checked(filter, capacity, keys)?);
    }
    Ok(Chain::of(plan, layers))
}

/// Returns whether bytes begin as ours do.
pub(crate) fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Makes a layer of a filter that was read, if it can be one.
fn checked(filter: AnyFilter, capacity: u64, keys: u64) -> Result<Layer, Damage> {
    if !is_layer(&filter) {
        return Err(format!("a layer is of the kind {}", filter.kind()));
    }
    if capacity == 0 || keys > capacity {
        return Err(format!("a layer for {capacity} keys has {keys}"));
    }
    Ok(Layer {
        filter,
        capacity,
        keys,
    })
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

fn parse_head(fields: &mut Fields<'_>) -> Result<(Plan, u32), Damage> {
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
    use crate::pieces::{Place, locate, piece};

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
