//! Bits that many threads set at once, without locks.
//!
//! A bit is set by one `fetch_or` whose old value shows whether this call changed it, so exactly one of many
//! threads that set one bit learns that it did. Setting releases and reading acquires: a thread that
//! sees a bit also sees what its setter did before. On a CPU without atomic operations of 64 bits each word has a
//! short lock instead, which an interrupt must not wait for.

use core::fmt;

#[cfg(not(loom))]
use core::sync::atomic::Ordering;
#[cfg(loom)]
use loom::sync::atomic::Ordering;

use super::bitmap::past_end;
use super::line::{AtomicU64, Lines, place};
use super::prefetch::prefetch;
use super::stripes::{Held, Stripes};
use super::{Bitmap, Bits};
use crate::Result;

/// Bits in shared memory, set through `&self`.
///
/// ```
/// use mayhap::bits::{AtomicBitmap, Bits};
///
/// let bits = AtomicBitmap::new(1000)?;
/// let changed: usize = std::thread::scope(|scope| {
///     let threads = [0, 1].map(|_| scope.spawn(|| (0..1000).filter(|&bit| bits.set(bit)).count()));
///     threads.map(|thread| thread.join().expect("no panic")).iter().sum()
/// });
/// assert_eq!(changed, 1000, "each bit was changed by exactly one thread");
/// assert_eq!(bits.count_ones(), 1000);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub struct AtomicBitmap {
    lines: Lines<AtomicU64>,
    size: u64,
    /// Locks for filters: bits alone cannot say which thread was the first to insert a key.
    keys: Stripes,
}

impl AtomicBitmap {
    /// Makes a bitmap of `size` zeros.
    ///
    /// # Errors
    ///
    /// When there is no memory for that many bits.
    pub fn new(size: u64) -> Result<AtomicBitmap> {
        Ok(AtomicBitmap {
            lines: Lines::zeroed(size)?,
            size,
            keys: Stripes::new(u64::MAX),
        })
    }

    /// Sets the bit at `position`; true when this call changed it.
    ///
    /// # Panics
    ///
    /// When `position` is past the end.
    #[inline]
    pub fn set(&self, position: u64) -> bool {
        if position >= self.size {
            past_end(position, self.size);
        }
        let word = &self.lines.words()[place(position / 64)];
        let mask = 1 << (position % 64);
        // Reading first spares the line a write when the bit is set. The answer must still come from
        // the write: between the two another thread may have set the bit.
        if word.load(Ordering::Acquire) & mask != 0 {
            return false;
        }
        word.fetch_or(mask, Ordering::AcqRel) & mask == 0
    }

    /// Holds the lock of a key: no other thread inserts a key of an equal hash until it is dropped.
    #[inline]
    pub(crate) fn lock_key(&self, hash: u64) -> Held<'_> {
        self.keys.lock(self.keys.of(hash))
    }

    /// Clears every bit. The exclusive reference shows that no thread is setting any.
    pub fn clear_all(&mut self) {
        for word in self.lines.words_mut() {
            *word = AtomicU64::default();
        }
    }
}

impl Bits for AtomicBitmap {
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
            Some(line) => core::array::from_fn(|lane| line.0[lane].load(Ordering::Acquire)),
            None => [0; 8],
        }
    }

    #[inline(always)]
    fn prefetch_line(&self, index: u64) {
        prefetch(self.lines.as_ptr().wrapping_add(place(index)));
    }
}

impl From<Bitmap> for AtomicBitmap {
    /// Takes the memory over; nothing is copied.
    fn from(bitmap: Bitmap) -> AtomicBitmap {
        let (lines, size) = bitmap.into_lines();
        AtomicBitmap {
            lines: lines.into_atomic(),
            size,
            keys: Stripes::new(u64::MAX),
        }
    }
}

impl From<AtomicBitmap> for Bitmap {
    /// Takes the memory over; nothing is copied.
    fn from(bits: AtomicBitmap) -> Bitmap {
        Bitmap::from_lines(bits.lines.into_plain(), bits.size)
    }
}

impl fmt::Debug for AtomicBitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicBitmap")
            .field("size", &self.size)
            .field("ones", &self.count_ones())
            .finish()
    }
}
