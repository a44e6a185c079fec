//! The library's errors as Python's exceptions, with the library's sentences.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use mayhap::Error as Core;
use mayhap::file::{self, hidden_part};
use pyo3::exceptions::{
    PyBlockingIOError, PyConnectionError, PyLookupError, PyMemoryError, PyOSError, PyTimeoutError,
    PyTypeError, PyUserWarning, PyValueError,
};
use pyo3::prelude::*;

pyo3::create_exception!(
    pymayhap,
    DamagedError,
    PyValueError,
    "Bytes of a filter have changed since they were written: a checksum does not match."
);

pyo3::create_exception!(
    pymayhap,
    CapacityWarning,
    PyUserWarning,
    "A filter has more keys than it was made for, so its rate is above the one asked for."
);

/// An exception that is about to be raised; `?` makes one of the library's errors.
pub(crate) struct Error(PyErr);

/// A result whose error is raised.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Error {
        Error(error)
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        error.0
    }
}

impl From<Core> for Error {
    fn from(error: Core) -> Error {
        let text = error.to_string();
        Error(match error {
            Core::File { path, error, .. } => system(text, &error, Some(shown(&path))),
            Core::Io(error) => system(text, &error, None),
            Core::Locked { path, .. } => PyBlockingIOError::new_err((EAGAIN, text, shown(&path))),
            Core::Damaged { .. } => DamagedError::new_err(text),
            Core::Memory { .. } => PyMemoryError::new_err(text),
            Core::Unsupported { .. } => PyTypeError::new_err(text),
            _ => PyValueError::new_err(text),
        })
    }
}

/// The error number for a call that would have to wait.
const EAGAIN: i32 = 11;

/// Returns the name of a file without a password: Python prints it, and an address may contain one.
fn shown(path: &Path) -> OsString {
    match hidden_part(path.as_os_str().as_encoded_bytes()).is_empty() {
        true => path.into(),
        false => file::shown(path).into(),
    }
}

/// Makes an `OSError`, which becomes the subclass of its number, such as `FileNotFoundError`.
fn system(text: String, error: &io::Error, path: Option<OsString>) -> PyErr {
    match (error.raw_os_error(), path) {
        (Some(number), Some(path)) => PyOSError::new_err((number, text, path)),
        (Some(number), None) => PyOSError::new_err((number, text)),
        (None, _) => PyOSError::new_err(text),
    }
}

impl From<mayhap_redis::Error> for Error {
    fn from(error: mayhap_redis::Error) -> Error {
        use mayhap_redis::Error as Redis;
        let text = error.to_string();
        Error(match error {
            Redis::Filter(error) => return error.into(),
            Redis::Timeout { .. } => PyTimeoutError::new_err(text),
            Redis::Missing { .. } | Redis::Unfinished { .. } => PyLookupError::new_err(text),
            Redis::Address { .. } | Redis::Name { .. } | Redis::Option { .. } => {
                PyValueError::new_err(text)
            }
            Redis::Exists { .. } => PyValueError::new_err(text),
            _ => PyConnectionError::new_err(text),
        })
    }
}

/// An exception for a wrong value.
pub(crate) fn value(text: impl Into<String>) -> Error {
    Error(PyValueError::new_err(text.into()))
}

/// An exception for a wrong type.
pub(crate) fn wrong_type(text: impl Into<String>) -> Error {
    Error(PyTypeError::new_err(text.into()))
}
