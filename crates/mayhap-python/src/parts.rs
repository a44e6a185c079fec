//! Rows divided among workers by their keys.

use mayhap::Digester;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::columns::{Keys, Nulls, Rows, Source};
use crate::error::{Result, wrong_type};

/// The hash that picks a part. It has a seed of its own: by the hash of filters, the keys of a part would lie together in
/// its filter.
const DIGESTER: Digester = Digester::Rapidhash {
    seed: 0x7061_7274_7320_6F66,
};

/// The part of each row of an Arrow column, from 0 to below ``parts``: an array of NumPy.
///
/// Rows of one key are in one part, whatever column they are in: of numbers of any width, of text of any layout, of a
/// dictionary. Nulls are one key.
#[pyfunction]
pub(crate) fn parts<'py>(keys: &Bound<'py, PyAny>, parts: u32) -> Result<Bound<'py, PyAny>> {
    let py = keys.py();
    let Source::Columns(mut columns, _) = Source::of(keys)? else {
        return Err(wrong_type("rows are divided by a column of Arrow"));
    };
    // The high half of a product is below its factor.
    let part =
        |key: &[u8]| ((u128::from(DIGESTER.digest(key).hi) * u128::from(parts)) >> 64) as u32;
    let mut all: Vec<[u8; 4]> = Vec::new();
    while let Some(some) = columns.next(py, 1)? {
        for column in some {
            let start = all.len();
            all.resize(start + column.len(), [0; 4]);
            column.runs(0..column.len(), Nulls::One, |keys, rows| {
                for index in 0..keys.len() {
                    let row = match rows {
                        Rows::From(first) => first + index,
                        Rows::At(rows) => rows[index],
                    };
                    let part = match keys {
                        Keys::Numbers(numbers) => part(&numbers[index].to_le_bytes()),
                        Keys::Bytes(keys) => part(keys[index]),
                    };
                    all[start + row] = part.to_ne_bytes();
                }
                Ok(())
            })?;
        }
    }
    let bytes = PyByteArray::new(py, all.as_flattened());
    let numpy = py.import("numpy")?;
    Ok(numpy.call_method1("frombuffer", (bytes, "uint32"))?)
}
