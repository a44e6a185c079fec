//! The module `pymayhap._pymayhap`: a thin layer over the library. The package in `python/` gives it names.
//!
//! | file | content |
//! | --- | --- |
//! | `key.rs` | one key: the bytes of a `str`, `bytes` or `int` |
//! | `columns/` | many keys, read where they are: lists, NumPy, Arrow |
//! | `body.rs` | where a filter lives: in memory, shared by threads, in a file |
//! | `filter.rs` | the class of every filter |
//! | `sets.rs` | unions, intersections and comparisons of two filters |
//! | `count.rs` | the keys that were new to a filter |
//! | `turns.rs` | the lock by which threads take turns with a filter |
//! | `one.rs` | lookup and insertion of one key |
//! | `many.rs` | lookup and insertion of many keys |
//! | `parts.rs` | rows divided among workers by their keys |
//! | `make.rs` | constructors of filters |
//! | `extra.rs` | operations that only some kinds have |
//! | `redis.rs` | filters on a server |
//! | `stats.rs`, `error.rs` | text to show, and exceptions |

mod body;
mod columns;
mod count;
mod error;
mod extra;
mod filter;
mod key;
mod make;
mod many;
mod one;
mod parts;
mod redis;
mod sets;
mod stats;
mod turns;

/// Filters for Python.
#[pyo3::pymodule(gil_used = false)]
mod _pymayhap {
    #[pymodule_export]
    use crate::error::{CapacityWarning, DamagedError};
    #[pymodule_export]
    use crate::extra::{
        add_area, area, checkpoint, close, count, finish, generation, progress, regions, remove,
        report_false_positive, rotate, verify,
    };
    #[pymodule_export]
    use crate::key::fields;
    #[pymodule_export]
    use crate::make::{
        FileLock, Made, build_file, discard_build, make, make_of, make_of_two, make_timed,
        open_file, planned_bytes,
    };
    #[pymodule_export]
    use crate::parts::parts;
    #[pymodule_export]
    use crate::redis::{RedisFilter, RedisRebuild};
    #[pymodule_export]
    use crate::stats::Stats;
    use pyo3::prelude::*;
    use pyo3::types::PyBytes;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("NULL", PyBytes::new(module.py(), crate::columns::NULL))?;
        module.add("Filter", crate::one::class(module.py())?)
    }
}
