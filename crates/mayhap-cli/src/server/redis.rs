//! Filters on a server, by way of `mayhap-redis`.

use std::path::Path;

use mayhap::{AnyFilter, Description, SecretKey, Stats};
pub(crate) use mayhap_redis::Answer;
use mayhap_redis::{Address, Expiry, Options, Placement, RedisBloom, RedisInspected};

use super::{Home, ServerArgs};
use crate::failure::{Failure, Result};

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
        let filter = RedisBloom::create(&address(path)?, description, &args.options())?;
        Ok(Server { filter })
    }

    /// The filter of this name, created by the first who asks.
    pub(crate) fn open_or_create(
        path: &Path,
        description: &Description,
        args: ServerArgs,
    ) -> Result<Server> {
        let address = address(path)?;
        let filter = RedisBloom::open_or_create(&address, description, &args.options())?;
        Ok(Server { filter })
    }

    pub(crate) fn open(path: &Path, secret: Option<&SecretKey>) -> Result<Server> {
        let filter = RedisBloom::open(&address(path)?, secret)?;
        Ok(Server { filter })
    }

    /// The filter, to look at: that needs no secret.
    pub(crate) fn inspect(path: &Path) -> Result<RedisInspected> {
        Ok(RedisInspected::open(&address(path)?)?)
    }

    /// The filter, or `None` if no filter has this name.
    pub(crate) fn find(path: &Path, secret: Option<&SecretKey>) -> Result<Option<Server>> {
        match RedisBloom::open(&address(path)?, secret) {
            Ok(filter) => Ok(Some(Server { filter })),
            Err(mayhap_redis::Error::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a filter in the place of the one of this name, if there is one.
    pub(crate) fn push(path: &Path, filter: &AnyFilter, args: ServerArgs) -> Result<()> {
        RedisBloom::push(&address(path)?, filter, &args.options(), |_, _| ())?;
        Ok(())
    }

    /// The same, but never in the place of another.
    pub(crate) fn push_new(path: &Path, filter: &AnyFilter, args: ServerArgs) -> Result<()> {
        RedisBloom::push_new(&address(path)?, filter, &args.options(), |_, _| ())?;
        Ok(())
    }

    /// Whether there is a filter of this name, with whatever secret. One whose push was interrupted is not there yet.
    pub(crate) fn is_taken(path: &Path) -> Result<bool> {
        use mayhap::Error::{SecretNeeded, SecretWrong};
        match RedisBloom::open(&address(path)?, None) {
            Ok(_) => Ok(true),
            Err(mayhap_redis::Error::Filter(SecretNeeded | SecretWrong)) => Ok(true),
            Err(mayhap_redis::Error::Missing { .. } | mayhap_redis::Error::Unfinished { .. }) => {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A copy of the filter.
    pub(crate) fn pull(&mut self) -> Result<AnyFilter> {
        Ok(self.filter.pull(|_, _| ())?)
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
                Ok((answers, error.map(|error| Failure::from(*error))))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Looks keys up; one answer each, whether it may be in the filter.
    pub(crate) fn contains(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        match keys.is_empty() {
            true => Ok(Vec::new()),
            false => Ok(self.filter.contains_batch(keys)?),
        }
    }

    pub(crate) fn stats(&mut self) -> Result<Stats> {
        Ok(self.filter.stats()?)
    }

    pub(crate) fn description(&self) -> Result<Description> {
        Ok(self.filter.description()?)
    }
}

fn address(path: &Path) -> Result<Address> {
    let text = path
        .to_str()
        .ok_or_else(|| Failure::new("an address is UTF-8"))?;
    Ok(text.parse::<Address>()?)
}

impl From<mayhap_redis::Error> for Failure {
    fn from(error: mayhap_redis::Error) -> Failure {
        match error {
            mayhap_redis::Error::Filter(error) => error.into(),
            error => Failure::new(error.to_string()),
        }
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
