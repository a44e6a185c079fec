//! The truth about the keys, whatever the filter: how many are distinct, and which of the keys to look up are absent.
//!
//! Counted exactly, in 9 to 18 bytes per distinct key however long keys are: by a set of 64-bit numbers.
//! Drawn keys are one-to-one with such a number, so nothing is lost. Keys of files are represented by a hash; of
//! ten million, 0.000003 are expected to be mistaken for another. If keys are distinct by construction,
//! there is nothing to count, and no set.

use mayhap::hash::mix;
use mayhap::{Bitmap, bits::Bits as _, sets::Fingerprints};
use mayhap_lab::Role;
use mayhap_program::failure::{Failure, Result};

use crate::data::{Data, too_few_keys};
use crate::run::Run;

/// A number that no distribution with repeats gives, so that no key becomes 0, which the set cannot tell from 1.
const NO_KEY: u64 = 0x5A5A_5A5A_5A5A_5A5A;

/// A point of the sweep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// The keys inserted so far, repeats included.
    pub(crate) inserts: u64,
    /// The distinct ones among them.
    pub(crate) distinct: u64,
}

impl Step {
    /// A step of this many distinct keys.
    fn distinct(inserts: u64) -> Step {
        Step {
            inserts,
            distinct: inserts,
        }
    }
}

/// The truth about the keys.
pub(crate) struct Survey {
    pub(crate) steps: Vec<Step>,
    /// The keys that are looked up at each step; only some of them may count.
    pub(crate) asked: u64,
    /// The lookups of all steps that count: those of absent keys, each once. `None` when all do.
    counting: Option<Bitmap>,
    /// The number of lookups that count, by step.
    negatives: Vec<u64>,
    /// Set if every step has absent keys of its own; files have too few for that.
    pub(crate) asks_others_each_step: bool,
}

impl Survey {
    /// Counts the distinct keys after each of these numbers of inserts, ascending, and the absent keys to look up.
    pub(crate) fn new(data: &Data, inserts: &[u64], asked: u64, run: &Run) -> Result<Survey> {
        let mut survey = Survey {
            steps: Vec::new(),
            asked,
            counting: None,
            negatives: vec![asked; inserts.len()],
            asks_others_each_step: !data.is_finite(),
        };
        if data.is_distinct() {
            survey.steps = inserts
                .iter()
                .map(|&inserts| Step::distinct(inserts))
                .collect();
            return Ok(survey);
        }
        let members = inserts.last().copied().unwrap_or(0);
        let mut set = Fingerprints::new();
        let mut stream = data.stream(Role::Member, members)?;
        let mut inserted = 0;
        for &inserts in inserts {
            inserted += stream.each(inserts - inserted, |batch| {
                run.advance(batch.count())?;
                insert(&mut set, batch.identities(), |_| ())
            })?;
            survey.steps.push(Step {
                inserts: inserted,
                distinct: set.count(),
            });
        }
        survey.count_absent(data, &mut set, run)?;
        if data.is_finite() && (survey.negatives(0) == 0 || inserted == 0) {
            return Err(too_few_keys());
        }
        Ok(survey)
    }

    /// Finds the keys to look up that are not in the set of members, and were not looked up before.
    fn count_absent(&mut self, data: &Data, set: &mut Fingerprints, run: &Run) -> Result<()> {
        let windows = match self.asks_others_each_step {
            true => self.steps.len() as u64,
            false => 1,
        };
        let mut counting = Bitmap::new(self.asked * windows)?;
        let mut place = 0;
        let mut stream = data.stream(Role::Absent, self.members())?;
        stream.each(self.asked * windows, |batch| {
            run.advance(batch.count())?;
            insert(set, batch.identities(), |new| {
                if new {
                    counting.set(place);
                }
                place += 1;
            })
        })?;
        for step in 0..self.negatives.len() {
            let first = self.first_asked(step);
            let own = counting.get_range(first..first + self.asked)?;
            self.negatives[step] = own.count_ones();
        }
        self.counting = Some(counting);
        Ok(())
    }

    /// The number of members that are ever inserted.
    pub(crate) fn members(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.inserts)
    }

    /// The number of the first key that is looked up at a step.
    pub(crate) fn first_asked(&self, step: usize) -> u64 {
        match self.asks_others_each_step {
            true => step as u64 * self.asked,
            false => 0,
        }
    }

    /// The number of lookups at a step that count.
    pub(crate) fn negatives(&self, step: usize) -> u64 {
        self.negatives.get(step).copied().unwrap_or(0)
    }

    /// Returns whether the key of this lookup is absent, and did not occur before.
    pub(crate) fn counts(&self, place: u64) -> bool {
        let counting = self.counting.as_ref();
        counting.is_none_or(|counting| counting.get(place))
    }
}

/// Counts the keys of a role in files, and the distinct ones among them.
pub(crate) fn count_keys(data: &Data, role: Role, run: &Run) -> Result<Step> {
    let mut set = Fingerprints::new();
    let mut stream = data.stream(role, 0)?;
    let inserts = stream.each(u64::MAX, |batch| {
        run.check()?;
        insert(&mut set, batch.identities(), |_| ())
    })?;
    match set.count() {
        0 => Err(too_few_keys()),
        distinct => Ok(Step { inserts, distinct }),
    }
}

fn insert(set: &mut Fingerprints, identities: &[u64], answer: impl FnMut(bool)) -> Result<()> {
    // A bijection: the numbers are still distinct, and as spread as the set needs them.
    let numbers = identities.iter().map(|identity| mix(identity ^ NO_KEY));
    set.insert_each(numbers, answer).map_err(Failure::from)
}
