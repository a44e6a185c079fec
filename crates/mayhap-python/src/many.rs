//! Looking up and inserting many keys at once.

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::body::Action;
use crate::columns::{
    BodyRef, Column, Columns, Keys, Library, Nulls, RUN, Source, Tally, Walk, objects,
};
use crate::error::{CapacityWarning, Result, value};
use crate::filter::Filter;

/// The rows of a stream that are read at a time, for each thread: small columns together, and never the whole stream.
const ROWS: usize = 1 << 16;

/// The rows of columns that each thread walks between two looks at signals: 20 ms or less for most kinds.
const STEP: usize = 1 << 18;

impl Filter {
    /// Looks up or inserts the keys of a run.
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
        match self.is_shared {
            true => self
                .body
                .read(py, |body| body.insert_keys_shared(keys, answers)),
            false => self.body.write(py, |body| body.insert_keys(keys, answers)),
        }?;
        self.count.many(ones(answers));
        Ok(())
    }

    /// Looks up or inserts the keys of these rows, without Python's lock.
    fn walk(&self, py: Python<'_>, walk: &Walk<'_>) -> Result<Tally> {
        if walk.action == Action::Contains {
            return self.look(py, |body| walk.run(BodyRef::Shared(body)));
        }
        let tally = match self.is_shared {
            true => self.look(py, |body| walk.run(BodyRef::Shared(body))),
            false => self.change(py, |body| {
                if walk.threads > 1 {
                    body.share();
                }
                if !body.is_shared() {
                    return walk.run(BodyRef::Exclusive(body));
                }
                let tally = walk.run(BodyRef::Shared(body));
                body.unshare();
                tally
            }),
        };
        match &tally {
            Ok(tally) => self.count.many(tally.count),
            // Keys before the error may have been inserted.
            Err(_) => self.count.roughen(),
        }
        tally
    }

    /// Looks up or inserts the keys of all columns.
    ///
    /// Python's lock is free during each step, and signals are handled between steps: Ctrl-C ends a long column, and
    /// what was inserted before stays.
    fn walk_all(
        &self,
        py: Python<'_>,
        columns: &mut Columns,
        nulls: Nulls,
        action: Action,
        threads: usize,
        wants_mask: bool,
    ) -> Result<Tally> {
        let mut all = Tally::default();
        while let Some(some) = columns.next(py, ROWS * threads)? {
            let rows = some.iter().map(Column::len).sum();
            all.mask.reserve(if wants_mask { rows } else { 0 });
            for start in (0..rows).step_by(STEP * threads) {
                py.check_signals()?;
                let walk = Walk {
                    columns: &some,
                    rows: start..rows.min(start + STEP * threads),
                    nulls,
                    action,
                    threads,
                    wants_mask,
                };
                let tally = self.walk(py, &walk)?;
                all.count += tally.count;
                all.mask.extend(tally.mask);
            }
        }
        Ok(all)
    }

    /// Looks up or inserts each key, and returns the answers as the library of the keys has them.
    pub(crate) fn many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        nulls: Nulls,
        action: Action,
        threads: usize,
    ) -> Result<Bound<'py, PyAny>> {
        let py = keys.py();
        let mut source = Source::of(keys)?;
        let mut answers = Vec::new();
        match &mut source {
            Source::Columns(columns, library) => {
                let tally = self.walk_all(py, columns, nulls, action, threads, true)?;
                return library.mask(py, tally.mask);
            }
            Source::Iterator(keys) => {
                self.each(keys, action, |answer| answers.push(answer))?;
            }
            Source::Sequence(sequence) | Source::Objects(sequence) => objects(
                sequence,
                || self.body.is_free(py),
                |keys| {
                    let start = answers.len();
                    answers.resize(start + keys.len(), false);
                    self.act(py, action, keys, &mut answers[start..])
                },
            )?,
        }
        match source {
            Source::Objects(_) => Library::NumPy.mask(py, answers),
            _ => Ok(PyList::new(py, &answers)?.into_any()),
        }
    }

    /// Inserts many keys and returns how many were new.
    pub(crate) fn insert_all(
        &self,
        keys: &Bound<'_, PyAny>,
        nulls: Nulls,
        threads: usize,
    ) -> Result<u64> {
        let py = keys.py();
        let mut new = 0;
        match Source::of(keys)? {
            Source::Columns(mut columns, _) => {
                let action = Action::Insert;
                let tally = self.walk_all(py, &mut columns, nulls, action, threads, false)?;
                new = tally.count;
            }
            Source::Iterator(keys) => {
                self.each(&keys, Action::Insert, |is_new| new += u64::from(is_new))?;
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

    /// Looks up or inserts the keys of an iterator, one by one, and calls `see` with each answer.
    fn each(
        &self,
        keys: &Bound<'_, PyIterator>,
        action: Action,
        mut see: impl FnMut(bool),
    ) -> Result<()> {
        let py = keys.py();
        for (index, object) in keys.clone().enumerate() {
            if index.is_multiple_of(RUN) {
                py.check_signals()?;
            }
            let answer = self.one(py, action, &object?)?;
            if action == Action::Insert && answer {
                self.count.many(1);
            }
            see(answer);
        }
        Ok(())
    }

    /// Warns once when more keys were new than the filter was made for.
    pub(crate) fn warn_if_over(&self, py: Python<'_>) -> Result<()> {
        match self.count.is_over() {
            true => self.warn(py),
            false => Ok(()),
        }
    }

    /// Issues the filter's only warning, unless it was issued before.
    #[cold]
    pub(crate) fn warn(&self, py: Python<'_>) -> Result<()> {
        let (Some(total), Some(promise)) =
            (self.count.take_warning(), self.description(py)?.promise)
        else {
            return Ok(());
        };
        let text = format!(
            "{total} keys were new to a filter made for {}: its rate is above {:?}; \
             make a larger one, or a Scalable",
            promise.keys, promise.rate
        );
        let text = std::ffi::CString::new(text).map_err(|_| value("a text with a zero"))?;
        let category = py.get_type::<CapacityWarning>();
        PyErr::warn(py, &category, &text, 1)?;
        Ok(())
    }
}

fn ones(answers: &[bool]) -> u64 {
    answers.iter().map(|&answer| u64::from(answer)).sum()
}

/// Returns the number of threads to use: 0 stands for all cores of the machine.
pub(crate) fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        asked => asked,
    }
}
