//! Buckets of slots, each slot empty or a fingerprint: the table of a cuckoo filter, without its hashing.
//!
//! A fingerprint is in a slot of one of two buckets, its [`Home`]. The filter chooses the fingerprint and the buckets of a key, and
//! how others move to make room. Slot `s` of bucket `b` has `w` bits, from bit `(b n + s) w` on where buckets have `n` slots;
//! zeros are an empty slot.

use alloc::vec::Vec;

use super::{Bitmap, Bits};

/// The fingerprint of a key, and the two buckets that it may be in.
#[derive(Debug, Clone, Copy)]
pub struct Home {
    /// The fingerprint, which is not 0.
    pub fingerprint: u64,
    /// The two may be the same.
    pub buckets: [u64; 2],
}

impl Home {
    /// The buckets, each once.
    pub fn distinct(&self) -> &[u64] {
        match self.buckets {
            [one, other] if one == other => &self.buckets[..1],
            _ => &self.buckets,
        }
    }
}

/// Buckets of slots over bits of any storage.
///
/// ```
/// use mayhap::Bitmap;
/// use mayhap::bits::{Home, Slots};
///
/// let mut table = Slots::over(Bitmap::new(64 * 8)?, 2, 8); // 32 buckets of two slots, eight bits each
/// let home = Home { fingerprint: 0xAB, buckets: [3, 17] };
/// assert!(table.put(&home) && table.put(&home) && table.put(&home) && table.put(&home));
/// assert!(!table.put(&home), "both buckets are full");
/// assert!(table.take(&home) && table.count(&home) == 3);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Slots<B = Bitmap> {
    bits: B,
    /// The slots of a bucket.
    slots: u32,
    /// The bits of a slot.
    width: u32,
    /// A one in the lowest bit of each slot of a bucket, if a bucket has at most 64 bits.
    lowest: Option<u64>,
    /// The words that were changed and what they were before, in order, while changes may be taken back.
    changes: Option<Vec<(u64, u64)>>,
}

impl<B: Bits> Slots<B> {
    /// Buckets of this many slots, each of this many bits, over bits that exist already.
    ///
    /// # Panics
    ///
    /// When there are no slots, or they have none or more than 56 bits.
    pub fn over(bits: B, slots: u32, width: u32) -> Slots<B> {
        assert!(slots > 0 && (1..=56).contains(&width), "{slots} of {width}");
        let ones = (0..slots).map(|slot| 1 << (slot * width));
        let fits = slots.saturating_mul(width) <= 64;
        Slots {
            bits,
            slots,
            width,
            lowest: fits.then(|| ones.sum()),
            changes: None,
        }
    }

    /// The bits, as they are stored.
    pub fn bits(&self) -> &B {
        &self.bits
    }

    /// The first bit of a slot.
    #[inline]
    fn position(&self, bucket: u64, slot: u32) -> u64 {
        let slot = bucket * u64::from(self.slots) + u64::from(slot);
        slot * u64::from(self.width)
    }

    /// Reads a slot; 0 is an empty one.
    #[inline]
    pub fn get(&self, bucket: u64, slot: u32) -> u64 {
        let window = self.bits.window(self.position(bucket, slot));
        window & (u64::MAX >> (64 - self.width))
    }

    /// Finds the first slot of a bucket that holds this: a fingerprint, or 0 for an empty one.
    #[inline]
    pub fn find(&self, bucket: u64, fingerprint: u64) -> Option<u32> {
        (0..self.slots).find(|&slot| self.get(bucket, slot) == fingerprint)
    }

    /// Returns whether a bucket has the fingerprint.
    #[inline]
    pub fn has(&self, bucket: u64, fingerprint: u64) -> bool {
        let Some(lowest) = self.lowest else {
            return self.find(bucket, fingerprint).is_some();
        };
        // All slots at once: one that holds the fingerprint becomes zero, and only below a zero or in it does the
        // subtraction borrow. Bits above the bucket have no marks.
        let differences =
            self.bits.window(self.position(bucket, 0)) ^ lowest.wrapping_mul(fingerprint);
        let highest = lowest << (self.width - 1);
        differences.wrapping_sub(lowest) & !differences & highest != 0
    }

    /// Returns whether a bucket of a key has its fingerprint.
    #[inline]
    pub fn holds(&self, home: &Home) -> bool {
        let [one, other] = home.buckets;
        self.has(one, home.fingerprint) || self.has(other, home.fingerprint)
    }

    /// Counts how often the fingerprint of a key is in its buckets.
    pub fn count(&self, home: &Home) -> u64 {
        let in_bucket = |&bucket: &u64| {
            let slots = 0..self.slots;
            slots
                .filter(|&slot| self.get(bucket, slot) == home.fingerprint)
                .count() as u64
        };
        home.distinct().iter().map(in_bucket).sum()
    }

    /// Returns whether every slot of a key's buckets has its fingerprint.
    pub fn is_stuck(&self, home: &Home) -> bool {
        let all =
            |&bucket: &u64| (0..self.slots).all(|slot| self.get(bucket, slot) == home.fingerprint);
        home.distinct().iter().all(all)
    }

    /// Hints that the buckets of a key will soon be read or written.
    #[inline]
    pub fn prefetch(&self, home: &Home) {
        for bucket in home.buckets {
            self.bits.prefetch(self.position(bucket, 0));
        }
    }
}

impl Slots {
    /// Writes a slot: a fingerprint, or 0 to empty it.
    #[inline]
    pub fn set(&mut self, bucket: u64, slot: u32, fingerprint: u64) {
        let position = self.position(bucket, slot);
        let (word, shift) = (position / 64, position % 64);
        let width = u64::from(self.width);
        let mask = u64::MAX >> (64 - width);
        let low = self.bits.word(word) & !(mask << shift);
        self.set_word(word, low | fingerprint << shift);
        if shift + width > 64 {
            let high = self.bits.word(word + 1) & !(mask >> (64 - shift));
            self.set_word(word + 1, high | fingerprint >> (64 - shift));
        }
    }

    #[inline]
    fn set_word(&mut self, word: u64, value: u64) {
        if let Some(changes) = &mut self.changes {
            changes.push((word, self.bits.word(word)));
        }
        self.bits.set_word(word, value);
    }

    /// Puts a fingerprint into an empty slot of its buckets; false when there is none.
    #[inline]
    pub fn put(&mut self, home: &Home) -> bool {
        self.change(home, 0, home.fingerprint)
    }

    /// Takes a fingerprint out of its buckets once; false when it is not there.
    pub fn take(&mut self, home: &Home) -> bool {
        self.change(home, home.fingerprint, 0)
    }

    /// Replaces the first `before` in the buckets of a key.
    #[inline]
    fn change(&mut self, home: &Home, before: u64, after: u64) -> bool {
        for bucket in home.buckets {
            if let Some(slot) = self.find(bucket, before) {
                self.set(bucket, slot, after);
                return true;
            }
        }
        false
    }

    /// Empties each slot of the first `buckets` buckets whose fingerprint `take` accepts, called with the bucket and the
    /// fingerprint. Returns whether it accepted all of them.
    pub fn drain(&mut self, buckets: u64, mut take: impl FnMut(u64, u64) -> bool) -> bool {
        let mut is_empty = true;
        for bucket in 0..buckets {
            for slot in 0..self.slots {
                let fingerprint = self.get(bucket, slot);
                if fingerprint == 0 {
                    continue;
                }
                match take(bucket, fingerprint) {
                    true => self.set(bucket, slot, 0),
                    false => is_empty = false,
                }
            }
        }
        is_empty
    }

    /// Keeps note of changes from now on, so that they can be taken back.
    pub fn record(&mut self) {
        self.changes = Some(Vec::new());
    }

    /// Keeps the changes since [`record`](Slots::record).
    pub fn keep(&mut self) {
        self.changes = None;
    }

    /// Takes back the changes since [`record`](Slots::record).
    pub fn take_back(&mut self) {
        for (word, value) in self.changes.take().into_iter().flatten().rev() {
            self.bits.set_word(word, value);
        }
    }

    /// Takes out the bits.
    pub fn into_bits(self) -> Bitmap {
        self.bits
    }

    /// Empties every slot.
    pub fn clear(&mut self) {
        self.bits.clear_all();
    }

    /// Reallocates the bits; see [`Bitmap::reallocate`].
    #[cfg(not(loom))]
    pub fn reallocate(&mut self) {
        self.bits.reallocate();
    }
}
