//! Filters on a server: `redis://host#name` wherever a filter file can be named.
//!
//! The feature `redis` decides which of two files `Server` comes from; to the rest of the command they look alike.

#[cfg(not(feature = "redis"))]
mod absent;
#[cfg(feature = "redis")]
mod redis;

use std::path::Path;
use std::time::Duration;

#[cfg(not(feature = "redis"))]
pub(crate) use absent::{Answer, Server};
#[cfg(feature = "redis")]
pub(crate) use redis::{Answer, Server};

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
    /// The filter goes away by itself after this time, such as 90s, 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    expire: Option<Duration>,

    /// The time begins anew with every insert
    #[arg(long, requires = "expire")]
    refresh: bool,

    /// The number of strings that the bits are in
    #[arg(long, value_name = "N")]
    shards: Option<u32>,

    /// Spread them over the nodes of a cluster, in place of keeping them together
    #[arg(long)]
    spread: bool,
}

fn time(text: &str) -> std::result::Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time such as 500ms, 90s, 15m, 12h or 7d");
    let split = text
        .find(|letter: char| !letter.is_ascii_digit())
        .ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let time = number.checked_mul(milliseconds).filter(|time| *time > 0);
    time.map(Duration::from_millis).ok_or_else(wrong)
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
}

impl Server {
    /// Whether a name is that of a filter on a server.
    pub(crate) fn is_named_by(path: &Path) -> bool {
        let name = path.to_string_lossy();
        let scheme = name.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| SCHEMES.contains(&scheme))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("7d"), Ok(Duration::from_secs(7 * 86_400)));
        for text in ["", "7", "d", "0s", "-1s", "1w", "99999999999999999999d"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

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
