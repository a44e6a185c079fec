//! Looking up and inserting the keys of columns, on one thread or several.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::column::{Column, Keys, RUN, Rows};
use super::nulls::Nulls;
use crate::body::{Action, Body};
use crate::error::Result;

/// Answers, and how many of them were true. Nulls count only where they are a key.
#[derive(Default)]
pub(crate) struct Tally {
    /// One per row; empty where only the number is wanted.
    pub(crate) mask: Vec<bool>,
    pub(crate) count: u64,
}

/// A part of a column, and the place of its answers.
struct Piece<'a> {
    column: &'a Column,
    rows: Range<usize>,
    mask: &'a mut [bool],
    nulls: Nulls,
}

/// Rows of columns, and what to do with their keys.
///
/// With more than one thread, kinds that have an atomic form take keys from all of them at once; other kinds use one
/// thread. Of equal keys one is then new, but it need not be the first.
pub(crate) struct Walk<'a> {
    pub(crate) columns: &'a [Column],
    /// The rows to walk, counted through all columns.
    pub(crate) rows: Range<usize>,
    pub(crate) nulls: Nulls,
    pub(crate) action: Action,
    pub(crate) threads: usize,
    pub(crate) wants_mask: bool,
}

/// A filter, borrowed to be looked at by many or changed by one.
pub(crate) enum BodyRef<'a> {
    Shared(&'a Body),
    Exclusive(&'a mut Body),
}

impl Walk<'_> {
    /// Looks up or inserts each key, in order where one thread does it.
    pub(crate) fn run(&self, body: BodyRef<'_>) -> Result<Tally> {
        let (action, threads) = (self.action, self.threads);
        let mut mask = vec![false; if self.wants_mask { self.rows.len() } else { 0 }];
        let mut pieces = self.pieces(&mut mask);
        let count = match body {
            BodyRef::Shared(body) if pieces.len() > 1 && threads > 1 => {
                at_once(body, pieces, action, threads)?
            }
            BodyRef::Shared(body) => {
                let mut count = 0;
                for piece in &mut pieces {
                    count += piece.walk(|keys, answers| match action {
                        Action::Contains => body.contains_keys(keys, answers),
                        Action::Insert => body.insert_keys_shared(keys, answers),
                    })?;
                }
                count
            }
            BodyRef::Exclusive(body) => {
                let mut count = 0;
                for piece in &mut pieces {
                    count += piece.walk(|keys, answers| body.insert_keys(keys, answers))?;
                }
                count
            }
        };
        Ok(Tally { mask, count })
    }

    /// Divides the rows into at most as many pieces per column as there are threads.
    fn pieces<'a>(&'a self, mask: &'a mut [bool]) -> Vec<Piece<'a>> {
        let share = self.rows.len().div_ceil(self.threads.max(1)).max(RUN);
        let mut pieces = Vec::new();
        let mut left = mask;
        let mut first = 0;
        for column in self.columns {
            let within = |row: usize| row.saturating_sub(first).min(column.len());
            let (mut start, end) = (within(self.rows.start), within(self.rows.end));
            first += column.len();
            while start < end {
                let rows = start..end.min(start + share);
                start = rows.end;
                let taken = rows.len().min(left.len());
                let (mask, rest) = std::mem::take(&mut left).split_at_mut(taken);
                left = rest;
                pieces.push(Piece {
                    column,
                    rows,
                    mask,
                    nulls: self.nulls,
                });
            }
        }
        pieces
    }
}

fn at_once(body: &Body, pieces: Vec<Piece<'_>>, action: Action, threads: usize) -> Result<u64> {
    let mut shares: Vec<Vec<Piece<'_>>> = Vec::new();
    shares.resize_with(threads.min(pieces.len()), Vec::new);
    let count = shares.len();
    for (index, piece) in pieces.into_iter().enumerate() {
        shares[index % count].push(piece);
    }
    let counted = AtomicU64::new(0);
    let work = |pieces: Vec<Piece<'_>>| -> Result<()> {
        for mut piece in pieces {
            let count = piece.walk(|keys, answers| match action {
                Action::Contains => body.contains_keys(keys, answers),
                Action::Insert => body.insert_keys_shared(keys, answers),
            })?;
            counted.fetch_add(count, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = shares
            .into_iter()
            .map(|pieces| scope.spawn(|| work(pieces)))
            .collect();
        let done = workers.into_iter().map(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.collect::<Result<Vec<()>>>()
    })?;
    Ok(counted.into_inner())
}

impl Piece<'_> {
    /// Calls `act` with the keys, in order, and returns how many answers were true.
    fn walk(&mut self, mut act: impl FnMut(Keys<'_>, &mut [bool]) -> Result<()>) -> Result<u64> {
        let (mask, first) = (&mut *self.mask, self.rows.start);
        let wants_mask = !mask.is_empty();
        if self.nulls == Nulls::Keep && !self.column.has_all() {
            // Rows that have a key get their answer below.
            mask.fill(true);
        }
        let mut scratch = Vec::new();
        let mut count = 0;
        let mut one_run = |keys: Keys<'_>, rows: Rows<'_>| -> Result<()> {
            let in_place = match rows {
                Rows::From(row) if wants_mask => Some(&mut mask[row - first..][..keys.len()]),
                _ => None,
            };
            if let Some(answers) = in_place {
                act(keys, answers)?;
                count += ones(answers);
                return Ok(());
            }
            scratch.clear();
            scratch.resize(keys.len(), false);
            act(keys, &mut scratch)?;
            count += ones(&scratch);
            if let (Rows::At(rows), false) = (rows, !wants_mask) {
                for (row, &answer) in rows.iter().zip(&scratch) {
                    mask[row - first] = answer;
                }
            }
            Ok(())
        };
        // A run can be a whole column, which would need an answer for each of its rows.
        if !wants_mask {
            let mut start = self.rows.start;
            while start < self.rows.end {
                let rows = start..self.rows.end.min(start + RUN * 16);
                start = rows.end;
                self.column.runs(rows, self.nulls, &mut one_run)?;
            }
            return Ok(count);
        }
        self.column
            .runs(self.rows.clone(), self.nulls, &mut one_run)?;
        Ok(count)
    }
}

fn ones(answers: &[bool]) -> u64 {
    answers.iter().map(|&answer| u64::from(answer)).sum()
}
