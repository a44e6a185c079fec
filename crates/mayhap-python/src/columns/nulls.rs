//! Rows without a key.

use pyo3::prelude::*;

use crate::error::value;

/// The key of all nulls, where they are a key: neither text, which is UTF-8, nor a number, which has 8 bytes. Filters
/// keep it like any other key, so it is in files and unions, and it never changes.
pub(crate) const NULL: &[u8; 16] = b"\xff\xfemayhap: null\xfe\xff";

/// The treatment of rows that are null.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// They are not keys, and the mask is true: all such rows stay.
    Keep,
    /// They are one key, [`NULL`].
    One,
    /// They are not keys, and the mask is false.
    Drop,
}

impl<'py> FromPyObject<'_, 'py> for Nulls {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Nulls> {
        match object.extract::<&str>()? {
            "keep" => Ok(Nulls::Keep),
            "one" => Ok(Nulls::One),
            "drop" => Ok(Nulls::Drop),
            other => Err(value(format!(
                "nulls is {other:?}; expected \"keep\", \"one\" or \"drop\""
            ))
            .into()),
        }
    }
}
