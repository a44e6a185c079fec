//! What users choose of a filter, and the numbers of it that a description holds.

use super::super::{Description, Kind};
use super::growth::{FIRST_SHARE, full_rate};
use crate::hash::Digester;
use crate::{Error, Result};

/// What a [`Cuckoo`](crate::Cuckoo) filter is made with, besides its capacity and its rate.
///
/// ```
/// use mayhap::{Cuckoo, CuckooOptions, Error};
///
/// // Sixteen bits for every fingerprint, and never more memory than at first.
/// let options = CuckooOptions { fingerprint: Some(16), growth: 0, ..CuckooOptions::default() };
/// let mut live = Cuckoo::with_options(1000, 0.01, options)?;
/// let full = (0..10_000_u32).find_map(|key| live.try_insert(&key).err());
/// assert!(matches!(full, Some(Error::Full { .. })));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CuckooOptions {
    /// The bits of a fingerprint in every layer, 8 to 32; `None` for as few as the rate allows, which are more in later
    /// layers. Fingerprints of a given size limit growth: a layer is begun only if the rates of all still add up to at most
    /// the one asked for.
    pub fingerprint: Option<u32>,
    /// The slots of a bucket, 1 to 255; `None` for the number that needs the fewest bits at the rate. More slots fill
    /// better and need longer fingerprints.
    pub bucket: Option<u32>,
    /// How many times the buckets of the newest layer the next one has: a power of two up to 32 768, or 0 for a filter that
    /// does not grow.
    pub growth: u32,
    /// The most buckets that an insert looks into for room, a power of two from 2 to 1024. Fewer bound the time of an insert
    /// and leave more slots empty: with four slots a bucket, a million keys fill 97 % by 1024, 95 % by 256 and 88 % by
    /// 64.
    pub search: u32,
    /// How keys are hashed.
    pub digester: Digester,
}

impl Default for CuckooOptions {
    /// Sized by the rate, growth 2, 1024 buckets searched, hashed without a secret.
    fn default() -> CuckooOptions {
        CuckooOptions {
            fingerprint: None,
            bucket: None,
            growth: 2,
            search: 1024,
            digester: Digester::default(),
        }
    }
}

impl CuckooOptions {
    /// The fewest bits of a fingerprint.
    pub(super) const LEAST_FINGERPRINT: u32 = 8;

    /// The most layers: as many as a description can hold.
    pub(super) const MOST_LAYERS: u32 = 63;

    /// The rate to ask for, for a first layer whose fingerprints have this many bits in buckets of this many slots. It may be 1 and
    /// more for short fingerprints in large buckets, and then no filter has it.
    ///
    /// ```
    /// use mayhap::{Cuckoo, CuckooOptions};
    ///
    /// let options = CuckooOptions { bucket: Some(2), ..CuckooOptions::default() };
    /// let live = Cuckoo::with_options(1000, options.first_rate(8, 2), options)?;
    /// assert_eq!(live.shapes().next().map(|first| first.fingerprint()), Some(8));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn first_rate(&self, fingerprint: u32, bucket: u32) -> f64 {
        let share = if self.growth > 0 { FIRST_SHARE } else { 1.0 };
        // A little more, so that no rounding asks for one bit more.
        full_rate(fingerprint, bucket) / share * 1.000_001
    }

    /// Refuses options that are out of range.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(bits) = self.fingerprint
            && !(Self::LEAST_FINGERPRINT..=32).contains(&bits)
        {
            return Err(field("fingerprint", bits, "8 to 32 bits"));
        }
        if let Some(slots) = self.bucket
            && !(1..=255).contains(&slots)
        {
            return Err(field("bucket", slots, "1 to 255 slots"));
        }
        if self.growth > 1 << 15 || self.growth.count_ones() > 1 {
            return Err(field(
                "growth",
                self.growth,
                "0, or a power of two up to 32768",
            ));
        }
        if !(2..=1024).contains(&self.search) || self.search.count_ones() > 1 {
            return Err(field(
                "search",
                self.search,
                "a power of two from 2 to 1024",
            ));
        }
        Ok(())
    }
}

/// The refusal of a number that no filter of the kind has.
pub(super) fn field(field: &'static str, got: u32, expected: &'static str) -> Error {
    Error::Field {
        format: Kind::Cuckoo.name(),
        field,
        got: i64::from(got),
        expected,
    }
}

/// The options as a description holds them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    /// The bits of every fingerprint; `None` where they follow from the rate.
    pub(super) fingerprint: Option<u32>,
    /// The slots of a bucket.
    pub(super) bucket: u32,
    /// The binary logarithm of the growth; `None` where there is none.
    pub(super) growth: Option<u32>,
    /// The binary logarithm of the buckets searched.
    pub(super) search: u32,
}

impl Numbers {
    /// The options, with this many slots a bucket.
    pub(super) fn new(options: &CuckooOptions, bucket: u32) -> Numbers {
        Numbers {
            fingerprint: options.fingerprint,
            bucket,
            growth: options.growth.checked_ilog2(),
            search: options.search.ilog2(),
        }
    }

    /// The numbers and the layers of a description.
    ///
    /// From the lowest bit of the detail: 5 bits for those of a fingerprint less one, 0 where they follow from the rate; 8
    /// for the slots of a bucket; 6 for the layers; 5 for the growth, 0 for none or one more than its binary logarithm; 4
    /// for that of the buckets searched; zeros.
    pub(super) fn described(description: &Description) -> Result<(Numbers, u32)> {
        let detail = description.detail;
        let part = |from: u32, bits: u32| detail >> from & ((1 << bits) - 1);
        let numbers = Numbers {
            fingerprint: Some(part(0, 5))
                .filter(|&bits| bits > 0)
                .map(|bits| bits + 1),
            bucket: part(5, 8),
            growth: part(19, 5).checked_sub(1),
            search: part(24, 4),
        };
        let options = CuckooOptions {
            fingerprint: numbers.fingerprint,
            bucket: Some(numbers.bucket),
            growth: numbers.growth.map_or(0, |power| 1 << power),
            search: 1 << numbers.search,
            digester: Digester::default(),
        };
        options.check()?;
        if part(28, 4) != 0 {
            return Err(field("detail", detail, "zeros in bits 28 to 31"));
        }
        match part(13, 6) {
            0 => Err(field("number of layers", 0, "1 to 63")),
            layers => Ok((numbers, layers)),
        }
    }

    /// What a description holds of them.
    pub(super) fn detail(self, layers: u32) -> u32 {
        self.fingerprint.map_or(0, |bits| bits - 1)
            | self.bucket << 5
            | layers << 13
            | self.growth.map_or(0, |power| power + 1) << 19
            | self.search << 24
    }
}
