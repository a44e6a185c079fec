//! Filters on a server, by way of `mayhap-redis`.

use std::path::Path;

use mayhap::{AnyFilter, Description, SecretKey, Stats};
use mayhap_program::failure::{Failure, Result};
pub(crate) use mayhap_redis::Answer;
use mayhap_redis::{Address, Expiry, Options, Placement, RedisBloom, RedisInspected};

use super::{Home, ServerArgs};

/// A filter on a server, shared with others.
pub(crate) struct Server {
    filter: RedisBloom,
}

impl Server {
    /// The address without its password.
    pub(crate) fn shown(path: &Path) -> String {
        match address(path) {
            Ok(address) => address.to_string(),
            Err(_) => "a filter on a server".into(),
        }
    }

    pub(crate) fn create(
        path: &Path,
        description: &Description,
        args: ServerArgs,
    ) -> Result<Server> {
        let filter =
            RedisBloom::create(&address(path)?, description, &args.options()).map_err(failed)?;
        Ok(Server { filter })
    }

    /// Opens the filter of this name, or creates it. Of several clients the first creates it.
    pub(crate) fn open_or_create(
        path: &Path,
        description: &Description,
        args: ServerArgs,
    ) -> Result<Server> {
        let address = address(path)?;
        let filter =
            RedisBloom::open_or_create(&address, description, &args.options()).map_err(failed)?;
        Ok(Server { filter })
    }

    pub(crate) fn open(path: &Path, secret: Option<&SecretKey>) -> Result<Server> {
        let filter = RedisBloom::open(&address(path)?, secret).map_err(failed)?;
        Ok(Server { filter })
    }

    /// The filter, to look at: that needs no secret.
    pub(crate) fn inspect(path: &Path) -> Result<RedisInspected> {
        RedisInspected::open(&address(path)?).map_err(failed)
    }

    /// The filter, or `None` if no filter has this name.
    pub(crate) fn find(path: &Path, secret: Option<&SecretKey>) -> Result<Option<Server>> {
        match RedisBloom::open(&address(path)?, secret) {
            Ok(filter) => Ok(Some(Server { filter })),
            Err(mayhap_redis::Error::Missing { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Puts a filter in the place of the one of this name, if there is one.
    pub(crate) fn push(path: &Path, filter: &AnyFilter, args: ServerArgs) -> Result<()> {
        RedisBloom::push(&address(path)?, filter, &args.options(), |_, _| ()).map_err(failed)?;
        Ok(())
    }

    /// The same, but never in the place of another.
    pub(crate) fn push_new(path: &Path, filter: &AnyFilter, args: ServerArgs) -> Result<()> {
        RedisBloom::push_new(&address(path)?, filter, &args.options(), |_, _| ())
            .map_err(failed)?;
        Ok(())
    }

    /// Returns whether there is a filter of this name, with any secret. One whose push was interrupted is not there yet.
    pub(crate) fn is_taken(path: &Path) -> Result<bool> {
        use mayhap::Error::{SecretNeeded, SecretWrong};
        match RedisBloom::open(&address(path)?, None) {
            Ok(_) => Ok(true),
            Err(mayhap_redis::Error::Filter(SecretNeeded | SecretWrong)) => Ok(true),
            Err(mayhap_redis::Error::Missing { .. } | mayhap_redis::Error::Unfinished { .. }) => {
                Ok(false)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// A copy of the filter.
    pub(crate) fn pull(&mut self) -> Result<AnyFilter> {
        self.filter.pull(|_, _| ()).map_err(failed)
    }

    /// Inserts keys; one answer each, and why it ended early if it did.
    pub(crate) fn insert(&mut self, keys: &[&[u8]]) -> Result<(Vec<Answer>, Option<Failure>)> {
        use mayhap_redis::Error::Interrupted;
        // A block may hold only lines without a key.
        if keys.is_empty() {
            return Ok((Vec::new(), None));
        }
        match self.filter.insert_batch(keys) {
            Ok(new) => {
                let answer = |new| if new { Answer::New } else { Answer::Seen };
                Ok((new.into_iter().map(answer).collect(), None))
            }
            Err(Interrupted { answers, error, .. }) => {
                Ok((answers, error.map(|error| failed(*error))))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Looks keys up; one answer each, whether it may be in the filter.
    pub(crate) fn contains(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        match keys.is_empty() {
            true => Ok(Vec::new()),
            false => self.filter.contains_batch(keys).map_err(failed),
        }
    }

    pub(crate) fn stats(&mut self) -> Result<Stats> {
        self.filter.stats().map_err(failed)
    }

    pub(crate) fn description(&self) -> Result<Description> {
        self.filter.description().map_err(failed)
    }
}

fn address(path: &Path) -> Result<Address> {
    let text = path
        .to_str()
        .ok_or_else(|| Failure::new("an address is UTF-8"))?;
    text.parse::<Address>().map_err(failed)
}

/// Says what is wrong with a server or its filter.
pub(crate) fn failed(error: mayhap_redis::Error) -> Failure {
    match error {
        mayhap_redis::Error::Filter(error) => error.into(),
        error => Failure::new(error.to_string()),
    }
}

impl ServerArgs {
    fn options(self) -> Options {
        let expiry = self.expire.map(|time| match self.refresh {
            true => Expiry::AfterLastInsert(time),
            false => Expiry::After(time),
        });
        Options {
            shards: self.shards,
            placement: match self.spread {
                true => Placement::Spread,
                false => Placement::Together,
            },
            expiry,
            home: self.home.map(|home| match home {
                Home::Module => mayhap_redis::Home::Module,
                Home::Strings => mayhap_redis::Home::Strings,
            }),
        }
    }
}
