//! Windows in which the distance of a one is an answer: what the two kinds share that have them.

use core::fmt;

use super::{WIDEST, Windows};
use crate::bits::{Bits, BitsMut};
use crate::filter::fixed::{Fixed, FixedShape};
use crate::filter::places::{Needed, Places};
use crate::filter::roll::roll;
use crate::filter::{Description, Kind, Stats};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result, Shape};

/// The meaning of windows in a kind.
pub(super) struct Usage {
    pub(super) kind: Kind,
    /// Its name for the bits of a window.
    pub(super) span: &'static str,
    /// The fewest of them that it can do with.
    pub(super) least: u32,
    /// From the fewest to [`WIDEST`], in words.
    pub(super) expected: &'static str,
    /// The answers that the widest window can give: as many standard filters share the bits.
    pub(super) answers: u32,
    /// The average distance in bits of the one of an answer from those that keys set, in windows of a span.
    pub(super) distance: fn(answer: u32, span: u32) -> f64,
}

impl Usage {
    /// The description of a filter in which an absent key gets any answer at most at `rate`.
    pub(super) fn plan(&'static self, keys: u64, rate: f64) -> Result<Description> {
        Spans::plan(keys, rate, Digester::default(), |keys, rate| {
            // The rate of one answer, so that an absent key gets none of them at the rate asked for.
            let one = -libm::expm1(libm::log1p(-rate) / f64::from(self.answers));
            self.spans(Windows::new(Shape::for_capacity(keys, one)?, WIDEST)?)
        })
    }

    /// The empty filter with windows of `span` bits at the positions of `first`.
    pub(super) fn make(
        &'static self,
        first: Shape,
        span: u32,
        digester: Digester,
    ) -> Result<Fixed<crate::Bitmap, Spans>> {
        self.check_span(span)?;
        Fixed::new(self.spans(Windows::new(first, span)?)?, digester)
    }

    fn spans(&'static self, windows: Windows) -> Result<Spans> {
        self.check_span(windows.span())?;
        Ok(Spans {
            windows,
            usage: self,
        })
    }

    fn check_span(&self, span: u32) -> Result<()> {
        if (self.least..=WIDEST).contains(&span) {
            return Ok(());
        }
        Err(Error::Field {
            format: self.kind.name(),
            field: self.span,
            got: i64::from(span),
            expected: self.expected,
        })
    }
}

/// The windows of a filter, and what they are to its kind.
#[derive(Clone, Copy)]
pub struct Spans {
    pub(super) windows: Windows,
    usage: &'static Usage,
}

impl Spans {
    /// The answers that a window can give.
    fn answers(self) -> u32 {
        self.usage.answers.min(self.windows.span())
    }

    /// The rate at which an absent key gets any answer, when it gets each of them at this one.
    fn any_of(self, rate: f64) -> f64 {
        -libm::expm1(f64::from(self.answers()) * libm::log1p(-rate))
    }
}

impl PartialEq for Spans {
    fn eq(&self, other: &Spans) -> bool {
        self.windows == other.windows && self.usage.kind == other.usage.kind
    }
}

impl fmt::Display for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, span) = (self.windows.first(), self.windows.span());
        let (positions, hashes) = (first.bits(), first.hashes());
        write!(
            f,
            "{positions} positions, {hashes} hashes, windows of {span} bits"
        )
    }
}

impl FixedShape for Spans {
    type Hashing = Digester;

    fn kind(self) -> Kind {
        self.usage.kind
    }

    fn numbers(self) -> (u64, u32, u32) {
        let windows = self.windows;
        (windows.bits(), windows.first().hashes(), windows.span())
    }

    /// The chance of any answer, when windows at the end hold fewer ones.
    fn predicted_rate(self, keys: u64) -> Option<f64> {
        let (first, span) = (self.windows.first(), self.windows.span());
        let ones = first.fill_at(keys);
        let right = (0..self.answers()).map(|answer| {
            let set = ones * self.windows.set_at((self.usage.distance)(answer, span));
            libm::log1p(-libm::pow(set, f64::from(first.hashes())))
        });
        Some(-libm::expm1(right.sum()))
    }

    fn described(description: &Description) -> Result<(Spans, Digester)> {
        let usage = match description.kind {
            Kind::ShiftingAssociation => &super::association::USAGE,
            _ => &super::multiplicity::USAGE,
        };
        let digester = description.digester()?;
        usage.check_span(description.detail)?;
        let Description { bits, hashes, .. } = *description;
        let windows = Windows::within(bits, hashes, description.detail)?;
        Ok((usage.spans(windows)?, digester))
    }
}

impl<B: Bits> Fixed<B, Spans> {
    #[inline]
    pub(super) fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.hashing.digest(key.key_bytes().as_ref())
    }

    /// The ones that all windows of the key have in common, among those of `mask`.
    #[inline(always)]
    pub(super) fn common(&self, digest: Digest, mask: u64) -> u64 {
        self.shape.windows.common(&self.bits, digest, mask)
    }

    /// The windows of a key, in which a one of `mask` is needed.
    pub(super) fn places(&self, digest: Digest, mask: u64) -> Places {
        let windows = self.shape.windows;
        let positions = digest.probe(windows.first());
        Places::windows(&self.bits, windows.span(), positions, Needed::Common(mask))
    }

    /// Digests each key, in order, prefetching the windows of several.
    pub(super) fn digest_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut take: impl FnMut(Digest),
    ) {
        roll(
            keys,
            &self.hashing,
            &mut take,
            |_, digest| self.shape.windows.prefetch(&self.bits, digest),
            |take, digest| take(digest),
        );
    }

    /// Returns what the filter holds now; the rate is that at which an absent key gets any answer. Counts every bit.
    pub(super) fn window_stats(&self) -> Stats {
        let ones = self.bits.count_ones();
        let shape = self.shape.windows.first();
        // Ones may lie past the last position, so there may be more of them than positions.
        let wrong = shape.rate_with(ones.min(shape.bits()));
        self.stats(ones, shape.keys_at(ones), self.shape.any_of(wrong))
    }
}

impl<B: BitsMut> Fixed<B, Spans> {
    /// Sets the ones of `mask` in every window of the key.
    #[inline(always)]
    pub(super) fn set(&mut self, digest: Digest, mask: u64) {
        self.shape.windows.set(&mut self.bits, digest, mask);
    }
}
