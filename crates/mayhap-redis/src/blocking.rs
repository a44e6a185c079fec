//! The filters of this crate, blocking.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Assemble as _, Bits, Description, Key, SecretKey, Stats};

use crate::blocking_wire::BlockingWire;
use crate::core::Core;
use crate::router::{Router, ready};
use crate::{Address, Options, Result};

/// A filter on a server that many clients share.
///
/// Of all clients that insert a key, exactly one is told that it was new.
///
/// ```no_run
/// use mayhap::Kind;
/// use mayhap_redis::{Address, Options, RedisBloom};
///
/// let address: Address = "redis://localhost#seen".parse()?;
/// let description = Kind::Blocked.plan(1_000_000, 0.01)?;
/// let mut seen = RedisBloom::create(&address, &description, &Options::default())?;
/// assert!(seen.insert("https://example.org/")?, "definitely new, to everyone");
///
/// let mut elsewhere = RedisBloom::open(&address, None)?;
/// assert!(!elsewhere.insert("https://example.org/")?, "mayhap seen before");
/// let new = elsewhere.insert_batch(&["/a", "/b", "/a"])?; // one round trip
/// assert_eq!(new, [true, true, false]);
/// # Ok::<(), mayhap_redis::Error>(())
/// ```
pub struct RedisBloom {
    address: Address,
    core: Core<BlockingWire>,
}

fn router(address: &Address) -> Router<BlockingWire> {
    Router::new(address, BlockingWire::new(address))
}

impl RedisBloom {
    /// Makes an empty filter: a `Bloom` of any scheme or a `Blocked`, as [`Kind::plan`] describes it.
    /// Its memory is taken at once, its expiry counts from its first moment.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] when there is one of this name, [`Error::Option`] when there can be no such
    /// filter, and those of the server; nothing is then left behind.
    ///
    /// [`Kind::plan`]: mayhap::Kind::plan
    /// [`Error::Exists`]: crate::Error::Exists
    /// [`Error::Option`]: crate::Error::Option
    pub fn create(
        address: &Address,
        description: &Description,
        options: &Options,
    ) -> Result<RedisBloom> {
        let core = Core::create(router(address), address.name(), description, options);
        Ok(RedisBloom {
            address: address.clone(),
            core: ready(core)?,
        })
    }

    /// A filter that someone made. The secret is needed when it was made with one.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`](crate::Error::Missing) when there is none, and those of the server.
    pub fn open(address: &Address, secret: Option<&SecretKey>) -> Result<RedisBloom> {
        let core = Core::open(router(address), address.name(), secret, None);
        Ok(RedisBloom {
            address: address.clone(),
            core: ready(core)?,
        })
    }

    /// Inserts a key; true when it was *definitely* not in the filter before. Of all clients that
    /// insert it, one is told so.
    ///
    /// # Errors
    ///
    /// Those of the server. Whether the key was inserted is then not known; inserting it again does no
    /// harm.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        Ok(ready(self.core.insert_batch(&[key.key_bytes().as_ref()]))?[0])
    }

    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    ///
    /// # Errors
    ///
    /// Those of the server.
    pub fn contains<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        Ok(ready(self.core.contains_batch(&[key.key_bytes().as_ref()]))?[0])
    }

    /// Answers [`insert`](RedisBloom::insert) for each key, in order: one round trip for each thousand
    /// or so.
    ///
    /// # Errors
    ///
    /// Those of the server; some of the keys may then have been inserted.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        let held: Vec<_> = keys.iter().map(Key::key_bytes).collect();
        let keys: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
        ready(self.core.insert_batch(&keys))
    }

    /// Answers [`contains`](RedisBloom::contains) for each key, in order: one round trip for each
    /// thousand or so.
    ///
    /// # Errors
    ///
    /// Those of the server.
    pub fn contains_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        let held: Vec<_> = keys.iter().map(Key::key_bytes).collect();
        let keys: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
        ready(self.core.contains_batch(&keys))
    }

    /// What the filter holds now, and the rate that gives. The server counts every bit.
    ///
    /// # Errors
    ///
    /// Those of the server.
    pub fn stats(&mut self) -> Result<Stats> {
        ready(self.core.stats())
    }

    /// Everything about the filter but its bits, as it was when last asked.
    ///
    /// # Errors
    ///
    /// When it was replaced: see [`Error::Replaced`](crate::Error::Replaced).
    pub fn description(&self) -> Result<Description> {
        self.core.description()
    }

    /// How many strings the bits are in.
    ///
    /// # Errors
    ///
    /// As [`description`](RedisBloom::description).
    pub fn shards(&self) -> Result<u32> {
        Ok(self.core.target()?.shards)
    }

    /// When the filter goes away by itself, as it was when last asked.
    ///
    /// # Errors
    ///
    /// As [`description`](RedisBloom::description).
    pub fn expires(&self) -> Result<Option<SystemTime>> {
        let expires = self.core.target()?.expires;
        Ok(expires.map(|time| UNIX_EPOCH + Duration::from_millis(time)))
    }

    /// Forgets every key: an empty filter takes the place of this one, in one step.
    ///
    /// # Errors
    ///
    /// Those of the server, which needs room for both for a moment.
    pub fn clear(&mut self) -> Result<()> {
        ready(self.core.clear())
    }

    /// Deletes the filter. Who asks it is told that it is missing.
    ///
    /// # Errors
    ///
    /// Those of the server. What was not deleted then goes away by itself within an hour.
    pub fn drop(self) -> Result<()> {
        ready(self.core.remove())
    }

    /// Begins a new filter beside this one, to take its place: see [`RedisRebuild`].
    ///
    /// # Errors
    ///
    /// As [`create`](RedisBloom::create).
    pub fn rebuild(
        &mut self,
        description: &Description,
        shards: Option<u32>,
    ) -> Result<RedisRebuild> {
        let id = ready(self.core.begin(description, shards))?;
        let secret = self.core.secret;
        let core = Core::open(
            router(&self.address),
            self.address.name(),
            secret.as_ref(),
            Some(id.clone()),
        );
        let filter = RedisBloom {
            address: self.address.clone(),
            core: ready(core)?,
        };
        Ok(RedisRebuild { filter, id })
    }

    /// Puts a filter on the server, in the place of the one of this name if there is one: in chunks,
    /// each compared by checksum, and seen by nobody before all are there. A push that was interrupted
    /// goes on where it was. `progress` is told how much is done, of how much.
    ///
    /// A filter that is there keeps its placement and expiry; keys inserted into it meanwhile are not
    /// in the new one.
    ///
    /// # Errors
    ///
    /// [`Error::Option`](crate::Error::Option) for kinds that a server does not keep, and those of the
    /// server.
    pub fn push<B: Bits>(
        address: &Address,
        filter: &AnyFilter<B>,
        options: &Options,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<RedisBloom>
    where
        AnyFilter<B>: Sync,
    {
        let mut core = Core::unknown(router(address), address.name(), options, None);
        core.keep_secret_of(&filter.description());
        ready(core.push(filter, options.shards, progress))?;
        Ok(RedisBloom {
            address: address.clone(),
            core,
        })
    }

    /// Copies the filter. The copy has every key whose insert was answered before the call.
    ///
    /// # Errors
    ///
    /// [`Error::Option`](crate::Error::Option) for a `Bloom` of several shards, which is no native
    /// filter, and those of the server.
    pub fn pull(&mut self, progress: impl FnMut(u64, u64) + Send) -> Result<AnyFilter> {
        ready(self.core.pull(progress))
    }

    /// [Pulls](RedisBloom::pull) the filter into a file of the native format.
    ///
    /// # Errors
    ///
    /// As [`pull`](RedisBloom::pull) and [`mayhap::file::save`].
    pub fn save(&mut self, path: impl AsRef<Path>, metadata: &Metadata) -> Result<()> {
        let filter = self.pull(|_, _| ())?;
        Ok(mayhap::file::save(path, &filter, metadata)?)
    }
}

/// A filter that is being built beside the one it will replace.
///
/// Readers ask the old one until [`promote`](RedisRebuild::promote), and the new one after it; they
/// see neither an error nor an empty filter. Inserts by others go to both from the start.
///
/// ```no_run
/// # use mayhap::Kind;
/// # use mayhap_redis::{Address, RedisBloom};
/// # let address: Address = "redis://localhost#seen".parse()?;
/// let mut filter = RedisBloom::open(&address, None)?;
/// let mut larger = filter.rebuild(&Kind::Blocked.plan(10_000_000, 0.01)?, None)?;
/// larger.insert_batch(&["every", "key", "there", "is"])?;
/// larger.promote()?;
/// # Ok::<(), mayhap_redis::Error>(())
/// ```
pub struct RedisRebuild {
    filter: RedisBloom,
    id: String,
}

impl RedisRebuild {
    /// Inserts keys into the new filter alone; for each, whether it was definitely not in it.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`](crate::Error::Replaced) when the rebuild is over, and those of the server.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        self.filter.insert_batch(keys)
    }

    /// Whether each key may be in the new filter.
    ///
    /// # Errors
    ///
    /// As [`insert_batch`](RedisRebuild::insert_batch).
    pub fn contains_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        self.filter.contains_batch(keys)
    }

    /// Makes the new filter the one that everybody asks, in one step, and deletes the old one.
    ///
    /// # Errors
    ///
    /// As [`insert_batch`](RedisRebuild::insert_batch).
    pub fn promote(mut self) -> Result<()> {
        ready(self.filter.core.promote(&self.id))
    }

    /// Gives the new filter up.
    ///
    /// # Errors
    ///
    /// As [`insert_batch`](RedisRebuild::insert_batch).
    pub fn abandon(mut self) -> Result<()> {
        ready(self.filter.core.abandon(&self.id))
    }
}
