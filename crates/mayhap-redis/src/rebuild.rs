//! A new generation beside the living one, and the switch from one to the other.

use mayhap::Description;

use crate::remote::Remote;
use crate::router::{Router, Wire};
use crate::settings::{Access, Generation};
use crate::{Error, Options, Result};

impl<W: Wire> Remote<W> {
    /// Makes a new, empty generation that inserts go to as well from now on, and returns the filter of
    /// it alone, reached by a router of its own, with its id; the living one answers until
    /// [`promote`](Remote::promote). Any generation that was being built before is dropped.
    pub(crate) async fn begin(
        &mut self,
        router: Router<W>,
        description: &Description,
        shards: Option<u32>,
    ) -> Result<(Remote<W>, String)> {
        self.look().await?;
        let home = self.target()?.home;
        let generation = self.generation(description, shards, true)?;
        // In the home of the old one, or in strings, which can keep any filter.
        let generation = generation.clone().at(home).unwrap_or(generation);
        self.announce(&generation).await?;
        let (access, id) = (self.access.clone(), generation.id);
        let remote = Remote::open(router, &self.name, access, Some(id.clone())).await?;
        Ok((remote, id))
    }

    /// Makes a new, empty generation of a name that need not exist yet, and returns the filter of it alone, with
    /// its id. If there is no living one, others get [`Error::Unfinished`] until [`promote`](Remote::promote).
    pub(crate) async fn begin_at(
        router: Router<W>,
        name: &str,
        description: &Description,
        options: &Options,
    ) -> Result<(Remote<W>, String)> {
        let mut remote = Remote::unknown(router, name, options, Access::Keys(None));
        remote.keep_secret_of(description);
        match remote.look().await {
            Ok(_) | Err(Error::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
        if remote.settings.window.is_some() {
            return Err(Error::Exists { name: name.into() });
        }
        let generation = remote.generation(description, options.shards, true)?;
        let generation = remote.settle(generation, options.home).await?;
        remote.announce(&generation).await?;
        remote.pinned = Some(generation.id.clone());
        Ok((remote, generation.id))
    }

    /// Makes a generation and enters it into the settings as the one being built, replacing any
    /// other.
    pub(crate) async fn announce(&mut self, generation: &Generation) -> Result<()> {
        let (live, old) = (self.settings.live.clone(), self.settings.next.clone());
        let made = self.establish(generation, live.as_ref(), Some(generation));
        if !made.await? {
            return Err(self.unsettled());
        }
        match old {
            Some(old) => self.unmake(&old).await,
            None => Ok(()),
        }
    }

    /// Makes the generation that is being built the living one, in one step, and deletes the old one.
    pub(crate) async fn promote(&mut self, id: &str) -> Result<()> {
        let (old, next) = self.building(id).await?;
        let live = Generation {
            shared: false,
            ..next
        };
        if !self.swap(Some(&live), None).await? {
            return Err(self.unsettled());
        }
        if let Some(old) = old {
            self.unmake(&old).await?;
        }
        Ok(())
    }

    /// Drops the generation that is being built.
    pub(crate) async fn abandon(&mut self, id: &str) -> Result<()> {
        let (live, next) = self.building(id).await?;
        if !self.swap(live.as_ref(), None).await? {
            return Err(self.unsettled());
        }
        self.unmake(&next).await
    }

    /// Returns the living generation, if there is one, and the one being built, if it is still this one.
    async fn building(&mut self, id: &str) -> Result<(Option<Generation>, Generation)> {
        self.look().await?;
        let next = self.settings.next.clone();
        let next = next.filter(|next| next.id == id);
        let next = next.ok_or_else(|| Error::Replaced {
            name: self.name.clone(),
        })?;
        Ok((self.settings.live.clone(), next))
    }
}
