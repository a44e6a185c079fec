//! The filters of this crate, for tokio.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mayhap::{AnyFilter, Assemble as _, Bits, Description, Key, SecretKey, Stats};

use crate::core::Core;
use crate::router::Router;
use crate::tokio_wire::TokioWire;
use crate::{Address, Options, Result};

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
    address: Address,
    core: Core<TokioWire>,
}

fn router(address: &Address) -> Router<TokioWire> {
    Router::new(address, TokioWire::new(address))
}

impl AsyncRedisBloom {
    /// As [`RedisBloom::create`](crate::RedisBloom::create).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn create(
        address: &Address,
        description: &Description,
        options: &Options,
    ) -> Result<AsyncRedisBloom> {
        let core = Core::create(router(address), address.name(), description, options).await?;
        Ok(AsyncRedisBloom {
            address: address.clone(),
            core,
        })
    }

    /// As [`RedisBloom::open`](crate::RedisBloom::open).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn open(address: &Address, secret: Option<&SecretKey>) -> Result<AsyncRedisBloom> {
        let core = Core::open(router(address), address.name(), secret, None).await?;
        Ok(AsyncRedisBloom {
            address: address.clone(),
            core,
        })
    }

    /// As [`RedisBloom::insert`](crate::RedisBloom::insert).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let key = key.key_bytes().as_ref().to_vec();
        Ok(self.core.insert_batch(&[&key]).await?[0])
    }

    /// As [`RedisBloom::contains`](crate::RedisBloom::contains).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn contains<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let key = key.key_bytes().as_ref().to_vec();
        Ok(self.core.contains_batch(&[&key]).await?[0])
    }

    /// As [`RedisBloom::insert_batch`](crate::RedisBloom::insert_batch).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn insert_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        self.core.insert_batch(&keys).await
    }

    /// As [`RedisBloom::contains_batch`](crate::RedisBloom::contains_batch).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn contains_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        self.core.contains_batch(&keys).await
    }

    /// As [`RedisBloom::stats`](crate::RedisBloom::stats).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn stats(&mut self) -> Result<Stats> {
        self.core.stats().await
    }

    /// As [`RedisBloom::description`](crate::RedisBloom::description).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn description(&self) -> Result<Description> {
        self.core.description()
    }

    /// As [`RedisBloom::shards`](crate::RedisBloom::shards).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn shards(&self) -> Result<u32> {
        Ok(self.core.target()?.shards)
    }

    /// As [`RedisBloom::expires`](crate::RedisBloom::expires).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn expires(&self) -> Result<Option<SystemTime>> {
        let expires = self.core.target()?.expires;
        Ok(expires.map(|time| UNIX_EPOCH + Duration::from_millis(time)))
    }

    /// As [`RedisBloom::clear`](crate::RedisBloom::clear).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn clear(&mut self) -> Result<()> {
        self.core.clear().await
    }

    /// As [`RedisBloom::drop`](crate::RedisBloom::drop).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn drop(self) -> Result<()> {
        self.core.remove().await
    }

    /// As [`RedisBloom::rebuild`](crate::RedisBloom::rebuild).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn rebuild(
        &mut self,
        description: &Description,
        shards: Option<u32>,
    ) -> Result<AsyncRedisRebuild> {
        let id = self.core.begin(description, shards).await?;
        let (name, secret) = (self.address.name(), self.core.secret);
        let core = Core::open(
            self.core.router.clone(),
            name,
            secret.as_ref(),
            Some(id.clone()),
        );
        let filter = AsyncRedisBloom {
            address: self.address.clone(),
            core: core.await?,
        };
        Ok(AsyncRedisRebuild { filter, id })
    }

    /// As [`RedisBloom::push`](crate::RedisBloom::push).
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
        let mut core = Core::unknown(router(address), address.name(), options, None);
        core.keep_secret_of(&filter.description());
        core.push(filter, options.shards, progress).await?;
        Ok(AsyncRedisBloom {
            address: address.clone(),
            core,
        })
    }

    /// As [`RedisBloom::pull`](crate::RedisBloom::pull).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn pull(&mut self, progress: impl FnMut(u64, u64) + Send) -> Result<AnyFilter> {
        self.core.pull(progress).await
    }
}

/// A [`RedisRebuild`](crate::RedisRebuild) that waits without blocking.
pub struct AsyncRedisRebuild {
    filter: AsyncRedisBloom,
    id: String,
}

impl AsyncRedisRebuild {
    /// As [`RedisRebuild::insert_batch`](crate::RedisRebuild::insert_batch).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn insert_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        self.filter.insert_batch(keys).await
    }

    /// As [`RedisRebuild::contains_batch`](crate::RedisRebuild::contains_batch).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn contains_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<bool>> {
        self.filter.contains_batch(keys).await
    }

    /// As [`RedisRebuild::promote`](crate::RedisRebuild::promote).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn promote(mut self) -> Result<()> {
        self.filter.core.promote(&self.id).await
    }

    /// As [`RedisRebuild::abandon`](crate::RedisRebuild::abandon).
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn abandon(mut self) -> Result<()> {
        self.filter.core.abandon(&self.id).await
    }
}
