//! The keys of lists and tuples, run by run.

#![allow(unsafe_code)]

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use super::column::{Keys, RUN};
use crate::error::Result;
use crate::key::{KeyBytes, exact_bytes, exact_number, exact_text, key, number};

/// The number of objects that are prefetched ahead: they can be anywhere in memory.
const AHEAD: usize = 16;

/// Calls `see` with the objects of a list or tuple as keys, run by run and in order.
///
/// Holds no lock of ours when it calls `see`, which takes one. Where `stays` returns true, `see` neither runs Python
/// code nor releases Python's lock, so nothing can change the list meanwhile, and its objects are read as borrowed
/// references. Signals are handled between runs, so that Ctrl-C ends a long list.
pub(crate) fn objects(
    sequence: &Bound<'_, PyAny>,
    stays: impl Fn() -> bool,
    mut see: impl FnMut(Keys<'_>) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    loop {
        sequence.py().check_signals()?;
        // Code that ran since the last run may have changed the list.
        let end = sequence.len()?.min(start + RUN);
        if start >= end {
            return Ok(());
        }
        let is_seen = stays() && {
            // SAFETY: `see_exact` uses no object after Python code may have run, and where `stays` is true `see` runs
            // none.
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

/// Borrows the objects from `start` to `end`, all of which exist.
///
/// # Safety
///
/// None may be used after Python code has run: it can change the list, and so free them.
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
        // SAFETY: Python is attached, and `get` is the function for the type of the sequence.
        let object = unsafe { get(sequence.as_ptr(), index as ffi::Py_ssize_t) };
        // SAFETY: There is an object at `index`, and the sequence holds it as long as nothing changes the sequence.
        unsafe { Borrowed::from_ptr(sequence.py(), object) }
    };
    (start..end).map(object).collect()
}

/// Returns the object at `index`; `None` if the list has become shorter.
fn held<'py>(sequence: &Bound<'py, PyAny>, index: usize) -> Option<Bound<'py, PyAny>> {
    match sequence.cast::<PyList>() {
        Ok(list) => list.get_item(index).ok(),
        Err(_) => sequence.cast::<PyTuple>().ok()?.get_item(index).ok(),
    }
}

/// Calls `see` if the keys are all numbers, or all text or bytes, of no derived type; otherwise returns false.
///
/// A text without UTF-8 raises an exception, and making that runs the collector and so any `__del__`, which may empty
/// the list. So each text is held while it is read, and no object is used after the first that cannot be read.
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
        // A reference of our own: `to_owned` of a borrowed reference is borrowed too.
        let held: Bound<'_, PyAny> = Bound::clone(object);
        match exact_text(object).or_else(|| exact_bytes(object)) {
            Some(bytes) => keys.push(bytes),
            None => return Ok(false),
        }
        drop(held);
    }
    see(Keys::Bytes(&keys))?;
    Ok(true)
}

/// Prefetches an object that will soon be read: its type, and its first bytes.
#[inline(always)]
fn prefetch(object: &Bound<'_, PyAny>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first: *const i8 = object.as_ptr().cast();
        // SAFETY: A prefetch is a hint and reads nothing, so any address is allowed.
        unsafe { _mm_prefetch(first, _MM_HINT_T0) };
        // SAFETY: As above.
        unsafe { _mm_prefetch(first.wrapping_add(64), _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = object;
}

/// Calls `see` with keys of any type.
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
