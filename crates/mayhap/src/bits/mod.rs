//! Storage for bits: owned, shared and borrowed.
//!
//! [`Bits`] is what a filter reads, [`BitsMut`] what it also writes. [`AtomicBitmap`] and [`AtomicLines`] are written
//! through a shared reference and so do not implement `BitsMut`; [`BitmapView`] cannot be written at all. [`Slots`] are
//! buckets of fingerprints over them.

mod algebra;
mod atomic;
mod bitmap;
mod counters;
mod line;
mod lines;
mod ones;
mod prefetch;
mod shared;
mod slots;
mod sort;
mod stripes;
mod tally;
mod view;

pub use atomic::AtomicBitmap;
pub use bitmap::Bitmap;
pub use counters::CounterWidth;
pub(crate) use counters::Counters;
#[cfg(all(feature = "std", not(loom)))]
pub use line::use_global_allocator;
pub(crate) use line::{LINE_BITS, Line, Lines};
pub use lines::AtomicLines;
pub use ones::Ones;
pub(crate) use prefetch::prefetch;
pub(crate) use shared::{LockedLine, SharedLine};
pub use slots::{Home, Slots};
pub use sort::{dedupe, sort};
pub(crate) use stripes::STRIPES;
pub use tally::{Seen, Tally};
pub use view::BitmapView;

mod sealed {
    /// Seals [`Bits`](super::Bits): its unchecked reads are sound for the storage of this folder, and another
    /// crate can neither add storage nor replace them. View bytes of your own through a `BitmapView`.
    pub trait Sealed {}

    impl Sealed for super::Bitmap {}
    impl Sealed for super::AtomicBitmap {}
    impl Sealed for super::AtomicLines {}
    impl<D> Sealed for super::BitmapView<D> {}
}

/// A fixed number of readable bits. Bit `i` is bit `i % 64` of word `i / 64`.
///
/// Positions and words past the end read as zero. Only the storage of this crate implements it: [`Bitmap`],
/// [`AtomicBitmap`], [`AtomicLines`], and [`BitmapView`] over bytes of any kind.
pub trait Bits: sealed::Sealed {
    /// The number of bits.
    fn size(&self) -> u64;

    /// The word at `index`, holding bits `64 * index` to `64 * index + 63`.
    fn word(&self, index: u64) -> u64;

    /// The eight words of bits `512 * index` to `512 * index + 511`: one cache line.
    #[doc(hidden)]
    #[inline]
    fn line(&self, index: u64) -> [u64; 8] {
        // Saturating: a line past every position must not wrap around to the first ones.
        let first = index.saturating_mul(8);
        core::array::from_fn(|lane| self.word(first.saturating_add(lane as u64)))
    }

    /// Calls `read` with `count` words from `index` on, 128 at most, each as its bytes, the lowest first: in place
    /// where they can be borrowed.
    #[doc(hidden)]
    #[inline(always)]
    fn with_words<R>(&self, index: u64, count: usize, read: impl FnOnce(&[[u8; 8]]) -> R) -> R {
        copy_words(self, (index, count), read)
    }

    /// Calls `read` with the line at `index`: in place where it can be borrowed.
    #[doc(hidden)]
    #[inline(always)]
    fn with_line<R>(&self, index: u64, read: impl FnOnce(&[u64; 8]) -> R) -> R {
        read(&self.line(index))
    }

    /// The line at `index`, if other threads may be changing it: then it is never borrowed as plain words.
    #[doc(hidden)]
    #[inline(always)]
    fn shared_line(&self, _index: u64) -> Option<&SharedLine> {
        None
    }

    /// Calls `read` as [`with_line`](Bits::with_line) does, for a line that is inside; another may panic. Filters only
    /// read such lines, and need not choose between the line and zeros.
    #[doc(hidden)]
    #[inline(always)]
    fn with_line_inside<R>(&self, index: u64, read: impl FnOnce(&[u64; 8]) -> R) -> R {
        self.with_line(index, read)
    }

    /// Calls `read` with the four words of bits `256 * index` to `256 * index + 255`, in place where they can be
    /// borrowed. They must be inside; otherwise it may panic.
    #[doc(hidden)]
    #[inline(always)]
    fn with_block_inside<R>(&self, index: u64, read: impl FnOnce(&[u64; 4]) -> R) -> R {
        read(&core::array::from_fn(|lane| {
            self.word(4 * index + lane as u64)
        }))
    }

    /// Hints that the bit at `position`, and the line it is in, will soon be read or written.
    #[doc(hidden)]
    #[inline]
    fn prefetch(&self, position: u64) {
        self.prefetch_line(position / 512);
    }

    /// Hints that the line at `index` will soon be read or written.
    #[doc(hidden)]
    #[inline]
    fn prefetch_line(&self, _index: u64) {}

    /// Hints that the `count` words from `index` on, at least one, will soon be read. The number of hints is the same
    /// wherever they begin in a line, so that no branch depends on that.
    #[doc(hidden)]
    #[inline(always)]
    fn prefetch_words(&self, index: u64, count: u64) {
        self.prefetch_line((index + count - 1) / 8);
        for line in 0..count.div_ceil(8) {
            self.prefetch_line(index / 8 + line);
        }
    }

    /// Returns whether the bit at `position` is one.
    #[inline]
    fn get(&self, position: u64) -> bool {
        self.word(position / 64) >> (position % 64) & 1 == 1
    }

    /// The 64 bits from `position` on, which is at most 2^63, the lowest first.
    #[inline(always)]
    fn window(&self, position: u64) -> u64 {
        let (index, shift) = (position / 64, position % 64);
        self.word(index) >> shift | (self.word(index + 1) << 1) << (63 - shift)
    }

    /// Reads the number at `index`, counted in `BYTES` bytes, lowest bits first; it must be inside.
    ///
    /// For filters, whose positions are inside by construction. A lookup in a `Bloom` of 1 M keys takes 12.0 ns
    /// instead of 11.4 for a hit with checked words, and one in a `Fuse` of 1 M keys, whose slots are bytes,
    /// 5.7 instead of 4.4 with words to shift (`bench/benches`, November 2026).
    ///
    /// # Safety
    ///
    /// `BYTES` must be 1, 2, 4 or 8, and the number must begin before [`size`](Bits::size).
    #[doc(hidden)]
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn number_at<const BYTES: u64>(&self, index: u64) -> u64 {
        let first = index * BYTES;
        self.word(first / 8) >> (first % 8 * 8) & (u64::MAX >> (64 - 8 * BYTES))
    }

    /// The number of ones.
    fn count_ones(&self) -> u64 {
        let words = self.size().div_ceil(64);
        (0..words)
            .map(|index| u64::from(self.word(index).count_ones()))
            .sum()
    }
}

/// The most words that [`Bits::with_words`] reads together.
const MOST_WORDS: usize = 128;

/// [`Bits::with_words`] for bits whose words lie in these bytes, except those that are not wholly inside.
#[inline(always)]
fn borrow_words<R>(
    bits: &impl Bits,
    words: &[[u8; 8]],
    (index, count): (u64, usize),
    read: impl FnOnce(&[[u8; 8]]) -> R,
) -> R {
    // One check for all.
    let words = words.get(line::place(index)..);
    match words.and_then(|words| words.get(..count)) {
        Some(words) => read(words),
        None => copy_words(bits, (index, count), read),
    }
}

/// [`Bits::with_words`] for words that are read one by one.
#[cold]
#[inline(never)]
fn copy_words<R>(
    bits: &(impl Bits + ?Sized),
    (index, count): (u64, usize),
    read: impl FnOnce(&[[u8; 8]]) -> R,
) -> R {
    let mut words = [[0; 8]; MOST_WORDS];
    for (place, word) in (0..).zip(&mut words[..count]) {
        *word = bits.word(index.saturating_add(place)).to_le_bytes();
    }
    read(&words[..count])
}

/// Bits that can also be written, by one writer at a time.
pub trait BitsMut: Bits {
    /// Sets the bit at `position`; true when it was zero before.
    ///
    /// # Panics
    ///
    /// When `position` is past the end.
    fn set(&mut self, position: u64) -> bool;

    /// Eight mutable words: bits `512 * index` to `512 * index + 511`.
    ///
    /// # Panics
    ///
    /// When the line is not wholly inside.
    #[doc(hidden)]
    fn line_mut(&mut self, index: u64) -> &mut [u64; 8];

    /// Four mutable words: bits `256 * index` to `256 * index + 255`.
    ///
    /// # Panics
    ///
    /// When the block is not wholly inside.
    #[doc(hidden)]
    fn block_mut(&mut self, index: u64) -> &mut [u64; 4];

    /// Replaces the word at `index`; bits of it past the end stay zero.
    ///
    /// # Panics
    ///
    /// When the whole word is past the end.
    fn set_word(&mut self, index: u64, word: u64);

    /// Replaces the word at `index` by the result of `change`, which sets no bit past the end.
    ///
    /// # Panics
    ///
    /// When the whole word is past the end.
    #[doc(hidden)]
    #[inline(always)]
    fn change_word(&mut self, index: u64, change: impl FnOnce(u64) -> u64) {
        self.set_word(index, change(self.word(index)));
    }
}
