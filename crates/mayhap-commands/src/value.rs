//! Values under keys: how a server saves, measures and moves them.

use std::ffi::CStr;
use std::io::{self, Read, Write};

use mayhap::bits::Bitmap;
use mayhap::{AnyFilter, Assemble as _};

use crate::encoding::Damage;
use crate::pieces::{self, Pieces};

/// The types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A [`Chain`](crate::bf::Chain).
    Bloom,
    /// A [`Nest`](crate::cf::Nest).
    Cuckoo,
    /// A [`Native`](crate::native::Native).
    Native,
}

/// A value that a server keeps, saves and copies. Another thread may drop it.
///
/// Only this crate implements it: a server knows a value by its [`Type`], which no two may share.
pub trait Value: sealed::Sealed + Clone + Send + 'static {
    /// Its type.
    const TYPE: Type;

    /// The name of the type: nine letters that snapshots hold.
    const NAME: &CStr;

    /// The version of what is saved.
    const VERSION: i32;

    /// The commands that copy it from one server to another.
    const COPIED_BY: &str;

    /// Writes it.
    ///
    /// # Errors
    ///
    /// When the output fails, or there is no memory for a copy.
    fn write(&self, output: &mut dyn Write) -> mayhap::Result<()>;

    /// Writes the same bytes for equal values, however each is kept.
    ///
    /// # Errors
    ///
    /// As [`write`](Value::write).
    fn write_alike(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        self.write(output)
    }

    /// Reads a value that was saved in this version.
    ///
    /// # Errors
    ///
    /// The reason why it is not such a value.
    fn read(version: i32, input: &mut dyn Snapshot) -> Result<Self, Damage>;

    /// Writes the commands that make it again.
    ///
    /// # Errors
    ///
    /// When there is no memory for a copy.
    fn rewrite(&self, log: &mut dyn Log) -> mayhap::Result<()>;

    /// Returns the bytes of memory that it takes.
    fn bytes(&self) -> u64;

    /// Reallocates its blocks to the size they have, so that a server which defragments can move them.
    fn reallocate(&mut self, mover: &impl Mover);
}

pub(crate) mod sealed {
    /// A type of values.
    pub trait Sealed {}
}

/// A snapshot that a value is read from: bytes that this module has saved, or values that RedisBloom has, one after the other.
pub trait Snapshot: Read {
    /// Reads a whole number of RedisBloom's.
    ///
    /// # Errors
    ///
    /// When there is none.
    fn unsigned(&mut self) -> io::Result<u64>;

    /// Reads a number with a fraction of RedisBloom's.
    ///
    /// # Errors
    ///
    /// When there is none.
    fn double(&mut self) -> io::Result<f64>;

    /// Reads a string of RedisBloom's.
    ///
    /// # Errors
    ///
    /// When there is none.
    fn bytes(&mut self) -> io::Result<Vec<u8>>;
}

/// The text for a value of a snapshot that cannot be read.
pub(crate) fn cut(error: io::Error) -> Damage {
    format!("it cannot be read: {error}")
}

/// Reads a whole number of a snapshot.
pub(crate) fn unsigned(saved: &mut dyn Snapshot) -> Result<u64, Damage> {
    saved.unsigned().map_err(cut)
}

/// A log of commands that is rewritten.
pub trait Log {
    /// Writes `name key bytes`.
    fn whole(&mut self, name: &CStr, bytes: &[u8]);

    /// Writes `name key iterator bytes`.
    fn piece(&mut self, name: &CStr, iterator: u64, bytes: &[u8]);
}

/// A server that moves blocks of memory while it defragments.
pub trait Mover {
    /// Reallocates the memory of a list to the size it has.
    fn relocate<T>(&self, list: &mut Vec<T>);
}

/// The most bytes of bits that are worth moving: the allocator of servers that defragment puts blocks above 14 KiB on pages of
/// their own, and moves none of them.
pub(crate) const MOVED: u64 = 14 << 10;

/// Reallocates the bits of a filter, where they are worth it and the filter is of a kind that can be taken apart.
pub(crate) fn reallocate(filter: &mut AnyFilter) {
    if filter.description().bits / 8 <= MOVED {
        pieces::with_bits(filter, Bitmap::reallocate);
    }
}

/// Refuses a value that another version has saved.
pub(crate) fn check_version<V: Value>(version: i32) -> Result<(), Damage> {
    match version == V::VERSION {
        true => Ok(()),
        false => Err("this version of values is not known".into()),
    }
}

/// Writes a value as the commands that load its pieces.
pub(crate) fn rewrite_in_pieces(value: &impl Pieces, log: &mut dyn Log, command: &CStr) {
    let mut iterator = 0;
    while let Some((next, piece)) = pieces::piece(value, iterator) {
        log.piece(command, next, &piece);
        iterator = next;
    }
}
