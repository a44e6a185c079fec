//! What a name on a server can be, behind one face.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mayhap::{Description, SecretKey, Stats};

use crate::Result;
use crate::core::Core;
use crate::foreign::Foreign;
use crate::router::{Router, Wire};
use crate::window::{Window, WindowCore};

#[derive(Clone)]
pub(crate) enum Backend<W> {
    Filter(Core<W>),
    Window(WindowCore<W>),
    Foreign(Foreign<W>),
}

impl<W: Wire> Backend<W> {
    /// The filter or window of this name.
    pub(crate) async fn open(
        router: Router<W>,
        name: &str,
        secret: Option<&SecretKey>,
    ) -> Result<Backend<W>> {
        let core = Core::open(router, name, secret, None).await?;
        match WindowCore::of(core) {
            Ok(window) => Ok(Backend::Window(window)),
            Err(core) => {
                core.target()?;
                Ok(Backend::Filter(*core))
            }
        }
    }

    /// Deletes what is there under this name, whether it can be asked or not.
    pub(crate) async fn delete(
        router: Router<W>,
        name: &str,
        secret: Option<&SecretKey>,
    ) -> Result<()> {
        let core = Core::open(router, name, secret, None).await?;
        match WindowCore::of(core) {
            Ok(window) => window.remove().await,
            Err(core) => core.remove().await,
        }
    }

    pub(crate) async fn insert_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        match self {
            Backend::Filter(filter) => filter.insert_batch(keys).await,
            Backend::Window(window) => window.insert_batch(keys).await,
            Backend::Foreign(foreign) => foreign.insert_batch(keys).await,
        }
    }

    pub(crate) async fn contains_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        match self {
            Backend::Filter(filter) => filter.contains_batch(keys).await,
            Backend::Window(window) => window.contains_batch(keys).await,
            Backend::Foreign(foreign) => foreign.contains_batch(keys).await,
        }
    }

    pub(crate) async fn stats(&mut self) -> Result<Stats> {
        match self {
            Backend::Filter(filter) => filter.stats().await,
            Backend::Window(window) => window.stats().await,
            Backend::Foreign(foreign) => foreign.stats().await,
        }
    }

    pub(crate) async fn clear(&mut self) -> Result<()> {
        match self {
            Backend::Filter(filter) => filter.clear().await,
            Backend::Window(window) => window.clear().await,
            Backend::Foreign(foreign) => Err(foreign.unable("clear")),
        }
    }

    pub(crate) async fn remove(self) -> Result<()> {
        match self {
            Backend::Filter(filter) => filter.remove().await,
            Backend::Window(window) => window.remove().await,
            Backend::Foreign(mut foreign) => foreign.remove().await,
        }
    }

    pub(crate) fn description(&self) -> Result<Description> {
        match self {
            Backend::Filter(filter) => Ok(filter.target()?.description),
            Backend::Window(window) => Ok(window.description()),
            Backend::Foreign(foreign) => foreign.description(),
        }
    }

    pub(crate) fn shards(&self) -> Result<u32> {
        match self {
            Backend::Filter(filter) => Ok(filter.target()?.shards),
            Backend::Window(window) => Ok(window.shards()),
            Backend::Foreign(_) => Ok(1),
        }
    }

    pub(crate) fn expires(&self) -> Result<Option<SystemTime>> {
        let Backend::Filter(filter) = self else {
            return Ok(None);
        };
        let expires = filter.target()?.expires;
        Ok(expires.map(|time| UNIX_EPOCH + Duration::from_millis(time)))
    }

    pub(crate) fn window(&self) -> Option<Window> {
        match self {
            Backend::Window(window) => Some(window.window()),
            _ => None,
        }
    }

    /// The filter, for what only filters of this crate can do.
    pub(crate) fn filter(&mut self, what: &'static str) -> Result<&mut Core<W>> {
        match self {
            Backend::Filter(filter) => Ok(filter),
            Backend::Window(window) => Err(window.unable(what)),
            Backend::Foreign(foreign) => Err(foreign.unable(what)),
        }
    }
}
