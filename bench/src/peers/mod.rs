//! The contenders: mayhap's kinds and the crates people would otherwise use.
//!
//! A [`Contender`] is a thin adapter; each hashes a key the way its users would have it hashed.
//! The timed loops are its methods `insert_block` and `count`, compiled once per contender with
//! everything inlined that its crate lets be inlined; one with a batch interface overrides them.

mod bloom;
mod fuse;
mod ours;
mod set;
mod split_block;

use std::hash::{BuildHasher as _, Hash, Hasher as _};
use std::time::{Duration, Instant};

use bloom::Hasher as _;
pub use bloom::{Bloomfilter, Fastbloom, Foldhash, SipHash};
use fuse::Number;
pub use fuse::{Fuse, OurFuse};
pub use ours::{Avx2, Batched, Blocks, Guava, Lines, Native, Ours, Plain};
pub use set::ExactSet;
pub use split_block::SplitBlock;

use mayhap::Key;

use crate::Result;
use crate::data::{Block, Sample, members};
use crate::measure::Measurement;
use crate::report::Reference;

/// The seed of every hash function that takes one, so that runs repeat.
const SEED: u64 = 0x6D61_7968_6170;

/// A hash for the peers that have none of their own.
pub trait Hasher64: Send + 'static {
    /// The name of sbbf-rs with it in the tables.
    const WITH_SPLIT_BLOCK: &'static str;

    /// The hash of a number.
    fn number(key: u64) -> u64;

    /// The hash of bytes.
    fn bytes(key: &[u8]) -> u64;
}

/// rapidhash, the hash of mayhap itself.
pub struct Rapidhash;

impl Hasher64 for Rapidhash {
    const WITH_SPLIT_BLOCK: &'static str = "sbbf-rs, rapidhash";

    #[inline(always)]
    fn number(key: u64) -> u64 {
        rapidhash::v3::rapidhash_v3(&key.to_le_bytes())
    }

    #[inline(always)]
    fn bytes(key: &[u8]) -> u64 {
        rapidhash::v3::rapidhash_v3(key)
    }
}

impl Hasher64 for Foldhash {
    const WITH_SPLIT_BLOCK: &'static str = "sbbf-rs, foldhash";

    #[inline(always)]
    fn number(key: u64) -> u64 {
        Foldhash::state().hash_one(key)
    }

    #[inline(always)]
    fn bytes(key: &[u8]) -> u64 {
        let mut hasher = Foldhash::state().build_hasher();
        hasher.write(key);
        hasher.finish()
    }
}

/// A type of key that can be hashed by any of them.
pub trait Hashed {
    /// The hash of the key.
    fn hash64<H: Hasher64>(&self) -> u64;
}

impl Hashed for u64 {
    #[inline(always)]
    fn hash64<H: Hasher64>(&self) -> u64 {
        H::number(*self)
    }
}

impl Hashed for [u8] {
    #[inline(always)]
    fn hash64<H: Hasher64>(&self) -> u64 {
        H::bytes(self)
    }
}

/// A filter, or a set, of keys of type `K`.
pub trait Contender<K: Sample + ?Sized>: Sized + Send + 'static {
    /// Its name in the tables.
    const NAME: &'static str;

    /// An empty filter for `keys` keys at `rate`.
    ///
    /// # Errors
    ///
    /// When the crate refuses the request.
    fn with_capacity(keys: u64, rate: f64) -> Result<Self>;

    /// Inserts a key.
    fn insert(&mut self, key: &K);

    /// Makes the inserted keys findable, where inserting alone does not.
    ///
    /// # Errors
    ///
    /// When a static filter cannot be built from the keys.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Returns whether the key may have been inserted.
    fn contains(&self, key: &K) -> bool;

    /// The bits it takes in memory.
    fn bits(&self) -> u64;

    /// Inserts every key.
    #[inline(never)]
    fn insert_block(&mut self, keys: &K::Block) {
        keys.iter().for_each(|key| self.insert(key));
    }

    /// Counts the keys that may have been inserted.
    #[inline(never)]
    fn count(&self, keys: &K::Block) -> u64 {
        let mut found = 0;
        keys.iter()
            .for_each(|key| found += u64::from(self.contains(key)));
        found
    }
}

/// Inserts the first `keys` members and returns how long that took, without making the keys.
///
/// # Errors
///
/// When the contender cannot be finished.
pub fn fill<K: Sample + ?Sized, C: Contender<K>>(filter: &mut C, keys: u64) -> Result<Duration> {
    // 128 KiB of numbers: small beside the second-level cache, where the filter should be.
    const CHUNK: usize = 1 << 14;
    let mut block = K::Block::default();
    let mut time = Duration::ZERO;
    for first in (0..keys).step_by(CHUNK) {
        block.refill(members(first..keys.min(first + CHUNK as u64)));
        let start = Instant::now();
        filter.insert_block(&block);
        time += start.elapsed();
    }
    let start = Instant::now();
    filter.finish()?;
    Ok(time + start.elapsed())
}

/// Returns the references of a table of lookups or inserts: the limit in the row `light`, and the fastest of the peers,
/// each with every hash it is entered with. Static filters and exact sets do other work and are not among them.
pub fn references(light: &str, results: &[Measurement]) -> Vec<Reference> {
    let peers = ["fastbloom", "bloomfilter", "sbbf-rs"];
    let names = results.iter().map(|result| result.name.as_str());
    let is_peer = |name: &&str| peers.iter().any(|peer| name.starts_with(peer));
    vec![
        Reference::least_of("÷ light", [light]),
        Reference::least_of("÷ best peer", names.filter(is_peer)),
    ]
}

/// Something to do with every contender, each under its own type.
pub trait Visit<K: Sample + ?Sized> {
    /// Does it with `C`.
    ///
    /// # Errors
    ///
    /// When it does not work with `C`.
    fn visit<C: Contender<K>>(&mut self) -> Result<()>;
}

/// Visits every contender that takes numbers.
///
/// # Errors
///
/// The first error of a visit.
pub fn visit_numbers(visitor: &mut impl Visit<u64>) -> Result<()> {
    visit_all(visitor)?;
    visitor.visit::<ExactSet>()
}

/// Visits every contender that takes bytes.
///
/// # Errors
///
/// The first error of a visit.
pub fn visit_urls(visitor: &mut impl Visit<[u8]>) -> Result<()> {
    visit_all(visitor)
}

/// Visits every contender that takes keys of any type.
fn visit_all<K>(visitor: &mut impl Visit<K>) -> Result<()>
where
    K: Sample + Key + Hash + Hashed + Number + Send + ?Sized + 'static,
{
    visitor.visit::<Ours<Lines>>()?;
    visitor.visit::<Batched<Ours<Lines>>>()?;
    visitor.visit::<Ours<Lines<Avx2>>>()?;
    visitor.visit::<Batched<Ours<Lines<Avx2>>>>()?;
    visitor.visit::<Ours<Lines<Plain>>>()?;
    visitor.visit::<Batched<Ours<Lines<Plain>>>>()?;
    visitor.visit::<Ours<Blocks>>()?;
    visitor.visit::<Batched<Ours<Blocks>>>()?;
    visitor.visit::<Ours<Native>>()?;
    visitor.visit::<Batched<Ours<Native>>>()?;
    visitor.visit::<Ours<Guava>>()?;
    visitor.visit::<Fastbloom<Foldhash>>()?;
    visitor.visit::<Fastbloom<SipHash>>()?;
    visitor.visit::<Bloomfilter<K>>()?;
    visitor.visit::<SplitBlock<Foldhash>>()?;
    visitor.visit::<SplitBlock<Rapidhash>>()?;
    visitor.visit::<OurFuse>()?;
    visitor.visit::<Batched<OurFuse>>()?;
    visitor.visit::<Fuse>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::absent;

    /// Checks that every member is found, and about `RATE` of the absent keys.
    struct Promise;

    impl Promise {
        const KEYS: u64 = 100_000;
        const RATE: f64 = 0.01;
    }

    impl<K: Sample + ?Sized> Visit<K> for Promise {
        fn visit<C: Contender<K>>(&mut self) -> Result<()> {
            let mut filter = C::with_capacity(Promise::KEYS, Promise::RATE)?;
            fill(&mut filter, Promise::KEYS)?;

            let hits = filter.count(&K::Block::of(members(0..Promise::KEYS)));
            let errors = filter.count(&K::Block::of(absent(0..Promise::KEYS)));

            assert_eq!(hits, Promise::KEYS, "{}", C::NAME);
            // 1000 expected at most, standard deviation 31.5; six of them.
            assert!(errors <= 1189, "{}: {errors}", C::NAME);
            Ok(())
        }
    }

    #[test]
    fn every_contender_keeps_the_promise_for_numbers() {
        visit_numbers(&mut Promise).expect("builds");
    }

    #[test]
    fn every_contender_keeps_the_promise_for_urls() {
        visit_urls(&mut Promise).expect("builds");
    }
}
