//! Operations that only some kinds have: their classes in Python call these.

use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Error};
use pyo3::prelude::*;

use crate::body::Body;
use crate::error::{Result, value};
use crate::filter::Filter;
use crate::key::key;

/// Removes a key once.
#[pyfunction]
pub(crate) fn remove(filter: &Bound<'_, Filter>, key: &Bound<'_, PyAny>) -> Result<bool> {
    let key = self::key(key)?;
    let is_removed = filter.get().alter(filter.py(), |filter| {
        Ok(filter.as_remove()?.remove_bytes(key.as_ref())?)
    })?;
    if is_removed {
        filter.get().count.removed();
    }
    Ok(is_removed)
}

/// Returns how often a key was inserted.
#[pyfunction]
pub(crate) fn count(filter: &Bound<'_, Filter>, key: &Bound<'_, PyAny>) -> Result<u64> {
    let key = self::key(key)?;
    filter.get().look(filter.py(), |body| {
        body.look(|filter| Ok(filter.as_count()?.count_bytes(key.as_ref())))
    })
}

/// The area of a key.
#[pyfunction]
pub(crate) fn area(filter: &Bound<'_, Filter>, key: &Bound<'_, PyAny>) -> Result<Option<u32>> {
    let key = self::key(key)?;
    filter.get().look(filter.py(), |body| {
        body.look(|filter| Ok(filter.as_area()?.area_bytes(key.as_ref())))
    })
}

/// Inserts a key of an area, and returns the area it had before.
#[pyfunction]
pub(crate) fn add_area(
    filter: &Bound<'_, Filter>,
    key: &Bound<'_, PyAny>,
    area: u32,
) -> Result<Option<u32>> {
    let key = self::key(key)?;
    filter.get().alter(filter.py(), |filter| {
        Ok(filter
            .as_insert_area()?
            .insert_area_bytes(key.as_ref(), area)?)
    })
}

/// Begins a generation of a windowed filter: the one given, or the next.
#[pyfunction]
#[pyo3(signature = (filter, generation = None))]
pub(crate) fn rotate(filter: &Bound<'_, Filter>, generation: Option<u64>) -> Result<()> {
    filter
        .get()
        .alter(filter.py(), |filter| match (filter, generation) {
            (AnyFilter::Windowed(filter), Some(generation)) => {
                filter.advance_to(generation);
                Ok(())
            }
            (AnyFilter::Windowed(filter), None) => {
                filter.rotate();
                Ok(())
            }
            (other, _) => Err(not_windowed(other)),
        })
}

/// The present generation of a windowed filter.
#[pyfunction]
pub(crate) fn generation(filter: &Bound<'_, Filter>) -> Result<u64> {
    filter.get().look(filter.py(), |body| {
        body.look(|filter| match filter {
            AnyFilter::Windowed(filter) => Ok(filter.generation()),
            other => Err(not_windowed(other)),
        })
    })
}

fn not_windowed(filter: &AnyFilter) -> crate::error::Error {
    value(format!(
        "the kind {} has no generations; expected windowed",
        filter.kind()
    ))
}

/// Lists a found key that was never inserted, so that it is no longer found.
#[pyfunction]
pub(crate) fn report_false_positive(
    filter: &Bound<'_, Filter>,
    key: &Bound<'_, PyAny>,
) -> Result<bool> {
    let key = self::key(key)?;
    filter.get().alter(filter.py(), |filter| match filter {
        AnyFilter::Guarded(filter) => Ok(filter.report_false_positive(key.as_ref())?),
        other => Err(value(format!(
            "the kind {} has no list; expected guarded",
            other.kind()
        ))),
    })
}

/// Returns which regions of a filter of two sets a key may be in.
#[pyfunction]
pub(crate) fn regions(
    filter: &Bound<'_, Filter>,
    key: &Bound<'_, PyAny>,
) -> Result<(bool, bool, bool)> {
    use mayhap::kinds::Region;
    let key = self::key(key)?;
    filter.get().look(filter.py(), |body| {
        body.look(|filter| match filter {
            AnyFilter::ShiftingAssociation(filter) => {
                let regions = filter.regions(key.as_ref());
                let holds = |region| regions.holds(region);
                Ok((
                    holds(Region::First),
                    holds(Region::Second),
                    holds(Region::Both),
                ))
            }
            other => Err(value(format!(
                "the kind {} has no regions; expected shifting-association",
                other.kind()
            ))),
        })
    })
}

/// Compares every checksum of a filter that stays in its file.
#[pyfunction]
pub(crate) fn verify(filter: &Bound<'_, Filter>) -> Result<()> {
    filter.get().look(filter.py(), |body| match body {
        Body::Mapped(mapped) => Ok(mapped.verify()?),
        // Its checksums were compared when it was read.
        other => other.description().map(drop),
    })
}

/// Closes a map or a build; it cannot be used after that. Raises OSError if the file of a map was changed in place:
/// answers since then may be wrong.
#[pyfunction]
pub(crate) fn close(filter: &Bound<'_, Filter>) -> Result<()> {
    filter.get().change(filter.py(), |body| match body {
        // Views of bits in memory may still be read.
        Body::Plain(_) | Body::AtomicBits(_) | Body::AtomicLines(_) => {
            Err(value("the filter is in memory; expected one of a file"))
        }
        body => match std::mem::replace(body, Body::Closed) {
            Body::Mapped(mapped) => Ok(mapped.check_unchanged()?),
            _ => Ok(()),
        },
    })
}

/// Replaces the file by the filter that was built.
#[pyfunction]
pub(crate) fn finish(filter: &Bound<'_, Filter>) -> Result<()> {
    filter.get().change(filter.py(), |body| {
        match std::mem::replace(body, Body::Closed) {
            Body::Build(build) => Ok(build.finish(&Metadata::default())?),
            other => {
                *body = other;
                Err(not_a_build())
            }
        }
    })
}

/// Makes every key so far durable, together with a number that says how far the work has come.
#[pyfunction]
pub(crate) fn checkpoint(filter: &Bound<'_, Filter>, progress: u64) -> Result<()> {
    filter.get().change(filter.py(), |body| match body {
        Body::Build(build) => Ok(build.checkpoint(progress)?),
        _ => Err(not_a_build()),
    })
}

/// Returns the number that the last checkpoint was given.
#[pyfunction]
pub(crate) fn progress(filter: &Bound<'_, Filter>) -> Result<u64> {
    filter.get().look(filter.py(), |body| match body {
        Body::Build(build) => Ok(build.progress()),
        _ => Err(not_a_build()),
    })
}

fn not_a_build() -> crate::error::Error {
    Error::Unsupported {
        kind: "of this filter",
        what: "be finished",
        instead: "expected a build that is open",
    }
    .into()
}
