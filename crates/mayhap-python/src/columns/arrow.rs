//! Columns through Arrow's C data interface: from PyArrow, Polars, pandas, DuckDB, and other libraries that speak it.
//!
//! An object with `__arrow_c_stream__` or `__arrow_c_array__` returns structs that point to its memory, and a function
//! to call when we are done with it. Nothing is copied, and none of these libraries is needed. After
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
/// `release` returns the struct's own function, if it has one, and `nothing` is a struct without one.
unsafe trait Struct: Sized {
    const NAME: &'static CStr;
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn nothing() -> Self;
}

macro_rules! structs {
    ($($name:ident $capsule:literal { $($field:ident: $nothing:expr),+ };)+) => {$(
        // SAFETY: `release` returns the field, and `nothing` sets it to `None`: the other fields then mean nothing.
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

/// A struct that we own, and release when we are done with it.
struct Owned<T: Struct>(Box<T>);

// SAFETY: The interface lets any thread read and release a struct, one thread at a time; what is read does not change.
unsafe impl<T: Struct> Send for Owned<T> {}
// SAFETY: As above: all threads only read.
unsafe impl<T: Struct> Sync for Owned<T> {}

impl<T: Struct> Owned<T> {
    /// Takes the struct out of a capsule.
    fn take(object: &Bound<'_, PyAny>) -> Result<Owned<T>> {
        let capsule = object.cast::<PyCapsule>().map_err(PyErr::from)?;
        let pointer = capsule.pointer_checked(Some(T::NAME))?.cast::<T>();
        let take = || {
            // SAFETY: A capsule of this name points to such a struct, and one thread at a time takes it. The struct
            // that is left has no function, so the capsule does not release it again.
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
            // SAFETY: We own the struct, and only this releases it.
            unsafe { release(&raw mut *self.0) };
        }
    }
}

impl Owned<ArrowStream> {
    /// Calls a function of the stream that fills a struct.
    fn fill<T: Struct>(
        &mut self,
        function: Option<unsafe extern "C" fn(*mut ArrowStream, *mut T) -> c_int>,
    ) -> Result<Owned<T>> {
        let mut filled = Owned(Box::new(T::nothing()));
        let Some(function) = function else {
            return Err(value("the stream of the column lacks a function"));
        };
        // SAFETY: We own the stream, it was not released, and `filled` has room for the struct.
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

/// Columns one after the other; a stream makes each when it is asked for.
pub(crate) enum Columns {
    /// One column; `None` after it was taken.
    One(Option<Column>),
    Stream(Stream),
}

/// Columns that another library makes one by one, such as a reader of files.
pub(crate) struct Stream {
    stream: Owned<ArrowStream>,
    schema: Owned<ArrowSchema>,
    is_over: bool,
}

impl Columns {
    pub(super) fn one(column: Column) -> Columns {
        Columns::One(Some(column))
    }

    /// Takes the next columns, as few as have this many rows together, or all that are left. `None` when there are no
    /// more rows.
    pub(crate) fn next(&mut self, py: Python<'_>, rows: usize) -> Result<Option<Vec<Column>>> {
        match self {
            Columns::One(column) => Ok(column.take().map(|column| vec![column])),
            // Python's lock is released, because threads of the library that makes the columns may need it.
            Columns::Stream(stream) => Ok(py.detach(|| stream.next(rows).map_err(PyErr::from))?),
        }
    }
}

impl Stream {
    fn next(&mut self, rows: usize) -> Result<Option<Vec<Column>>> {
        let mut columns = Vec::new();
        let mut left = rows;
        while left > 0 && !self.is_over {
            let array = self.stream.fill(self.stream.0.get_next)?;
            self.is_over = array.0.release.is_none();
            if self.is_over {
                break;
            }
            let column = column(&self.schema.0, array)?;
            left = left.saturating_sub(column.len());
            columns.push(column);
        }
        Ok((left < rows).then_some(columns))
    }
}

/// Returns the columns of an object; `None` if it does not speak Arrow.
pub(super) fn columns(object: &Bound<'_, PyAny>) -> Result<Option<Columns>> {
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = match object.call_method0("__arrow_c_stream__") {
            // pandas has the method, but needs PyArrow for it.
            Err(error) if error.is_instance_of::<PyImportError>(object.py()) => return Ok(None),
            capsule => capsule?,
        };
        let mut stream = Owned::<ArrowStream>::take(&capsule)?;
        let schema = stream.fill(stream.0.get_schema)?;
        return Ok(Some(Columns::Stream(Stream {
            stream,
            schema,
            is_over: false,
        })));
    }
    if object.hasattr("__arrow_c_array__")? {
        let capsules = object.call_method0("__arrow_c_array__")?;
        let capsules = capsules.cast::<PyTuple>().map_err(PyErr::from)?;
        let schema = Owned::<ArrowSchema>::take(&capsules.get_item(0)?)?;
        let array = Owned::<ArrowArray>::take(&capsules.get_item(1)?)?;
        return Ok(Some(Columns::one(column(&schema.0, array)?)));
    }
    Ok(None)
}

fn column(schema: &ArrowSchema, array: Owned<ArrowArray>) -> Result<Column> {
    let array = Arc::new(array);
    let owner: Owner = array.clone();
    read(schema, &array.0, &owner)
}

fn read(schema: &ArrowSchema, array: &ArrowArray, owner: &Owner) -> Result<Column> {
    // SAFETY: The interface requires a format, a string that lives as long as the schema.
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
            // SAFETY: Neither is null, and both live as long as the schema and the array that they are part of.
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

/// Returns the only column of a table.
fn only_child(schema: &ArrowSchema, array: &ArrowArray, owner: &Owner) -> Result<Column> {
    if schema.n_children != 1 || array.n_children != 1 {
        return Err(value(format!(
            "the table has {} columns; expected 1: select the column of the keys",
            schema.n_children
        )));
    }
    // SAFETY: There is one child, so `children` points to one address.
    let child_schema = unsafe { schema.children.read() };
    // SAFETY: The address is that of a child, which lives as long as its parent.
    let child_schema = unsafe { &*child_schema };
    // SAFETY: There is one child, so `children` points to one address.
    let child = unsafe { array.children.read() };
    // SAFETY: The address is that of a child, which lives as long as its parent.
    let child = unsafe { &*child };
    let mut column = read(child_schema, child, owner)?;
    // The rows of the parent are rows of the child, from the parent's offset on.
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
    /// The rows in memory, counted from 0, not from the offset.
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
        // SAFETY: `buffers` points to `count` addresses, and `index` is below that.
        let at = unsafe { self.array.buffers.add(index) };
        // SAFETY: As above.
        Ok(unsafe { *at })
    }

    fn memory<T: Copy>(&self, index: usize, count: usize) -> Result<Memory<T>> {
        let start = self.buffer(index)?.cast::<T>();
        // SAFETY: Callers ask for no more than the interface says there is in a buffer for `end` rows. The buffer lives
        // until the array is released, which the owner does. Every `T` here is a number or bytes.
        Ok(unsafe { Memory::new(start, count, Arc::clone(self.owner)) })
    }

    /// Reads the values of a column whose type has this name in the interface.
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
            // Signed or not, the bits of the key are the same.
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

    /// The number of offsets. An empty column may have none.
    fn offsets(&self) -> usize {
        match self.end {
            0 => 0,
            end => end + 1,
        }
    }
}
