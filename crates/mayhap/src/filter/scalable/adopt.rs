//! A filter of a fixed size that becomes the first layer of one that grows.

use alloc::vec;

use super::super::layered::{Growth as _, Layered, STATE_BITS};
use super::super::{Kind, Promise};
use super::growth::Growth;
use super::{Blocked, Scalable, ScalableOptions, Wrap as _};
use crate::bits::Bitmap;
use crate::{Error, Result};

impl Scalable {
    /// Lets a filter grow that was made for a fixed number of keys: it becomes the first layer.
    ///
    /// The other layers may answer wrongly as often as it does, together: the rate promised is twice that
    /// of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the filter was made for no number of keys, holds more than it was made
    /// for, or has a rate of a half or more; [`Error::TooLarge`] when it takes no key per line at its rate.
    ///
    /// ```
    /// use mayhap::{Blocked, Filter, Insert, Scalable};
    ///
    /// let mut fixed = Blocked::with_capacity(1000, 0.01)?;
    /// fixed.insert_all(0..1000_u32);
    /// let mut seen = Scalable::from_blocked(fixed)?;
    /// seen.insert_all(1000..50_000_u32);
    /// assert!(seen.contains_all(0..50_000_u32) && seen.stats().rate < 0.02);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn from_blocked(filter: Blocked) -> Result<Scalable> {
        let refused = |what, instead| Error::Unsupported {
            kind: Kind::Blocked.name(),
            what,
            instead,
        };
        let stats = filter.stats();
        let Some(promise) = stats.promise.filter(|promise| promise.rate < 0.5) else {
            let what = "grow without a capacity and a rate below a half that it was made for";
            return Err(refused(what, "make one by capacity and rate"));
        };
        let keys = stats.keys.filter(|_| !stats.is_over_capacity());
        let Some(keys) = keys else {
            let what = "grow once it is past its capacity";
            return Err(refused(what, "its rate cannot be had back"));
        };
        let options = ScalableOptions {
            tightening: 5000,
            ..ScalableOptions::default()
        };
        let promise = Promise {
            rate: promise.rate * 2.0,
            ..promise
        };
        let growth = Growth::from_first(filter.shape(), promise, options)?;
        // Without the promise it had, which a layer has none of.
        let digester = filter.digester().clone();
        let first = Blocked::from_bits(filter.into_bits(), growth.first, digester.clone())?;
        let mut state = Bitmap::new(STATE_BITS)?;
        state.set_word(0, (libm::ceil(keys) as u64).min(growth.capacity(0)));
        let layers = vec![first];
        Ok(Scalable::wrap(Layered::of(state, layers, growth, digester)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter as _, Insert as _};

    #[test]
    fn a_fixed_filter_grows_and_keeps_twice_its_rate() {
        let mut fixed = Blocked::with_capacity(2000, 0.005).expect("valid");
        fixed.insert_all(0..2000_u64);
        let mut filter = Scalable::from_blocked(fixed.clone()).expect("within its capacity");
        filter.insert_all(2000..100_000_u64);

        assert!(filter.contains_all(0..100_000_u64));
        // 200 000 absent keys: the rate scatters by 0.0002.
        let absent = 1 << 40..(1 << 40) + 200_000_u64;
        let mut wrong = 0;
        filter.contains_each(absent, |found| wrong += u32::from(found));
        assert!(f64::from(wrong) / 200_000.0 < 0.01, "{wrong} wrong answers");
        assert!(!filter.stats().is_over_capacity());

        fixed.insert_all(2000..4000_u64);
        let refused = Scalable::from_blocked(fixed);
        assert!(matches!(refused, Err(Error::Unsupported { .. })));
    }

    /// Only new keys are counted, and they set more bits than others do: an estimate by the bits is a fifth higher.
    #[test]
    fn a_small_filter_that_can_grow_is_never_over_capacity() {
        for run in 0..100_u64 {
            let fixed = Blocked::with_capacity(274, 0.3).expect("valid");
            let mut filter = Scalable::from_blocked(fixed).expect("empty");
            for key in 0..600_u64 {
                filter.insert(&(run, key));
                assert!(!filter.stats().is_over_capacity(), "{run}: {key} keys");
            }
        }
    }
}
