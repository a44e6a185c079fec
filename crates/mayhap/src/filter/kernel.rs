//! With which instructions a filter works: the widest that the CPU has, found at run time.
//!
//! What a filter does is a [`Task`], written once, in safe code, over the operations that the kind has for all
//! instructions. [`Chosen::run`] enters a function that has the instructions enabled throughout, and into which the task is
//! inlined: nothing is left to choose inside its loop. Where even one choice for each key is too much, [`Chosen::call`]
//! makes it once for a filter. This file knows no kind and none of their operations.
//!
//! Plain arithmetic is the definition. Every other kernel computes exactly that, and is tested against it.
#![allow(unsafe_code)]

use crate::hash::{Digest, Digester, Hash};

/// The instructions that a filter works with. They decide how fast it is, and nothing else: bits and answers are those of
/// [`Kernel::Plain`].
///
/// A filter takes the widest that the CPU has. To measure or test what another CPU would do, limit one:
///
/// ```
/// use mayhap::kinds::{Blocked, Kernel};
///
/// let filter = Blocked::with_capacity(1000, 0.01)?;
/// assert_eq!(filter.kernel(), Kernel::widest());
/// let filter = filter.limited_to(Kernel::Plain);
/// assert_eq!(filter.kernel(), Kernel::Plain);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// Arithmetic that every CPU has.
    Plain,
    /// AVX2, BMI2 and POPCNT: x86-64 since 2013 (Intel) and 2015 (AMD). Needs the feature `std`.
    Avx2,
    /// AVX-512 (F, DQ and VPOPCNTDQ) besides: x86-64 servers since 2021 (Intel) and 2022 (AMD). Needs the feature `std`.
    Avx512,
}

impl Kernel {
    /// The widest instructions that this CPU has.
    pub fn widest() -> Kernel {
        Chosen::widest(Kernel::Avx512).kernel()
    }
}

/// Something to be done with the instructions `S`.
pub(super) trait Task<S> {
    /// The result.
    type Output;

    /// Does it. Implementations are `#[inline(always)]`, so that they are compiled inside the kernel's own function and
    /// with its instructions.
    fn run(self, simd: S) -> Self::Output;
}

/// Something to be done for keys by a hash, with the instructions `S`.
pub(super) trait HashedTask<S> {
    /// Does it. Implementations are `#[inline(always)]`, as those of [`Task`] are.
    fn run(self, simd: S, hash: impl Hash);
}

/// A task with its hash.
struct Hashing<T, H>(T, H);

impl<S, T: HashedTask<S>, H: Hash> Task<S> for Hashing<T, H> {
    type Output = ();

    #[inline(always)]
    fn run(self, simd: S) {
        self.0.run(simd, self.1);
    }
}

/// A hash that is called for each key, and not inlined into a loop over them.
#[derive(Clone, Copy)]
struct Called<'a>(&'a Digester);

impl Hash for Called<'_> {
    #[inline(never)]
    fn digest(&self, key: &[u8]) -> Digest {
        self.0.digest(key)
    }
}

/// A [`Task`] with whichever instructions the CPU has.
pub(super) trait AnyTask<O>:
    Task<Plain, Output = O> + Task<Avx2, Output = O> + Task<Avx512, Output = O>
{
}

impl<O, T> AnyTask<O> for T where
    T: Task<Plain, Output = O> + Task<Avx2, Output = O> + Task<Avx512, Output = O>
{
}

/// A [`HashedTask`] with whichever instructions the CPU has.
pub(super) trait AnyHashedTask:
    HashedTask<Plain> + HashedTask<Avx2> + HashedTask<Avx512>
{
}

impl<T: HashedTask<Plain> + HashedTask<Avx2> + HashedTask<Avx512>> AnyHashedTask for T {}

/// The operands of an operation for one key, besides a word of its hash: few enough to be passed in registers.
pub(super) trait Operands {
    /// The words of the key.
    type Words<'a>;

    /// What is the same for all keys.
    type Table;
}

/// An operation for one key on these operands, with the instructions `S`.
pub(super) trait Operation<P: Operands, S> {
    /// Does it. Implementations are `#[inline(always)]`, as those of [`Task`] are.
    fn run(simd: S, words: P::Words<'_>, word: u64, table: P::Table) -> bool;
}

/// An [`Operation`], as a call into the instructions of a filter: nothing is left to choose in it.
pub(super) struct Call<P: Operands>(unsafe fn(P::Words<'_>, u64, P::Table) -> bool);

impl<P: Operands> Clone for Call<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Operands> Copy for Call<P> {}

impl<P: Operands> Call<P> {
    /// Does it.
    #[inline(always)]
    pub(super) fn run(self, words: P::Words<'_>, word: u64, table: P::Table) -> bool {
        // SAFETY: `Chosen::call`, which alone makes a call, takes the function from a kernel whose value shows that the CPU
        // has its instructions; it needs nothing else.
        unsafe { (self.0)(words, word, table) }
    }
}

/// Plain arithmetic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain;

/// Returns whether the words have every bit of the mask.
#[inline(always)]
pub(super) fn covers<const N: usize>(words: &[u64; N], mask: &[u64; N]) -> bool {
    let mut missing = 0;
    for (word, mask) in words.iter().zip(mask) {
        missing |= mask & !word;
    }
    missing == 0
}

/// Adds the bits of the mask to the words; true when any was missing.
#[inline(always)]
pub(super) fn merge<const N: usize>(words: &mut [u64; N], mask: &[u64; N]) -> bool {
    let mut missing = 0;
    for (word, mask) in words.iter_mut().zip(mask) {
        missing |= mask & !*word;
        *word |= mask;
    }
    missing != 0
}

/// Shows that the CPU has AVX2, BMI2 (for the multiplications of hashing) and POPCNT: only [`Avx2::detect`] makes
/// one, and a function that only runs where they are.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

/// Shows that the CPU has AVX-512F, AVX-512DQ and AVX-512VPOPCNTDQ, and all that [`Avx2`] shows: only
/// [`Avx512::detect`] makes one, and a function that only runs where they are.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512(());

// What a task can do with these, it can do with the only instructions that are chosen here.
#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
use Plain as Avx2;
#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
use Plain as Avx512;

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Avx2 {
    fn detect() -> Option<Avx2> {
        let found = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("popcnt");
        found.then_some(Avx2(()))
    }
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
impl Avx512 {
    fn detect() -> Option<Avx512> {
        let found = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vpopcntdq");
        Avx2::detect().filter(|_| found).map(|_| Avx512(()))
    }

    /// It shows that, too.
    #[inline(always)]
    pub(super) fn narrower(self) -> Avx2 {
        Avx2(())
    }
}

/// The kernel of a filter, whose instructions the CPU has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chosen {
    /// Plain arithmetic.
    Plain(Plain),
    /// AVX2.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx2(Avx2),
    /// AVX-512.
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    Avx512(Avx512),
}

impl Chosen {
    /// The widest kernel that this CPU has, but none wider than the limit.
    #[allow(unused_variables, reason = "other CPUs have no other kernel")]
    pub(super) fn widest(limit: Kernel) -> Chosen {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        {
            if limit >= Kernel::Avx512
                && let Some(avx512) = Avx512::detect()
            {
                return Chosen::Avx512(avx512);
            }
            if limit >= Kernel::Avx2
                && let Some(avx2) = Avx2::detect()
            {
                return Chosen::Avx2(avx2);
            }
        }
        Chosen::Plain(Plain)
    }

    /// The same kernel, or AVX2 for a kind that AVX-512 has nothing to add to.
    #[inline(always)]
    pub(super) fn up_to_avx2(self) -> Chosen {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => Chosen::Avx2(avx512.narrower()),
            other => other,
        }
    }

    /// Returns its name.
    pub(super) fn kernel(self) -> Kernel {
        match self {
            Chosen::Plain(_) => Kernel::Plain,
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(_) => Kernel::Avx2,
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(_) => Kernel::Avx512,
        }
    }

    /// Every kernel that this CPU has.
    #[cfg(test)]
    pub(super) fn all() -> alloc::vec::Vec<Chosen> {
        let kernels = [Kernel::Plain, Kernel::Avx2, Kernel::Avx512];
        let had = kernels.map(Chosen::widest).into_iter().zip(kernels);
        let had = had.filter(|(chosen, kernel)| chosen.kernel() == *kernel);
        had.map(|(chosen, _)| chosen).collect()
    }

    /// Runs a task for many keys, with the usual hash settled: inside its loop nothing is left to choose. The others are
    /// called for each key anyway, so one loop serves them all: with a loop for each, the library took 9 % longer to compile.
    pub(super) fn run_hashed(self, digester: &Digester, task: impl AnyHashedTask) {
        match digester.rapidhash() {
            Some(hash) => self.run(Hashing(task, hash)),
            None => self.run(Hashing(task, Called(digester))),
        }
    }

    /// The call of an operation with this kernel's instructions.
    pub(super) fn call<P, O>(self) -> Call<P>
    where
        P: Operands,
        O: Operation<P, Plain> + Operation<P, Avx2> + Operation<P, Avx512>,
    {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(_) => Call(call_avx512::<P, O>),
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(_) => Call(call_avx2::<P, O>),
            Chosen::Plain(_) => Call(call_plain::<P, O>),
        }
    }

    /// Runs a task with this kernel's instructions.
    #[inline(always)]
    pub(super) fn run<O>(self, task: impl AnyTask<O>) -> O {
        match self {
            // SAFETY: the value shows that the CPU has all that `in_avx512` needs.
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx512(avx512) => unsafe { in_avx512(avx512, task) },
            // SAFETY: the value shows that the CPU has all that `in_avx2` needs.
            #[cfg(all(target_arch = "x86_64", feature = "std"))]
            Chosen::Avx2(avx2) => unsafe { in_avx2(avx2, task) },
            Chosen::Plain(plain) => in_plain(plain, task),
        }
    }
}

// Not left to the compiler where there are others: it would be inlined beside the call that is made.
#[cfg_attr(all(target_arch = "x86_64", feature = "std"), inline(never))]
#[cfg_attr(not(all(target_arch = "x86_64", feature = "std")), inline(always))]
fn in_plain<T: Task<Plain>>(plain: Plain, task: T) -> T::Output {
    task.run(plain)
}

// Inlined where the instructions are enabled already. Elsewhere it is a call of the caller's own, which may leave out an
// answer that nobody looks at.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx2,bmi2,popcnt")]
fn in_avx2<T: Task<Avx2>>(avx2: Avx2, task: T) -> T::Output {
    task.run(avx2)
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq,bmi2,popcnt")]
fn in_avx512<T: Task<Avx512>>(avx512: Avx512, task: T) -> T::Output {
    task.run(avx512)
}

fn call_plain<P, O>(words: P::Words<'_>, word: u64, table: P::Table) -> bool
where
    P: Operands,
    O: Operation<P, Plain>,
{
    O::run(Plain, words, word, table)
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx2,bmi2,popcnt")]
fn call_avx2<P, O>(words: P::Words<'_>, word: u64, table: P::Table) -> bool
where
    P: Operands,
    O: Operation<P, Avx2>,
{
    O::run(Avx2(()), words, word, table)
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq,bmi2,popcnt")]
fn call_avx512<P, O>(words: P::Words<'_>, word: u64, table: P::Table) -> bool
where
    P: Operands,
    O: Operation<P, Avx512>,
{
    O::run(Avx512(()), words, word, table)
}
