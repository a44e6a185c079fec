//! The rate and the options of a filter of `CF.*`.
//!
//! A first layer has fingerprints of 8 bits, as RedisBloom's have, and so the rate that its bucket size gives. Later ones
//! have longer fingerprints, so that the rate holds, however far a filter grows.

use mayhap::{CuckooOptions, Digester, SecretKey};

use crate::settings::{BUCKET, CUCKOO_CAPACITY, CUCKOO_EXPANSION, ITERATIONS, Setting};

/// The bits of a fingerprint in the first layer.
const FIRST_BITS: u32 = 8;

/// The rate of any filter at most, however large its buckets are.
const MOST_RATE: f64 = 0.5;

/// The capacity and the parameters that a filter was made with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The keys of the first layer.
    pub capacity: u64,
    /// The slots of a bucket, 1 to 255.
    pub bucket: u32,
    /// The most fingerprints that an insert moves, 1 to 65535.
    pub iterations: u32,
    /// The buckets of the next layer as a multiple of the newest's, up to 32768; 0 for a filter that does not grow.
    pub expansion: u32,
}

impl Plan {
    /// Returns the plan of a filter that a command makes by itself.
    pub(super) fn from_settings() -> Plan {
        let number = |setting: &Setting| u32::try_from(setting.get()).unwrap_or(1);
        let bucket = number(&BUCKET);
        // The settings are changed one by one, so the bucket may be too large for the capacity.
        let least = 2 * u64::from(bucket);
        Plan {
            capacity: CUCKOO_CAPACITY.get().unsigned_abs().max(least),
            bucket,
            iterations: number(&ITERATIONS),
            expansion: number(&CUCKOO_EXPANSION),
        }
    }

    /// The rate that fingerprints of 8 bits have in full buckets; where it grows, the first layer has that, and the others
    /// a quarter of it together. Buckets above 51 slots have longer fingerprints.
    pub(super) fn rate(&self) -> f64 {
        let rate = self.options(None).first_rate(FIRST_BITS, self.bucket);
        rate.min(MOST_RATE)
    }

    pub(super) fn options(&self, secret: Option<&SecretKey>) -> CuckooOptions {
        // The search is breadth first: with two slots or more in a bucket, the first 2^n buckets are at most n moves away.
        let search = match self.bucket {
            1 => self.iterations.next_power_of_two().clamp(2, 1024),
            _ => 1 << self.iterations.clamp(1, 10),
        };
        CuckooOptions {
            fingerprint: None,
            bucket: Some(self.bucket),
            growth: match self.expansion {
                0 => 0,
                times => times.next_power_of_two(),
            },
            search,
            digester: secret.map_or_else(Digester::default, |key| Digester::SipHash {
                key: key.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::nest::tests::plan;
    use super::super::own::Own;

    #[test]
    fn first_layers_have_fingerprints_of_8_bits_where_buckets_are_small() {
        for expansion in [0, 1, 2, 3] {
            for (bucket, expected) in [
                (1, 8),
                (2, 8),
                (4, 8),
                (8, 8),
                (50, 8),
                (127, 10),
                (255, 11),
            ] {
                let own = Own::new(plan(bucket, expansion), None, &|_, _| true).expect("made");
                let own = own.widened();
                let first = own.filter().shapes().next().expect("a layer");
                assert!(first.fingerprint() == expected || expansion == 0 && bucket > 50);
                assert_eq!(first.bucket(), bucket);
            }
        }
        let options = plan(2, 3).options(None);
        assert_eq!((options.growth, options.search), (4, 1024));
    }
}
