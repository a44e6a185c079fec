//! The fate of the keys of an insert whose answer was lost.
//!
//! A transaction that is sent again answers *seen* for each of its keys, if it was carried out the
//! first time. It was not if any bit was clear the second time: bits are only ever set, and a server that
//! lost the transaction lost all of it. So keys are in doubt only where all of them were seen, and nothing
//! has to be stored on the server to decide it. A key in doubt may be new to everyone: it must not be dropped.

use std::collections::HashSet;

use crate::frame::Fate;
use crate::{Error, Result};

/// The fate of a key after an interrupted insert: see
/// [`Error::Interrupted`](crate::Error::Interrupted).
///
/// ```
/// use mayhap_redis::Answer;
///
/// // To lose no key, treat one in doubt as new; to repeat none, treat it as seen.
/// let print = |answer: Answer| matches!(answer, Answer::New | Answer::Doubtful);
/// assert!(print(Answer::Doubtful) && !print(Answer::Seen));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Answer {
    /// The key was not inserted.
    Unsent,
    /// The key is inserted, and may have been before.
    Seen,
    /// The answer was lost. The key may or may not be inserted, and may or may not have been new.
    Doubtful,
    /// The key is inserted, and definitely was not before.
    New,
}

/// A frame's findings about one key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    /// The unit that carried it, and the fate of that.
    pub(crate) unit: usize,
    pub(crate) fate: Fate,
    /// True if any of its bits was clear; `None` without an answer.
    pub(crate) changed: Option<bool>,
    /// Set if it was found where this frame does not write.
    pub(crate) elsewhere: bool,
}

/// Adds the findings of a frame to what was known about its keys. An error when a server answered without
/// saying what the bits of every key were.
pub(crate) fn note(keys: &[&[u8]], heard: &[Heard], answers: &mut [Answer]) -> Result<()> {
    let changed = |repeated: &Heard| {
        let same = |other: &&Heard| other.unit == repeated.unit;
        heard
            .iter()
            .filter(same)
            .any(|other| other.changed == Some(true))
    };
    let mut strange = false;
    // The units that turned out not to have been carried out before; few units of a frame are repeated.
    let mut judged: Vec<(usize, bool)> = Vec::new();
    let mut doubted = HashSet::new();
    for ((key, heard), known) in keys.iter().zip(heard).zip(answers) {
        let doubtful = match heard.fate {
            Fate::Unsent => continue,
            Fate::Lost => true,
            _ if heard.changed.is_none() => {
                strange = true;
                true
            }
            Fate::Answered => false,
            Fate::Repeated => {
                let before = judged.iter().find(|(unit, _)| *unit == heard.unit);
                let fresh = before.map(|(_, fresh)| *fresh).unwrap_or_else(|| {
                    let fresh = changed(heard);
                    judged.push((heard.unit, fresh));
                    fresh
                });
                !fresh && !heard.elsewhere
            }
        };
        let answer = match doubtful {
            // A key that occurs twice is in doubt once.
            true if doubted.insert(*key) => Answer::Doubtful,
            false if heard.changed == Some(true) && !heard.elsewhere => Answer::New,
            _ => Answer::Seen,
        };
        *known = answer.max(*known);
    }
    match strange {
        false => Ok(()),
        true => Err(Error::Server {
            message: "something else than the bits that were asked for".into(),
        }),
    }
}

/// Turns the answers of a whole call into its result.
pub(crate) fn sum_up(name: &str, answers: Vec<Answer>, outcome: Result<()>) -> Result<Vec<bool>> {
    let doubt = answers.contains(&Answer::Doubtful);
    match outcome {
        Ok(()) if !doubt => Ok(answers
            .iter()
            .map(|answer| *answer == Answer::New)
            .collect()),
        // Nothing was inserted.
        Err(error) if answers.iter().all(|answer| *answer == Answer::Unsent) => Err(error),
        outcome => Err(Error::Interrupted {
            name: name.into(),
            answers,
            error: outcome.err().map(Box::new),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(unit: usize, fate: Fate, changed: bool) -> Heard {
        Heard {
            unit,
            fate,
            changed: Some(changed),
            elsewhere: false,
        }
    }

    #[test]
    fn keys_of_a_repeated_unit_are_in_doubt_unless_it_changed_a_bit() {
        let keys: [&[u8]; 6] = [b"a", b"b", b"c", b"d", b"c", b"e"];
        let heard = [
            heard(0, Fate::Repeated, false),
            heard(0, Fate::Repeated, true),
            heard(1, Fate::Repeated, false),
            heard(2, Fate::Answered, false),
            heard(1, Fate::Repeated, false),
            heard(3, Fate::Unsent, false),
        ];
        let mut answers = [Answer::Unsent; 6];

        note(&keys, &heard, &mut answers).expect("answers");

        let expected = [
            Answer::Seen,
            Answer::New,
            Answer::Doubtful,
            Answer::Seen,
            Answer::Seen,
            Answer::Unsent,
        ];
        assert_eq!(answers, expected);
    }

    #[test]
    fn a_known_answer_is_not_forgotten() {
        let keys: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let mut answers = [Answer::New, Answer::Doubtful, Answer::Seen, Answer::Seen];
        let heard = [
            heard(0, Fate::Answered, false),
            heard(0, Fate::Answered, false),
            heard(1, Fate::Lost, false),
            heard(2, Fate::Unsent, false),
        ];

        note(&keys, &heard, &mut answers).expect("answers");

        let expected = [
            Answer::New,
            Answer::Doubtful,
            Answer::Doubtful,
            Answer::Seen,
        ];
        assert_eq!(answers, expected);
    }
}
