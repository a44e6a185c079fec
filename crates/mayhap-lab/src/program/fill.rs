//! Fills a filter step by step, and looks up present and absent keys at each step.

use mayhap::bits::Bits as _;
use mayhap::{AnyFilter, Assemble as _, Description, Filter as _, Inserts, Kind, Stats};
use mayhap_lab::report::{BitsPicture, Cells};
use mayhap_lab::{Measured, Role, filled};
use mayhap_program::failure::{Failure, Result};

use crate::data::{Data, Stream};
use crate::run::Run;
use crate::survey::{Step, Survey};

/// The state of a filter after some inserts.
pub(crate) struct Filled {
    pub(crate) description: Description,
    /// The number of the step.
    pub(crate) index: usize,
    pub(crate) step: Step,
    /// The absent keys that were looked up, and how many of them were found.
    pub(crate) negatives: u64,
    pub(crate) false_positives: u64,
    /// The lookups of inserted keys, and how many of them were denied.
    pub(crate) checked: Option<Checked>,
    /// The filter's own statistics.
    pub(crate) stats: Stats,
    /// A picture of its bits, at capacity.
    pub(crate) picture: Option<BitsPicture>,
}

/// Lookups of inserted keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked {
    pub(crate) keys: u64,
    /// Always zero.
    pub(crate) denied: u64,
}

impl Filled {
    /// The share of false positives; `None` if no absent key was looked up.
    pub(crate) fn measured(&self) -> Option<Measured> {
        Measured::of(self.false_positives, self.negatives)
    }

    /// The rate that the kind's formula predicts for this many distinct keys; `None` if it has no formula, or if
    /// repeated keys change the filter in a way that no formula covers.
    pub(crate) fn predicted(&self) -> Option<f64> {
        let repeats = self.step.distinct < self.step.inserts;
        match self.description.kind {
            Kind::Windowed | Kind::Cuckoo if repeats => None,
            _ => self.description.predicted_rate(self.step.distinct),
        }
    }

    pub(crate) fn bits_per_key(&self) -> f64 {
        self.stats.bits as f64 / self.step.distinct as f64
    }
}

/// Fills a filter for `capacity` keys, and calls `keep` with its state at each step. Kinds that are built once are
/// built from the keys of the last step that they have room for.
pub(crate) fn fill(
    description: &Description,
    capacity: u64,
    data: &Data,
    survey: &Survey,
    run: &Run,
    mut keep: impl FnMut(Filled),
) -> Result<()> {
    let is_static = description.kind.inserts() == Inserts::Never;
    let mut stream = data.stream(Role::Member, survey.members())?;
    let mut inserted = 0;
    // Past capacity more and more answers are yes, even for lost keys: keys are looked up before that, too.
    let forgets = forgets(description.kind);
    let full = survey.steps.iter().rposition(|step| match forgets {
        // It may forget a key after this many others, repeats included.
        true => step.inserts <= capacity,
        false => step.distinct <= capacity,
    });
    let last = match (forgets, full) {
        (true, None) => return Ok(()),
        (true, Some(full)) => full,
        (false, _) => survey.steps.len() - 1,
    };
    let full = full.unwrap_or(0);
    let steps = match is_static {
        true => full..full + 1,
        false => 0..last + 1,
    };
    let mut filter = match is_static {
        true => built(
            description,
            &mut stream,
            survey.steps[full].inserts,
            &mut inserted,
            run,
        )?,
        false => AnyFilter::new(description)?,
    };
    for index in steps {
        let step = survey.steps[index];
        if !is_static {
            inserted += insert(&mut filter, &mut stream, step.inserts - inserted, run)?;
        }
        if inserted < step.inserts {
            return Err(
                Failure::new("the files have fewer keys than when they were counted")
                    .hint("do not change them while they are being read"),
            );
        }
        let false_positives = count_false_positives(&filter, data, survey, index, run)?;
        let is_checked = index == full || index == last;
        let checked = match is_checked {
            true => Some(check(&filter, data, inserted, survey, run)?),
            false => None,
        };
        let stats = filter.stats();
        let parts = filter.parts().into_iter().filter(|_| index == full);
        let largest = parts.max_by_key(|bits| bits.size());
        let cells = Cells::of(&filter);
        keep(Filled {
            description: description.clone(),
            index,
            step,
            negatives: survey.negatives(index),
            false_positives,
            checked,
            stats,
            picture: largest.map(|bits| BitsPicture::of(bits, cells, stats.fill())),
        });
    }
    Ok(())
}

/// Builds a filter of a kind that is built once, from the next keys of a stream; a cascade excludes as many keys that
/// no data has.
fn built(
    description: &Description,
    stream: &mut Stream,
    count: u64,
    inserted: &mut u64,
    run: &Run,
) -> Result<AnyFilter> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    *inserted += stream.each(count, |batch| {
        run.advance(batch.count())?;
        keys.extend(batch.keys().iter().map(|key| key.to_vec()));
        Ok(())
    })?;
    let excluded: Vec<Vec<u8>> = match description.kind {
        Kind::Cascade => (0..count)
            .map(|i| format!("\0excluded {i}").into_bytes())
            .collect(),
        _ => Vec::new(),
    };
    let filter = filled(description, &keys, &excluded)?;
    match excluded.iter().filter(|key| filter.contains(*key)).count() {
        0 => Ok(filter),
        found => Err(Failure::new(format!("{found} excluded keys were found"))
            .hint("this must never happen: please report it, with the command and its data")),
    }
}

/// Returns whether the kind forgets keys past its capacity, as it should: it is measured up to that.
pub(crate) fn forgets(kind: Kind) -> bool {
    kind == Kind::Windowed
}

/// Inserts the next keys of a stream; returns how many there were.
pub(crate) fn insert(
    filter: &mut AnyFilter,
    stream: &mut Stream,
    count: u64,
    run: &Run,
) -> Result<u64> {
    let filter = filter.as_insert()?;
    let mut new = Vec::new();
    stream.each(count, |batch| {
        run.advance(batch.count())?;
        new.resize(batch.count() as usize, false);
        filter.insert_bytes_batch(&batch.keys(), &mut new);
        Ok(())
    })
}

/// Looks up the next keys of a stream; calls `answer` with each answer.
pub(crate) fn ask(
    filter: &AnyFilter,
    stream: &mut Stream,
    count: u64,
    run: &Run,
    mut answer: impl FnMut(bool),
) -> Result<u64> {
    let mut found = Vec::new();
    stream.each(count, |batch| {
        run.advance(batch.count())?;
        found.resize(batch.count() as usize, false);
        filter.contains_bytes_batch(&batch.keys(), &mut found);
        found.iter().for_each(|found| answer(*found));
        Ok(())
    })
}

/// Counts the absent keys of a step that are found.
fn count_false_positives(
    filter: &AnyFilter,
    data: &Data,
    survey: &Survey,
    step: usize,
    run: &Run,
) -> Result<u64> {
    let mut place = survey.first_asked(step);
    let mut stream = data.stream(Role::Absent, survey.members())?;
    stream.skip(place);
    let mut wrong = 0;
    ask(filter, &mut stream, survey.asked, run, |found| {
        wrong += u64::from(found && survey.counts(place));
        place += 1;
    })?;
    Ok(wrong)
}

/// Looks up the first members again.
fn check(
    filter: &AnyFilter,
    data: &Data,
    count: u64,
    survey: &Survey,
    run: &Run,
) -> Result<Checked> {
    let mut stream = data.stream(Role::Member, survey.members())?;
    let mut denied = 0;
    let keys = ask(filter, &mut stream, count, run, |found| {
        denied += u64::from(!found);
    })?;
    Ok(Checked { keys, denied })
}
