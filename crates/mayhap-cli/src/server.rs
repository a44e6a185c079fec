//! Filters on a server: `redis://host#name` wherever a filter file can be named.

use std::path::Path;
use std::time::Duration;

use mayhap::{AnyFilter, Description, SecretKey, Stats};
use mayhap_redis::{Address, Answer, Expiry, Options, Placement, RedisBloom, RedisInspected};

use crate::amounts;
use crate::failure::{Failure, Result};

/// How an address begins.
const SCHEMES: [&str; 6] = [
    "redis",
    "rediss",
    "redis+cluster",
    "rediss+cluster",
    "valkey",
    "redis+unix",
];

/// How a filter is made on a server.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "On a server (redis://host#name)")]
pub(crate) struct ServerArgs {
    /// Let the server delete the filter after this time, such as 90s, 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = amounts::time)]
    expire: Option<Duration>,

    /// Start that time again with every insert
    #[arg(long, requires = "expire")]
    refresh: bool,

    /// The number of strings to keep the bits in
    #[arg(long, value_name = "N")]
    shards: Option<u32>,

    /// Spread the strings over the nodes of a cluster, instead of keeping them together
    #[arg(long)]
    spread: bool,
}

impl ServerArgs {
    /// Refuses what a file cannot do.
    pub(crate) fn refuse_file(&self, path: &Path) -> Result<()> {
        let options = [self.lasting(), self.shards.map(|_| "--shards")];
        let Some(option) = options.into_iter().flatten().next() else {
            return Ok(());
        };
        let name = path.display();
        let text = format!("{option} is for filters on a server, and {name} is a file");
        Err(Failure::new(text).hint(format!(
            "name a filter on a server, redis://host#name, or leave out {option}"
        )))
    }

    /// Refuses what a filter on a server keeps when it is replaced.
    pub(crate) fn refuse_replacing(&self, path: &Path) -> Result<()> {
        let Some(option) = self.lasting() else {
            return Ok(());
        };
        let name = Server::shown(path);
        let text = format!("{option} cannot be given to {name}, which is there already");
        Err(Failure::new(text).hint(format!(
            "a filter that is replaced keeps when it expires and where it is: leave out {option}, or choose another name"
        )))
    }

    /// An option that a filter keeps for as long as it is there.
    fn lasting(&self) -> Option<&'static str> {
        let expire = self.expire.map(|_| "--expire");
        expire.or(self.spread.then_some("--spread"))
    }

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
        }
    }
}

/// A filter on a server, shared with others.
pub(crate) struct Server {
    filter: RedisBloom,
}

impl Server {
    /// Whether a name is that of a filter on a server.
    pub(crate) fn is_named_by(path: &Path) -> bool {
        let name = path.to_string_lossy();
        let scheme = name.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| SCHEMES.contains(&scheme))
    }

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

    /// The filter of this name, made by whoever is first when there is none.
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

    /// The filter, or `None` where there is none of this name.
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

    /// Whether there is a filter of this name, with whatever secret.
    pub(crate) fn is_taken(path: &Path) -> Result<bool> {
        use mayhap::Error::{SecretNeeded, SecretWrong};
        match RedisBloom::open(&address(path)?, None) {
            Ok(_) => Ok(true),
            Err(mayhap_redis::Error::Filter(SecretNeeded | SecretWrong)) => Ok(true),
            Err(mayhap_redis::Error::Missing { .. }) => Ok(false),
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

/// What is said of an option that only a filter in a file can have.
pub(crate) fn not_on_a_server(option: &str) -> Failure {
    Failure::new(format!("{option} is not for a filter on a server")).hint(format!(
        "leave it out, or keep the filter in a file: {option} is for those"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_files() {
        assert!(Server::is_named_by(Path::new("redis://localhost#seen")));
        assert!(Server::is_named_by(Path::new(
            "rediss://example.org:7000/2#seen"
        )));
        assert!(!Server::is_named_by(Path::new("redis")));
        assert!(!Server::is_named_by(Path::new("./http://localhost")));
    }
}
