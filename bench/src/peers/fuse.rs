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

/// A kind of this library that is built once from all its keys, with fingerprints of 8 bits.
pub trait Static: Send + Sized + 'static {
    /// The name of the kind, asked key by key.
    const NAME: &'static str;

    /// The name of the kind, asked in batches.
    const BATCH: &'static str;

    /// A filter of these keys.
    ///
    /// # Errors
    ///
    /// As the kind itself.
    fn build(digests: Vec<Digest>) -> Result<Self>;

    /// Whether the key may be in the filter.
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool;

    /// Answers for each key.
    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool));

    /// The bits it takes.
    fn bits(&self) -> u64;
}

impl Static for mayhap::Fuse {
    const NAME: &'static str = "mayhap Fuse (static)";
    const BATCH: &'static str = "mayhap Fuse, batch (static)";

    fn build(digests: Vec<Digest>) -> Result<Self> {
        Ok(mayhap::Fuse::build_digests(
            Digester::default(),
            8,
            digests,
        )?)
    }

    #[inline(always)]
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains(key)
    }

    #[inline(always)]
    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        mayhap::Filter::contains_each(self, keys, answer);
    }

    fn bits(&self) -> u64 {
        self.shape().bits()
    }
}

impl Static for mayhap::Ribbon {
    const NAME: &'static str = "mayhap Ribbon (static)";
    const BATCH: &'static str = "mayhap Ribbon, batch (static)";

    fn build(digests: Vec<Digest>) -> Result<Self> {
        Ok(mayhap::Ribbon::build_digests(
            Digester::default(),
            8,
            digests,
        )?)
    }

    #[inline(always)]
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains(key)
    }

    #[inline(always)]
    fn contains_each<K: Key>(&self, keys: impl IntoIterator<Item = K>, answer: impl FnMut(bool)) {
        mayhap::Filter::contains_each(self, keys, answer);
    }

    fn bits(&self) -> u64 {
        self.shape().bits()
    }
}

/// A static filter of this library and, before it is built, the keys for it.
pub struct OurStatic<F> {
    waiting: Vec<Digest>,
    filter: Option<F>,
}

/// A [`mayhap::Fuse`], asked key by key.
pub type OurFuse = OurStatic<mayhap::Fuse>;

/// A [`mayhap::Ribbon`], asked key by key.
pub type OurRibbon = OurStatic<mayhap::Ribbon>;

impl<K: Sample + Key + ?Sized, F: Static> Contender<K> for OurStatic<F> {
    const NAME: &'static str = F::NAME;

    fn with_capacity(keys: u64, _rate: f64) -> Result<Self> {
        Ok(OurStatic {
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
        self.filter = Some(F::build(std::mem::take(&mut self.waiting))?);
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
        self.filter.as_ref().map_or(0, F::bits)
    }
}

impl<K: Sample + Key + ?Sized, F: Static> Contender<K> for Batched<OurStatic<F>> {
    const NAME: &'static str = F::BATCH;

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        let filter = <OurStatic<F> as Contender<K>>::with_capacity(keys, rate)?;
        Ok(Batched(filter))
    }

    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    fn finish(&mut self) -> Result<()> {
        <OurStatic<F> as Contender<K>>::finish(&mut self.0)
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        <OurStatic<F> as Contender<K>>::bits(&self.0)
    }

    #[inline(never)]
    fn count(&self, keys: &K::Block) -> u64 {
        let mut found = 0;
        if let Some(filter) = &self.0.filter {
            filter.contains_each(keys.iter(), |is_found| found += u64::from(is_found));
        }
        found
    }
}
