//! What can go wrong, and what to do about it.

use std::fmt;

use redis::{ErrorKind, RedisError, ServerError, ServerErrorKind};

use crate::Answer;
use crate::value::{NO_MEMORY, NOT_FOUND};

/// Why a filter on a server could not do what was asked. Each message ends with the way out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The library refuses it: a rate, a size, a secret, a description.
    Filter(mayhap::Error),
    /// An address that cannot be read.
    Address {
        /// What was given, without its password.
        got: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// A name that cannot be a filter's.
    Name {
        /// What was given.
        got: String,
    },
    /// A number of shards, a time or a layout that cannot be.
    Option {
        /// Which one.
        what: &'static str,
        /// What was given.
        got: String,
        /// What is accepted.
        expected: String,
    },
    /// No filter has this name: it was never made, was deleted, or has expired.
    Missing {
        /// The name.
        name: String,
    },
    /// There is a filter of this name already.
    Exists {
        /// The name.
        name: String,
    },
    /// The filter is still being built and has nothing that can be asked.
    Unfinished {
        /// The name.
        name: String,
    },
    /// The settings are of a version that is not known here.
    Version {
        /// The name of the filter.
        name: String,
        /// Its version.
        got: String,
        /// The version that is known.
        expected: u32,
    },
    /// A field of the settings is damaged.
    Settings {
        /// The name of the filter.
        name: String,
        /// The field.
        field: &'static str,
        /// What it says.
        got: String,
    },
    /// The filter is kept in mayhap's server module, and the server does not have it.
    NoModule {
        /// The name of the filter.
        name: String,
    },
    /// Something else is stored where the filter should be.
    WrongType {
        /// The name of the filter.
        name: String,
    },
    /// Bits of a living filter are gone: the server evicted or deleted them.
    Lost {
        /// The name of the filter.
        name: String,
    },
    /// The rebuild that this handle is of was promoted, abandoned or replaced by another.
    Replaced {
        /// The name of the filter.
        name: String,
    },
    /// The filter was replaced again and again while it was asked.
    Unsettled {
        /// The name of the filter.
        name: String,
    },
    /// An insert was interrupted: not every key was inserted, or it is not known of every key whether it
    /// was new. Inserting the keys again would answer *seen* for those that this call inserted, so read the
    /// answers: a key that is [`New`](Answer::New) was new, one that is [`Doubtful`](Answer::Doubtful) may
    /// have been.
    Interrupted {
        /// The name of the filter.
        name: String,
        /// What is known of each key of the call, in order.
        answers: Vec<Answer>,
        /// What the call ended with; none when every key is inserted and only answers were lost.
        error: Option<Box<Error>>,
    },
    /// The keys were inserted, but are not on as many replicas as was asked for.
    Unreplicated {
        /// The name of the filter.
        name: String,
        /// How many have them.
        reached: u32,
        /// How many were asked for.
        wanted: u32,
    },
    /// What was read back is not what was written.
    Differs {
        /// The name of the filter.
        name: String,
        /// The first byte of the chunk.
        offset: u64,
    },
    /// The server cannot be reached, or the connection broke and did not come back in time.
    Unreachable {
        /// The server.
        server: String,
        /// Why.
        error: RedisError,
    },
    /// The server did not answer in time.
    Timeout {
        /// The server.
        server: String,
    },
    /// The server wants a password, another one, or does not allow the command.
    Denied {
        /// What it said.
        message: String,
    },
    /// The server is a replica that takes no writes.
    ReadOnly {
        /// What it said.
        message: String,
    },
    /// The server is at its `maxmemory` and takes no writes.
    OutOfMemory {
        /// What it said.
        message: String,
    },
    /// Keys that have to be on one node are not.
    CrossSlot {
        /// What it said.
        message: String,
    },
    /// The cluster or the server is not ready: no quorum, a slot without a master, loading.
    Down {
        /// What it said.
        message: String,
    },
    /// The server does not know a command: it is too old, or lacks a module.
    Unsupported {
        /// What it said.
        message: String,
    },
    /// Any other answer that was not expected.
    Server {
        /// What it said.
        message: String,
    },
}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether the same call may succeed later without anyone changing anything. After
    /// [`Error::Interrupted`] it would not give the same answers.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Error::Unreachable { .. }
                | Error::Timeout { .. }
                | Error::Down { .. }
                | Error::Unsettled { .. }
                | Error::Unreplicated { .. }
        )
    }

    /// The error that a client of this server met.
    pub(crate) fn from_client(error: RedisError, server: &str) -> Error {
        if error.is_timeout() {
            return Error::Timeout {
                server: server.into(),
            };
        }
        match error.kind() {
            ErrorKind::Server(_) | ErrorKind::Extension => {
                match error.clone().into_server_errors() {
                    Some(errors) if !errors.is_empty() => Error::from_server(&errors[0].1),
                    _ => Error::Server {
                        message: error.to_string(),
                    },
                }
            }
            ErrorKind::AuthenticationFailed => Error::Denied {
                message: error.to_string(),
            },
            ErrorKind::InvalidClientConfig => Error::Address {
                got: server.into(),
                expected: "an address this build can connect to; rediss:// needs the feature tls",
            },
            _ => Error::Unreachable {
                server: server.into(),
                error,
            },
        }
    }

    /// The error that a server answered.
    pub(crate) fn from_server(error: &ServerError) -> Error {
        let message = match error.details() {
            Some(details) => format!("{} {details}", error.code()),
            None => error.code().to_string(),
        };
        match error.kind() {
            Some(ServerErrorKind::ReadOnly) => return Error::ReadOnly { message },
            Some(ServerErrorKind::CrossSlot) => return Error::CrossSlot { message },
            Some(ServerErrorKind::NoPerm) => return Error::Denied { message },
            Some(
                ServerErrorKind::ClusterDown
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::TryAgain
                | ServerErrorKind::Moved
                | ServerErrorKind::Ask,
            ) => return Error::Down { message },
            _ => {}
        }
        match error.code() {
            "WRONGTYPE" => Error::WrongType {
                name: String::new(),
            },
            "OOM" => Error::OutOfMemory { message },
            _ if message.starts_with(NO_MEMORY) => Error::OutOfMemory { message },
            "NOAUTH" | "WRONGPASS" => Error::Denied { message },
            // A master that lost its replicas, or cannot write its files, refuses writes.
            "NOREPLICAS" | "MISCONF" => Error::Down { message },
            _ if message.starts_with(NOT_FOUND) => Error::Lost {
                name: String::new(),
            },
            _ if is_of_the_module(&message) => Error::NoModule {
                name: String::new(),
            },
            _ if message.contains("unknown command") || message.contains("unknown subcommand") => {
                Error::Unsupported { message }
            }
            _ => Error::Server { message },
        }
    }

    /// The same error, knowing which filter it is about.
    pub(crate) fn named(self, filter: &str) -> Error {
        match self {
            Error::WrongType { .. } => Error::WrongType {
                name: filter.into(),
            },
            Error::Lost { .. } => Error::Lost {
                name: filter.into(),
            },
            Error::NoModule { .. } => Error::NoModule {
                name: filter.into(),
            },
            other => other,
        }
    }
}

/// Whether a server says that it does not know a command of mayhap's module, sent to it or called by a script.
fn is_of_the_module(message: &str) -> bool {
    let unknown = message.strip_prefix("ERR unknown command ");
    unknown.is_some_and(|rest| rest.trim_start_matches(['\'', '`']).starts_with("MAYHAP."))
        || message.contains("command called from script")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Filter(error) => error.fmt(f),
            Error::Address { got, expected } => {
                write!(f, "address is {got:?}; expected {expected}")
            }
            Error::Name { got } => write!(
                f,
                "filter name is {got:?}; expected 1 to 200 bytes without braces or control characters"
            ),
            Error::Option {
                what,
                got,
                expected,
            } => write!(f, "{what} is {got}; expected {expected}"),
            Error::Missing { name } => write!(
                f,
                "no filter is named {name:?}: never made, dropped or expired; expected one, so \
                 create it"
            ),
            Error::Exists { name } => write!(
                f,
                "a filter is named {name:?} already; expected none, so open it, drop it or rebuild \
                 it"
            ),
            Error::Unfinished { name } => write!(
                f,
                "filter {name:?} is being pushed or rebuilt and is not ready; expected it finished, \
                 so push again to resume, or delete it"
            ),
            Error::Version {
                name,
                got,
                expected,
            } => write!(
                f,
                "settings of filter {name:?} have version {got}; expected {expected}, so use a \
                 newer mayhap"
            ),
            Error::Settings { name, field, got } => write!(
                f,
                "settings of filter {name:?} say {field} {got:?}; expected what mayhap writes, so \
                 delete the filter and create it again"
            ),
            Error::NoModule { name } => write!(
                f,
                "filter {name:?} is kept in mayhap's server module, which the server does not have; expected it \
                 loaded, so start the server with --loadmodule libmayhap_module.so"
            ),
            Error::WrongType { name } => write!(
                f,
                "something that is not a filter is stored under the keys of {name:?}; expected what \
                 mayhap makes, so choose another name or delete it"
            ),
            Error::Lost { name } => write!(
                f,
                "bits of filter {name:?} are gone from the server; expected all of them, so make it \
                 again, and set maxmemory-policy to noeviction if the server evicted them"
            ),
            Error::Replaced { name } => write!(
                f,
                "the rebuild of filter {name:?} is over: promoted, abandoned or replaced; expected \
                 one under way, so begin another"
            ),
            Error::Unsettled { name } => write!(
                f,
                "filter {name:?} was replaced again and again during the call; expected it to \
                 settle, so try again"
            ),
            Error::Interrupted {
                name,
                answers,
                error,
            } => {
                let count = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
                let (doubtful, unsent) = (count(Answer::Doubtful), count(Answer::Unsent));
                let all = answers.len();
                write!(f, "an insert into {name:?} was interrupted")?;
                if let Some(error) = error {
                    write!(f, ": {error}")?;
                }
                write!(
                    f,
                    "; of {all} keys {unsent} are not inserted and {doubtful} are in doubt; expected an \
                     answer for each, so read those that are known, and treat keys in doubt as new if \
                     none may be lost"
                )
            }
            Error::Unreplicated {
                name,
                reached,
                wanted,
            } => write!(
                f,
                "keys inserted into {name:?} are on {reached} replicas; expected {wanted} in time, so \
                 insert them again when there are as many"
            ),
            Error::Differs { name, offset } => write!(
                f,
                "bytes of filter {name:?} from {offset} on are not those that were sent; expected \
                 them back, so push again to resume, with no other writer"
            ),
            Error::Unreachable { server, error } => write!(
                f,
                "cannot reach {server}: {error}; expected a running server, so start it or check \
                 the address"
            ),
            Error::Timeout { server } => write!(
                f,
                "{server} did not answer in time; expected an answer, so try again or allow more \
                 time"
            ),
            Error::Denied { message } => write!(
                f,
                "the server refuses this user: {message}; expected the right password, in the \
                 address or in MAYHAP_REDIS_PASSWORD, and permission for the command"
            ),
            Error::ReadOnly { message } => write!(
                f,
                "the server takes no writes: {message}; expected a master, so use its address"
            ),
            Error::OutOfMemory { message } => write!(
                f,
                "the server has no memory left: {message}; expected room for the filter, so raise \
                 maxmemory, or the module's limit for a filter, or make it smaller"
            ),
            Error::CrossSlot { message } => write!(
                f,
                "the server wants the keys of one command in one slot: {message}; expected a \
                 cluster address, so add ?cluster=true"
            ),
            Error::Down { message } => write!(
                f,
                "the server is not ready: {message}; expected it to serve, so wait for it or mend it"
            ),
            Error::Unsupported { message } => write!(
                f,
                "the server does not know a command: {message}; expected Redis 6.2 or Valkey, and \
                 the Bloom module for its filters"
            ),
            Error::Server { message } => {
                write!(f, "the server answered {message}; expected no error")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Filter(error) => Some(error),
            Error::Unreachable { error, .. } => Some(error),
            Error::Interrupted {
                error: Some(error), ..
            } => Some(error),
            _ => None,
        }
    }
}

impl From<mayhap::Error> for Error {
    fn from(error: mayhap::Error) -> Error {
        Error::Filter(error)
    }
}
