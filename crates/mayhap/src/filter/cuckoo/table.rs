//! One layer: [`Slots`], and our layout of keys in them.
//!
//! A key has a fingerprint and two buckets, and its fingerprint is in a slot of either. Which the other bucket is follows
//! from one of them and the fingerprint alone, so that a fingerprint can move without its key. With `n` buckets in the first
//! layer and `n 2^s` in this one, bucket `x 2^s + y` has as its other `x' 2^s + y'`: `x' = h - x`, modulo `n`, and `y'` is
//! `y` exclusive or `s` bits, where both `h` and the bits come from a hash of the fingerprint. Twice that is the bucket
//! again, for any `n`: no power of two is needed.
//!
//! Keys that share fingerprint and buckets in a layer do so in every older one, too: fingerprints of older layers are the
//! first bits of newer ones, and so are the numbers of buckets. Removal depends on it; see `changes.rs`.

use core::cmp::Ordering;

use super::super::Stats;
use super::super::description::check_size;
use super::super::layered::Layer;
use super::growth::{Growth, full_rate, match_rate};
use crate::Result;
use crate::bits::{Bitmap, Bits, Home, LINE_BITS, Slots};
use crate::hash::{Digest, Digester, reduce};

/// The size of one layer of a [`Cuckoo`](crate::Cuckoo) filter.
///
/// ```
/// use mayhap::Cuckoo;
///
/// let filter = Cuckoo::with_capacity(1_000_000, 0.01)?;
/// let first = filter.shapes().next().expect("there is always a layer");
/// assert_eq!((first.fingerprint(), first.bucket()), (10, 4));
/// assert!(first.slots() > 1_000_000 && first.rate() < 0.01);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CuckooShape {
    /// The buckets of the first layer.
    pub(super) first_buckets: u64,
    /// The binary logarithm of how many times as many this one has.
    pub(super) power: u32,
    pub(super) bucket: u32,
    pub(super) fingerprint: u32,
    /// The bits of a fingerprint in the first layer.
    pub(super) first_fingerprint: u32,
}

impl CuckooShape {
    /// The number of buckets.
    pub fn buckets(self) -> u64 {
        self.first_buckets << self.power
    }

    /// The slots of a bucket.
    pub fn bucket(self) -> u32 {
        self.bucket
    }

    /// The bits of a fingerprint, and so of a slot.
    pub fn fingerprint(self) -> u32 {
        self.fingerprint
    }

    /// The number of slots: as many fingerprints as there could be.
    pub fn slots(self) -> u64 {
        self.buckets() * u64::from(self.bucket)
    }

    /// A bound on the rate of the layer, which it has when every slot is taken.
    pub fn rate(self) -> f64 {
        full_rate(self.fingerprint, self.bucket).min(1.0)
    }

    /// The rate of the layer with this many slots taken: an absent key meets as many fingerprints as its two buckets
    /// have on average.
    pub(super) fn rate_with(self, taken: f64) -> f64 {
        let met = 2.0 * f64::from(self.bucket) * taken / self.slots() as f64;
        -libm::expm1(met * libm::log1p(-match_rate(self.fingerprint)))
    }

    /// The bits of the layer, whole lines; `None` above 2^63.
    pub(super) fn checked_bits(self) -> Option<u64> {
        let times = 1_u64.checked_shl(self.power)?;
        let slots = self
            .first_buckets
            .checked_mul(times)?
            .checked_mul(self.bucket.into())?;
        let bits = slots.checked_mul(self.fingerprint.into())?;
        let bits = bits.checked_next_multiple_of(LINE_BITS)?;
        (bits <= 1 << 63).then_some(bits)
    }
}

/// A layer: slots over bits of any storage, and how keys are laid out in them.
#[derive(Debug, Clone)]
pub struct Table<B = Bitmap> {
    pub(super) slots: Slots<B>,
    pub(super) shape: CuckooShape,
}

impl<B: Bits> Table<B> {
    /// Where a fingerprint of a newer layer belongs in this one.
    pub(super) fn home_of(&self, newer: CuckooShape, bucket: u64, fingerprint: u64) -> Home {
        let fingerprint = (fingerprint >> (newer.fingerprint - self.shape.fingerprint)).max(1);
        let bucket = bucket >> (newer.power - self.shape.power);
        Home {
            fingerprint,
            buckets: [bucket, self.other(bucket, fingerprint)],
        }
    }

    /// Where a key with this digest may be.
    #[inline]
    pub(super) fn home(&self, digest: Digest) -> Home {
        let fingerprint = (digest.lo >> (64 - self.shape.fingerprint)).max(1);
        let bucket = reduce(digest.hi, self.shape.buckets());
        Home {
            fingerprint,
            buckets: [bucket, self.other(bucket, fingerprint)],
        }
    }

    /// The other bucket of a fingerprint that may be in this one.
    #[inline]
    pub(super) fn other(&self, bucket: u64, fingerprint: u64) -> u64 {
        let CuckooShape {
            first_buckets,
            power,
            fingerprint: bits,
            first_fingerprint,
            ..
        } = self.shape;
        // As every layer has it, so that all agree about which keys share their buckets.
        let first = (fingerprint >> (bits - first_fingerprint)).max(1);
        let hash = Digest { lo: first, hi: 0 }.remix(0);
        let sum = reduce(hash.hi, first_buckets);
        let (x, y) = (bucket >> power, bucket & ((1 << power) - 1));
        let x = match sum.checked_sub(x) {
            Some(difference) => difference,
            None => sum + first_buckets - x,
        };
        let y = y ^ hash.lo.checked_shr(64 - power).unwrap_or(0);
        x << power | y
    }

    /// The slots that are taken, and the share of absent keys that are found. Reads them all.
    ///
    /// A fingerprint finds the keys that have it in either of its two buckets, however often it is there; of all keys the
    /// lowest one has two in `2^f`, and each other one.
    fn taken(&self) -> (u64, f64) {
        let (mut taken, mut finds) = (0, 0);
        for bucket in 0..self.shape.buckets() {
            for slot in 0..self.shape.bucket {
                let fingerprint = self.slots.get(bucket, slot);
                taken += u64::from(fingerprint != 0);
                if fingerprint == 0 || self.slots.find(bucket, fingerprint) != Some(slot) {
                    continue;
                }
                let other = self.other(bucket, fingerprint);
                let keys = 1 + u64::from(fingerprint == 1);
                finds += match other.cmp(&bucket) {
                    Ordering::Less if self.slots.has(other, fingerprint) => 0,
                    Ordering::Equal => keys,
                    _ => 2 * keys,
                };
            }
        }
        let all = self.shape.buckets() as f64 * (1_u64 << self.shape.fingerprint) as f64;
        (taken, finds as f64 / all)
    }
}

impl<B: Bits> Layer<Growth> for Table<B> {
    type Bits = B;

    fn over(bits: B, shape: CuckooShape, _: &Digester) -> Result<Table<B>> {
        let expected = shape.checked_bits().unwrap_or(u64::MAX);
        check_size(&bits, expected, "as many as the layer has")?;
        let slots = Slots::over(bits, shape.bucket, shape.fingerprint);
        Ok(Table { slots, shape })
    }

    #[inline]
    fn holds(&self, digest: Digest) -> bool {
        self.slots.holds(&self.home(digest))
    }

    fn statistics(&self) -> Stats {
        let (taken, rate) = self.taken();
        Stats {
            bits: self.stored().size(),
            ones: taken * u64::from(self.shape.fingerprint),
            keys: Some(taken as f64),
            rate,
            promise: None,
        }
    }

    fn stored(&self) -> &B {
        self.slots.bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(power: u32, bucket: u32, fingerprint: u32) -> Table {
        let shape = CuckooShape {
            first_buckets: 37,
            power,
            bucket,
            fingerprint,
            first_fingerprint: 8,
        };
        let bits = Bitmap::new(shape.checked_bits().expect("small")).expect("small");
        Table::over(bits, shape, &Digester::default()).expect("as many")
    }

    fn digests(count: u64) -> impl Iterator<Item = Digest> {
        (0..count).map(|key| Digester::default().digest(&key.to_le_bytes()))
    }

    #[test]
    fn the_other_bucket_of_the_other_is_the_bucket() {
        for power in [0, 1, 5] {
            let table = table(power, 4, 8 + power);
            for bucket in 0..table.shape.buckets() {
                for fingerprint in 1..1 << table.shape.fingerprint {
                    let other = table.other(bucket, fingerprint);
                    assert!(other < table.shape.buckets());
                    assert_eq!(table.other(other, fingerprint), bucket);
                }
            }
        }
    }

    #[test]
    fn keys_that_are_one_in_a_layer_are_one_in_every_older_layer() {
        let layers = [
            table(0, 1, 8),
            table(1, 1, 10),
            table(2, 1, 10),
            table(4, 1, 11),
        ];
        let mut same = 0;
        for (one, other) in digests(4000).zip(digests(8000).skip(4000)) {
            // Near each other, so that they are one now and then.
            for bits in [48, 52, 56] {
                let near = Digest {
                    lo: one.lo ^ other.lo >> bits,
                    hi: one.hi ^ other.hi >> bits,
                };
                let home = |table: &Table, digest| {
                    let mut home = table.home(digest);
                    home.buckets.sort();
                    (home.fingerprint, home.buckets)
                };
                let are_one = layers
                    .each_ref()
                    .map(|table| home(table, one) == home(table, near));
                assert!(
                    are_one.is_sorted_by(|older, newer| older >= newer),
                    "{are_one:?}"
                );
                same += u32::from(are_one[3]);
            }
        }
        assert!(same > 100, "{same}");
    }

    #[test]
    fn slots_of_every_width_are_written_and_found_apart() {
        for fingerprint in [8, 9, 12, 13, 16, 21, 32, 33, 56] {
            for bucket in [1, 2, 3, 4, 7, 8] {
                let mut table = table(1, bucket, fingerprint);
                let value = |bucket: u64, slot: u32| {
                    let digest = Digest::from_u64(bucket << 8 | u64::from(slot)).remix(7);
                    (digest.hi >> (64 - fingerprint)).max(1)
                };
                let buckets = table.shape.buckets();
                for at in 0..buckets {
                    for slot in 0..bucket {
                        assert_eq!(table.slots.find(at, 0), Some(slot));
                        table.slots.set(at, slot, value(at, slot));
                    }
                }
                for at in 0..buckets {
                    for slot in 0..bucket {
                        assert_eq!(table.slots.get(at, slot), value(at, slot));
                        assert!(table.slots.has(at, value(at, slot)));
                    }
                    for absent in digests(50).map(|digest| (digest.lo >> (64 - fingerprint)).max(1))
                    {
                        assert_eq!(
                            table.slots.has(at, absent),
                            table.slots.find(at, absent).is_some()
                        );
                    }
                }
                assert_eq!(
                    table.statistics().keys,
                    Some((buckets * u64::from(bucket)) as f64)
                );
                table.slots.set(3, bucket - 1, 0);
                assert_eq!(table.slots.find(3, 0), Some(bucket - 1));
                assert_eq!(table.slots.get(4, 0), value(4, 0));
            }
        }
    }
}
