//! Mayhap's own filters.

use std::marker::PhantomData;

use mayhap::kinds::{Kernel, SplitBlock};
use mayhap::{Assemble, Blocked, Bloom, Filter, Insert, Key, Scheme, Sizing};

use super::Contender;
use crate::Result;
use crate::data::{Block, Sample};

/// A filter of ours that `V` makes, asked key by key.
pub struct Ours<V: Variant> {
    filter: V::Filter,
    variant: PhantomData<V>,
}

/// A filter of ours that is given whole blocks of keys.
pub struct Batched<F>(pub(super) F);

/// A way to make one of our filters.
pub trait Variant: Send + 'static {
    /// The filter.
    type Filter: Filter + Insert + Assemble + Send;

    /// Its name in the tables, asked key by key.
    const NAME: &'static str;

    /// Its name in the tables, asked in batches.
    const BATCH: &'static str;

    /// An empty filter for `keys` keys at `rate`.
    fn empty(keys: u64, rate: f64) -> mayhap::Result<Self::Filter>;

    /// Inserts a key. Its type is known: bytes would hide the length of a number from the hash.
    fn insert<K: Key + ?Sized>(filter: &mut Self::Filter, key: &K);

    /// Returns whether the key may be in the filter.
    fn contains<K: Key + ?Sized>(filter: &Self::Filter, key: &K) -> bool;
}

/// [`mayhap::Bloom`] by the native scheme.
pub struct Native;

impl Variant for Native {
    type Filter = Bloom;
    const NAME: &'static str = "mayhap Bloom";
    const BATCH: &'static str = "mayhap Bloom, batch";

    fn empty(keys: u64, rate: f64) -> mayhap::Result<Bloom> {
        Bloom::with_capacity(keys, rate)
    }

    #[inline(always)]
    fn insert<K: Key + ?Sized>(filter: &mut Bloom, key: &K) {
        filter.insert(key);
    }

    #[inline(always)]
    fn contains<K: Key + ?Sized>(filter: &Bloom, key: &K) -> bool {
        filter.contains(key)
    }
}

/// [`mayhap::Bloom`] of Guava's shape and default scheme.
pub struct Guava;

impl Variant for Guava {
    type Filter = Bloom;
    const NAME: &'static str = "mayhap Bloom, Guava64";
    const BATCH: &'static str = "mayhap Bloom, Guava64, batch";

    fn empty(keys: u64, rate: f64) -> mayhap::Result<Bloom> {
        Bloom::new(Sizing::Guava.shape(keys, rate)?, Scheme::Guava64)
    }

    #[inline(always)]
    fn insert<K: Key + ?Sized>(filter: &mut Bloom, key: &K) {
        filter.insert(key);
    }

    #[inline(always)]
    fn contains<K: Key + ?Sized>(filter: &Bloom, key: &K) -> bool {
        filter.contains(key)
    }
}

/// [`mayhap::Blocked`], by the instructions that `W` allows.
pub struct Lines<W = Widest>(PhantomData<W>);

/// The instructions that a filter may use, and its name in the tables with them.
pub trait Width: Send + 'static {
    /// No wider ones than these.
    const KERNEL: Kernel;

    /// The name of a [`Blocked`] with them, asked key by key and in batches.
    const NAMES: [&'static str; 2];
}

/// All that the CPU has.
pub struct Widest;

impl Width for Widest {
    const KERNEL: Kernel = Kernel::Avx512;
    const NAMES: [&'static str; 2] = ["mayhap Blocked", "mayhap Blocked, batch"];
}

/// Those of a CPU without AVX-512.
pub struct Avx2;

impl Width for Avx2 {
    const KERNEL: Kernel = Kernel::Avx2;
    const NAMES: [&'static str; 2] = ["mayhap Blocked, AVX2", "mayhap Blocked, AVX2, batch"];
}

/// Those that every CPU has.
pub struct Plain;

impl Width for Plain {
    const KERNEL: Kernel = Kernel::Plain;
    const NAMES: [&'static str; 2] = ["mayhap Blocked, plain", "mayhap Blocked, plain, batch"];
}

impl<W: Width> Variant for Lines<W> {
    type Filter = Blocked;
    const NAME: &'static str = W::NAMES[0];
    const BATCH: &'static str = W::NAMES[1];

    fn empty(keys: u64, rate: f64) -> mayhap::Result<Blocked> {
        Ok(Blocked::with_capacity(keys, rate)?.limited_to(W::KERNEL))
    }

    #[inline(always)]
    fn insert<K: Key + ?Sized>(filter: &mut Blocked, key: &K) {
        filter.insert(key);
    }

    #[inline(always)]
    fn contains<K: Key + ?Sized>(filter: &Blocked, key: &K) -> bool {
        filter.contains(key)
    }
}

/// [`mayhap::kinds::SplitBlock`].
pub struct Blocks;

impl Variant for Blocks {
    type Filter = SplitBlock;
    const NAME: &'static str = "mayhap SplitBlock";
    const BATCH: &'static str = "mayhap SplitBlock, batch";

    fn empty(keys: u64, rate: f64) -> mayhap::Result<SplitBlock> {
        SplitBlock::with_capacity(keys, rate)
    }

    #[inline(always)]
    fn insert<K: Key + ?Sized>(filter: &mut SplitBlock, key: &K) {
        filter.insert(key);
    }

    #[inline(always)]
    fn contains<K: Key + ?Sized>(filter: &SplitBlock, key: &K) -> bool {
        filter.contains(key)
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
        V::insert(&mut self.filter, key);
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        V::contains(&self.filter, key)
    }

    fn bits(&self) -> u64 {
        self.filter.description().bits
    }
}

impl<K: Sample + Key + ?Sized, V: Variant> Contender<K> for Batched<Ours<V>> {
    const NAME: &'static str = V::BATCH;

    fn with_capacity(keys: u64, rate: f64) -> Result<Self> {
        let filter = <Ours<V> as Contender<K>>::with_capacity(keys, rate)?;
        Ok(Batched(filter))
    }

    fn insert(&mut self, key: &K) {
        self.0.insert(key);
    }

    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }

    fn bits(&self) -> u64 {
        <Ours<V> as Contender<K>>::bits(&self.0)
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
