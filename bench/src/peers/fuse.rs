//! xorf's binary fuse filter: static, and with 8-bit fingerprints always at a rate of 1/256.

use xorf::{BinaryFuse8, Filter as _};

use super::{Contender, Hashed};
use crate::Result;
use crate::data::Sample;

/// A binary fuse filter: what is inserted waits until the filter is built from all of it.
pub struct Fuse {
    waiting: Vec<u64>,
    filter: Option<BinaryFuse8>,
}

/// The `u64` a key is to a filter that only takes `u64`s: numbers are themselves, as the filter
/// mixes them.
trait Number {
    fn number(&self) -> u64;
}

impl Number for u64 {
    #[inline(always)]
    fn number(&self) -> u64 {
        *self
    }
}

impl Number for [u8] {
    #[inline(always)]
    fn number(&self) -> u64 {
        self.hash64()
    }
}

impl<K: Sample + Number + ?Sized> Contender<K> for Fuse {
    const NAME: &'static str = "xorf BinaryFuse8 (static)";

    fn with_capacity(keys: u64, _rate: f64) -> Result<Self> {
        Ok(Fuse {
            waiting: Vec::with_capacity(usize::try_from(keys)?),
            filter: None,
        })
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) {
        self.waiting.push(key.number());
    }

    fn finish(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.filter = Some(BinaryFuse8::try_from(&waiting)?);
        Ok(())
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        match &self.filter {
            Some(filter) => filter.contains(&key.number()),
            None => false,
        }
    }

    fn bits(&self) -> u64 {
        self.filter
            .as_ref()
            .map_or(0, |filter| filter.len() as u64 * 8)
    }
}
