//! The counters that a key touches, and those of the second set if it is counted there.

use super::Spectral;
use super::marks::Mark;
use super::sections::{Positions, Second};
use crate::bits::Bits;
use crate::hash::Digest;

/// The counters that a key touches.
pub(super) struct Touched {
    pub(super) primary: Positions,
    pub(super) second: Option<TouchedSecond>,
}

/// The second counters that a key touches, if it is counted there.
pub(super) struct TouchedSecond {
    pub(super) second: Second,
    digest: Digest,
    pub(super) mark: Mark,
    pub(super) is_marked: bool,
}

impl TouchedSecond {
    pub(super) fn positions(&self) -> Positions {
        Positions::new(self.digest, self.second.shape)
    }
}

impl Touched {
    /// The counters of no key.
    pub(super) const NONE: Touched = Touched {
        primary: Positions::NONE,
        second: None,
    };
}

impl<B: Bits> Spectral<B> {
    pub(super) fn touched(&self, digest: Digest) -> Touched {
        let mut touched = Touched::NONE;
        self.touch(digest, &mut touched);
        touched
    }

    /// Replaces what another key touched, for many keys: to make room for the positions takes longer than to find them.
    #[inline(always)]
    pub(super) fn touch(&self, digest: Digest, touched: &mut Touched) {
        touched.primary.replace(digest.probe(self.body.shape.shape));
        touched.second = self.touched_second(digest);
    }

    pub(super) fn touched_second(&self, digest: Digest) -> Option<TouchedSecond> {
        let second = self.body.shape.second?;
        let other = Second::digest(digest);
        let mark = second.marks.mark(digest.hi, other.lo);
        Some(TouchedSecond {
            second,
            digest: other,
            mark,
            is_marked: second.marks.contains(&self.body.bits, mark),
        })
    }

    pub(super) fn count_touched(&self, touched: &Touched) -> u64 {
        self.lowest(touched.primary.iter(), touched.second.as_ref())
    }

    /// The lowest of the counters at these positions, and of the second ones of a key that is marked.
    pub(super) fn lowest(
        &self,
        positions: impl Iterator<Item = u64>,
        second: Option<&TouchedSecond>,
    ) -> u64 {
        let count = self.body.shape.primary.least(&self.body.bits, positions);
        match second {
            Some(TouchedSecond {
                second,
                digest,
                is_marked: true,
                ..
            }) => {
                let positions = digest.probe(second.shape);
                count.min(second.counters.least(&self.body.bits, positions))
            }
            _ => count,
        }
    }
}
