//! Counting values as never, once, or more than once: two bits per value.

use super::{Bitmap, Bits};
use crate::{Error, Result};

/// The number of times a value was counted by a [`Tally`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seen {
    /// Not at all.
    Never,
    /// Exactly once.
    Once,
    /// Twice or more.
    Often,
}

/// Two bits per possible value: never, once, often.
///
/// ```
/// use mayhap::bits::{Seen, Tally};
///
/// let mut tally = Tally::new(8)?;
/// for value in [5, 1, 5, 5, 2] {
///     tally.count(value)?;
/// }
/// assert_eq!(tally.get(5), Seen::Often);
/// assert_eq!(tally.once().collect::<Vec<_>>(), [1, 2]);
/// assert_eq!(tally.often().collect::<Vec<_>>(), [5]);
/// assert_eq!(tally.distinct().collect::<Vec<_>>(), [1, 2, 5]);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Values counted at least once.
    seen: Bitmap,
    /// Values counted at least twice: always a subset of `seen`.
    again: Bitmap,
}

impl Tally {
    /// Makes a tally of the values below `size`, none of which was seen.
    ///
    /// # Errors
    ///
    /// When there is no memory for twice that many bits.
    pub fn new(size: u64) -> Result<Tally> {
        Ok(Tally {
            seen: Bitmap::new(size)?,
            again: Bitmap::new(size)?,
        })
    }

    /// Counts a value and returns how often it had been seen before.
    ///
    /// # Errors
    ///
    /// When the value is not below the tally's size.
    pub fn count(&mut self, value: u64) -> Result<Seen> {
        if value >= self.seen.size() {
            return Err(Error::Position {
                got: value,
                len: self.seen.size(),
            });
        }
        if self.seen.set(value) {
            return Ok(Seen::Never);
        }
        if self.again.set(value) {
            return Ok(Seen::Once);
        }
        Ok(Seen::Often)
    }

    /// Returns how often the value was counted. Values past the end were never seen.
    pub fn get(&self, value: u64) -> Seen {
        match (self.seen.get(value), self.again.get(value)) {
            (false, _) => Seen::Never,
            (true, false) => Seen::Once,
            (true, true) => Seen::Often,
        }
    }

    /// The values counted exactly once, ascending.
    pub fn once(&self) -> impl Iterator<Item = u64> + '_ {
        self.seen.ones().filter(|&value| !self.again.get(value))
    }

    /// The values counted more than once, ascending.
    pub fn often(&self) -> impl Iterator<Item = u64> + '_ {
        self.again.ones()
    }

    /// The values counted at all, ascending, each once.
    pub fn distinct(&self) -> impl Iterator<Item = u64> + '_ {
        self.seen.ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_returns_how_often_a_value_was_seen_before() {
        let mut tally = Tally::new(64).expect("small");
        let answers: [Seen; 4] = core::array::from_fn(|_| tally.count(7).expect("inside"));
        assert_eq!(answers, [Seen::Never, Seen::Once, Seen::Often, Seen::Often]);
        assert_eq!(tally.get(8), Seen::Never);
    }

    #[test]
    fn counting_past_the_end_is_an_error() {
        let mut tally = Tally::new(64).expect("small");
        assert!(matches!(
            tally.count(64),
            Err(Error::Position { got: 64, len: 64 })
        ));
        assert_eq!(tally.distinct().count(), 0);
    }
}
