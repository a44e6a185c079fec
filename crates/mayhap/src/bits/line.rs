//! Memory for bits: lines of 512, each in one cache line.
//!
//! Small bitmaps are boxed. From 2 MiB on, lines come straight from the operating system: already
//! zero, not touched until used, and on huge pages where it grants them. A random line then costs
//! one cache miss; on small pages it also costs a walk through the page table. A program whose
//! allocator has to see all memory turns that off by [`use_global_allocator`].
#![allow(unsafe_code)]

#[cfg(not(loom))]
use alloc::alloc::{alloc_zeroed, realloc};
use alloc::boxed::Box;
#[cfg(not(loom))]
use core::alloc::Layout;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
#[cfg(all(feature = "std", not(loom)))]
use core::sync::atomic::{AtomicBool, Ordering};

#[cfg(all(not(loom), target_has_atomic = "64"))]
pub(super) use core::sync::atomic::AtomicU64;
#[cfg(loom)]
pub(super) use loom::sync::atomic::AtomicU64;
// The CPU has no atomics of 64 bits: these use a short lock.
#[cfg(all(not(loom), not(target_has_atomic = "64")))]
pub(super) use portable_atomic::AtomicU64;

use crate::{Error, Result};

/// The bits in one line.
pub(crate) const LINE_BITS: u64 = 512;

/// The memory index for a 64-bit index. Where addresses are shorter, an index past all of them becomes one
/// past the end of every slice; it is never truncated to a valid one.
#[inline(always)]
pub(crate) fn place(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// Eight words in one 64-byte cache line. `W` is `u64`, or its atomic twin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line<W = u64>(pub(crate) [W; 8]);

impl Line {
    /// Returns the number of the first word that equals `word`.
    #[inline(always)]
    pub(crate) fn first_equal(&self, word: u64) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: it needs only SSE2, which is part of every x86-64.
        let equal = unsafe { self.equal(word) };
        #[cfg(not(target_arch = "x86_64"))]
        let equal = self.equal(word);
        (equal != 0).then(|| equal.trailing_zeros() as usize / 2)
    }

    /// Returns which words equal `word`: two bits for each.
    ///
    /// Takes 22 instructions, where comparing word by word takes 38.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "sse2")]
    #[inline]
    fn equal(&self, word: u64) -> u32 {
        use core::arch::x86_64::{
            _mm_and_si128, _mm_cmpeq_epi32, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32,
            _mm_set_epi64x, _mm_set1_epi64x, _mm_shuffle_epi32,
        };
        let word = _mm_set1_epi64x(word.cast_signed());
        let equal = |pair: usize| {
            let [low, high] = [self.0[2 * pair], self.0[2 * pair + 1]].map(u64::cast_signed);
            // This compares halves of words. Both must be equal, so each is combined with the other.
            let halves = _mm_cmpeq_epi32(_mm_set_epi64x(high, low), word);
            _mm_and_si128(halves, _mm_shuffle_epi32::<0b10_11_00_01>(halves))
        };
        let first = _mm_packs_epi32(equal(0), equal(1));
        let last = _mm_packs_epi32(equal(2), equal(3));
        _mm_movemask_epi8(_mm_packs_epi16(first, last)).cast_unsigned()
    }

    /// Returns which words equal `word`: two bits for each.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn equal(&self, word: u64) -> u32 {
        let bits = |number: usize| u32::from(self.0[number] == word) << (2 * number);
        (0..self.0.len()).map(bits).sum()
    }
}

/// A word of bits, plain or atomic.
///
/// # Safety
///
/// Except under loom, the type must have the size and the bit patterns of `u64`, so that zeroed
/// memory holds valid words and lines of one kind can be read as lines of the other.
pub(crate) unsafe trait Word: Default {}

// SAFETY: it is `u64`.
unsafe impl Word for u64 {}
// SAFETY: `AtomicU64`, of the standard library and of `portable_atomic`, is documented to have the size and bit
// validity of `u64`.
unsafe impl Word for AtomicU64 {}

/// Owned lines, zero at first.
pub(crate) struct Lines<W: Word = u64> {
    start: NonNull<Line<W>>,
    count: usize,
    memory: Memory,
}

/// The owner of the memory.
enum Memory {
    /// A boxed slice of lines, as raw parts.
    Boxed,
    /// A map: private and anonymous, or shared with a file.
    #[cfg(all(feature = "std", not(loom)))]
    Mapped { map: memmap2::MmapMut },
}

// SAFETY: the lines are owned, and reached only through the references to them.
unsafe impl<W: Word + Send> Send for Lines<W> {}
// SAFETY: as above; a shared `Lines` only gives out shared words.
unsafe impl<W: Word + Sync> Sync for Lines<W> {}

impl<W: Word> Lines<W> {
    /// Allocates enough zeroed lines for `bits` bits.
    pub(crate) fn zeroed(bits: u64) -> Result<Lines<W>> {
        let error = Error::Memory { bits };
        let Ok(count) = usize::try_from(bits.div_ceil(LINE_BITS)) else {
            return Err(error);
        };
        #[cfg(all(feature = "std", not(loom)))]
        if count >= MAPPED_FROM && !ALLOCATES_ALL.load(Ordering::Relaxed) {
            return Lines::mapped(count).ok_or(error);
        }
        zeroed_box(count).map(Lines::boxed).ok_or(error)
    }

    /// The words of all lines, one after another.
    #[inline]
    pub(crate) fn words(&self) -> &[W] {
        // SAFETY: `start` points to `count` lines as in `deref`, and a line is eight words without
        // padding: 64 bytes, with an alignment of 64.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr().cast(), self.count * 8) }
    }

    /// The words of all lines, one after another, mutable.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [W] {
        // SAFETY: as in `words`, and the exclusive borrow of `self` makes this the only one.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.count * 8) }
    }

    fn boxed(lines: Box<[Line<W>]>) -> Lines<W> {
        let count = lines.len();
        Lines {
            start: NonNull::from(Box::leak(lines)).cast(),
            count,
            memory: Memory::Boxed,
        }
    }

    #[cfg(all(feature = "std", not(loom)))]
    fn mapped(count: usize) -> Option<Lines<W>> {
        let bytes = count.checked_mul(size_of::<Line<W>>())?;
        let mut map = memmap2::MmapMut::map_anon(bytes).ok()?;
        // Refused where the system has no huge pages; the map works without.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Some(Lines {
            start: NonNull::new(map.as_mut_ptr())?.cast(),
            count,
            memory: Memory::Mapped { map },
        })
    }

    /// `count` lines of a map, from `offset` bytes on.
    ///
    /// # Panics
    ///
    /// When the map has no such lines, or the offset is not at one.
    #[cfg(all(feature = "std", not(loom)))]
    pub(crate) fn over(mut map: memmap2::MmapMut, offset: usize, count: usize) -> Lines<W> {
        let end = count.checked_mul(size_of::<Line<W>>());
        let end = end.and_then(|bytes| bytes.checked_add(offset));
        assert!(end.is_some_and(|end| end <= map.len()), "past the map");
        // Wrapping arithmetic on an address that, by the first assertion, stays inside the map.
        let start = map.as_mut_ptr().wrapping_add(offset).cast::<Line<W>>();
        assert!(start.is_aligned(), "not at a line");
        Lines {
            start: NonNull::new(start).expect("a map is not at address zero"),
            count,
            memory: Memory::Mapped { map },
        }
    }

    /// Writes changed lines to the file they are a map of; does nothing for other lines.
    #[cfg(all(feature = "std", not(loom)))]
    pub(crate) fn flush(&self) -> std::io::Result<()> {
        match &self.memory {
            Memory::Boxed => Ok(()),
            Memory::Mapped { map } => map.flush(),
        }
    }

    /// Reallocates the lines with the global allocator.
    #[cfg(not(loom))]
    pub(crate) fn reallocate(&mut self) {
        let is_boxed = matches!(self.memory, Memory::Boxed);
        let layout = Layout::array::<Line<W>>(self.count);
        let (true, 1.., Ok(layout)) = (is_boxed, self.count, layout) else {
            return;
        };
        // SAFETY: `Boxed` lines, at least one here, came from the global allocator with this layout, and the
        // size stays the same. `self` is borrowed exclusively, so nothing else points to the lines.
        let start = unsafe { realloc(self.start.as_ptr().cast(), layout, layout.size()) };
        // If that is refused, they stay where they are.
        self.start = NonNull::new(start).map_or(self.start, NonNull::cast);
    }

    /// The same lines as words of the other kind, without a copy.
    #[cfg(not(loom))]
    pub(crate) fn cast<V: Word>(self) -> Lines<V> {
        let this = core::mem::ManuallyDrop::new(self);
        Lines {
            start: this.start.cast(),
            count: this.count,
            // SAFETY: `this` is never dropped or used again, so its memory moves to the new owner.
            memory: unsafe { core::ptr::read(&this.memory) },
        }
    }
}

/// Allocates `count` zeroed lines with the global allocator, which may have zeros without writing them.
#[cfg(not(loom))]
fn zeroed_box<W: Word>(count: usize) -> Option<Box<[Line<W>]>> {
    if count == 0 {
        return Some(Box::default());
    }
    let layout = Layout::array::<Line<W>>(count).ok()?;
    // SAFETY: the size of the layout is not zero: a line has 64 bytes, and there is at least one.
    let start = NonNull::new(unsafe { alloc_zeroed(layout) })?.cast();
    let lines = NonNull::slice_from_raw_parts(start, count);
    // SAFETY: the global allocator made it, with the layout of a boxed slice of `count` lines, and zeroed
    // memory holds valid words, as `Word` demands.
    Some(unsafe { Box::from_raw(lines.as_ptr()) })
}

/// Makes lines one by one: words of loom are not plain memory.
#[cfg(loom)]
fn zeroed_box<W: Word>(count: usize) -> Option<Box<[Line<W>]>> {
    let mut lines = alloc::vec::Vec::new();
    lines.try_reserve_exact(count).ok()?;
    lines.resize_with(count, Line::default);
    Some(lines.into_boxed_slice())
}

/// Set if large bitmaps also come from the global allocator.
#[cfg(all(feature = "std", not(loom)))]
static ALLOCATES_ALL: AtomicBool = AtomicBool::new(false);

/// Takes the memory of large bitmaps from the global allocator too, from now on, instead of the operating system.
///
/// This is for programs whose allocator counts or limits memory, such as a plug-in of a server. It gives up the huge
/// pages that the system would have granted. Filters that exist already are not changed.
#[cfg(all(feature = "std", not(loom)))]
pub fn use_global_allocator() {
    ALLOCATES_ALL.store(true, Ordering::Relaxed);
}

/// The number of lines from which they are mapped: 2 MiB, one huge page. Never under the fuzzer, whose
/// meter sees only what a decoder takes from the allocator, nor under Miri, which does not know the advice.
#[cfg(all(feature = "std", not(loom)))]
const MAPPED_FROM: usize = if cfg!(any(fuzzing, miri)) {
    usize::MAX
} else {
    (2 << 20) / 64
};

impl<W: Word> Drop for Lines<W> {
    fn drop(&mut self) {
        match self.memory {
            Memory::Boxed => {
                let lines = NonNull::slice_from_raw_parts(self.start, self.count);
                // SAFETY: `Boxed` lines came from `Box::leak` of `count` lines, of this kind or of
                // the other one, which has the same layout; they are freed once, here.
                drop(unsafe { Box::from_raw(lines.as_ptr()) });
            }
            #[cfg(all(feature = "std", not(loom)))]
            Memory::Mapped { .. } => {}
        }
    }
}

impl<W: Word> Deref for Lines<W> {
    type Target = [Line<W>];

    #[inline]
    fn deref(&self) -> &[Line<W>] {
        // SAFETY: `start` points to `count` initialised lines: boxed, or mapped, where the system
        // zeroes or fills them from a file, and every 64 bits are a valid word. They are aligned to
        // 64 by their type, to a page, or as `over` asserts. They live as long as `self`, and a
        // shared borrow of `self` allows no exclusive one.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<W: Word> DerefMut for Lines<W> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Line<W>] {
        // SAFETY: as in `deref`, and the exclusive borrow of `self` makes this the only one.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl Lines {
    /// The words of all lines, each as its bytes, the lowest first.
    #[cfg(target_endian = "little")]
    #[inline]
    pub(crate) fn word_bytes(&self) -> &[[u8; 8]] {
        let words = self.words();
        // SAFETY: a word is eight bytes, which this CPU stores lowest first, and bytes need no alignment; the borrow is
        // that of `words`.
        unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
    }

    /// The same lines as atomic words, without a copy. (Under loom they are not plain words, and are copied.)
    pub(super) fn into_atomic(self) -> Lines<AtomicU64> {
        #[cfg(not(loom))]
        return self.cast();
        #[cfg(loom)]
        {
            let bits = self.count as u64 * LINE_BITS;
            let mut atomic = Lines::<AtomicU64>::zeroed(bits).expect("models are small");
            for (word, bits) in atomic.words_mut().iter_mut().zip(self.words()) {
                *word = AtomicU64::new(*bits);
            }
            atomic
        }
    }
}

impl Lines<AtomicU64> {
    /// The same lines as plain words, without a copy. (Under loom they are copied.)
    pub(super) fn into_plain(self) -> Lines {
        #[cfg(not(loom))]
        return self.cast();
        #[cfg(loom)]
        {
            let bits = self.count as u64 * LINE_BITS;
            let mut plain = Lines::<u64>::zeroed(bits).expect("models are small");
            for (word, bits) in plain.words_mut().iter_mut().zip(self.words()) {
                *word = bits.load(loom::sync::atomic::Ordering::Acquire);
            }
            plain
        }
    }
}

impl Clone for Lines {
    /// Aborts when there is no memory for the copy, as every `clone` of a collection does.
    fn clone(&self) -> Lines {
        let bits = self.count as u64 * LINE_BITS;
        let mut copy = Lines::zeroed(bits).unwrap_or_else(|error| panic!("{error}"));
        copy.copy_from_slice(self);
        copy
    }
}

impl PartialEq for Lines {
    fn eq(&self, other: &Lines) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Lines {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes on both sides of the mapped threshold.
    #[cfg(not(miri))]
    const SIZES: [u64; 5] = [0, 1, 1000, (2 << 20) * 8, (5 << 20) * 8 + 1];
    #[cfg(miri)]
    const SIZES: [u64; 5] = [0, 1, 512, 513, 5000];

    #[test]
    fn lines_are_zero_aligned_and_enough() {
        for bits in SIZES {
            let lines = Lines::<u64>::zeroed(bits).expect("small");
            assert_eq!(lines.len() as u64, bits.div_ceil(512));
            assert_eq!(lines.as_ptr() as usize % 64, 0);
            assert_eq!(lines.words().len(), lines.len() * 8);
            assert!(lines.words().iter().all(|word| *word == 0));
        }
    }

    #[test]
    fn a_copy_is_equal_and_apart() {
        for bits in SIZES {
            let mut lines = Lines::<u64>::zeroed(bits).expect("small");
            lines.iter_mut().for_each(|line| line.0[3] = 7);
            let copy = lines.clone();
            assert!(copy == lines);
            lines.iter_mut().for_each(|line| line.0[3] = 8);
            assert!(copy.iter().all(|line| line.0[3] == 7));
        }
    }

    #[cfg(not(loom))]
    #[test]
    fn reallocated_lines_are_the_same() {
        for bits in SIZES {
            let mut lines = Lines::<u64>::zeroed(bits).expect("small");
            lines.iter_mut().for_each(|line| line.0 = [7; 8]);
            lines.reallocate();
            assert!(lines.iter().all(|line| line.0 == [7; 8]));
            assert_eq!(lines.as_ptr() as usize % 64, 0);
        }
    }

    #[cfg(not(loom))]
    #[test]
    fn lines_become_atomic_and_plain_again_in_place() {
        for bits in SIZES {
            let mut lines = Lines::<u64>::zeroed(bits).expect("small");
            lines.iter_mut().for_each(|line| line.0 = [5; 8]);
            let address = lines.as_ptr() as usize;
            let atomic = lines.cast::<AtomicU64>();
            for line in atomic.iter() {
                line.0[0].store(6, core::sync::atomic::Ordering::Relaxed);
            }
            let plain = atomic.cast::<u64>();
            assert_eq!(plain.as_ptr() as usize, address);
            assert!(plain.iter().all(|line| line.0 == [6, 5, 5, 5, 5, 5, 5, 5]));
        }
    }
}
