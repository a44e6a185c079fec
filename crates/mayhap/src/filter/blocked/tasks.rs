//! The algorithms of a blocked filter, each written once for every kernel and storage.

use super::lanes::{Lanes, Task};
use super::pattern::Pattern;
use super::roll::roll;
use super::shape::BlockedShape;
use crate::bits::{AtomicBitmap, Bits, BitsMut};
use crate::hash::Digest;

/// Whether a line has every bit of a key.
pub(super) struct Contains<'a, B> {
    pub(super) bits: &'a B,
    pub(super) line: u64,
    pub(super) pattern: Pattern,
}

impl<B: Bits> Task for Contains<'_, B> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: impl Lanes) -> bool {
        lanes.covers(self.bits.line(self.line), self.pattern)
    }
}

/// Adds the bits of a key; true when any was missing.
pub(super) struct Insert<'a, B> {
    pub(super) bits: &'a mut B,
    pub(super) line: u64,
    pub(super) pattern: Pattern,
}

impl<B: BitsMut> Task for Insert<'_, B> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: impl Lanes) -> bool {
        lanes.merge(self.bits.line_mut(self.line), self.pattern)
    }
}

/// Answers for each digest, in order, whether its bits are there.
pub(super) struct ContainsEach<'a, B, D, A> {
    pub(super) bits: &'a B,
    pub(super) shape: BlockedShape,
    pub(super) digests: D,
    pub(super) answer: A,
}

impl<B, D, A> Task for ContainsEach<'_, B, D, A>
where
    B: Bits,
    D: IntoIterator<Item = Digest>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes) {
        roll(
            self.shape,
            self.digests,
            &mut (self.bits, self.answer),
            |(bits, _), line| bits.prefetch(line * 512),
            |(bits, answer), line, pattern| answer(lanes.covers(bits.line(line), pattern)),
        );
    }
}

/// Adds the bits of each digest, in order, and answers whether any was missing.
pub(super) struct InsertEach<'a, B, D, A> {
    pub(super) bits: &'a mut B,
    pub(super) shape: BlockedShape,
    pub(super) digests: D,
    pub(super) answer: A,
}

impl<B, D, A> Task for InsertEach<'_, B, D, A>
where
    B: BitsMut,
    D: IntoIterator<Item = Digest>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes) {
        roll(
            self.shape,
            self.digests,
            &mut (self.bits, self.answer),
            |(bits, _), line| bits.prefetch(line * 512),
            |(bits, answer), line, pattern| answer(lanes.merge(bits.line_mut(line), pattern)),
        );
    }
}

/// Adds the bits of a key to shared memory; true when this call set any.
pub(super) struct Share<'a> {
    pub(super) bits: &'a AtomicBitmap,
    pub(super) line: u64,
    pub(super) pattern: Pattern,
}

impl Task for Share<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: impl Lanes) -> bool {
        self.bits.set_line(self.line, &lanes.mask(self.pattern))
    }
}

/// Adds the bits of each digest to shared memory and answers whether this call set any.
pub(super) struct ShareEach<'a, D, A> {
    pub(super) bits: &'a AtomicBitmap,
    pub(super) shape: BlockedShape,
    pub(super) digests: D,
    pub(super) answer: A,
}

impl<D, A> Task for ShareEach<'_, D, A>
where
    D: IntoIterator<Item = Digest>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes) {
        roll(
            self.shape,
            self.digests,
            &mut (self.bits, self.answer),
            |(bits, _), line| bits.prefetch(line * 512),
            |(bits, answer), line, pattern| answer(bits.set_line(line, &lanes.mask(pattern))),
        );
    }
}

/// Adds the bits of a key to shared memory in one step among all claims of that key; true for
/// exactly one of them, and only when some bit was missing.
pub(super) struct Claim<'a> {
    pub(super) bits: &'a AtomicBitmap,
    pub(super) line: u64,
    pub(super) pattern: Pattern,
}

impl Task for Claim<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: impl Lanes) -> bool {
        claim(lanes, self.bits, self.line, self.pattern)
    }
}

/// Claims each digest, in order.
pub(super) struct ClaimEach<'a, D, A> {
    pub(super) bits: &'a AtomicBitmap,
    pub(super) shape: BlockedShape,
    pub(super) digests: D,
    pub(super) answer: A,
}

impl<D, A> Task for ClaimEach<'_, D, A>
where
    D: IntoIterator<Item = Digest>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes) {
        roll(
            self.shape,
            self.digests,
            &mut (self.bits, self.answer),
            |(bits, _), line| bits.prefetch(line * 512),
            |(bits, answer), line, pattern| answer(claim(lanes, bits, line, pattern)),
        );
    }
}

/// A key whose bits are all there was claimed before, or never can be: no lock is needed to say so.
/// Otherwise the claims of one key take turns, the first sets the missing bits and the others find
/// them. Claims of other keys, and inserts, only ever add bits.
#[inline(always)]
fn claim(lanes: impl Lanes, bits: &AtomicBitmap, line: u64, pattern: Pattern) -> bool {
    if lanes.covers(bits.line(line), pattern) {
        return false;
    }
    bits.exclusive(line, || bits.set_line(line, &lanes.mask(pattern)))
}
