//! Columns that are NumPy arrays, through Python's buffer protocol.

#![allow(unsafe_code)]

use std::sync::Arc;

use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;

use super::arrow::Columns;
use super::column::{Column, Values};
use super::memory::Memory;
use super::{Library, Source};
use crate::error::{Result, value, wrong_type};

/// Reads the keys of an array, or of an object that NumPy makes an array of.
pub(super) fn source<'py>(object: &Bound<'py, PyAny>) -> Result<Source<'py>> {
    let py = object.py();
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (object,))?;
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    if dimensions != 1 {
        return Err(value(format!(
            "the array has {dimensions} dimensions; expected 1: use ravel()"
        )));
    }
    let dtype = array.getattr("dtype")?;
    let kind: char = dtype.getattr("kind")?.extract()?;
    let width: usize = dtype.getattr("itemsize")?.extract()?;
    let rows: usize = array.len()?;
    // An array that is not contiguous, or in the other byte order, is copied.
    let view = |numbers: &str| -> PyResult<Bound<'py, PyAny>> {
        let here = dtype.call_method1("newbyteorder", ("=",))?;
        let array = numpy.call_method1("ascontiguousarray", (&array, here))?;
        array.call_method1("view", (numbers,))
    };
    let values = match (kind, width) {
        ('b', _) => Values::U8(memory(&view("uint8")?)?),
        ('i', 1) => Values::I8(memory(&view("int8")?)?),
        ('u', 1) => Values::U8(memory(&view("uint8")?)?),
        ('i', 2) => Values::I16(memory(&view("int16")?)?),
        ('u', 2) => Values::U16(memory(&view("uint16")?)?),
        ('i', 4) => Values::I32(memory(&view("int32")?)?),
        ('u', 4) => Values::U32(memory(&view("uint32")?)?),
        // Signed or not, the bits of the key are the same.
        ('i' | 'u', 8) => Values::I64(memory(&view("int64")?)?),
        // Only empty keys.
        ('S' | 'U', 0) => Values::Fixed(0, memory(&numpy.call_method1("empty", (0, "uint8"))?)?),
        ('S', width) => Values::Padded(width, memory(&view("uint8")?)?),
        ('U', width) => Values::Characters(width / 4, memory(&view("uint32")?)?),
        ('O' | 'T', _) => return Ok(Source::Objects(array.call_method0("tolist")?)),
        _ => {
            return Err(wrong_type(format!(
                "keys are text, bytes or integers; got an array of {dtype}"
            )));
        }
    };
    let column = Column {
        values,
        present: None,
        rows: 0..rows,
    };
    Ok(Source::Columns(Columns::one(column), Library::NumPy))
}

/// Borrows the numbers of a contiguous array.
fn memory<T: Element + Send + Sync + 'static>(array: &Bound<'_, PyAny>) -> Result<Memory<T>> {
    let buffer = PyBuffer::<T>::get(array)?;
    let Some(numbers) = buffer.as_slice_ptr() else {
        return Err(value("the array is not in one piece"));
    };
    let start = numbers.as_ptr().cast::<T>().cast_const();
    // SAFETY: The buffer has this many numbers there, and they stay as long as it is held.
    Ok(unsafe { Memory::new(start, numbers.len(), Arc::new(buffer)) })
}
