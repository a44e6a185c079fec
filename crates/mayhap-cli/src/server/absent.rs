//! The stand-in for filters on a server in a command built without them: it refuses every address.

use std::path::Path;
use std::time::SystemTime;

use mayhap::{AnyFilter, Description, Hashing, Kind, SecretKey, Stats};
use mayhap_program::failure::{Failure, Result};

use super::ServerArgs;

/// A filter on a server, of which this build can open none.
pub(crate) enum Server {}

/// The answer of a server about a key; the same names as in `mayhap-redis`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "nothing answers here")]
pub(crate) enum Answer {
    Unsent,
    Seen,
    Doubtful,
    New,
}

impl Server {
    /// The address without its password.
    pub(crate) fn shown(_: &Path) -> String {
        "a filter on a server".into()
    }

    pub(crate) fn create(path: &Path, _: &Description, _: ServerArgs) -> Result<Server> {
        Err(refusal(path))
    }

    pub(crate) fn open_or_create(path: &Path, _: &Description, _: ServerArgs) -> Result<Server> {
        Err(refusal(path))
    }

    pub(crate) fn open(path: &Path, _: Option<&SecretKey>) -> Result<Server> {
        Err(refusal(path))
    }

    pub(crate) fn inspect(path: &Path) -> Result<Inspected> {
        Err(refusal(path))
    }

    pub(crate) fn find(path: &Path, _: Option<&SecretKey>) -> Result<Option<Server>> {
        Err(refusal(path))
    }

    pub(crate) fn push(path: &Path, _: &AnyFilter, _: ServerArgs) -> Result<()> {
        Err(refusal(path))
    }

    pub(crate) fn push_new(path: &Path, _: &AnyFilter, _: ServerArgs) -> Result<()> {
        Err(refusal(path))
    }

    pub(crate) fn is_taken(path: &Path) -> Result<bool> {
        Err(refusal(path))
    }

    pub(crate) fn pull(&mut self) -> Result<AnyFilter> {
        match *self {}
    }

    pub(crate) fn insert(&mut self, _: &[&[u8]]) -> Result<(Vec<Answer>, Option<Failure>)> {
        match *self {}
    }

    pub(crate) fn contains(&mut self, _: &[&[u8]]) -> Result<Vec<bool>> {
        match *self {}
    }

    pub(crate) fn stats(&mut self) -> Result<Stats> {
        match *self {}
    }

    pub(crate) fn description(&self) -> Result<Description> {
        match *self {}
    }
}

/// Returns a failure as it is: this build has no other errors.
pub(crate) fn failed(failure: Failure) -> Failure {
    failure
}

/// A filter on a server, to look at; this build has none of those either.
pub(crate) enum Inspected {}

impl Inspected {
    pub(crate) fn kind(&self) -> Kind {
        match *self {}
    }

    pub(crate) fn bits(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn hashes(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn hashing(&self) -> Option<&Hashing> {
        match *self {}
    }

    pub(crate) fn stats(&mut self) -> Result<Stats> {
        match *self {}
    }

    pub(crate) fn expires(&self) -> Result<Option<SystemTime>> {
        match *self {}
    }

    pub(crate) fn home(&self) -> Result<HomeNow> {
        match *self {}
    }
}

/// The place on a server for its bits.
pub(crate) enum HomeNow {}

impl HomeNow {
    pub(crate) fn name(self) -> &'static str {
        match self {}
    }
}

/// Names the scheme alone: the rest of an address may hold a password.
fn refusal(path: &Path) -> Failure {
    let name = path.to_string_lossy();
    let scheme = name.split("://").next().unwrap_or_default();
    Failure::new(format!(
        "{scheme}://… is a filter on a server, and this mayhap is built without the feature `redis`"
    ))
    .hint(format!(
        "build it with that feature: cargo install mayhap-cli --features redis; a file of this name is ./{scheme}://…"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_refused_by_its_scheme_with_the_way_to_get_servers() {
        let path = Path::new("rediss://user:pass-word@localhost:7000/2#seen");
        let description = Kind::Blocked.plan(100, 0.01).expect("valid");
        let filter = AnyFilter::new(&description).expect("small");
        let args = ServerArgs::default();

        let refusals = [
            Server::create(path, &description, args).err(),
            Server::open_or_create(path, &description, args).err(),
            Server::open(path, None).err(),
            Server::inspect(path).err(),
            Server::find(path, None).err(),
            Server::push(path, &filter, args).err(),
            Server::push_new(path, &filter, args).err(),
            Server::is_taken(path).err(),
        ];

        for refusal in refusals {
            let Some(Failure::Wrong { text, hint }) = refusal else {
                panic!("not refused: {refusal:?}");
            };
            assert!(
                text.starts_with("rediss://… is a filter on a server"),
                "{text}"
            );
            let hint = hint.expect("a hint");
            assert!(
                hint.contains("cargo install mayhap-cli --features redis"),
                "{hint}"
            );
            assert!(!format!("{text}{hint}").contains("pass-word"));
        }
        assert!(!Server::shown(path).contains("pass-word"));
    }
}
