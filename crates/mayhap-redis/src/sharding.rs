//! The shard and bits of a key, and the commands that set and test them.
//!
//! `Bloom`: the key picks a shard, and its positions are in that shard alone; bit `i` of a shard is
//! bit `i` of `SETBIT`. With one shard these are the bits of a native `Bloom`, in another order.
//!
//! `Blocked`: a shard is a run of the lines of a native `Blocked`, byte for byte as in a file, so
//! that one `GETRANGE` of 64 bytes tests a key. `SETBIT` calls bit `i` of such bytes `i ^ 7`.

use mayhap::hash::reduce;
use mayhap::{
    AnyFilter, Assemble as _, Bitmap, Description, Digester, Hashing, Kind, Scheme, Shape, Stats,
    kinds::BlockedShape,
};
use redis::{Cmd, Value};

use crate::{Error, Result};

/// The most bits of a string of 512 MiB.
pub(crate) const MOST_STRING_BITS: u64 = 1 << 32;

/// The most bits of a shard that ends with a guard: a line less.
pub(crate) const MOST_GUARDED_BITS: u64 = MOST_STRING_BITS - 512;

/// The most shards of a filter.
pub(crate) const MOST_SHARDS: u32 = 1 << 16;

/// The layout of a filter's bits in shards.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sharding {
    Bloom {
        /// The shape of one shard.
        shape: Shape,
        scheme: Scheme,
        shards: u32,
    },
    Blocked {
        shape: BlockedShape,
        digester: Digester,
        lines_per_shard: u64,
    },
}

/// The bits of a key.
pub(crate) struct KeyBits {
    pub(crate) shard: u32,
    bits: Form,
}

enum Form {
    Positions(Vec<u64>),
    Line { byte: u64, mask: [u64; 8] },
}

impl Sharding {
    /// Lays out a filter of this description in this many shards, or in as few as possible with at most this many bits
    /// in each. Returns the layout and the description that results: the bits of a `Bloom` are rounded up to be equally
    /// many in each shard, and no shard is empty.
    pub(crate) fn new(
        description: &Description,
        shards: Option<u32>,
        most_bits: u64,
    ) -> Result<(Sharding, Description, u32)> {
        AnyFilter::<Bitmap>::check(description)?;
        let fewest = description.bits.div_ceil(most_bits);
        let fewest = u32::try_from(fewest).unwrap_or(u32::MAX);
        let shards = shards.unwrap_or(fewest);
        if shards < fewest || !(1..=MOST_SHARDS).contains(&shards) {
            return Err(Error::Option {
                what: "number of shards",
                got: shards.to_string(),
                expected: format!(
                    "{fewest} to {MOST_SHARDS}: a shard has at most {most_bits} bits, and these are {}",
                    description.bits
                ),
            });
        }
        match (description.kind, &description.hashing) {
            (Kind::Bloom, Hashing::Scheme(scheme)) => {
                let bits = description.bits.div_ceil(u64::from(shards));
                let shape = Shape::new(bits, description.hashes)?;
                // Some schemes allow only shapes that their originals can have.
                scheme.check(shape)?;
                let layout = Sharding::Bloom {
                    shape,
                    scheme: scheme.clone(),
                    shards,
                };
                let bits = bits * u64::from(shards);
                let description = Description {
                    bits,
                    ..description.clone()
                };
                Ok((layout, description, shards))
            }
            (Kind::Blocked, Hashing::Scheme(Scheme::Native(digester))) => {
                let shape = BlockedShape::new(description.bits / 512, description.hashes)?;
                let lines_per_shard = shape.lines().div_ceil(u64::from(shards));
                let layout = Sharding::Blocked {
                    shape,
                    digester: digester.clone(),
                    lines_per_shard,
                };
                let shards = shape.lines().div_ceil(lines_per_shard);
                Ok((layout, description.clone(), shards as u32))
            }
            (kind, _) => Err(Error::Option {
                what: "kind",
                got: kind.to_string(),
                expected: "bloom or blocked: the kinds that a server keeps".into(),
            }),
        }
    }

    /// The bytes that the bits of a shard take.
    pub(crate) fn shard_bytes(&self, shard: u32) -> u64 {
        match *self {
            Sharding::Bloom { shape, .. } => shape.bits().div_ceil(8),
            Sharding::Blocked {
                shape,
                lines_per_shard,
                ..
            } => {
                let before = u64::from(shard) * lines_per_shard;
                (shape.lines() - before).min(lines_per_shard) * 64
            }
        }
    }

    /// Finds the bits of a key.
    pub(crate) fn place(&self, key: &[u8]) -> KeyBits {
        match self {
            Sharding::Bloom {
                shape,
                scheme,
                shards,
            } => KeyBits {
                shard: shard_of(key, scheme, *shards),
                bits: Form::Positions(scheme.positions(key, *shape)),
            },
            Sharding::Blocked {
                shape,
                digester,
                lines_per_shard,
            } => {
                let (line, mask) = shape.place(digester.digest(key));
                let byte = line % lines_per_shard * 64;
                KeyBits {
                    shard: (line / lines_per_shard) as u32,
                    bits: Form::Line { byte, mask },
                }
            }
        }
    }

    /// Estimates keys and rate from the numbers of ones in the shards.
    pub(crate) fn stats(&self, description: &Description, ones: &[u64]) -> Stats {
        let total: u64 = ones.iter().sum();
        let (keys, rate) = match self {
            Sharding::Bloom { shape, .. } => {
                // An absent key may be looked up in any of the shards.
                let rates: f64 = ones.iter().map(|&ones| shape.rate_with(ones)).sum();
                let keys = ones.iter().map(|&ones| shape.keys_at(ones)).sum();
                (keys, rates / ones.len() as f64)
            }
            Sharding::Blocked { shape, .. } => {
                let keys = shape.keys_at(total);
                let rate = keys.map_or(1.0, |keys| shape.rate_at(keys.round() as u64));
                (keys, rate)
            }
        };
        Stats {
            bits: description.bits,
            ones: total,
            keys,
            rate,
            promise: description.promise,
        }
    }
}

/// The shard of a key: the top of its digest, remixed so that its positions reveal nothing about it.
/// Schemes without a digest of their own take the native one.
fn shard_of(key: &[u8], scheme: &Scheme, shards: u32) -> u32 {
    if shards == 1 {
        return 0;
    }
    let digester = match scheme {
        Scheme::Native(digester) => digester,
        // Fixed, whatever the default becomes: filters on servers are laid out so.
        _ => &Digester::Rapidhash { seed: 0 },
    };
    let digest = digester.digest(key).remix(SHARD_STREAM);
    // Below `shards`, so it fits.
    reduce(digest.hi, shards.into()) as u32
}

/// The stream that shards are chosen by.
const SHARD_STREAM: u64 = 1;

impl KeyBits {
    /// The command that tests the bits in the string `key`; it changes nothing.
    pub(crate) fn test(&self, key: &str) -> Cmd {
        match &self.bits {
            Form::Positions(positions) => {
                let mut command = Cmd::with_capacity(2 + positions.len() * 3, 32 * positions.len());
                command.arg("BITFIELD_RO").arg(key);
                for &position in positions {
                    command.arg("GET").arg("u1").arg(position);
                }
                command
            }
            Form::Line { byte, .. } => {
                let mut command = Cmd::with_capacity(4, 64);
                command.arg("GETRANGE").arg(key).arg(*byte).arg(byte + 63);
                command
            }
        }
    }

    /// Returns whether the bits are all set, from the answer to [`test`](KeyBits::test); `None` when the string
    /// does not exist. For a `Bloom` this answer does not show that.
    pub(crate) fn tested(&self, answer: &Value) -> Option<bool> {
        match (&self.bits, answer) {
            (Form::Positions(positions), Value::Array(bits)) => {
                bits_of(bits, positions.len()).map(|mut bits| bits.all(|bit| bit))
            }
            (Form::Line { mask, .. }, Value::BulkString(line)) => {
                let (words, rest) = line.as_chunks::<8>();
                if words.len() != mask.len() || !rest.is_empty() {
                    return None;
                }
                let covers =
                    |(word, mask): (&[u8; 8], &u64)| u64::from_le_bytes(*word) & mask == *mask;
                Some(words.iter().zip(mask).all(covers))
            }
            _ => None,
        }
    }

    /// Returns whether the bits are all set, from the answer to [`test`](KeyBits::test); a string that does not
    /// exist has no ones. `None` when it is not an answer.
    pub(crate) fn tested_or_absent(&self, answer: &Value) -> Option<bool> {
        match (&self.bits, answer) {
            // The answer of `GETRANGE` past the end.
            (Form::Line { .. }, Value::BulkString(line)) if line.len() < 64 => Some(false),
            _ => self.tested(answer),
        }
    }

    /// The command that sets the bits in the string `key` and answers their old values, as one step.
    pub(crate) fn set(&self, key: &str) -> Cmd {
        let mut command = Cmd::with_capacity(64, 512);
        command.arg("BITFIELD").arg(key);
        let mut set = |offset: u64| {
            command.arg("SET").arg("u1").arg(offset).arg(1);
        };
        match &self.bits {
            Form::Positions(positions) => positions.iter().copied().for_each(set),
            Form::Line { byte, mask } => {
                for (word, mask) in mask.iter().enumerate() {
                    let mut rest = *mask;
                    while rest != 0 {
                        let bit = byte * 8 + word as u64 * 64 + u64::from(rest.trailing_zeros());
                        set(bit ^ 7);
                        rest &= rest - 1;
                    }
                }
            }
        }
        command
    }

    /// Returns whether any of the bits was clear, from the answer to [`set`](KeyBits::set); `None` when it is not one.
    pub(crate) fn was_new(&self, answer: &Value) -> Option<bool> {
        let count = match &self.bits {
            Form::Positions(positions) => positions.len(),
            Form::Line { mask, .. } => mask.iter().map(|word| word.count_ones() as usize).sum(),
        };
        match answer {
            Value::Array(bits) => bits_of(bits, count).map(|mut bits| bits.any(|bit| !bit)),
            _ => None,
        }
    }
}

/// The bits of an answer; `None` when it has another number of them.
fn bits_of(answer: &[Value], count: usize) -> Option<impl Iterator<Item = bool>> {
    let is_bit = |value: &Value| matches!(value, Value::Int(0 | 1));
    let all = answer.len() == count && answer.iter().all(is_bit);
    all.then(|| answer.iter().map(|value| *value == Value::Int(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::{Blocked, Bloom, bits::Bits as _};

    #[test]
    fn a_blocked_shard_is_a_run_of_native_lines() {
        let description = Kind::Blocked.plan(10_000, 0.01).expect("valid");
        let (layout, same, shards) =
            Sharding::new(&description, Some(7), MOST_GUARDED_BITS).expect("valid");
        assert_eq!((same, shards), (description.clone(), 7));
        let bytes: u64 = (0..shards).map(|shard| layout.shard_bytes(shard)).sum();
        assert_eq!(bytes * 8, description.bits);

        let mut filter = Blocked::with_capacity(10_000, 0.01).expect("valid");
        for key in 0..1000_u32 {
            filter.clear();
            filter.insert(&key);
            let native = filter.bits().to_bytes();
            let place = layout.place(&key.to_le_bytes());
            let before: u64 = (0..place.shard)
                .map(|shard| layout.shard_bytes(shard))
                .sum();
            let Form::Line { byte, mask } = place.bits else {
                panic!("a line");
            };
            let line = &native[(before + byte) as usize..][..64];
            let expected: Vec<u8> = mask.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(line, expected, "key {key}");
        }
    }

    #[test]
    fn one_bloom_shard_has_the_positions_of_the_scheme() {
        let mut filter = Bloom::with_capacity(1000, 0.01).expect("valid");
        let description = filter.description();
        let (layout, _, shards) =
            Sharding::new(&description, None, MOST_GUARDED_BITS).expect("valid");
        assert_eq!(shards, 1);

        filter.insert("key");

        let Form::Positions(positions) = layout.place(b"key").bits else {
            panic!("positions");
        };
        assert!(
            positions
                .iter()
                .all(|&position| filter.bits().get(position))
        );
    }

    #[test]
    fn keys_spread_evenly_over_shards() {
        let description = Kind::Bloom.plan(100_000, 0.01).expect("valid");
        let (layout, _, _) =
            Sharding::new(&description, Some(10), MOST_GUARDED_BITS).expect("valid");
        let mut counts = [0_u32; 10];
        for key in 0..100_000_u32 {
            counts[layout.place(&key.to_le_bytes()).shard as usize] += 1;
        }
        // Five standard deviations of a binomial count around 10 000.
        for count in counts {
            assert!((9525..=10475).contains(&count), "{counts:?}");
        }
    }

    #[test]
    fn impossible_shards_are_refused() {
        let large = Kind::Blocked.plan(1_000_000_000, 0.01).expect("valid");
        assert!(large.bits > 2 * MOST_STRING_BITS);
        let new = |shards| Sharding::new(&large, shards, MOST_GUARDED_BITS);
        assert!(new(Some(2)).is_err());
        assert!(new(Some(0)).is_err());
        assert!(new(Some(MOST_SHARDS + 1)).is_err());
        assert_eq!(new(None).expect("valid").2, 3);
        let parquet = Kind::SplitBlock.plan(1000, 0.01).expect("valid");
        assert!(matches!(
            Sharding::new(&parquet, None, MOST_GUARDED_BITS),
            Err(Error::Option { what: "kind", .. })
        ));
    }
}
