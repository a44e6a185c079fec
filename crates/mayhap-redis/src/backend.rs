//! All that a name on a server can stand for, behind one interface.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mayhap::{Description, SecretKey, Stats};

use crate::answer::sum_up;
use crate::foreign::Foreign;
use crate::home::Home;
use crate::plan::FrameSize;
use crate::remote::Remote;
use crate::remote_window::RemoteWindow;
use crate::router::{Router, Wire};
use crate::settings::Access;
use crate::window::Window;
use crate::{Answer, Options, Result};

#[derive(Clone)]
pub(crate) enum Backend<W> {
    Filter(Remote<W>),
    Window(RemoteWindow<W>),
    Foreign(Foreign<W>),
}

impl<W: Wire> Backend<W> {
    /// Opens the filter or window of this name.
    pub(crate) async fn open(router: Router<W>, name: &str, access: Access) -> Result<Backend<W>> {
        Backend::of(Remote::open(router, name, access, None).await?)
    }

    /// Opens it, or creates it if it is missing.
    pub(crate) async fn open_or_create(
        router: Router<W>,
        name: &str,
        description: &Description,
        options: &Options,
    ) -> Result<Backend<W>> {
        Backend::of(Remote::open_or_create(router, name, description, options).await?)
    }

    fn of(remote: Remote<W>) -> Result<Backend<W>> {
        match RemoteWindow::of(remote) {
            Ok(window) => Ok(Backend::Window(window)),
            Err(remote) => {
                remote.target()?;
                Ok(Backend::Filter(*remote))
            }
        }
    }

    /// Deletes whatever has this name, even if no key can be looked up in it.
    pub(crate) async fn delete(
        router: Router<W>,
        name: &str,
        secret: Option<&SecretKey>,
    ) -> Result<()> {
        let remote = Remote::open(router, name, Access::Keys(secret.cloned()), None).await?;
        match RemoteWindow::of(remote) {
            Ok(window) => window.remove().await,
            Err(remote) => remote.remove().await,
        }
    }

    /// Inserts keys; for each, returns whether it was definitely new. When that is not known for every key, the
    /// error has what is known.
    pub(crate) async fn insert_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let mut answers = vec![Answer::Unsent; keys.len()];
        let outcome = self.insert_all(keys, &mut answers).await;
        sum_up(self.name(), answers, outcome)
    }

    async fn insert_all(&mut self, keys: &[&[u8]], answers: &mut [Answer]) -> Result<()> {
        let size = self.frame_size()?;
        let mut done = 0;
        while done < keys.len() {
            let frame = done..done + size.count(&keys[done..]);
            done = frame.end;
            let (keys, answers) = (&keys[frame.clone()], &mut answers[frame]);
            match self {
                Backend::Filter(filter) => filter.insert_frame(keys, answers).await?,
                Backend::Window(window) => window.insert_frame(keys, answers).await?,
                Backend::Foreign(foreign) => foreign.insert_frame(keys, answers).await?,
            }
        }
        match self {
            Backend::Filter(filter) if !keys.is_empty() => filter.extend_if_due().await,
            _ => Ok(()),
        }
    }

    fn name(&self) -> &str {
        match self {
            Backend::Filter(filter) => &filter.name,
            Backend::Window(window) => window.name(),
            Backend::Foreign(foreign) => foreign.name(),
        }
    }

    fn frame_size(&self) -> Result<FrameSize> {
        match self {
            Backend::Filter(filter) => filter.frame_size(),
            Backend::Window(window) => Ok(window.frame_size()),
            Backend::Foreign(foreign) => Ok(foreign.frame_size()),
        }
    }

    /// Looks up keys; for each, returns whether it may be in the filter.
    pub(crate) async fn contains_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let size = self.frame_size()?;
        let mut found = Vec::with_capacity(keys.len());
        while found.len() < keys.len() {
            let keys = &keys[found.len()..];
            let keys = &keys[..size.count(keys)];
            found.extend(match self {
                Backend::Filter(filter) => filter.contains_frame(keys).await?,
                Backend::Window(window) => window.contains_frame(keys).await?,
                Backend::Foreign(foreign) => foreign.contains_frame(keys).await?,
            });
        }
        Ok(found)
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
            Backend::Filter(filter) => Ok(filter.target()?.description.clone()),
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

    pub(crate) fn home(&self) -> Result<Home> {
        match self {
            Backend::Filter(filter) => Ok(filter.target()?.home),
            Backend::Window(_) => Ok(Home::Strings),
            Backend::Foreign(foreign) => Ok(foreign.home()),
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

    /// Returns the filter, for operations that only filters of this crate have.
    pub(crate) fn filter(&mut self, what: &'static str) -> Result<&mut Remote<W>> {
        match self {
            Backend::Filter(filter) => Ok(filter),
            Backend::Window(window) => Err(window.unable(what)),
            Backend::Foreign(foreign) => Err(foreign.unable(what)),
        }
    }
}
