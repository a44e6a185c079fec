//! Fills a filter step by step, and asks it at each for keys that it holds and keys that it does not.

use mayhap::{AnyFilter, Assemble as _, Description, Filter as _, Kind, Stats};
use mayhap_lab::report::BitsPicture;
use mayhap_lab::{Measured, Role};

use super::Run;
use super::data::{Data, Stream};
use super::survey::{Step, Survey};
use crate::failure::{Failure, Result};
use crate::verbs::info::largest;

/// What a filter was found to be after some inserts.
pub(super) struct Filled {
    pub(super) description: Description,
    pub(super) step: Step,
    /// The keys asked for that were never inserted, and how many of them were found.
    pub(super) negatives: u64,
    pub(super) false_positives: u64,
    /// How many lookups of inserted keys there were, and how many of them were denied.
    pub(super) checked: Option<Checked>,
    /// What the filter says of itself.
    pub(super) stats: Stats,
    /// How it looks, at capacity.
    pub(super) picture: Option<BitsPicture>,
}

/// Lookups of inserted keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checked {
    pub(super) keys: u64,
    /// None, ever.
    pub(super) denied: u64,
}

impl Filled {
    /// The share of false positives; `None` when there was nothing to be wrong about.
    pub(super) fn measured(&self) -> Option<Measured> {
        Measured::of(self.false_positives, self.negatives)
    }

    /// The rate for this many distinct keys: by the kind's maths, or else by the filter's bits.
    pub(super) fn predicted(&self) -> f64 {
        self.description
            .predicted_rate(self.step.distinct)
            .unwrap_or(self.stats.rate)
    }

    /// Whether what was measured is what theory says of all such filters; `None` when nothing was.
    pub(super) fn is_as_predicted(&self) -> Option<bool> {
        let measured = self.measured()?.of_all_filters(self.step.distinct);
        Some(measured.holds(self.predicted()))
    }

    pub(super) fn bits_per_key(&self) -> f64 {
        self.stats.bits as f64 / self.step.distinct as f64
    }
}

/// Fills a filter for `capacity` keys, and calls `keep` with what it is at each step.
pub(super) fn fill(
    description: &Description,
    capacity: u64,
    data: &Data,
    survey: &Survey,
    run: &Run,
    mut keep: impl FnMut(Filled),
) -> Result<()> {
    let mut filter = AnyFilter::new(description)?;
    let mut stream = data.stream(Role::Member, survey.members())?;
    let mut inserted = 0;
    // Past capacity more and more answers are yes whatever was lost: keys are looked up before that, too.
    let forgets = forgets(description.kind);
    let full = survey.steps.iter().rposition(|step| match forgets {
        // It may forget what it was given this many keys ago, repeats or not.
        true => step.inserts <= capacity,
        false => step.distinct <= capacity,
    });
    let last = match (forgets, full) {
        (true, None) => return Ok(()),
        (true, Some(full)) => full,
        (false, _) => survey.steps.len() - 1,
    };
    let full = full.unwrap_or(0);
    for (index, step) in survey.steps.iter().enumerate().take(last + 1) {
        inserted += insert(&mut filter, &mut stream, step.inserts - inserted, run)?;
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
        let bits = largest(&filter.parts()).filter(|_| index == full);
        keep(Filled {
            description: description.clone(),
            step: *step,
            negatives: survey.negatives(index),
            false_positives,
            checked,
            stats,
            picture: bits.map(|bits| BitsPicture::of(bits, stats.fill())),
        });
    }
    Ok(())
}

/// Whether the kind forgets keys past its capacity, as it should: it is measured up to that.
pub(super) fn forgets(kind: Kind) -> bool {
    kind == Kind::Windowed
}

/// Inserts the next keys of a stream; how many there were.
pub(super) fn insert(
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

/// Asks for the next keys of a stream; calls `answer` with each answer.
pub(super) fn ask(
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

/// How many absent keys of a step that are no members are found.
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
