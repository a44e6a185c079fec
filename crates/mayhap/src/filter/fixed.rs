//! The body of kinds that are one run of bits of a fixed size.
//!
//! [`Bloom`](crate::Bloom), [`Blocked`](crate::Blocked), [`SplitBlock`](crate::kinds::SplitBlock),
//! [`Shifting`](crate::kinds::Shifting), [`Spatial`](crate::kinds::Spatial) and [`Counting`](crate::Counting) differ in which bits
//! belong to a key. What they share is here: how a filter is planned, made, described, compared, joined and put
//! together from a file. A kind says how big it is by its [`FixedShape`].

use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Display;

use super::description::{check_alike, check_size};
use super::{Assemble, Description, Hashing, Kind, Promise, Stats};
use crate::Result;
use crate::bits::{Bitmap, Bits};

/// The size of a filter of a kind, and its part of the description.
pub trait FixedShape: Copy + PartialEq + Display {
    /// The way keys are hashed.
    type Hashing: Clone + PartialEq + Display + Into<Hashing>;

    /// The kind.
    fn kind(self) -> Kind;

    /// The bits, the hashes per key and the detail of a [`Description`].
    fn numbers(self) -> (u64, u32, u32);

    /// The shape and the hashing of a description.
    ///
    /// # Errors
    ///
    /// Names the first property that the kind cannot have.
    fn described(description: &Description) -> Result<(Self, Self::Hashing)>;

    /// The rate that the formula of the kind predicts with `keys` keys, where it has one.
    fn predicted_rate(self, _keys: u64) -> Option<f64> {
        None
    }

    /// The cache lines that a lookup of an inserted key reads.
    fn cache_lines(self) -> u32 {
        self.numbers().1
    }

    /// The description of a filter of this shape.
    fn describe(self, hashing: Self::Hashing, promise: Option<Promise>) -> Description {
        let (bits, hashes, detail) = self.numbers();
        Description {
            kind: self.kind(),
            hashing: hashing.into(),
            bits,
            hashes,
            detail,
            promise,
        }
    }

    /// The description of the filter that keeps a promise, by the shape that `size` finds for it.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1 or too low for the hash; and those of `size`.
    fn plan(
        keys: u64,
        rate: f64,
        hashing: Self::Hashing,
        size: impl FnOnce(u64, f64) -> Result<Self>,
    ) -> Result<Description> {
        let promise = Promise::new(keys, rate)?;
        let shape = promise.size(size)?;
        Ok(shape.describe(hashing, Some(promise)))
    }
}

/// A filter without the meaning of its bits.
#[derive(Clone)]
pub struct Fixed<B, S: FixedShape> {
    pub(super) bits: B,
    pub(super) shape: S,
    pub(super) hashing: S::Hashing,
    pub(super) promise: Option<Promise>,
}

impl<S: FixedShape> Fixed<Bitmap, S> {
    /// An empty filter, which promises nothing.
    pub(super) fn new(shape: S, hashing: S::Hashing) -> Result<Fixed<Bitmap, S>> {
        Fixed::from_bits(Bitmap::new(shape.numbers().0)?, shape, hashing)
    }

    /// Sets every bit that is one in `other`.
    pub(super) fn union(&mut self, other: &Fixed<Bitmap, S>) -> Result<()> {
        self.check_same(other)?;
        self.bits.or(&other.bits)
    }

    /// Clears every bit that is zero in `other`.
    pub(super) fn intersect(&mut self, other: &Fixed<Bitmap, S>) -> Result<()> {
        self.check_same(other)?;
        self.bits.and(&other.bits);
        Ok(())
    }
}

impl<B: Bits, S: FixedShape> Fixed<B, S> {
    /// A filter over bits that exist already. It promises nothing.
    pub(super) fn from_bits(bits: B, shape: S, hashing: S::Hashing) -> Result<Fixed<B, S>> {
        check_size(&bits, shape.numbers().0, "as many as the shape has")?;
        Ok(Fixed {
            bits,
            shape,
            hashing,
            promise: None,
        })
    }

    /// The same filter over another storage.
    pub(super) fn stored_as<C: From<B>>(self) -> Fixed<C, S> {
        Fixed {
            bits: self.bits.into(),
            shape: self.shape,
            hashing: self.hashing,
            promise: self.promise,
        }
    }

    /// Refuses another filter whose bits mean something else.
    pub(super) fn check_same<C>(&self, other: &Fixed<C, S>) -> Result<()> {
        check_alike("shape", &self.shape, &other.shape)?;
        check_alike("scheme", &self.hashing, &other.hashing)
    }

    /// Returns what the filter holds, given its ones and what the kind concludes from its bits.
    pub(super) fn stats(&self, ones: u64, keys: Option<f64>, rate: f64) -> Stats {
        Stats {
            bits: self.bits.size(),
            ones,
            keys,
            rate,
            promise: self.promise,
        }
    }
}

impl<B: Bits, S: FixedShape> Assemble for Fixed<B, S> {
    type Bits = B;

    fn description(&self) -> Description {
        self.shape.describe(self.hashing.clone(), self.promise)
    }

    fn parts(&self) -> Vec<&B> {
        vec![&self.bits]
    }

    fn check(description: &Description) -> Result<()> {
        description.check_promise()?;
        S::described(description).map(drop)
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Fixed<B, S>> {
        Self::check(description)?;
        let bits = description.only_part(parts)?;
        let (shape, hashing) = S::described(description)?;
        let body = Fixed::from_bits(bits, shape, hashing)?;
        Ok(Fixed {
            promise: description.promise,
            ..body
        })
    }

    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        let (shape, _) = S::described(description).ok()?;
        shape.predicted_rate(keys)
    }

    fn cache_lines(description: &Description) -> u32 {
        S::described(description).map_or(description.hashes, |(shape, _)| shape.cache_lines())
    }
}
