//! The module `pymayhap._pymayhap`: Python's view of the library, thin. The package in `python/` gives it names.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `key.rs` | one key: the bytes of a `str`, `bytes` or `int` |
//! | `columns/` | many keys, read where they are: lists, NumPy, Arrow |
//! | `body.rs` | where a filter lives: in memory, shared by threads, in a file |
//! | `filter.rs` | the class that every filter is of |
//! | `turns.rs` | how threads take turns with a filter |
//! | `one.rs` | one key, taken to a filter |
//! | `many.rs` | many keys at once, taken to a filter |
//! | `make.rs` | how filters are made |
//! | `extra.rs` | what only some kinds do |
//! | `redis.rs` | filters on a server |
//! | `stats.rs`, `error.rs` | what is shown and raised |

mod body;
mod columns;
mod error;
mod extra;
mod filter;
mod key;
mod make;
mod many;
mod one;
mod redis;
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
    use crate::redis::RedisFilter;
    #[pymodule_export]
    use crate::stats::Stats;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("Filter", crate::one::class(module.py())?)
    }
}
