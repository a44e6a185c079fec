//! Unions, intersections and comparisons of two filters.

use mayhap::{AnyFilter, Merge as _};
use pyo3::prelude::*;

use crate::error::Result;
use crate::filter::Filter;

/// A union or an intersection.
type Joins = fn(&mut AnyFilter, &AnyFilter) -> mayhap::Result<()>;

/// Adds the keys of `right`.
pub(crate) fn unite(left: &mut AnyFilter, right: &AnyFilter) -> mayhap::Result<()> {
    left.union(right)
}

/// Keeps the bits that both have.
pub(crate) fn intersect(left: &mut AnyFilter, right: &AnyFilter) -> mayhap::Result<()> {
    left.intersect(right)
}

impl Filter {
    /// Changes this filter into its union or intersection with another.
    pub(crate) fn join(&self, py: Python<'_>, other: &Filter, joins: Joins) -> Result<()> {
        // The union or intersection of a filter with itself is that filter.
        if self.is_same(other) {
            return Ok(());
        }
        self.count.roughen();
        self.change_by(other, py, |left, right| {
            left.change(|left| right.look(|right| Ok(joins(left, right)?)))
        })
    }

    /// Returns the union or intersection with another filter, or `NotImplemented` for what is not one.
    pub(crate) fn operate<'py>(
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

    /// Returns whether both filters are made alike and have the same bits.
    pub(crate) fn equals(&self, py: Python<'_>, other: &Filter) -> Result<bool> {
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
}
