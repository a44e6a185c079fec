//! The algorithms of a blocked filter over many keys, each written once for every kernel and
//! storage.

use super::super::roll::roll;
use super::finder::{Places, Settled, Source};
use super::lanes::{Lanes, Task};
use super::pattern::Pattern;
use super::{AtomicBlocked, Blocked};
use crate::bits::{AtomicBitmap, Bits, BitsMut};
use crate::hash::Hash;

/// Answers for each key, in order, whether its bits are all there.
pub(super) struct ContainsEach<'a, B, I, A> {
    pub(super) filter: &'a Blocked<B>,
    pub(super) keys: I,
    pub(super) answer: A,
}

impl<B, I, A> Task for ContainsEach<'_, B, I, A>
where
    B: Bits,
    I: IntoIterator<Item: Source>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes, hash: impl Hash) {
        let places = self.filter.finder.places();
        roll(
            self.keys,
            &Settled { places, hash },
            &mut (&self.filter.bits, self.answer),
            |(bits, _), (line, _)| bits.prefetch_line(line),
            |(bits, answer), (line, word)| {
                let covers = |line: &[u64; 8]| lanes.covers(line, places.pattern(word));
                answer(bits.with_line(line, covers));
            },
        );
    }
}

/// Adds the bits of each key, in order, and answers whether any was missing.
pub(super) struct InsertEach<'a, B, I, A> {
    pub(super) places: Places,
    pub(super) bits: &'a mut B,
    pub(super) keys: I,
    pub(super) answer: A,
}

impl<B, I, A> Task for InsertEach<'_, B, I, A>
where
    B: BitsMut,
    I: IntoIterator<Item: Source>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes, hash: impl Hash) {
        let places = self.places;
        roll(
            self.keys,
            &Settled { places, hash },
            &mut (self.bits, self.answer),
            |(bits, _), (line, _)| bits.prefetch_line(line),
            |(bits, answer), (line, word)| {
                answer(lanes.merge(bits.line_mut(line), places.pattern(word)));
            },
        );
    }
}

/// How a key gets into shared memory.
pub(super) trait Entry {
    /// Adds the bits of the pattern to the line; what to tell the caller.
    fn enter(lanes: impl Lanes, bits: &AtomicBitmap, line: u64, pattern: Pattern) -> bool;
}

/// Word by word; true when this call set any bit.
pub(super) struct Insertion;

impl Entry for Insertion {
    #[inline(always)]
    fn enter(lanes: impl Lanes, bits: &AtomicBitmap, line: u64, pattern: Pattern) -> bool {
        bits.set_line(line, &lanes.mask(pattern))
    }
}

/// In one step among all claims of the key; true for exactly one of them, and only when some bit
/// was missing.
///
/// A key whose bits are all there was claimed before, or never can be: no lock is needed to say so.
/// Otherwise the claims of one key take turns, the first sets the missing bits and the others find
/// them. Claims of other keys, and inserts, only ever add bits.
pub(super) struct Claim;

impl Entry for Claim {
    #[inline(always)]
    fn enter(lanes: impl Lanes, bits: &AtomicBitmap, line: u64, pattern: Pattern) -> bool {
        if lanes.covers(&bits.line(line), pattern) {
            return false;
        }
        bits.exclusive(line, || bits.set_line(line, &lanes.mask(pattern)))
    }
}

/// Enters a key into a shared filter.
pub(super) struct Share<'a, S: ?Sized, E> {
    pub(super) filter: &'a AtomicBlocked,
    pub(super) key: &'a S,
    pub(super) entry: core::marker::PhantomData<E>,
}

impl<S: Source + ?Sized, E: Entry> Task for Share<'_, S, E> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: impl Lanes, _: impl Hash) -> bool {
        let (line, pattern) = self.filter.finder.place(self.key);
        E::enter(lanes, &self.filter.bits, line, pattern)
    }
}

/// Enters each key, in order, into a shared filter.
pub(super) struct ShareEach<'a, I, A, E> {
    pub(super) filter: &'a AtomicBlocked,
    pub(super) keys: I,
    pub(super) answer: A,
    pub(super) entry: core::marker::PhantomData<E>,
}

impl<I, A, E> Task for ShareEach<'_, I, A, E>
where
    I: IntoIterator<Item: Source>,
    A: FnMut(bool),
    E: Entry,
{
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: impl Lanes, hash: impl Hash) {
        let places = self.filter.finder.places();
        roll(
            self.keys,
            &Settled { places, hash },
            &mut (&self.filter.bits, self.answer),
            |(bits, _), (line, _)| bits.prefetch_line(line),
            |(bits, answer), (line, word)| {
                answer(E::enter(lanes, bits, line, places.pattern(word)));
            },
        );
    }
}
