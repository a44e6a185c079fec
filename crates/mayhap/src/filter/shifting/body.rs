//! Bits in windows, and the hash that leads to them: what the two kinds share whose distances are
//! answers.

use alloc::vec::Vec;

use super::{WIDEST, Windows};
use crate::bits::{Bits, BitsMut};
use crate::filter::roll::roll;
use crate::filter::{Description, Kind, Promise, Stats};
use crate::hash::{Digest, Digester};
use crate::{Error, Key, Result, Shape};

/// What windows are to a kind.
pub(super) struct Usage {
    pub(super) kind: Kind,
    /// What it calls the bits of a window.
    pub(super) span: &'static str,
    /// The fewest of them that it can do with.
    pub(super) least: u32,
    /// From the fewest to [`WIDEST`], in words.
    pub(super) expected: &'static str,
    /// The answers that the widest window can give: as many standard filters share the bits.
    pub(super) answers: u32,
}

impl Usage {
    /// The description of a filter whose strangers get any answer at most at `rate`.
    pub(super) fn plan(&self, keys: u64, rate: f64) -> Result<Description> {
        let promise = Promise::new(keys, rate)?;
        let shape = promise.size(|keys, rate| {
            // The rate of one answer, so that a stranger gets none of them at the rate asked for.
            let one = -libm::expm1(libm::log1p(-rate) / f64::from(self.answers));
            Shape::for_capacity(keys, one)
        })?;
        let mut description = self.describe(shape, WIDEST, Digester::default())?;
        description.promise = Some(promise);
        Ok(description)
    }

    /// The description of a filter with windows of `span` bits at the positions of `first`.
    pub(super) fn describe(
        &self,
        first: Shape,
        span: u32,
        digester: Digester,
    ) -> Result<Description> {
        self.check_span(span)?;
        Ok(describe(
            self.kind,
            Windows::new(first, span)?,
            digester,
            None,
        ))
    }

    /// The windows and the digester that a description tells.
    pub(super) fn described(&self, description: &Description) -> Result<(Windows, Digester)> {
        description.check_promise()?;
        let digester = description.digester()?;
        self.check_span(description.detail)?;
        let Description { bits, hashes, .. } = *description;
        Ok((Windows::within(bits, hashes, description.detail)?, digester))
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

fn describe(
    kind: Kind,
    windows: Windows,
    digester: Digester,
    promise: Option<Promise>,
) -> Description {
    Description {
        kind,
        hashing: digester.into(),
        bits: windows.bits(),
        hashes: windows.first().hashes(),
        detail: windows.span(),
        promise,
    }
}

/// A filter without what its distances mean.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Body<B> {
    pub(super) bits: B,
    pub(super) windows: Windows,
    pub(super) digester: Digester,
    promise: Option<Promise>,
}

impl<B: Bits> Body<B> {
    /// As [`Assemble::assemble`](crate::Assemble::assemble) has it.
    pub(super) fn assemble(
        usage: &Usage,
        description: &Description,
        parts: Vec<B>,
    ) -> Result<Body<B>> {
        let bits = description.only_part(parts)?;
        let (windows, digester) = usage.described(description)?;
        windows.check_bits(&bits)?;
        Ok(Body {
            bits,
            windows,
            digester,
            promise: description.promise,
        })
    }

    pub(super) fn description(&self, usage: &Usage) -> Description {
        describe(
            usage.kind,
            self.windows,
            self.digester.clone(),
            self.promise,
        )
    }

    #[inline]
    pub(super) fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.digester.digest(key.key_bytes().as_ref())
    }

    /// The ones that all windows of the key have in common, among those of `mask`.
    #[inline(always)]
    pub(super) fn common(&self, digest: Digest, mask: u64) -> u64 {
        self.windows.common(&self.bits, digest, mask)
    }

    /// Digests each key, in order, with the windows of several keys on their way at a time.
    pub(super) fn digest_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut take: impl FnMut(Digest),
    ) {
        roll(
            keys,
            &self.digester,
            &mut take,
            |_, digest| self.windows.prefetch(&self.bits, digest),
            |take, digest| take(digest),
        );
    }

    /// What the filter holds now, when its windows can give so many answers; the rate is that at
    /// which a stranger gets any. Counts every bit.
    pub(super) fn stats(&self, answers: u32) -> Stats {
        let ones = self.bits.count_ones();
        let shape = self.windows.first();
        // Ones may lie past the last position, so there may be more of them than positions.
        let wrong = shape.rate_with(ones.min(shape.bits()));
        Stats {
            bits: self.windows.bits(),
            ones,
            keys: shape.keys_at(ones),
            rate: -libm::expm1(f64::from(answers) * libm::log1p(-wrong)),
            promise: self.promise,
        }
    }
}

impl<B: BitsMut> Body<B> {
    /// Sets the ones of `mask` in every window of the key.
    #[inline(always)]
    pub(super) fn set(&mut self, digest: Digest, mask: u64) {
        self.windows.set(&mut self.bits, digest, mask);
    }
}
