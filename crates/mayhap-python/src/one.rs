//! Looking up and inserting one key: `in` and `add`, which Python calls for every key.
//!
//! Python calls these functions directly. What PyO3 does around a method (checking the class of the object, unpacking a
//! tuple of arguments, counting in thread-local memory) takes longer than the filter does.

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

    /// Does what [`one`](Filter::one) does, for a usual key and a filter that is free; returns `None` otherwise.
    #[inline(always)]
    fn quickly<A: Quick>(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> Option<bool> {
        if let Some(key) = exact_text(object) {
            return A::act(self, py, key);
        }
        // The length of a number is known at compile time, so the hash has no branch by length.
        if let Some(key) = exact_number(object) {
            return A::act(self, py, &key);
        }
        A::act(self, py, exact_bytes(object)?)
    }
}

/// The operation on one key of a filter in memory, compiled once for each action.
trait Quick {
    const ACTION: Action;

    /// Looks up or inserts the key. Returns `None` if the filter needs the slow path, refuses, or is in use. The answer
    /// is one byte: a `Result` has 64, which would be written to memory and read again for every key.
    fn act<K: Key + Sync + ?Sized>(filter: &Filter, py: Python<'_>, key: &K) -> Option<bool>;
}

/// Looks up a key.
struct Look;

/// Inserts a key.
struct Put;

impl Quick for Look {
    const ACTION: Action = Action::Contains;

    #[inline(always)]
    fn act<K: Key + Sync + ?Sized>(filter: &Filter, py: Python<'_>, key: &K) -> Option<bool> {
        filter.body.read_now(py, |body| match body {
            // The default kind skips the match over all kinds.
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

/// Looks up or inserts a key; returns `None` if an exception was raised.
///
/// # Safety
///
/// Python is attached, and both are objects that live until this returns; `filter` is an instance of [`Filter`].
#[inline(always)]
unsafe fn answer<A: Quick>(filter: *mut PyObject, key: *mut PyObject) -> Option<bool> {
    // SAFETY: The caller promises that Python is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: The caller promises an object that lives until this returns.
    let filter = unsafe { Borrowed::from_ptr(py, filter) };
    // SAFETY: The caller promises an instance of `Filter`.
    let filter = unsafe { filter.cast_unchecked::<Filter>() };
    // SAFETY: The caller promises an object that lives until this returns.
    let key = unsafe { Borrowed::from_ptr(py, key) };
    let quickly = catch_unwind(AssertUnwindSafe(|| filter.get().quickly::<A>(py, &key)));
    let answer = match quickly {
        Ok(Some(answer)) => answer,
        _ => slowly(&filter, A::ACTION, &key)?,
    };
    if A::ACTION == Action::Insert && answer && filter.get().count.one() {
        warn(&filter)?;
    }
    Some(answer)
}

/// Warns that there are too many keys; returns `None` if the warning became an exception.
#[cold]
fn warn(filter: &Bound<'_, Filter>) -> Option<()> {
    Python::attach(|py| match filter.get().warn(py) {
        Ok(()) => Some(()),
        Err(error) => {
            PyErr::from(error).restore(py);
            None
        }
    })
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

/// Turns an answer into a number by a branch, which the core predicts. So it need not wait for the memory of the filter
/// before it begins the next key. Python branches on the answer next anyway.
#[inline(always)]
fn by_branch(answer: bool) -> c_int {
    match answer {
        true => black_box(1),
        false => black_box(0),
    }
}

unsafe extern "C" fn contains(filter: *mut PyObject, key: *mut PyObject) -> c_int {
    // SAFETY: Python is attached when it calls a slot, and it checked that `filter` is of the class. It holds both
    // objects.
    unsafe { answer::<Look>(filter, key) }.map_or(-1, by_branch)
}

unsafe extern "C" fn add(filter: *mut PyObject, key: *mut PyObject) -> *mut PyObject {
    // SAFETY: Python is attached when it calls a method, and it checked that `filter` is of the class. It holds both
    // objects.
    let answer = unsafe { answer::<Put>(filter, key) };
    match answer {
        // SAFETY: Python is attached, as above.
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

/// The class that Python sees as `Filter`: PyO3's class, with `in` and `add` added.
pub(crate) fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(CLASS.get_or_try_init(py, || make_class(py))?.bind(py))
}

fn make_class(py: Python<'_>) -> PyResult<Py<PyType>> {
    // Leaked, because Python keeps the address of the methods.
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
        // Inherits the size of the base.
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    let base = py.get_type::<Filter>();
    // SAFETY: Name, documentation and functions are static, and the methods are leaked. Methods and slots end with an
    // empty entry, and each function has the type that its slot needs. Every instance is one of the base too, which has
    // no other `__new__`: so the functions are given a `Filter`.
    let class = unsafe { ffi::PyType_FromSpecWithBases(&raw mut spec, base.as_ptr()) };
    // SAFETY: The call returned a new reference, or null with an exception set.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, class) }?;
    Ok(class.cast_into::<PyType>()?.unbind())
}
