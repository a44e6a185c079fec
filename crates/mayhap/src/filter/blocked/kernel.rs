//! What is done with the line of a key, and with which instructions.
//!
//! A filter has one [`Kernel`], chosen when it is made: the widest instructions that the CPU has. For one key the kernel's
//! operations are plain calls. For many, [`Kernel::run`] enters a function that has the instructions enabled throughout,
//! in which nothing is left to choose. Each [`Action`] is written once for both, in safe code.
#![allow(unsafe_code)]

use super::pattern::{Pattern, Spread};
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::{
    avx2::{self, Avx2},
    avx512::{self, Avx512},
};
use crate::bits::{AtomicLines, Bits, BitsMut, LockedLine, SharedLine};
use crate::hash::{Digester, Hash, Rapidhash};

/// The operations on one line of eight lanes, by one kind of instructions. A value of an implementing type exists only
/// where the CPU has them.
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
            None => bits.with_line(index, |line| self.covers(line, pattern)),
        }
    }

    /// Runs the task in a function that has the instructions enabled.
    fn enable<T: Task>(self, task: T, hash: impl Hash) -> T::Output;
}

/// Something to be done for many keys.
pub(super) trait Task {
    /// What comes of it.
    type Output;

    /// Does it. Implementations are `#[inline(always)]`, so that they are compiled inside the
    /// kernel's own function and with its instructions.
    fn run(self, lanes: impl Lanes, hash: impl Hash) -> Self::Output;
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

/// Plain arithmetic: the definition, and what every other kernel is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scalar;

impl Lanes for Scalar {
    #[inline(always)]
    fn mask(self, pattern: Pattern) -> [u64; 8] {
        pattern.mask()
    }

    #[inline(always)]
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool {
        let mut missing = 0;
        for (mask, word) in pattern.mask().iter().zip(line) {
            missing |= mask & !*word;
        }
        missing == 0
    }

    #[inline(always)]
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        let mut missing = 0;
        for (mask, word) in pattern.mask().iter().zip(line) {
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

    #[inline(always)]
    fn enable<T: Task>(self, task: T, hash: impl Hash) -> T::Output {
        task.run(self, hash)
    }
}

/// The operations of the widest instructions that the CPU has, found at run time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel {
    instructions: Instructions,
    mask: unsafe fn(Pattern) -> [u64; 8],
    covers: unsafe fn(&[u64; 8], Pattern) -> bool,
    merge: unsafe fn(&mut [u64; 8], Pattern) -> bool,
    covers_shared: unsafe fn(&SharedLine, Pattern) -> bool,
    merge_shared: unsafe fn(&LockedLine<'_>, Pattern) -> bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    Scalar(Scalar),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx2(Avx2),
    /// For patterns without a full round, which need no loop over rounds: most filters have no other.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx512(Avx512<false>),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx512Rounds(Avx512<true>),
}

impl Kernel {
    /// The widest kernel that this CPU can run, for patterns of this spread.
    #[allow(unused_variables)]
    pub(super) fn detect(spread: Spread) -> Kernel {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            if spread.rounds() == 0
                && let Some(avx512) = Avx512::detect()
            {
                return Kernel::of(Instructions::Avx512(avx512));
            }
            if let Some(avx512) = Avx512::detect() {
                return Kernel::of(Instructions::Avx512Rounds(avx512));
            }
            if let Some(avx2) = Avx2::detect() {
                return Kernel::of(Instructions::Avx2(avx2));
            }
        }
        Kernel::of(Instructions::Scalar(Scalar))
    }

    fn of(instructions: Instructions) -> Kernel {
        match instructions {
            Instructions::Scalar(_) => Kernel {
                instructions,
                mask: |pattern| Scalar.mask(pattern),
                covers: |line, pattern| Scalar.covers(line, pattern),
                merge: |line, pattern| Scalar.merge(line, pattern),
                covers_shared: |line, pattern| Scalar.covers_shared(line, pattern),
                merge_shared: |line, pattern| Scalar.merge_shared(line, pattern),
            },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Instructions::Avx2(_) => Kernel {
                instructions,
                mask: avx2::mask,
                covers: avx2::covers,
                merge: avx2::merge,
                covers_shared: avx2::covers_shared,
                merge_shared: avx2::merge_shared,
            },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Instructions::Avx512(_) => Kernel {
                instructions,
                mask: avx512::mask::<false>,
                covers: avx512::covers::<false>,
                merge: avx512::merge::<false>,
                covers_shared: avx512::covers_shared::<false>,
                merge_shared: avx512::merge_shared::<false>,
            },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Instructions::Avx512Rounds(_) => Kernel {
                instructions,
                mask: avx512::mask::<true>,
                covers: avx512::covers::<true>,
                merge: avx512::merge::<true>,
                covers_shared: avx512::covers_shared::<true>,
                merge_shared: avx512::merge_shared::<true>,
            },
        }
    }

    /// Runs a task with this kernel's instructions and with the hash settled: inside its loop nothing is left to
    /// choose.
    pub(super) fn run<T: Task>(self, digester: &Digester, task: T) -> T::Output {
        match digester {
            Digester::Rapidhash { seed } => self.enable(task, Rapidhash::<false>::new(*seed)),
            Digester::RapidhashProtected { seed } => {
                self.enable(task, Rapidhash::<true>::new(*seed))
            }
            Digester::SipHash { key } => self.enable(task, key),
        }
    }
}

// Calls, so that the kernel is chosen once and not for every key.
impl Lanes for Kernel {
    #[inline(always)]
    fn mask(self, pattern: Pattern) -> [u64; 8] {
        // SAFETY: `of` takes these functions from the instructions it is given, whose value shows that the CPU has them;
        // they need nothing else.
        unsafe { (self.mask)(pattern) }
    }

    #[inline(always)]
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool {
        // SAFETY: as for `mask`.
        unsafe { (self.covers)(line, pattern) }
    }

    #[inline(always)]
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        // SAFETY: as for `mask`.
        unsafe { (self.merge)(line, pattern) }
    }

    #[inline(always)]
    fn covers_shared(self, line: &SharedLine, pattern: Pattern) -> bool {
        // SAFETY: as for `mask`.
        unsafe { (self.covers_shared)(line, pattern) }
    }

    #[inline(always)]
    fn merge_shared(self, line: &LockedLine<'_>, pattern: Pattern) -> bool {
        // SAFETY: as for `mask`.
        unsafe { (self.merge_shared)(line, pattern) }
    }

    fn enable<T: Task>(self, task: T, hash: impl Hash) -> T::Output {
        match self.instructions {
            Instructions::Scalar(scalar) => scalar.enable(task, hash),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Instructions::Avx2(avx2) => avx2.enable(task, hash),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Instructions::Avx512(avx512) => avx512.enable(task, hash),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Instructions::Avx512Rounds(avx512) => avx512.enable(task, hash),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockedShape;
    use super::*;
    use crate::bits::Bitmap;
    use crate::{Filter as _, Insert as _};
    use alloc::vec;
    use alloc::vec::Vec;

    /// Every kernel this machine can run for patterns of this spread.
    #[allow(unused_variables, reason = "other machines have no other kernel")]
    fn kernels(spread: Spread) -> Vec<Kernel> {
        #[allow(unused_mut, reason = "other machines have no other kernel")]
        let mut kernels = vec![Instructions::Scalar(Scalar)];
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            kernels.extend(Avx2::detect().map(Instructions::Avx2));
            kernels.extend(Avx512::detect().map(Instructions::Avx512Rounds));
            if spread.rounds() == 0 {
                kernels.extend(Avx512::detect().map(Instructions::Avx512));
            }
        }
        kernels.into_iter().map(Kernel::of).collect()
    }

    /// One by one and in batches, for random shapes and hashes. `MAYHAP_TORTURE` multiplies the rounds and
    /// `MAYHAP_SEED` draws others, as in `tests/torture.rs`.
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
            let kernels = kernels(Spread::new(shape.hashes()));
            let keys = || (drawn(4) >> 1..).take(20_000);
            for &inserting in &kernels {
                let mut filter =
                    super::super::Blocked::new(shape, digester.clone()).expect("small");
                filter.kernel = inserting;
                for key in keys().take(5000) {
                    filter.insert(&key);
                }
                filter.insert_all(keys().skip(5000));
                for &asking in &kernels {
                    filter.kernel = asking;
                    let what = || {
                        std::format!(
                            "round {round}: {:?} and {:?}",
                            inserting.instructions,
                            asking.instructions
                        )
                    };
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

    impl Task for Everything {
        type Output = ([u64; 8], bool, bool, [u64; 8]);

        #[inline(always)]
        fn run(self, lanes: impl Lanes, _: impl Hash) -> Self::Output {
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
                    let expected = Everything(line, pattern).run(Scalar, &Digester::default());
                    assert_eq!(expected.0, mask);
                    assert_eq!(expected.1, !expected.2);
                    for kernel in kernels(spread) {
                        let got = Everything(line, pattern).run(kernel, &Digester::default());
                        assert_eq!(got, expected, "{kernel:?} {pattern:?} {line:?}");
                        let enabled = kernel.run(&Digester::default(), Everything(line, pattern));
                        assert_eq!(enabled, expected, "{kernel:?} {pattern:?} {line:?}");
                        compared += 1;
                    }
                }
                assert!(Scalar.covers(&mask, pattern) && !Scalar.covers(&lacking, pattern));
            }
        }
        std::println!("{compared} comparisons over {:?}", kernels(Spread::new(1)));
    }
}
