//! One key: the bytes of a `str`, `bytes` or `int`, the same as in Rust and in the command.

use std::slice;

use mayhap::Fields;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyInt, PyMemoryView, PyString, PyTuple};

use crate::error::{Result, wrong_type};

/// The bytes of a key.
pub(crate) enum KeyBytes<'a> {
    Borrowed(&'a [u8]),
    /// A number, little-endian.
    Number([u8; 8]),
    Owned(Vec<u8>),
}

impl AsRef<[u8]> for KeyBytes<'_> {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        match self {
            KeyBytes::Borrowed(bytes) => bytes,
            KeyBytes::Number(bytes) => bytes,
            KeyBytes::Owned(bytes) => bytes,
        }
    }
}

/// Returns the UTF-8 of a `str`, but not of a type derived from it; `None` for everything else.
///
/// If a `str` has no UTF-8, because of a lone surrogate, an exception is made and dropped, which can run any Python
/// code.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn exact_text<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    if !object.is_exact_instance_of::<PyString>() {
        return None;
    }
    let mut length = 0;
    // SAFETY: Python is attached, and `object` is a `str` that the caller holds during the call.
    let first = unsafe { ffi::PyUnicode_AsUTF8AndSize(object.as_ptr(), &raw mut length) };
    if first.is_null() {
        drop(PyErr::take(object.py()));
        return None;
    }
    // SAFETY: The call returned the address of this many bytes, which Python keeps as long as the object.
    Some(unsafe { slice::from_raw_parts(first.cast(), length as usize) })
}

/// Returns an `int` that fits in 64 bits, but not of a derived type; `None` for everything else. Runs no Python code.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn exact_number(object: &Bound<'_, PyAny>) -> Option<i64> {
    if !object.is_exact_instance_of::<PyInt>() {
        return None;
    }
    let mut overflow = 0;
    // SAFETY: Python is attached, and `object` is an `int` that the caller holds: overflow is the only error left.
    let number = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &raw mut overflow) };
    (overflow == 0).then_some(number)
}

/// Returns the content of a `bytes`, but not of a derived type; `None` for everything else. Runs no Python code.
#[inline(always)]
pub(crate) fn exact_bytes<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    if !object.is_exact_instance_of::<PyBytes>() {
        return None;
    }
    object.cast::<PyBytes>().ok().map(|bytes| bytes.as_bytes())
}

/// Returns the bytes of a key.
pub(crate) fn key<'a>(object: &'a Bound<'_, PyAny>) -> Result<KeyBytes<'a>> {
    if let Some(text) = exact_text(object) {
        return Ok(KeyBytes::Borrowed(text));
    }
    if let Some(number) = exact_number(object) {
        return Ok(KeyBytes::Number(number.to_le_bytes()));
    }
    derived(object)
}

fn text<'a>(object: &'a Bound<'_, PyAny>) -> Result<KeyBytes<'a>> {
    let text = object.cast::<PyString>().map_err(PyErr::from)?;
    Ok(KeyBytes::Borrowed(text.to_str()?.as_bytes()))
}

/// Returns a number as 64 bits; one from 2^63 on becomes the negative number of the same bits.
pub(crate) fn number(object: &Bound<'_, PyAny>) -> Result<i64> {
    match object.extract::<i64>() {
        Ok(number) => Ok(number),
        Err(_) => large(object),
    }
}

#[cold]
fn large(object: &Bound<'_, PyAny>) -> Result<i64> {
    let py = object.py();
    let index = py.import("operator")?.getattr("index")?.call1((object,))?;
    // A key is its bits, so the sign does not matter.
    let refused = |_| {
        PyOverflowError::new_err(
            "a key that is an int has 64 bits: expected -2**63 to 2**64 - 1; \
             give a larger one as str or bytes",
        )
    };
    let number: u64 = index.extract().map_err(refused)?;
    Ok(number as i64)
}

fn derived<'a>(object: &'a Bound<'_, PyAny>) -> Result<KeyBytes<'a>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(KeyBytes::Borrowed(bytes.as_bytes()));
    }
    if object.is_instance_of::<PyString>() {
        return text(object);
    }
    if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
        let bytes = PyBuffer::<u8>::get(object)?.to_vec(object.py())?;
        return Ok(KeyBytes::Owned(bytes));
    }
    if object.is_instance_of::<PyInt>() || object.hasattr("__index__")? {
        return number(object).map(|number| KeyBytes::Number(number.to_le_bytes()));
    }
    Err(not_a_key(object))
}

/// The error for an object that is not a key.
fn not_a_key(object: &Bound<'_, PyAny>) -> crate::error::Error {
    let name = match object.get_type().name() {
        Ok(name) => name.to_string(),
        Err(error) => return error.into(),
    };
    let hint = match object.is_instance_of::<PyTuple>() {
        true => "; pymayhap.fields(*key) makes one of the fields of a tuple",
        false => "",
    };
    wrong_type(format!("a key is str, bytes or int; got {name}{hint}"))
}

/// Joins several fields into one key, and keeps them apart: ``fields("ab", "c")`` is not ``fields("a", "bc")``.
///
/// The bytes are those of a tuple in Rust, with numbers as ``i64``.
///
/// >>> fields(7, "/a")
/// b'\x08\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00/a'
#[pyfunction]
#[pyo3(signature = (*keys))]
pub(crate) fn fields<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyTuple>,
) -> Result<Bound<'py, PyBytes>> {
    let mut fields = Fields::new();
    for field in keys.iter() {
        fields = fields.field(key(&field)?.as_ref());
    }
    Ok(PyBytes::new(py, fields.as_ref()))
}
