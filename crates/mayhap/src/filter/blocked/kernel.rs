//! What is done with the line of a key: each [`Action`] is written once, for all instructions, in safe code.
#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::super::kernel::Avx512;
use super::super::kernel::{self, Chosen, Plain};
use super::pattern::{Pattern, Spread, Windows, bit};
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::{avx2, avx512};
use crate::bits::{AtomicLines, Bits, BitsMut, LockedLine, SharedLine};

/// The operations on one line of eight lanes, by one kind of instructions.
pub(super) trait Lanes: Copy {
    /// The bits of the pattern, lane by lane.
    fn mask(self, pattern: Pattern) -> [u64; 8];

    /// Whether the line has every bit of the pattern.
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool;

    /// Adds the bits of the pattern to the line; true when any was missing.
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool;

    /// Whether a line that other threads may be changing has every bit of the pattern.
    fn covers_shared(self, line: &SharedLine, pattern: Pattern) -> bool;

    /// Adds the bits of the pattern to a line that other threads may be reading; true when any was missing.
    fn merge_shared(self, line: &LockedLine<'_>, pattern: Pattern) -> bool;

    /// Whether the line at `index` has every bit of the pattern, wherever it is stored.
    #[inline(always)]
    fn finds(self, bits: &impl Bits, index: u64, pattern: Pattern) -> bool {
        match bits.shared_line(index) {
            Some(line) => self.covers_shared(line, pattern),
            None => bits.with_line_inside(index, |line| self.covers(line, pattern)),
        }
    }
}

/// What is done with the line of a key.
pub(super) trait Action {
    /// Hints that the line will soon be needed.
    fn prefetch(&self, line: u64);

    /// Does it, and returns what the caller of the filter wants to know.
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool;
}

/// Tests whether the bits of the key are all there.
pub(super) struct Look<'a, B>(pub(super) &'a B);

impl<B: Bits> Action for Look<'_, B> {
    #[inline(always)]
    fn prefetch(&self, line: u64) {
        self.0.prefetch_line(line);
    }

    #[inline(always)]
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool {
        lanes.finds(self.0, line, pattern)
    }
}

/// Adds the bits of the key; true when any was missing.
pub(super) struct Put<'a, B>(pub(super) &'a mut B);

impl<B: BitsMut> Action for Put<'_, B> {
    #[inline(always)]
    fn prefetch(&self, line: u64) {
        self.0.prefetch_line(line);
    }

    #[inline(always)]
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool {
        lanes.merge(self.0.line_mut(line), pattern)
    }
}

/// Adds the bits of the key to shared memory; true for exactly one of all threads that add them, and only when some bit
/// was missing.
///
/// A key whose bits are all there was inserted before, or never can be: no lock is needed to say so. Otherwise those that
/// add to one line take turns, the first sets the missing bits and the others find them.
pub(super) struct Share<'a>(pub(super) &'a AtomicLines);

impl Action for Share<'_> {
    #[inline(always)]
    fn prefetch(&self, line: u64) {
        self.0.prefetch_line(line);
    }

    #[inline(always)]
    fn act(&mut self, lanes: impl Lanes, line: u64, pattern: Pattern) -> bool {
        let Share(bits) = *self;
        let stripe = bits.stripe(line);
        !lanes.finds(bits, line, pattern)
            && lanes.merge_shared(&bits.lock(stripe).line(line), pattern)
    }
}

impl Lanes for Plain {
    #[inline(always)]
    fn mask(self, pattern: Pattern) -> [u64; 8] {
        pattern.mask()
    }

    #[inline(always)]
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool {
        kernel::covers(line, &pattern.mask())
    }

    #[inline(always)]
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        if pattern.spread.rounds > 0 {
            return kernel::merge(line, &pattern.mask());
        }
        // Lane by lane: a mask that is stored and loaded again in wider pieces waits for all that came before it. Inserts
        // of 100 M keys took 147 ns each that way (November 2026, AMD EPYC).
        let mut missing = 0;
        for (lane, word) in line.iter_mut().enumerate() {
            let mask = bit(pattern.window(), pattern.word, lane);
            missing |= mask & !*word;
            *word |= mask;
        }
        missing != 0
    }

    #[inline(always)]
    fn covers_shared(self, line: &SharedLine, pattern: Pattern) -> bool {
        self.covers(&line.load(), pattern)
    }

    #[inline(always)]
    fn merge_shared(self, line: &LockedLine<'_>, pattern: Pattern) -> bool {
        line.merge(0, &pattern.mask())
    }
}

/// The operations for one key, as calls into the instructions of a filter and for its number of full rounds: then
/// nothing is left to choose in them, and all they need is passed in registers. Where lines are not in a cache, the core
/// runs ahead to as many lookups as it has room for their instructions, so each counts: with a choice of instructions and
/// of rounds for each key, a lookup of 100 M keys took 31 ns and not 24 (November 2026, AMD EPYC). Most filters have no
/// full rounds; with AVX-512 not even a call is needed for those.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calls {
    windows: &'static Windows,
    /// Where no call is needed: there are no full rounds, and the CPU has AVX-512.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    here: Option<Avx512>,
    covers: unsafe fn(&[u64; 8], u64, &'static Windows) -> bool,
    covers_shared: unsafe fn(&SharedLine, u64, &'static Windows) -> bool,
    merge: unsafe fn(&mut [u64; 8], u64, &'static Windows) -> bool,
}

impl Calls {
    /// The calls of a kernel, for patterns of this spread.
    pub(super) fn new(kernel: Chosen, spread: Spread) -> Calls {
        let windows = spread.windows;
        match spread.rounds {
            0 => Calls::of::<0>(kernel, windows),
            1 => Calls::of::<1>(kernel, windows),
            2 => Calls::of::<2>(kernel, windows),
            3 => Calls::of::<3>(kernel, windows),
            4 => Calls::of::<4>(kernel, windows),
            5 => Calls::of::<5>(kernel, windows),
            6 => Calls::of::<6>(kernel, windows),
            7 => Calls::of::<7>(kernel, windows),
            8 => Calls::of::<8>(kernel, windows),
            more => unreachable!("{more} rounds are more than 64 hashes"),
        }
    }

    fn of<const ROUNDS: u32>(kernel: Chosen, windows: &'static Windows) -> Calls {
        match kernel {
            Chosen::Plain(_) => Calls {
                windows,
                #[cfg(all(target_arch = "x86_64", feature = "std"))]
                here: None,
                covers: covers_one::<ROUNDS>,
                covers_shared: covers_shared_one::<ROUNDS>,
                merge: merge_one::<ROUNDS>,
            },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(_) => Calls {
                windows,
                here: None,
                covers: avx2::covers_one::<ROUNDS>,
                covers_shared: avx2::covers_shared_one::<ROUNDS>,
                merge: avx2::merge_one::<ROUNDS>,
            },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(has) => Calls {
                windows,
                here: (ROUNDS == 0).then_some(has),
                covers: avx512::covers_one::<ROUNDS>,
                covers_shared: avx512::covers_shared_one::<ROUNDS>,
                merge: avx512::merge_one::<ROUNDS>,
            },
        }
    }

    /// Whether the line has every bit of the pattern that starts with this word.
    #[inline(always)]
    pub(super) fn covers(self, line: &[u64; 8], word: u64) -> bool {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let Some(has) = self.here {
            return avx512::covers_here(has, line, Pattern::with_rounds::<0>(word, self.windows));
        }
        // SAFETY: `of` takes the function from the kernel it is given, whose value shows that the CPU has its
        // instructions; it needs nothing else.
        unsafe { (self.covers)(line, word, self.windows) }
    }

    /// As [`covers`](Calls::covers), of a line that other threads may be changing.
    #[inline(always)]
    pub(super) fn covers_shared(self, line: &SharedLine, word: u64) -> bool {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let Some(has) = self.here {
            return avx512::covers_shared_here(
                has,
                line,
                Pattern::with_rounds::<0>(word, self.windows),
            );
        }
        // SAFETY: as for `covers`.
        unsafe { (self.covers_shared)(line, word, self.windows) }
    }

    /// Adds the bits of the pattern that starts with this word to the line; true when any was missing.
    #[inline(always)]
    pub(super) fn merge(self, line: &mut [u64; 8], word: u64) -> bool {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let Some(has) = self.here {
            return avx512::merge_here(has, line, Pattern::with_rounds::<0>(word, self.windows));
        }
        // SAFETY: as for `covers`.
        unsafe { (self.merge)(line, word, self.windows) }
    }
}

fn covers_one<const ROUNDS: u32>(line: &[u64; 8], word: u64, windows: &'static Windows) -> bool {
    Plain.covers(line, Pattern::with_rounds::<ROUNDS>(word, windows))
}

fn covers_shared_one<const ROUNDS: u32>(
    line: &SharedLine,
    word: u64,
    windows: &'static Windows,
) -> bool {
    Plain.covers_shared(line, Pattern::with_rounds::<ROUNDS>(word, windows))
}

fn merge_one<const ROUNDS: u32>(line: &mut [u64; 8], word: u64, windows: &'static Windows) -> bool {
    Plain.merge(line, Pattern::with_rounds::<ROUNDS>(word, windows))
}

// For one key where there is no call for it.
impl Lanes for Chosen {
    #[inline(always)]
    fn mask(self, pattern: Pattern) -> [u64; 8] {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => avx512.mask(pattern),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(avx2) => avx2.mask(pattern),
            Chosen::Plain(plain) => plain.mask(pattern),
        }
    }

    #[inline(always)]
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => avx512.covers(line, pattern),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(avx2) => avx2.covers(line, pattern),
            Chosen::Plain(plain) => plain.covers(line, pattern),
        }
    }

    #[inline(always)]
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => avx512.merge(line, pattern),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(avx2) => avx2.merge(line, pattern),
            Chosen::Plain(plain) => plain.merge(line, pattern),
        }
    }
    #[inline(always)]
    fn covers_shared(self, line: &SharedLine, pattern: Pattern) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => avx512.covers_shared(line, pattern),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(avx2) => avx2.covers_shared(line, pattern),
            Chosen::Plain(plain) => plain.covers_shared(line, pattern),
        }
    }

    #[inline(always)]
    fn merge_shared(self, line: &LockedLine<'_>, pattern: Pattern) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => avx512.merge_shared(line, pattern),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(avx2) => avx2.merge_shared(line, pattern),
            Chosen::Plain(plain) => plain.merge_shared(line, pattern),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::kernel::Task;
    use super::super::BlockedShape;
    use super::*;
    use crate::bits::Bitmap;
    use crate::hash::Digester;
    use crate::{Filter as _, Insert as _};

    /// One by one and in batches, for random shapes and hashes. `MAYHAP_TORTURE` multiplies the rounds and
    /// `MAYHAP_SEED` draws others, as in `tests/kinds/torture.rs`.
    #[test]
    fn keys_that_one_kernel_inserts_are_found_by_all() {
        let number = |name| match std::env::var(name) {
            Ok(text) => text.parse().expect("a number"),
            Err(_) => 0,
        };
        let (seed, rounds) = (number("MAYHAP_SEED"), 50 * number("MAYHAP_TORTURE").max(1));
        let mut asked = 0_u64;
        for round in 0..rounds {
            let drawn = |stream| {
                crate::hash::Digest {
                    lo: seed,
                    hi: round,
                }
                .remix(stream)
                .hi
            };
            let hashes = 1 + (drawn(1) >> (drawn(2) % 4)) % 64;
            let shape = BlockedShape::new(1 + drawn(0) % 2048, hashes as u32).expect("valid");
            let digester = Digester::Rapidhash { seed: drawn(3) };
            let kernels = Chosen::all();
            let keys = || (drawn(4) >> 1..).take(20_000);
            for &inserting in &kernels {
                let mut filter =
                    super::super::Blocked::new(shape, digester.clone()).expect("small");
                filter = filter.limited_to(inserting.kernel());
                for key in keys().take(5000) {
                    filter.insert(&key);
                }
                filter.insert_all(keys().skip(5000));
                for &asking in &kernels {
                    filter = filter.limited_to(asking.kernel());
                    let what = || std::format!("round {round}: {inserting:?} and {asking:?}");
                    assert!(keys().all(|key| filter.contains(&key)), "{}", what());
                    assert!(filter.contains_all(keys()), "{}", what());
                    asked += 40_000;
                }
            }
        }
        std::println!("{asked} lookups of inserted keys, 0 missed");
    }

    /// Everything a kernel does with one line and one pattern.
    struct Everything([u64; 8], Pattern);

    impl Everything {
        #[inline(always)]
        fn by(self, lanes: impl Lanes) -> ([u64; 8], bool, bool, [u64; 8]) {
            let Everything(mut line, pattern) = self;
            let mask = lanes.mask(pattern);
            let covered = lanes.covers(&line, pattern);
            let shared = AtomicLines::from(Bitmap::from_words(&line).expect("small"));
            let covered_shared = lanes.finds(&shared, 0, pattern);
            let missing_shared = lanes.merge_shared(&shared.lock(0).line(0), pattern);
            let missing = lanes.merge(&mut line, pattern);
            assert_eq!((covered_shared, missing_shared), (covered, missing));
            assert_eq!(shared.line(0), line);
            (mask, covered, missing, line)
        }
    }

    impl<S: Lanes> Task<S> for Everything {
        type Output = ([u64; 8], bool, bool, [u64; 8]);

        #[inline(always)]
        fn run(self, simd: S) -> Self::Output {
            self.by(simd)
        }
    }

    #[test]
    fn every_kernel_does_what_plain_arithmetic_does() {
        let mut word = 1;
        let mut compared = 0;
        for hashes in 1..=64 {
            for round in 0..if cfg!(miri) { 1 } else { 500_u64 } {
                word = super::super::pattern::next_word(word);
                let spread = Spread::new(hashes);
                let pattern = Pattern { word, spread };
                // Empty, full, just covering, all but one bit, and random lines.
                let mask = pattern.mask();
                let mut lacking = mask;
                let lane = (0..8).find(|lane| mask[(lane + round as usize) % 8] != 0);
                let lane = (lane.expect("a key sets a bit") + round as usize) % 8;
                lacking[lane] &= lacking[lane] - 1;
                let random = core::array::from_fn(|lane| {
                    super::super::pattern::next_word(word + lane as u64)
                });
                for line in [[0; 8], [u64::MAX; 8], mask, lacking, random] {
                    let expected = Everything(line, pattern).by(Plain);
                    assert_eq!(expected.0, mask);
                    assert_eq!(expected.1, !expected.2);
                    for kernel in Chosen::all() {
                        let got = kernel.run(Everything(line, pattern));
                        assert_eq!(got, expected, "{kernel:?} {pattern:?} {line:?}");
                        let one = Everything(line, pattern).by(kernel);
                        assert_eq!(one, expected, "{kernel:?} {pattern:?} {line:?}");
                        let (calls, mut merged) = (Calls::new(kernel, spread), line);
                        let covered = calls.covers(&line, word);
                        let shared = AtomicLines::from(Bitmap::from_words(&line).expect("small"));
                        let shared = shared.shared_line(0).expect("it is shared");
                        assert_eq!(calls.covers_shared(shared, word), covered);
                        let missing = calls.merge(&mut merged, word);
                        let called = (mask, covered, missing, merged);
                        assert_eq!(called, expected, "{kernel:?} {pattern:?} {line:?}");
                        compared += 1;
                    }
                }
                assert!(Plain.covers(&mask, pattern) && !Plain.covers(&lacking, pattern));
            }
        }
        std::println!("{compared} comparisons over {:?}", Chosen::all());
    }
}
