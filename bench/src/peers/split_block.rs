//! sbbf-rs: the split-block Bloom filter of Impala and Parquet.
//!
//! A key sets one bit in each of the eight 32-bit words of one 256-bit block. The crate takes
//! hashes, and bits per key instead of a rate, so the adapter computes the rate that bits per key
//! give: sizing by the usual formula for standard filters would miss it.

use std::marker::PhantomData;

use super::{Contender, Hashed, Hasher64};
use crate::Result;
use crate::data::Sample;

/// A split-block filter whose expected rate is the one asked for, of keys that `H` hashes.
pub struct SplitBlock<H>(sbbf_rs_safe::Filter, PhantomData<H>);

impl<K: Sample + Hashed + ?Sized, H: Hasher64> Contender<K> for SplitBlock<H> {
    const NAME: &'static str = H::WITH_SPLIT_BLOCK;

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        let bytes = (keys as f64 * bits_per_key(rate) / 8.0).ceil();
        let mut filter = sbbf_rs_safe::Filter::new(8, bytes as usize);
        // Touches the memory, which the system gives as zeros only when it is first used.
        filter.reset();
        Ok(SplitBlock(filter, PhantomData))
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) {
        self.0.insert_hash(key.hash64::<H>());
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains_hash(key.hash64::<H>())
    }

    fn bits(&self) -> u64 {
        self.0.as_bytes().len() as u64 * 8
    }
}

/// The fewest bits per key whose expected rate is at most `rate`, to a thousandth.
fn bits_per_key(rate: f64) -> f64 {
    let (mut low, mut high) = (1.0, 200.0);
    while high - low > 0.001 {
        let middle = f64::midpoint(low, high);
        if expected_rate(middle) > rate {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The rate at `bits` per key: a block holds `j` keys with the probability of a Poisson variable of
/// mean `256 / bits`, and then each of the eight bits asked for is set with `1 - (31/32)^j`.
fn expected_rate(bits: f64) -> f64 {
    let mean = 256.0 / bits;
    let mut probability = (-mean).exp();
    let mut rate = 0.0;
    for keys in 1..1000 {
        probability *= mean / f64::from(keys);
        rate += probability * (1.0 - (31.0_f64 / 32.0).powi(keys)).powi(8);
    }
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eleven_bits_per_key_give_the_rate_measured_for_them() {
        // 0.81 % over 10 million absent keys.
        assert!((expected_rate(11.0) - 0.0081).abs() < 0.0001);
    }

    #[test]
    fn the_rate_asked_for_is_reached_but_not_undercut() {
        let bits = bits_per_key(0.01);
        assert!(expected_rate(bits) <= 0.01);
        assert!(expected_rate(bits - 0.002) > 0.01);
    }
}
