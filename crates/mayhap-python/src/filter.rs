//! The class that every filter is of. Python's classes for the kinds derive from it and add how they are made.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mayhap::format::Format;
use mayhap::{AnyFilter, Kind, Merge as _, file};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

use crate::body::{Action, Body};
use crate::error::{Result, value};
use crate::make::{Made, Secret, bytes_of, decode, replace};
use crate::stats::{Stats, html, line};
use crate::turns::Turns;
use crate::{many, one};

/// What the class `Filter` of Python, which [`one`] makes, does but for single keys.
#[pyclass(subclass, frozen, weakref, module = "pymayhap")]
pub(crate) struct Filter {
    pub(crate) body: Turns<Body>,
    /// Whether all threads insert at once, without an exclusive lock.
    pub(crate) is_shared: bool,
    /// How many keys were new to `update` and `add_many`.
    pub(crate) new: AtomicU64,
    /// Whether it was said that these are too many.
    pub(crate) warned: AtomicBool,
}

impl Filter {
    /// Does something with the filter while other Python threads run.
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

    /// Changes this filter by another.
    fn change_by<R: Send>(
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

    fn is_same(&self, other: &Filter) -> bool {
        std::ptr::eq(self, other)
    }
}

/// A filter of a class that derives from `Filter`, and of the kind that the class is for.
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
    /// The name of the kind that a class is for; of none, where it is for every kind.
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
            body: Turns::new(body),
            new: AtomicU64::new(keys),
            warned: AtomicBool::new(false),
        })
    }

    /// Inserts every key of the columns and returns how many were definitely new.
    ///
    /// A column is a list, an iterable, a NumPy array, or anything that speaks Arrow. With ``threads``, columns of NumPy
    /// and Arrow are taken apart among that many threads, or among all cores when it is 0.
    #[pyo3(signature = (*columns, threads = 1))]
    fn update(&self, py: Python<'_>, columns: &Bound<'_, PyTuple>, threads: usize) -> Result<u64> {
        let mut new = 0;
        for column in columns.iter() {
            new += self.insert_all(&column, many::threads(threads))?;
        }
        self.count_new(py, new)?;
        Ok(new)
    }

    /// Whether each key may be in the filter: a mask, in the library that the keys are of.
    #[pyo3(signature = (keys, /, *, threads = 1))]
    fn contains_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        threads: usize,
    ) -> Result<Bound<'py, PyAny>> {
        Ok(self.many(keys, Action::Contains, many::threads(threads))?.0)
    }

    /// Inserts each key; the mask has True where it was definitely not in the filter before.
    #[pyo3(signature = (keys, /, *, threads = 1))]
    fn add_many<'py>(&self, keys: &Bound<'py, PyAny>, threads: usize) -> Result<Bound<'py, PyAny>> {
        let (mask, new) = self.many(keys, Action::Insert, many::threads(threads))?;
        self.count_new(keys.py(), new)?;
        Ok(mask)
    }

    /// Forgets every key.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        self.change(py, |body| body.change(|filter| Ok(filter.clear()?)))?;
        self.new.store(0, Ordering::Relaxed);
        self.warned.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// The same filter again, in memory.
    fn copy<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
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

    /// What the filter holds now, and the rate that gives. Reads every bit.
    fn stats(&self, py: Python<'_>) -> Result<Stats> {
        Ok(self.look(py, Body::stats)?.into())
    }

    /// The filter of the keys of all: bit for bit the one that inserting them would have made.
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

    /// Whether every bit of the other is in this one: False is certain, True is mayhap.
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

    /// False when no key is in it, as of a set.
    fn __bool__(&self, py: Python<'_>) -> Result<bool> {
        let stats = self.look(py, Body::stats)?;
        Ok(stats.keys.is_none_or(|keys| keys > 0.0))
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

    /// The bytes of a file of the filter; a secret is not among them.
    #[pyo3(signature = (format = "native"))]
    fn to_bytes<'py>(&self, py: Python<'py>, format: &str) -> Result<Bound<'py, PyBytes>> {
        let format: Format = format.parse()?;
        let bytes = self.look(py, |body| body.to_bytes(format))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The filter of which these are the bytes, in any format that Mayhap reads.
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

    /// The filter in a file, in any format that Mayhap reads, with every checksum compared.
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

    /// Writes the filter to a file, in one step: whoever opens it sees the old filter or the new one.
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

    /// The bits themselves, read-only and where they are.
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
            return Err(PyBufferError::new_err(
                "the bits of this filter are not in one place that stays; use to_bytes()",
            ));
        };
        // SAFETY: The bits stay where they are as long as the filter, which the view holds: nothing moves or replaces
        // the storage of the kinds that have a place. The view is Python's, to be filled.
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

/// What a pickle restores a filter from: its class and its bytes.
type Arguments<'py> = (Bound<'py, PyType>, Bound<'py, PyBytes>);

type Joins = fn(&mut AnyFilter, &AnyFilter) -> mayhap::Result<()>;

fn unite(left: &mut AnyFilter, right: &AnyFilter) -> mayhap::Result<()> {
    left.union(right)
}

fn intersect(left: &mut AnyFilter, right: &AnyFilter) -> mayhap::Result<()> {
    left.intersect(right)
}

impl Filter {
    fn join(&self, py: Python<'_>, other: &Filter, joins: Joins) -> Result<()> {
        // What a filter has in common with itself, or together, is itself.
        if self.is_same(other) {
            return Ok(());
        }
        self.change_by(other, py, |left, right| {
            left.change(|left| right.look(|right| Ok(joins(left, right)?)))
        })
    }

    fn operate<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        joins: Joins,
    ) -> Result<Bound<'py, PyAny>> {
        let py = slf.py();
        let Ok(other) = other.cast::<Filter>() else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        let joined = Filter::copy(slf)?;
        joined
            .cast::<Filter>()
            .map_err(PyErr::from)?
            .get()
            .join(py, other.get(), joins)?;
        Ok(joined)
    }

    fn equals(&self, py: Python<'_>, other: &Filter) -> Result<bool> {
        if self.is_same(other) {
            return Ok(true);
        }
        let (left, right) = (self.body.detached(py), other.body.detached(py));
        let equals = py.detach(|| {
            let (first, second) = match left.is_before(&right) {
                true => (&left, &right),
                false => (&right, &left),
            };
            let (first, second) = (first.read(), second.read());
            let equals = first.look(|first| second.look(|second| Ok(first == second)));
            equals.map_err(PyErr::from)
        });
        Ok(equals?)
    }

    fn shown(
        slf: &Bound<'_, Self>,
        show: fn(&str, &mayhap::Description, &mayhap::Stats) -> String,
    ) -> Result<String> {
        let name = slf.get_type().name()?.to_string();
        let show = |body: &Body| match body {
            Body::Closed => Ok(format!("{name}(closed)")),
            body => Ok(show(&name, &body.description()?, &body.stats()?)),
        };
        slf.get().look(slf.py(), show)
    }
}
