//! The operations on the line of a key, for one key and for many.

use super::super::each::{self, Action, Each, Lanes};
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::super::kernel::Avx512;
use super::super::kernel::{self, Call, Chosen, HashedTask, Operands, Operation, Plain, Task};
use super::super::roll::Find;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::avx512;
use super::pattern::{Locator, Pattern, Spread, Windows, bit};
use crate::Key;
use crate::bits::{AtomicLines, Bits, BitsMut, LockedLine, SharedLine};
use crate::hash::{Digest, Hash};

/// The operations on one line of eight lanes, by one kind of instructions.
pub(super) trait Lines: Copy {
    /// The bits of the pattern, lane by lane.
    fn mask(self, pattern: Pattern) -> [u64; 8];

    /// Returns whether the line has every bit of the pattern.
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool;

    /// Adds the bits of the pattern to the line; true when any was missing.
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool;

    /// Returns whether a line that other threads may be changing has every bit of the pattern.
    fn covers_shared(self, line: &SharedLine, pattern: Pattern) -> bool;

    /// Adds the bits of the pattern to a line that other threads may be reading; true when any was missing.
    fn merge_shared(self, line: &LockedLine<'_>, pattern: Pattern) -> bool;
}

impl<S: Lines> Lanes<Pattern> for S {
    #[inline(always)]
    fn finds(self, bits: &impl Bits, index: u64, pattern: Pattern) -> bool {
        match bits.shared_line(index) {
            Some(line) => self.covers_shared(line, pattern),
            None => bits.with_line_inside(index, |line| self.covers(line, pattern)),
        }
    }

    #[inline(always)]
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        Lines::merge(self, line, pattern)
    }
}

impl each::Pattern for Pattern {
    type Words = [u64; 8];

    #[inline(always)]
    fn line(index: u64) -> u64 {
        index
    }

    #[inline(always)]
    fn words_mut(bits: &mut impl BitsMut, index: u64) -> &mut [u64; 8] {
        bits.line_mut(index)
    }
}

/// Adds the bits of the key to shared memory; true for exactly one of all threads that add them, and only when some bit
/// was missing.
///
/// A key whose bits are all there was inserted before, or never can be: no lock is needed to say so. Otherwise those that
/// add to one line take turns, the first sets the missing bits and the others find them.
pub(super) struct Share<'a>(pub(super) &'a AtomicLines);

impl<S: Lines> Action<S, Pattern> for Share<'_> {
    #[inline(always)]
    fn prefetch(&self, line: u64) {
        self.0.prefetch_line(line);
    }

    #[inline(always)]
    fn act(&mut self, lines: S, index: u64, pattern: Pattern) -> bool {
        let Share(bits) = *self;
        let stripe = bits.stripe(index);
        !lines.finds(bits, index, pattern)
            && lines.merge_shared(&bits.lock(stripe).line(index), pattern)
    }
}

impl Lines for Plain {
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
#[derive(Clone, Copy)]
pub(super) struct Calls {
    windows: &'static Windows,
    /// Where no call is needed: there are no full rounds, and the CPU has AVX-512.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    here: Option<Avx512>,
    covers: Call<Covers>,
    covers_shared: Call<CoversShared>,
    merge: Call<Merges>,
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
        Calls {
            windows,
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            here: match kernel {
                Chosen::Avx512(has) if ROUNDS == 0 => Some(has),
                _ => None,
            },
            covers: kernel.call::<_, Rounds<ROUNDS>>(),
            covers_shared: kernel.call::<_, Rounds<ROUNDS>>(),
            merge: kernel.call::<_, Rounds<ROUNDS>>(),
        }
    }

    /// Returns whether the line has every bit of the pattern that starts with this word.
    #[inline(always)]
    pub(super) fn covers(self, line: &[u64; 8], word: u64) -> bool {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let Some(has) = self.here {
            return avx512::covers_here(has, line, Pattern::with_rounds::<0>(word, self.windows));
        }
        self.covers.run(line, word, self.windows)
    }

    /// As [`covers`](Calls::covers), of a line that other threads may be changing.
    #[inline(always)]
    pub(super) fn covers_shared(self, line: &SharedLine, word: u64) -> bool {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let Some(has) = self.here {
            let pattern = Pattern::with_rounds::<0>(word, self.windows);
            return avx512::covers_shared_here(has, line, pattern);
        }
        self.covers_shared.run(line, word, self.windows)
    }

    /// Adds the bits of the pattern that starts with this word to the line; true when any was missing.
    #[inline(always)]
    pub(super) fn merge(self, line: &mut [u64; 8], word: u64) -> bool {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        if let Some(has) = self.here {
            return avx512::merge_here(has, line, Pattern::with_rounds::<0>(word, self.windows));
        }
        self.merge.run(line, word, self.windows)
    }
}

/// [`Lines::covers`] of one line.
struct Covers;

/// [`Lines::covers_shared`] of one line.
struct CoversShared;

/// [`Lines::merge`] of one line.
struct Merges;

impl Operands for Covers {
    type Words<'a> = &'a [u64; 8];
    type Table = &'static Windows;
}

impl Operands for CoversShared {
    type Words<'a> = &'a SharedLine;
    type Table = &'static Windows;
}

impl Operands for Merges {
    type Words<'a> = &'a mut [u64; 8];
    type Table = &'static Windows;
}

/// The operations for patterns whose number of full rounds the compiler knows.
struct Rounds<const ROUNDS: u32>;

impl<S: Lines, const ROUNDS: u32> Operation<Covers, S> for Rounds<ROUNDS> {
    #[inline(always)]
    fn run(lines: S, line: &[u64; 8], word: u64, windows: &'static Windows) -> bool {
        lines.covers(line, Pattern::with_rounds::<ROUNDS>(word, windows))
    }
}

impl<S: Lines, const ROUNDS: u32> Operation<CoversShared, S> for Rounds<ROUNDS> {
    #[inline(always)]
    fn run(lines: S, line: &SharedLine, word: u64, windows: &'static Windows) -> bool {
        lines.covers_shared(line, Pattern::with_rounds::<ROUNDS>(word, windows))
    }
}

impl<S: Lines, const ROUNDS: u32> Operation<Merges, S> for Rounds<ROUNDS> {
    #[inline(always)]
    fn run(lines: S, line: &mut [u64; 8], word: u64, windows: &'static Windows) -> bool {
        Lines::merge(lines, line, Pattern::with_rounds::<ROUNDS>(word, windows))
    }
}

/// Adds the bits of one key to a line that other threads may be reading.
pub(super) struct MergeShared<'a>(pub(super) LockedLine<'a>, pub(super) Pattern);

impl<S: Lines> Task<S> for MergeShared<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lines: S) -> bool {
        lines.merge_shared(&self.0, self.1)
    }
}

impl<S, A, I, R> HashedTask<S> for Each<A, Locator, I, R>
where
    S: Lines,
    A: Action<S, Pattern>,
    I: IntoIterator<Item: ToDigest>,
    R: FnMut(bool),
{
    #[inline(always)]
    fn run(self, lines: S, hash: impl Hash) {
        let locator = self.locator;
        if locator.has_rounds() {
            let hashed = Hashed { locator, hash };
            return self.by(lines, &hashed, |word| hashed.locator.pattern(word));
        }
        let locator = locator.without_rounds();
        let hashed = Hashed { locator, hash };
        self.by(lines, &hashed, |word| hashed.locator.pattern(word));
    }
}

/// A key, which is hashed here, or a digest that a caller made.
pub(super) trait ToDigest {
    /// The digest of the key.
    fn digest(&self, hash: impl Hash) -> Digest;
}

impl<K: Key + ?Sized> ToDigest for K {
    #[inline(always)]
    fn digest(&self, hash: impl Hash) -> Digest {
        hash.digest(self.key_bytes().as_ref())
    }
}

impl ToDigest for Digest {
    #[inline(always)]
    fn digest(&self, _: impl Hash) -> Digest {
        *self
    }
}

/// From a key to its line and the first word of its pattern, by a hash that is settled.
struct Hashed<H> {
    locator: Locator,
    hash: H,
}

impl<K: ToDigest, H: Hash> Find<K> for Hashed<H> {
    type Found = (u64, u64);

    #[inline(always)]
    fn find(&self, key: K) -> (u64, u64) {
        let digest = key.digest(self.hash);
        (self.locator.line(digest), digest.lo)
    }
}

#[cfg(test)]
mod tests {
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
        fn by(self, lanes: impl Lines) -> ([u64; 8], bool, bool, [u64; 8]) {
            let Everything(mut line, pattern) = self;
            let mask = lanes.mask(pattern);
            let covered = lanes.covers(&line, pattern);
            let shared = AtomicLines::from(Bitmap::from_words(&line).expect("small"));
            let covered_shared = lanes.finds(&shared, 0, pattern);
            let missing_shared = lanes.merge_shared(&shared.lock(0).line(0), pattern);
            let missing = Lines::merge(lanes, &mut line, pattern);
            assert_eq!((covered_shared, missing_shared), (covered, missing));
            assert_eq!(shared.line(0), line);
            (mask, covered, missing, line)
        }
    }

    impl<S: Lines> Task<S> for Everything {
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
