//! One key, taken to a filter: `in` and `add`, which Python calls for every key.
//!
//! These are functions that Python calls directly. What PyO3 does around a method (finding out whether the object is of
//! the class, taking a tuple of arguments apart, counting in memory of the thread) takes longer than the filter does.

#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use mayhap::{AnyFilter, Insert as _, Key};
use pyo3::ffi::{self, PyObject};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::body::{Action, Body};
use crate::error::Result;
use crate::filter::Filter;
use crate::key::{exact_bytes, exact_number, exact_text, key};

impl Filter {
    /// Looks up a key, or inserts it.
    pub(crate) fn one(
        &self,
        py: Python<'_>,
        action: Action,
        object: &Bound<'_, PyAny>,
    ) -> Result<bool> {
        let key = key(object)?;
        let key = key.as_ref();
        match (action, self.is_shared) {
            (Action::Contains, _) => self.body.read(py, |body| body.contains(key)),
            (Action::Insert, true) => self.body.read(py, |body| body.insert_shared(key)),
            (Action::Insert, false) => self.body.write(py, |body| body.insert(key)),
        }
    }

    /// As [`one`](Filter::one) for a usual key and a filter that need not be waited for; `None` otherwise.
    #[inline(always)]
    fn quickly<A: Quick>(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> Option<bool> {
        if let Some(key) = exact_text(object) {
            return A::act(self, py, key);
        }
        // Its length is known here, so that the hash has nothing to choose.
        if let Some(key) = exact_number(object) {
            return A::act(self, py, &key);
        }
        A::act(self, py, exact_bytes(object)?)
    }
}

/// What is done with one key of a filter in memory, as code of its own for each action.
trait Quick {
    const ACTION: Action;

    /// Does it; `None` where that is not so simple, or not possible, or others have to be waited for. An answer has one
    /// byte: with an error, which has 64, it would be written to memory and read again for every key.
    fn act<K: Key + Sync + ?Sized>(filter: &Filter, py: Python<'_>, key: &K) -> Option<bool>;
}

/// Looks a key up.
struct Look;

/// Inserts a key.
struct Put;

impl Quick for Look {
    const ACTION: Action = Action::Contains;

    #[inline(always)]
    fn act<K: Key + Sync + ?Sized>(filter: &Filter, py: Python<'_>, key: &K) -> Option<bool> {
        filter.body.read_now(py, |body| match body {
            // The usual kind, without a choice among all.
            Body::Plain(AnyFilter::Blocked(filter)) => Some(filter.contains(key)),
            other => other.answer(key.key_bytes().as_ref()),
        })?
    }
}

impl Quick for Put {
    const ACTION: Action = Action::Insert;

    #[inline(always)]
    fn act<K: Key + Sync + ?Sized>(filter: &Filter, py: Python<'_>, key: &K) -> Option<bool> {
        if filter.is_shared {
            let claim = |body: &Body| body.claim(key.key_bytes().as_ref());
            return filter.body.read_now(py, claim)?;
        }
        filter.body.write_now(py, |body| match body {
            Body::Plain(AnyFilter::Blocked(filter)) => Some(filter.insert(key)),
            Body::Plain(filter) => {
                let filter = filter.as_insert().ok()?;
                Some(filter.insert_bytes(key.key_bytes().as_ref()))
            }
            Body::Build(build) => Some(build.insert_bytes(key.key_bytes().as_ref())),
            _ => None,
        })?
    }
}

/// The answer for a key; `None` where an exception was raised.
///
/// # Safety
///
/// Python is attached, and both are objects that stay until this returns, the first one of [`Filter`].
#[inline(always)]
unsafe fn answer<A: Quick>(filter: *mut PyObject, key: *mut PyObject) -> Option<bool> {
    // SAFETY: The caller says so.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: The caller says so.
    let filter = unsafe { Borrowed::from_ptr(py, filter) };
    // SAFETY: The caller says so.
    let filter = unsafe { filter.cast_unchecked::<Filter>() };
    // SAFETY: The caller says so.
    let key = unsafe { Borrowed::from_ptr(py, key) };
    let quickly = catch_unwind(AssertUnwindSafe(|| filter.get().quickly::<A>(py, &key)));
    match quickly {
        Ok(Some(answer)) => Some(answer),
        _ => slowly(&filter, A::ACTION, &key),
    }
}

#[cold]
fn slowly(filter: &Bound<'_, Filter>, action: Action, key: &Bound<'_, PyAny>) -> Option<bool> {
    Python::attach(|py| {
        let answer = catch_unwind(AssertUnwindSafe(|| filter.get().one(py, action, key)));
        match answer {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => PyErr::from(error).restore(py),
            Err(panic) => panicked(&*panic).restore(py),
        }
        None
    })
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    PanicException::new_err(text.unwrap_or("a panic without a text").to_owned())
}

/// A number that follows from an answer by a branch, which the core predicts: then it need not wait for the memory of
/// the filter before it begins the next key. Python branches by the answer next anyway.
#[inline(always)]
fn by_branch(answer: bool) -> c_int {
    match answer {
        true => black_box(1),
        false => black_box(0),
    }
}

unsafe extern "C" fn contains(filter: *mut PyObject, key: *mut PyObject) -> c_int {
    // SAFETY: Python calls this as a slot of the class, with a filter and a key.
    unsafe { answer::<Look>(filter, key) }.map_or(-1, by_branch)
}

unsafe extern "C" fn add(filter: *mut PyObject, key: *mut PyObject) -> *mut PyObject {
    // SAFETY: Python calls this as a method of the class, with a filter and a key.
    let answer = unsafe { answer::<Put>(filter, key) };
    match answer {
        // SAFETY: Python is attached.
        Some(is_new) => unsafe { ffi::PyBool_FromLong(by_branch(is_new).into()) },
        None => ptr::null_mut(),
    }
}

const DOC: &CStr = c"Filter(made, /)
--

A set that may claim to hold a key it does not, at a rate that you choose, and never denies one it does.";

const ADD: &CStr = c"add($self, key, /)
--

Inserts a key; True when it was definitely not in the filter before.

Of threads that add one key at the same time, exactly one gets True.";

/// The class that Python sees as `Filter`: that of PyO3, with `in` and `add`.
pub(crate) fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(CLASS.get_or_try_init(py, || make_class(py))?.bind(py))
}

fn make_class(py: Python<'_>) -> PyResult<Py<PyType>> {
    // Python keeps the addresses of methods.
    let methods = Box::leak(Box::new([
        ffi::PyMethodDef {
            ml_name: c"add".as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: add },
            ml_flags: ffi::METH_O,
            ml_doc: ADD.as_ptr(),
        },
        ffi::PyMethodDef::zeroed(),
    ]));
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(
            ffi::Py_sq_contains,
            contains as unsafe extern "C" fn(_, _) -> _ as *mut c_void,
        ),
        ffi::PyType_Slot::default(),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"pymayhap.Filter".as_ptr(),
        // As large as an object of the base.
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    let base = py.get_type::<Filter>();
    // SAFETY: Names, methods and functions stay, the slots end with an empty one, and each function is of the type that
    // its slot is for. Objects of the class are objects of the base, which those functions rely on.
    let class = unsafe { ffi::PyType_FromSpecWithBases(&raw mut spec, base.as_ptr()) };
    // SAFETY: It is a new reference, or null with an exception.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, class) }?;
    Ok(class.cast_into::<PyType>()?.unbind())
}
