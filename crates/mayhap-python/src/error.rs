//! What the library refuses, as Python's exceptions with the library's sentences.

use std::io;
use std::path::PathBuf;

use mayhap::Error as Core;
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
            Core::File { path, error, .. } => system(text, &error, Some(path)),
            Core::Io(error) => system(text, &error, None),
            Core::Locked { path, .. } => {
                PyBlockingIOError::new_err((EAGAIN, text, path.into_os_string()))
            }
            Core::Damaged { .. } => DamagedError::new_err(text),
            Core::Memory { .. } => PyMemoryError::new_err(text),
            Core::Unsupported { .. } => PyTypeError::new_err(text),
            _ => PyValueError::new_err(text),
        })
    }
}

/// The number that the system gives to what would have to wait.
const EAGAIN: i32 = 11;

/// `OSError` makes itself the subclass that the number stands for, such as `FileNotFoundError`.
fn system(text: String, error: &io::Error, path: Option<PathBuf>) -> PyErr {
    match (error.raw_os_error(), path) {
        (Some(number), Some(path)) => PyOSError::new_err((number, text, path.into_os_string())),
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
            Redis::Missing { .. } => PyLookupError::new_err(text),
            Redis::Address { .. } | Redis::Name { .. } | Redis::Option { .. } => {
                PyValueError::new_err(text)
            }
            Redis::Exists { .. } => PyValueError::new_err(text),
            _ => PyConnectionError::new_err(text),
        })
    }
}

/// A value that is not what was expected.
pub(crate) fn value(text: impl Into<String>) -> Error {
    Error(PyValueError::new_err(text.into()))
}

/// A value of a type that is not expected.
pub(crate) fn wrong_type(text: impl Into<String>) -> Error {
    Error(PyTypeError::new_err(text.into()))
}
