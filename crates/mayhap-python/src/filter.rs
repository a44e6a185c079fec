//! The class of every filter. Python's classes for the kinds derive from it and add their constructors.

use std::path::PathBuf;

use mayhap::format::Format;
use mayhap::{AnyFilter, Description, Kind, file};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

use crate::body::{Action, Body};
use crate::columns::Nulls;
use crate::count::Count;
use crate::error::{Result, value};
use crate::make::{Made, Secret, bytes_of, decode, replace};
use crate::sets::{intersect, unite};
use crate::stats::{Stats, bytes_of_bits, html, line};
use crate::turns::Turns;
use crate::{many, one};

/// The methods of Python's class `Filter` for everything but single keys; [`one`] makes the class.
#[pyclass(subclass, frozen, weakref, module = "pymayhap")]
pub(crate) struct Filter {
    pub(crate) body: Turns<Body>,
    /// Set if all threads insert at once, without an exclusive lock.
    pub(crate) is_shared: bool,
    pub(crate) count: Count,
}

impl Filter {
    /// Calls `look` with the filter while other Python threads run.
    pub(crate) fn look<R: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Body) -> Result<R> + Send,
    ) -> Result<R> {
        let body = self.body.detached(py);
        Ok(py.detach(|| look(&body.read()).map_err(PyErr::from))?)
    }

    /// Changes the filter while other Python threads run.
    pub(crate) fn change<R: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Body) -> Result<R> + Send,
    ) -> Result<R> {
        let body = self.body.detached(py);
        Ok(py.detach(|| change(&mut body.write()).map_err(PyErr::from))?)
    }

    /// Changes the filter in memory in another way than by inserting keys.
    pub(crate) fn alter<R: Send>(
        &self,
        py: Python<'_>,
        alter: impl FnOnce(&mut AnyFilter) -> Result<R> + Send,
    ) -> Result<R> {
        self.count.roughen();
        self.change(py, |body| body.change(alter))
    }

    /// Changes this filter by another one.
    pub(crate) fn change_by<R: Send>(
        &self,
        other: &Filter,
        py: Python<'_>,
        change: impl FnOnce(&mut Body, &Body) -> Result<R> + Send,
    ) -> Result<R> {
        let (left, right) = (self.body.detached(py), other.body.detached(py));
        let done = py.detach(|| {
            let done = if left.is_before(&right) {
                let mut left = left.write();
                change(&mut left, &right.read())
            } else {
                let right = right.read();
                change(&mut left.write(), &right)
            };
            done.map_err(PyErr::from)
        });
        Ok(done?)
    }

    pub(crate) fn is_same(&self, other: &Filter) -> bool {
        std::ptr::eq(self, other)
    }
}

/// Makes a filter of a class that derives from `Filter`, after checking that it is of the kind that the class is for.
pub(crate) fn instance<'py>(
    class: &Bound<'py, PyType>,
    mut body: Body,
) -> Result<Bound<'py, PyAny>> {
    let py = class.py();
    let kind = body.description()?.kind;
    let base = one::class(py)?;
    let class = match class.is(base) {
        true => class_of(py, kind)?,
        false => class.clone(),
    };
    let expected: String = class.getattr("kind")?.extract()?;
    if !expected.is_empty() && expected != kind.name() {
        return Err(value(format!(
            "filters differ in kind: {kind} and {expected}; expected the same"
        )));
    }
    if class.getattr("_shared")?.extract()? {
        body.share();
    }
    let made = Made::filled(body)?;
    Ok(base.call_method1("__new__", (class, made))?)
}

/// Python's class for a kind.
fn class_of(py: Python<'_>, kind: Kind) -> Result<Bound<'_, PyType>> {
    let classes = py.import("pymayhap._kinds")?.getattr("CLASSES")?;
    let class = classes.get_item(kind.name())?;
    Ok(class.cast_into::<PyType>().map_err(PyErr::from)?)
}

#[pymethods]
impl Filter {
    /// The name of the kind that a class is for; empty if it is for every kind.
    #[classattr]
    fn kind() -> &'static str {
        ""
    }

    #[classattr]
    fn _shared() -> bool {
        false
    }

    #[new]
    #[pyo3(signature = (made, /))]
    fn new(made: &Bound<'_, Made>) -> Result<Filter> {
        let (body, keys) = made.get().take()?;
        Ok(Filter {
            is_shared: body.is_shared(),
            count: Count::new(body.description().ok().as_ref(), keys),
            body: Turns::new(body),
        })
    }

    /// Inserts every key of the columns and returns how many were definitely new.
    ///
    /// A column is a list, an iterable, a NumPy array, or anything that speaks Arrow. With ``threads``, columns of
    /// NumPy and Arrow are divided among that many threads, or among all cores when it is 0. A stream is read column by
    /// column. Nulls in Arrow are one key, `pymayhap.NULL`, when ``nulls`` is ``"one"``; otherwise they are skipped.
    ///
    /// Ctrl-C ends it; keys that were inserted before stay. Do not change an array while it is read.
    #[pyo3(signature = (*columns, threads = 1, nulls = Nulls::One), text_signature = "($self, *columns, threads=1, nulls='one')")]
    fn update(
        &self,
        py: Python<'_>,
        columns: &Bound<'_, PyTuple>,
        threads: usize,
        nulls: Nulls,
    ) -> Result<u64> {
        let mut new = 0;
        for column in columns.iter() {
            new += self.insert_all(&column, nulls, many::threads(threads))?;
        }
        self.warn_if_over(py)?;
        Ok(new)
    }

    /// Looks up each key, and returns a mask of those that may be in the filter, as the library of the keys has masks.
    ///
    /// When ``nulls`` is ``"one"``, a null in Arrow is found if one was inserted. With ``"keep"`` the mask is True at
    /// every null, with ``"drop"`` False.
    #[pyo3(signature = (keys, /, *, threads = 1, nulls = Nulls::One), text_signature = "($self, keys, /, *, threads=1, nulls='one')")]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        threads: usize,
        nulls: Nulls,
    ) -> Result<Bound<'py, PyAny>> {
        let threads = many::threads(threads);
        self.many(keys, nulls, Action::Contains, threads)
    }

    /// Inserts each key, and returns a mask of those that were definitely not in the filter before.
    ///
    /// Nulls in Arrow are one key when ``nulls`` is ``"one"``: the first of all columns is new. Otherwise they are not
    /// inserted, and the mask is True at every null with ``"keep"``, False with ``"drop"``.
    #[pyo3(signature = (keys, /, *, threads = 1, nulls = Nulls::One), text_signature = "($self, keys, /, *, threads=1, nulls='one')")]
    fn add_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        threads: usize,
        nulls: Nulls,
    ) -> Result<Bound<'py, PyAny>> {
        let mask = self.many(keys, nulls, Action::Insert, many::threads(threads))?;
        self.warn_if_over(keys.py())?;
        Ok(mask)
    }

    /// Forgets every key.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        self.alter(py, |filter| Ok(filter.clear()?))?;
        self.count.clear(&self.description(py)?);
        Ok(())
    }

    /// Copies the filter into memory.
    pub(crate) fn copy<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
        let filter = slf.get().look(slf.py(), Body::to_plain)?;
        let class = slf.get_type();
        let is_file = class.getattr("kind")?.extract::<String>()?.is_empty();
        let class = if is_file {
            one::class(slf.py())?.clone()
        } else {
            class
        };
        instance(&class, Body::Plain(filter))
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
        Filter::copy(slf)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        _memo: &Bound<'_, PyAny>,
    ) -> Result<Bound<'py, PyAny>> {
        Filter::copy(slf)
    }

    /// The number of keys that the filter was made for, where that is known.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> Result<Option<u64>> {
        Ok(self.description(py)?.promise.map(|promise| promise.keys))
    }

    /// The rate asked for at that many keys, where that is known. The rate now is ``stats().rate``.
    #[getter]
    fn rate(&self, py: Python<'_>) -> Result<Option<f64>> {
        Ok(self.description(py)?.promise.map(|promise| promise.rate))
    }

    /// The bytes of memory or of the file that the bits take.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> Result<u64> {
        Ok(bytes_of_bits(self.description(py)?.bits))
    }

    /// Counts the bits, and returns the estimated number of keys and the rate now.
    fn stats(&self, py: Python<'_>) -> Result<Stats> {
        Ok(self.look(py, Body::stats)?.into())
    }

    /// The union of this filter and others: bit for bit the filter that inserting all their keys would have made.
    #[pyo3(signature = (*others))]
    fn union<'py>(
        slf: &Bound<'py, Self>,
        others: &Bound<'py, PyTuple>,
    ) -> Result<Bound<'py, PyAny>> {
        let joined = Filter::copy(slf)?;
        for other in others.iter() {
            let other = other.cast::<Filter>().map_err(PyErr::from)?;
            joined.cast::<Filter>().map_err(PyErr::from)?.get().join(
                slf.py(),
                other.get(),
                unite,
            )?;
        }
        Ok(joined)
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        Filter::operate(slf, other, unite)
    }

    fn __and__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>> {
        Filter::operate(slf, other, intersect)
    }

    fn __ior__(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> Result<()> {
        self.join(py, other.get(), unite)
    }

    fn __iand__(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> Result<()> {
        self.join(py, other.get(), intersect)
    }

    /// Returns whether every bit of the other filter is set in this one: False is certain, True is mayhap.
    #[pyo3(signature = (other, /))]
    fn issuperset(slf: &Bound<'_, Self>, other: &Bound<'_, Filter>) -> Result<bool> {
        let both = Filter::copy(slf)?;
        let both = both.cast::<Filter>().map_err(PyErr::from)?;
        both.get().join(slf.py(), other.get(), unite)?;
        both.get().equals(slf.py(), slf.get())
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> Result<Bound<'py, PyAny>> {
        let py = other.py();
        let equal = match (other.cast::<Filter>(), operator) {
            (Ok(other), CompareOp::Eq) => self.equals(py, other.get())?,
            (Ok(other), CompareOp::Ne) => !self.equals(py, other.get())?,
            _ => return Ok(py.NotImplemented().into_bound(py)),
        };
        Ok(equal
            .into_pyobject(py)
            .map_err(PyErr::from)?
            .to_owned()
            .into_any())
    }

    /// Returns False when no key is in the filter, as a set does. Counts no bits.
    fn __bool__(&self, py: Python<'_>) -> Result<bool> {
        match self.count.is_any() {
            Some(is_any) => self.description(py).map(|_| is_any),
            None => self.look(py, Body::is_any),
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        Err(PyTypeError::new_err(
            "a filter has no len(): it keeps bits of its keys, not the keys; stats().keys estimates how many there are",
        ))
    }

    fn __iter__(&self) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err(
            "a filter cannot be iterated over: it keeps bits of its keys, not the keys; keep those elsewhere",
        ))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> Result<String> {
        Filter::shown(slf, line)
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> Result<String> {
        Filter::shown(slf, html)
    }

    /// Encodes the filter as the bytes of a file, without its secret.
    #[pyo3(signature = (format = "native"))]
    fn to_bytes<'py>(&self, py: Python<'py>, format: &str) -> Result<Bound<'py, PyBytes>> {
        let format: Format = format.parse()?;
        let bytes = self.look(py, |body| body.to_bytes(format))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Decodes a filter from bytes, in any format that Mayhap reads.
    #[classmethod]
    #[pyo3(signature = (data, /, *, secret = None))]
    fn from_bytes<'py>(
        class: &Bound<'py, PyType>,
        data: &Bound<'py, PyAny>,
        secret: Option<Secret>,
    ) -> Result<Bound<'py, PyAny>> {
        let filter = decode(&bytes_of(data)?, secret)?;
        instance(class, Body::Plain(filter))
    }

    /// Loads the filter in a file, in any format that Mayhap reads, and compares every checksum.
    #[classmethod]
    #[pyo3(signature = (path, /, *, secret = None))]
    fn load<'py>(
        class: &Bound<'py, PyType>,
        path: PathBuf,
        secret: Option<Secret>,
    ) -> Result<Bound<'py, PyAny>> {
        let filter = class
            .py()
            .detach(|| file::open(&path, secret.as_ref().map(|secret| &secret.0)));
        instance(class, Body::Plain(filter?.0))
    }

    /// Writes the filter to a file in one step: whoever opens it sees the old filter or the new one.
    #[pyo3(signature = (path, /, *, format = "native"))]
    fn save(&self, py: Python<'_>, path: PathBuf, format: &str) -> Result<()> {
        let format: Format = format.parse()?;
        self.look(py, |body| {
            replace(&file::Lock::acquire(&path)?, body, format)
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, Arguments<'py>)> {
        let py = slf.py();
        let bytes = slf.get().to_bytes(py, Format::Native.name())?;
        let restore = py.import("pymayhap._kinds")?.getattr("_restore")?;
        Ok((restore, (slf.get_type(), bytes)))
    }

    /// Exports the bits themselves, read-only and where they are.
    ///
    /// # Safety
    ///
    /// Python calls this with a view to fill.
    #[allow(unsafe_code)]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> PyResult<()> {
        let memory = slf.get().body.read(slf.py(), Body::memory);
        let Some(memory) = memory else {
            if !view.is_null() {
                // SAFETY: It is a view to fill, and one that is refused must have no owner.
                unsafe { (*view).obj = std::ptr::null_mut() };
            }
            return Err(PyBufferError::new_err(
                "the bits of this filter are not in one place that stays; use to_bytes()",
            ));
        };
        // SAFETY: The bits stay where they are as long as the filter, which the view holds: kinds that have one place
        // for them insert, clear, join and become atomic in place, and `close` refuses filters in memory. Python gives
        // a view to fill. Bytes that are read while a thread inserts are old or new: the reader of the view has to
        // expect either.
        let filled = unsafe {
            pyo3::ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                memory.as_ptr().cast(),
                memory.len() as isize,
                1,
                flags,
            )
        };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// The arguments from which a pickle restores a filter: its class and its bytes.
type Arguments<'py> = (Bound<'py, PyType>, Bound<'py, PyBytes>);

impl Filter {
    /// Describes the filter: everything but its bits.
    pub(crate) fn description(&self, py: Python<'_>) -> Result<Description> {
        self.body.read(py, Body::description)
    }

    fn shown(
        slf: &Bound<'_, Self>,
        show: fn(&str, &Description, &mayhap::Stats) -> String,
    ) -> Result<String> {
        let name = slf.get_type().name()?.to_string();
        let show = |body: &Body| match body {
            Body::Closed => Ok(format!("{name}(closed)")),
            body => Ok(show(&name, &body.description()?, &body.stats()?)),
        };
        slf.get().look(slf.py(), show)
    }
}
