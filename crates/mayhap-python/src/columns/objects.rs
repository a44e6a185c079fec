//! The keys of lists and tuples, some at a time.

#![allow(unsafe_code)]

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use super::column::{Keys, RUN};
use crate::error::Result;
use crate::key::{KeyBytes, exact_bytes, exact_number, exact_text, key, number};

/// How many objects ahead memory is asked for: they lie anywhere.
const AHEAD: usize = 16;

/// Calls `see` with the objects of a list or tuple as keys, some at a time and in order.
///
/// No lock of ours is held before `see` takes one. Where `stays` is true, `see` neither runs Python code nor gives
/// Python's lock back, so that nothing can change the list meanwhile: its objects are then read without being held.
pub(crate) fn objects(
    sequence: &Bound<'_, PyAny>,
    stays: impl Fn() -> bool,
    mut see: impl FnMut(Keys<'_>) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    loop {
        // What ran since the last time may have changed the list.
        let end = sequence.len()?.min(start + RUN);
        if start >= end {
            return Ok(());
        }
        let is_seen = stays() && {
            // SAFETY: Nothing runs that could change the list before the objects are dropped.
            let objects = unsafe { borrowed(sequence, start, end) };
            see_exact(&objects, &mut see)?
        };
        if !is_seen {
            let objects: Vec<_> = (start..end)
                .map_while(|index| held(sequence, index))
                .collect();
            see_any(&objects, &mut see)?;
        }
        start = end;
    }
}

/// The objects from `start` to `end`, all of which are there.
///
/// # Safety
///
/// Until they are dropped, nothing may change the list, so no Python code may run.
unsafe fn borrowed<'a, 'py>(
    sequence: &'a Bound<'py, PyAny>,
    start: usize,
    end: usize,
) -> Vec<Borrowed<'a, 'py, PyAny>> {
    let get = match sequence.is_instance_of::<PyList>() {
        true => ffi::PyList_GetItem,
        false => ffi::PyTuple_GetItem,
    };
    let object = |index: usize| {
        // SAFETY: Python is attached, and `get` is for what the sequence is.
        let object = unsafe { get(sequence.as_ptr(), index as ffi::Py_ssize_t) };
        // SAFETY: There is an object at `index`, which the sequence holds, as long as nothing changes it.
        unsafe { Borrowed::from_ptr(sequence.py(), object) }
    };
    (start..end).map(object).collect()
}

/// The object at `index`; `None` where the list has become shorter.
fn held<'py>(sequence: &Bound<'py, PyAny>, index: usize) -> Option<Bound<'py, PyAny>> {
    match sequence.cast::<PyList>() {
        Ok(list) => list.get_item(index).ok(),
        Err(_) => sequence.cast::<PyTuple>().ok()?.get_item(index).ok(),
    }
}

/// Sees keys that are all numbers, or all text or bytes, of no derived type; false where they are not, and none was seen.
/// Runs no Python code but in `see`.
fn see_exact(
    objects: &[Borrowed<'_, '_, PyAny>],
    see: &mut impl FnMut(Keys<'_>) -> Result<()>,
) -> Result<bool> {
    for object in &objects[..objects.len().min(AHEAD)] {
        prefetch(object);
    }
    let mut ahead = objects.iter().skip(AHEAD);
    let mut ask_for_next = || {
        if let Some(object) = ahead.next() {
            prefetch(object);
        }
    };
    if objects[0].is_exact_instance_of::<PyInt>() {
        let mut numbers = Vec::with_capacity(RUN);
        for object in objects {
            ask_for_next();
            match exact_number(object) {
                Some(number) => numbers.push(number),
                None => return Ok(false),
            }
        }
        see(Keys::Numbers(&numbers))?;
        return Ok(true);
    }
    let mut keys = Vec::with_capacity(RUN);
    for object in objects {
        ask_for_next();
        match exact_text(object).or_else(|| exact_bytes(object)) {
            Some(bytes) => keys.push(bytes),
            None => return Ok(false),
        }
    }
    see(Keys::Bytes(&keys))?;
    Ok(true)
}

/// Hints that an object will soon be read: what it is, and its first bytes.
#[inline(always)]
fn prefetch(object: &Bound<'_, PyAny>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first: *const i8 = object.as_ptr().cast();
        // SAFETY: A hint reads nothing, so any address will do.
        unsafe { _mm_prefetch(first, _MM_HINT_T0) };
        // SAFETY: As above.
        unsafe { _mm_prefetch(first.wrapping_add(64), _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = object;
}

/// Sees keys of any type.
fn see_any(
    objects: &[Bound<'_, PyAny>],
    see: &mut impl FnMut(Keys<'_>) -> Result<()>,
) -> Result<()> {
    if objects
        .iter()
        .all(|object| object.is_exact_instance_of::<PyInt>())
    {
        let numbers = objects.iter().map(number).collect::<Result<Vec<i64>>>()?;
        return see(Keys::Numbers(&numbers));
    }
    let held = objects
        .iter()
        .map(key)
        .collect::<Result<Vec<KeyBytes<'_>>>>()?;
    let keys: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
    see(Keys::Bytes(&keys))
}
