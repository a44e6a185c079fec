//! Static filters, xorf's and ours: with 8-bit fingerprints always at a rate of 1/256.

use mayhap::{Digester, Key, hash::Digest};
use xorf::{BinaryFuse8, Filter as _};

use super::{Batched, Contender, Hashed as _, Rapidhash};
use crate::Result;
use crate::data::{Block, Sample};

/// A binary fuse filter: what is inserted waits until the filter is built from all of it.
pub struct Fuse {
    waiting: Vec<u64>,
    filter: Option<BinaryFuse8>,
}

/// The `u64` a key is to a filter that only takes `u64`s: numbers are themselves, as the filter
/// mixes them.
pub(super) trait Number {
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
        self.hash64::<Rapidhash>()
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

/// A [`mayhap::Fuse`] of fingerprints of 8 bits, asked key by key; before it is built, the keys for it.
pub struct OurFuse {
    waiting: Vec<Digest>,
    filter: Option<mayhap::Fuse>,
}

impl<K: Sample + Key + ?Sized> Contender<K> for OurFuse {
    const NAME: &'static str = "mayhap Fuse (static)";

    fn with_capacity(keys: u64, _rate: f64) -> Result<Self> {
        Ok(OurFuse {
            waiting: Vec::with_capacity(usize::try_from(keys)?),
            filter: None,
        })
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) {
        let digest = Digester::default().digest(key.key_bytes().as_ref());
        self.waiting.push(digest);
    }

    fn finish(&mut self) -> Result<()> {
        let digests = std::mem::take(&mut self.waiting);
        let filter = mayhap::Fuse::build_digests(Digester::default(), 8, digests)?;
        self.filter = Some(filter);
        Ok(())
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        match &self.filter {
            Some(filter) => filter.contains(key),
            None => false,
        }
    }

    fn bits(&self) -> u64 {
        self.filter
            .as_ref()
            .map_or(0, |filter| filter.shape().bits())
    }
}

impl<K: Sample + Key + ?Sized> Contender<K> for Batched<OurFuse> {
    const NAME: &'static str = "mayhap Fuse, batch (static)";

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        let filter = <OurFuse as Contender<K>>::with_capacity(keys, rate)?;
        Ok(Batched(filter))
    }

    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    fn finish(&mut self) -> Result<()> {
        <OurFuse as Contender<K>>::finish(&mut self.0)
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        <OurFuse as Contender<K>>::bits(&self.0)
    }

    #[inline(never)]
    fn count(&self, keys: &K::Block) -> u64 {
        let mut found = 0;
        if let Some(filter) = &self.0.filter {
            let answer = |is_found| found += u64::from(is_found);
            mayhap::Filter::contains_each(filter, keys.iter(), answer);
        }
        found
    }
}
