//! Taking the keys of columns to a filter, and the answers back.

use std::sync::atomic::{AtomicU64, Ordering};

use super::column::{Column, Keys, RUN, Rows};
use crate::body::{Action, Body};
use crate::error::Result;

/// Answers, and how many of them were true.
pub(crate) struct Tally {
    /// One per row; empty where only the number is wanted.
    pub(crate) mask: Vec<bool>,
    pub(crate) count: u64,
}

/// A part of a column, and the place of its answers.
struct Piece<'a> {
    column: &'a Column,
    rows: std::ops::Range<usize>,
    mask: &'a mut [bool],
}

/// Asks a filter for every key of the columns, or inserts it, on this many threads.
///
/// Many threads insert at once where the kind has a form for that; other kinds take one. Of equal keys, one is then
/// new, but it need not be the first.
pub(crate) fn walk(
    body: &mut BodyRef<'_>,
    columns: &[Column],
    action: Action,
    threads: usize,
    wants_mask: bool,
) -> Result<Tally> {
    let rows: usize = columns.iter().map(Column::len).sum();
    let mut mask = vec![false; if wants_mask { rows } else { 0 }];
    let share = rows.div_ceil(threads.max(1)).max(RUN);
    let mut pieces = pieces(columns, share, &mut mask);
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

/// A filter, to be looked at by many or changed by one.
pub(crate) enum BodyRef<'a> {
    Shared(&'a Body),
    Exclusive(&'a mut Body),
}

fn pieces<'a>(columns: &'a [Column], share: usize, mask: &'a mut [bool]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut left = mask;
    for column in columns {
        let mut start = 0;
        while start < column.len() {
            let rows = start..column.len().min(start + share);
            start = rows.end;
            let taken = rows.len().min(left.len());
            let (mask, rest) = std::mem::take(&mut left).split_at_mut(taken);
            left = rest;
            pieces.push(Piece { column, rows, mask });
        }
    }
    pieces
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
    /// Takes the keys to `act`, in order, and returns how many answers were true.
    fn walk(&mut self, mut act: impl FnMut(Keys<'_>, &mut [bool]) -> Result<()>) -> Result<u64> {
        let (mask, first) = (&mut *self.mask, self.rows.start);
        let wants_mask = !mask.is_empty();
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
        // A run of a whole column would need answers for all of it.
        if !wants_mask {
            let mut start = self.rows.start;
            while start < self.rows.end {
                let rows = start..self.rows.end.min(start + RUN * 16);
                start = rows.end;
                self.column.runs(rows, &mut one_run)?;
            }
            return Ok(count);
        }
        self.column.runs(self.rows.clone(), &mut one_run)?;
        Ok(count)
    }
}

fn ones(answers: &[bool]) -> u64 {
    answers.iter().map(|&answer| u64::from(answer)).sum()
}
