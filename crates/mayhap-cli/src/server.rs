//! Filters on a server: `redis://host#name` wherever a filter file can be named.
//!
//! The feature `redis` decides which of two files `Server` comes from; to the rest of the command they look alike.

// Compiled for its test in every build.
#[cfg(any(test, not(feature = "redis")))]
#[cfg_attr(feature = "redis", allow(dead_code, reason = "the other one is used"))]
mod absent;
#[cfg(feature = "redis")]
mod redis;

use std::path::Path;
use std::time::Duration;

use mayhap_program::amounts;
use mayhap_program::failure::{Failure, Result};

#[cfg(not(feature = "redis"))]
pub(crate) use absent::{Answer, Server, failed};
#[cfg(feature = "redis")]
pub(crate) use redis::{Answer, Server, failed};

/// The schemes of addresses.
const SCHEMES: [&str; 6] = [
    "redis",
    "rediss",
    "redis+cluster",
    "rediss+cluster",
    "valkey",
    "redis+unix",
];

/// The place on a server for the bits of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Home {
    // In a value of mayhap's module, which is sent the keys: several times faster.
    Module,
    // In strings, which every server has; it is sent positions of bits, and no key.
    Strings,
}

/// The options of a filter that is made on a server.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "On a server (redis://host#name)")]
pub(crate) struct ServerArgs {
    /// Let the server delete it after this time, such as 7d
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = amounts::time)]
    expire: Option<Duration>,

    /// Start that time again with every insert
    #[arg(long, hide_short_help = true, requires = "expire")]
    refresh: bool,

    /// Keep the bits in mayhap's module, or in strings
    #[arg(long, hide_short_help = true)]
    home: Option<Home>,

    /// The number of strings to keep the bits in
    #[arg(long, hide_short_help = true, value_name = "N")]
    shards: Option<u32>,

    /// Spread the strings over the nodes of a cluster
    #[arg(long, hide_short_help = true)]
    spread: bool,
}

impl ServerArgs {
    /// Refuses what a file cannot do.
    pub(crate) fn refuse_file(&self, path: &Path) -> Result<()> {
        let shards = self.shards.map(|_| "--shards");
        let options = [self.lasting(), shards, self.home.map(|_| "--home")];
        let Some(option) = options.into_iter().flatten().next() else {
            return Ok(());
        };
        let name = path.display();
        let text = format!("{option} is for filters on a server, and {name} is a file");
        Err(Failure::new(text).hint(format!(
            "name a filter on a server, redis://host#name, or leave out {option}"
        )))
    }

    /// Refuses what a filter on a server keeps when it is replaced, if there is one.
    pub(crate) fn refuse_replacing_any(&self, path: &Path) -> Result<()> {
        match self.lasting().is_some() && Server::is_taken(path)? {
            true => self.refuse_replacing(path),
            false => Ok(()),
        }
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
}

impl Server {
    /// Returns whether a name is the address of a filter on a server.
    pub(crate) fn is_named_by(path: &Path) -> bool {
        let name = path.to_string_lossy();
        let scheme = name.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| SCHEMES.contains(&scheme))
    }
}

/// The refusal of an option that only a filter in a file can have.
pub(crate) fn not_on_a_server(option: &str) -> Failure {
    Failure::new(format!("{option} is not for a filter on a server")).hint(format!(
        "leave it out, or keep the filter in a file: {option} is for those"
    ))
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
