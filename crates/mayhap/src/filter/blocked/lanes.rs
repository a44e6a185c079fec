//! What a kernel does with a line and a pattern, and how one is chosen.
//!
//! A kernel is a value that exists only where its instructions do: [`Kernel::detect`] makes it, and
//! [`Kernel::run`] hands it to a [`Task`]. So the tasks, which hold the algorithms, are written once,
//! in safe code, and compiled once per kernel with its instructions enabled throughout. [`Calls`] are
//! the same operations one at a time.
#![allow(unsafe_code)]

use super::finder::Finder;
use super::pattern::{Pattern, Spread};
#[cfg(all(target_arch = "x86_64", feature = "std"))]
use super::{
    avx2::{self, Avx2},
    avx512::{self, Avx512},
};
use crate::hash::{Digester, Hash, Rapidhash};

/// The operations on one line of eight lanes.
pub(super) trait Lanes: Copy {
    /// The bits of the pattern, lane by lane.
    fn mask(self, pattern: Pattern) -> [u64; 8];

    /// Whether the line has every bit of the pattern.
    fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool;

    /// Adds the bits of the pattern to the line; true when any was missing.
    fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool;
}

/// Something to be done with a kernel's operations, many times over.
pub(super) trait Task {
    /// What comes of it.
    type Output;

    /// Does it. Implementations are `#[inline(always)]`, so that they are compiled inside the
    /// kernel's own function and with its instructions.
    fn run(self, lanes: impl Lanes, hash: impl Hash) -> Self::Output;
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
}

/// The instructions that lines are worked with: the widest the CPU has, found at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Scalar(Scalar),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx2(Avx2),
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx512(Avx512<true>),
}

impl Kernel {
    /// The widest kernel this CPU can run.
    pub(super) fn detect() -> Kernel {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            if let Some(avx512) = Avx512::detect() {
                return Kernel::Avx512(avx512);
            }
            if let Some(avx2) = Avx2::detect() {
                return Kernel::Avx2(avx2);
            }
        }
        Kernel::Scalar(Scalar)
    }

    /// Runs the task with this kernel's operations, its instructions enabled, and with the hash
    /// chosen: inside its loop nothing is left to choose.
    #[inline]
    pub(super) fn run<T: Task>(self, finder: &Finder, task: T) -> T::Output {
        match finder.digester() {
            Digester::Rapidhash { seed } => {
                self.run_with(finder, Rapidhash::<false>::new(*seed), task)
            }
            Digester::RapidhashProtected { seed } => {
                self.run_with(finder, Rapidhash::<true>::new(*seed), task)
            }
            Digester::SipHash { key } => self.run_with(finder, key, task),
        }
    }

    #[allow(unused_variables)]
    fn run_with<T: Task>(self, finder: &Finder, hash: impl Hash, task: T) -> T::Output {
        match self {
            Kernel::Scalar(scalar) => task.run(scalar, hash),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Kernel::Avx2(avx2) => avx2.run(task, hash),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Kernel::Avx512(avx512) if finder.spread().rounds() == 0 => {
                avx512.without_rounds().run(task, hash)
            }
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Kernel::Avx512(avx512) => avx512.run(task, hash),
        }
    }
}

/// A kernel's operations one at a time, as plain calls: chosen once per filter, so that a lookup does
/// not choose again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calls {
    covers: unsafe fn(&[u64; 8], Pattern) -> bool,
    merge: unsafe fn(&mut [u64; 8], Pattern) -> bool,
}

impl Calls {
    /// The calls for patterns of this spread. Most have no full round, and need no loop over them.
    #[allow(unused_variables)]
    pub(super) fn new(kernel: Kernel, spread: Spread) -> Calls {
        match kernel {
            Kernel::Scalar(_) => Calls {
                covers: |line, pattern| Scalar.covers(line, pattern),
                merge: |line, pattern| Scalar.merge(line, pattern),
            },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Kernel::Avx2(_) => Calls {
                covers: avx2::covers,
                merge: avx2::merge,
            },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Kernel::Avx512(_) if spread.rounds() == 0 => Calls {
                covers: avx512::covers::<false>,
                merge: avx512::merge::<false>,
            },
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Kernel::Avx512(_) => Calls {
                covers: avx512::covers::<true>,
                merge: avx512::merge::<true>,
            },
        }
    }

    /// Whether the line has every bit of the pattern.
    #[inline(always)]
    pub(super) fn covers(self, line: &[u64; 8], pattern: Pattern) -> bool {
        // SAFETY: `new` takes these from the kernel it is given, and a kernel's value shows that the
        // CPU has its instructions; they need nothing else.
        unsafe { (self.covers)(line, pattern) }
    }

    /// Adds the bits of the pattern to the line; true when any was missing.
    #[inline(always)]
    pub(super) fn merge(self, line: &mut [u64; 8], pattern: Pattern) -> bool {
        // SAFETY: as for `covers`.
        unsafe { (self.merge)(line, pattern) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockedShape;
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Every kernel this machine can run.
    fn kernels() -> Vec<Kernel> {
        #[allow(unused_mut, reason = "other machines have no other kernel")]
        let mut kernels = vec![Kernel::Scalar(Scalar)];
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            kernels.extend(Avx2::detect().map(Kernel::Avx2));
            kernels.extend(Avx512::detect().map(Kernel::Avx512));
        }
        kernels
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
        let (mut asked, kernels) = (0_u64, kernels());
        for round in 0..rounds {
            let drawn = |stream| {
                crate::Digest {
                    lo: seed,
                    hi: round,
                }
                .remix(stream)
                .hi
            };
            let hashes = 1 + (drawn(1) >> (drawn(2) % 4)) % 64;
            let shape = BlockedShape::new(1 + drawn(0) % 2048, hashes as u32).expect("valid");
            let digester = Digester::Rapidhash { seed: drawn(3) };
            let keys = || (drawn(4) >> 1..).take(20_000);
            for &inserting in &kernels {
                let mut filter =
                    super::super::Blocked::new(shape, digester.clone()).expect("small");
                let choose = |filter: &mut super::super::Blocked, kernel| {
                    filter.kernel = kernel;
                    filter.calls = Calls::new(kernel, filter.finder.spread());
                };
                choose(&mut filter, inserting);
                for key in keys().take(5000) {
                    filter.insert(&key);
                }
                filter.insert_all(keys().skip(5000));
                for &asking in &kernels {
                    choose(&mut filter, asking);
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

    impl Task for Everything {
        type Output = ([u64; 8], bool, bool, [u64; 8]);

        #[inline(always)]
        fn run(self, lanes: impl Lanes, _: impl Hash) -> Self::Output {
            let Everything(mut line, pattern) = self;
            let mask = lanes.mask(pattern);
            let covered = lanes.covers(&line, pattern);
            let missing = lanes.merge(&mut line, pattern);
            (mask, covered, missing, line)
        }
    }

    #[test]
    fn every_kernel_does_what_plain_arithmetic_does() {
        let mut word = 1;
        let mut compared = 0;
        for hashes in 1..=64 {
            let shape = BlockedShape::new(1, hashes).expect("valid");
            let finder = Finder::new(shape, Digester::default());
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
                    let expected = Scalar.run_everything(line, pattern);
                    assert_eq!(expected.0, mask);
                    assert_eq!(expected.1, !expected.2);
                    for kernel in kernels() {
                        let got = kernel.run(&finder, Everything(line, pattern));
                        assert_eq!(got, expected, "{kernel:?} {pattern:?} {line:?}");
                        let calls = Calls::new(kernel, spread);
                        let mut merged = line;
                        assert_eq!(calls.covers(&line, pattern), expected.1);
                        assert_eq!(calls.merge(&mut merged, pattern), expected.2);
                        assert_eq!(merged, expected.3);
                        compared += 1;
                    }
                }
                assert!(Scalar.covers(&mask, pattern) && !Scalar.covers(&lacking, pattern));
            }
        }
        std::println!("{compared} comparisons over {:?}", kernels());
    }

    impl Scalar {
        fn run_everything(self, line: [u64; 8], pattern: Pattern) -> <Everything as Task>::Output {
            Everything(line, pattern).run(self, &Digester::default())
        }
    }
}
