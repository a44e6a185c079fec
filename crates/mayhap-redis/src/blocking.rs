//! The filters of this crate, blocking.

use std::path::Path;
use std::time::{Duration, SystemTime};

use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Description, Key, Promise, Scheme, SecretKey, Shape, Stats, bits::Bits};

use crate::backend::Backend;
use crate::blocking_wire::BlockingWire;
use crate::foreign::Foreign;
use crate::remote::Remote;
use crate::remote_window::RemoteWindow;
use crate::router::{Router, ready};
use crate::settings::Access;
use crate::{Address, Home, Options, Result, Window};

/// A filter on a server that many clients share.
///
/// Exactly one of all clients that insert a key learns that it was new.
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
    backend: Backend<BlockingWire>,
}

fn router(address: &Address) -> Router<BlockingWire> {
    Router::new(address, BlockingWire::new(address))
}

impl RedisBloom {
    fn of(address: &Address, backend: Backend<BlockingWire>) -> RedisBloom {
        RedisBloom {
            address: address.clone(),
            backend,
        }
    }

    /// Makes an empty filter: a `Bloom` of any scheme or a `Blocked`, as [`Kind::plan`] describes it.
    /// Its memory is taken at once, and its expiry counts from its first moment.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] when there is one of this name, [`Error::Option`] when such a filter cannot
    /// exist, and those of the server; nothing is then left behind.
    ///
    /// [`Kind::plan`]: mayhap::Kind::plan
    /// [`Error::Exists`]: crate::Error::Exists
    /// [`Error::Option`]: crate::Error::Option
    pub fn create(
        address: &Address,
        description: &Description,
        options: &Options,
    ) -> Result<RedisBloom> {
        let remote = Remote::create(router(address), address.name(), description, options);
        Ok(RedisBloom::of(address, Backend::Filter(ready(remote)?)))
    }

    /// Opens an existing filter. The secret is needed when it was made with one.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`](crate::Error::Missing) when there is none, and those of the server.
    pub fn open(address: &Address, secret: Option<&SecretKey>) -> Result<RedisBloom> {
        let backend = Backend::open(
            router(address),
            address.name(),
            Access::Keys(secret.cloned()),
        );
        Ok(RedisBloom::of(address, ready(backend)?))
    }

    /// Opens the filter of this name, or makes it as [`create`](RedisBloom::create) does. If many
    /// clients make it at once, all get the same one, which may differ from the description given here. The
    /// secret is that of the description.
    ///
    /// # Errors
    ///
    /// Those of [`create`](RedisBloom::create) and [`open`](RedisBloom::open).
    pub fn open_or_create(
        address: &Address,
        description: &Description,
        options: &Options,
    ) -> Result<RedisBloom> {
        let backend =
            Backend::open_or_create(router(address), address.name(), description, options);
        Ok(RedisBloom::of(address, ready(backend)?))
    }

    /// Makes a window: keys are forgotten after its span. The description is that of one generation:
    /// see [`Window::plan`].
    ///
    /// # Errors
    ///
    /// Those of [`create`](RedisBloom::create). A window has no other expiry.
    pub fn create_window(
        address: &Address,
        window: Window,
        description: &Description,
        options: &Options,
    ) -> Result<RedisBloom> {
        let name = address.name();
        let remote = RemoteWindow::create(router(address), name, window, description, options);
        Ok(RedisBloom::of(address, Backend::Window(ready(remote)?)))
    }

    /// Opens the bits of another program under a server key: `SETBIT` at the positions of a scheme, without
    /// settings. The filter of salted MD5 is kept so, with `Scheme::Salted(MessageDigest::Md5)`. They need
    /// not exist yet; when an insert makes them, they get the time to live in the same step.
    ///
    /// The name of the address is the server key itself.
    ///
    /// # Errors
    ///
    /// When the scheme cannot have the shape, or a string cannot have that many bits.
    pub fn open_bits(
        address: &Address,
        shape: Shape,
        scheme: Scheme,
        expiry: Option<Duration>,
    ) -> Result<RedisBloom> {
        let foreign = Foreign::bits(router(address), address.name(), shape, scheme, expiry)?;
        Ok(RedisBloom::of(address, Backend::Foreign(foreign)))
    }

    /// Opens a filter of the server's Bloom module (RedisBloom, valkey-bloom), through its `BF.*` commands.
    /// The name of the address is the server key itself.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) when the server has no such module,
    /// [`Error::Missing`](crate::Error::Missing) when there is no filter.
    pub fn open_module(address: &Address) -> Result<RedisBloom> {
        let foreign = Foreign::module(router(address), address.name());
        Ok(RedisBloom::of(address, Backend::Foreign(ready(foreign)?)))
    }

    /// Makes a filter of the server's Bloom module.
    ///
    /// # Errors
    ///
    /// Those of [`open_module`](RedisBloom::open_module), and when there is something under the key already.
    pub fn create_module(address: &Address, promise: Promise) -> Result<RedisBloom> {
        let foreign = Foreign::create_module(router(address), address.name(), promise);
        Ok(RedisBloom::of(address, Backend::Foreign(ready(foreign)?)))
    }

    /// Inserts a key; returns true when it was *definitely* not in the filter before. Exactly one of all clients that
    /// insert it at once gets true.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted) when the answer was lost, which says what is
    /// known, and those of the server: then the key is not inserted.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        Ok(ready(self.backend.insert_batch(&[key.key_bytes().as_ref()]))?[0])
    }

    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    ///
    /// # Errors
    ///
    /// Those of the server.
    pub fn contains<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        Ok(ready(self.backend.contains_batch(&[key.key_bytes().as_ref()]))?[0])
    }

    /// Inserts each key, in order, as [`insert`](RedisBloom::insert) does: one round trip for about a thousand
    /// keys.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted) when some of the keys were or may have been
    /// inserted, with what is known about each, and those of the server: then no key was inserted.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        let held: Vec<_> = keys.iter().map(Key::key_bytes).collect();
        let keys: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
        ready(self.backend.insert_batch(&keys))
    }

    /// Looks up each key, in order, as [`contains`](RedisBloom::contains) does: one round trip for about a
    /// thousand keys.
    ///
    /// # Errors
    ///
    /// Those of the server.
    pub fn contains_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        let held: Vec<_> = keys.iter().map(Key::key_bytes).collect();
        let keys: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
        ready(self.backend.contains_batch(&keys))
    }

    /// Has the server count every bit, and returns the estimated number of keys and the rate.
    ///
    /// # Errors
    ///
    /// Those of the server.
    pub fn stats(&mut self) -> Result<Stats> {
        ready(self.backend.stats())
    }

    /// Describes the filter, everything but its bits, as it was at the last call to the server.
    ///
    /// # Errors
    ///
    /// When it was replaced: see [`Error::Replaced`](crate::Error::Replaced).
    pub fn description(&self) -> Result<Description> {
        self.backend.description()
    }

    /// The number of strings that the bits are in.
    ///
    /// # Errors
    ///
    /// Those of [`description`](RedisBloom::description).
    pub fn shards(&self) -> Result<u32> {
        self.backend.shards()
    }

    /// The place where the server keeps the bits.
    ///
    /// # Errors
    ///
    /// Those of [`description`](RedisBloom::description).
    pub fn home(&self) -> Result<Home> {
        self.backend.home()
    }

    /// The time at which the filter expires, as it was at the last call to the server.
    ///
    /// # Errors
    ///
    /// Those of [`description`](RedisBloom::description).
    pub fn expires(&self) -> Result<Option<SystemTime>> {
        self.backend.expires()
    }

    /// The window, if it is one.
    pub fn window(&self) -> Option<Window> {
        self.backend.window()
    }

    /// Forgets every key: an empty filter replaces this one, in one step.
    ///
    /// # Errors
    ///
    /// Those of the server, which for a moment needs room for both.
    pub fn clear(&mut self) -> Result<()> {
        ready(self.backend.clear())
    }

    /// Deletes the filter. Later calls report that it is missing.
    ///
    /// # Errors
    ///
    /// Those of the server. What was not deleted then expires within an hour.
    pub fn delete(self) -> Result<()> {
        ready(self.backend.remove())
    }

    /// Deletes the filter of this name without opening it, even if its push or rebuild was never
    /// finished.
    ///
    /// # Errors
    ///
    /// Those of [`open`](RedisBloom::open) and [`delete`](RedisBloom::delete).
    pub fn delete_at(address: &Address, secret: Option<&SecretKey>) -> Result<()> {
        ready(Backend::delete(router(address), address.name(), secret))
    }

    /// Begins a new filter beside this one, to replace it: see [`RedisRebuild`].
    ///
    /// # Errors
    ///
    /// Those of [`create`](RedisBloom::create).
    pub fn rebuild(
        &mut self,
        description: &Description,
        shards: Option<u32>,
    ) -> Result<RedisRebuild> {
        let filter = self.backend.filter("rebuild")?;
        let router = router(&self.address);
        let (remote, id) = ready(filter.begin(router, description, shards))?;
        let filter = RedisBloom::of(&self.address, Backend::Filter(remote));
        Ok(RedisRebuild { filter, id })
    }

    /// Begins a new filter of this name, whether there is one already or not: see [`RedisRebuild`]. If there is none,
    /// others get [`Error::Unfinished`](crate::Error::Unfinished) until it is promoted: a filter that is not filled yet
    /// never answers *no*.
    ///
    /// # Errors
    ///
    /// Those of [`create`](RedisBloom::create); [`Error::Exists`](crate::Error::Exists) for a window.
    pub fn rebuild_at(
        address: &Address,
        description: &Description,
        options: &Options,
    ) -> Result<RedisRebuild> {
        let begun = Remote::begin_at(router(address), address.name(), description, options);
        let (remote, id) = ready(begun)?;
        let filter = RedisBloom::of(address, Backend::Filter(remote));
        Ok(RedisRebuild { filter, id })
    }

    /// Copies a filter to the server, and replaces the one of this name if there is one: in chunks,
    /// each compared by checksum, and visible only when all are there. A push that was interrupted
    /// continues where it was. `progress` is called with the bytes done and the bytes in all.
    ///
    /// A filter that is replaced keeps its placement and expiry; keys inserted into it meanwhile are not
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
        let remote = Remote::push(router(address), address.name(), filter, options, progress);
        Ok(RedisBloom::of(address, Backend::Filter(ready(remote)?)))
    }

    /// Copies a filter as [`push`](RedisBloom::push) does, but never replaces another.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`](crate::Error::Exists) when there is a filter of this name, and those of
    /// [`push`](RedisBloom::push).
    pub fn push_new<B: Bits>(
        address: &Address,
        filter: &AnyFilter<B>,
        options: &Options,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<RedisBloom>
    where
        AnyFilter<B>: Sync,
    {
        let remote = Remote::push_new(router(address), address.name(), filter, options, progress);
        Ok(RedisBloom::of(address, Backend::Filter(ready(remote)?)))
    }

    /// Copies the filter into memory. The copy has every key whose insert was answered before the call.
    ///
    /// # Errors
    ///
    /// [`Error::Option`](crate::Error::Option) for a `Bloom` of several shards, which is not a native
    /// filter, and those of the server.
    pub fn pull(&mut self, progress: impl FnMut(u64, u64) + Send) -> Result<AnyFilter> {
        ready(self.backend.filter("pull")?.pull(progress))
    }

    /// [Pulls](RedisBloom::pull) the filter into a file of the native format.
    ///
    /// # Errors
    ///
    /// Those of [`pull`](RedisBloom::pull) and [`mayhap::file::save`].
    pub fn save(&mut self, path: impl AsRef<Path>, metadata: &Metadata) -> Result<()> {
        let filter = self.pull(|_, _| ())?;
        Ok(mayhap::file::save(path, &filter, metadata)?)
    }
}

/// A filter that is being built beside the one it will replace.
///
/// Readers use the old one until [`promote`](RedisRebuild::promote), and the new one after it; they
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
    /// Inserts keys into the new filter alone; for each, returns whether it was definitely not in it.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`](crate::Error::Replaced) when the rebuild is over, and those of the server.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        self.filter.insert_batch(keys)
    }

    /// Looks up each key in the new filter; true where it may be in it.
    ///
    /// # Errors
    ///
    /// Those of [`insert_batch`](RedisRebuild::insert_batch).
    pub fn contains_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        self.filter.contains_batch(keys)
    }

    /// Replaces the old filter by the new one, in one step, and deletes the old one.
    ///
    /// # Errors
    ///
    /// Those of [`insert_batch`](RedisRebuild::insert_batch).
    pub fn promote(mut self) -> Result<()> {
        ready(self.filter.backend.filter("promote")?.promote(&self.id))
    }

    /// Drops the new filter; the old one stays.
    ///
    /// # Errors
    ///
    /// Those of [`insert_batch`](RedisRebuild::insert_batch).
    pub fn abandon(mut self) -> Result<()> {
        ready(self.filter.backend.filter("abandon")?.abandon(&self.id))
    }
}
