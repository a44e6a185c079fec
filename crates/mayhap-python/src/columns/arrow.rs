//! Columns through Arrow's C data interface: of PyArrow, Polars, pandas, DuckDB, and whatever else speaks it.
//!
//! An object with `__arrow_c_stream__` or `__arrow_c_array__` gives structs that point to its memory, and a function to
//! call when we are done with it. Nothing is copied, and none of these libraries is needed. After
//! <https://arrow.apache.org/docs/format/CDataInterface.html>.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyCapsule, PyTuple};

use super::column::{Column, Values};
use super::memory::{Memory, Owner};
use crate::error::{Result, value, wrong_type};

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowStream)>,
    private_data: *mut c_void,
}

/// A struct of the interface, which has to be released.
///
/// # Safety
///
/// `release` is the function that the struct names, if any, and `nothing` is the struct with no function.
unsafe trait Struct: Sized {
    const NAME: &'static CStr;
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn nothing() -> Self;
}

macro_rules! structs {
    ($($name:ident $capsule:literal { $($field:ident: $nothing:expr),+ };)+) => {$(
        // SAFETY: As the trait asks; all other fields mean nothing without a function.
        unsafe impl Struct for $name {
            const NAME: &'static CStr = $capsule;

            fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
                self.release
            }

            fn nothing() -> $name {
                $name { release: None, private_data: ptr::null_mut(), $($field: $nothing),+ }
            }
        }
    )+};
}
structs! {
    ArrowSchema c"arrow_schema" {
        format: ptr::null(), name: ptr::null(), metadata: ptr::null(), flags: 0, n_children: 0,
        children: ptr::null_mut(), dictionary: ptr::null_mut()
    };
    ArrowArray c"arrow_array" {
        length: 0, null_count: 0, offset: 0, n_buffers: 0, n_children: 0, buffers: ptr::null(),
        children: ptr::null_mut(), dictionary: ptr::null_mut()
    };
    ArrowStream c"arrow_array_stream" { get_schema: None, get_next: None, get_last_error: None };
}

/// A struct that we have, and release when we are done with it.
struct Owned<T: Struct>(Box<T>);

// SAFETY: The interface lets any thread read and release a struct, one thread at a time; what is read stays as it is.
unsafe impl<T: Struct> Send for Owned<T> {}
// SAFETY: As above: all threads only read.
unsafe impl<T: Struct> Sync for Owned<T> {}

impl<T: Struct> Owned<T> {
    /// Takes the struct out of a capsule.
    fn take(object: &Bound<'_, PyAny>) -> Result<Owned<T>> {
        let capsule = object.cast::<PyCapsule>().map_err(PyErr::from)?;
        let pointer = capsule.pointer_checked(Some(T::NAME))?.cast::<T>();
        let take = || {
            // SAFETY: A capsule of this name points to such a struct, which one thread at a time takes. What is left there
            // says that it was released, which keeps the capsule from doing so.
            unsafe { pointer.as_ptr().replace(T::nothing()) }
        };
        // Without Python's lock, threads that were given one capsule would both take what is in it.
        let taken = with_critical_section(capsule, take);
        match taken.release() {
            Some(_) => Ok(Owned(Box::new(taken))),
            None => Err(value("the capsule of the column was used before")),
        }
    }
}

impl<T: Struct> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release() {
            // SAFETY: The struct is ours, and this is the only place that releases it.
            unsafe { release(&raw mut *self.0) };
        }
    }
}

impl Owned<ArrowStream> {
    /// Calls a function of the stream, which fills a struct.
    fn fill<T: Struct>(
        &mut self,
        function: Option<unsafe extern "C" fn(*mut ArrowStream, *mut T) -> c_int>,
    ) -> Result<Owned<T>> {
        let mut filled = Owned(Box::new(T::nothing()));
        let Some(function) = function else {
            return Err(value("the stream of the column lacks a function"));
        };
        // SAFETY: The stream is ours and was not released, and there is room for the struct.
        let code = unsafe { function(&raw mut *self.0, &raw mut *filled.0) };
        if code == 0 {
            return Ok(filled);
        }
        let text = self.0.get_last_error.and_then(|last| {
            // SAFETY: As above.
            let text = unsafe { last(&raw mut *self.0) };
            // SAFETY: It is null, or a string that stays until the next call.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
        });
        let text = text.map_or("no reason given".into(), |text| text.to_string_lossy());
        Err(value(format!("the stream of the column failed: {text}")))
    }
}

/// The columns that an object gives, one after the other; `None` where it does not speak Arrow.
pub(super) fn columns(object: &Bound<'_, PyAny>) -> Result<Option<Vec<Column>>> {
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = match object.call_method0("__arrow_c_stream__") {
            // pandas has the method, but needs PyArrow for it.
            Err(error) if error.is_instance_of::<PyImportError>(object.py()) => return Ok(None),
            capsule => capsule?,
        };
        let mut stream = Owned::<ArrowStream>::take(&capsule)?;
        let schema = stream.fill(stream.0.get_schema)?;
        let mut columns = Vec::new();
        loop {
            let array = stream.fill(stream.0.get_next)?;
            if array.0.release.is_none() {
                return Ok(Some(columns));
            }
            columns.push(column(&schema.0, array)?);
        }
    }
    if object.hasattr("__arrow_c_array__")? {
        let capsules = object.call_method0("__arrow_c_array__")?;
        let capsules = capsules.cast::<PyTuple>().map_err(PyErr::from)?;
        let schema = Owned::<ArrowSchema>::take(&capsules.get_item(0)?)?;
        let array = Owned::<ArrowArray>::take(&capsules.get_item(1)?)?;
        return Ok(Some(vec![column(&schema.0, array)?]));
    }
    Ok(None)
}

fn column(schema: &ArrowSchema, array: Owned<ArrowArray>) -> Result<Column> {
    let array = Arc::new(array);
    let owner: Owner = array.clone();
    read(schema, &array.0, &owner)
}

fn read(schema: &ArrowSchema, array: &ArrowArray, owner: &Owner) -> Result<Column> {
    // SAFETY: A format is a string that stays as long as the schema.
    let format = unsafe { CStr::from_ptr(schema.format) };
    let format = format.to_str().unwrap_or_default();
    if format == "+s" {
        return only_child(schema, array, owner);
    }
    let number = |number: i64| {
        usize::try_from(number).map_err(|_| value(format!("a length of the column is {number}")))
    };
    let (offset, length) = (number(array.offset)?, number(array.length)?);
    let reader = Reader {
        array,
        owner,
        end: offset + length,
    };
    let values = match schema.dictionary.is_null() || array.dictionary.is_null() {
        true => reader.values(format)?,
        false => {
            // SAFETY: Neither is null, and both stay as long as what they are part of.
            let schema = unsafe { &*schema.dictionary };
            // SAFETY: As above.
            let dictionary = unsafe { &*array.dictionary };
            let dictionary = read(schema, dictionary, owner)?;
            Values::Dictionary(Box::new(reader.values(format)?), Box::new(dictionary))
        }
    };
    let has_bits = array.null_count != 0 && !matches!(values, Values::Null);
    let present = match has_bits && !reader.buffer(0)?.is_null() {
        true => Some(reader.memory(0, reader.end.div_ceil(8))?),
        false => None,
    };
    Ok(Column {
        values,
        present,
        rows: offset..offset + length,
    })
}

/// The column of a table that has no other.
fn only_child(schema: &ArrowSchema, array: &ArrowArray, owner: &Owner) -> Result<Column> {
    if schema.n_children != 1 || array.n_children != 1 {
        return Err(value(format!(
            "the table has {} columns; expected 1: select the column of the keys",
            schema.n_children
        )));
    }
    // SAFETY: There is one child, so its address can be read.
    let child_schema = unsafe { schema.children.read() };
    // SAFETY: A child stays as long as its parent.
    let child_schema = unsafe { &*child_schema };
    // SAFETY: There is one child, so its address can be read.
    let child = unsafe { array.children.read() };
    // SAFETY: A child stays as long as its parent.
    let child = unsafe { &*child };
    let mut column = read(child_schema, child, owner)?;
    // Rows of the parent are rows of the child, from an offset of its own on.
    let start = column.rows.start + usize::try_from(array.offset).unwrap_or_default();
    let end = start + usize::try_from(array.length).unwrap_or_default();
    if end > column.rows.end {
        return Err(value("the table has more rows than its column"));
    }
    column.rows = start..end;
    Ok(column)
}

/// The buffers of an array.
struct Reader<'a> {
    array: &'a ArrowArray,
    owner: &'a Owner,
    /// The rows in memory: from 0, not from the offset.
    end: usize,
}

impl Reader<'_> {
    fn buffer(&self, index: usize) -> Result<*const c_void> {
        let count = usize::try_from(self.array.n_buffers).unwrap_or_default();
        if index >= count || self.array.buffers.is_null() {
            return Err(value(format!(
                "the column has {count} buffers; expected at least {}",
                index + 1
            )));
        }
        // SAFETY: There are `count` buffers.
        let at = unsafe { self.array.buffers.add(index) };
        // SAFETY: As above.
        Ok(unsafe { *at })
    }

    fn memory<T: Copy>(&self, index: usize, count: usize) -> Result<Memory<T>> {
        let start = self.buffer(index)?.cast::<T>();
        // SAFETY: The interface says how much there is in a buffer, and callers ask for no more; it stays until the array
        // is released, which the owner does. All `T` here are numbers or bytes.
        Ok(unsafe { Memory::new(start, count, Arc::clone(self.owner)) })
    }

    /// The values of a column whose type has this name in the interface.
    fn values(&self, format: &str) -> Result<Values> {
        let end = self.end;
        Ok(match format {
            "n" => Values::Null,
            "b" => Values::Bits(self.memory(1, end.div_ceil(8))?),
            "c" => Values::I8(self.memory(1, end)?),
            "C" => Values::U8(self.memory(1, end)?),
            "s" => Values::I16(self.memory(1, end)?),
            "S" => Values::U16(self.memory(1, end)?),
            "i" => Values::I32(self.memory(1, end)?),
            "I" => Values::U32(self.memory(1, end)?),
            // Both have the bits of the key.
            "l" | "L" => Values::I64(self.memory(1, end)?),
            "u" | "z" => {
                let offsets: Memory<i32> = self.memory(1, self.offsets())?;
                let bytes = offsets.values().last().copied().unwrap_or_default();
                let bytes = self.memory(2, usize::try_from(bytes).unwrap_or_default())?;
                Values::Short(offsets, bytes)
            }
            "U" | "Z" => {
                let offsets: Memory<i64> = self.memory(1, self.offsets())?;
                let bytes = offsets.values().last().copied().unwrap_or_default();
                let bytes = self.memory(2, usize::try_from(bytes).unwrap_or_default())?;
                Values::Long(offsets, bytes)
            }
            "vu" | "vz" => {
                let others = usize::try_from(self.array.n_buffers).unwrap_or_default();
                let others = others.saturating_sub(3);
                let lengths: Memory<i64> = self.memory(2 + others, others)?;
                let lengths = lengths.values().iter().enumerate();
                let buffers = lengths.map(|(index, &length)| {
                    self.memory(2 + index, usize::try_from(length).unwrap_or_default())
                });
                let buffers = buffers.collect::<Result<_>>()?;
                Values::Views(self.memory(1, end)?, buffers)
            }
            other => match other.strip_prefix("w:").map(str::parse::<usize>) {
                Some(Ok(width)) => Values::Fixed(width, self.memory(1, end.saturating_mul(width))?),
                _ => {
                    return Err(wrong_type(format!(
                        "keys are text, bytes or integers; got a column whose Arrow format is {other:?}"
                    )));
                }
            },
        })
    }

    /// How many offsets there are. An empty column may have none.
    fn offsets(&self) -> usize {
        match self.end {
            0 => 0,
            end => end + 1,
        }
    }
}
