//! The server as commands see it: arguments, keys, replies, and what goes to replicas.

use std::ffi::CStr;
use std::str::FromStr;

use crate::Value;

/// One argument of a command.
pub trait Argument {
    /// Its bytes.
    fn bytes(&self) -> &[u8];

    /// Returns whether the argument equals `word`, ignoring case.
    fn is(&self, word: &str) -> bool {
        self.bytes().eq_ignore_ascii_case(word.as_bytes())
    }

    /// The number it stands for.
    fn parse<T: FromStr>(&self) -> Option<T> {
        std::str::from_utf8(self.bytes()).ok()?.parse().ok()
    }
}

/// The reply to a command that was not done.
#[derive(Debug)]
pub enum Failure {
    /// The number of arguments is wrong.
    Arity,
    /// A fixed error text.
    Text(&'static CStr),
    /// An error text with a value in it.
    Made(String),
}

impl From<&'static CStr> for Failure {
    fn from(text: &'static CStr) -> Failure {
        Failure::Text(text)
    }
}

/// The error for a key of another type.
pub(crate) const WRONG_TYPE: &CStr =
    c"WRONGTYPE Operation against a key holding the wrong kind of value";
pub(crate) const EXISTS: &CStr = c"BUSYKEY Target key name already exists.";
pub(crate) const NOT_FOUND: &CStr = c"ERR not found";
pub(crate) const ITEM_EXISTS: &CStr = c"ERR item exists";

/// The result of a command: it has replied, or the error is its reply.
pub type Outcome = Result<(), Failure>;

/// The value under a key.
#[derive(Debug)]
pub enum Found<'k, V> {
    /// There is none.
    Missing,
    /// It is of another type.
    Other,
    /// It is of this type.
    Value(&'k mut V),
}

/// An open key.
pub trait Key {
    /// Finds the value under it.
    fn find<V: Value>(&mut self) -> Found<'_, V>;

    /// Puts a value under it, instead of what was there.
    fn put<V: Value>(&mut self, value: V);
}

/// The memory of the server, in bytes; 0 for what it does not report or limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// The memory of the machine.
    pub machine: u64,
    /// The memory that the server may use.
    pub most: u64,
    /// The memory that it uses.
    pub used: u64,
}

/// The server that a command runs on.
pub trait Server {
    /// The arguments it passes.
    type Argument: Argument;

    /// The keys it opens.
    type Key<'k>: Key
    where
        Self: 'k;

    /// Replies with a whole number.
    fn integer(&self, value: i64);

    /// Replies with a boolean of RESP3, or with 1 or 0 to a client that has none.
    fn boolean(&self, value: bool);

    /// Replies with a number that has a fraction.
    fn double(&self, value: f64);

    /// Replies with nothing.
    fn null(&self);

    /// Replies with bytes.
    fn bulk(&self, bytes: &[u8]);

    /// Replies with a word.
    fn simple(&self, text: &CStr);

    /// Begins an array of this many replies, which follow.
    fn array(&self, length: usize);

    /// Begins a map of this many pairs, which follow; an array of twice as many to a client that has no maps.
    fn map(&self, length: usize);

    /// Replies with an array of booleans.
    fn booleans(&self, values: &[bool]) {
        self.array(values.len());
        for &value in values {
            self.boolean(value);
        }
    }

    /// Returns whether the client speaks RESP3.
    fn is_resp3(&self) -> bool;

    /// Returns whether the command comes from a master, a log or a server that hands over its keys: it was accepted there and
    /// must be done here.
    fn must_obey(&self) -> bool;

    /// Opens a key to read it. No two open keys may hold one value.
    fn read(&self, name: &Self::Argument) -> Self::Key<'_>;

    /// Opens a key to change it. No two open keys may hold one value.
    fn write(&self, name: &Self::Argument) -> Self::Key<'_>;

    /// Sends the command to replicas and the log as it was given.
    fn replicate(&self);

    /// Sends another command instead: a key, words, then arguments as they were given.
    fn replicate_as(
        &self,
        command: &CStr,
        key: &Self::Argument,
        words: &[&[u8]],
        rest: &[Self::Argument],
    );

    /// Runs another command as the client's own, with its rights and only where a client may write. Its reply is the reply.
    ///
    /// # Errors
    ///
    /// When the server does not run it.
    fn run(&self, command: &CStr, key: &Self::Argument, rest: &[Self::Argument]) -> Outcome;

    /// Sends a keyspace event about a key.
    fn notify(&self, event: &CStr, key: &Self::Argument);

    /// Reports the memory of the server.
    fn memory(&self) -> Memory;

    /// Returns the milliseconds since 1970.
    fn now(&self) -> u64;
}
