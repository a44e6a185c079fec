//! Bits that many threads change at once, a line at a time.
//!
//! A writer holds the lock of the line's stripe, loads the line, adds bits and stores it: one lock for a key, or for
//! many keys of a batch, instead of an atomic operation for each word. Reading takes no lock. No bit is lost, because
//! every writer goes through [`AtomicLines::lock`] and [`Locked::line`]; a thread that sees a bit also sees what its
//! setter did before.

use core::fmt;

#[cfg(not(loom))]
use core::sync::atomic::Ordering;
#[cfg(loom)]
use loom::sync::atomic::Ordering;

use super::line::{AtomicU64, Lines, place};
use super::prefetch::prefetch;
use super::shared::{LockedLine, SharedLine};
use super::stripes::{Held, Stripes};
use super::{Bitmap, Bits};

/// Bits in shared memory, for filters that keep all bits of a key in one cache line of 512.
///
/// A filter over them, such as [`AtomicBlocked`](crate::AtomicBlocked), sets them through `&self`; they are made from a
/// [`Bitmap`], and turned back into one, without a copy. For single bits that threads set, see
/// [`AtomicBitmap`](super::AtomicBitmap).
///
/// ```
/// use mayhap::{Atomic, AtomicBlocked, bits::Bits};
///
/// let seen = AtomicBlocked::with_capacity(1000, 0.01)?;
/// seen.insert("key");
/// assert_eq!(seen.bits().count_ones(), 6);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub struct AtomicLines {
    lines: Lines<AtomicU64>,
    size: u64,
    stripes: Stripes,
}

impl AtomicLines {
    /// The stripe of a line, below [`STRIPES`](super::STRIPES): lines of one stripe share a lock.
    #[inline(always)]
    pub(crate) fn stripe(&self, line: u64) -> usize {
        self.stripes.of(line)
    }

    /// Locks the lines of a stripe: no other thread changes them until this is dropped.
    ///
    /// # Panics
    ///
    /// When there is no such stripe.
    #[inline(always)]
    pub(crate) fn lock(&self, stripe: usize) -> Locked<'_> {
        Locked {
            bits: self,
            stripe,
            _held: self.stripes.lock(stripe),
        }
    }

    /// Hints that the stripe, where there is one, will soon be locked.
    #[inline(always)]
    pub(crate) fn prefetch_lock(&self, stripe: usize) {
        self.stripes.prefetch(stripe);
    }

    /// Clears every bit. The exclusive reference shows that no thread is setting any.
    pub fn clear_all(&mut self) {
        for word in self.lines.words_mut() {
            *word = AtomicU64::default();
        }
    }
}

/// The lines of one stripe, which no other thread changes while this lives, though others read them.
pub(crate) struct Locked<'a> {
    bits: &'a AtomicLines,
    stripe: usize,
    _held: Held<'a>,
}

impl Locked<'_> {
    /// The line at `index`, mutable.
    ///
    /// # Panics
    ///
    /// When the line is not of this stripe, or does not exist.
    #[inline(always)]
    pub(crate) fn line(&mut self, index: u64) -> LockedLine<'_> {
        assert!(
            self.bits.stripe(index) == self.stripe,
            "line {index} has another lock"
        );
        LockedLine::new(&self.bits.lines[place(index)])
    }
}

impl Bits for AtomicLines {
    #[inline]
    fn size(&self) -> u64 {
        self.size
    }

    #[inline]
    fn word(&self, index: u64) -> u64 {
        match self.lines.words().get(place(index)) {
            Some(word) => word.load(Ordering::Acquire),
            None => 0,
        }
    }

    #[inline]
    fn line(&self, index: u64) -> [u64; 8] {
        match self.lines.get(place(index)) {
            Some(line) => line.load(),
            None => [0; 8],
        }
    }

    #[inline(always)]
    fn shared_line(&self, index: u64) -> Option<&SharedLine> {
        self.lines.get(place(index))
    }

    #[inline(always)]
    fn prefetch_line(&self, index: u64) {
        prefetch(self.lines.as_ptr().wrapping_add(place(index)));
    }
}

impl From<Bitmap> for AtomicLines {
    /// Takes the memory over; nothing is copied.
    fn from(bitmap: Bitmap) -> AtomicLines {
        let (lines, size) = bitmap.into_lines();
        let lines = lines.into_atomic();
        let stripes = Stripes::new((lines.len() as u64).saturating_sub(1));
        AtomicLines {
            lines,
            size,
            stripes,
        }
    }
}

impl From<AtomicLines> for Bitmap {
    /// Takes the memory over; nothing is copied.
    fn from(bits: AtomicLines) -> Bitmap {
        Bitmap::from_lines(bits.lines.into_plain(), bits.size)
    }
}

impl fmt::Debug for AtomicLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicLines")
            .field("size", &self.size)
            .field("ones", &self.count_ones())
            .finish()
    }
}
