//! The peers that are standard Bloom filters: fastbloom and bloomfilter.

use std::hash::{BuildHasher, Hash};

use fastbloom::{BloomFilter, DefaultHasher};
use foldhash::fast::FixedState;

use super::{Contender, SEED};
use crate::Result;
use crate::data::Sample;

/// fastbloom under the hasher that `H` names.
pub struct Fastbloom<H: Hasher>(BloomFilter<H::State>);

/// A hasher for [`Fastbloom`].
pub trait Hasher: 'static {
    /// The name of fastbloom with it in the tables.
    const NAME: &'static str;

    /// The builder of the hasher.
    type State: BuildHasher + Send;

    /// The same state every time.
    fn state() -> Self::State;
}

/// foldhash, the fastest hasher that fastbloom's documentation names.
pub struct Foldhash;

impl Hasher for Foldhash {
    const NAME: &'static str = "fastbloom, foldhash";
    type State = FixedState;

    fn state() -> FixedState {
        FixedState::with_seed(SEED)
    }
}

/// SipHash-1-3, fastbloom's default.
pub struct SipHash;

impl Hasher for SipHash {
    const NAME: &'static str = "fastbloom, SipHash (default)";
    type State = DefaultHasher;

    fn state() -> DefaultHasher {
        DefaultHasher::seeded(&u128::from(SEED).to_le_bytes())
    }
}

impl<K: Sample + Hash + ?Sized, H: Hasher> Contender<K> for Fastbloom<H> {
    const NAME: &'static str = H::NAME;

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        let builder = BloomFilter::with_false_pos(rate).hasher(H::state());
        Ok(Fastbloom(builder.expected_items(usize::try_from(keys)?)))
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        self.0.num_bits() as u64
    }
}

/// bloomfilter, with its two SipHashes.
pub struct Bloomfilter<K: ?Sized>(bloomfilter::Bloom<K>);

impl<K: Sample + Hash + Send + ?Sized + 'static> Contender<K> for Bloomfilter<K> {
    const NAME: &'static str = "bloomfilter";

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        let seed = SEED.to_le_bytes();
        let seed = std::array::from_fn(|i| seed[i % 8].wrapping_add(i as u8));
        let keys = usize::try_from(keys)?;
        let filter = bloomfilter::Bloom::new_for_fp_rate_with_seed(keys, rate, &seed)?;
        Ok(Bloomfilter(filter))
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) {
        self.0.set(key);
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.check(key)
    }

    fn bits(&self) -> u64 {
        self.0.len()
    }
}
