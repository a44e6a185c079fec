//! Sizes and rates of the layers of a filter of `BF.*`.
//!
//! A filter that does not grow has one layer, which keeps the rate asked for. One that grows gives its first layer
//! [`FIRST_SHARE`] of the rate, because most filters never grow past it. The rest is for the later ones: [`ALIKE`] equal
//! shares, then ones that fall with the cube of the layer, so that the sum stays below the rate asked for, however far
//! it grows, and no layer is ever too strict. Unlike [`mayhap::Scalable`] a filter grows by any factor, which is what the
//! commands promise.

use mayhap::{Blocked, Bloom, Description, Result as Mayhap};

use crate::limits::{Refusal, grown};
use crate::settings::{self, expansion};

/// The share of the rate that the first layer of a filter that scales has: 0.4 bits a key more than all of it.
const FIRST_SHARE: f64 = 0.84;

/// The number of layers after the first that have the same rate. Filters that grow mostly do so a few times, and the newest layer is
/// the largest: it should not be the strictest too. Grown from 1/128 of its keys at 1 %, a filter takes 17.8 bits a key so,
/// and 18.8 where every rate is three quarters of the one before.
const ALIKE: usize = 6;

/// All shares of the later layers together, the first of them as 1: the equal ones, and for the sum over all `i` above
/// `ALIKE` of `(ALIKE / i)^3` the integral from `ALIKE` on, `ALIKE / 2`, which is more.
const ALL_SHARES: f64 = ALIKE as f64 * 1.5;

/// A layer takes at least this part of what the older ones took, so that a lookup asks a number of layers that grows
/// with the logarithm of the keys only, also where the expansion is 1.
const LEAST_PART: u64 = 16;

/// The most that the first layer may take as a [`Blocked`] filter, as a multiple of the standard filter: a lookup costs one memory
/// access then, not one per hash. At 10^-5 it takes that much.
const MOST_FIRST: f64 = 1.25;

/// The same for later layers, which are stricter and larger, so that memory matters more.
const MOST_LATER: f64 = 1.08;

/// The rates below which a first and a later layer of [`MANY`] keys or more would take more than that. Sizing one takes a
/// search, which is spared.
const LEAST_FIRST: f64 = 5e-6;
const LEAST_LATER: f64 = 5e-4;

/// The keys from which on the sizes of layers follow from their rate, whatever they are rounded to.
const MANY: u64 = 1000;

/// The capacity, rate and growth that a filter was made with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The keys of the first layer.
    pub capacity: u64,
    /// The false-positive rate.
    pub rate: f64,
    /// The capacity of the next layer as a multiple of the newest; `None` for a filter that does not grow.
    pub expansion: Option<u32>,
}

impl Plan {
    /// Returns the plan of a filter that a command makes by itself.
    pub fn from_settings() -> Plan {
        Plan {
            capacity: settings::CAPACITY.get().unsigned_abs(),
            rate: settings::RATE.get_share(),
            expansion: expansion(settings::EXPANSION.get()),
        }
    }

    /// Returns whether there can be such a filter.
    pub(crate) fn is_valid(&self) -> bool {
        let is_rate = self.rate > 0.0 && self.rate < 1.0;
        self.capacity > 0 && is_rate && self.expansion != Some(0)
    }

    /// Searches for the sizes of its first layers ahead of the first command: that takes a third of a millisecond for each rate
    /// that is new to the process.
    pub fn search(&self) {
        for index in 0..2 * ALIKE {
            let _ = self.describe(index, self.capacity);
        }
    }

    /// The rate of layer `index`, from 0.
    pub(crate) fn rate_of(&self, index: usize) -> f64 {
        if self.expansion.is_none() {
            return self.rate;
        }
        let Some(later) = index.checked_sub(1) else {
            return self.rate * FIRST_SHARE;
        };
        let part = ALIKE as f64 / (later + 1).max(ALIKE) as f64;
        self.rate * (1.0 - FIRST_SHARE) / ALL_SHARES * part.powi(3)
    }

    /// The capacity of layer `index`, when the older ones have `capacity` together.
    pub(super) fn next(&self, index: usize, capacity: u64) -> Result<u64, Refusal> {
        let expansion = self.expansion.ok_or(Refusal::Full)?;
        let keys = grown(self.capacity, expansion, index as u64);
        let keys = keys.ok_or(Refusal::Memory)?.max(capacity / LEAST_PART);
        // A little more, so that keys lost to rounding do not begin a layer early.
        Ok(keys.saturating_add(keys / 512))
    }

    /// The description of layer `index`, for this many keys, of the kind that suits its rate.
    pub(crate) fn describe(&self, index: usize, capacity: u64) -> Mayhap<Description> {
        let rate = self.rate_of(index);
        let (most, least) = match index {
            0 => (MOST_FIRST, LEAST_FIRST),
            _ => (MOST_LATER, LEAST_LATER),
        };
        let bloom = Bloom::plan(capacity, rate)?;
        if rate < least && capacity >= MANY {
            return Ok(bloom);
        }
        match Blocked::plan(capacity, rate) {
            Ok(blocked) if blocked.bits as f64 <= bloom.bits as f64 * most => Ok(blocked),
            _ => Ok(bloom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_least_rates_a_blocked_layer_is_always_too_large() {
        for (most, least) in [(MOST_FIRST, LEAST_FIRST), (MOST_LATER, LEAST_LATER)] {
            for step in 0..30 {
                let rate = least * 0.7_f64.powi(step);
                for capacity in [MANY, 1001, 1023, 1999, 54_321, 1_000_000_000] {
                    let bits = |plan: Mayhap<Description>| plan.expect("valid").bits as f64;
                    let blocked = bits(Blocked::plan(capacity, rate));
                    let bloom = bits(Bloom::plan(capacity, rate));
                    assert!(blocked > bloom * most, "{rate}, {capacity} keys");
                }
            }
        }
    }
}
