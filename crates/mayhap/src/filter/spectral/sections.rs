//! The places of the parts of a spectral filter in its bits: a function of its description.
//!
//! Minimum selection and minimal increase have counters and nothing else. Recurring minimum has lines
//! of 512 bits, divided by a fixed rule into primary counters, half as many secondary ones, and marks:
//! a mark of 64 bits for every `2k` primary counters, which at capacity is 0.7 for each key, where a
//! fifth of the keys need one.

use core::fmt;

use super::SpectralPolicy;
use super::marks::Marks;
use crate::bits::{CounterWidth, Counters};
use crate::filter::fixed::FixedShape;
use crate::filter::{Description, Kind};
use crate::hash::{Digest, Digester};
use crate::{Error, Result, Shape};

/// The parts of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sections {
    bits: u64,
    pub(super) policy: SpectralPolicy,
    /// The number of primary counters, and of hashes.
    pub(super) shape: Shape,
    pub(super) primary: Counters,
    /// The parts that recurring minimum has besides.
    pub(super) second: Option<Second>,
}

impl fmt::Display for Sections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, width) = (self.shape, self.primary.width());
        write!(f, "{} counters of {width}", shape.bits())?;
        if let Some(second) = self.second {
            write!(f, " and {} second ones", second.shape.bits())?;
        }
        write!(f, ", {} hashes, {}", shape.hashes(), self.policy)
    }
}

/// The second counters, and the marks of the keys that are counted there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Second {
    pub(super) shape: Shape,
    pub(super) counters: Counters,
    pub(super) marks: Marks,
}

/// The most hashes: as many as a rate of 2^-64 needs.
pub(super) const MAX_HASHES: u32 = 64;

/// The distinct positions of a key: a counter that two of them name is one counter, or the lowest would
/// not be the lowest.
#[derive(Clone, Copy)]
pub(super) struct Positions {
    all: [u64; MAX_HASHES as usize],
    count: usize,
}

impl Positions {
    /// No positions.
    pub(super) const NONE: Positions = Positions {
        all: [0; MAX_HASHES as usize],
        count: 0,
    };

    pub(super) fn new(digest: Digest, shape: Shape) -> Positions {
        let mut positions = Positions::NONE;
        positions.replace(digest.probe(shape));
        positions
    }

    /// Replaces them by the distinct ones of up to [`MAX_HASHES`] positions.
    #[inline(always)]
    pub(super) fn replace(&mut self, all: impl Iterator<Item = u64>) {
        self.count = 0;
        for position in all {
            if !self.all[..self.count].contains(&position) {
                self.all[self.count] = position;
                self.count += 1;
            }
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.all[..self.count].iter().copied()
    }
}

/// Divides `lines` among the parts of recurring minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lines {
    primary: u64,
    secondary: u64,
    marks: u64,
}

const LINE: u64 = 512;
const MOST_LINES: u64 = (1 << 63) / LINE;

impl Lines {
    /// Permanent. With `w` bits in a counter and `k` hashes: of L lines, `64 L / (3wk + 64)` are marks,
    /// a third of the others is secondary and the rest primary; rounded down, and one at least, but for
    /// the rest. There are three lines and one hash at least.
    fn divide(lines: u64, width: CounterWidth, hashes: u32) -> Lines {
        let (width, hashes) = (u64::from(width.bits()), u64::from(hashes));
        let marks = (64 * lines / (3 * width * hashes + 64)).max(1);
        let secondary = ((lines - marks) / 3).max(1);
        Lines {
            primary: lines - marks - secondary,
            secondary,
            marks,
        }
    }

    /// The fewest lines in all of which this many are primary, unless they are too many.
    fn with_primary(primary: u64, width: CounterWidth, hashes: u32) -> Option<u64> {
        // Every line more makes the primary part larger by one or leaves it as it is.
        let (mut too_few, mut enough) = (2, MOST_LINES);
        if Lines::divide(enough, width, hashes).primary < primary {
            return None;
        }
        while enough - too_few > 1 {
            let middle = too_few.midpoint(enough);
            match Lines::divide(middle, width, hashes).primary < primary {
                true => too_few = middle,
                false => enough = middle,
            }
        }
        Some(enough)
    }
}

impl Sections {
    /// Those of as many counters as the shape has bits; none when they have more than 2^63 bits.
    pub(super) fn new(
        counters: Shape,
        width: CounterWidth,
        policy: SpectralPolicy,
    ) -> Result<Option<Sections>> {
        let Some(bits) = Sections::bits(counters, width, policy) else {
            return Ok(None);
        };
        Sections::within(bits, counters.hashes(), width, policy).map(Some)
    }

    /// The bits that this many counters need under a policy, unless they are more than 2^63. Recurring
    /// minimum fills up its last line with counters.
    fn bits(shape: Shape, width: CounterWidth, policy: SpectralPolicy) -> Option<u64> {
        let bits = width.bits_of(shape.bits())?;
        if policy != SpectralPolicy::RecurringMinimum {
            return Some(bits);
        }
        let lines = Lines::with_primary(bits.div_ceil(LINE), width, shape.hashes())?;
        Some(lines * LINE)
    }

    /// The counters and the policy of a description's detail.
    fn from_detail(detail: u32) -> Result<(CounterWidth, SpectralPolicy)> {
        let width = CounterWidth::from_bits(detail & 0xFF);
        let mut policies = SpectralPolicy::ALL.into_iter();
        let policy = policies.find(|policy| policy.code() == detail >> 8);
        let (Some(width), Some(policy)) = (width, policy) else {
            return Err(Error::Field {
                format: Kind::Spectral.name(),
                field: "detail",
                got: i64::from(detail),
                expected: "2, 4, 8, 16 or 32 bits of a counter, and 256 times a policy, 0 to 2",
            });
        };
        Ok((width, policy))
    }

    /// Those that lie in this many bits.
    fn within(
        bits: u64,
        hashes: u32,
        width: CounterWidth,
        policy: SpectralPolicy,
    ) -> Result<Sections> {
        if !(1..=MAX_HASHES).contains(&hashes) {
            return Err(Error::Hashes {
                got: hashes,
                least: 1,
                most: MAX_HASHES,
            });
        }
        match policy {
            SpectralPolicy::RecurringMinimum => Sections::divided(bits, hashes, width),
            policy => {
                let count = width.count_in(bits)?;
                Ok(Sections {
                    bits,
                    policy,
                    shape: Shape::new(count, hashes)?,
                    primary: Counters::new(0, count, width),
                    second: None,
                })
            }
        }
    }

    /// The sections of recurring minimum.
    fn divided(bits: u64, hashes: u32, width: CounterWidth) -> Result<Sections> {
        let lines = bits / LINE;
        let refused = Error::Bits {
            got: bits,
            expected: "lines of 512 for all three parts of recurring minimum, 2^63 at most",
        };
        if !bits.is_multiple_of(LINE) || !(3..=MOST_LINES).contains(&lines) {
            return Err(refused);
        }
        let parts = Lines::divide(lines, width, hashes);
        // With one narrow counter per key the marks take nearly all of a few lines.
        if parts.primary == 0 {
            return Err(refused);
        }
        let per_line = LINE / u64::from(width.bits());
        let shape = Shape::new(parts.primary * per_line, hashes)?;
        let second_shape = Shape::new(parts.secondary * per_line, hashes)?;
        let second = Second {
            shape: second_shape,
            counters: Counters::new(parts.primary * 8, second_shape.bits(), width),
            marks: Marks::new(parts.primary + parts.secondary, parts.marks),
        };
        Ok(Sections {
            bits,
            policy: SpectralPolicy::RecurringMinimum,
            shape,
            primary: Counters::new(0, shape.bits(), width),
            second: Some(second),
        })
    }
}

impl Second {
    /// The digest that chooses positions and mark of a key here. All of it comes from the half that
    /// chooses the primary positions and is the mark: two keys with the same mark are one key to the
    /// whole filter, so that no key is ever taken for a marked one.
    #[inline]
    pub(super) fn digest(digest: Digest) -> Digest {
        Digest::from_u64(digest.hi).remix(1)
    }
}

impl FixedShape for Sections {
    type Hashing = Digester;

    fn kind(self) -> Kind {
        Kind::Spectral
    }

    /// The detail has the bits of a counter in the lowest byte, the policy in the next. Permanent.
    fn numbers(self) -> (u64, u32, u32) {
        let detail = self.primary.width().bits() | self.policy.code() << 8;
        (self.bits, self.shape.hashes(), detail)
    }

    fn predicted_rate(self, keys: u64) -> Option<f64> {
        Some(self.shape.rate_at(keys))
    }

    fn described(description: &Description) -> Result<(Sections, Digester)> {
        let digester = description.digester()?;
        let (width, policy) = Sections::from_detail(description.detail)?;
        let Description { bits, hashes, .. } = *description;
        Ok((Sections::within(bits, hashes, width, policy)?, digester))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_recurring_minimum_are_those_of_the_rule() {
        let sixteen = CounterWidth::Sixteen;
        for (lines, hashes, primary, secondary, marks) in [
            (3, 7, 1, 1, 1),
            (4, 7, 2, 1, 1),
            (100, 7, 56, 28, 16),
            (1000, 5, 527, 263, 210),
        ] {
            let parts = Lines {
                primary,
                secondary,
                marks,
            };
            assert_eq!(Lines::divide(lines, sixteen, hashes), parts);
        }
    }

    #[test]
    fn what_cannot_be_divided_is_refused() {
        // No hashes made the marks take every line, and the others one that was not there.
        let mut description = crate::kinds::Spectral::plan(10, 0.01).expect("valid");
        for (bits, hashes, width, is_bits) in [
            (30 * 512, 0, CounterWidth::Eight, false),
            (30 * 512, 65, CounterWidth::Eight, false),
            (2 * 512, 5, CounterWidth::Eight, true),
            (30 * 512 + 64, 5, CounterWidth::Eight, true),
            (11 * 512, 1, CounterWidth::Two, true),
            (1 << 63 | 512, 5, CounterWidth::Eight, true),
        ] {
            description.bits = bits;
            description.hashes = hashes;
            description.detail = width.bits() | SpectralPolicy::RecurringMinimum.code() << 8;
            match Sections::described(&description) {
                Err(Error::Bits { got, .. }) => assert!(is_bits && got == bits),
                Err(Error::Hashes { got, .. }) => assert!(!is_bits && got == hashes),
                other => panic!("{bits} bits, {hashes} hashes: {other:?}"),
            }
        }
    }

    #[test]
    fn the_fewest_lines_that_suffice_are_found() {
        for width in CounterWidth::ALL {
            for hashes in [1, 7, 64] {
                for primary in [1, 2, 3, 10, 1000, 123_456_789] {
                    let lines = Lines::with_primary(primary, width, hashes).expect("few");
                    assert!(lines >= 3);
                    assert!(Lines::divide(lines, width, hashes).primary >= primary);
                    let fewer = Lines::divide((lines - 1).max(3), width, hashes);
                    assert!(lines == 3 || fewer.primary < primary, "{lines} lines");
                }
                assert_eq!(Lines::with_primary(MOST_LINES, width, hashes), None);
            }
        }
    }

    #[test]
    fn the_second_digest_is_made_of_one_half_of_the_first() {
        let finish = |mut bits: u64| {
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            bits ^ (bits >> 31)
        };
        let first = 0x0123_4567_89AB_CDEF_u64;
        let low = first.wrapping_mul(0xBB67_AE85_84CA_A73B);
        let hi = finish(first ^ finish(low.wrapping_add(0x9E37_79B9_7F4A_7C15)));
        let lo = finish(hi.wrapping_add(low));
        for other_half in [0, 1, u64::MAX] {
            let digest = Digest {
                lo: other_half,
                hi: first,
            };
            assert_eq!(Second::digest(digest), Digest { lo, hi });
        }
    }

    #[test]
    fn positions_are_distinct() {
        let shape = Shape::new(5, 40).expect("valid");
        let digest = Digest::from_u64(0x0123_4567_89AB_CDEF);
        let mut all: alloc::vec::Vec<u64> = digest.probe(shape).collect();
        let mut distinct: alloc::vec::Vec<u64> = Positions::new(digest, shape).iter().collect();
        all.sort();
        all.dedup();
        distinct.sort();
        assert_eq!(distinct, all);
    }
}
