//! Filters of RedisBloom as chains: in the layout that the library has as `format::redisbloom`.
//!
//! A chain of such layers alone is dumped so again; what is inserted into one is hashed as RedisBloom does until a layer of our
//! own is begun. Snapshots of RedisBloom hold the same numbers in another order.

use mayhap::format::redisbloom::{self, Header};
use mayhap::{AnyFilter, Assemble as _, Hashing, Scheme};

use crate::chain::{Allows, Chain, Layer, Plan};
use crate::pieces::{Failure, Pieces as _};

/// Whether all layers are RedisBloom's.
pub(crate) fn is_foreign(chain: &Chain) -> bool {
    let foreign = Hashing::Scheme(Scheme::RedisBloom);
    let mut layers = chain.layers().iter();
    layers.all(|layer| layer.filter.description().hashing == foreign)
}

/// The header of a chain whose layers are all RedisBloom's.
pub(crate) fn header(chain: &Chain) -> Vec<u8> {
    let expansion = chain.plan().expansion;
    let layers = chain.layers().iter().filter_map(|layer| {
        let description = layer.filter.description();
        let promise = description.promise?;
        let described = redisbloom::Layer::new(promise.keys, promise.rate).ok()?;
        Some(redisbloom::Layer {
            bits: description.bits,
            hashes: description.hashes,
            keys: layer.keys,
            ..described
        })
    });
    let header = Header {
        // A filter that does not grow has the default of 2.
        growth: expansion.unwrap_or(2),
        is_fixed: expansion.is_none(),
        layers: layers.collect(),
    };
    header.to_bytes()
}

/// The empty filter that a header describes. Asks `allows` before any bits are taken.
pub(crate) fn begin(header: &[u8], allows: Allows<'_>) -> Result<Chain, Failure> {
    let text = |error: mayhap::Error| error.to_string();
    let header = Header::parse(header).map_err(text)?;
    let first = header.layers.first().ok_or("it has no layer")?;
    let plan = Plan {
        capacity: first.promise.keys,
        rate: header.rate(),
        expansion: header.expansion(),
    };
    let bits = header.layers.iter().map(|layer| layer.bits);
    if !allows(0, bits.fold(0, u64::saturating_add) / 8) {
        return Err("it is larger than filters may be".into());
    }
    let layers = header.layers.iter().map(|layer| {
        Ok(Layer {
            filter: AnyFilter::new(&layer.description()).map_err(text)?,
            capacity: layer.promise.keys,
            keys: layer.keys,
        })
    });
    Ok(Chain::of(plan, layers.collect::<Result<_, Failure>>()?))
}

/// The version of RedisBloom's snapshots.
pub(crate) const SAVED: i32 = 4;

/// Values of a snapshot, one after the other.
pub(crate) trait Saved {
    fn unsigned(&mut self) -> std::io::Result<u64>;

    fn double(&mut self) -> std::io::Result<f64>;

    fn bytes(&mut self) -> std::io::Result<Vec<u8>>;
}

/// Reads a filter of a snapshot of RedisBloom: its keys, layers, options and growth, then for each layer its capacity, rate,
/// hashes, bits per key, bits, their logarithm, the bits themselves, and its keys.
pub(crate) fn read(saved: &mut dyn Saved) -> Result<Chain, Failure> {
    // As the header of a dump, which is checked as those are.
    let mut header = unsigned(saved)?.to_le_bytes().to_vec();
    let count = short(saved)?;
    header.extend(
        [count, short(saved)?, short(saved)?]
            .map(u32::to_le_bytes)
            .concat(),
    );
    let mut layers = Vec::new();
    for _ in 0..count {
        let capacity = unsigned(saved)?;
        let rate = double(saved)?;
        let hashes = short(saved)?;
        let per_key = double(saved)?;
        let bits = unsigned(saved)?;
        let log2 = short(saved)?;
        let array = saved.bytes().map_err(cut)?;
        let numbers = [array.len() as u64, bits, unsigned(saved)?, rate, per_key];
        header.extend(numbers.map(u64::to_le_bytes).concat());
        header.extend(hashes.to_le_bytes());
        header.extend(capacity.to_le_bytes());
        header.push(u8::try_from(log2).unwrap_or(u8::MAX));
        layers.push(array);
    }
    // No more than the bits that were just read.
    let mut chain = begin(&header, &|_, _| true)?;
    for (index, array) in layers.iter().enumerate() {
        if !chain.load_bits(index, 0, array) {
            return Err("its bits have another length than it says".into());
        }
    }
    Ok(chain)
}

fn cut(error: std::io::Error) -> Failure {
    format!("it cannot be read: {error}")
}

fn unsigned(saved: &mut dyn Saved) -> Result<u64, Failure> {
    saved.unsigned().map_err(cut)
}

/// The bits of a number with a fraction.
fn double(saved: &mut dyn Saved) -> Result<u64, Failure> {
    saved.double().map(f64::to_bits).map_err(cut)
}

/// A number that RedisBloom keeps in 32 bits.
fn short(saved: &mut dyn Saved) -> Result<u32, Failure> {
    let number = unsigned(saved)?;
    u32::try_from(number).map_err(|_| format!("{number} is larger than such a number may be"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::{Place, locate, piece};

    const ANY: Allows<'static> = &|_, _| true;

    /// As RedisBloom would dump a filter reserved for 0.01 and 100 keys, with one key.
    fn dump() -> (Vec<u8>, Vec<u8>) {
        let rate = 0.005_f64;
        let per_key = -rate.ln() / std::f64::consts::LN_2.powi(2);
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
    fn a_header_that_asks_for_too_much_is_refused() {
        let (header, _) = dump();
        assert!(begin(&header, &|_, _| false).is_err());
        assert!(begin(&header[1..], ANY).is_err());
    }
}
