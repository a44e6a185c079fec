//! The filters of this crate, for tokio.

use std::time::{Duration, SystemTime};

use mayhap::{AnyFilter, Description, Key, Promise, Scheme, SecretKey, Shape, Stats, bits::Bits};

use crate::backend::Backend;
use crate::foreign::Foreign;
use crate::remote::Remote;
use crate::remote_window::RemoteWindow;
use crate::router::Router;
use crate::settings::Access;
use crate::tokio_wire::TokioWire;
use crate::{Address, Home, Options, Result, Window};

/// A [`RedisBloom`](crate::RedisBloom) that waits without blocking. Clones share its connections, so
/// that each task can have one.
///
/// ```no_run
/// use mayhap::Kind;
/// use mayhap_redis::{Address, AsyncRedisBloom, Options};
///
/// # async fn example() -> Result<(), mayhap_redis::Error> {
/// let address: Address = "redis+cluster://localhost:7000#seen".parse()?;
/// let description = Kind::Blocked.plan(1_000_000, 0.01)?;
/// let mut seen = AsyncRedisBloom::create(&address, &description, &Options::default()).await?;
/// assert!(seen.insert("https://example.org/").await?, "definitely new, to everyone");
/// let found = seen.contains_batch(&["https://example.org/", "/other"]).await?;
/// assert_eq!(found, [true, false]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AsyncRedisBloom {
    backend: Backend<TokioWire>,
}

fn router(address: &Address) -> Router<TokioWire> {
    Router::new(address, TokioWire::new(address))
}

/// Copies the bytes of keys, to be held across an `await`.
fn held<K: Key>(keys: &[K]) -> Vec<Vec<u8>> {
    let bytes = |key: &K| key.key_bytes().as_ref().to_vec();
    keys.iter().map(bytes).collect()
}

impl AsyncRedisBloom {
    /// Creates a filter: see [`RedisBloom::create`](crate::RedisBloom::create).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn create(
        address: &Address,
        description: &Description,
        options: &Options,
    ) -> Result<AsyncRedisBloom> {
        let remote = Remote::create(router(address), address.name(), description, options).await?;
        Ok(AsyncRedisBloom {
            backend: Backend::Filter(remote),
        })
    }

    /// Opens a filter: see [`RedisBloom::open`](crate::RedisBloom::open).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn open(address: &Address, secret: Option<&SecretKey>) -> Result<AsyncRedisBloom> {
        let backend = Backend::open(
            router(address),
            address.name(),
            Access::Keys(secret.cloned()),
        );
        Ok(AsyncRedisBloom {
            backend: backend.await?,
        })
    }

    /// Opens or creates a filter: see [`RedisBloom::open_or_create`](crate::RedisBloom::open_or_create).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn open_or_create(
        address: &Address,
        description: &Description,
        options: &Options,
    ) -> Result<AsyncRedisBloom> {
        let backend =
            Backend::open_or_create(router(address), address.name(), description, options);
        Ok(AsyncRedisBloom {
            backend: backend.await?,
        })
    }

    /// Creates a window: see [`RedisBloom::create_window`](crate::RedisBloom::create_window).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn create_window(
        address: &Address,
        window: Window,
        description: &Description,
        options: &Options,
    ) -> Result<AsyncRedisBloom> {
        let name = address.name();
        let remote = RemoteWindow::create(router(address), name, window, description, options);
        Ok(AsyncRedisBloom {
            backend: Backend::Window(remote.await?),
        })
    }

    /// Opens the bits of another program: see [`RedisBloom::open_bits`](crate::RedisBloom::open_bits).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn open_bits(
        address: &Address,
        shape: Shape,
        scheme: Scheme,
        expiry: Option<Duration>,
    ) -> Result<AsyncRedisBloom> {
        let foreign = Foreign::bits(router(address), address.name(), shape, scheme, expiry)?;
        Ok(AsyncRedisBloom {
            backend: Backend::Foreign(foreign),
        })
    }

    /// Opens a filter of the server's Bloom module: see [`RedisBloom::open_module`](crate::RedisBloom::open_module).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn open_module(address: &Address) -> Result<AsyncRedisBloom> {
        let foreign = Foreign::module(router(address), address.name());
        Ok(AsyncRedisBloom {
            backend: Backend::Foreign(foreign.await?),
        })
    }

    /// Creates a filter of the server's Bloom module: see
    /// [`RedisBloom::create_module`](crate::RedisBloom::create_module).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn create_module(address: &Address, promise: Promise) -> Result<AsyncRedisBloom> {
        let foreign = Foreign::create_module(router(address), address.name(), promise);
        Ok(AsyncRedisBloom {
            backend: Backend::Foreign(foreign.await?),
        })
    }

    /// Inserts a key: see [`RedisBloom::insert`](crate::RedisBloom::insert).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let key = key.key_bytes().as_ref().to_vec();
        Ok(self.backend.insert_batch(&[&key]).await?[0])
    }

    /// Looks up a key: see [`RedisBloom::contains`](crate::RedisBloom::contains).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn contains<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let key = key.key_bytes().as_ref().to_vec();
        Ok(self.backend.contains_batch(&[&key]).await?[0])
    }

    /// Inserts many keys: see [`RedisBloom::insert_batch`](crate::RedisBloom::insert_batch).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        let held = held(keys);
        let keys: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
        self.backend.insert_batch(&keys).await
    }

    /// Looks up many keys: see [`RedisBloom::contains_batch`](crate::RedisBloom::contains_batch).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn contains_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        let held = held(keys);
        let keys: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
        self.backend.contains_batch(&keys).await
    }

    /// Counts bits: see [`RedisBloom::stats`](crate::RedisBloom::stats).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn stats(&mut self) -> Result<Stats> {
        self.backend.stats().await
    }

    /// Describes the filter: see [`RedisBloom::description`](crate::RedisBloom::description).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn description(&self) -> Result<Description> {
        self.backend.description()
    }

    /// The number of strings: see [`RedisBloom::shards`](crate::RedisBloom::shards).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn shards(&self) -> Result<u32> {
        self.backend.shards()
    }

    /// The storage of the bits: see [`RedisBloom::home`](crate::RedisBloom::home).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn home(&self) -> Result<Home> {
        self.backend.home()
    }

    /// The time of expiry: see [`RedisBloom::expires`](crate::RedisBloom::expires).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn expires(&self) -> Result<Option<SystemTime>> {
        self.backend.expires()
    }

    /// The window, if it is one: see [`RedisBloom::window`](crate::RedisBloom::window).
    pub fn window(&self) -> Option<Window> {
        self.backend.window()
    }

    /// Forgets every key: see [`RedisBloom::clear`](crate::RedisBloom::clear).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn clear(&mut self) -> Result<()> {
        self.backend.clear().await
    }

    /// Deletes the filter: see [`RedisBloom::delete`](crate::RedisBloom::delete).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn delete(self) -> Result<()> {
        self.backend.remove().await
    }

    /// Deletes a filter without opening it: see [`RedisBloom::delete_at`](crate::RedisBloom::delete_at).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn delete_at(address: &Address, secret: Option<&SecretKey>) -> Result<()> {
        Backend::delete(router(address), address.name(), secret).await
    }

    /// Begins a filter that replaces this one: see [`RedisBloom::rebuild`](crate::RedisBloom::rebuild).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn rebuild(
        &mut self,
        description: &Description,
        shards: Option<u32>,
    ) -> Result<AsyncRedisRebuild> {
        let filter = self.backend.filter("rebuild")?;
        let router = filter.router.clone();
        let (remote, id) = filter.begin(router, description, shards).await?;
        let backend = Backend::Filter(remote);
        let filter = AsyncRedisBloom { backend };
        Ok(AsyncRedisRebuild { filter, id })
    }

    /// Begins a filter that replaces the one of this name: see
    /// [`RedisBloom::rebuild_at`](crate::RedisBloom::rebuild_at).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn rebuild_at(
        address: &Address,
        description: &Description,
        options: &Options,
    ) -> Result<AsyncRedisRebuild> {
        let begun = Remote::begin_at(router(address), address.name(), description, options);
        let (remote, id) = begun.await?;
        let backend = Backend::Filter(remote);
        let filter = AsyncRedisBloom { backend };
        Ok(AsyncRedisRebuild { filter, id })
    }

    /// Copies a filter to the server: see [`RedisBloom::push`](crate::RedisBloom::push).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn push<B: Bits>(
        address: &Address,
        filter: &AnyFilter<B>,
        options: &Options,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<AsyncRedisBloom>
    where
        AnyFilter<B>: Sync,
    {
        let remote = Remote::push(router(address), address.name(), filter, options, progress);
        Ok(AsyncRedisBloom {
            backend: Backend::Filter(remote.await?),
        })
    }

    /// Copies a filter to the server under a new name: see [`RedisBloom::push_new`](crate::RedisBloom::push_new).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn push_new<B: Bits>(
        address: &Address,
        filter: &AnyFilter<B>,
        options: &Options,
        progress: impl FnMut(u64, u64) + Send,
    ) -> Result<AsyncRedisBloom>
    where
        AnyFilter<B>: Sync,
    {
        let remote = Remote::push_new(router(address), address.name(), filter, options, progress);
        Ok(AsyncRedisBloom {
            backend: Backend::Filter(remote.await?),
        })
    }

    /// Copies the filter from the server: see [`RedisBloom::pull`](crate::RedisBloom::pull).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn pull(&mut self, progress: impl FnMut(u64, u64) + Send) -> Result<AnyFilter> {
        self.backend.filter("pull")?.pull(progress).await
    }
}

/// A [`RedisRebuild`](crate::RedisRebuild) that waits without blocking.
pub struct AsyncRedisRebuild {
    filter: AsyncRedisBloom,
    id: String,
}

impl AsyncRedisRebuild {
    /// Inserts many keys: see [`RedisRebuild::insert_batch`](crate::RedisRebuild::insert_batch).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        self.filter.insert_batch(keys).await
    }

    /// Looks up many keys: see [`RedisRebuild::contains_batch`](crate::RedisRebuild::contains_batch).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn contains_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        self.filter.contains_batch(keys).await
    }

    /// Replaces the old filter: see [`RedisRebuild::promote`](crate::RedisRebuild::promote).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn promote(mut self) -> Result<()> {
        self.filter
            .backend
            .filter("promote")?
            .promote(&self.id)
            .await
    }

    /// Drops the new filter: see [`RedisRebuild::abandon`](crate::RedisRebuild::abandon).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn abandon(mut self) -> Result<()> {
        self.filter
            .backend
            .filter("abandon")?
            .abandon(&self.id)
            .await
    }
}
