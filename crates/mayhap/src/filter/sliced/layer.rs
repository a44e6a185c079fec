//! One layer: a Bloom filter in which every hash has bits of its own.
//!
//! A layer for `n` keys is `k` slices of `m = n / ln 2` bits, and hash `j` of a key sets a bit of slice
//! `j`. After `n` keys about half of the bits are ones, and an absent key finds a one in every slice once
//! in `2^k`. `k` is the smallest with `2^-k` at most the rate that the layer may have.
//!
//! A slice begins at a word and the layer is whole lines: the bits after a slice are never looked at.

use super::super::description::check_size;
use super::super::layered::Layer;
use super::super::{Promise, Stats};
use super::growth::Growth;
use crate::bits::{Bitmap, Bits};
use crate::hash::{Digest, Digester};
use crate::shape::halvings;
use crate::{Result, Shape};

/// The size of one layer of a [`Sliced`](crate::kinds::Sliced) filter: how many slices, and of how many bits each.
///
/// ```
/// use mayhap::kinds::Sliced;
///
/// let filter = Sliced::with_capacity(1000, 0.01)?;
/// let first = filter.shapes().next().expect("there is always a layer");
/// assert_eq!((first.slices(), first.slice_bits()), (10, 1443));
/// assert!(first.rate() < 0.01, "the others have their share");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlicedShape {
    promise: Promise,
    /// What a hash is reduced to, the bits of a slice, and how many hashes there are.
    probes: Shape,
}

impl SlicedShape {
    /// The most keys: as many as a double counts.
    pub(super) const MOST_KEYS: u64 = 1 << f64::MANTISSA_DIGITS;

    /// The lowest rate, `2^-64`: with more slices than a digest has bits, none would be lower.
    pub(super) const LEAST_RATE: f64 = 1.0 / (1_u128 << 64) as f64;

    /// The layer for this many keys, up to [`MOST_KEYS`](SlicedShape::MOST_KEYS), at a rate from
    /// [`LEAST_RATE`](SlicedShape::LEAST_RATE) up.
    pub(super) fn new(promise: Promise) -> Result<SlicedShape> {
        // One division and an exact rounding: every platform has the same.
        let slice_bits = libm::ceil(promise.keys as f64 / core::f64::consts::LN_2) as u64;
        Ok(SlicedShape {
            promise,
            probes: Shape::new(slice_bits, halvings(promise.rate))?,
        })
    }

    /// The keys that the layer takes.
    pub fn capacity(self) -> u64 {
        self.promise.keys
    }

    /// The rate it may have when it holds its keys: its share of the rate of all layers.
    pub fn rate(self) -> f64 {
        self.promise.rate
    }

    /// The number of slices, `k`: a key has a bit in each.
    pub fn slices(self) -> u32 {
        self.probes.hashes()
    }

    /// The bits of a slice, `m`.
    pub fn slice_bits(self) -> u64 {
        self.probes.bits()
    }

    /// The bits of all slices together.
    pub fn bits(self) -> u64 {
        // At most 64 slices of fewer than 2^54 bits.
        u64::from(self.slices()) * self.slice_bits()
    }

    /// The most ones with which the layer is sure to keep its rate `P`, a share of `P^(1/k)`: half of the
    /// bits, or a few more.
    ///
    /// An absent key finds ones in all slices with a chance that is the product of their shares of ones, and
    /// with this many in all that is highest when they are alike.
    fn most_ones(self) -> u64 {
        let share = libm::pow(self.rate(), 1.0 / f64::from(self.slices()));
        let most = (share * self.bits() as f64) as u64;
        most.max(self.bits() / 2)
    }

    /// How far after a slice the next one begins.
    fn stride(self) -> u64 {
        self.slice_bits().next_multiple_of(64)
    }

    /// Turns the positions of a key, one after another, into bits of one slice after another.
    #[inline]
    fn by_slice(self) -> impl FnMut(u64) -> u64 {
        let mut start = 0;
        move |position| {
            let bit = start + position;
            start += self.stride();
            bit
        }
    }

    /// The bits that the layer takes, with those between slices and at the end.
    pub(super) fn stored_bits(self) -> u64 {
        (u64::from(self.slices()) * self.stride()).next_multiple_of(512)
    }
}

/// A layer with its bits.
#[derive(Debug, Clone, PartialEq)]
pub struct Slices<B> {
    shape: SlicedShape,
    most_ones: u64,
    bits: B,
}

impl Slices<Bitmap> {
    pub(super) fn clear(&mut self) {
        self.bits.clear_all();
    }

    /// Inserts a key by its digest; returns how many of its bits were zeros.
    pub(super) fn insert_digest(&mut self, digest: Digest) -> u64 {
        let bits = digest.probe(self.shape.probes).map(self.shape.by_slice());
        bits.map(|bit| u64::from(self.bits.set(bit))).sum()
    }
}

impl<B: Bits> Slices<B> {
    /// Whether this many keys that have set this many ones are all that the layer takes: it has its capacity,
    /// or another key might set too many. One key always fits, because a slice has at least two bits.
    pub(super) fn is_full_with(&self, keys: u64, ones: u64) -> bool {
        let ones = ones.saturating_add(u64::from(self.shape.slices()));
        keys >= self.shape.capacity() || ones > self.most_ones
    }

    pub(super) fn shape(&self) -> SlicedShape {
        self.shape
    }

    /// The positions of the bits of a key with this digest.
    pub(super) fn positions(&self, digest: Digest) -> impl Iterator<Item = u64> {
        digest.probe(self.shape.probes).map(self.shape.by_slice())
    }

    /// Hints that the bits of the key in this many slices will soon be read or written.
    #[inline]
    pub(super) fn prefetch(&self, digest: Digest, slices: usize) {
        for bit in self.positions(digest).take(slices) {
            self.bits.prefetch(bit);
        }
    }

    /// The ones of a slice, and not those of what is after it.
    fn ones(&self, slice: u64) -> u64 {
        let first = slice * self.shape.stride() / 64;
        let (words, rest) = (self.shape.slice_bits() / 64, self.shape.slice_bits() % 64);
        let last = self.bits.word(first + words) & !(u64::MAX << rest);
        let whole = (first..first + words).map(|index| self.bits.word(index));
        whole
            .chain([last])
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }
}

impl<B: Bits> Layer<Growth> for Slices<B> {
    type Bits = B;

    fn over(bits: B, shape: SlicedShape, _: &Digester) -> Result<Slices<B>> {
        let expected = "the slices of the layer, in whole lines of 512";
        check_size(&bits, shape.stored_bits(), expected)?;
        Ok(Slices {
            shape,
            most_ones: shape.most_ones(),
            bits,
        })
    }

    #[inline]
    fn holds(&self, digest: Digest) -> bool {
        let mut bit = self.shape.by_slice();
        digest
            .probe(self.shape.probes)
            .every(|position| self.bits.get(bit(position)))
    }

    /// What the layer holds now. Counts every bit: the chance of an absent key is the product of the
    /// slices' shares of ones.
    fn statistics(&self) -> Stats {
        let (mut ones, mut rate) = (0, 1.0);
        for slice in 0..u64::from(self.shape.slices()) {
            let in_slice = self.ones(slice);
            ones += in_slice;
            rate *= in_slice as f64 / self.shape.slice_bits() as f64;
        }
        let bits = self.shape.bits();
        // `-m ln(1 - X / km)`, which is what a standard filter of `km` bits and `k` hashes gives.
        let keys = Shape::new(bits, self.shape.slices()).map(|shape| shape.keys_at(ones));
        Stats {
            bits,
            ones,
            keys: keys.ok().flatten(),
            rate,
            promise: Some(self.shape.promise),
        }
    }

    fn stored(&self) -> &B {
        &self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, bits::BitmapView};

    fn empty(shape: SlicedShape) -> Result<Slices<Bitmap>> {
        let bits = Bitmap::new(shape.stored_bits())?;
        Slices::over(bits, shape, &Digester::default())
    }

    fn shape(keys: u64, rate: f64) -> SlicedShape {
        SlicedShape::new(Promise { keys, rate }).expect("valid")
    }

    #[test]
    fn slices_are_half_full_at_the_capacity_that_they_are_made_for() {
        for (keys, bits) in [
            (1, 2),
            (2, 3),
            (1000, 1443),
            (16_000, 23_084),
            (SlicedShape::MOST_KEYS, 12_994_641_697_113_596),
        ] {
            assert_eq!(shape(keys, 0.01).slice_bits(), bits, "{keys}");
        }
        let fill = shape(1000, 0.01).probes;
        let fill = -libm::expm1(1000.0 * libm::log1p(-1.0 / fill.bits() as f64));
        assert!((fill - 0.500_047).abs() < 5e-7, "{fill}");
    }

    #[test]
    fn a_layer_with_the_most_ones_keeps_its_rate() {
        for keys in [1, 2, 3, 7, 1000, 1_000_000_000] {
            for rate in [
                0.7,
                0.5,
                0.3,
                0.01,
                0.0015,
                1e-9,
                1.0 / 1024.0,
                SlicedShape::LEAST_RATE,
            ] {
                let shape = shape(keys, rate);
                let (ones, bits) = (shape.most_ones() as f64, shape.bits() as f64);
                let most = libm::pow(ones / bits, f64::from(shape.slices()));

                assert!(most <= rate * (1.0 + 1e-12), "{most}: {keys} {rate}");
                assert!(2.0 * ones >= bits - 1.0, "{keys} {rate}");
                let layer = empty(shape);
                let fits = layer.map(|layer| !layer.is_full_with(0, 0));
                assert!(keys > 1000 || fits.expect("small"), "{keys} {rate}");
            }
        }
    }

    #[test]
    fn a_layer_is_full_by_its_keys_or_by_its_ones() {
        // P^(1/k) is 0.522.
        let layer = empty(shape(1000, 0.0015)).expect("small");
        assert_eq!((layer.shape.slices(), layer.most_ones), (10, 7531));
        assert!(!layer.is_full_with(999, 7215) && layer.is_full_with(1000, 7215));
        assert!(!layer.is_full_with(900, 7521) && layer.is_full_with(900, 7522));
        assert!(layer.is_full_with(u64::MAX, 0) && layer.is_full_with(0, u64::MAX));
    }

    #[test]
    fn the_largest_layer_can_be_described() {
        let largest = shape(SlicedShape::MOST_KEYS, SlicedShape::LEAST_RATE);
        assert!(largest.bits() < largest.stored_bits());
        assert!(largest.stored_bits() < 1 << 60);
    }

    #[test]
    fn every_slice_has_one_bit_of_a_key_and_nothing_is_after_it() {
        for (keys, stride) in [(1, 64), (44, 64), (45, 128), (100, 192)] {
            let shape = shape(keys, 1e-6);
            let mut layer = empty(shape).expect("small");
            let digest = Digester::default().digest(b"key");

            assert!(!layer.holds(digest));
            assert_eq!(layer.insert_digest(digest), 20);
            assert_eq!(layer.insert_digest(digest), 0, "they are there");
            assert!(layer.holds(digest));

            for (slice, position) in (0..).zip(digest.probe(shape.probes)) {
                assert!(layer.bits.get(slice * stride + position), "{keys} keys");
            }
            assert!((0..20).all(|slice| layer.ones(slice) == 1));
        }
    }

    #[test]
    fn what_is_between_slices_is_never_looked_at() {
        for keys in [10, 100] {
            let shape = shape(keys, 0.001);
            let mut layer = empty(shape).expect("small");
            for key in 0..5_u8 {
                layer.insert_digest(Digester::default().digest(&[key]));
            }
            let mut dirty = layer.clone();
            for start in (0..shape.slices()).map(|slice| u64::from(slice) * shape.stride()) {
                let after = start + shape.slice_bits()..start + shape.stride();
                dirty.bits.set_range(after);
            }
            dirty.bits.set(shape.stored_bits() - 1);

            assert!(dirty != layer);
            assert_eq!(dirty.statistics(), layer.statistics());
            for key in 0..=255_u8 {
                let digest = Digester::default().digest(&[key]);
                assert_eq!(dirty.holds(digest), layer.holds(digest));
            }
        }
    }

    #[test]
    fn a_layer_of_other_bits_is_refused() {
        let shape = shape(100, 0.01);
        let bytes = [0; 4096];
        for bits in [0, shape.bits(), shape.stored_bits() - 1, 4096] {
            let view = BitmapView::new(&bytes[..], bits).expect("enough bytes");
            let refused = Slices::over(view, shape, &Digester::default());
            assert!(matches!(refused, Err(Error::Bits { .. })), "{bits}");
        }
    }
}
