//! The dumps of RedisBloom, in the pieces that its `BF.SCANDUMP` gives.
//!
//! The first piece is a header, the others are bits of one layer each, as they lie in memory, without a checksum. All
//! numbers are little-endian and packed:
//!
//! ```text
//! header  keys:u64 layers:u32 options:u32 growth:u32, then for each layer: bytes:u64 bits:u64 keys:u64 rate:f64
//!         bits per key:f64 hashes:u32 capacity:u64 log2 of bits:u8
//! options 1: bits are no power of two, 4: hashes of 64 bits, 8: does not scale
//! ```
//!
//! A chain of such layers alone is dumped so again; what is inserted into one goes by RedisBloom's hash until a layer of
//! our own is begun. What the original checks of a header is checked here, and that hashes are as many as the rate needs.

use mayhap::{AnyFilter, Assemble as _, Bloom, Description, Hashing, Kind, Promise, Scheme};

use crate::chain::{Allows, Chain, Layer, Plan};
use crate::pieces::{Failure, Fields};

const HEAD: usize = 20;
const LAYER: usize = 53;

const NO_ROUND: u32 = 1;
const BITS_64: u32 = 4;
const FIXED: u32 = 8;

/// The largest expansion that RedisBloom takes.
const MOST_GROWTH: u32 = 32_768;

/// Whether all layers are RedisBloom's.
pub(crate) fn is_foreign(chain: &Chain) -> bool {
    let foreign = Hashing::Scheme(Scheme::RedisBloom);
    let mut layers = chain.layers().iter();
    layers.all(|layer| layer.filter.description().hashing == foreign)
}

/// The header of a chain whose layers are all RedisBloom's.
pub(crate) fn header(chain: &Chain) -> Vec<u8> {
    let plan = chain.plan();
    let fixed = if plan.expansion.is_none() { FIXED } else { 0 };
    let mut bytes = chain.keys().to_le_bytes().to_vec();
    bytes.extend((chain.layers().len() as u32).to_le_bytes());
    bytes.extend((NO_ROUND | BITS_64 | fixed).to_le_bytes());
    // A filter that does not scale has the default of 2.
    bytes.extend(plan.expansion.unwrap_or(2).to_le_bytes());
    for layer in chain.layers() {
        let promise = layer.filter.description().promise;
        let rate = promise.map_or(plan.rate, |promise| promise.rate);
        bytes.extend(layer.bytes().to_le_bytes());
        bytes.extend(layer.bits().to_le_bytes());
        bytes.extend(layer.keys.to_le_bytes());
        bytes.extend(rate.to_le_bytes());
        bytes.extend(bits_per_key(rate).to_le_bytes());
        bytes.extend(layer.hashes().to_le_bytes());
        bytes.extend(layer.capacity.to_le_bytes());
        bytes.push(0);
    }
    bytes
}

/// The empty filter that a header describes. Asks `allows` before any bits are taken.
pub(crate) fn begin(header: &[u8], allows: Allows<'_>) -> Result<Chain, Failure> {
    let mut fields = Fields(header);
    let keys = fields.u64()?;
    let count = fields.u32()?;
    let options = fields.u32()?;
    let growth = fields.u32()?;
    if header.len() != HEAD + count as usize * LAYER || count == 0 {
        return Err("it has not as many layers as it says".into());
    }
    if options & !FIXED != NO_ROUND | BITS_64 {
        return Err(format!("its options {options} are not 5 or 13"));
    }
    let mut layers = Vec::new();
    for _ in 0..count {
        layers.push(described(&mut fields)?);
    }
    let (first, _) = layers.first().ok_or("it has no layer")?;
    let expansion = match options & FIXED {
        0 if (1..=MOST_GROWTH).contains(&growth) => Some(growth),
        0 => return Err(format!("it grows by {growth}")),
        _ => None,
    };
    let promise = first.promise.ok_or("its first layer has no rate")?;
    // The first layer of a filter that scales has half the rate.
    let halves = if expansion.is_some() { 2.0 } else { 1.0 };
    let plan = Plan {
        capacity: promise.keys,
        rate: promise.rate * halves,
        expansion,
    };
    let sum = layers.iter().map(|(_, keys)| keys);
    let sum = sum.fold(0, |sum: u64, &keys| sum.saturating_add(keys));
    if !plan.is_valid() || sum != keys {
        return Err(format!("there is no filter {plan:?} of {keys} keys"));
    }
    let bits = layers.iter().map(|(layer, _)| layer.bits);
    if !allows(0, bits.fold(0, u64::saturating_add) / 8) {
        return Err("it is larger than filters may be".into());
    }
    let layers = layers.into_iter().map(|(description, keys)| {
        let capacity = description.promise.map_or(0, |promise| promise.keys);
        let filter = AnyFilter::new(&description).map_err(|error| error.to_string())?;
        Ok(Layer {
            filter,
            capacity,
            keys,
        })
    });
    Ok(Chain::of(plan, layers.collect::<Result<_, Failure>>()?))
}

/// A layer, and how many keys it has.
fn described(fields: &mut Fields<'_>) -> Result<(Description, u64), Failure> {
    let (bytes, bits, size) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let (rate, per_key) = (fields.f64()?, fields.f64()?);
    let (hashes, entries) = (fields.u32()?, fields.u64()?);
    let log2 = fields.take(1)?[0];
    let is_rate = rate > 0.0 && rate < 1.0;
    let expected = (bits_per_key(rate) * std::f64::consts::LN_2).ceil();
    let is_whole = bytes.checked_mul(8) == Some(bits) && log2 == 0;
    // By the rate too, not only by what the header says: so no header asks for a million hashes.
    let fits = f64::from(hashes) == expected
        && (per_key * std::f64::consts::LN_2).ceil() == expected
        && entries > 0
        && size <= entries;
    if !is_rate || !is_whole || !fits {
        return Err(format!(
            "it has no layer of {bits} bits and {hashes} hashes"
        ));
    }
    let description = Description {
        kind: Kind::Bloom,
        hashing: Scheme::RedisBloom.into(),
        bits,
        hashes,
        detail: 0,
        promise: Some(Promise {
            keys: entries,
            rate,
        }),
    };
    // As the library sees it.
    <Bloom>::check(&description).map_err(|error| error.to_string())?;
    Ok((description, size))
}

fn bits_per_key(rate: f64) -> f64 {
    -rate.ln() / (std::f64::consts::LN_2 * std::f64::consts::LN_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::{Pieces as _, Place, locate, piece};

    const ANY: Allows<'static> = &|_, _| true;

    /// As RedisBloom would dump a filter reserved for 0.01 and 100 keys, with one key.
    fn dump() -> (Vec<u8>, Vec<u8>) {
        let rate = 0.005_f64;
        let per_key = bits_per_key(rate);
        let bits = ((100.0 * per_key) as u64).next_multiple_of(64);
        let hashes = (per_key * std::f64::consts::LN_2).ceil() as u32;
        assert_eq!((bits, hashes), (1152, 8));
        let mut header = 1_u64.to_le_bytes().to_vec();
        for number in [1_u32, 5, 2] {
            header.extend(number.to_le_bytes());
        }
        for number in [bits / 8, bits, 1, rate.to_bits(), per_key.to_bits()] {
            header.extend(number.to_le_bytes());
        }
        header.extend(hashes.to_le_bytes());
        header.extend(100_u64.to_le_bytes());
        header.push(0);
        // By hand, from the two hashes of "hello".
        let (first, second) = (0x5ba5_b8a5_9803_e699_u64, 0xa7d4_51d5_88a0_c2a4_u64);
        let mut array = vec![0; bits as usize / 8];
        for index in 0..8 {
            let position = first.wrapping_add(second.wrapping_mul(index)) % bits;
            array[position as usize / 8] |= 1 << (position % 8);
        }
        (header, array)
    }

    #[test]
    fn a_dump_is_loaded_answers_and_is_dumped_again() {
        let (header_piece, array) = dump();
        let mut chain = begin(&header_piece, ANY).expect("begun");
        let end = 1 + array.len() as u64;
        let (place, bits) = locate(&chain, end, &array).expect("whole");
        assert_eq!(place, Place::At(0, 0));
        assert!(chain.load_bits(0, 0, bits));

        assert!(chain.contains(b"hello") && !chain.contains(b"absent"));
        assert_eq!((chain.keys(), chain.capacity()), (1, 100));
        assert_eq!(chain.plan().rate, 0.01);
        assert_eq!(piece(&chain, 0), Some((1, header_piece)));
        assert_eq!(piece(&chain, 1), Some((end, array)));
        assert_eq!(piece(&chain, end), None);
    }

    #[test]
    fn a_loaded_filter_takes_keys_and_grows_by_layers_of_our_own() {
        let (header, _) = dump();
        let mut chain = begin(&header, ANY).expect("begun");
        let keys: Vec<[u8; 4]> = (0..1000_u32).map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = vec![false; keys.len()];
        chain.insert_batch(&keys, &mut new, ANY).expect("room");
        assert!(keys.iter().all(|key| chain.contains(key)));
        assert!(chain.layers().len() > 2 && !is_foreign(&chain));
    }

    #[test]
    fn headers_that_no_filter_has_are_refused() {
        let (header, _) = dump();
        let changed = |at: usize, bytes: &[u8]| {
            let mut changed = header.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            begin(&changed, ANY).is_err()
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
            (44, &f64::NAN.to_le_bytes()),
            (52, &1e9_f64.to_le_bytes()),
            (60, &(1_u32 << 31).to_le_bytes()),
            (64, &0_u64.to_le_bytes()),
            (72, &[3]),
        ] {
            assert!(changed(at, bytes), "{at}");
        }
        for length in 0..header.len() {
            assert!(begin(&header[..length], ANY).is_err());
        }
        assert!(begin(&header, &|_, _| false).is_err());
    }
}
