//! Memory of another library, read in place.

#![allow(unsafe_code)]

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

/// The object that keeps memory alive.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

/// Values in the memory of another library.
pub(crate) enum Memory<T> {
    /// Values in place, and the object that keeps them there.
    Borrowed { values: NonNull<[T]>, _owner: Owner },
    /// A copy, because they were not aligned.
    Copied(Vec<T>),
}

// SAFETY: The values are plain numbers that are only read, and any thread may hold and drop the owner.
unsafe impl<T: Send> Send for Memory<T> {}
// SAFETY: As above: all threads only read.
unsafe impl<T: Sync> Sync for Memory<T> {}

impl<T: Copy> Memory<T> {
    /// Borrows `count` values at `start`; none if that is null.
    ///
    /// # Safety
    ///
    /// Unless `start` is null or `count` is 0, `count` initialised values are there until `owner` is dropped, and every
    /// pattern of bits is a value of `T`. No other thread may write to them meanwhile. Python cannot enforce that, so
    /// the guide asks for it: values are only hashed, or compared with the bounds of a slice.
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
            // SAFETY: `index` is below `count`, so this value is among those that the caller promises.
            let at = unsafe { start.add(index) };
            // SAFETY: A value is there, and reading it so needs no alignment.
            unsafe { at.read_unaligned() }
        });
        Memory::Copied(copy.collect())
    }

    /// Returns the values.
    pub(crate) fn values(&self) -> &[T] {
        match self {
            // SAFETY: `new` was promised that they live as long as the owner, which `self` holds; `new` checked the
            // alignment.
            Memory::Borrowed { values, .. } => unsafe { values.as_ref() },
            Memory::Copied(values) => values,
        }
    }
}
