//! What is true of the keys, whatever the filter: how many are distinct, and which strangers are none.
//!
//! Counted exactly, in 9 to 18 bytes per distinct key however long keys are: by a set of 64-bit numbers.
//! Drawn keys are one-to-one with such a number, so nothing is lost. Keys of files are known by a hash; of
//! ten million 0.000003 are expected to be taken for another. Where keys are distinct by construction
//! there is nothing to count, and no set.

use mayhap::{Bitmap, Bits as _, Fingerprints};

use super::Run;
use super::data::{Data, Role, mix, too_few_keys};
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

/// What is true of the keys.
pub(super) struct Survey {
    pub(super) steps: Vec<Step>,
    /// The strangers that are drawn, of which only some may count.
    pub(super) drawn: u64,
    /// Those that are no members, each once; `None` when all are.
    counting: Option<Bitmap>,
    /// Their number.
    pub(super) negatives: u64,
}

impl Survey {
    /// Counts the distinct keys after so many inserts each, ascending, and the strangers that are none.
    pub(super) fn new(data: &Data, inserts: &[u64], strangers: u64, run: &Run) -> Result<Survey> {
        let members = inserts.last().copied().unwrap_or(0);
        if data.is_distinct() {
            let step = |&inserts: &u64| Step {
                inserts,
                distinct: inserts,
            };
            return Ok(Survey {
                steps: inserts.iter().map(step).collect(),
                drawn: strangers,
                counting: None,
                negatives: strangers,
            });
        }
        let mut set = Fingerprints::new();
        let mut stream = data.stream(Role::Member, members)?;
        let mut steps = Vec::new();
        let mut inserted = 0;
        for &inserts in inserts {
            inserted += stream.each(inserts - inserted, |batch| {
                run.advance(batch.count())?;
                insert(&mut set, batch.identities(), |_| ())
            })?;
            steps.push(Step {
                inserts: inserted,
                distinct: set.count(),
            });
        }
        let mut counting = Bitmap::new(strangers)?;
        let mut at = 0;
        let mut stream = data.stream(Role::Stranger, members)?;
        let drawn = stream.each(strangers, |batch| {
            run.advance(batch.count())?;
            insert(&mut set, batch.identities(), |new| {
                if new {
                    counting.set(at);
                }
                at += 1;
            })
        })?;
        let negatives = counting.count_ones();
        if data.is_finite() && (negatives == 0 || inserted == 0) {
            return Err(too_few_keys());
        }
        Ok(Survey {
            steps,
            drawn,
            counting: Some(counting),
            negatives,
        })
    }

    /// The members that are ever inserted.
    pub(super) fn members(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.inserts)
    }

    /// Whether the stranger at this place is no member, and did not come before.
    pub(super) fn counts(&self, place: u64) -> bool {
        self.counting
            .as_ref()
            .is_none_or(|counting| counting.get(place))
    }
}

/// The members that files have, and the distinct ones among them.
pub(super) fn count_members(data: &Data, run: &Run) -> Result<Step> {
    let mut set = Fingerprints::new();
    let mut stream = data.stream(Role::Member, 0)?;
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
