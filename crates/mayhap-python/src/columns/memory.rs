//! Memory of another library, read where it is.

#![allow(unsafe_code)]

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

/// What keeps memory where it is.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

/// Values that another library holds, for as long as this is there.
pub(crate) enum Memory<T> {
    /// Where they are, and what keeps them there.
    Borrowed { values: NonNull<[T]>, _owner: Owner },
    /// Copied, because they were not aligned.
    Copied(Vec<T>),
}

// SAFETY: The values are plain numbers that are only read, and the owner can be held and dropped by any thread.
unsafe impl<T: Send> Send for Memory<T> {}
// SAFETY: As above: all threads only read.
unsafe impl<T: Sync> Sync for Memory<T> {}

impl<T: Copy> Memory<T> {
    /// `count` values from `start` on; none where that is null.
    ///
    /// # Safety
    ///
    /// Unless `start` is null or `count` is 0, `count` values are there, initialised, until `owner` is dropped, and every
    /// pattern of bits is a value of `T`. Whoever changes them meanwhile is told by the documentation what that does:
    /// answers are then those of old or new values.
    pub(crate) unsafe fn new(start: *const T, count: usize, owner: Owner) -> Memory<T> {
        let Some(first) = NonNull::new(start.cast_mut()).filter(|_| count > 0) else {
            return Memory::Copied(Vec::new());
        };
        if first.is_aligned() {
            let values = NonNull::slice_from_raw_parts(first, count);
            return Memory::Borrowed {
                values,
                _owner: owner,
            };
        }
        let copy = (0..count).map(|index| {
            // SAFETY: `index` is below `count`, and that many values are there.
            let at = unsafe { start.add(index) };
            // SAFETY: A value is there, which need not be aligned to be read so.
            unsafe { at.read_unaligned() }
        });
        Memory::Copied(copy.collect())
    }

    /// The values.
    pub(crate) fn values(&self) -> &[T] {
        match self {
            // SAFETY: `new` was promised that they are there as long as the owner, which `self` has; they are aligned.
            Memory::Borrowed { values, .. } => unsafe { values.as_ref() },
            Memory::Copied(values) => values,
        }
    }
}
