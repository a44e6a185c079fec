//! Errors of filters on servers, each with a way out.

use std::fmt;

use redis::{ErrorKind, RedisError, ServerError, ServerErrorKind};

use crate::Answer;

/// The module's message for a missing filter: it was evicted, deleted or has expired.
const NOT_FOUND: &str = "ERR not found: make it by MAYHAP.NEW";

/// The module's message for a filter that is larger than its limit, or than the memory left.
const NO_MEMORY: &str = "ERR there is no memory for such a filter";

/// The reason why a call on a filter on a server failed. Each message ends with the way out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The library refuses a rate, a size, a secret or a description.
    Filter(mayhap::Error),
    /// An address that cannot be parsed.
    Address {
        /// Its scheme: the rest may hold a password.
        got: String,
        /// The accepted addresses.
        expected: &'static str,
    },
    /// A name that a filter cannot have.
    Name {
        /// The name given.
        got: String,
    },
    /// An invalid number of shards, time or layout.
    Option {
        /// The option.
        what: &'static str,
        /// The value given.
        got: String,
        /// The accepted values.
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
    /// The filter is still being built, and no key can be looked up in it yet.
    Unfinished {
        /// The name.
        name: String,
    },
    /// The settings have an unknown version.
    Version {
        /// The name of the filter.
        name: String,
        /// Its version.
        got: String,
        /// The highest known version.
        expected: u32,
    },
    /// A field of the settings is damaged.
    Settings {
        /// The name of the filter.
        name: String,
        /// The field.
        field: &'static str,
        /// Its value.
        got: String,
    },
    /// The filter is kept in mayhap's server module, which the server does not have.
    NoModule {
        /// The name of the filter.
        name: String,
    },
    /// Something else is stored under the keys of the filter.
    WrongType {
        /// The name of the filter.
        name: String,
    },
    /// Bits of a living filter are gone: the server evicted or deleted them.
    Lost {
        /// The name of the filter.
        name: String,
    },
    /// The rebuild of this handle was promoted, abandoned or replaced by another.
    Replaced {
        /// The name of the filter.
        name: String,
    },
    /// The filter was replaced again and again during the call.
    Unsettled {
        /// The name of the filter.
        name: String,
    },
    /// An insert was interrupted: some keys were not inserted, or it is not known whether they
    /// were new. Inserting the keys again would answer *seen* for those that this call inserted, so read the
    /// answers: a key that is [`New`](Answer::New) was new, one that is [`Doubtful`](Answer::Doubtful) may
    /// have been.
    Interrupted {
        /// The name of the filter.
        name: String,
        /// The fate of each key of the call, in order.
        answers: Vec<Answer>,
        /// The error that ended the call; `None` when every key is inserted and only answers were lost.
        error: Option<Box<Error>>,
    },
    /// The keys were inserted, but are on fewer replicas than asked for.
    Unreplicated {
        /// The name of the filter.
        name: String,
        /// The number of replicas that have them.
        reached: u32,
        /// The number asked for.
        wanted: u32,
    },
    /// The bytes read back are not those that were written.
    Differs {
        /// The name of the filter.
        name: String,
        /// The first byte of the chunk.
        offset: u64,
    },
    /// The server cannot be reached, or the connection broke and could not be made again in time.
    Unreachable {
        /// The server.
        server: String,
        /// The cause.
        error: RedisError,
    },
    /// The server did not answer in time.
    Timeout {
        /// The server.
        server: String,
    },
    /// The server wants a password, another one, or does not allow the command.
    Denied {
        /// The server's message.
        message: String,
    },
    /// The server is a replica that takes no writes.
    ReadOnly {
        /// The server's message.
        message: String,
    },
    /// The server is at its `maxmemory` and takes no writes.
    OutOfMemory {
        /// The server's message.
        message: String,
    },
    /// Keys that have to be on one node are not.
    CrossSlot {
        /// The server's message.
        message: String,
    },
    /// The cluster or the server is not ready: no quorum, a slot without a master, loading.
    Down {
        /// The server's message.
        message: String,
    },
    /// The server does not know a command: it is too old, or lacks a module.
    Unsupported {
        /// The server's message.
        message: String,
    },
    /// Any other unexpected answer.
    Server {
        /// The server's message.
        message: String,
    },
}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns whether the same call may succeed later without anyone changing anything. After
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

    /// Converts an error of the client library about this server.
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

    /// Converts an error that a server answered.
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
            // A master that has lost its replicas, or cannot write its files, refuses writes.
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

    /// Adds the name of the filter to the error.
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

/// Returns whether a server does not know a command of mayhap's module, sent to it or called by a script.
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
                 so push or rebuild it again, or delete it"
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
