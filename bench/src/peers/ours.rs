//! Mayhap's own filters.

use std::marker::PhantomData;

use mayhap::{Blocked, Bloom, Filter, Insert, Key, Scheme, Sizing};

use super::Contender;
use crate::Result;
use crate::data::{Block, Sample};

/// A [`mayhap::Bloom`] that `V` makes.
pub struct Ours<V> {
    filter: Bloom,
    variant: PhantomData<V>,
}

/// A way to make a [`mayhap::Bloom`].
pub trait Variant: Send + 'static {
    /// What the tables call it.
    const NAME: &'static str;

    /// An empty filter for `keys` keys at `rate`.
    fn empty(keys: u64, rate: f64) -> mayhap::Result<Bloom>;
}

/// The native scheme.
pub struct Native;

impl Variant for Native {
    const NAME: &'static str = "mayhap Bloom";

    fn empty(keys: u64, rate: f64) -> mayhap::Result<Bloom> {
        Bloom::with_capacity(keys, rate)
    }
}

/// Guava's shape and default scheme.
pub struct Guava;

impl Variant for Guava {
    const NAME: &'static str = "mayhap Bloom, Guava64";

    fn empty(keys: u64, rate: f64) -> mayhap::Result<Bloom> {
        Bloom::new(Sizing::Guava.shape(keys, rate)?, Scheme::Guava64)
    }
}

impl<K: Sample + Key + ?Sized, V: Variant> Contender<K> for Ours<V> {
    const NAME: &'static str = V::NAME;

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        Ok(Ours {
            filter: V::empty(keys, rate)?,
            variant: PhantomData,
        })
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) {
        self.filter.insert(key);
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    fn bits(&self) -> u64 {
        self.filter.shape().bits()
    }
}

/// A [`mayhap::Blocked`], asked key by key.
pub struct Lines(Blocked);

impl<K: Sample + Key + ?Sized> Contender<K> for Lines {
    const NAME: &'static str = "mayhap Blocked";

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        Ok(Lines(Blocked::with_capacity(keys, rate)?))
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        self.0.shape().bits()
    }
}

/// A filter of ours that is given whole blocks of keys.
pub struct Batched<F>(pub(super) F);

impl<K: Sample + Key + ?Sized> Contender<K> for Batched<Lines> {
    const NAME: &'static str = "mayhap Blocked, batch";

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        Ok(Batched(<Lines as Contender<K>>::with_capacity(keys, rate)?))
    }

    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        <Lines as Contender<K>>::bits(&self.0)
    }

    #[inline(never)]
    fn insert_block(&mut self, keys: &K::Block) {
        self.0.0.insert_all(keys.iter());
    }

    #[inline(never)]
    fn count(&self, keys: &K::Block) -> u64 {
        let mut found = 0;
        let answer = |is_found| found += u64::from(is_found);
        self.0.0.contains_each(keys.iter(), answer);
        found
    }
}

impl<K: Sample + Key + ?Sized> Contender<K> for Batched<Ours<Native>> {
    const NAME: &'static str = "mayhap Bloom, batch";

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        let filter = <Ours<Native> as Contender<K>>::with_capacity(keys, rate)?;
        Ok(Batched(filter))
    }

    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        <Ours<Native> as Contender<K>>::bits(&self.0)
    }

    #[inline(never)]
    fn insert_block(&mut self, keys: &K::Block) {
        self.0.filter.insert_all(keys.iter());
    }

    #[inline(never)]
    fn count(&self, keys: &K::Block) -> u64 {
        let mut found = 0;
        let answer = |is_found| found += u64::from(is_found);
        self.0.filter.contains_each(keys.iter(), answer);
        found
    }
}
