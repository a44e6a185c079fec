//! Growth: the choices of users, and their form in a description.

use super::super::{Description, Kind};
use crate::{Error, Result};

/// The way a [`Scalable`](crate::Scalable) filter grows.
///
/// ```
/// use mayhap::{Insert, Scalable, ScalableOptions};
///
/// let options = ScalableOptions { growth: 2, ..ScalableOptions::default() };
/// let mut filter = Scalable::with_options(1000, 0.01, options)?;
/// filter.insert_all(0..3000_u32);
/// assert_eq!(filter.layers(), 2);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalableOptions {
    /// The keys of the next layer as a multiple of those of the newest, 2 to 15. More means fewer layers
    /// to look into, and more memory that waits for keys. `Scalable` gives it as many times the memory,
    /// and up to 4 it leaps: to this power 4 while the newest has less than 64 KiB, and squared while less
    /// than 16 MiB.
    pub growth: u32,
    /// The rate of a layer divided by that of the one before, in ten-thousandths: 5000 to 9999. Near 1
    /// suits growth by a large factor, 0.8 to 0.85 growth by a small one. Below a half, layers would need
    /// more and more memory for the same keys.
    pub tightening: u32,
}

impl Default for ScalableOptions {
    /// Growth 2 and tightening 0.85.
    fn default() -> ScalableOptions {
        ScalableOptions {
            growth: 2,
            tightening: 8500,
        }
    }
}

impl ScalableOptions {
    /// The most layers: what a description has room for.
    pub(in crate::filter) const MOST_LAYERS: u32 = 63;

    /// Refuses options that are out of range, in the name of the kind that was to have them.
    pub(in crate::filter) fn check(self, kind: Kind) -> Result<()> {
        let field = |field, got: u32, expected| Error::Field {
            format: kind.name(),
            field,
            got: i64::from(got),
            expected,
        };
        if !(2..=15).contains(&self.growth) {
            return Err(field("growth", self.growth, "2 to 15"));
        }
        if !(5000..=9999).contains(&self.tightening) {
            return Err(field("tightening", self.tightening, "5000 to 9999"));
        }
        Ok(())
    }

    /// The options and the number of layers that a description holds.
    pub(in crate::filter) fn described(
        description: &Description,
    ) -> Result<(ScalableOptions, u32)> {
        let detail = description.detail;
        let options = ScalableOptions {
            growth: detail & 15,
            tightening: detail >> 18,
        };
        options.check(description.kind)?;
        match detail >> 12 & 63 {
            0 => Err(Error::Field {
                format: description.kind.name(),
                field: "number of layers",
                got: 0,
                expected: "1 to 63",
            }),
            layers => Ok((options, layers)),
        }
    }

    /// Returns what a description holds of the options and the number of layers; bits 4 to 11 are the kind's own.
    pub(in crate::filter) fn detail(self, layers: u32) -> u32 {
        self.growth | layers << 12 | self.tightening << 18
    }

    /// The tightening as a number between 0 and 1.
    pub(in crate::filter) fn ratio(self) -> f64 {
        f64::from(self.tightening) / 10_000.0
    }
}
