//! What is true of the keys, whatever the filter: how many are distinct, and which of the keys asked for are absent.
//!
//! Counted exactly, in 9 to 18 bytes per distinct key however long keys are: by a set of 64-bit numbers.
//! Drawn keys are one-to-one with such a number, so nothing is lost. Keys of files are known by a hash; of
//! ten million 0.000003 are expected to be taken for another. Where keys are distinct by construction
//! there is nothing to count, and no set.

use mayhap::hash::mix;
use mayhap::{Bitmap, bits::Bits as _, sets::Fingerprints};
use mayhap_lab::Role;

use super::Run;
use super::data::{Data, too_few_keys};
use crate::failure::{Failure, Result};

/// No number that a distribution with repeats gives, so that none of them is the set's zero, which it
/// cannot tell from one.
const NO_KEY: u64 = 0x5A5A_5A5A_5A5A_5A5A;

/// A point of the sweep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The keys inserted so far, repeats included.
    pub(super) inserts: u64,
    /// The distinct ones among them.
    pub(super) distinct: u64,
}

impl Step {
    /// So many inserts of keys that are all different.
    fn distinct(inserts: u64) -> Step {
        Step {
            inserts,
            distinct: inserts,
        }
    }
}

/// What is true of the keys.
pub(super) struct Survey {
    pub(super) steps: Vec<Step>,
    /// The keys that are asked for at each step, of which only some may count.
    pub(super) asked: u64,
    /// Which ones count, of all steps: those that are no members, each once. `None` when all do.
    counting: Option<Bitmap>,
    /// How many of each step count.
    negatives: Vec<u64>,
    /// Whether every step has absent keys of its own; files have too few for that.
    pub(super) asks_others_each_step: bool,
}

impl Survey {
    /// Counts the distinct keys after this many inserts each, ascending, and the keys asked for that are absent.
    pub(super) fn new(data: &Data, inserts: &[u64], asked: u64, run: &Run) -> Result<Survey> {
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

    /// Finds the keys asked for that are not in the set of members, and were not asked for before.
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

    /// The members that are ever inserted.
    pub(super) fn members(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.inserts)
    }

    /// Where the keys asked for at a step begin.
    pub(super) fn first_asked(&self, step: usize) -> u64 {
        match self.asks_others_each_step {
            true => step as u64 * self.asked,
            false => 0,
        }
    }

    /// The keys asked for at a step that count.
    pub(super) fn negatives(&self, step: usize) -> u64 {
        self.negatives.get(step).copied().unwrap_or(0)
    }

    /// Whether the key asked for at this place is not a member, and did not come before.
    pub(super) fn counts(&self, place: u64) -> bool {
        let counting = self.counting.as_ref();
        counting.is_none_or(|counting| counting.get(place))
    }
}

/// The keys of a role that files have, and the distinct ones among them.
pub(super) fn count_keys(data: &Data, role: Role, run: &Run) -> Result<Step> {
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
    // A bijection: the numbers are distinct as before, and spread as the set needs them.
    let numbers = identities.iter().map(|identity| mix(identity ^ NO_KEY));
    set.insert_each(numbers, answer).map_err(Failure::from)
}
