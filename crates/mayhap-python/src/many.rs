//! Many keys at once, taken to a filter.

use std::sync::atomic::Ordering;

use mayhap::{Inserts, Kind};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::body::{Action, Body};
use crate::columns::{BodyRef, Column, Keys, Library, Source, Tally, objects, walk};
use crate::error::{CapacityWarning, Result, value};
use crate::filter::Filter;

impl Filter {
    /// Looks keys of a run up, or inserts them.
    fn act(
        &self,
        py: Python<'_>,
        action: Action,
        keys: Keys<'_>,
        answers: &mut [bool],
    ) -> Result<()> {
        if action == Action::Contains {
            return self.body.read(py, |body| body.contains_keys(keys, answers));
        }
        if self.is_shared {
            return self
                .body
                .read(py, |body| body.insert_keys_shared(keys, answers));
        }
        self.body.write(py, |body| body.insert_keys(keys, answers))
    }

    /// Takes columns to the filter, with Python's lock given back.
    fn walk(
        &self,
        py: Python<'_>,
        columns: &[Column],
        action: Action,
        threads: usize,
        wants_mask: bool,
    ) -> Result<Tally> {
        if action == Action::Contains || self.is_shared {
            return self.look(py, |body| {
                walk(
                    &mut BodyRef::Shared(body),
                    columns,
                    action,
                    threads,
                    wants_mask,
                )
            });
        }
        self.change(py, |body| {
            if threads > 1 {
                body.share();
            }
            if !body.is_shared() {
                return walk(
                    &mut BodyRef::Exclusive(body),
                    columns,
                    action,
                    threads,
                    wants_mask,
                );
            }
            let tally = walk(
                &mut BodyRef::Shared(body),
                columns,
                action,
                threads,
                wants_mask,
            );
            body.unshare();
            tally
        })
    }

    /// Answers for many keys, as the library has them that they are from.
    pub(crate) fn many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        action: Action,
        threads: usize,
    ) -> Result<(Bound<'py, PyAny>, u64)> {
        let py = keys.py();
        let source = Source::of(keys)?;
        let sequence = match &source {
            Source::Columns(columns, library) => {
                let Tally { mask, count } = self.walk(py, columns, action, threads, true)?;
                return Ok((library.mask(py, mask)?, count));
            }
            Source::Iterator(keys) => {
                let mut answers = Vec::new();
                for object in keys.clone() {
                    answers.push(self.one(py, action, &object?)?);
                }
                return Ok((PyList::new(py, &answers)?.into_any(), ones(&answers)));
            }
            Source::Sequence(sequence) | Source::Objects(sequence) => sequence,
        };
        let mut answers = Vec::new();
        objects(
            sequence,
            || self.body.is_free(py),
            |keys| {
                let start = answers.len();
                answers.resize(start + keys.len(), false);
                self.act(py, action, keys, &mut answers[start..])
            },
        )?;
        let count = ones(&answers);
        let answers = match source {
            Source::Objects(_) => Library::NumPy.mask(py, answers)?,
            _ => PyList::new(py, &answers)?.into_any(),
        };
        Ok((answers, count))
    }

    /// Inserts many keys and returns how many were new.
    pub(crate) fn insert_all(&self, keys: &Bound<'_, PyAny>, threads: usize) -> Result<u64> {
        let py = keys.py();
        let mut new = 0;
        match Source::of(keys)? {
            Source::Columns(columns, _) => {
                new = self
                    .walk(py, &columns, Action::Insert, threads, false)?
                    .count;
            }
            Source::Iterator(keys) => {
                for object in keys {
                    new += u64::from(self.one(py, Action::Insert, &object?)?);
                }
            }
            Source::Sequence(sequence) | Source::Objects(sequence) => {
                let mut answers = Vec::new();
                objects(
                    &sequence,
                    || self.body.is_free(py),
                    |keys| {
                        answers.clear();
                        answers.resize(keys.len(), false);
                        self.act(py, Action::Insert, keys, &mut answers)?;
                        new += ones(&answers);
                        Ok(())
                    },
                )?;
            }
        }
        Ok(new)
    }

    /// Warns once when more keys were definitely new than the filter was made for.
    pub(crate) fn count_new(&self, py: Python<'_>, new: u64) -> Result<()> {
        let total = self.new.fetch_add(new, Ordering::Relaxed) + new;
        if self.warned.load(Ordering::Relaxed) {
            return Ok(());
        }
        let description = self.body.read(py, Body::description)?;
        let Some(promise) = description.promise else {
            return Ok(());
        };
        let has_limit = matches!(description.kind.inserts(), Inserts::BySettingBits)
            || description.kind == Kind::Guarded;
        if !has_limit || total <= promise.keys || self.warned.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let text = format!(
            "{total} keys were new to a filter made for {}: its rate is above {:?}; \
             make a larger one, or a Scalable",
            promise.keys, promise.rate
        );
        let text = std::ffi::CString::new(text).map_err(|_| value("a text with a zero"))?;
        let category = py.get_type::<CapacityWarning>();
        PyErr::warn(py, &category, &text, 2)?;
        Ok(())
    }
}

fn ones(answers: &[bool]) -> u64 {
    answers.iter().map(|&answer| u64::from(answer)).sum()
}

/// The number of threads that is meant: 0 stands for as many as the machine runs at once.
pub(crate) fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        asked => asked,
    }
}
