//! Bits that many threads set at once, without locks.
//!
//! A bit is set by one `fetch_or` whose old value tells whether this call changed it, so of many
//! threads that set one bit exactly one is told so. Setting releases and reading acquires: who
//! sees a bit also sees what its setter did before.

use alloc::boxed::Box;
use core::fmt;

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};

use super::line::{Line, zeroed};
use super::{Bitmap, Bits};
use crate::Result;

/// Bits in shared memory, set through `&self`.
///
/// ```
/// use mayhap::{AtomicBitmap, Bits};
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
    lines: Box<[Line<AtomicU64>]>,
    size: u64,
}

impl AtomicBitmap {
    /// A bitmap of `size` zeros.
    ///
    /// # Errors
    ///
    /// When there is no memory for that many bits.
    pub fn new(size: u64) -> Result<AtomicBitmap> {
        Ok(AtomicBitmap {
            lines: zeroed(size)?,
            size,
        })
    }

    /// Sets the bit at `position`; true when this call changed it.
    ///
    /// # Panics
    ///
    /// When `position` is past the end.
    #[inline]
    pub fn set(&self, position: u64) -> bool {
        assert!(
            position < self.size,
            "position {position} is past the end of {} bits",
            self.size
        );
        let index = position / 64;
        let word = &self.lines[(index / 8) as usize].0[(index % 8) as usize];
        let mask = 1 << (position % 64);
        // Looking first spares the line a write when the bit is there. The answer must come from
        // the write all the same: between the two another thread may have set the bit.
        if word.load(Ordering::Acquire) & mask != 0 {
            return false;
        }
        word.fetch_or(mask, Ordering::AcqRel) & mask == 0
    }

    /// Clears every bit. The exclusive reference shows that no thread is setting any.
    pub fn clear_all(&mut self) {
        for word in self.lines.iter_mut().flat_map(|line| &mut line.0) {
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
        match self.lines.get((index / 8) as usize) {
            Some(line) => line.0[(index % 8) as usize].load(Ordering::Acquire),
            None => 0,
        }
    }
}

impl From<Bitmap> for AtomicBitmap {
    fn from(bitmap: Bitmap) -> AtomicBitmap {
        AtomicBitmap {
            lines: bitmap
                .lines
                .iter()
                .map(|line| Line(line.0.map(AtomicU64::new)))
                .collect(),
            size: bitmap.size(),
        }
    }
}

impl From<AtomicBitmap> for Bitmap {
    fn from(bits: AtomicBitmap) -> Bitmap {
        let words =
            |line: &Line<AtomicU64>| core::array::from_fn(|i| line.0[i].load(Ordering::Acquire));
        let lines = bits.lines.iter().map(|line| Line(words(line))).collect();
        Bitmap::from_lines(lines, bits.size)
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
