//! Sources of many keys: lists, iterators, and columns that are read in place.

mod arrow;
mod column;
mod memory;
mod nulls;
mod numpy;
mod objects;
mod walk;

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyIterator, PyList, PyMemoryView, PyString, PyTuple};

pub(crate) use arrow::Columns;
pub(crate) use column::{Column, Keys, RUN, Rows};
pub(crate) use nulls::{NULL, Nulls};
pub(crate) use objects::objects;
pub(crate) use walk::{BodyRef, Tally, Walk};

use crate::error::{Result, wrong_type};

/// A source of many keys.
pub(crate) enum Source<'py> {
    /// Columns whose memory is read, one after the other, and the library that masks are made with.
    Columns(Columns, Library),
    /// A list or tuple.
    Sequence(Bound<'py, PyAny>),
    /// A list made from an array of objects.
    Objects(Bound<'py, PyAny>),
    /// Python code that returns one key after the other.
    Iterator(Bound<'py, PyIterator>),
}

/// The library that a column is from, and that its masks are made with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    NumPy,
    PyArrow,
    Polars,
}

impl<'py> Source<'py> {
    /// Finds out what kind of source an object is.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> Result<Source<'py>> {
        if object.is_exact_instance_of::<PyList>() || object.is_exact_instance_of::<PyTuple>() {
            return Ok(Source::Sequence(object.clone()));
        }
        if object.is_instance_of::<PyString>()
            || object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyByteArray>()
        {
            let name = object.get_type().name()?;
            return Err(wrong_type(format!(
                "many keys are expected; got one {name}: put it into a list, or use add() or `in`"
            )));
        }
        if let Some(columns) = arrow::columns(object)? {
            return Ok(Source::Columns(columns, Library::of(object)?));
        }
        // A memoryview of bytes is one key; one of numbers has a key per number.
        if object.hasattr("dtype")? || object.is_instance_of::<PyMemoryView>() {
            return numpy::source(object);
        }
        Ok(Source::Iterator(object.try_iter()?))
    }
}

impl Library {
    fn of(object: &Bound<'_, PyAny>) -> Result<Library> {
        let module: String = object.get_type().getattr("__module__")?.extract()?;
        Ok(match module.split('.').next() {
            Some("polars") => Library::Polars,
            Some("pyarrow") => Library::PyArrow,
            _ => Library::NumPy,
        })
    }

    /// Makes a mask of the library, or a list where NumPy is not installed.
    pub(crate) fn mask<'py>(self, py: Python<'py>, mask: Vec<bool>) -> Result<Bound<'py, PyAny>> {
        if self == Library::PyArrow {
            return arrow_mask(py, &mask);
        }
        let Ok(numpy) = py.import("numpy") else {
            return Ok(PyList::new(py, mask)?.into_any());
        };
        let bytes: Vec<u8> = mask.into_iter().map(u8::from).collect();
        let bytes = PyByteArray::new(py, &bytes);
        let mask = numpy.call_method1("frombuffer", (bytes, "bool"))?;
        Ok(match self {
            Library::Polars => py.import("polars")?.call_method1("Series", ("", mask))?,
            _ => mask,
        })
    }
}

/// Makes a mask of PyArrow, which has a bit per row.
fn arrow_mask<'py>(py: Python<'py>, mask: &[bool]) -> Result<Bound<'py, PyAny>> {
    let (eights, rest) = mask.as_chunks::<8>();
    let mut last = [false; 8];
    last[..rest.len()].copy_from_slice(rest);
    let bytes = eights.iter().chain([&last]).map(|eight| byte(*eight));
    let bytes = PyBytes::new(py, &bytes.collect::<Vec<u8>>());
    let pyarrow = py.import("pyarrow")?;
    let buffer = pyarrow.call_method1("py_buffer", (bytes,))?;
    let type_ = pyarrow.call_method0("bool_")?;
    let buffers = (type_, mask.len(), (py.None(), buffer));
    Ok(pyarrow
        .getattr("Array")?
        .call_method1("from_buffers", buffers)?)
}

/// Packs eight bits into a byte, the first as the lowest.
fn byte(bits: [bool; 8]) -> u8 {
    // Each product moves one bit to its place in the highest byte, and no two meet.
    let bits = u64::from_le_bytes(bits.map(u8::from));
    (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}
