//! Filters of RedisBloom as chains: in the layout that the library has as `format::redisbloom`.
//!
//! A chain that has only such layers is dumped in that layout again, and its keys are hashed as RedisBloom does. When it grows, the new
//! layers are our own. Snapshots of RedisBloom hold the same numbers in another order.

use mayhap::format::redisbloom::{self, Header};
use mayhap::{AnyFilter, Assemble as _, Hashing, Scheme};

use super::layer::Layer;
use super::{Chain, Plan};
use crate::encoding::{Damage, text};
use crate::limits::Allows;
use crate::pieces::Pieces as _;
use crate::value::{Snapshot, cut, unsigned};

/// Returns whether all layers are RedisBloom's. A small filter, which has none, is ours.
pub(crate) fn is_foreign(chain: &Chain) -> bool {
    let foreign = Hashing::Scheme(Scheme::RedisBloom);
    let mut layers = chain.layers().iter();
    layers.len() > 0 && layers.all(|layer| layer.filter.description().hashing == foreign)
}

/// The header of a chain whose layers are all RedisBloom's.
pub(crate) fn header(chain: &Chain) -> Vec<u8> {
    let expansion = chain.plan().expansion;
    let layers = chain.layers().iter().filter_map(|layer| {
        let description = layer.filter.description();
        let promise = description.promise?;
        Some(redisbloom::Layer {
            bits: description.bits,
            hashes: description.hashes,
            promise,
            // By the logarithm of the C library: the number that it came with.
            bits_per_key: redisbloom::bits_per_key(promise.rate.ln(), description.hashes),
            keys: layer.keys,
        })
    });
    let header = Header {
        growth: expansion.unwrap_or(GROWTH),
        is_fixed: expansion.is_none(),
        layers: layers.collect(),
    };
    header.to_bytes()
}

/// Makes the empty filter that the bytes of a header describe. Asks `allows` before any bits are taken.
pub(crate) fn begin(header: &[u8], allows: Allows<'_>) -> Result<Chain, Damage> {
    described_by(&Header::parse(header).map_err(text)?, allows)
}

/// The largest rate of a filter: RedisBloom lowers every larger one to it.
pub(crate) const MOST_RATE: f64 = 0.25;

/// Makes an empty filter that does not grow, as RedisBloom does.
pub(crate) fn fixed(plan: Plan, allows: Allows<'_>) -> Result<Chain, Damage> {
    let layer = redisbloom::Layer::new(plan.capacity, plan.rate.min(MOST_RATE));
    let header = Header {
        growth: GROWTH,
        is_fixed: true,
        layers: vec![layer.map_err(text)?],
    };
    described_by(&header, allows)
}

/// Makes the empty filter that a header describes.
fn described_by(header: &Header, allows: Allows<'_>) -> Result<Chain, Damage> {
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
    Ok(Chain::of(plan, layers.collect::<Result<_, Damage>>()?))
}

/// The versions of RedisBloom's values of `BF.*` in snapshots that are read. Up to 3 they have no growth, which was always 2; up to
/// 1 no options either, and their keys are hashed in 32 bits.
pub(crate) const SAVED: std::ops::RangeInclusive<i32> = 2..=4;

/// The first version that has the growth.
const WITH_GROWTH: i32 = 4;

/// The growth of filters whose version has none, and of those that do not grow.
const GROWTH: u32 = 2;

/// Reads a filter of a snapshot of RedisBloom: its keys, layers, options and growth, then for each layer its capacity, rate,
/// hashes, bits per key, bits, their logarithm, the bits themselves, and its keys.
///
/// # Errors
///
/// The reason why the values are not a filter.
pub fn read(version: i32, saved: &mut dyn Snapshot) -> Result<Chain, Damage> {
    // Written as the header of a dump, so that it is checked as one.
    let mut header = unsigned(saved)?.to_le_bytes().to_vec();
    let (count, options) = (short(saved)?, short(saved)?);
    let growth = match version {
        WITH_GROWTH.. => short(saved)?,
        _ => GROWTH,
    };
    header.extend([count, options, growth].map(u32::to_le_bytes).concat());
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

/// Reads the bits of a number with a fraction.
fn double(saved: &mut dyn Snapshot) -> Result<u64, Damage> {
    saved.double().map(f64::to_bits).map_err(cut)
}

/// Reads a number that RedisBloom keeps in 32 bits.
fn short(saved: &mut dyn Snapshot) -> Result<u32, Damage> {
    let number = unsigned(saved)?;
    u32::try_from(number).map_err(|_| format!("{number} is larger than such a number may be"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::{Place, locate, piece};

    const ANY: Allows<'static> = &|_, _| true;

    /// The pieces that RedisBloom would dump a filter reserved for 0.01 and 100 keys, with one key.
    fn dump() -> (Vec<u8>, Vec<u8>) {
        let rate = 0.005_f64;
        let per_key = -rate.ln() / 0.480_453_013_918_201;
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
    fn a_header_is_given_back_to_the_last_digit_and_made_alike() {
        // RedisBloom's hashes for rates that are powers of a half: one more than the exact logarithm needs.
        for (rate, hashes) in [
            (0.25, 3),
            (0.125, 4),
            (0.0625, 5),
            (0.2, 3),
            (0.01, 7),
            (1e-9, 30),
        ] {
            let plan = Plan {
                capacity: 1000,
                rate,
                expansion: None,
            };
            let made = header(&fixed(plan, ANY).expect("made"));
            let read = Header::parse(&made).expect("a header");
            let per_key = -rate.ln() / 0.480_453_013_918_201;
            assert_eq!(
                (read.layers[0].hashes, read.layers[0].bits_per_key),
                (hashes, per_key)
            );
            assert_eq!(header(&begin(&made, ANY).expect("begun")), made);
        }
    }

    #[test]
    fn a_batch_that_was_taken_elsewhere_loses_no_key() {
        let keys: Vec<[u8; 4]> = (0..200_u32).map(u32::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let plan = Plan {
            capacity: 100,
            rate: 0.01,
            expansion: None,
        };
        let ours = Chain::new(plan, ANY).expect("made");
        for (mut chain, expected) in [(fixed(plan, ANY).expect("made"), 100), (ours, 200)] {
            let mut new = vec![false; keys.len()];
            assert!(chain.insert_batch(&keys, &mut new, ANY).is_err());
            assert_eq!(chain.keys(), 0);

            chain.obey_batch(&keys, &mut new, ANY);

            let found = keys.iter().take_while(|key| chain.contains(key)).count();
            assert!((expected..expected + 20).contains(&found), "{found}");
            // What is counted is never more than the capacity, which a saved filter may not pass.
            assert_eq!(chain.keys(), 100);
        }
    }

    #[test]
    fn a_header_that_asks_for_too_much_is_refused() {
        let (header, _) = dump();
        assert!(begin(&header, &|_, _| false).is_err());
        assert!(begin(&header[1..], ANY).is_err());
    }
}
